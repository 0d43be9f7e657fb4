/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak [MINUTES [SEED [lie]]]: see soak.h. Exits with 0 when everything added up, with 1 and lines that begin
 * with FAULT when not. Directories of a run that failed stay. lie: the plugins do, and the status is 0 when
 * that was noticed, and nothing else.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "soak.h"

#define STRIKE_MS  600 /* a signal to some process so often, on average */
#define SAMPLE_MS  1000
#define DRAIN_MS   900000 /* for what is open at the end: more than any limit */
#define REST_MS    600000
#define NOTICE_MS  600000 /* for what must be seen once, after the time that was asked for */
#define GROWTH_KIB 1024   /* over the whole window: what a heap's holes may cost */
#define JUDGED_MIN 10     /* a shorter window shows the load's ups and downs, not growth */
#define LEFT_BYTES \
	300000 /* of the heap, after everything was freed: what malloc keeps for the thread (tcache) */

struct soak soak;

int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* splitmix64 */
uint64_t pick(uint64_t below)
{
	uint64_t x = soak.random += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return below ? (x ^ (x >> 31)) % below : 0;
}

/* ---- the run ---- */

static bool all_are_served(void)
{
	for (size_t i = 0; i < seat_kind_count; i++)
		if (!soak.seat[i].by_status[0])
			return false;
	return true;
}

/* Until its time is over and each seat has had an answer; with lies: and one was noticed. A busy machine may
 * take longer for that. */
static bool goes_on(int64_t now)
{
	bool seen = soak.lie ? history.of_another : all_are_served();

	return now < soak.end || (!seen && now < soak.end + NOTICE_MS);
}

static void run(void)
{
	int64_t warm = soak.begin + (soak.end - soak.begin) / 4, next_sample = 0,
		next_strike = soak.begin + 2000;

	for (int64_t now; goes_on(now = now_ms());) {
		int wait = seats_turn(now);

		if (now >= next_strike) {
			nemesis_strike(now);
			next_strike = now + (int64_t)pick(2 * STRIKE_MS);
		}
		if (now >= next_sample) {
			history_watch(now);
			if (now >= warm)
				measure_sample(now);
			next_sample = now + SAMPLE_MS;
		}
		mortise_host_wait(soak.host, wait);
	}
}

/* Nothing new is begun; what is open must end by itself. */
static void drain(void)
{
	int64_t end = now_ms() + DRAIN_MS;
	unsigned open;

	nemesis_end();
	while ((open = history_watch(now_ms())) && now_ms() < end) {
		for (size_t i = 0; i < seat_kind_count; i++) {
			if (!soak.seat[i].unit || !soak.seat[i].plugin)
				continue;
			soak.seat[i].leaving = true; /* an analyzer would take the next record at once */
			mortise_plugin_stop(soak.seat[i].plugin, MORTISE_STOP_INPUT, NULL);
		}
		mortise_host_wait(soak.host, 200);
	}
	if (open)
		fault(NULL, "%u calls are still open %d s after the last was begun", open, DRAIN_MS / 1000);
}

static bool at_rest(const struct seat *seat)
{
	mortise_plugin *worker;
	int state;

	for (uint32_t i = 0; (worker = seat->pool ? mortise_pool_worker(seat->pool, i) :
				       i          ? NULL :
						    seat->plugin);
	     i++) {
		state = mortise_plugin_state(worker);
		if (state != MORTISE_STOPPED && state != MORTISE_FAILED)
			return false;
	}
	return true;
}

static bool all_at_rest(bool tell)
{
	bool rest = true;

	for (size_t i = 0; i < seat_kind_count; i++) {
		if (at_rest(&soak.seat[i]))
			continue;
		rest = false;
		if (tell)
			fault(&soak.seat[i], "does not come to rest after a polite stop");
	}
	return rest;
}

static void stop_all(void)
{
	int64_t end = now_ms() + REST_MS;

	for (size_t i = 0; i < seat_kind_count; i++) {
		if (soak.seat[i].plugin)
			mortise_plugin_stop(soak.seat[i].plugin, MORTISE_STOP_POLITE, NULL);
		if (soak.seat[i].pool)
			mortise_pool_stop(soak.seat[i].pool, MORTISE_STOP_POLITE, NULL);
	}
	while (!all_at_rest(false) && now_ms() < end)
		mortise_host_wait(soak.host, 200);
	all_at_rest(true);
}

