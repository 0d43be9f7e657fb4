/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations -> nodes. Kinds are a table; a node is emitted with everything that belongs to it
 * the first time. */
#include "index.h"

#include <stdio.h>
#include <string.h>

struct kind {
	enum CXCursorKind cursor;
	const char *node, *subkind; /* subkind NULL: none */
	bool completes;             /* has complete=definition|incomplete */
	bool typed;
};

static const struct kind kinds[] = {
	{ CXCursor_FunctionDecl, "function", NULL, true, true },
	{ CXCursor_VarDecl, "variable", NULL, true, true },
	{ CXCursor_ParmDecl, "variable", "local/parameter", true, true },
	{ CXCursor_FieldDecl, "variable", "field", true, true },
	{ CXCursor_StructDecl, "record", "struct", true, false },
	{ CXCursor_UnionDecl, "record", "union", true, false },
	{ CXCursor_EnumDecl, "sum", "enum", true, false },
	{ CXCursor_EnumConstantDecl, "constant", NULL, false, false },
	{ CXCursor_TypedefDecl, "talias", NULL, false, false },
};

static const struct kind *kind_of(CXCursor cursor)
{
	enum CXCursorKind want = clang_getCursorKind(cursor);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].cursor == want)
			return &kinds[i];
	return NULL;
}

static bool is_local(CXCursor cursor)
{
	enum CXCursorKind parent = clang_getCursorKind(clang_getCursorSemanticParent(cursor));

	return parent == CXCursor_FunctionDecl;
}

/* Fields and parameters are what they are where they stand; a variable may be only announced. */
static bool is_definition(CXCursor cursor)
{
	enum CXCursorKind kind = clang_getCursorKind(cursor);

	if (kind == CXCursor_FieldDecl || kind == CXCursor_ParmDecl)
		return true;
	if (kind == CXCursor_VarDecl) /* "int x;" at file level is a definition of sorts: of storage it is */
		return clang_isCursorDefinition(cursor) || clang_Cursor_getStorageClass(cursor) != CX_SC_Extern;
	return clang_isCursorDefinition(cursor);
}

/* ---- names ---- */

/* The USR tells equal names of different scopes apart, the offset one declaration from the next. */
static void name_node(struct index *ix, CXCursor cursor, tenon_vname *ret)
{
	CXString usr = clang_getCursorUSR(cursor);
	const char *text = clang_getCString(usr);
	struct file *file = NULL;
	unsigned offset = 0;

	*ret = (tenon_vname){ "", "", "", "", LANGUAGE };
	if (place_of(ix, clang_getCursorLocation(cursor), &file, &offset)) {
		ret->corpus = file->vname.corpus;
		ret->root = file->vname.root;
		ret->path = file->vname.path;
	}
	ret->signature = arena_printf(&ix->arena, "%s@%u#%s", text && *text ? text : "?", offset,
				      is_definition(cursor) ? "defn" : "decl");
	clang_disposeString(usr);
}

static const char *spelling_of(struct index *ix, CXCursor cursor)
{
	CXString spelling = clang_getCursorSpelling(cursor);
	const char *text = arena_copy(&ix->arena, clang_getCString(spelling));

	clang_disposeString(spelling);
	return text;
}

/* ---- what belongs to a node ---- */

/* A record without a name lies at its keyword. What it is called differs: nothing, "(unnamed at ..)", or what a
 * typedef calls it. */
static bool binding_range(struct index *ix, CXCursor cursor, struct range *ret)
{
	enum CXCursorKind kind = clang_getCursorKind(cursor);
	const char *keyword = kind == CXCursor_StructDecl ? "struct" :
			      kind == CXCursor_UnionDecl  ? "union" :
			      kind == CXCursor_EnumDecl   ? "enum" :
							    "";
	CXSourceLocation at = clang_getCursorLocation(cursor);

	if (name_range(ix, at, spelling_of(ix, cursor), ret))
		return true;
	if (!name_range(ix, at, keyword, ret))
		return false;
	/* A macro that makes a whole record may be called struct_of(..). */
	return ret->end == ret->file->len || !word_byte(ret->file->text[ret->end]);
}

