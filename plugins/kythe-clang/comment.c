/* SPDX-License-Identifier: Apache-2.0 */
/* Comments that document: what they document, and the names between backquotes in them. */
#include "index.h"

#include <string.h>

struct global {
	const char *name;
	CXCursor cursor;
};

static bool same_global(const void *value, const void *key)
{
	return strcmp(((const struct global *)value)->name, key) == 0;
}

static enum CXChildVisitResult note_global(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct index *ix = data;
	CXString name;
	struct global *global;

	(void)parent;
	if (!clang_isDeclaration(clang_getCursorKind(cursor)) || in_system_header(cursor))
		return CXChildVisit_Continue;
	name = clang_getCursorSpelling(cursor);
	if (*clang_getCString(name) &&
	    !table_find(&ix->globals, hash_text(clang_getCString(name)), same_global, clang_getCString(name))) {
		global = arena_take(&ix->arena, sizeof(*global));
		global->name = arena_copy(&ix->arena, clang_getCString(name));
		global->cursor = cursor;
		table_add(&ix->globals, hash_text(global->name), global);
	}
	clang_disposeString(name);
	/* Enumerators are as global as what they stand in. */
	return clang_getCursorKind(cursor) == CXCursor_EnumDecl ? CXChildVisit_Recurse : CXChildVisit_Continue;
}

void know_globals(struct index *ix)
{
	clang_visitChildren(clang_getTranslationUnitCursor(ix->tu), note_global, ix);
}

/* A parameter of the function, else a name of the file level. */
static const tenon_vname *find_name(struct index *ix, CXCursor documented, const char *name)
{
	int count = clang_Cursor_getNumArguments(documented);
	const struct global *global;

	for (int i = 0; i < count; i++) {
		CXCursor parameter = clang_Cursor_getArgument(documented, (unsigned)i);
		CXString spelling = clang_getCursorSpelling(parameter);
		bool same = strcmp(clang_getCString(spelling), name) == 0;

		clang_disposeString(spelling);
		if (same)
			return decl_node(ix, parameter);
	}
	global = table_find(&ix->globals, hash_text(name), same_global, name);
	return global ? target_node(ix, global->cursor) : NULL;
}

static void refer(struct index *ix, CXCursor documented, struct file *file, const char *from, const char *to)
{
	struct range range = { file, (unsigned)(from - file->text), (unsigned)(to - file->text) };
	char name[256];

	if (to == from || (size_t)(to - from) >= sizeof(name) || memchr(from, '\n', (size_t)(to - from)))
		return;
	memcpy(name, from, (size_t)(to - from));
	name[to - from] = '\0';
	name[strcspn(name, "(")] = '\0'; /* `f()` is f */
	range.end = range.start + (unsigned)strlen(name);
	if (*name && find_name(ix, documented, name))
		emit_edge(ix, anchor(ix, &range), "/kythe/edge/ref/doc", find_name(ix, documented, name));
}

void emit_comment(struct index *ix, CXCursor cursor, const tenon_vname *node)
{
	struct range range;
	const char *at, *end;

	if (!extent_range(ix, clang_Cursor_getCommentRange(cursor), &range))
		return;
	emit_edge(ix, anchor(ix, &range), "/kythe/edge/documents", node);
	end = range.file->text + range.end;
	for (at = range.file->text + range.start; (at = memchr(at, '`', (size_t)(end - at)));) {
		const char *close = memchr(at + 1, '`', (size_t)(end - at - 1));

		if (!close)
			break;
		refer(ix, cursor, range.file, at + 1, close);
		at = close + 1;
	}
}
