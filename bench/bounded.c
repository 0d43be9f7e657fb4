/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounded PLUGIN [SCENARIO] [SCALE]: the longest dispatch under what is hard on a host (see burden-plugin.c),
 * and what a flood does to the latency of another plugin.
 *
 * A dispatch is measured in processor time of this thread, system calls included: a machine that does something
 * else in the middle of one is not the library's doing. One line of JSON per scenario.
 */
#include <poll.h>
#include <string.h>
#include <sys/resource.h>

#include <mortise/mortise.h>

#include "bench.h"

#define MANY    20000
#define PLUGINS 1000

struct world {
	mortise_host *host;
	mortise_plugin *plugin[PLUGINS];
	const char *program;
	double scale;
	int64_t longest, sum;
	uint64_t dispatches;
	size_t settled, sent, events[MORTISE_EVENT_TYPES];
};

static void fail(const char *what, const mortise_error *err)
{
	fprintf(stderr, "bounded: %s: %s\n", what, err ? err->text : "failed");
	exit(1);
}

static int64_t cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- the embedder ---- */

static void on_event(const mortise_event *event, void *arg)
{
	((struct world *)arg)->events[event->type]++;
}

static void on_reply(const mortise_reply *reply, void *arg)
{
	((struct world *)arg)->settled += !reply->more;
}

static void on_tap(const mortise_tap_frame *frame, void *arg)
{
	((struct world *)arg)->sent += frame->direction == MORTISE_TO_PLUGIN;
}

static void turn(struct world *w)
{
	struct pollfd pfd = { .fd = mortise_host_fd(w->host), .events = POLLIN };
	int64_t begin, took;

	if (poll(&pfd, 1, 20000) == 0)
		fail("nothing happens", NULL);
	begin = cpu_now();
	if (mortise_host_dispatch(w->host) < 0)
		fail("dispatch", NULL);
	took = cpu_now() - begin;
	w->longest = took > w->longest ? took : w->longest;
	w->sum += took;
	w->dispatches++;
}

static mortise_plugin_options plugin_options(struct world *w, const char *const *argv, const char *const *set)
{
	return (mortise_plugin_options){ .size = sizeof(mortise_plugin_options),
					 .argv = argv,
					 .dialect = "plain",
					 .set = set,
					 .on_event = on_event,
					 .arg = w };
}

static mortise_plugin *add(struct world *w)
{
	const char *argv[] = { w->program, NULL }, *const set[] = { "restart.first=10s", NULL };
	mortise_plugin_options opt = plugin_options(w, argv, set);
	mortise_plugin *plugin;
	mortise_error err;

	if (mortise_plugin_new(w->host, &opt, &plugin, &err) < 0)
		fail("plugin", &err);
	return plugin;
}

static void call(struct world *w, mortise_plugin *plugin, const char *method, const char *params,
		 uint32_t timeout_ms)
{
	mortise_call_options opt = {
		.size = sizeof(opt), .timeout_ms = timeout_ms, .on_reply = on_reply, .arg = w
	};
	mortise_error err;

	if (mortise_call_start(plugin, method, (mortise_json){ params, params ? strlen(params) : 0 }, &opt,
			       NULL, &err) < 0)
		fail(method, &err);
}

static void until(struct world *w, const size_t *what, size_t count)
{
	while (*what < count)
		turn(w);
}

static void ready(struct world *w)
{
	w->plugin[0] = add(w);
	call(w, w->plugin[0], "ready", NULL, 0);
	until(w, &w->settled, 1);
	w->settled = 0;
}

static void start_counting(struct world *w)
{
	w->longest = w->sum = 0;
	w->dispatches = 0;
}

/* ---- scenarios ---- */

static size_t many(const struct world *w)
{
	return (size_t)(MANY * w->scale) + 1;
}

static void hold_calls(struct world *w, uint32_t timeout_ms)
{
	ready(w);
	for (size_t i = 0; i < many(w); i++)
		call(w, w->plugin[0], "hold", NULL, timeout_ms);
	start_counting(w);
}

static void timeouts(struct world *w)
{
	hold_calls(w, 400);
	until(w, &w->settled, many(w));
}

