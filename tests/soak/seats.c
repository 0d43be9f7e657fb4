/* SPDX-License-Identifier: Apache-2.0 */
/* The seats: which plugins there are, what they are asked, and when they are cancelled, stopped, freed and made anew. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "soak.h"

#define TIMEOUT_MS 2500
#define SHORT_MS 40        /* for calls that are to be late */
#define QUEUE_MS 10000
#define SLACK_MS 25000     /* what a busy machine may take on top of every limit */
#define NO_QUEUE_LIMIT_MS 25000 /* where the call sets none: the restarts that may lie before it */
#define BUSY_MS 4000       /* of calls, on average; then none until all are settled */
#define BIG_PAD 200000

/* ---- the table ---- */

#define NOISY "--split=0.2", "--stall=0.02", "--stall-time=300ms", "--garbage=0.05", "--dup-id=0.05", "--stale-id=0.05"
static const char *const session_faults[] = { NOISY, "--drop=0.01", "--truncate=0.002", "--kill=0.003", NULL };
static const char *const short_faults[] = { NOISY, "--drop=0.02", "--truncate=0.02", "--kill=0.03", NULL };
/* Decimal framing is strict: nothing may stand between messages. A reply that an analyzer never gets makes it wait for ever;
 * then the embedder's own limit ends it. */
static const char *const analyzer_faults[] = { "--split=0.3", "--stall=0.02", "--stall-time=300ms", "--dup-id=0.05", "--stale-id=0.05",
					       "--drop=0.002", "--truncate=0.003", "--kill=0.003", NULL };

#define EXTRACT "{\"source\":{\"type\":\"bytes\",\"data\":%},\"options\":{}}"
#define HANDLE "{\"message_type\":\"group\",\"user_id\":7,\"group_id\":8,\"raw_message\":\"x\",\"text\":%}"

const struct seat_kind seat_kinds[] = {
	{ .name = "plain pool", .dialect = "plain", .workers = 3, .retries = 2, .every_ms = 15, .open_max = 40, .action = "echo",
	  .params = "%", .faults = session_faults },
	{ .name = "plain frail pool", .dialect = "plain", .workers = 2, .retries = 1, .every_ms = 40, .open_max = 20, .action = "echo",
	  .params = "%", .frail = true, .faults = short_faults },
	{ .name = "plain lines", .dialect = "plain", .framing = "lines", .every_ms = 40, .open_max = 20, .action = "echo", .params = "%",
	  .faults = session_faults },
	{ .name = "plain headers", .dialect = "plain", .framing = "headers", .every_ms = 40, .open_max = 20, .action = "echo",
	  .params = "%", .faults = session_faults },
	{ .name = "plain be32", .dialect = "plain", .framing = "be32", .every_ms = 40, .open_max = 20, .action = "echo", .params = "%",
	  .faults = session_faults },
	{ .name = "plain decimal", .dialect = "plain", .framing = "decimal", .every_ms = 40, .open_max = 20, .action = "echo",
	  .params = "%", .faults = session_faults },
	{ .name = "yams", .dialect = "yams", .every_ms = 60, .open_max = 8, .action = "extractor.extract", .params = EXTRACT,
	  .form = ORDER_BASE64, .faults = session_faults },
	{ .name = "yams pool", .dialect = "yams", .workers = 2, .retries = 1, .every_ms = 40, .open_max = 12,
	  .action = "extractor.extract", .params = EXTRACT, .form = ORDER_BASE64, .faults = session_faults },
	{ .name = "gassist", .dialect = "gassist", .every_ms = 80, .open_max = 6, .action = "echo", .params = "%", .stream = true,
	  .faults = session_faults },
	{ .name = "gassist pool", .dialect = "gassist", .workers = 2, .retries = 1, .every_ms = 60, .open_max = 8, .action = "echo",
	  .params = "%", .stream = true, .faults = session_faults },
	{ .name = "ayiou", .dialect = "ayiou", .every_ms = 60, .open_max = 8, .action = "handle", .params = HANDLE, .form = ORDER_TEXT,
	  .faults = session_faults },
	{ .name = "sunscreen", .dialect = "sunscreen", .every_ms = 500, .open_max = 3, .action = "scaffold:echo",
	  .params = "{\"args\":[],\"flags\":{\"order\":%},\"workspace_root\":\"/tmp\",\"config\":{}}", .form = ORDER_TEXT,
	  .manifest = "plugin.toml",
	  .manifest_text = "[plugin]\nname = \"soak\"\nversion = \"1.0.0\"\nentry = \"./plugin\"\n[commands.scaffold]\necho = \"e\"\n",
	  .faults = short_faults },
	{ .name = "sunscreen-json", .dialect = "sunscreen-json", .every_ms = 500, .open_max = 3, .action = "echo",
	  .params = "{\"args\":[%],\"workspace\":\"/tmp\"}", .form = ORDER_TEXT, .manifest = "sunscreen-plugin.json",
	  .manifest_text = "{\"name\":\"soak\",\"version\":\"1.0.0\",\"transport\":\"stdio-jsonrpc\",\"entrypoint\":[\"./plugin\"],"
			   "\"commands\":[{\"name\":\"echo\",\"kind\":\"app\",\"summary\":\"e\"}]}",
	  .faults = short_faults },
	{ .name = "sunscreen-json pool", .dialect = "sunscreen-json", .workers = 2, .retries = 1, .every_ms = 500, .open_max = 4,
	  .action = "echo", .params = "{\"args\":[%],\"workspace\":\"/tmp\"}", .form = ORDER_TEXT, .manifest = "sunscreen-plugin.json",
	  .manifest_text = "{\"name\":\"soak\",\"version\":\"1.0.0\",\"transport\":\"stdio-jsonrpc\",\"entrypoint\":[\"./plugin\"],"
			   "\"commands\":[{\"name\":\"echo\",\"kind\":\"app\",\"summary\":\"e\"}]}",
	  .faults = short_faults },
	{ .name = "kythe", .dialect = "kythe", .asks = true, .faults = analyzer_faults },
};
const size_t seat_kind_count = sizeof(seat_kinds) / sizeof(seat_kinds[0]);

