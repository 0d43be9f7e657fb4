/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What influences what: A influences B when A directly affects B as the program runs (assignment,
 * initialisation, an argument on its way to a parameter, a value on its way out of a function). Kythe's
 * "influences relation" is the rule: an assignment in an expression stands for what it writes, a call for the
 * function; pointers are not followed.
 */
#include "walk.h"

struct flow {
	struct index *ix;
	const tenon_vname *target;
};

static enum CXChildVisitResult look(CXCursor cursor, CXCursor parent, CXClientData data);

static void influence(const struct flow *flow, CXCursor referenced)
{
	enum CXCursorKind kind = clang_getCursorKind(referenced);
	const tenon_vname *source;

	if (kind != CXCursor_VarDecl && kind != CXCursor_ParmDecl && kind != CXCursor_FieldDecl &&
	    kind != CXCursor_FunctionDecl)
		return;
	source = target_node(flow->ix, referenced);
	if (source && source != flow->target)
		emit_edge(flow->ix, source, "/kythe/edge/influences", flow->target);
}

/* The value of an assignment is that of what it writes. */
static bool is_nested_assignment(const struct flow *flow, CXCursor cursor)
{
	struct write write = find_write(flow->ix, cursor);

	if (write.access == READS || clang_Cursor_isNull(write.reference))
		return false;
	influence(flow, clang_getCursorReferenced(write.reference));
	return true;
}

static enum CXChildVisitResult look(CXCursor cursor, CXCursor parent, CXClientData data)
{
	const struct flow *flow = data;

	(void)parent;
	switch (clang_getCursorKind(cursor)) {
	case CXCursor_DeclRefExpr:
		/* the address of one says nothing */
		if (clang_getCursorKind(clang_getCursorReferenced(cursor)) != CXCursor_FunctionDecl)
			influence(flow, clang_getCursorReferenced(cursor));
		return CXChildVisit_Continue;
	case CXCursor_MemberRefExpr: /* the member has the value; what it is a member of only tells which */
		influence(flow, clang_getCursorReferenced(cursor));
		return CXChildVisit_Continue;
	case CXCursor_CallExpr:
		influence(flow, callee_of(cursor));
		return CXChildVisit_Continue;
	case CXCursor_UnaryExpr: /* sizeof: nothing is evaluated */
	case CXCursor_StmtExpr:
	case CXCursor_MemberRef:
		return CXChildVisit_Continue;
	case CXCursor_BinaryOperator:
	case CXCursor_CompoundAssignOperator:
	case CXCursor_UnaryOperator:
		if (is_nested_assignment(flow, cursor))
			return CXChildVisit_Continue;
		break;
	default:
		break;
	}
	return CXChildVisit_Recurse;
}

void flow_into(struct index *ix, const tenon_vname *target, CXCursor expression)
{
	struct flow flow = { ix, target };

	if (!target || clang_Cursor_isNull(expression))
		return;
	if (look(expression, expression, &flow) == CXChildVisit_Recurse)
		clang_visitChildren(expression, look, &flow);
}

void flow_into_parameters(struct index *ix, CXCursor call, CXCursor callee)
{
	CXCursor definition = clang_getCursorDefinition(callee);
	int given = clang_Cursor_getNumArguments(call), taken;

	if (!clang_Cursor_isNull(definition))
		callee = definition;
	taken = clang_Cursor_getNumArguments(callee);
	for (int i = 0; i < given && i < taken; i++)
		flow_into(ix, decl_node(ix, clang_Cursor_getArgument(callee, (unsigned)i)),
			  clang_Cursor_getArgument(call, (unsigned)i));
}

static enum CXChildVisitResult take_value(CXCursor cursor, CXCursor parent, CXClientData data)
{
	(void)parent;
	*(CXCursor *)data = cursor;
	return CXChildVisit_Break;
}

void flow_out(struct index *ix, const tenon_vname *function, CXCursor statement)
{
	CXCursor value = clang_getNullCursor();

	clang_visitChildren(statement, take_value, &value);
	flow_into(ix, function, value);
}

/* Who calls by the declaration reaches the definition, and what that returns comes out of the declaration. */
void flow_through_declaration(struct index *ix, CXCursor declaration, CXCursor definition)
{
	int count = clang_Cursor_getNumArguments(declaration);

	for (int i = 0; i < count && i < clang_Cursor_getNumArguments(definition); i++)
		emit_edge(ix, decl_node(ix, clang_Cursor_getArgument(declaration, (unsigned)i)),
			  "/kythe/edge/influences",
			  decl_node(ix, clang_Cursor_getArgument(definition, (unsigned)i)));
	emit_edge(ix, decl_node(ix, definition), "/kythe/edge/influences", decl_node(ix, declaration));
}
