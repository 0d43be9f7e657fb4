/* SPDX-License-Identifier: Apache-2.0 */
#include "gauge/hist.h"

#include "base/alloc.h"

#define SUB ((uint64_t)1 << MOR_HIST_BITS)

struct mor_hist *mor_hist_new(void)
{
	return mor_zalloc(sizeof(struct mor_hist));
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

/* What stands for the values of a bucket: half of its width behind its beginning. */
static uint64_t bucket_middle(size_t bucket)
{
	size_t shift;

	if (bucket < 2 * SUB)
		return bucket;
	shift = (bucket >> MOR_HIST_BITS) - 1;
	return (((bucket & (SUB - 1)) + SUB) << shift) + ((uint64_t)1 << shift >> 1);
}

void mor_hist_add(struct mor_hist *hist, uint64_t value)
{
	if (value > MOR_HIST_MOST)
		value = MOR_HIST_MOST;
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

/* The rank of the value: 1 is the least. */
static uint64_t rank_of(const struct mor_hist *hist, double part)
{
	double exact = part * (double)hist->count;
	uint64_t rank = (uint64_t)exact;

	rank += (double)rank < exact;
	return rank < 1 ? 1 : rank > hist->count ? hist->count : rank;
}

uint64_t mor_hist_at(const struct mor_hist *hist, double part)
{
	uint64_t rank = rank_of(hist, part), seen = 0, value;
	size_t bucket = 0;

	if (!hist->count || rank == 1)
		return hist->least;
	if (rank == hist->count)
		return hist->largest;
	while ((seen += hist->buckets[bucket]) < rank)
		bucket++;
	value = bucket_middle(bucket);
	return value < hist->least ? hist->least : value > hist->largest ? hist->largest : value;
}
