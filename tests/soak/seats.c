/* SPDX-License-Identifier: Apache-2.0 */
/* The seats: which plugins there are, what they are asked, and when they are cancelled, stopped, freed
 * and made anew. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "soak.h"

#define TIMEOUT_MS        2500
#define SHORT_MS          40 /* for calls that are to be late */
#define QUEUE_MS          10000
#define SLACK_MS          600000 /* what a busy machine may take on top of every limit */
#define NO_QUEUE_LIMIT_MS 25000  /* where the call sets none: the restarts that may lie before it */
#define BUSY_MS           4000   /* of calls, on average; then none until all are settled */
#define BIG_PAD           200000

/* ---- the table ---- */

#define NOISY \
	"--split=0.2", "--stall=0.02", "--stall-time=300ms", "--garbage=0.05", "--dup-id=0.05", \
		"--stale-id=0.05"
static const char *const session_faults[] = { NOISY, "--drop=0.01", "--truncate=0.002", "--kill=0.003", NULL };
static const char *const short_faults[] = { NOISY, "--drop=0.02", "--truncate=0.02", "--kill=0.03", NULL };
/* Decimal framing is strict: nothing may stand between messages. A reply that an analyzer never gets makes it
 * wait for ever; then the embedder's own limit ends it. */
static const char *const analyzer_faults[] = { "--split=0.3",      "--stall=0.02",    "--stall-time=300ms",
					       "--dup-id=0.05",    "--stale-id=0.05", "--drop=0.002",
					       "--truncate=0.003", "--kill=0.003",    NULL };

const struct seat_kind seat_kinds[] = {
	{ .name = "plain pool",
	  .tongue = "plain",
	  .workers = 3,
	  .retries = 2,
	  .every_ms = 15,
	  .open_max = 40,
	  .faults = session_faults },
	{ .name = "plain frail pool",
	  .tongue = "plain",
	  .workers = 2,
	  .retries = 1,
	  .every_ms = 40,
	  .open_max = 20,
	  .frail = true,
	  .faults = short_faults },
	{ .name = "plain lines", .tongue = "plain", .every_ms = 40, .open_max = 20, .faults = session_faults },
	{ .name = "plain headers",
	  .tongue = "plain-headers",
	  .every_ms = 40,
	  .open_max = 20,
	  .faults = session_faults },
	{ .name = "plain be32",
	  .tongue = "plain-be32",
	  .every_ms = 40,
	  .open_max = 20,
	  .faults = session_faults },
	{ .name = "plain decimal",
	  .tongue = "plain-decimal",
	  .every_ms = 40,
	  .open_max = 20,
	  .faults = session_faults },
	{ .name = "yams", .tongue = "yams", .every_ms = 60, .open_max = 8, .faults = session_faults },
	{ .name = "yams pool",
	  .tongue = "yams",
	  .workers = 2,
	  .retries = 1,
	  .every_ms = 40,
	  .open_max = 12,
	  .faults = session_faults },
	{ .name = "gassist", .tongue = "gassist", .every_ms = 80, .open_max = 6, .faults = session_faults },
	{ .name = "gassist pool",
	  .tongue = "gassist",
	  .workers = 2,
	  .retries = 1,
	  .every_ms = 60,
	  .open_max = 8,
	  .faults = session_faults },
	{ .name = "ayiou", .tongue = "ayiou", .every_ms = 60, .open_max = 8, .faults = session_faults },
	{ .name = "sunscreen", .tongue = "sunscreen", .every_ms = 500, .open_max = 3, .faults = short_faults },
	{ .name = "sunscreen-json",
	  .tongue = "sunscreen-json",
	  .every_ms = 500,
	  .open_max = 3,
	  .faults = short_faults },
	{ .name = "sunscreen-json pool",
	  .tongue = "sunscreen-json",
	  .workers = 2,
	  .retries = 1,
	  .every_ms = 500,
	  .open_max = 4,
	  .faults = short_faults },
	{ .name = "kythe", .tongue = "kythe", .faults = analyzer_faults },
};
const size_t seat_kind_count = sizeof(seat_kinds) / sizeof(seat_kinds[0]);

/* Greetings are given up soon: a reply that was lost there would cost half a minute. */
static const char *const settings[] = {
	"restart.first=20ms",
	"restart.cap=500ms",
	"stop.term=500ms",
	"stop.kill=500ms",
	"sandbox.unconfined=true",
	"timeouts.initialize=3s",
	"timeouts.handshake.manifest=3s",
	"timeouts.plugin.init=3s",
	"timeouts.metadata=3s",
	"timeouts.lifecycle=3s",
	"timeouts.commands=3s",
	NULL,
};

/* ---- making ---- */

enum { MOST_WORDS = 32 };

