/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three sources, best first: the full symbol table; the dynamic one together with the unwind tables, which
 * a stripped binary keeps; the entry point. All bounded, since the file says how long each is.
 */
#include "functions.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "unwind.h"

#define KEPT_MAX    ((size_t)1 << 20) /* functions, aliases included */
#define IMPORTS_MAX ((size_t)1 << 16)
#define GUESS_MAX   4096 /* bytes of a function whose size nobody tells */

enum { RANK_GLOBAL, RANK_WEAK, RANK_LOCAL, RANK_UNNAMED };

struct collector {
	const struct elf_file *file;
	struct functions *to;
	int64_t deadline_ns;
	enum collect_status status;
	unsigned steps;
};

/* A look at the clock every thousand steps; false also when something has gone wrong before. */
static bool go_on(struct collector *c)
{
	if (++c->steps % 1024 == 0 && clock_passed(c->deadline_ns))
		c->status = COLLECT_TIMEOUT;
	return c->status == COLLECT_OK;
}

static void *grow(void *array, size_t item, size_t count, size_t *cap)
{
	size_t more = *cap ? *cap * 2 : 256;
	void *bigger;

	if (count < *cap)
		return array;
	bigger = realloc(array, more * item);
	if (bigger)
		*cap = more;
	return bigger;
}

/* Beyond KEPT_MAX the rest is not looked at: a million functions is a report nobody reads. */
static void add(struct collector *c, struct function function)
{
	struct functions *to = c->to;
	struct function *items;

	if (to->count >= KEPT_MAX)
		return;
	items = grow(to->items, sizeof(*items), to->count, &to->cap);
	if (!items) {
		c->status = COLLECT_NO_MEMORY;
		return;
	}
	to->items = items;
	items[to->count++] = function;
}

static void add_import(struct collector *c, const char *name)
{
	struct functions *to = c->to;
	const char **imports;

	if (to->import_count >= IMPORTS_MAX)
		return;
	imports = grow(to->imports, sizeof(*imports), to->import_count, &to->import_cap);
	if (!imports) {
		c->status = COLLECT_NO_MEMORY;
		return;
	}
	to->imports = imports;
	imports[to->import_count++] = name;
}

/* ---- Collecting ---- */

/* Mapping symbols, sections and files have other types; numbers from SHN_LORESERVE on are no sections. */
static void take_symbol(struct collector *c, const GElf_Sym *sym, const char *name)
{
	unsigned type = GELF_ST_TYPE(sym->st_info), bind = GELF_ST_BIND(sym->st_info);
	bool arm = c->file->header.e_machine == EM_ARM;
	struct function function = { .addr = sym->st_value, .size = sym->st_size, .name = name };
	uint64_t avail;

	if (sym->st_shndx == SHN_UNDEF) {
		if (*name && bind != STB_LOCAL)
			add_import(c, name);
		return;
	}
	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym->st_shndx >= SHN_LORESERVE || !*name)
		return;
	function.section = sym->st_shndx;
	function.rank = bind == STB_GLOBAL ? RANK_GLOBAL : bind == STB_WEAK ? RANK_WEAK : RANK_LOCAL;
	function.thumb = arm && (sym->st_value & 1);
	if (arm)
		function.addr &= ~UINT64_C(1);
	/* A size beyond the code there is would put a liar among the largest. */
	if (elf_file_at(c->file, function.section, function.addr, &avail) && function.size > avail)
		function.size = avail;
	add(c, function);
}

