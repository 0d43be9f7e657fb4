/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kythe-clang: one translation unit -> entries.
 *
 *	main.c   units: arguments, parsing, diagnostics   files.c    files, their texts, anchors
 *	store.c  memory, tables, "emitted once"           decls.c    declarations -> nodes, on demand
 *	types.c  types -> nodes                           walk.c     the walk: references, calls
 *	write.c  which operators write what               init.c     initialisers in braces
 *	flow.c   what influences what                     comment.c  comments that document
 *	expand.c macros behind macros                     meta.c     what was generated from what
 *	scan.c   what libclang does not tell: keywords of types, directives of the preprocessor
 *
 * A node is emitted when it is first asked for, whole: its facts, where it is defined, what it belongs to. The
 * walk goes over the unit's own files; of system headers only what is used is emitted.
 */
#ifndef KYTHE_CLANG_INDEX_H
#define KYTHE_CLANG_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clang-c/Index.h>
#include <tenon/analyzer.h>

#define LANGUAGE "c++" /* Kythe's own indexer says so of C, too */

/* ---- store.c ---- */

struct arena { /* freed as a whole */
	struct block *blocks;
	size_t used, size; /* of the newest block */
};
void *arena_take(struct arena *arena, size_t size); /* zeroed; never NULL: the process ends where memory does */
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_copy(struct arena *arena, const char *text);
void arena_free(struct arena *arena);

struct slot {
	uint64_t hash;
	void *value; /* NULL: empty */
};
struct table { /* hash -> value; equality is the caller's */
	struct slot *slots;
	size_t mask, count;
};
typedef bool same_fn(const void *value, const void *key);
void *table_find(const struct table *table, uint64_t hash, same_fn *same, const void *key);
void table_add(struct table *table, uint64_t hash, void *value);
void table_free(struct table *table);
uint64_t hash_text(const char *text);

/* ---- one unit ---- */

struct file {
	CXFile handle;
	CXFileUniqueID id;
	tenon_vname vname;
	const char *path; /* as clang spells it */
	const char *text; /* the unit's; NULL: clang did not read it */
	size_t len;
	bool own;           /* not in a system header: walked */
	struct rule *rules; /* of its metadata; see meta.c */
};

struct node {
	CXCursor cursor;
	tenon_vname vname;
};

struct index {
	tenon_analyzer *analyzer;
	const tenon_unit *unit;
	CXTranslationUnit tu;
	struct arena arena;
	struct table files, decls, types, seen, macros, macro_names, macro_uses, globals;
};

void index_fini(struct index *ix);

/* Emits what was not emitted in this unit already. */
void emit_fact(struct index *ix, const tenon_vname *source, const char *name, const char *value);
void emit_edge(struct index *ix, const tenon_vname *source, const char *kind, const tenon_vname *target);
void emit_ordinal(struct index *ix, const tenon_vname *source, const char *kind, unsigned n,
		  const tenon_vname *target);

/* ---- files.c ---- */

/* The file node, emitted with its text; NULL: no file (built in, command line). */
struct file *file_of(struct index *ix, CXFile handle);
/* Where a location is written in a file, macro arguments where they stand; false: nowhere. */
bool place_of(struct index *ix, CXSourceLocation location, struct file **ret_file, unsigned *ret_offset);
struct range {
	struct file *file;
	unsigned start, end;
};
/* The range of a cursor's name: only if the bytes there are that name. */
bool name_range(struct index *ix, CXSourceLocation location, const char *name, struct range *ret);
bool extent_range(struct index *ix, CXSourceRange extent, struct range *ret);
/* The anchor node, emitted. */
const tenon_vname *anchor(struct index *ix, const struct range *range);
bool in_system_header(CXCursor cursor);

/* ---- decls.c ---- */

/* The node of one declaration or definition; NULL: of no kind that we know. */
const tenon_vname *decl_node(struct index *ix, CXCursor cursor);
/* What a reference means: the definition if it is visible, else that declaration. */
const tenon_vname *target_node(struct index *ix, CXCursor referenced);
const tenon_vname *macro_node(struct index *ix, CXCursor macro);

struct macro_name { /* every definition of one name, in no order */
	struct macro_name *next;
	const char *name;
	CXCursor cursor;
	const struct file *file; /* NULL: built in */
	unsigned offset;
};
void know_macro(struct index *ix, CXCursor definition);
const struct macro_name *macro_names(struct index *ix, const char *name);

/* ---- comment.c ---- */

void know_globals(struct index *ix); /* before the walk: comments name what comes later */
void emit_comment(struct index *ix, CXCursor cursor, const tenon_vname *node);

/* ---- expand.c ---- */

/* What the macro's body expands, and so on: edges from the anchor of its use. */
void expand_further(struct index *ix, const tenon_vname *at, CXCursor macro);

/* ---- meta.c ---- */

void load_metadata(struct index *ix, struct file *file); /* what its pragmas name */
/* of a definition's name */
void emit_generated(struct index *ix, const struct range *name, const tenon_vname *node);

/* ---- flow.c ---- */

void flow_through_declaration(struct index *ix, CXCursor declaration, CXCursor definition);

/* ---- types.c ---- */

const tenon_vname *type_node(struct index *ix, CXType type); /* NULL: of no kind that we know */
/* "unsigned long", in any order of words -> tbuiltin; NULL: none. */
const tenon_vname *builtin_node(struct index *ix, const char *name);

/* ---- walk.c, scan.c ---- */

void walk_unit(struct index *ix);
void scan_file(struct index *ix, struct file *file);
bool word_byte(char c);

#endif
