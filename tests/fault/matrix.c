/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault-matrix TONGUE [ROW/PHASE]: see fault.h. Most cells wait most of the time, so several processes share
 * them. fault-matrix --rows: the names of all rows.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cell.h"
#include "rows.h"
#include "unit/tier.h"

#define ROWS     (sizeof(rows) / sizeof(rows[0]))
#define WORKERS  8
#define MOST_KIB (64 << 10) /* of a host, whatever its plugins do */

static struct result {
	bool good, skipped;
	char said[1000];
} * results; /* by row and phase; shared by all processes */
static struct result *result;

bool fail(const char *format, ...)
{
	va_list args;

	if (result->said[0])
		return false;
	va_start(args, format);
	vsnprintf(result->said, sizeof(result->said), format, args);
	va_end(args);
	return false;
}

void forgive(void)
{
	result->said[0] = '\0';
}

bool skip(const char *why)
{
	result->skipped = true;
	snprintf(result->said, sizeof(result->said), "%s", why);
	return true;
}

/* ---- which there are ---- */

/* Why there is no such cell; NULL: there is. */
static const char *why_none(const struct cell *cell)
{
	if (cell->tongue->one_shot && cell->phase == AT_IDLE)
		return "its process ends with its one call";
	if (SANITIZED && strcmp(cell->row->name, "memory") == 0)
		return "a sanitizer's memory is larger than any limit";
	return cell->want & NONE ? cell->row->none : NULL;
}

/* The dialect's own rule for it; NULL: it has none. */
static const struct exception *exception_of(const struct cell *cell)
{
	const struct exception *found = NULL;

	for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++) {
		const struct exception *e = &exceptions[i];

		if (strncmp(e->tongue, cell->tongue->name, strlen(e->tongue)) == 0 &&
		    strcmp(e->row, cell->row->name) == 0 && (e->phases & 1 << cell->phase))
			found = e;
	}
	return found;
}

static struct cell cell_of(const struct tongue *tongue, size_t number)
{
	struct cell cell = { .tongue = tongue,
			     .row = &rows[number / PHASES],
			     .phase = (enum phase)(number % PHASES) };
	const struct exception *own = exception_of(&cell);

	cell.want = own ? own->want : cell.row->want[cell.phase];
	if (!tongue->greets && cell.phase == AT_START && (cell.want & ANSWER))
		cell.want = OK | (cell.want & (LIMIT | LOOSE));
	return cell;
}

/* The first tier (tests/README.md) has the whole matrix for one dialect whose plugins live on and must greet,
 * and for one with a process for each call, where most rows end in another way. */
static bool has_whole_matrix(const struct tongue *tongue)
{
	return strcmp(tongue->name, "yams") == 0 || strcmp(tongue->name, "sunscreen-json") == 0;
}

/* For the others it has each fault in one phase, the next row in the next phase, and what the dialect has a
 * rule of its own for. Dialects begin with different phases: the last letters of their names differ. */
static bool is_in_first_tier(const struct cell *cell)
{
	size_t row = (size_t)(cell->row - rows);
	const char *name = cell->tongue->name;
	size_t first = row + (size_t)name[strlen(name) - 1];

	if (has_whole_matrix(cell->tongue))
		return true;
	if (cell->row->dear)
		return false;
	for (size_t i = 0; i < PHASES; i++) {
		struct cell turn = cell_of(cell->tongue, row * PHASES + (first + i) % PHASES);

		if (!why_none(&turn))
			return cell->phase == turn.phase || exception_of(cell);
	}
	return false;
}

static bool is_wanted(const struct cell *cell, const char *only)
{
	char name[64];

	if (!only)
		return !tier_first_only() || is_in_first_tier(cell);
	snprintf(name, sizeof(name), "%s/%s", cell->row->name, phase_names[cell->phase]);
	return strcmp(only, name) == 0;
}

/* ---- doing them ---- */

