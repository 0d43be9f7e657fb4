/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors and memory. */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "soak.h"

/* Sums for a line through points, so that an hour takes no more memory than a minute. */
struct line {
	double n, x, y, xx, xy, yy, first, last;
};
static struct line rss, heap;

/* Sanitizers keep what is freed for a while. */
bool measure_is_meaningful(void)
{
	return !SANITIZED;
}

size_t heap_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static double rss_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long size = 0, resident = 0;

	if (file && fscanf(file, "%lu %lu", &size, &resident) != 2)
		resident = 0;
	if (file)
		fclose(file);
	return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static void add(struct line *line, double minute, double kib)
{
	if (line->n == 0)
		line->first = minute;
	line->last = minute;
	line->n++;
	line->x += minute;
	line->y += kib;
	line->xx += minute * minute;
	line->xy += minute * kib;
	line->yy += kib * kib;
}

void measure_sample(int64_t now)
{
	double minute = (double)(now - soak.begin) / 60000;

	add(&rss, minute, rss_kib());
	add(&heap, minute, (double)heap_in_use() / 1024);
}

/* Least squares; the error is that of the slope, from what the points lie beside the line. */
static struct slope slope_of(const struct line *line)
{
	double sxx = line->xx - line->x * line->x / line->n, sxy = line->xy - line->x * line->y / line->n;
	double syy = line->yy - line->y * line->y / line->n, rest;
	struct slope slope = { .samples = (unsigned)line->n, .window_min = line->last - line->first };

	if (line->n < 3 || sxx <= 0)
		return slope;
	slope.per_minute = sxy / sxx;
	rest = syy - slope.per_minute * sxy;
	slope.error = sqrt((rest > 0 ? rest : 0) / (line->n - 2) / sxx);
	return slope;
}

struct slope measure_rss(void)
{
	return slope_of(&rss);
}

struct slope measure_heap(void)
{
	return slope_of(&heap);
}
