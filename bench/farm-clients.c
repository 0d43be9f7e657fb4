/* SPDX-License-Identifier: Apache-2.0 */
/*
 * farm-clients URL CONNECTIONS SLOTS WORK_MS SECONDS: an owner, and workers whose batches are sleep, on the
 * verbs of src/farm/engine. Each connection is a worker with SLOTS slots, as `mortise worker -j SLOTS` is; a
 * slot claims, sleeps WORK_MS, commits, and claims again. The owner keeps a window of twice the slots. One
 * thread, one line of JSON.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/farm.h"

#define UNITS        128 /* of a batch */
#define LEASE        60000
#define POLL_MS      100 /* as in src/farm/crew */
#define POLL_MOST_MS 2000

struct client;

struct sleeper {
	struct client *client;
	struct mor_farm_batch batch;
	char run[MOR_DIGEST_SIZE];
	int64_t asked_ns, due_ms, beat_ms; /* due 0: it waits for an answer */
	bool works;
};

struct client {
	struct mor_farm *farm;
	struct mor_farm_worker who;
	struct sleeper *slots;
};

static struct {
	struct client *clients;
	unsigned connections, slots, work_ms;
	uint64_t ticket;
	/* the owner */
	struct mor_farm *farm;
	uint64_t submitted, next; /* batches; units */
	uint64_t news;
	bool polling;
	int64_t poll_at, polled_ms;
	/* told */
	uint64_t claims, commits, empty;
	int64_t answer_ns, slowest_ns;
} x;

static void warn_clients(const char *text, void *arg)
{
	(void)arg;
	fprintf(stderr, "farm-clients: %s\n", text);
}

static struct mor_farm *open_farm(const char *url, const struct mor_farm_run *run)
{
	struct mor_farm *farm = NULL;
	mortise_error err = { 0 };

	if (mor_farm_open(&(struct mor_farm_options){ .url = url, .run = run, .on_warning = warn_clients },
			  &farm, &err) < 0) {
		fprintf(stderr, "farm-clients: %s\n", err.text);
		exit(1);
	}
	return farm;
}

/* ---- workers ---- */

static void claim_batch(struct sleeper *slot);

static void note_answer(const struct sleeper *slot)
{
	int64_t ns = mor_clock_ns() - slot->asked_ns;

	x.answer_ns += ns;
	if (ns > x.slowest_ns)
		x.slowest_ns = ns;
}

static void on_commit(const struct mor_farm_reply *reply, void *arg)
{
	(void)reply;
	note_answer(arg);
	x.commits++;
	claim_batch(arg);
}

static void on_claim(const struct mor_farm_reply *reply, void *arg)
{
	struct sleeper *slot = arg;

	note_answer(slot);
	slot->works = reply->claimed;
	slot->due_ms = mor_clock_ms() + (reply->claimed ? x.work_ms : 500);
	slot->beat_ms = mor_clock_ms() + LEASE / 3;
	x.claims += reply->claimed;
	x.empty += !reply->claimed;
	slot->batch = reply->batch;
	memcpy(slot->run, reply->run, sizeof(slot->run));
}

static void claim_batch(struct sleeper *slot)
{
	slot->due_ms = 0;
	slot->asked_ns = mor_clock_ns();
	mor_farm_claim(slot->client->farm, &slot->client->who, ++x.ticket, NULL, on_claim, slot);
}

/* ms until it wants something. */
static int step_sleeper(struct sleeper *slot, int64_t now)
{
	if (!slot->due_ms)
		return -1;
	if (slot->works && now >= slot->beat_ms) {
		slot->beat_ms = now + LEASE / 3;
		mor_farm_beat(slot->client->farm, &slot->client->who, slot->run, slot->batch.first, LEASE, NULL,
			      NULL);
	}
	if (now < slot->due_ms)
		return (int)(slot->due_ms - now);
	if (slot->works) {
		struct mor_farm_made made = { .took_ms = x.work_ms };

		slot->works = false;
		slot->due_ms = 0;
		slot->asked_ns = mor_clock_ns();
		slot->client->who.units += UNITS;
		memcpy(made.segment, slot->batch.key, sizeof(made.segment));
		made.slowest =
			(struct mor_farm_unit){ .unit = slot->batch.first, .name = "a", .ms = x.work_ms };
		mor_farm_commit(slot->client->farm, &slot->client->who, slot->run, &slot->batch, &made,
				on_commit, slot);
	} else {
		claim_batch(slot);
	}
	return 0;
}

/* Batches of the same length that begin together would also end together. */
static void open_clients(const char *url)
{
	unsigned all = x.connections * x.slots, number = 0;

	x.clients = calloc(x.connections, sizeof(struct client));
	for (unsigned i = 0; i < x.connections; i++) {
		struct client *client = &x.clients[i];

		client->farm = open_farm(url, NULL);
		snprintf(client->who.name, sizeof(client->who.name), "bench/%u", i);
		snprintf(client->who.machine, sizeof(client->who.machine), "bench");
		client->who.jobs = x.slots;
		client->slots = calloc(x.slots, sizeof(struct sleeper));
		for (unsigned k = 0; k < x.slots; k++, number++)
			client->slots[k] = (struct sleeper){
				.client = client,
				.due_ms = mor_clock_ms() + (int64_t)x.work_ms * number / all,
			};
	}
}