static bool run(const struct cell *cell)
{
	bool (*play)(const struct cell *) =
		cell->row->twist && cell->row->twist->play ? cell->row->twist->play : play_usual;
	unsigned before = count_descriptors();
	bool good = play(cell);

	if (count_descriptors() != before)
		good = fail("%u descriptors before, %u after", before, count_descriptors());
	if (has_children())
		good = fail("left a child");
	return good;
}

/* In a process of its own, so that what kills one fails one. */
static _Noreturn void be_one(const struct cell *cell)
{
	struct rusage usage;

	snprintf(result->said, sizeof(result->said), "%s", "");
	result->good = run(cell);
	getrusage(RUSAGE_SELF, &usage);
	if (!SANITIZED && usage.ru_maxrss > MOST_KIB)
		result->good = fail("the host took %ld KiB of memory", usage.ru_maxrss);
	exit(0);
}

static void note_death(int status)
{
	size_t len = strlen(result->said);

	if (status)
		snprintf(result->said + len, sizeof(result->said) - len,
			 "%sthe host has died (wait status %#x)", len ? "; " : "", (unsigned)status);
}

static void wait_for_one(pid_t pids[ROWS * PHASES])
{
	int status;
	pid_t pid = wait(&status);

	for (size_t i = 0; i < ROWS * PHASES; i++) {
		if (pids[i] != pid)
			continue;
		result = &results[i];
		result->good = result->good && !status;
		note_death(status);
	}
}

static void do_all(const struct tongue *tongue, const char *only)
{
	static pid_t pids[ROWS * PHASES];
	unsigned busy = 0;

	rig_prepare(tongue);
	for (size_t i = 0; i < ROWS * PHASES; i++) {
		struct cell cell = cell_of(tongue, i);

		if (why_none(&cell) || !is_wanted(&cell, only))
			continue;
		result = &results[i];
		pids[i] = fork();
		if (pids[i] == 0)
			be_one(&cell);
		if (pids[i] < 0)
			fail("cannot fork");
		else if (++busy == WORKERS)
			busy--, wait_for_one(pids);
	}
	for (; busy; busy--)
		wait_for_one(pids);
}

/* ---- telling ---- */

static unsigned report(const struct tongue *tongue, const char *only)
{
	unsigned cells = 0, failed = 0, none = 0, later = 0;

	for (size_t i = 0; i < ROWS * PHASES; i++) {
		struct cell cell = cell_of(tongue, i);
		const char *why = why_none(&cell), *phase = phase_names[cell.phase];

		if ((only || !why) && !is_wanted(&cell, only)) {
			later++;
			continue;
		}
		if (why) {
			none++;
			printf("# %s: %s/%s does not exist: %s\n", tongue->name, cell.row->name, phase, why);
			continue;
		}
		printf("%sok %u - %s: %s/%s%s%s\n", results[i].good ? "" : "not ", ++cells, tongue->name,
		       cell.row->name, phase, results[i].skipped ? " # SKIP " : "",
		       results[i].skipped ? results[i].said : "");
		if (results[i].said[0] && !results[i].skipped)
			printf("# %s\n", results[i].said);
		failed += !results[i].good;
	}
	printf("# %s: %u cells, %u that do not exist, %u left out\n1..%u\n", tongue->name, cells, none, later,
	       cells);
	return failed;
}

int main(int argc, char **argv)
{
	const struct tongue *tongue;

	if (argc == 2 && strcmp(argv[1], "--rows") == 0) {
		for (size_t i = 0; i < ROWS; i++)
			puts(rows[i].name);
		return 0;
	}
	tongue = argc > 1 ? tongue_find(argv[1]) : NULL;
	results = mmap(NULL, ROWS * PHASES * sizeof(*results), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!tongue || results == MAP_FAILED)
		return 2;
	do_all(tongue, argc > 2 ? argv[2] : NULL);
	return report(tongue, argc > 2 ? argv[2] : NULL) != 0;
}