static void crash(struct world *w)
{
	hold_calls(w, 60000);
	call(w, w->plugin[0], "die", NULL, 60000);
	until(w, &w->settled, many(w) + 1);
}

/* Calls that wait until the plugin is there, all of them notifications: settled as they are written. */
static void queue(struct world *w)
{
	mortise_call_options opt = {
		.size = sizeof(opt), .flags = MORTISE_NOTIFY, .on_reply = on_reply, .arg = w
	};

	w->plugin[0] = add(w);
	for (size_t i = 0; i < many(w); i++)
		if (mortise_call_start(w->plugin[0], "hold", (mortise_json){ 0 }, &opt, NULL, NULL) < 0)
			fail("notification", NULL);
	start_counting(w);
	until(w, &w->settled, many(w));
}

static void endless(struct world *w, const char *method, int event)
{
	ready(w);
	call(w, w->plugin[0], method, NULL, 60000);
	start_counting(w);
	until(w, &w->events[event], 50 * many(w));
}

static void flood(struct world *w)
{
	endless(w, "flood", MORTISE_EVENT_NOTE);
}

static void noise(struct world *w)
{
	endless(w, "notes", MORTISE_EVENT_NOISE);
}

static void stderr_flood(struct world *w)
{
	endless(w, "stderr", MORTISE_EVENT_STDERR);
}

static void megabytes(struct world *w, const char *method, int count)
{
	char params[32];

	snprintf(params, sizeof(params), "[%d]", (int)(count * w->scale) + 1);
	ready(w);
	call(w, w->plugin[0], method, params, 60000);
	start_counting(w);
	until(w, &w->settled, 1);
}

static void batch_15(struct world *w)
{
	megabytes(w, "batch", 15);
}

static void batch_60(struct world *w)
{
	megabytes(w, "batch", 60);
}

static void message_15(struct world *w)
{
	megabytes(w, "big", 15);
}

static void message_60(struct world *w)
{
	megabytes(w, "big", 60);
}

/* All start, all answer at once, again and again, and all die at once. */
static void plugins(struct world *w)
{
	size_t count = (size_t)(PLUGINS * w->scale) + 1;
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	count = count > PLUGINS ? PLUGINS : count;
	count = count > (files.rlim_cur - 64) / 5 ? (files.rlim_cur - 64) / 5 : count;
	for (size_t i = 0; i < count; i++) {
		w->plugin[i] = add(w);
		call(w, w->plugin[i], "ready", NULL, 60000);
		while (w->settled + 50 < i) /* as many at once as a machine starts */
			turn(w);
	}
	until(w, &w->settled, count);
	start_counting(w);
	for (int round = 0; round < 5; round++) {
		w->settled = 0;
		for (size_t i = 0; i < count; i++)
			call(w, w->plugin[i], "ready", NULL, 60000);
		until(w, &w->settled, count);
	}
	w->settled = 0;
	for (size_t i = 0; i < count; i++)
		call(w, w->plugin[i], "die", NULL, 60000);
	until(w, &w->settled, count);
}

/* A pool's calls come back from two workers that die, and go out again. */
static void pool(struct world *w)
{
	const char *argv[] = { w->program, NULL }, *const set[] = { "restart.first=10ms",
								    "limits.in_flight=100000", NULL };
	mortise_plugin_options opt = plugin_options(w, argv, set);
	mortise_pool_options two = { .size = sizeof(two), .workers = 2, .retries = 1 };
	mortise_call_options hold = {
		.size = sizeof(hold), .timeout_ms = 60000, .on_reply = on_reply, .arg = w
	};
	size_t count = 3 * many(w);
	mortise_pool *pool;
	mortise_error err;

	if (mortise_host_set_tap(w->host, on_tap, w, NULL) < 0 ||
	    mortise_pool_new(w->host, &opt, &two, &pool, &err) < 0)
		fail("pool", &err);
	for (size_t i = 0; i < count; i++)
		if (mortise_pool_call(pool, "hold", (mortise_json){ 0 }, &hold, NULL, &err) < 0)
			fail("hold", &err);
	until(w, &w->sent, count);
	for (uint32_t i = 0; i < 2; i++)
		call(w, mortise_pool_worker(pool, i), "die", NULL, 60000);
	w->sent = w->settled = 0;
	start_counting(w);
	while (w->sent + w->settled < count) /* settled: it died a second time */
		turn(w);
}