/* Greetings are given up soon: a reply that was lost there would cost half a minute. */
static const char *const settings[] = {
	"restart.first=20ms",	    "restart.cap=500ms",	 "stop.term=500ms",	   "stop.kill=500ms",
	"sandbox.unconfined=true",  "timeouts.initialize=3s",	 "timeouts.handshake.manifest=3s", "timeouts.plugin.init=3s",
	"timeouts.metadata=3s",	    "timeouts.lifecycle=3s",	 "timeouts.commands=3s",   NULL,
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
	words[n++] = seat->kind->dialect;
	if (seat->kind->framing)
		words[n++] = seat->kind->framing;
	words[n] = NULL;
	return n;
}

static void write_file(const char *dir, const char *name, const char *text, mode_t mode)
{
	char path[128];
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
	write_file(seat->dir, seat->kind->manifest, seat->kind->manifest_text, 0644);
}

int seat_make(struct seat *seat)
{
	const struct seat_kind *kind = seat->kind;
	const char *words[MOST_WORDS], *set[24];
	char framing[40];
	mortise_pool_options pool = { .size = sizeof(pool), .workers = kind->workers, .retries = kind->retries };
	mortise_plugin_options opt = { .size = sizeof(opt), .name = kind->name, .dialect = kind->dialect, .on_event = seat_event,
				       .on_request = kind->asks ? analyzer_request : NULL, .arg = seat, .set = set };
	mortise_error err = { 0 };
	size_t n = 0;
	int r;

	for (const char *const *s = settings; *s; s++)
		set[n++] = *s;
	if (!kind->frail) { /* as good as no limit */
		set[n++] = "restart.intensity=64";
		set[n++] = "restart.period=1s";
	}
	if (kind->framing) {
		snprintf(framing, sizeof(framing), "plugin.framing=%s", kind->framing);
		set[n++] = framing;
	}
	set[n] = NULL;
	command_line(seat, words);
	if (kind->manifest)
		opt.path = seat->dir;
	else
		opt.argv = words;
	r = kind->workers ? mortise_pool_new(soak.host, &opt, &pool, &seat->pool, &err)
			  : mortise_plugin_new(soak.host, &opt, &seat->plugin, &err);
	if (r == 0 && kind->asks)
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
		snprintf(seat->dir, sizeof(seat->dir), "%s/%zu", soak.dir, i);
		snprintf(seat->log, sizeof(seat->log), "%s/log", seat->dir);
		snprintf(seat->count, sizeof(seat->count), "%s/count", seat->dir);
		if (mkdir(seat->dir, 0700) < 0)
			abort();
		if (seat->kind->manifest)
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

	seat->starts += event->type == MORTISE_EVENT_STATE && event->state == MORTISE_STARTING;
	seat->drops += event->type == MORTISE_EVENT_DROPPED;
	seat->noise += event->type == MORTISE_EVENT_NOISE;
	if (seat->kind->asks)
		analyzer_event(seat, event);
}