static size_t command_line(const struct seat *seat, const char *words[MOST_WORDS])
{
	static char seed[24];
	size_t n = 0;

	snprintf(seed, sizeof(seed), "%u", (unsigned)(soak.seed & 0x7fffffff));
	words[n++] = MORTISE;
	words[n++] = "chaos";
	for (const char *const *f = seat->kind->faults; *f; f++)
		words[n++] = *f;
	words[n++] = "--seed";
	words[n++] = seed;
	words[n++] = "--log";
	words[n++] = seat->log;
	words[n++] = "--starts";
	words[n++] = seat->count;
	words[n++] = "--";
	words[n++] = SOAK_PLUGIN;
	if (soak.lie)
		words[n++] = "--lie";
	words[n++] = seat->tongue->name;
	words[n] = NULL;
	return n;
}

static void write_file(const char *dir, const char *name, const char *text, mode_t mode)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "we");
	if (!file || fputs(text, file) < 0 || fclose(file) != 0 || chmod(path, mode) < 0)
		abort();
}

/* Where a manifest must name a program of its own directory, that is a script which becomes the proxy. */
static void write_manifest(const struct seat *seat)
{
	const char *words[MOST_WORDS];
	char script[2048];
	size_t len = (size_t)snprintf(script, sizeof(script), "#!/bin/sh\nexec"), n = command_line(seat, words);

	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(script + len, sizeof(script) - len, " '%s'", words[i]);
	snprintf(script + len, sizeof(script) - len, "\n");
	write_file(seat->dir, "plugin", script, 0755);
	write_file(seat->dir, seat->tongue->manifest, seat->tongue->manifest_text, 0644);
}

int seat_make(struct seat *seat)
{
	const struct seat_kind *kind = seat->kind;
	const struct tongue *tongue = seat->tongue;
	const char *words[MOST_WORDS], *set[24];
	char framing[40];
	mortise_pool_options pool = { .size = sizeof(pool),
				      .workers = kind->workers,
				      .retries = kind->retries };
	mortise_plugin_options opt = { .size = sizeof(opt),
				       .name = kind->name,
				       .dialect = tongue->dialect,
				       .on_event = seat_event,
				       .on_request = tongue->asks ? analyzer_request : NULL,
				       .arg = seat,
				       .set = set };
	mortise_error err = { 0 };
	size_t n = 0;
	int r;

	for (const char *const *s = settings; *s; s++)
		set[n++] = *s;
	if (!kind->frail) { /* as good as no limit */
		set[n++] = "restart.intensity=64";
		set[n++] = "restart.period=1s";
	}
	if (strcmp(tongue->dialect, "plain") == 0) {
		snprintf(framing, sizeof(framing), "plugin.framing=%s", mor_framing_name(tongue->framing));
		set[n++] = framing;
	}
	set[n] = NULL;
	command_line(seat, words);
	if (tongue->manifest)
		opt.path = seat->dir;
	else
		opt.argv = words;
	r = kind->workers ? mortise_pool_new(soak.host, &opt, &pool, &seat->pool, &err) :
			    mortise_plugin_new(soak.host, &opt, &seat->plugin, &err);
	if (r == 0 && tongue->asks)
		r = mortise_plugin_start(seat->plugin, &err);
	if (r < 0)
		fault(seat, "it cannot be made: %s", err.text);
	seat->made++;
	seat->next_renewal = now_ms() + 10000 + (int64_t)pick(30000);
	return r;
}

void seat_free(struct seat *seat)
{
	seat->doomed = NULL;
	if (seat->plugin)
		seat->plugin = mortise_plugin_unref(seat->plugin);
	if (seat->pool)
		seat->pool = mortise_pool_free(seat->pool);
	analyzer_lost(seat);
}

void seats_open(void)
{
	soak.seat = calloc(seat_kind_count, sizeof(*soak.seat));
	if (!soak.seat)
		abort();
	for (size_t i = 0; i < seat_kind_count; i++) {
		struct seat *seat = &soak.seat[i];

		seat->kind = &seat_kinds[i];
		seat->tongue = tongue_find(seat->kind->tongue);
		snprintf(seat->dir, sizeof(seat->dir), "%s/%zu", soak.dir, i);
		snprintf(seat->log, sizeof(seat->log), "%s/log", seat->dir);
		snprintf(seat->count, sizeof(seat->count), "%s/count", seat->dir);
		if (!seat->tongue || mkdir(seat->dir, 0700) < 0)
			abort();
		if (seat->tongue->manifest)
			write_manifest(seat);
		seat_make(seat);
	}
}

void seats_close(void)
{
	free(soak.seat);
}

void seat_event(const mortise_event *event, void *arg)
{
	struct seat *seat = arg;

	seat->starts += event->type == MORTISE_EVENT_STATE && event->state.now == MORTISE_STARTING;
	seat->drops += event->type == MORTISE_EVENT_DROPPED;
	seat->noise += event->type == MORTISE_EVENT_NOISE;
	if (seat->tongue->asks)
		analyzer_event(seat, event);
}

/* ---- calls ---- */

