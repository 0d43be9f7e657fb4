/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over the tree of a unit: declarations are asked for (which emits them), references get their
 * anchors. The recursion is ours, because every step carries what it stands in: the function, and what is
 * being written to.
 */
#include "walk.h"

void descend(const struct step *step, CXCursor cursor)
{
	struct step inner = *step;

	clang_visitChildren(cursor, visit, &inner);
}

/* ---- references ---- */

void emit_access(struct index *ix, const tenon_vname *at, enum access access, const tenon_vname *target)
{
	if (access != WRITES)
		emit_edge(ix, at, "/kythe/edge/ref", target);
	if (access == WRITES || access == READS_AND_WRITES)
		emit_edge(ix, at, "/kythe/edge/ref/writes", target);
	if (access == WRITES_A_PART)
		emit_edge(ix, at, "/kythe/edge/ref/writes/partial", target);
}

bool reference_range(struct index *ix, CXCursor cursor, CXCursor referenced, struct range *ret)
{
	CXString name = clang_getCursorSpelling(referenced);
	bool found = name_range(ix, clang_getCursorLocation(cursor), clang_getCString(name), ret);

	clang_disposeString(name);
	return found;
}

static void visit_reference(const struct step *step, CXCursor cursor)
{
	CXCursor referenced = clang_getCursorReferenced(cursor);
	enum access access = clang_equalCursors(cursor, step->written) ? step->access : READS;
	const tenon_vname *target;
	struct range range;

	if (clang_Cursor_isNull(referenced) || !reference_range(step->ix, cursor, referenced, &range))
		return;
	target = target_node(step->ix, referenced);
	if (target)
		emit_access(step->ix, anchor(step->ix, &range), access, target);
}

/* ---- calls and writes ---- */

CXCursor callee_of(CXCursor call)
{
	CXCursor callee = clang_getCursorReferenced(call);

	if (clang_getCursorKind(callee) != CXCursor_FunctionDecl) /* (f)(x) */
		callee = clang_getCursorReferenced(bare(children_of(call).item[0]));
	return callee;
}

static void visit_call(const struct step *step, CXCursor cursor)
{
	CXCursor callee = callee_of(cursor);
	const tenon_vname *at;
	struct range range;

	if (clang_getCursorKind(callee) != CXCursor_FunctionDecl)
		return;
	flow_into_parameters(step->ix, cursor, callee);
	if (!extent_range(step->ix, clang_getCursorExtent(cursor), &range))
		return;
	at = anchor(step->ix, &range);
	emit_edge(step->ix, at, "/kythe/edge/ref/call", target_node(step->ix, callee));
	emit_edge(step->ix, at, "/kythe/edge/childof", step->function);
}

static void visit_operator(const struct step *step, CXCursor cursor)
{
	struct write write = find_write(step->ix, cursor);
	struct step inner = *step;

	if (write.access != READS) {
		inner.access = write.access;
		inner.written = write.reference;
	}
	if (!clang_Cursor_isNull(write.value) && !clang_Cursor_isNull(write.reference) && !write.through)
		flow_into(step->ix, target_node(step->ix, clang_getCursorReferenced(write.reference)),
			  write.value);
	descend(&inner, cursor);
}

static void visit_variable(const struct step *step, CXCursor cursor)
{
	CXCursor value = clang_Cursor_getVarDeclInitializer(cursor);
	const tenon_vname *node = decl_node(step->ix, cursor);
	struct step inner = *step;

	if (!clang_Cursor_isNull(value))
		emit_init(step->ix, value, node);
	inner.list_type = clang_getCursorType(cursor);
	descend(&inner, cursor);
}

static void visit_literal(const struct step *step, CXCursor cursor)
{
	struct step inner = *step;

	inner.list_type = clang_getCursorType(cursor);
	descend(&inner, cursor);
}

/* ---- the preprocessor ---- */

/* The file name with its quotes or angles. */
static void visit_inclusion(struct index *ix, CXCursor cursor)
{
	struct file *included = file_of(ix, clang_getIncludedFile(cursor));
	struct range range;
	const char *text;

	if (!included || !extent_range(ix, clang_getCursorExtent(cursor), &range))
		return;
	text = range.file->text;
	while (range.start < range.end && text[range.start] != '"' && text[range.start] != '<')
		range.start++;
	if (range.end - range.start < 3)
		return;
	emit_edge(ix, anchor(ix, &range), "/kythe/edge/ref/includes", &included->vname);
}