/* The first table of its kind; a linker makes one. Entry 0 is always empty. */
static void read_symbols(struct collector *c, uint32_t type)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Sym sym;
	Elf_Data *data;

	while ((scn = elf_nextscn(c->file->elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == type)
			break;
	data = scn ? elf_getdata(scn, NULL) : NULL;
	for (int i = 1; data && gelf_getsym(data, i, &sym) && go_on(c); i++) {
		const char *name = elf_strptr(c->file->elf, shdr.sh_link, sym.st_name);

		if (name)
			take_symbol(c, &sym, name);
	}
}

static bool take_frame(uint64_t addr, uint64_t size, void *arg)
{
	struct collector *c = arg;
	uint64_t avail;

	if (elf_file_at(c->file, 0, addr, &avail))
		add(c, (struct function){ .addr = addr,
					  .size = size < avail ? size : avail,
					  .rank = RANK_UNNAMED,
					  .name = addr == c->file->header.e_entry ? "entry" : NULL });
	return go_on(c);
}

static void collect(struct collector *c)
{
	struct functions *to = c->to;
	size_t named;

	to->source = "symtab";
	read_symbols(c, SHT_SYMTAB);
	if (to->count > 0)
		return;
	to->import_count = 0; /* a symbol table without functions may still have named some */
	read_symbols(c, SHT_DYNSYM);
	named = to->count;
	unwind_walk(c->file, take_frame, c);
	to->source = to->count == named ? "dynsym" : named ? "dynsym+eh_frame" : "eh_frame";
	if (to->count > 0)
		return;
	to->source = c->file->header.e_entry ? "entry" : "none";
	if (c->file->header.e_entry)
		add(c, (struct function){ .addr = c->file->header.e_entry, .name = "entry" });
}

/* ---- Ordering ---- */

/* Addresses of a relocatable file begin anew in each section; elsewhere the section says nothing. */
static int compare_place(const struct function *a, const struct function *b, bool by_section)
{
	if (by_section && a->section != b->section)
		return a->section < b->section ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static int compare_names(const struct function *a, const struct function *b)
{
	if (a->rank != b->rank)
		return a->rank - b->rank;
	return a->name && b->name ? strcmp(a->name, b->name) : 0;
}

/* qsort() passes no context, hence two. Complete orders both: the text must not depend on the sort. */
static int by_address(const void *left, const void *right)
{
	int r = compare_place(left, right, false);

	return r ? r : compare_names(left, right);
}

static int by_section(const void *left, const void *right)
{
	int r = compare_place(left, right, true);

	return r ? r : compare_names(left, right);
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void sort_imports(struct functions *f)
{
	size_t kept = 0;

	if (f->import_count == 0)
		return;
	qsort(f->imports, f->import_count, sizeof(*f->imports), by_text);
	for (size_t i = 0; i < f->import_count; i++)
		if (kept == 0 || strcmp(f->imports[kept - 1], f->imports[i]) != 0)
			f->imports[kept++] = f->imports[i];
	f->import_count = kept;
}

/* Assembler code often has no size: up to the next function, but never far. */
static void guess_size(const struct elf_file *file, struct function *f, const struct function *next)
{
	bool relocatable = file->header.e_type == ET_REL;
	uint64_t avail;

	if (f->size > 0 || !elf_file_at(file, f->section, f->addr, &avail))
		return;
	if (next && (!relocatable || next->section == f->section) && next->addr - f->addr < avail)
		avail = next->addr - f->addr;
	f->size = avail < GUESS_MAX ? avail : GUESS_MAX;
	f->guessed = true;
}

/* Folds entries at one place into a function and its aliases. Needs them sorted. */
static void fold(struct collector *c, bool relocatable)
{
	struct functions *f = c->to;

	for (size_t i = 0, next; i < f->count && go_on(c); i = next) {
		struct function *first = &f->items[i];

		for (next = i + 1; next < f->count && compare_place(first, &f->items[next], relocatable) == 0;
		     next++)
			if (f->items[next].size > first->size)
				first->size = f->items[next].size;
		first->aliases = (uint32_t)(next - i - 1);
		guess_size(c->file, first, next < f->count ? &f->items[next] : NULL);
		f->total++;
	}
}

enum collect_status functions_collect(const struct elf_file *file, int64_t deadline_ns, struct functions *ret)
{
	struct collector c = { .file = file, .to = ret, .deadline_ns = deadline_ns, .status = COLLECT_OK };
	bool relocatable = file->header.e_type == ET_REL;

	*ret = (struct functions){ 0 };
	collect(&c);
	if (c.status == COLLECT_OK && ret->count > 0)
		qsort(ret->items, ret->count, sizeof(*ret->items), relocatable ? by_section : by_address);
	if (c.status == COLLECT_OK) {
		sort_imports(ret);
		fold(&c, relocatable);
	}
	if (c.status != COLLECT_OK)
		functions_fini(ret);
	return c.status;
}

void functions_fini(struct functions *functions)
{
	free(functions->items);
	free(functions->imports);
	*functions = (struct functions){ 0 };
}

/* ---- Choosing ---- */

static int by_size(const void *left, const void *right)
{
	const struct function *a = *(struct function *const *)left, *b = *(struct function *const *)right;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return a < b ? -1 : a > b; /* they are sorted by address: an order that is always the same */
}

static int by_worth(const void *left, const void *right)
{
	const struct function *a = *(struct function *const *)left, *b = *(struct function *const *)right;

	if (!a->name != !b->name)
		return a->name ? -1 : 1;
	return by_size(left, right);
}

bool functions_choose(struct functions *functions, size_t max_listed, size_t max_disassembled)
{
	struct function **order = calloc(functions->total + 1, sizeof(*order));
	size_t count = 0;

	if (!order)
		return false;
	for (size_t i = 0; i < functions->count; i += 1 + functions->items[i].aliases)
		order[count++] = &functions->items[i];
	qsort(order, count, sizeof(*order), by_worth);
	if (count > max_listed)
		count = max_listed;
	qsort(order, count, sizeof(*order), by_size);
	for (size_t i = 0; i < count; i++) {
		order[i]->listed = true;
		order[i]->disassembled = i < max_disassembled;
	}
	free(order);
	return true;
}
