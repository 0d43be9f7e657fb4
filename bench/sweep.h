/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every program of the comparison does alike (bench/peers/README.md): its last arguments are SECONDS and
 * points, DEPTH:SIZE each. For each point it calls an echo of SIZE bytes of text, DEPTH calls under way, and
 * prints a line of JSON with the median nanoseconds of a call over batches. A batch takes a fortieth of
 * SECONDS, and at least four times DEPTH calls; batches follow each other until SECONDS are over. The search
 * for its size is the warm-up.
 */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include <string.h>

#include "bench.h"

enum { SWEEP_BATCHES = 4096 };

struct sweep {
	/* Prepares echoes of `size` bytes; makes `count` calls, `depth` of them under way. < 0: it failed. */
	int (*prepare)(void *arg, size_t depth, size_t size);
	int (*run)(void *arg, size_t count, size_t depth);
	void *arg;
};

static inline int64_t sweep_batch(const struct sweep *s, size_t count, size_t depth)
{
	int64_t begin = bench_now();

	return s->run(s->arg, count, depth) < 0 ? -1 : bench_now() - begin;
}

static inline int sweep_point(const struct sweep *s, int64_t budget, size_t depth, size_t size)
{
	static int64_t ns[SWEEP_BATCHES];
	size_t count = depth == 1 ? 1 : 4 * depth, batches = 0;
	int64_t took = 0, total = 0;

	if (s->prepare(s->arg, depth, size) < 0 || s->run(s->arg, depth, depth) < 0)
		return -1;
	while ((took = sweep_batch(s, count, depth)) >= 0 && took < budget / 40)
		count *= 2;
	for (; took >= 0 && total < budget && batches < SWEEP_BATCHES; batches++) {
		took = sweep_batch(s, count, depth);
		ns[batches] = took / (int64_t)count;
		total += took;
	}
	if (took < 0 || batches == 0)
		return -1;
	qsort(ns, batches, sizeof(*ns), bench_compare);
	printf("{\"depth\": %zu, \"size\": %zu, \"ns\": %lld, \"batches\": %zu}\n", depth, size,
	       (long long)ns[batches / 2], batches);
	fflush(stdout);
	return 0;
}

/* argv: SECONDS DEPTH:SIZE... */
static inline int sweep_points(const struct sweep *s, char **argv)
{
	int64_t budget = argv[0] ? (int64_t)(strtod(argv[0], NULL) * 1e9) : 0;

	if (budget <= 0)
		return -1;
	for (char **point = argv + 1; *point; point++) {
		char *end;
		size_t depth = strtoul(*point, &end, 10), size = *end == ':' ? strtoul(end + 1, NULL, 10) : 0;

		if (depth == 0 || size == 0 || sweep_point(s, budget, depth, size) < 0)
			return -1;
	}
	return 0;
}

/* `head`, then `size` letters, then `tail`; to be freed. */
static inline char *sweep_text(const char *head, size_t size, const char *tail, size_t *ret_len)
{
	size_t before = strlen(head), after = strlen(tail);
	char *text = malloc(before + size + after + 1);

	if (!text)
		return NULL;
	memcpy(text, head, before);
	for (size_t i = 0; i < size; i++)
		text[before + i] = (char)('a' + i % 26);
	memcpy(text + before + size, tail, after + 1);
	*ret_len = before + size + after;
	return text;
}

#endif
