/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mkfilter [--table]: writes the filters as a C header, or the table of system calls as Markdown. Runs
 * during the build. libseccomp is used to look up names and numbers. The code itself is made here, because
 * libseccomp cannot express "these values, else allow" for the low 32 bits of an argument. Before an
 * unconditional answer come only instructions that the kernel's own emulator knows. So plain calls are
 * answered from its bitmap and cost nothing.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jail/filter/syscalls.h"

#define CODE_MAX    2048
#define ROWS_MAX    512
#define ANSWERS_MAX 32
#define FAR         250 /* a conditional jump reaches 255, and two instructions may come between */
#define X32_BIT     0x40000000u

/* Jumps go forward only, and code is written from its end: whatever a jump leads to is there already, and one
 * answer serves all that come before it and are near enough. The kernel translates and compiles a filter anew
 * for each start, so its length is paid each time (docs/design/0003-jail.md, "What a start costs"). A *label*
 * is the number of instructions from that one to the end. */
struct program {
	struct sock_filter code[CODE_MAX]; /* its last `len` are used */
	bool self[CODE_MAX];               /* k becomes the pid */
	size_t len;
	struct {
		unsigned value;
		size_t label;
	} answers[ANSWERS_MAX]; /* the last place of each */
	size_t answer_count;
};

/* One system call of one variant; runs of equal plain answers become one leaf. */
struct leaf {
	unsigned first;
	const struct mor_syscall_row *row; /* NULL: in no row */
};

static size_t emit(struct program *p, unsigned short code, unsigned char jt, unsigned char jf, unsigned k)
{
	if (p->len == CODE_MAX) {
		fprintf(stderr, "mkfilter: more than %d instructions\n", CODE_MAX);
		exit(1);
	}
	p->code[CODE_MAX - ++p->len] = (struct sock_filter){ code, jt, jf, k };
	return p->len;
}

/* A label from which a conditional jump gets to this one. */
static size_t emit_near(struct program *p, size_t label)
{
	return p->len - label <= FAR ? label : emit(p, BPF_JMP | BPF_JA, 0, 0, (unsigned)(p->len - label));
}

static size_t emit_jump(struct program *p, unsigned short test, unsigned k, size_t yes, size_t no)
{
	yes = emit_near(p, yes);
	no = emit_near(p, no);
	return emit(p, BPF_JMP | test | BPF_K, (unsigned char)(p->len - yes), (unsigned char)(p->len - no), k);
}

static unsigned answer_value(int answer, int error)
{
	switch (answer) {
	case MOR_ANSWER_ALLOW:
		return SECCOMP_RET_ALLOW;
	case MOR_ANSWER_NOTIFY:
		return SECCOMP_RET_USER_NOTIF;
	case MOR_ANSWER_DIE:
		return SECCOMP_RET_KILL_PROCESS;
	default:
		return SECCOMP_RET_ERRNO | (unsigned)error;
	}
}

static size_t emit_value(struct program *p, unsigned value)
{
	size_t i = 0;

	while (i < p->answer_count && p->answers[i].value != value)
		i++;
	if (i < p->answer_count && p->len - p->answers[i].label <= FAR)
		return p->answers[i].label;
	if (i == ANSWERS_MAX) {
		fprintf(stderr, "mkfilter: more than %d answers\n", ANSWERS_MAX);
		exit(1);
	}
	if (i == p->answer_count)
		p->answer_count++;
	p->answers[i].value = value;
	p->answers[i].label = emit(p, BPF_RET | BPF_K, 0, 0, value);
	return p->answers[i].label;
}

static size_t emit_answer(struct program *p, int answer, int error)
{
	return emit_value(p, answer_value(answer, error));
}

static unsigned word(unsigned arg, bool high)
{
	bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	return (unsigned)offsetof(struct seccomp_data, args) + arg * 8 + (high != big ? 4 : 0);
}

static size_t emit_load(struct program *p, size_t offset)
{
	return emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (unsigned)offset);
}

static size_t emit_test(struct program *p, const struct mor_syscall_test *t, size_t yes, size_t no)
{
	if (t->op == MOR_TEST_PTR) { /* low half set: yes, else the high half decides */
		emit_jump(p, BPF_JEQ, 0, no, yes);
		no = emit_load(p, word(t->arg, true));
		emit_jump(p, BPF_JEQ, 0, no, yes);
	} else if (t->op == MOR_TEST_ANY) {
		emit_jump(p, BPF_JSET, t->value, yes, no);
	} else {
		emit_jump(p, BPF_JEQ, t->value, yes, no);
		p->self[CODE_MAX - p->len] = t->op == MOR_TEST_SELF;
		if (t->mask)
			emit(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, t->mask);
	}
	return emit_load(p, word(t->arg, false));
}