/* Everything is called once more, and the host goes while the calls are under way. */
static void end_abruptly(void)
{
	for (int i = 0; i < 20; i++) {
		seats_turn(now_ms() + 1000);
		mortise_host_wait(soak.host, 5);
	}
	for (size_t i = 0; i < seat_kind_count; i++)
		if (i % 2)
			seat_free(&soak.seat[i]);
	soak.host = mortise_host_free(soak.host);
	for (size_t i = 0; i < seat_kind_count; i++) {
		soak.seat[i].plugin = mortise_plugin_unref(soak.seat[i].plugin);
		if (i % 2 == 0)
			soak.seat[i].pool = NULL; /* went with the host */
		analyzer_lost(&soak.seat[i]);
	}
	if (history_watch(0))
		fault(NULL, "%u calls got no last callback when their host was freed", history_watch(0));
	if (history.begun != history.settled + history.refused)
		fault(NULL, "%" PRIu64 " calls begun, %" PRIu64 " settled, %" PRIu64 " refused", history.begun,
		      history.settled, history.refused);
}

/* ---- what is left ---- */

/* Orphans come to us. Those that were killed still have to be waited for; nobody else may live. */
static void reap(void)
{
	int64_t end = now_ms() + REST_MS;

	while (waitpid(-1, NULL, WNOHANG) >= 0 && now_ms() < end) {
		struct timespec moment = { 0, 5000000 };

		if (descendants(false))
			nanosleep(&moment, NULL);
	}
	descendants(true);
}

static void check_slope(const char *what, struct slope slope)
{
	printf("%s: %+.1f KiB a minute, +- %.1f (%u samples over %.1f min)\n", what, slope.per_minute,
	       slope.error, slope.samples, slope.window_min);
	if (measure_is_meaningful() && slope.window_min >= JUDGED_MIN &&
	    (slope.per_minute - 3 * slope.error) * slope.window_min > GROWTH_KIB)
		fault(NULL, "%s grows", what);
}

static void check_rest(unsigned descriptors, size_t heap)
{
	struct rusage self, children;
	unsigned now = count_descriptors();
	size_t left = heap_in_use();

	reap();
	check_slope("resident memory", measure_rss());
	check_slope("heap in use", measure_heap());
	printf("descriptors: %u before, %u after; heap: %zu bytes before, %zu after\n", descriptors, now, heap,
	       left);
	if (now != descriptors)
		fault(NULL, "%d descriptors are left", (int)now - (int)descriptors);
	if (measure_is_meaningful() && left > heap + LEFT_BYTES)
		fault(NULL, "%zu bytes of the heap are left", left - heap);
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	printf("processor: %ld s in the host, %ld s in its children\n",
	       (long)(self.ru_utime.tv_sec + self.ru_stime.tv_sec),
	       (long)(children.ru_utime.tv_sec + children.ru_stime.tv_sec));
}

/* ---- set-up ---- */

static int open_soak(double minutes, uint64_t seed)
{
	const char *tmp = getenv("TMPDIR");
	mortise_error err = { 0 };

	soak.seed = soak.random = seed;
	snprintf(soak.dir, sizeof(soak.dir), "%s/mortise-soak-XXXXXX", tmp ? tmp : "/tmp");
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!mkdtemp(soak.dir) || mortise_host_new(NULL, &soak.host, &err) < 0) {
		fprintf(stderr, "soak: %s\n", err.text[0] ? err.text : strerror(errno));
		return -1;
	}
	soak.begin = now_ms();
	soak.end = soak.begin + (int64_t)(minutes * 60000);
	return 0;
}

static void close_soak(void)
{
	char path[256];

	for (size_t i = 0; i < seat_kind_count && (!history.faults || soak.lie); i++) {
		static const char *const names[] = {
			"log", "count", "plugin", "plugin.toml", "sunscreen-plugin.json", "."
		};

		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			snprintf(path, sizeof(path), "%s/%s", soak.seat[i].dir, names[n]);
			unlink(path);
		}
		rmdir(soak.seat[i].dir);
	}
	rmdir(soak.dir);
	seats_close();
	history_close();
}

int main(int argc, char **argv)
{
	double minutes = argc > 1 ? strtod(argv[1], NULL) : 2;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	unsigned descriptors;
	size_t heap;

	setvbuf(stdout, NULL, _IOLBF, 0);
	soak.lie = argc > 3 && strcmp(argv[3], "lie") == 0;
	if (!(minutes > 0) || argc > 3 + soak.lie) {
		fprintf(stderr, "usage: soak [MINUTES [SEED [lie]]]\n");
		return 2;
	}
	printf("soak: %.1f minutes, seed %" PRIu64 "\n", minutes, seed);
	history_open();
	descriptors = count_descriptors();
	heap = heap_in_use();
	if (open_soak(minutes, seed) < 0)
		return 1;
	seats_open();
	run();
	drain();
	stop_all();
	end_abruptly();
	check_rest(descriptors, heap);
	report();
	printf("%" PRIu64 " calls, every one accounted for: %s; faults of the library: %" PRIu64 "\n",
	       history.begun, history.begun == history.settled + history.refused ? "yes" : "NO",
	       history.faults);
	if (history.faults && !soak.lie)
		printf("the logs of the proxies are in %s\n", soak.dir);
	close_soak();
	return soak.lie ? !history.of_another || history.of_another != history.faults : history.faults > 0;
}