/* ---- the owner ---- */

static void on_ended(const struct mor_farm_reply *reply, void *arg)
{
	bool moved = false;

	(void)arg;
	x.polling = false;
	for (size_t i = 0; i < reply->count; i++)
		if (reply->ended[i].batch.first == x.next) { /* in order, as an owner takes them */
			x.next += UNITS;
			moved = true;
		}
	x.poll_at = x.polled_ms + (reply->count == MOR_FARM_GROUP && moved ? 0 : POLL_MOST_MS);
}

static void submit_window(void)
{
	struct mor_farm_batch group[MOR_FARM_GROUP];
	uint64_t window = 2ull * x.connections * x.slots + MOR_FARM_GROUP;

	while (x.submitted + MOR_FARM_GROUP <= x.next / UNITS + window) {
		for (size_t i = 0; i < MOR_FARM_GROUP; i++, x.submitted++) {
			group[i] = (struct mor_farm_batch){ .first = x.submitted * UNITS, .count = UNITS };
			snprintf(group[i].key, sizeof(group[i].key), "%064" PRIx64, x.submitted);
		}
		mor_farm_submit(x.farm, group, MOR_FARM_GROUP, false, NULL, NULL);
	}
}

static void step_owner(int64_t now)
{
	submit_window();
	if (x.news != mor_farm_news(x.farm) && x.poll_at > x.polled_ms + POLL_MS)
		x.poll_at = x.polled_ms + POLL_MS;
	if (x.polling || now < x.poll_at)
		return;
	x.polling = true;
	x.polled_ms = now;
	x.news = mor_farm_news(x.farm);
	mor_farm_done(x.farm, x.next, x.next, 0, on_ended, NULL);
}

/* ---- the loop ---- */

static void check_farm(struct mor_farm *farm)
{
	const mortise_error *failure = mor_farm_failure(farm);

	if (!failure)
		return;
	fprintf(stderr, "farm-clients: %s\n", failure->text);
	exit(1);
}

static int step_all(int64_t now)
{
	int wait = 50;

	step_owner(now);
	wait = mor_clock_sooner(wait, mor_farm_step(x.farm));
	check_farm(x.farm);
	for (unsigned i = 0; i < x.connections; i++) {
		for (unsigned k = 0; k < x.slots; k++)
			wait = mor_clock_sooner(wait, step_sleeper(&x.clients[i].slots[k], now));
		wait = mor_clock_sooner(wait, mor_farm_step(x.clients[i].farm));
		check_farm(x.clients[i].farm);
	}
	return wait;
}

static int watch_all(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	epoll_ctl(epoll, EPOLL_CTL_ADD, mor_farm_fd(x.farm), &event);
	for (unsigned i = 0; i < x.connections; i++)
		epoll_ctl(epoll, EPOLL_CTL_ADD, mor_farm_fd(x.clients[i].farm), &event);
	return epoll;
}

/* Steady: when every slot has had a batch, the counts begin. */
static void run_for(int epoll, int64_t ms)
{
	int64_t end = mor_clock_ms() + ms;

	for (int64_t now = mor_clock_ms(); now < end; now = mor_clock_ms()) {
		struct pollfd fd = { .fd = epoll, .events = POLLIN };

		poll(&fd, 1, step_all(now));
	}
}

int main(int argc, char **argv)
{
	struct mor_farm_run run = { .title = "bench", .owner = "bench", .units = 1u << 31, .lease_ms = LEASE };
	uint64_t asked;
	int64_t began;
	int seconds, epoll;

	if (argc != 6)
		return 2;
	x.connections = (unsigned)atoi(argv[2]);
	x.slots = (unsigned)atoi(argv[3]);
	x.work_ms = (unsigned)atoi(argv[4]);
	seconds = atoi(argv[5]);
	memset(run.run, 'a', MOR_DIGEST_HEX);
	x.farm = open_farm(argv[1], &run);
	open_clients(argv[1]);
	epoll = watch_all();
	run_for(epoll, 2 * (int64_t)x.work_ms);
	puts("steady");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	x.claims = x.commits = x.empty = 0;
	x.answer_ns = x.slowest_ns = 0;
	began = mor_clock_ms();
	run_for(epoll, 1000 * (int64_t)seconds);
	asked = x.claims + x.commits + x.empty;
	printf("{\"ms\":%" PRId64 ",\"claims\":%" PRIu64 ",\"commits\":%" PRIu64 ",\"empty\":%" PRIu64
	       ",\"answer_ms\":%.3f,\"slowest_ms\":%.1f}\n",
	       mor_clock_ms() - began, x.claims, x.commits, x.empty,
	       asked ? (double)x.answer_ns / 1e6 / (double)asked : 0, (double)x.slowest_ns / 1e6);
	for (unsigned i = 0; i < x.connections; i++)
		mor_farm_free(x.clients[i].farm);
	mor_farm_free(x.farm);
	return 0;
}
