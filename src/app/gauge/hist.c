/* SPDX-License-Identifier: Apache-2.0 */
#include "gauge/hist.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define SUB ((uint64_t)1 << MOR_HIST_BITS)

struct mor_hist *mor_hist_new(void)
{
	return mor_zalloc(sizeof(struct mor_hist));
}

struct mor_hist *mor_hist_free(struct mor_hist *hist)
{
	mor_free(hist);
	return NULL;
}

/* ---- buckets: 2^7 for each power of two ---- */

static size_t bucket_of(uint64_t value)
{
	unsigned shift;

	if (value < SUB)
		return (size_t)value;
	shift = 63 - (unsigned)__builtin_clzll(value) - MOR_HIST_BITS;
	return ((size_t)shift << MOR_HIST_BITS) + (size_t)(value >> shift);
}

static uint64_t bucket_begin(size_t bucket)
{
	size_t shift = bucket < SUB ? 0 : (bucket >> MOR_HIST_BITS) - 1;

	return bucket < SUB ? bucket : ((bucket & (SUB - 1)) + SUB) << shift;
}

/* Half of its width behind its beginning. */
static uint64_t bucket_middle(size_t bucket)
{
	size_t shift = bucket < 2 * SUB ? 0 : (bucket >> MOR_HIST_BITS) - 1;

	return bucket_begin(bucket) + (shift ? (uint64_t)1 << (shift - 1) : 0);
}

void mor_hist_add(struct mor_hist *hist, uint64_t value)
{
	if (value > MOR_HIST_MOST)
		value = MOR_HIST_MOST;
	if (hist->count < MOR_HIST_EXACT)
		hist->exact[hist->count] = value;
	if (!hist->count || value < hist->least)
		hist->least = value;
	if (value > hist->largest)
		hist->largest = value;
	hist->count++;
	hist->sum += (double)value;
	hist->buckets[bucket_of(value)]++;
}

double mor_hist_mean(const struct mor_hist *hist)
{
	return hist->count ? hist->sum / (double)hist->count : 0;
}

/* What stands for the values of a bucket. */
static uint64_t value_of(const struct mor_hist *hist, size_t bucket)
{
	uint64_t value = bucket_middle(bucket);

	return value < hist->least ? hist->least : value > hist->largest ? hist->largest : value;
}

/* ---- percentiles ---- */

static int compare_values(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The rank of the value: 1 is the least. */
static uint64_t rank_of(const struct mor_hist *hist, double part)
{
	double exact = part * (double)hist->count;
	uint64_t rank = (uint64_t)exact;

	rank += (double)rank < exact;
	return rank < 1 ? 1 : rank > hist->count ? hist->count : rank;
}

static uint64_t exact_at(const struct mor_hist *hist, uint64_t rank)
{
	uint64_t sorted[MOR_HIST_EXACT];

	memcpy(sorted, hist->exact, hist->count * sizeof(sorted[0]));
	qsort(sorted, hist->count, sizeof(sorted[0]), compare_values);
	return sorted[rank - 1];
}

uint64_t mor_hist_at(const struct mor_hist *hist, double part)
{
	uint64_t rank = rank_of(hist, part), seen = 0;
	size_t bucket = 0;

	if (!hist->count)
		return 0;
	if (hist->count <= MOR_HIST_EXACT)
		return exact_at(hist, rank);
	while ((seen += hist->buckets[bucket]) < rank)
		bucket++;
	return value_of(hist, bucket);
}

/* ---- rows ---- */

/* Steps from one power of ten to the next, in tenths; the finest that fits is used. */
static const unsigned steps_fine[] = { 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 0 };
static const unsigned steps_usual[] = { 10, 15, 20, 30, 50, 70, 0 };
static const unsigned steps_coarse[] = { 10, 20, 50, 0 };
static const unsigned steps_tens[] = { 10, 0 };
static const unsigned *const step_tables[] = { steps_fine, steps_usual, steps_coarse, steps_tens };

/* The limits of a table in rising order; the first is 0. */
struct limits {
	const unsigned *steps, *step;
	uint64_t ten; /* power of ten */
};

static uint64_t next_limit(struct limits *limits)
{
	uint64_t value = *limits->step * limits->ten / 10;

	if (!*++limits->step) {
		limits->step = limits->steps;
		limits->ten *= 10;
	}
	return value;
}

/* Below 10, tenths would be lost: single numbers are good enough there. */
static size_t lay_rows(const unsigned *steps, uint64_t from, uint64_t to, struct mor_hist_row *rows,
		       size_t room)
{
	struct limits limits = { steps, steps, 10 };
	uint64_t begin = 0, end = next_limit(&limits);
	size_t count = 0;

	while (end <= from) {
		begin = end;
		end = next_limit(&limits);
	}
	for (; begin <= to; begin = end, end = next_limit(&limits)) {
		if (count == room)
			return room + 1;
		rows[count++] = (struct mor_hist_row){ begin, end, 0 };
	}
	return count;
}

static void count_value(struct mor_hist_row *rows, size_t count, uint64_t value, uint64_t times)
{
	for (size_t i = 0; i < count; i++)
		if (value >= rows[i].from && value < rows[i].to)
			rows[i].count += times;
}

size_t mor_hist_rows(const struct mor_hist *hist, struct mor_hist_row *rows, size_t room)
{
	uint64_t most = mor_hist_at(hist, 0.99);
	size_t count = room + 1;

	if (!hist->count)
		return 0;
	for (size_t i = 0; i < sizeof(step_tables) / sizeof(step_tables[0]) && count >= room; i++)
		count = lay_rows(step_tables[i], hist->least, most, rows, room);
	if (count >= room) /* more decades than rows: the last one takes the rest */
		count = room - 1;
	if (rows[count - 1].to <= hist->largest) {
		rows[count] = (struct mor_hist_row){ rows[count - 1].to, hist->largest + 1, 0 };
		count++;
	}
	if (hist->count <= MOR_HIST_EXACT) {
		for (size_t i = 0; i < hist->count; i++)
			count_value(rows, count, hist->exact[i], 1);
		return count;
	}
	for (size_t i = 0; i < MOR_HIST_SIZE; i++)
		if (hist->buckets[i])
			count_value(rows, count, value_of(hist, i), hist->buckets[i]);
	return count;
}
