/*
 * The walk over the tree of a unit: declarations are asked for (which emits them), references get their anchors. The
 * recursion is ours, because every step carries what it stands in: the function, and what is being written to.
 */
#include "index.h"

#include <string.h>

enum access { READS, WRITES, READS_AND_WRITES };

struct step {
	struct index *ix;
	const tenon_vname *function; /* that it stands in, or NULL */
	CXCursor written;            /* the reference on the left of an assignment above, or null */
	enum access access;
};

static enum CXChildVisitResult visit(CXCursor cursor, CXCursor parent, CXClientData data);

static void descend(const struct step *step, CXCursor cursor)
{
	struct step inner = *step;

	clang_visitChildren(cursor, visit, &inner);
}

/* ---- references ---- */

static void emit_access(struct index *ix, const tenon_vname *at, enum access access, const tenon_vname *target)
{
	if (access != WRITES)
		emit_edge(ix, at, "/kythe/edge/ref", target);
	if (access != READS)
		emit_edge(ix, at, "/kythe/edge/ref/writes", target);
}

/* The name as it is written at the reference: "x" of a.x, "foo" of struct foo. */
static bool reference_range(struct index *ix, CXCursor cursor, CXCursor referenced, struct range *ret)
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

/* ---- writes ---- */

struct pair {
	CXCursor item[2];
	unsigned count;
};

static enum CXChildVisitResult take_child(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct pair *pair = data;

	(void)parent;
	if (pair->count < 2)
		pair->item[pair->count] = cursor;
	pair->count++;
	return CXChildVisit_Continue;
}

static struct pair children_of(CXCursor cursor)
{
	struct pair pair = { { clang_getNullCursor(), clang_getNullCursor() }, 0 };

	clang_visitChildren(cursor, take_child, &pair);
	return pair;
}

/* (x) and casts that nobody wrote are x. */
static CXCursor bare(CXCursor cursor)
{
	for (;;) {
		enum CXCursorKind kind = clang_getCursorKind(cursor);
		struct pair inside;

		if (kind != CXCursor_ParenExpr && kind != CXCursor_UnexposedExpr)
			return cursor;
		inside = children_of(cursor);
		if (inside.count != 1)
			return cursor;
		cursor = inside.item[0];
	}
}

static void visit_call(const struct step *step, CXCursor cursor)
{
	CXCursor callee = clang_getCursorReferenced(cursor);
	const tenon_vname *at;
	struct range range;

	if (clang_getCursorKind(callee) != CXCursor_FunctionDecl) /* (f)(x) */
		callee = clang_getCursorReferenced(bare(children_of(cursor).item[0]));
	if (clang_getCursorKind(callee) != CXCursor_FunctionDecl || !extent_range(step->ix, clang_getCursorExtent(cursor), &range))
		return;
	at = anchor(step->ix, &range);
	emit_edge(step->ix, at, "/kythe/edge/ref/call", target_node(step->ix, callee));
	emit_edge(step->ix, at, "/kythe/edge/childof", step->function);
}

/* Over blanks, comments and the parentheses that an operand may stand in. */
static unsigned skip_blank(const char *text, unsigned at, unsigned end)
{
	while (at < end) {
		const char *close = NULL;

		if (at + 1 < end && text[at] == '/' && text[at + 1] == '*')
			close = memmem(text + at + 2, end - at - 2, "*/", 2);
		if (close) {
			at = (unsigned)(close - text) + 2;
		} else if (at + 1 < end && text[at] == '/' && text[at + 1] == '/') {
			while (at < end && text[at] != '\n')
				at++;
		} else if (text[at] && strchr(" \t\r\n\f\v)\\", text[at])) {
			at++;
		} else {
			break;
		}
	}
	return at;
}

/* libclang 14 does not tell operators: look at what is written between the operands. */
static bool is_assignment(struct index *ix, const struct pair *operands)
{
	struct range left, right;
	unsigned at;

	if (operands->count != 2 || !extent_range(ix, clang_getCursorExtent(operands->item[0]), &left) ||
	    !extent_range(ix, clang_getCursorExtent(operands->item[1]), &right) || left.file != right.file ||
	    left.end >= right.start)
		return false;
	at = skip_blank(left.file->text, left.end, right.start);
	return at < right.start && left.file->text[at] == '=' && left.file->text[at + 1] != '=';
}

static bool is_step_operator(struct index *ix, CXCursor cursor)
{
	struct range range;
	const char *text;

	if (!extent_range(ix, clang_getCursorExtent(cursor), &range) || range.end - range.start < 3)
		return false;
	text = range.file->text;
	return memcmp(text + range.start, "++", 2) == 0 || memcmp(text + range.start, "--", 2) == 0 ||
	       memcmp(text + range.end - 2, "++", 2) == 0 || memcmp(text + range.end - 2, "--", 2) == 0;
}