static void visit_expansion(struct index *ix, CXCursor cursor)
{
	CXCursor macro = clang_getCursorReferenced(cursor);
	struct range range;

	if (clang_Cursor_isNull(macro))
		macro = cursor; /* __LINE__ and friends have no definition: macro_node() goes by their name */
	if (!reference_range(ix, cursor, cursor, &range))
		return;
	emit_edge(ix, anchor(ix, &range), "/kythe/edge/ref/expands", macro_node(ix, macro));
	expand_further(ix, anchor(ix, &range), macro);
}

/* ---- the step ---- */

static void visit_function(const struct step *step, CXCursor cursor)
{
	struct step inner = { step->ix, decl_node(step->ix, cursor), clang_getNullCursor(), READS, { 0 } };

	clang_visitChildren(cursor, visit, &inner);
}

enum CXChildVisitResult visit(CXCursor cursor, CXCursor parent, CXClientData data)
{
	const struct step *step = data;
	struct index *ix = step->ix;

	(void)parent;
	switch (clang_getCursorKind(cursor)) {
	case CXCursor_FunctionDecl:
		visit_function(step, cursor);
		return CXChildVisit_Continue;
	case CXCursor_DeclRefExpr:
	case CXCursor_MemberRefExpr:
	case CXCursor_TypeRef:
	case CXCursor_MemberRef:
		visit_reference(step, cursor);
		break;
	case CXCursor_CallExpr:
		visit_call(step, cursor);
		break;
	case CXCursor_BinaryOperator:
	case CXCursor_CompoundAssignOperator:
	case CXCursor_UnaryOperator:
		visit_operator(step, cursor);
		return CXChildVisit_Continue;
	case CXCursor_UnexposedExpr:
		visit_element(step, cursor);
		return CXChildVisit_Continue;
	case CXCursor_InitListExpr:
		visit_list(step, cursor);
		return CXChildVisit_Continue;
	case CXCursor_VarDecl:
		visit_variable(step, cursor);
		return CXChildVisit_Continue;
	case CXCursor_CompoundLiteralExpr:
		visit_literal(step, cursor);
		return CXChildVisit_Continue;
	case CXCursor_ReturnStmt:
		flow_out(ix, step->function, cursor);
		break;
	default:
		decl_node(ix, cursor);
		break;
	}
	descend(step, cursor);
	return CXChildVisit_Continue;
}

/* The top level: preprocessing first, then declarations. System headers are not walked. */
static enum CXChildVisitResult visit_top(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct index *ix = ((struct step *)data)->ix;

	(void)parent;
	if (clang_getCursorKind(cursor) == CXCursor_MacroDefinition)
		know_macro(ix, cursor);
	if (in_system_header(cursor))
		return CXChildVisit_Continue;
	switch (clang_getCursorKind(cursor)) {
	case CXCursor_MacroDefinition:
		if (!clang_Cursor_isMacroBuiltin(cursor))
			macro_node(ix, cursor);
		return CXChildVisit_Continue;
	case CXCursor_MacroExpansion:
		visit_expansion(ix, cursor);
		return CXChildVisit_Continue;
	case CXCursor_InclusionDirective:
		visit_inclusion(ix, cursor);
		return CXChildVisit_Continue;
	default:
		return visit(cursor, parent, data);
	}
}

struct inclusions {
	struct index *ix;
	const char **paths; /* NULL: only counted */
	size_t count;
};

static void list_file(CXFile handle, CXSourceLocation *stack, unsigned depth, CXClientData data)
{
	struct inclusions *list = data;
	CXString name = clang_getFileName(handle);

	(void)stack;
	(void)depth;
	if (list->paths)
		list->paths[list->count] = arena_copy(&list->ix->arena, clang_getCString(name));
	list->count++;
	clang_disposeString(name);
}

/* Every file has a name to be asked for: all at once. */
static void name_files(struct index *ix)
{
	struct inclusions list = { .ix = ix };

	clang_getInclusions(ix->tu, list_file, &list);
	list.paths = arena_take(&ix->arena, (list.count + 1) * sizeof(*list.paths));
	list.count = 0;
	clang_getInclusions(ix->tu, list_file, &list);
	tenon_vnames_ahead(ix->analyzer, list.paths);
}

static void visit_file(CXFile handle, CXSourceLocation *stack, unsigned depth, CXClientData data)
{
	struct index *ix = data;
	struct file *file = file_of(ix, handle);

	(void)stack;
	(void)depth;
	if (file && file->own && file->text)
		scan_file(ix, file);
}

void walk_unit(struct index *ix)
{
	struct step step = { ix, NULL, clang_getNullCursor(), READS, { 0 } };

	name_files(ix);
	know_globals(ix);
	clang_visitChildren(clang_getTranslationUnitCursor(ix->tu), visit_top, &step);
	clang_getInclusions(ix->tu, visit_file, ix);
}