/* A group: tests joined by AND and the answer of the last. */
static size_t emit_group(struct program *p, const struct mor_syscall_test *t, size_t no)
{
	size_t yes =
		t->answer == MOR_ANSWER_AND ? emit_group(p, t + 1, no) : emit_answer(p, t->answer, t->error);

	return emit_test(p, t, yes, no);
}

/* The groups of a row in their order; `otherwise`: none holds. */
static size_t emit_groups(struct program *p, const struct mor_syscall_test *t, size_t otherwise)
{
	const struct mor_syscall_test *next = t;

	if (!t || t->op == MOR_TEST_END)
		return otherwise;
	while (next->answer == MOR_ANSWER_AND)
		next++;
	return emit_group(p, t, emit_groups(p, next + 1, otherwise));
}

static size_t emit_row(struct program *p, const struct mor_syscall_row *row, const struct mor_syscall_row *none)
{
	const struct mor_syscall_row *known = row ? row : none;

	return emit_groups(p, row ? row->tests : NULL, emit_answer(p, known->answer, known->error));
}

/* A binary search over the leaves: at most nine comparisons. */
static size_t emit_search(struct program *p, const struct leaf *leaves, size_t count,
			  const struct mor_syscall_row *none)
{
	size_t half = count / 2, above;

	if (count == 1)
		return emit_row(p, leaves->row, none);
	above = emit_search(p, leaves + half, count - half, none);
	return emit_jump(p, BPF_JGE, leaves[half].first, above, emit_search(p, leaves, half, none));
}

static int number_of(const struct mor_syscall_row *row)
{
	int nr = seccomp_syscall_resolve_name(row->name);

	if (nr == __NR_SCMP_ERROR && row->number)
		return row->number;
	if (nr == __NR_SCMP_ERROR) {
		fprintf(stderr, "mkfilter: no system call \"%s\"\n", row->name);
		exit(1);
	}
	return nr; /* negative: not on this architecture */
}

/* A table, and the answer to what is in none of its rows. */
struct table {
	const struct mor_syscall_row *rows;
	size_t count;
	struct mor_syscall_row none;
};

static const struct mor_syscall_row *find_row(const struct table *table, unsigned nr, unsigned variant)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].variants >> variant & 1 && number_of(&table->rows[i]) == (int)nr)
			return &table->rows[i];
	return NULL;
}

static struct table plugin_table(void)
{
	return (struct table){ mor_syscall_rows,
			       mor_syscall_row_count,
			       { .answer = MOR_ANSWER_ERRNO, .error = ENOSYS } };
}

static const struct mor_syscall_row *row_of(unsigned nr, unsigned variant)
{
	struct table table = plugin_table();

	return find_row(&table, nr, variant);
}

static bool same_answer(const struct mor_syscall_row *a, const struct mor_syscall_row *b,
			const struct mor_syscall_row *none)
{
	if (!a)
		a = none;
	if (!b)
		b = none;
	return !a->tests && !b->tests && a->answer == b->answer && a->error == b->error;
}

static size_t make_leaves(struct leaf leaves[ROWS_MAX], const struct table *table, unsigned variant)
{
	size_t count = 0;

	for (unsigned nr = 0; nr < ROWS_MAX; nr++) {
		const struct mor_syscall_row *row = find_row(table, nr, variant);

		if (count == 0 || !same_answer(leaves[count - 1].row, row, &table->none))
			leaves[count++] = (struct leaf){ nr, row };
	}
	return count;
}

/* Foreign interfaces first (int 0x80, x32): their numbers mean other calls. */
static void emit_guard(struct program *p, size_t search)
{
	size_t foreign = emit_value(p, SECCOMP_RET_KILL_PROCESS);

	if (seccomp_arch_native() == SCMP_ARCH_X86_64)
		search = emit_jump(p, BPF_JGE, X32_BIT, foreign, search);
	if (search != p->len) /* what is loaded next goes on there */
		emit(p, BPF_JMP | BPF_JA, 0, 0, (unsigned)(p->len - search));
	search = emit_load(p, offsetof(struct seccomp_data, nr));
	emit_jump(p, BPF_JEQ, seccomp_arch_native(), search, foreign);
	emit_load(p, offsetof(struct seccomp_data, arch));
}

static void make(struct program *p, const struct table *table, unsigned variant)
{
	struct leaf leaves[ROWS_MAX];
	size_t count = make_leaves(leaves, table, variant);

	memset(p, 0, sizeof(*p));
	emit_guard(p, emit_search(p, leaves, count, &table->none));
}

static void print_code(const struct program *p, const char *name)
{
	printf("static const struct sock_filter %s[] = {\n", name);
	for (size_t i = CODE_MAX - p->len; i < CODE_MAX; i++)
		printf("\t{ 0x%02x, %u, %u, 0x%08x },\n", p->code[i].code, p->code[i].jt, p->code[i].jf,
		       p->code[i].k);
	printf("};\n");
}