static void visit_operator(const struct step *step, CXCursor cursor)
{
	struct pair operands = children_of(cursor);
	struct step inner = *step;

	switch (clang_getCursorKind(cursor)) {
	case CXCursor_CompoundAssignOperator:
		inner.access = READS_AND_WRITES;
		inner.written = bare(operands.item[0]);
		break;
	case CXCursor_BinaryOperator:
		if (!is_assignment(step->ix, &operands))
			break;
		inner.access = WRITES;
		inner.written = bare(operands.item[0]);
		break;
	default:
		if (!is_step_operator(step->ix, cursor))
			break;
		inner.access = READS_AND_WRITES;
		inner.written = bare(operands.item[0]);
	}
	descend(&inner, cursor);
}

/* ---- initialisers ---- */

/* { .x = 1 }: one child per element: UnexposedExpr(MemberRef x, 1); [2].y = 1 has the index before y. Members are written,
 * and the value initialises the last of them. */
struct designation {
	const struct step *step;
	CXCursor last; /* the child before: what follows it tells whether it is the value */
	const tenon_vname *member;
	bool found; /* some child is a member */
};

static enum CXChildVisitResult find_member(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct designation *d = data;

	(void)parent;
	d->found = clang_getCursorKind(cursor) == CXCursor_MemberRef;
	return d->found ? CXChildVisit_Break : CXChildVisit_Continue;
}

static void visit_plainly(const struct designation *d, CXCursor cursor, CXCursor parent)
{
	visit(cursor, parent, &(struct step){ d->step->ix, d->step->function, clang_getNullCursor(), READS });
}

static void visit_designator(struct designation *d, CXCursor cursor, CXCursor parent)
{
	struct index *ix = d->step->ix;
	CXCursor member;
	struct range range;

	if (clang_getCursorKind(cursor) != CXCursor_MemberRef) {
		visit_plainly(d, cursor, parent);
		return;
	}
	member = clang_getCursorReferenced(cursor);
	d->member = target_node(ix, member);
	if (d->member && reference_range(ix, cursor, member, &range))
		emit_access(ix, anchor(ix, &range), WRITES, d->member);
}

static enum CXChildVisitResult visit_part(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct designation *d = data;

	if (!clang_Cursor_isNull(d->last))
		visit_designator(d, d->last, parent);
	d->last = cursor;
	return CXChildVisit_Continue;
}

static void visit_designated(const struct step *step, CXCursor cursor)
{
	struct designation d = { .step = step, .last = clang_getNullCursor() };
	struct range range;

	clang_visitChildren(cursor, find_member, &d);
	if (!d.found) {
		descend(step, cursor);
		return;
	}
	clang_visitChildren(cursor, visit_part, &d);
	if (clang_getCursorKind(d.last) == CXCursor_MemberRef) { /* a mistake left it without a value */
		visit_designator(&d, d.last, cursor);
		return;
	}
	if (d.member && extent_range(step->ix, clang_getCursorExtent(d.last), &range))
		emit_edge(step->ix, anchor(step->ix, &range), "/kythe/edge/ref/init", d.member);
	visit_plainly(&d, d.last, cursor);
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
	if (reference_range(ix, cursor, cursor, &range))
		emit_edge(ix, anchor(ix, &range), "/kythe/edge/ref/expands", macro_node(ix, macro));
}

/* ---- the step ---- */

static void visit_function(const struct step *step, CXCursor cursor)
{
	struct step inner = { step->ix, decl_node(step->ix, cursor), clang_getNullCursor(), READS };

	clang_visitChildren(cursor, visit, &inner);
}

static enum CXChildVisitResult visit(CXCursor cursor, CXCursor parent, CXClientData data)
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
	case CXCursor_MemberRef: visit_reference(step, cursor); break;
	case CXCursor_CallExpr: visit_call(step, cursor); break;
	case CXCursor_BinaryOperator:
	case CXCursor_CompoundAssignOperator:
	case CXCursor_UnaryOperator:
		visit_operator(step, cursor);
		return CXChildVisit_Continue;
	case CXCursor_UnexposedExpr:
		visit_designated(step, cursor);
		return CXChildVisit_Continue;
	default: decl_node(ix, cursor); break;
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
	case CXCursor_MacroExpansion: visit_expansion(ix, cursor); return CXChildVisit_Continue;
	case CXCursor_InclusionDirective: visit_inclusion(ix, cursor); return CXChildVisit_Continue;
	default: return visit(cursor, parent, data);
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
	struct step step = { ix, NULL, clang_getNullCursor(), READS };

	name_files(ix);
	clang_visitChildren(clang_getTranslationUnitCursor(ix->tu), visit_top, &step);
	clang_getInclusions(ix->tu, visit_file, ix);
}