/* What the plugin is to do. */
static void write_order(const struct record *record, struct mor_buf *out)
{
	size_t pad = pick(40) == 0 ? (size_t)pick(BIG_PAD) : (size_t)pick(200);

	mor_buf_printf(out, "{\"token\":\"%s\",\"ms\":%u,\"late\":%s,\"fail\":%s,\"pieces\":%u,\"pad\":\"",
		       record->token, pick(8) ? 0 : (unsigned)pick(30), pick(6) ? "false" : "true",
		       record->fails ? "true" : "false", record->seat->tongue->by_note ? (unsigned)pick(5) : 0);
	if (mor_buf_reserve(out, pad) == 0)
		memset(out->data + out->len, 'x', pad);
	out->len += pad;
	mor_buf_text(out, "\"}");
}

static mortise_json make_params(const struct record *record, struct mor_buf *params)
{
	MOR_CLEAN(mor_buf) struct mor_buf order = MOR_BUF_INIT;

	write_order(record, &order);
	if (mor_buf_failed(&order) || tongue_params(record->seat->tongue, mor_buf_view(&order), params) < 0)
		abort();
	return (mortise_json){ params->data, params->len };
}

static void call(struct seat *seat)
{
	const struct seat_kind *kind = seat->kind;
	mortise_call_options opt = { .size = sizeof(opt),
				     .timeout_ms = pick(20) ? TIMEOUT_MS : SHORT_MS,
				     .queue_ms = pick(8) ? QUEUE_MS : 0,
				     .on_reply = record_reply };
	uint32_t queue = opt.queue_ms ? opt.queue_ms : NO_QUEUE_LIMIT_MS;
	struct record *record = record_begin(seat, queue + (kind->retries + 1) * 2 * TIMEOUT_MS + SLACK_MS);
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	const char *action = seat->tongue->declared ? seat->tongue->declared : seat->tongue->action;
	mortise_error err = { 0 };
	int r;

	if (!record)
		return;
	record->fails = pick(16) == 0;
	opt.arg = record;
	if (seat->pool)
		r = mortise_pool_call(seat->pool, action, make_params(record, &params), &opt, NULL, &err);
	else
		r = mortise_call_start(seat->plugin, action, make_params(record, &params), &opt, &record->call,
				       &err);
	if (r < 0)
		record_refuse(record, r);
	else if (record->state == RECORD_SETTLED)
		fault(seat, "call %s: its last callback came before it was begun", record->token);
	else if (pick(15) == 0)
		seat->doomed = record;
}

/* Now and then one is cancelled, some turns after it was begun. */
static void maybe_cancel(struct seat *seat)
{
	struct record *record = seat->doomed;

	if (!record || pick(4))
		return;
	seat->doomed = NULL;
	if (record->state != RECORD_OPEN || record->seat != seat || !record->call)
		return;
	mortise_call_cancel(record->call, NULL);
	soak.cancels++;
}

/* ---- turns ---- */

/* Freed with calls under way, or after a stop that has had a moment. */
static void renew(struct seat *seat, int64_t now)
{
	if (pick(2) && !seat->leaving) {
		if (seat->plugin)
			mortise_plugin_stop(seat->plugin, pick(2) ? MORTISE_STOP_POLITE : MORTISE_STOP_INPUT,
					    NULL);
		else
			mortise_pool_stop(seat->pool, MORTISE_STOP_POLITE, NULL);
		seat->leaving = true;
		seat->next_renewal = now + (int64_t)pick(1500);
		return;
	}
	seat->leaving = false;
	soak.renewals++;
	seat_free(seat);
	seat_make(seat);
}

/* Busy for a while, then quiet until everything is settled: the next call must not be what wakes a
 * sleeping queue. */
static bool is_quiet(struct seat *seat, int64_t now)
{
	if (now < seat->busy_until)
		return false;
	if (seat->open)
		return true;
	seat->busy_until = now + 100 + (int64_t)pick(2 * BUSY_MS);
	return false;
}

static void seat_turn(struct seat *seat, int64_t now)
{
	bool quiet = is_quiet(seat, now);

	if (now >= seat->next_renewal && !quiet) /* a stop or the end would wake it, too */
		renew(seat, now);
	seat->next_call = seat->next_call ? seat->next_call : now;
	if (!seat->plugin && !seat->pool) {
		seat->next_call = now + 1000;
		return;
	}
	if (seat->tongue->asks) {
		analyzer_turn(seat, now);
		seat->next_call = now + 50;
		return;
	}
	if (!quiet)
		maybe_cancel(seat);
	if (now < seat->next_call)
		return;
	if (!quiet && seat->open < seat->kind->open_max)
		call(seat);
	seat->next_call = now + 1 + (int64_t)pick(2 * seat->kind->every_ms);
}

int seats_turn(int64_t now)
{
	int64_t next = now + 100;

	for (size_t i = 0; i < seat_kind_count; i++) {
		struct seat *seat = &soak.seat[i];

		seat_turn(seat, now);
		if (seat->next_call < next)
			next = seat->next_call;
	}
	return next > now ? (int)(next - now) : 0;
}