static void print_guardian_code(struct program *p, unsigned first)
{
	struct table table = { mor_guardian_rows, mor_guardian_row_count, { .answer = MOR_ANSWER_DIE } };
	char name[32];

	for (unsigned v = 0; v < MOR_FILTER_SPAWN; v++) {
		make(p, &table, first + v);
		snprintf(name, sizeof(name), "mor_guardian_code_%u", v);
		print_code(p, name);
	}
}

/* The guardian's filters, and for builds that are not a release the names of all calls, to tell which
 * one is missing. */
static void print_guardian(struct program *p)
{
	printf("#ifndef MOR_SANITIZED\n");
	print_guardian_code(p, 0);
	printf("#else\n");
	print_guardian_code(p, MOR_FILTER_SPAWN);
	printf("#endif\n");
	printf("static const struct mor_filter mor_guardian_filters[MOR_FILTER_SPAWN] = {\n");
	for (unsigned v = 0; v < MOR_FILTER_SPAWN; v++)
		printf("\t{ mor_guardian_code_%u, sizeof(mor_guardian_code_%u) / "
		       "sizeof(*mor_guardian_code_%u), NULL, 0 },\n",
		       v, v, v);
	printf("};\n\n#ifndef NDEBUG\nstatic const char *const mor_syscall_names[] = {\n");
	for (unsigned nr = 0; nr < ROWS_MAX; nr++) {
		char *known = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), (int)nr);

		if (known)
			printf("\t[%u] = \"%s\",\n", nr, known);
		free(known);
	}
	printf("};\n#endif\n\n");
}

static void print_filter(const struct program *p, unsigned variant)
{
	size_t selves = 0;
	char name[32];

	snprintf(name, sizeof(name), "mor_filter_code_%u", variant);
	print_code(p, name);
	printf("static const unsigned short mor_filter_self_%u[] = { ", variant);
	for (size_t i = CODE_MAX - p->len; i < CODE_MAX; i++) {
		if (p->self[i])
			printf("%zu, ", i - (CODE_MAX - p->len));
		selves += p->self[i];
	}
	printf("0 };\nenum { mor_filter_selves_%u = %zu };\n\n", variant, selves);
}

static void print_notified(void)
{
	printf("const struct mor_notified mor_notified[] = {\n");
	for (unsigned nr = 0; nr < ROWS_MAX; nr++) {
		const struct mor_syscall_row *row = NULL;

		/* The first variant that asks; the number of the action is the same in all. */
		for (unsigned v = 0; v < MOR_FILTERS && (!row || !row->notify); v++) {
			const struct mor_syscall_row *found = row_of(nr, v);

			if (found && (found->answer == MOR_ANSWER_NOTIFY || found->notify))
				row = found;
		}
		if (row)
			printf("\t{ %u, %u, \"%s\" },\n", nr, row->notify, row->name);
	}
	printf("};\n");
}

static void print_header(void)
{
	static struct program p;
	struct table table = plugin_table();

	printf("/* Made by mkfilter from src/jail/filter/syscalls.c. Do not edit. */\n");
	for (unsigned v = 0; v < MOR_FILTERS; v++) {
		make(&p, &table, v);
		print_filter(&p, v);
	}
	print_guardian(&p);
	printf("static const struct mor_filter mor_filters[MOR_FILTERS] = {\n");
	for (unsigned v = 0; v < MOR_FILTERS; v++)
		printf("\t{ mor_filter_code_%u, sizeof(mor_filter_code_%u) / sizeof(*mor_filter_code_%u), "
		       "mor_filter_self_%u, mor_filter_selves_%u },\n",
		       v, v, v, v, v);
	printf("};\n\n");
	print_notified();
}

static const char *answer_text(const struct mor_syscall_row *row)
{
	if (!row)
		return "-";
	if (row->answer == MOR_ANSWER_NOTIFY)
		return row->notify >= MOR_N_FIRST_REFUSED ? "violation" : "asked";
	if (row->answer == MOR_ANSWER_ALLOW)
		return "allowed";
	switch (row->error) {
	case EPERM:
		return "EPERM";
	case EACCES:
		return "EACCES";
	case ENOTTY:
		return "ENOTTY";
	default:
		return "ENOSYS";
	}
}

static void print_table(void)
{
	printf("| call | plain | network | places | spawn | + network | + places | by argument |\n"
	       "|---|---|---|---|---|---|---|---|\n");
	for (unsigned nr = 0; nr < ROWS_MAX; nr++) {
		const struct mor_syscall_row *row = NULL;

		for (unsigned v = 0; v < MOR_FILTERS && !row; v++)
			row = row_of(nr, v);
		if (!row)
			continue;
		printf("| %s |", row->name);
		for (unsigned v = 0; v < MOR_FILTERS; v++)
			printf(" %s |", answer_text(row_of(nr, v)));
		printf(" %s |\n", row->tests ? "yes" : "");
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--table") == 0)
		print_table();
	else
		print_header();
	return fflush(stdout) == 0 ? 0 : 1;
}