static void emit_anchors(struct index *ix, CXCursor cursor, const tenon_vname *node)
{
	struct range range;

	if (binding_range(ix, cursor, &range)) {
		emit_edge(ix, anchor(ix, &range), "/kythe/edge/defines/binding", node);
		emit_generated(ix, &range, node);
	}
	if (is_definition(cursor) && extent_range(ix, clang_getCursorExtent(cursor), &range))
		emit_edge(ix, anchor(ix, &range), "/kythe/edge/defines", node);
}

/* Everybody who links a C program knows an external function by its bare name. */
static void emit_symbol(struct index *ix, CXCursor cursor, const tenon_vname *node)
{
	tenon_vname symbol = { spelling_of(ix, cursor), "", "", "", "csymbol" };

	if (clang_getCursorLinkage(cursor) != CXLinkage_External || !*symbol.signature)
		return;
	emit_fact(ix, &symbol, "/kythe/node/kind", "name");
	emit_edge(ix, node, "/kythe/edge/named", &symbol);
}

static void emit_function(struct index *ix, CXCursor cursor, const tenon_vname *node)
{
	int count = clang_Cursor_getNumArguments(cursor);

	for (int i = 0; i < count; i++)
		emit_ordinal(ix, node, "/kythe/edge/param", (unsigned)i,
			     decl_node(ix, clang_Cursor_getArgument(cursor, (unsigned)i)));
	emit_symbol(ix, cursor, node);
}

static void emit_constant(struct index *ix, CXCursor cursor, const tenon_vname *node)
{
	char number[32];

	snprintf(number, sizeof(number), "%lld", clang_getEnumConstantDeclValue(cursor));
	emit_fact(ix, node, "/kythe/text", number);
}

/* Members belong to what they stand in; so does a type that is declared inside another or inside a function. */
static void emit_parent(struct index *ix, CXCursor cursor, const tenon_vname *node)
{
	CXCursor parent = clang_getCursorSemanticParent(cursor);

	switch (clang_getCursorKind(parent)) {
	case CXCursor_StructDecl:
	case CXCursor_UnionDecl:
	case CXCursor_EnumDecl:
		emit_edge(ix, node, "/kythe/edge/childof", decl_node(ix, parent));
		break;
	case CXCursor_FunctionDecl:
		if (clang_getCursorKind(cursor) != CXCursor_ParmDecl)
			emit_edge(ix, node, "/kythe/edge/childof", decl_node(ix, parent));
		break;
	default:
		break;
	}
}

/* A declaration whose definition this unit sees. */
static void emit_completion(struct index *ix, CXCursor cursor, const tenon_vname *node)
{
	CXCursor definition = clang_getCursorDefinition(cursor);

	if (is_definition(cursor) || clang_Cursor_isNull(definition) || clang_equalCursors(definition, cursor))
		return;
	emit_edge(ix, node, "/kythe/edge/completedby", decl_node(ix, definition));
	if (clang_getCursorKind(cursor) == CXCursor_FunctionDecl)
		flow_through_declaration(ix, cursor, definition);
}

static void emit_alias(struct index *ix, CXCursor cursor, const tenon_vname *node)
{
	CXType type = clang_getTypedefDeclUnderlyingType(cursor);

	emit_edge(ix, node, "/kythe/edge/aliases", type_node(ix, type));
	emit_edge(ix, node, "/kythe/edge/aliases/root", type_node(ix, clang_getCanonicalType(type)));
}

static void emit_kind(struct index *ix, const struct kind *kind, CXCursor cursor, const tenon_vname *node)
{
	const char *subkind = kind->subkind;

	emit_fact(ix, node, "/kythe/node/kind", kind->node);
	if (kind->cursor == CXCursor_VarDecl && is_local(cursor))
		subkind = "local";
	if (subkind)
		emit_fact(ix, node, "/kythe/subkind", subkind);
	if (kind->completes)
		emit_fact(ix, node, "/kythe/complete", is_definition(cursor) ? "definition" : "incomplete");
}

