/* SPDX-License-Identifier: Apache-2.0 */
#include "kythe/entries/sort.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

#define SORT_MEMORY  ((size_t)256 << 20)
#define SORTED_PIECE ((size_t)1 << 20)

/* An entry: a key that memcmp() orders, and its record with the length before it. In memory and in runs:
 * both lengths, then both. */
struct sort_item {
	uint32_t key_len, len;
	char bytes[];
};

struct sort_run {
	FILE *file;
	unsigned level;         /* a run of level 1 was merged of MOR_SORT_FAN runs of level 0 */
	struct sort_item *item; /* while it is merged: the next one; NULL: at its end */
	size_t cap;
};

struct mor_sorter {
	size_t memory;
	const char *dir;
	struct sort_item **items;
	size_t count, cap, held;
	struct sort_run *runs; /* levels do not grow from one to the next */
	size_t run_count, run_cap;
	struct mor_buf key, record;
	struct mor_sorter_stats stats;
};

/* ---- keys ---- */

/* So that a part which another one begins with comes first, whatever follows. */
static void add_part(struct mor_buf *key, struct mor_slice part)
{
	for (size_t i = 0; i < part.len; i++) {
		mor_buf_byte(key, part.ptr[i]);
		if (part.ptr[i] == '\0')
			mor_buf_byte(key, '\xff');
	}
	mor_buf_append(key, "\0\0", 2);
}

static void add_vname(struct mor_buf *key, const struct mor_entry_vname *vname)
{
	static const enum mor_vname_part order[] = { MOR_VNAME_CORPUS, MOR_VNAME_LANGUAGE, MOR_VNAME_PATH,
						     MOR_VNAME_ROOT, MOR_VNAME_SIGNATURE };

	for (size_t i = 0; i < MOR_VNAME_PARTS; i++)
		add_part(key, vname->part[order[i]]);
}

static void make_key(const struct mor_entry *entry, struct mor_buf *key)
{
	mor_buf_reset(key, SIZE_MAX);
	add_vname(key, &entry->source);
	add_part(key, entry->edge_kind);
	add_part(key, entry->fact_name);
	add_vname(key, &entry->target);
	add_part(key, entry->fact_value);
}

static int compare_keys(const struct sort_item *a, const struct sort_item *b)
{
	uint32_t len = a->key_len < b->key_len ? a->key_len : b->key_len;
	int order = memcmp(a->bytes, b->bytes, len);

	return order ? order : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

static int compare_items(const void *a, const void *b)
{
	return compare_keys(*(struct sort_item *const *)a, *(struct sort_item *const *)b);
}

/* ---- a sorter ---- */

int mor_sorter_new(size_t memory, const char *dir, struct mor_sorter **ret, mortise_error *err)
{
	struct mor_sorter *sorter = mor_zalloc(sizeof(*sorter));

	if (!sorter)
		return mor_fail_memory(err);
	sorter->memory = memory ? memory : SORT_MEMORY;
	sorter->dir = dir;
	*ret = sorter;
	return 0;
}

static void drop_runs(struct mor_sorter *sorter, size_t keep)
{
	while (sorter->run_count > keep) {
		struct sort_run *run = &sorter->runs[--sorter->run_count];

		if (run->file)
			fclose(run->file);
		mor_free(run->item);
	}
}

static void drop_items(struct mor_sorter *sorter)
{
	for (size_t i = 0; i < sorter->count; i++)
		mor_free(sorter->items[i]);
	sorter->count = sorter->held = 0;
}

struct mor_sorter *mor_sorter_free(struct mor_sorter *sorter)
{
	if (!sorter)
		return NULL;
	drop_items(sorter);
	mor_free(sorter->items);
	drop_runs(sorter, 0);
	mor_free(sorter->runs);
	mor_buf_fini(&sorter->key);
	mor_buf_fini(&sorter->record);
	return mor_free(sorter);
}

struct mor_sorter_stats mor_sorter_stats(const struct mor_sorter *sorter)
{
	return sorter->stats;
}

/* ---- runs ---- */

static int fail_run(const struct mor_sorter *sorter, mortise_error *err)
{
	return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "sorting in %s", sorter->dir);
}

