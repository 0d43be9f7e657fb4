/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Initialisers in braces. libclang shows them as they are written: { 1, .x = 2, [3] = 4 }, one child per
 * element, and a designated one as UnexposedExpr(MemberRef x, 2). They do not tell their type themselves: it
 * comes from what they stand in.
 */
#include "walk.h"

void emit_init(struct index *ix, CXCursor expression, const tenon_vname *target)
{
	struct range range;

	if (!target)
		return;
	if (extent_range(ix, clang_getCursorExtent(expression), &range))
		emit_edge(ix, anchor(ix, &range), "/kythe/edge/ref/init", target);
	flow_into(ix, target, expression);
}

static void visit_value(const struct step *step, CXCursor cursor, CXCursor parent, CXType list_type)
{
	visit(cursor, parent,
	      &(struct step){ step->ix, step->function, clang_getNullCursor(), READS, list_type });
}

/* ---- .x = 1 and [2] = 1 ---- */

struct designation {
	const struct step *step;
	CXCursor last;   /* the child before: what follows it tells whether it is the value */
	CXCursor member; /* null: none so far */
	bool found;      /* some child is a member */
};

static enum CXChildVisitResult find_member(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct designation *d = data;

	(void)parent;
	d->found = clang_getCursorKind(cursor) == CXCursor_MemberRef;
	return d->found ? CXChildVisit_Break : CXChildVisit_Continue;
}

static void visit_designator(struct designation *d, CXCursor cursor, CXCursor parent)
{
	struct index *ix = d->step->ix;
	struct range range;

	if (clang_getCursorKind(cursor) != CXCursor_MemberRef) {
		visit_value(d->step, cursor, parent, (CXType){ 0 });
		return;
	}
	d->member = clang_getCursorReferenced(cursor);
	if (reference_range(ix, cursor, d->member, &range))
		emit_access(ix, anchor(ix, &range), WRITES, target_node(ix, d->member));
}

static enum CXChildVisitResult visit_part(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct designation *d = data;

	if (!clang_Cursor_isNull(d->last))
		visit_designator(d, d->last, parent);
	d->last = cursor;
	return CXChildVisit_Continue;
}

/* Members are written, and the value initialises the last of them. Returns that member, or null. */
static CXCursor visit_designated(const struct step *step, CXCursor cursor)
{
	struct designation d = { .step = step, .last = clang_getNullCursor(), .member = clang_getNullCursor() };

	clang_visitChildren(cursor, visit_part, &d);
	if (clang_getCursorKind(d.last) == CXCursor_MemberRef) { /* a mistake left it without a value */
		visit_designator(&d, d.last, cursor);
		return d.member;
	}
	emit_init(step->ix, d.last, target_node(step->ix, d.member));
	visit_value(step, d.last, cursor, clang_getCursorType(d.member));
	return d.member;
}

static bool is_designated(CXCursor cursor)
{
	struct designation d = { .last = clang_getNullCursor() };

	if (clang_getCursorKind(cursor) == CXCursor_UnexposedExpr)
		clang_visitChildren(cursor, find_member, &d);
	return d.found;
}

void visit_element(const struct step *step, CXCursor cursor)
{
	if (is_designated(cursor))
		visit_designated(step, cursor);
	else
		descend(step, cursor);
}

/* ---- { 1, 2 } ---- */

#define FIELDS_MAX 256

struct list {
	const struct step *step;
	CXType type;                /* canonical */
	CXCursor field[FIELDS_MAX]; /* of a record */
	unsigned fields, next;
	bool lost; /* braces were left out: who follows initialises what, the text does not tell */
};

static enum CXVisitorResult take_field(CXCursor cursor, CXClientData data)
{
	struct list *list = data;

	if (list->fields == FIELDS_MAX)
		return CXVisit_Break;
	list->field[list->fields++] = cursor;
	return CXVisit_Continue;
}

static bool is_aggregate(CXType type)
{
	enum CXTypeKind kind = clang_getCanonicalType(type).kind;

	return kind == CXType_Record || kind == CXType_ConstantArray || kind == CXType_IncompleteArray;
}

/* A struct may be initialised by another one, an array of char by a string. */
static bool fills_alone(CXCursor value, CXType type)
{
	enum CXCursorKind kind = clang_getCursorKind(bare(value));

	return kind == CXCursor_InitListExpr || kind == CXCursor_StringLiteral || !is_aggregate(type) ||
	       clang_equalTypes(clang_getCanonicalType(clang_getCursorType(value)),
				clang_getCanonicalType(type));
}

static void visit_field_value(struct list *list, CXCursor cursor, CXCursor parent)
{
	struct index *ix = list->step->ix;
	CXCursor field =
		list->next < list->fields && !list->lost ? list->field[list->next++] : clang_getNullCursor();

	if (clang_Cursor_isNull(field) || !fills_alone(cursor, clang_getCursorType(field))) {
		list->lost = true;
		visit_value(list->step, cursor, parent, (CXType){ 0 });
		return;
	}
	emit_init(ix, cursor, target_node(ix, field));
	visit_value(list->step, cursor, parent, clang_getCursorType(field));
}

/* What follows .x = 1 initialises the field behind x. */
static void go_behind(struct list *list, CXCursor member)
{
	for (unsigned i = 0; i < list->fields; i++)
		if (clang_equalCursors(list->field[i], member)) {
			list->next = i + 1;
			list->lost = false;
		}
}

static enum CXChildVisitResult visit_in_list(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct list *list = data;

	if (is_designated(cursor)) {
		go_behind(list, visit_designated(list->step, cursor));
	} else if (list->fields) {
		visit_field_value(list, cursor, parent);
	} else {
		/* Of an array: each element is of its type. [2] = { ... } has it inside. */
		visit_value(list->step, cursor, parent, clang_getArrayElementType(list->type));
	}
	return CXChildVisit_Continue;
}

void visit_list(const struct step *step, CXCursor cursor)
{
	struct list list = { .step = step, .type = clang_getCanonicalType(step->list_type) };

	if (list.type.kind == CXType_Record)
		clang_Type_visitFields(list.type, take_field, &list);
	clang_visitChildren(cursor, visit_in_list, &list);
}
