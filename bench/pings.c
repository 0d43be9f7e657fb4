/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pings PLUGIN SECONDS COUNT: what it costs to watch over plugins. A host has COUNT of them that speak
 * G-Assist's protocol, asks each of them once a second whether it lives, and does nothing else. A line of
 * JSON: the part of a core that the host takes, and the pings that are answered in a second, which are
 * counted afterwards.
 */
#include <mortise/mortise.h>

#include "bench.h"

enum { MOST = 10000, EVERY_S = 1, COUNT_S = 2 * EVERY_S };

struct herd {
	mortise_host *host;
	mortise_plugin *plugins[MOST];
	size_t count;
	long pongs;
};

static int64_t own_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void on_tap(const mortise_tap_frame *frame, void *arg)
{
	struct herd *herd = arg;

	herd->pongs += frame->direction == MORTISE_FROM_PLUGIN;
}

/* Until `seconds` have passed, or (0) all are ready. */
static int run_herd(struct herd *herd, long seconds)
{
	int64_t until = bench_now() + (seconds ? seconds : 60) * INT64_C(1000000000);
	size_t ready = 0;
	int r = 0;

	while (r >= 0 && bench_now() < until && (seconds || ready < herd->count)) {
		r = mortise_host_wait(herd->host, 100);
		while (!seconds && ready < herd->count &&
		       mortise_plugin_state(herd->plugins[ready]) == MORTISE_READY)
			ready++;
	}
	return !seconds && ready < herd->count ? -1 : r < 0 ? r : 0;
}

static int fill_herd(struct herd *herd, const char *program, size_t count)
{
	const char *command[] = { program, "be32", NULL }, *set[] = { "health.every=1s", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = command, .dialect = "gassist", .set = set };
	mortise_error err = { 0 };
	int r = mortise_host_new(NULL, &herd->host, &err);

	for (herd->count = 0; r == 0 && herd->count < count; herd->count += r == 0) {
		r = mortise_plugin_new(herd->host, &opt, &herd->plugins[herd->count], &err);
		if (r == 0)
			r = mortise_plugin_start(herd->plugins[herd->count], &err);
		mortise_host_wait(herd->host, 0);
	}
	if (r < 0)
		fprintf(stderr, "pings: %s\n", err.text);
	return r < 0 ? r : run_herd(herd, 0);
}

static int measure_herd(struct herd *herd, long seconds)
{
	int64_t began, spent;
	int r = run_herd(herd, 2 * EVERY_S); /* the first ones come with the starts */

	began = bench_now();
	spent = own_time();
	if (r == 0)
		r = run_herd(herd, seconds);
	spent = own_time() - spent;
	began = bench_now() - began;
	mortise_host_set_tap(herd->host, on_tap, herd, NULL);
	if (r == 0)
		r = run_herd(herd, COUNT_S);
	printf("{\"count\": %zu, \"core\": %.5f, \"pongs\": %.1f}\n", herd->count,
	       (double)spent / (double)began, (double)herd->pongs / COUNT_S);
	return r;
}

int main(int argc, char **argv)
{
	static struct herd herd;
	long seconds = argc == 4 ? strtol(argv[2], NULL, 10) : 0,
	     count = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
	int r;

	if (seconds <= 0 || count <= 0 || count > MOST) {
		fprintf(stderr, "usage: pings PLUGIN SECONDS COUNT\n");
		return 2;
	}
	r = fill_herd(&herd, argv[1], (size_t)count);
	if (r == 0)
		r = measure_herd(&herd, seconds);
	while (herd.count > 0)
		mortise_plugin_unref(herd.plugins[--herd.count]);
	mortise_host_free(herd.host);
	return r < 0;
}
