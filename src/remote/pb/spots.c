/* SPDX-License-Identifier: Apache-2.0 */
#include "pb/spots.h"

#include <stdlib.h>

#include "base/alloc.h"

void mor_pb_spots_fini(struct mor_pb_spots *spots)
{
	mor_free(spots->stack);
	spots->stack = NULL;
	spots->used = spots->cap = 0;
}

struct mor_pb mor_pb_spots_value(const struct mor_pb_spots *spots, size_t index)
{
	uint32_t at = spots->stack[index].at;
	struct mor_pb value = { .left = { spots->all.ptr + at, spots->all.len - at } };

	mor_pb_next(&value); /* it was read once before */
	return value;
}

size_t mor_pb_spots_end(const struct mor_pb_spots *spots, size_t index, size_t to)
{
	uint32_t field = spots->stack[index].field;

	while (index < to && spots->stack[index].field == field)
		index++;
	return index;
}

/* ---- finding them ---- */

static bool is_taken(const struct mor_pb_field *field, const struct mor_pb *value)
{
	enum mor_pb_wire wire = mor_pb_kind_wire(field->kind);

	if (value->wire != wire)
		return field->repeated && value->wire == MOR_PB_BYTES && wire != MOR_PB_BYTES;
	return !field->values || !field->values->closed ||
	       mor_pb_enum_choice(field->values, (int32_t)(uint32_t)value->number);
}

static int push_spot(struct mor_pb_spots *spots, uint32_t field, const char *at)
{
	if (++spots->found > spots->limit)
		return MORTISE_ELIMIT;
	if (mor_grow(&spots->stack, spots->used, &spots->cap, sizeof(*spots->stack)) < 0)
		return MORTISE_ENOMEM;
	spots->stack[spots->used++] = (struct mor_pb_spot){ field, (uint32_t)(at - spots->all.ptr) };
	return 0;
}

static int push_piece(struct mor_pb_spots *spots, const struct mor_pb_type *type, struct mor_slice piece)
{
	struct mor_pb pb = { .left = piece };
	const char *at = piece.ptr;
	int r;

	for (; (r = mor_pb_next(&pb)) > 0; at = pb.left.ptr) {
		const struct mor_pb_field *field = mor_pb_type_field(type, pb.field);

		if (field && is_taken(field, &pb) &&
		    (r = push_spot(spots, (uint32_t)(field - type->fields), at)) < 0)
			return r;
	}
	return r;
}

static int compare_spots(const void *a, const void *b)
{
	const struct mor_pb_spot *one = a, *two = b;

	if (one->field != two->field)
		return one->field < two->field ? -1 : 1;
	return one->at < two->at ? -1 : 1;
}

/* By oneof, the last one first. */
static int compare_oneofs(const void *a, const void *b, void *arg)
{
	const struct mor_pb_spot *one = a, *two = b;
	const struct mor_pb_type *type = arg;
	int32_t first = type->fields[one->field].oneof, second = type->fields[two->field].oneof;

	if (first != second)
		return first < second ? -1 : 1;
	return one->at > two->at ? -1 : 1;
}

/* A member that is set clears the others, so of each oneof only what comes after the last other member is
 * left. */
static void drop_oneofs(struct mor_pb_spots *spots, const struct mor_pb_type *type, size_t from)
{
	size_t kept = from;

	qsort_r(spots->stack + from, spots->used - from, sizeof(*spots->stack), compare_oneofs, (void *)type);
	for (size_t i = from, to; i < spots->used; i = to) {
		int32_t oneof = type->fields[spots->stack[i].field].oneof;
		uint32_t winner = spots->stack[i].field;
		bool lost = false;

		for (to = i; to < spots->used && type->fields[spots->stack[to].field].oneof == oneof; to++) {
			lost = lost || (oneof >= 0 && spots->stack[to].field != winner);
			if (!lost)
				spots->stack[kept++] = spots->stack[to];
		}
	}
	spots->used = kept;
}

static bool is_sorted(const struct mor_pb_spots *spots, size_t from)
{
	for (size_t i = from + 1; i < spots->used; i++)
		if (spots->stack[i].field < spots->stack[i - 1].field)
			return false;
	return true;
}

static bool has_rivals(const struct mor_pb_spots *spots, const struct mor_pb_type *type, size_t from)
{
	size_t members = 0;

	for (size_t i = from; type->has_oneofs && i < spots->used; i++)
		members += type->fields[spots->stack[i].field].oneof >= 0;
	return members > 1;
}

int mor_pb_spots_push(struct mor_pb_spots *spots, const struct mor_pb_type *type,
		      const struct mor_pb_pieces *pieces)
{
	size_t from = spots->used;
	int r = pieces->from == pieces->to ? push_piece(spots, type, pieces->one) : 0;

	for (size_t i = pieces->from; r == 0 && i < pieces->to; i++)
		r = push_piece(spots, type, mor_pb_spots_value(spots, i).bytes);
	if (r < 0)
		return r;
	if (has_rivals(spots, type, from))
		drop_oneofs(spots, type, from);
	/* Programs that write messages usually write fields in this order. */
	if (!is_sorted(spots, from))
		qsort(spots->stack + from, spots->used - from, sizeof(*spots->stack), compare_spots);
	return 0;
}
