/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host-bench seq|async|notify|inflight COUNT CPU FRAMING PLUGIN [CPU]: the library's side, as an
 * embedder would write it.
 *
 * seq       one mortise_call_sync() after the other: time of each round trip
 * async     the same with mortise_call_start() and mortise_host_wait()
 * notify    one notification after the other, each written before the next
 * inflight  64 calls under way; each reply starts the next: calls per second
 */
#include <string.h>

#include <mortise/mortise.h>

#include "bench.h"

#define WARM_UP 1000

struct bench {
	mortise_host *host;
	mortise_plugin *plugin;
	size_t to_start, under_way;
	int status;
};

static const mortise_json params = { BENCH_PARAMS, sizeof(BENCH_PARAMS) - 1 };

static int is_echo(const char *text, size_t len)
{
	return len == params.len && memcmp(text, params.text, len) == 0;
}

static void on_reply(const mortise_reply *reply, void *arg);

static void start_one(struct bench *b)
{
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = on_reply, .arg = b };
	int r = mortise_call_start(b->plugin, "echo", params, &opt, NULL, NULL);

	if (r < 0) {
		b->status = r;
		return;
	}
	b->to_start--;
	b->under_way++;
}

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct bench *b = arg;

	b->under_way--;
	if (reply->status < 0 || !is_echo(reply->result.text, reply->result.len)) {
		fprintf(stderr, "host-bench: %s\n", reply->error ? reply->error->text : "not what was sent");
		b->status = -1;
	}
	if (b->status == 0 && b->to_start > 0)
		start_one(b);
}

static int run(struct bench *b, size_t count, size_t at_once)
{
	b->to_start = count;
	for (size_t i = 0; i < at_once && i < count && b->status == 0; i++)
		start_one(b);
	while (b->under_way > 0 && b->status == 0)
		if (mortise_host_wait(b->host, -1) < 0)
			return -1;
	return b->status;
}

static int sync_trip(struct bench *b)
{
	mortise_error err;
	char *result = NULL;
	int r = mortise_call_sync(b->plugin, "echo", params, NULL, &result, &err);

	if (r < 0)
		fprintf(stderr, "host-bench: %s\n", err.text);
	else if (!is_echo(result, strlen(result)))
		r = -1;
	mortise_free(result);
	return r;
}

static int async_trip(struct bench *b)
{
	return run(b, 1, 1);
}

static int notify_trip(struct bench *b)
{
	mortise_call_options opt = { .size = sizeof(opt), .flags = MORTISE_NOTIFY };

	return mortise_call_sync(b->plugin, "echo", params, &opt, NULL, NULL);
}

static int time_trips(struct bench *b, int (*trip)(struct bench *), size_t count)
{
	int64_t *ns = malloc(count * sizeof(*ns)), last;
	int r = ns ? 0 : -1;

	for (size_t i = 0; i < WARM_UP && r == 0; i++)
		r = trip(b);
	last = bench_now();
	for (size_t i = 0; i < count && r == 0; i++) {
		int64_t now;

		r = trip(b);
		now = bench_now();
		ns[i] = now - last;
		last = now;
	}
	if (r == 0)
		bench_print_times(ns, count);
	free(ns);
	return r;
}

static int time_flight(struct bench *b, size_t count)
{
	int64_t begin;

	if (run(b, WARM_UP, BENCH_IN_FLIGHT) < 0)
		return -1;
	begin = bench_now();
	if (run(b, count, BENCH_IN_FLIGHT) < 0)
		return -1;
	bench_print_rate(count, bench_now() - begin);
	return 0;
}

static int measure(struct bench *b, const char *mode, size_t count)
{
	if (strcmp(mode, "seq") == 0)
		return time_trips(b, sync_trip, count);
	if (strcmp(mode, "async") == 0)
		return time_trips(b, async_trip, count);
	if (strcmp(mode, "notify") == 0)
		return time_trips(b, notify_trip, count);
	if (strcmp(mode, "inflight") == 0)
		return time_flight(b, count);
	return -1;
}

int main(int argc, char **argv)
{
	const char *command[4] = { 0 }, *set[2] = { 0 };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = command, .dialect = "plain", .set = set };
	mortise_host_options host_opt = { .size = sizeof(host_opt) };
	struct bench b = { 0 };
	mortise_error err = { 0 };
	char framing[64];
	int r, cpu;

	cpu = argc < 6 || argc > 7 ? -2 : (int)strtol(argv[3], NULL, 10);
	if (cpu == -2 || (argc == 6 && bench_pin(cpu) < 0))
		return 2;
	snprintf(framing, sizeof(framing), "plugin.framing=%s", argv[4]);
	set[0] = framing;
	command[0] = argv[5];
	command[1] = argv[4];
	command[2] = argc > 6 ? argv[6] : NULL; /* the plugin's core */
	if (getenv("BENCH_NO_SPIN"))
		host_opt.flags |= MORTISE_NO_SPIN;
	r = mortise_host_new(&host_opt, &b.host, &err);
	/* Only now: a host that is born on one core never spins, since its plugins are born there, too. */
	if (argc == 7 && bench_pin(cpu) < 0)
		return 2;
	if (r == 0)
		r = mortise_plugin_new(b.host, &opt, &b.plugin, &err);
	if (r == 0)
		r = measure(&b, argv[1], strtoul(argv[2], NULL, 10));
	if (err.code)
		fprintf(stderr, "host-bench: %s\n", err.text);
	mortise_plugin_unref(b.plugin);
	mortise_host_free(b.host);
	return r < 0;
}