/* ---- calls ---- */

/* What the plugin is to do, as JSON without anything that would need an escape but quotes. */
static size_t write_order(char *out, size_t room, const struct record *record, const struct seat_kind *kind)
{
	size_t pad = pick(40) == 0 ? (size_t)pick(BIG_PAD) : (size_t)pick(200);
	int len = snprintf(out, room, "{\"token\":\"%s\",\"ms\":%u,\"late\":%s,\"fail\":%s,\"pieces\":%u,\"pad\":\"", record->token,
			   pick(8) ? 0 : (unsigned)pick(30), pick(6) ? "false" : "true", record->fails ? "true" : "false",
			   kind->stream ? (unsigned)pick(5) : 0);

	memset(out + len, 'x', pad);
	memcpy(out + len + pad, "\"}", 3);
	return (size_t)len + pad + 2;
}

static size_t put_object(char *out, const char *order, size_t len)
{
	memcpy(out, order, len);
	return len;
}

static size_t put_text(char *out, const char *order, size_t len)
{
	size_t n = 0;

	out[n++] = '"';
	for (size_t i = 0; i < len; i++) {
		if (order[i] == '"')
			out[n++] = '\\';
		out[n++] = order[i];
	}
	out[n++] = '"';
	return n;
}

static size_t put_base64(char *out, const char *order, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *in = (const unsigned char *)order;
	size_t n = 0;

	out[n++] = '"';
	for (size_t i = 0; i < len; i += 3) {
		unsigned long bits = (unsigned long)in[i] << 16 | (i + 1 < len ? in[i + 1] << 8 : 0) | (i + 2 < len ? in[i + 2] : 0);

		for (int shift = 18; shift >= 0; shift -= 6)
			out[n++] = digits[bits >> shift & 63];
		if (i + 1 >= len)
			out[n - 2] = '=';
		if (i + 2 >= len)
			out[n - 1] = '=';
	}
	out[n++] = '"';
	return n;
}

static mortise_json make_params(const struct record *record, const struct seat_kind *kind)
{
	static char order[BIG_PAD + 512], params[2 * BIG_PAD + 2048];
	const char *place = strchr(kind->params, '%');
	size_t len = write_order(order, sizeof(order), record, kind), n = (size_t)(place - kind->params);

	memcpy(params, kind->params, n);
	n += (kind->form == ORDER_OBJECT ? put_object : kind->form == ORDER_TEXT ? put_text : put_base64)(params + n, order, len);
	memcpy(params + n, place + 1, strlen(place + 1));
	return (mortise_json){ params, n + strlen(place + 1) };
}

static void call(struct seat *seat)
{
	const struct seat_kind *kind = seat->kind;
	mortise_call_options opt = { .size = sizeof(opt), .timeout_ms = pick(20) ? TIMEOUT_MS : SHORT_MS,
				     .queue_ms = pick(8) ? QUEUE_MS : 0, .on_reply = record_reply };
	uint32_t queue = opt.queue_ms ? opt.queue_ms : NO_QUEUE_LIMIT_MS;
	struct record *record = record_begin(seat, queue + (kind->retries + 1) * 2 * TIMEOUT_MS + SLACK_MS);
	mortise_error err = { 0 };
	int r;

	if (!record)
		return;
	record->fails = pick(16) == 0;
	opt.arg = record;
	if (seat->pool)
		r = mortise_pool_call(seat->pool, kind->action, make_params(record, kind), &opt, &err);
	else
		r = mortise_call_start(seat->plugin, kind->action, make_params(record, kind), &opt, &record->call, &err);
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
	mortise_call_cancel(record->call);
	soak.cancels++;
}

/* ---- turns ---- */

/* Freed with calls under way, or after a stop that has had a moment. */
static void renew(struct seat *seat, int64_t now)
{
	if (pick(2) && !seat->leaving) {
		if (seat->plugin)
			mortise_plugin_stop(seat->plugin, pick(2) ? MORTISE_STOP_POLITE : MORTISE_STOP_INPUT);
		else
			mortise_pool_stop(seat->pool, MORTISE_STOP_POLITE);
		seat->leaving = true;
		seat->next_renewal = now + (int64_t)pick(1500);
		return;
	}
	seat->leaving = false;
	soak.renewals++;
	seat_free(seat);
	seat_make(seat);
}

/* Busy for a while, then quiet until everything is settled: the next call must not be what wakes a sleeping queue. */
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
	if (seat->kind->asks) {
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