static int add_run(struct mor_sorter *sorter, unsigned level, mortise_error *err)
{
	struct sort_run *run;
	int fd;

	if (mor_grow(&sorter->runs, sorter->run_count, &sorter->run_cap, sizeof(*run)) < 0)
		return mor_fail_memory(err);
	run = &sorter->runs[sorter->run_count];
	*run = (struct sort_run){ .level = level };
	fd = mor_fd_unnamed(sorter->dir);
	if (fd >= 0)
		run->file = fdopen(fd, "w+");
	if (!run->file) {
		errno = fd < 0 ? -fd : errno;
		mor_fd_close(&fd);
		return fail_run(sorter, err);
	}
	sorter->run_count++;
	sorter->stats.runs++;
	return 0;
}

static int write_item(const struct mor_sorter *sorter, FILE *file, const struct sort_item *item,
		      mortise_error *err)
{
	size_t size = sizeof(*item) + item->key_len + item->len;

	return fwrite(item, size, 1, file) == 1 ? 0 : fail_run(sorter, err);
}

/* The next one; NULL at the end. */
static int read_item(const struct mor_sorter *sorter, struct sort_run *run, mortise_error *err)
{
	struct sort_item head;
	size_t size;

	if (fread(&head, sizeof(head), 1, run->file) != 1) {
		run->item = mor_free(run->item);
		return ferror(run->file) ? fail_run(sorter, err) : 0;
	}
	size = sizeof(head) + head.key_len + head.len;
	if (size > run->cap) {
		mor_free(run->item);
		run->item = mor_alloc(size);
		run->cap = size;
	}
	if (!run->item)
		return mor_fail_memory(err);
	*run->item = head;
	return fread(run->item->bytes, size - sizeof(head), 1, run->file) == 1 ? 0 : fail_run(sorter, err);
}

static int begin_runs(struct mor_sorter *sorter, size_t first, mortise_error *err)
{
	int r = 0;

	for (size_t i = first; r == 0 && i < sorter->run_count; i++) {
		if (fflush(sorter->runs[i].file) != 0 || fseeko(sorter->runs[i].file, 0, SEEK_SET) != 0)
			return fail_run(sorter, err);
		r = read_item(sorter, &sorter->runs[i], err);
	}
	return r;
}

/* The run with the smallest item; NULL: all are at their end. There are few runs. */
static struct sort_run *first_run(struct mor_sorter *sorter, size_t from)
{
	struct sort_run *best = NULL;

	for (size_t i = from; i < sorter->run_count; i++)
		if (sorter->runs[i].item && (!best || compare_keys(sorter->runs[i].item, best->item) < 0))
			best = &sorter->runs[i];
	return best;
}

/* The last MOR_SORT_FAN runs become one. It takes the place of the first of them. */
static int merge_runs(struct mor_sorter *sorter, mortise_error *err)
{
	size_t first = sorter->run_count - MOR_SORT_FAN;
	unsigned level = sorter->runs[first].level + 1;
	struct mor_sorter into = { .dir = sorter->dir };
	struct sort_run *run;
	int r = begin_runs(sorter, first, err);

	r = r ? r : add_run(&into, level, err);
	while (r == 0 && (run = first_run(sorter, first))) {
		r = write_item(sorter, into.runs[0].file, run->item, err);
		r = r ? r : read_item(sorter, run, err);
	}
	if (r == 0) {
		drop_runs(sorter, first);
		sorter->runs[sorter->run_count++] = into.runs[0];
		into.run_count = 0;
	}
	drop_runs(&into, 0);
	mor_free(into.runs);
	return r;
}

static bool tail_is_full(const struct mor_sorter *sorter)
{
	size_t count = sorter->run_count;

	return count >= MOR_SORT_FAN &&
	       sorter->runs[count - MOR_SORT_FAN].level == sorter->runs[count - 1].level;
}

