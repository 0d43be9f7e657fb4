/* SPDX-License-Identifier: Apache-2.0 */
/* Which operators write, and what. libclang 14 does not tell operators: the text between the operands does. */
#include "walk.h"

#include <string.h>

static enum CXChildVisitResult take_child(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct pair *pair = data;

	(void)parent;
	if (pair->count < 2)
		pair->item[pair->count] = cursor;
	pair->count++;
	return CXChildVisit_Continue;
}

struct pair children_of(CXCursor cursor)
{
	struct pair pair = { { clang_getNullCursor(), clang_getNullCursor() }, 0 };

	clang_visitChildren(cursor, take_child, &pair);
	return pair;
}

CXCursor bare(CXCursor cursor)
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

/* "*" of *p, "&" of &x; 0: another, or nobody wrote it there. */
static char prefix_of(struct index *ix, CXCursor cursor)
{
	struct range range;

	if (clang_getCursorKind(cursor) != CXCursor_UnaryOperator ||
	    !extent_range(ix, clang_getCursorExtent(cursor), &range))
		return 0;
	return range.file->text[range.start];
}

static bool is_reference(CXCursor cursor)
{
	enum CXCursorKind kind = clang_getCursorKind(cursor);

	return kind == CXCursor_DeclRefExpr || kind == CXCursor_MemberRefExpr;
}

/* x; a[i], where a part of a is written; *p, of which p stays as it is; *(&x), which is x. */
static void find_reference(struct index *ix, CXCursor left, struct write *ret)
{
	for (;;) {
		CXCursor inner;

		left = bare(left);
		if (clang_getCursorKind(left) == CXCursor_ArraySubscriptExpr) {
			ret->access = WRITES_A_PART;
			left = children_of(left).item[0];
			continue;
		}
		if (prefix_of(ix, left) != '*')
			break;
		inner = bare(children_of(left).item[0]);
		if (prefix_of(ix, inner) == '&') {
			left = children_of(inner).item[0];
			continue;
		}
		ret->through = true;
		if (ret->access == WRITES)
			ret->access = READS_AND_WRITES;
		left = inner;
		break;
	}
	ret->reference = is_reference(left) ? left : clang_getNullCursor();
}

struct write find_write(struct index *ix, CXCursor operator)
{
	struct pair operands = children_of(operator);
	struct write write = { READS, clang_getNullCursor(), clang_getNullCursor(), false };

	switch (clang_getCursorKind(operator)) {
	case CXCursor_CompoundAssignOperator:
		write.access = READS_AND_WRITES;
		write.value = operands.item[1];
		break;
	case CXCursor_BinaryOperator:
		if (!is_assignment(ix, &operands))
			return write;
		write.access = WRITES;
		write.value = operands.item[1];
		break;
	default:
		if (!is_step_operator(ix, operator))
			return write;
		write.access = READS_AND_WRITES;
	}
	find_reference(ix, operands.item[0], &write);
	return write;
}
