/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two scripts, message by message. Each step gets a key: its canonical text with members sorted, and without
 * its id. The longest common subsequence of the keys is what stayed.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "talk/inside.h"
#include "talk/talk.h"

/* Cells of the table of the comparison. Beyond that, what is left is compared one by one. */
#define TABLE_MAX ((size_t)16 << 20)

struct row {
	const struct mor_talk_step *step;
	char *key;
};

struct side {
	struct row *row;
	size_t count, cap;
};

static void side_fini(struct side *side)
{
	for (size_t i = 0; i < side->count; i++)
		mor_free(side->row[i].key);
	mor_free(side->row);
}

/* ---- keys ---- */

struct member {
	struct mor_slice name;
	const struct mor_value *value;
};

static int by_name(const void *a, const void *b)
{
	const struct mor_slice *x = &((const struct member *)a)->name, *y = &((const struct member *)b)->name;
	size_t len = x->len < y->len ? x->len : y->len;
	int r = len ? memcmp(x->ptr, y->ptr, len) : 0;

	return r ? r : (x->len > y->len) - (x->len < y->len);
}

static int write_sorted(const struct mor_value *value, const char *without, struct mor_buf *out);

static int write_members(const struct mor_value *value, const char *without, struct mor_buf *out)
{
	struct mor_json_iter it = mor_json_iter(value);
	size_t count = mor_json_size(value), n = 0;
	struct member *list = mor_alloc(count * sizeof(*list));
	int r = list ? 0 : MORTISE_ENOMEM;

	while (r == 0 && mor_json_next(&it))
		if (!without || !mor_slice_is(it.name, without))
			list[n++] = (struct member){ it.name, it.value };
	if (n)
		qsort(list, n, sizeof(*list), by_name);
	mor_buf_byte(out, '{');
	for (size_t i = 0; r == 0 && i < n; i++) {
		mor_buf_json_string(out, list[i].name);
		mor_buf_byte(out, ':');
		r = write_sorted(list[i].value, NULL, out);
		mor_buf_byte(out, ',');
	}
	mor_buf_byte(out, '}');
	mor_free(list);
	return r;
}

/* The recursion is limited by the depth limit of the parser. */
static int write_sorted(const struct mor_value *value, const char *without, struct mor_buf *out)
{
	struct mor_json_iter it = mor_json_iter(value);
	int r = 0;

	switch (mor_json_type(value)) {
	case MOR_JSON_OBJECT:
		return write_members(value, without, out);
	case MOR_JSON_ARRAY:
		mor_buf_byte(out, '[');
		while (r == 0 && mor_json_next(&it)) {
			r = write_sorted(it.value, NULL, out);
			mor_buf_byte(out, ',');
		}
		mor_buf_byte(out, ']');
		return r;
	default:
		return mor_json_write(value, false, out);
	}
}

static bool is_message(const struct mor_talk_step *step)
{
	return step->kind == MOR_TALK_SEND || step->kind == MOR_TALK_RECEIVE;
}

static char *make_key(const struct mor_talk_step *step, bool ids)
{
	MOR_CLEAN(mor_buf) struct mor_buf key = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	if (!is_message(step)) {
		mor_talk_write_step(&key, step);
		return mor_buf_detach(&key);
	}
	mor_buf_byte(&key, step->kind == MOR_TALK_SEND ? '>' : '<');
	if (mor_talk_pattern_parse(step->text, &doc, NULL) < 0 ||
	    write_sorted(mor_doc_root(doc), ids ? NULL : "id", &key) < 0)
		return NULL;
	return mor_buf_detach(&key);
}

static bool counts(const struct mor_talk_step *step)
{
	return is_message(step) || step->kind == MOR_TALK_SEND_RAW || step->kind == MOR_TALK_RECEIVE_RAW ||
	       step->kind == MOR_TALK_SEND_END || step->kind == MOR_TALK_RECEIVE_END ||
	       step->kind == MOR_TALK_SIGNAL || step->kind == MOR_TALK_EXIT;
}

static int fill_side(struct side *side, const struct mor_talk *talk, bool ids)
{
	for (size_t i = 0; i < talk->count; i++) {
		char *key;

		if (!counts(&talk->steps[i]))
			continue;
		key = make_key(&talk->steps[i], ids);
		if (!key || mor_grow(&side->row, side->count, &side->cap, sizeof(*side->row)) < 0) {
			mor_free(key);
			return MORTISE_ENOMEM;
		}
		side->row[side->count++] = (struct row){ &talk->steps[i], key };
	}
	return 0;
}

/* ---- what stayed ---- */

struct diff {
	const struct mor_talk_diff_options *opt;
	struct side a, b;
	int changes;
};

static bool row_same(const struct diff *d, size_t a, size_t b)
{
	return strcmp(d->a.row[a].key, d->b.row[b].key) == 0;
}

