/* SPDX-License-Identifier: Apache-2.0 */
/*
 * many PLUGIN TRIPS COUNT...: what plugins cost each other. For each COUNT a host has so many plugins, and each
 * has answered once. A line of JSON: p50_ns of a round trip with one of them while the others do nothing,
 * all_ns of a round trip when it goes round all of them, and the host's memory for each (RssAnon).
 */
#include <string.h>

#include <mortise/mortise.h>

#include "bench.h"

enum { MOST = 10000 };

struct crowd {
	mortise_host *host;
	mortise_plugin *plugins[MOST];
	size_t count;
	long first; /* memory with one plugin */
};

static const mortise_json params = { BENCH_PARAMS, sizeof(BENCH_PARAMS) - 1 };

static long own_memory(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	long kib = 0;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "RssAnon: %ld", &kib);
	if (file)
		fclose(file);
	return kib * 1024;
}

static int64_t trip(mortise_plugin *plugin)
{
	int64_t begin = bench_now();
	mortise_error err = { 0 };
	char *result = NULL;
	int r = mortise_call_sync(plugin, "echo", params, NULL, &result, &err);

	if (r < 0)
		fprintf(stderr, "many: %s\n", err.text);
	mortise_free(result);
	return r < 0 ? -1 : bench_now() - begin;
}

/* The median; `step` 0: always the first plugin. < 0: a call failed. */
static int64_t trips(const struct crowd *c, size_t times, size_t step)
{
	int64_t *ns = malloc(times * sizeof(*ns)), median = ns ? 0 : -1;

	for (size_t i = 0; i < times && median == 0; i++)
		if ((ns[i] = trip(c->plugins[i * step % c->count])) < 0)
			median = -1;
	if (median == 0) {
		qsort(ns, times, sizeof(*ns), bench_compare);
		median = ns[times / 2];
	}
	free(ns);
	return median;
}

static int fill(struct crowd *c, const char *program, size_t count)
{
	const char *command[] = { program, "lines", NULL }, *set[] = { "plugin.framing=lines", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = command, .dialect = "plain", .set = set };
	mortise_error err = { 0 };
	int r = mortise_host_new(NULL, &c->host, &err);

	for (c->count = 0; r == 0 && c->count < count; c->count += r == 0) {
		r = mortise_plugin_new(c->host, &opt, &c->plugins[c->count], &err);
		if (r == 0 && trip(c->plugins[c->count]) < 0)
			r = -1;
		if (c->count == 0)
			c->first = own_memory();
	}
	if (r < 0 && err.code)
		fprintf(stderr, "many: %s\n", err.text);
	return r;
}

static int measure(struct crowd *c, const char *program, size_t count, size_t times)
{
	int r = fill(c, program, count);

	if (r == 0) {
		long each = count > 1 ? (own_memory() - c->first) / (long)(count - 1) : 0;
		int64_t all = trips(c, times, 1), one = trips(c, times, 0);

		r = all < 0 || one < 0 ? -1 : 0;
		printf("{\"count\": %zu, \"p50_ns\": %lld, \"all_ns\": %lld, \"bytes\": %ld}\n", count,
		       (long long)one, (long long)all, each);
		fflush(stdout);
	}
	while (c->count > 0)
		mortise_plugin_unref(c->plugins[--c->count]);
	mortise_host_free(c->host);
	return r;
}

int main(int argc, char **argv)
{
	static struct crowd c;
	size_t times = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (times == 0) {
		fprintf(stderr, "usage: many PLUGIN TRIPS COUNT...\n");
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		size_t count = strtoul(argv[i], NULL, 10);

		if (count == 0 || count > MOST || measure(&c, argv[1], count, times) < 0)
			return 1;
	}
	return 0;
}