static void emit_node(struct index *ix, const struct kind *kind, CXCursor cursor, const tenon_vname *node)
{
	emit_kind(ix, kind, cursor, node);
	emit_anchors(ix, cursor, node);
	emit_comment(ix, cursor, node);
	emit_parent(ix, cursor, node);
	if (kind->typed)
		emit_edge(ix, node, "/kythe/edge/typed", type_node(ix, clang_getCursorType(cursor)));
	if (kind->completes)
		emit_completion(ix, cursor, node);
	if (kind->cursor == CXCursor_FunctionDecl)
		emit_function(ix, cursor, node);
	else if (kind->cursor == CXCursor_EnumConstantDecl)
		emit_constant(ix, cursor, node);
	else if (kind->cursor == CXCursor_TypedefDecl)
		emit_alias(ix, cursor, node);
}

/* ---- look-up ---- */

static bool same_cursor(const void *value, const void *key)
{
	return clang_equalCursors(((const struct node *)value)->cursor, *(const CXCursor *)key);
}

static uint64_t hash_cursor(CXCursor cursor)
{
	return clang_hashCursor(cursor) * 0x9e3779b97f4a7c15u;
}

/* It is in the table before anything of it is emitted: a list's node has a member whose type is the list. */
static struct node *add_node(struct index *ix, struct table *table, CXCursor cursor)
{
	struct node *node = arena_take(&ix->arena, sizeof(*node));

	node->cursor = cursor;
	table_add(table, hash_cursor(cursor), node);
	return node;
}

const tenon_vname *decl_node(struct index *ix, CXCursor cursor)
{
	const struct kind *kind = kind_of(cursor);
	struct node *node;

	if (!kind)
		return NULL;
	node = table_find(&ix->decls, hash_cursor(cursor), same_cursor, &cursor);
	if (!node) {
		node = add_node(ix, &ix->decls, cursor);
		name_node(ix, cursor, &node->vname);
		emit_node(ix, kind, cursor, &node->vname);
	}
	return &node->vname;
}

const tenon_vname *target_node(struct index *ix, CXCursor referenced)
{
	CXCursor definition = clang_getCursorDefinition(referenced);

	return decl_node(ix, clang_Cursor_isNull(definition) ? referenced : definition);
}

/* ---- macros ---- */

static void emit_macro(struct index *ix, CXCursor macro, struct node *node)
{
	const char *name = spelling_of(ix, macro);
	struct range range;
	bool written = clang_getCursorKind(macro) == CXCursor_MacroDefinition &&
		       name_range(ix, clang_getCursorLocation(macro), name, &range);

	node->vname = (tenon_vname){ "", "", "", "", LANGUAGE };
	if (written) {
		node->vname.signature = arena_printf(&ix->arena, "%s#m@%u", name, range.start);
		node->vname.corpus = range.file->vname.corpus;
		node->vname.root = range.file->vname.root;
		node->vname.path = range.file->vname.path;
	} else {
		node->vname.signature = arena_printf(&ix->arena, "%s#m@builtin", name);
	}
	emit_fact(ix, &node->vname, "/kythe/node/kind", "macro");
	if (written) {
		emit_edge(ix, anchor(ix, &range), "/kythe/edge/defines/binding", &node->vname);
		emit_generated(ix, &range, &node->vname);
	}
}

const tenon_vname *macro_node(struct index *ix, CXCursor macro)
{
	struct node *node = table_find(&ix->macros, hash_cursor(macro), same_cursor, &macro);

	if (!node) {
		node = add_node(ix, &ix->macros, macro);
		emit_macro(ix, macro, node);
	}
	return &node->vname;
}

static bool same_name(const void *value, const void *key)
{
	return strcmp(((const struct macro_name *)value)->name, key) == 0;
}

const struct macro_name *macro_names(struct index *ix, const char *name)
{
	return table_find(&ix->macro_names, hash_text(name), same_name, name);
}

void know_macro(struct index *ix, CXCursor definition)
{
	struct macro_name *first, *name = arena_take(&ix->arena, sizeof(*name));
	struct file *file = NULL;

	name->name = spelling_of(ix, definition);
	name->cursor = definition;
	if (place_of(ix, clang_getCursorLocation(definition), &file, &name->offset))
		name->file = file;
	first = table_find(&ix->macro_names, hash_text(name->name), same_name, name->name);
	if (!first) {
		table_add(&ix->macro_names, hash_text(name->name), name);
		return;
	}
	name->next = first->next; /* the first stays in its slot: order does not matter to whoever asks */
	first->next = name;
}