static int spill(struct mor_sorter *sorter, mortise_error *err)
{
	int r = add_run(sorter, 0, err);

	if (r == 0)
		qsort(sorter->items, sorter->count, sizeof(*sorter->items), compare_items);
	for (size_t i = 0; r == 0 && i < sorter->count; i++)
		r = write_item(sorter, sorter->runs[sorter->run_count - 1].file, sorter->items[i], err);
	if (r == 0)
		drop_items(sorter);
	while (r == 0 && tail_is_full(sorter))
		r = merge_runs(sorter, err);
	return r;
}

/* ---- in and out ---- */

int mor_sorter_add(struct mor_sorter *sorter, const struct mor_entry *entry, mortise_error *err)
{
	struct sort_item *item;
	size_t size;

	make_key(entry, &sorter->key);
	mor_buf_reset(&sorter->record, SIZE_MAX);
	mor_entry_write(entry, MOR_STREAM_PROTOBUF, &sorter->record);
	if (mor_buf_failed(&sorter->key) || mor_buf_failed(&sorter->record) ||
	    mor_grow(&sorter->items, sorter->count, &sorter->cap, sizeof(item)) < 0)
		return mor_fail_memory(err);
	size = sizeof(*item) + sorter->key.len + sorter->record.len;
	item = mor_alloc(size);
	if (!item)
		return mor_fail_memory(err);
	*item = (struct sort_item){ (uint32_t)sorter->key.len, (uint32_t)sorter->record.len };
	memcpy(item->bytes, sorter->key.data, sorter->key.len);
	memcpy(item->bytes + sorter->key.len, sorter->record.data, sorter->record.len);
	sorter->items[sorter->count++] = item;
	sorter->held += size + sizeof(item);
	sorter->stats.entries++;
	return sorter->held < sorter->memory ? 0 : spill(sorter, err);
}

struct giving {
	struct mor_sorter *sorter;
	struct mor_buf last, out; /* the last key that was given; what the sink has not got yet */
	bool unique, any;
	mor_entries_sink_fn *sink;
	void *arg;
};

static int flush_given(struct giving *x)
{
	int r = x->out.len ? x->sink(x->out.data, x->out.len, x->arg) : 0;

	mor_buf_reset(&x->out, SIZE_MAX);
	return r;
}

static int give_item(struct giving *x, const struct sort_item *item, mortise_error *err)
{
	bool same =
		x->any && x->last.len == item->key_len && memcmp(x->last.data, item->bytes, item->key_len) == 0;

	if (same && x->unique) {
		x->sorter->stats.dropped++;
		return 0;
	}
	x->any = true;
	mor_buf_reset(&x->last, SIZE_MAX);
	mor_buf_append(&x->last, item->bytes, item->key_len);
	mor_buf_append(&x->out, item->bytes + item->key_len, item->len);
	if (mor_buf_failed(&x->last) || mor_buf_failed(&x->out))
		return mor_fail_memory(err);
	return x->out.len < SORTED_PIECE ? 0 : flush_given(x);
}

static int give_all(struct giving *x, mortise_error *err)
{
	struct mor_sorter *sorter = x->sorter;
	struct sort_run *run;
	int r = 0;

	if (sorter->run_count == 0) {
		if (sorter->count)
			qsort(sorter->items, sorter->count, sizeof(*sorter->items), compare_items);
		for (size_t i = 0; r == 0 && i < sorter->count; i++)
			r = give_item(x, sorter->items[i], err);
		return r;
	}
	if (sorter->count)
		r = spill(sorter, err);
	r = r ? r : begin_runs(sorter, 0, err);
	while (r == 0 && (run = first_run(sorter, 0))) {
		r = give_item(x, run->item, err);
		r = r ? r : read_item(sorter, run, err);
	}
	return r;
}

int mor_sorter_finish(struct mor_sorter *sorter, bool unique, mor_entries_sink_fn *sink, void *arg,
		      mortise_error *err)
{
	struct giving x = { .sorter = sorter, .unique = unique, .sink = sink, .arg = arg };
	int r = give_all(&x, err);

	r = r ? r : flush_given(&x);
	mor_buf_fini(&x.last);
	mor_buf_fini(&x.out);
	return r;
}