/* Do the steps of both agree, where `ignored` values do not matter? If not, the differences are told. */
static bool pair_agrees(struct diff *d, size_t a, size_t b, bool tell)
{
	const struct mor_talk_step *x = d->a.row[a].step, *y = d->b.row[b].step;
	struct mor_talk_compare how = { .ignored = d->opt->ignored };
	struct mor_talk_vars vars = { NULL };
	MOR_CLEAN(mor_buf) struct mor_buf have = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	bool same;

	if (x->kind != y->kind || !is_message(x))
		return row_same(d, a, b);
	if (tell) {
		how.on_difference = d->opt->on_difference;
		how.arg = d->opt->arg;
	}
	/* As plain JSON: names of both are strings here. */
	if (mor_talk_pattern_parse(y->text, &doc, NULL) < 0 ||
	    mor_json_write(mor_doc_root(doc), false, &have) < 0)
		return false;
	same = mor_talk_match_with(x->text, mor_buf_view(&have), &vars, &how, NULL) == 0;
	mor_talk_vars_fini(&vars);
	return same;
}

static void tell_pair(struct diff *d, size_t a, size_t b)
{
	if (pair_agrees(d, a, b, false))
		return;
	d->changes++;
	d->opt->on_change(d->opt->arg, d->a.row[a].step, d->b.row[b].step);
	if (d->a.row[a].step->kind == d->b.row[b].step->kind && is_message(d->a.row[a].step))
		pair_agrees(d, a, b, true);
}

/* The next row of the same kind; `end`: no such row is left. */
static size_t find_kind(const struct side *side, size_t from, size_t end, enum mor_talk_step_kind kind)
{
	while (from < end && side->row[from].step->kind != kind)
		from++;
	return from;
}

/* Rows [a, a_end) became [b, b_end): pairs of the same kind, in their order, and between them what has no
 * counterpart. */
static void tell_hunk(struct diff *d, size_t a, size_t a_end, size_t b, size_t b_end)
{
	for (; a < a_end; a++) {
		size_t next = find_kind(&d->b, b, b_end, d->a.row[a].step->kind);

		if (next == b_end) {
			d->changes++;
			d->opt->on_change(d->opt->arg, d->a.row[a].step, NULL);
			continue;
		}
		for (; b < next; b++, d->changes++)
			d->opt->on_change(d->opt->arg, NULL, d->b.row[b].step);
		tell_pair(d, a, b++);
	}
	for (; b < b_end; b++, d->changes++)
		d->opt->on_change(d->opt->arg, NULL, d->b.row[b].step);
}

/* Lengths of the longest common subsequences of all ends of both, in one table. */
static void fill_table(const struct diff *d, size_t a, size_t n, size_t b, size_t m, uint32_t *table)
{
	for (size_t i = n; i-- > 0;)
		for (size_t j = m; j-- > 0;) {
			uint32_t *cell = &table[i * (m + 1) + j];
			uint32_t down = table[(i + 1) * (m + 1) + j], right = table[i * (m + 1) + j + 1];

			if (row_same(d, a + i, b + j))
				*cell = table[(i + 1) * (m + 1) + j + 1] + 1;
			else
				*cell = down > right ? down : right;
		}
}

static int compare_middle(struct diff *d, size_t a, size_t a_end, size_t b, size_t b_end)
{
	size_t n = a_end - a, m = b_end - b, i = 0, j = 0, from_i = 0, from_j = 0;
	uint32_t *table;

	if (n == 0 || m == 0 || (n + 1) > TABLE_MAX / (m + 1)) {
		tell_hunk(d, a, a_end, b, b_end);
		return 0;
	}
	table = mor_zalloc((n + 1) * (m + 1) * sizeof(*table));
	if (!table)
		return MORTISE_ENOMEM;
	fill_table(d, a, n, b, m, table);
	while (i < n && j < m) {
		if (row_same(d, a + i, b + j)) {
			tell_hunk(d, a + from_i, a + i, b + from_j, b + j);
			from_i = ++i;
			from_j = ++j;
		} else if (table[(i + 1) * (m + 1) + j] >= table[i * (m + 1) + j + 1]) {
			i++;
		} else {
			j++;
		}
	}
	tell_hunk(d, a + from_i, a_end, b + from_j, b_end);
	mor_free(table);
	return 0;
}

int mor_talk_diff(const struct mor_talk *a, const struct mor_talk *b, const struct mor_talk_diff_options *opt)
{
	struct diff d = { .opt = opt };
	size_t begin = 0, a_end, b_end;
	int r = fill_side(&d.a, a, opt->ids);

	if (r == 0)
		r = fill_side(&d.b, b, opt->ids);
	a_end = d.a.count;
	b_end = d.b.count;
	while (r == 0 && begin < a_end && begin < b_end && row_same(&d, begin, begin))
		begin++;
	while (r == 0 && a_end > begin && b_end > begin && row_same(&d, a_end - 1, b_end - 1)) {
		a_end--;
		b_end--;
	}
	if (r == 0)
		r = compare_middle(&d, begin, a_end, begin, b_end);
	side_fini(&d.a);
	side_fini(&d.b);
	return r < 0 ? r : d.changes;
}