/* ---- latency beside a flood ---- */

static int64_t latency(struct world *w, int trips)
{
	int64_t *ns = malloc((size_t)trips * sizeof(*ns)), median;

	for (int i = 0; i < trips; i++) {
		int64_t begin = bench_now();

		w->settled = 0;
		call(w, w->plugin[1], "ready", NULL, 60000);
		until(w, &w->settled, 1);
		ns[i] = bench_now() - begin;
	}
	qsort(ns, (size_t)trips, sizeof(*ns), bench_compare);
	median = ns[trips / 2];
	free(ns);
	return median;
}

/* The quiet one beside a plugin that does nothing, in turns with the same beside one that floods. */
static void fairness(struct world *w)
{
	int trips = (int)(2000 * w->scale) + 3;
	double ratios[7];
	int64_t quiet = 0, beside = 0;

	ready(w);
	w->plugin[1] = add(w);
	latency(w, trips);
	for (int i = 0; i < 7; i++) {
		quiet = latency(w, trips);
		call(w, w->plugin[0], "flood", NULL, 60000);
		until(w, &w->events[MORTISE_EVENT_NOTE], w->events[MORTISE_EVENT_NOTE] + 10000);
		beside = latency(w, trips);
		ratios[i] = (double)beside / (double)quiet;
		mortise_plugin_unref(w->plugin[0]);
		w->settled = 0;
		ready(w);
	}
	for (int i = 1; i < 7; i++) /* insertion: seven numbers */
		for (int j = i; j > 0 && ratios[j] < ratios[j - 1]; j--) {
			double swap = ratios[j];

			ratios[j] = ratios[j - 1];
			ratios[j - 1] = swap;
		}
	printf("{\"scenario\": \"beside a flood\", \"quiet_us\": %.1f, \"beside_us\": %.1f, \"ratio\": %.3f}\n",
	       (double)quiet / 1000, (double)beside / 1000, ratios[3]);
}

static const struct scenario {
	const char *name;
	void (*run)(struct world *w);
} scenarios[] = {
	{ "20,000 time-outs", timeouts },    { "crash with 20,000", crash },
	{ "20,000 queued", queue },          { "60,000 back", pool },
	{ "flood of notes", flood },         { "flood of noise", noise },
	{ "flood of stderr", stderr_flood }, { "1,000 plugins", plugins },
	{ "beside a flood", fairness },      { "batch, 15 MB", batch_15 },
	{ "batch, 60 MB", batch_60 },        { "message, 15 MB", message_15 },
	{ "message, 60 MB", message_60 },
};

static void play(const struct scenario *scenario, const char *program, double scale)
{
	struct world *w = calloc(1, sizeof(*w));
	mortise_error err;

	if (!w)
		fail("memory", NULL);
	w->program = program;
	w->scale = scale;
	if (mortise_host_new(NULL, &w->host, &err) < 0)
		fail("host", &err);
	scenario->run(w);
	if (scenario->run != fairness)
		printf("{\"scenario\": \"%s\", \"longest_ms\": %.3f, \"mean_ms\": %.4f, \"dispatches\": "
		       "%llu}\n",
		       scenario->name, (double)w->longest / 1e6,
		       (double)w->sum / 1e6 / (double)(w->dispatches ? w->dispatches : 1),
		       (unsigned long long)w->dispatches);
	fflush(stdout);
	for (size_t i = 0; i < PLUGINS; i++)
		mortise_plugin_unref(w->plugin[i]);
	mortise_host_free(w->host);
	free(w);
}

int main(int argc, char **argv)
{
	double scale = argc > 3 ? strtod(argv[3], NULL) : 1.0;

	if (argc < 2 || argc > 4)
		return 2;
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		if (argc < 3 || strcmp(argv[2], "all") == 0 || strstr(scenarios[i].name, argv[2]))
			play(&scenarios[i], argv[1], scale);
	return 0;
}
