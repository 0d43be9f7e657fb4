/* SPDX-License-Identifier: Apache-2.0 */
/* What the bench programs share: the work (an echo of about 100 bytes), the clock, the core, the median. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BENCH_PARAMS    "{\"text\":\"the quick brown fox jumps over it\"}"
#define BENCH_IN_FLIGHT 64

/* As the host writes them with lines framing, with an id of the size that most calls of a run have. */
#define BENCH_REQUEST "{\"jsonrpc\":\"2.0\",\"id\":12345,\"method\":\"echo\",\"params\":" BENCH_PARAMS "}\n"
#define BENCH_REPLY   "{\"jsonrpc\":\"2.0\",\"id\":12345,\"result\":" BENCH_PARAMS "}\n"

static inline int64_t bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Children inherit it, so both ends share the core. -1: wherever the kernel likes. */
static inline int bench_pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) == 0)
		return 0;
	perror("sched_setaffinity");
	return -1;
}

static inline int bench_read_all(int fd, char *to, size_t len)
{
	while (len > 0) {
		ssize_t n = read(fd, to, len);

		if (n <= 0)
			return -1;
		to += n;
		len -= (size_t)n;
	}
	return 0;
}

static int bench_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts in place and prints one line of JSON for bench/run. */
static inline void bench_print_times(int64_t *ns, size_t count)
{
	qsort(ns, count, sizeof(*ns), bench_compare);
	printf("{\"p50_ns\": %lld, \"p99_ns\": %lld, \"count\": %zu}\n", (long long)ns[count / 2],
	       (long long)ns[count * 99 / 100], count);
}

static inline void bench_print_rate(size_t count, int64_t ns)
{
	printf("{\"rate\": %.0f, \"count\": %zu}\n", (double)count * 1e9 / (double)ns, count);
}

#endif
