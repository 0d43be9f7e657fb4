/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Analyzers that do anything in any order, and a driver that does, too; on the virtual clock, with fixed seeds.
 * Whatever happens: one analysis at a time, every done belongs to one, no signal within 10 s of the end of
 * stdin unless somebody said "now", a -1 closes stdin, and nobody is brought back whose stdin we have closed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "leak.h"
#include "script.h"
#include "wire/envelope.h"

#define SEEDS 1500
#define STEPS 80

struct world {
	mortise_host *host;
	mortise_plugin *plugin;
	unsigned seed;
	uint32_t random;
	mortise_request *open;   /* analyze, waiting for its answer */
	bool out;                /* answered: an analysis is under way */
	struct script_link *now; /* the process that the rest is about */
	int starts, starts_asked;
	bool closed, walked_out, said_now;
	int analyses, dones, breaches, restarts;
};

static unsigned pick(struct world *w, unsigned many)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 17;
	w->random ^= w->random << 5;
	return w->random % many;
}

static void check(const struct world *w, bool good, const char *what)
{
	if (!good)
		fail_msg("seed %u: %s", w->seed, what);
}

/* ---- the driver ---- */

static void on_request(mortise_request *request, const char *method, mortise_json params, void *arg)
{
	struct world *w = arg;

	(void)params;
	if (strcmp(method, "vname") == 0) {
		mortise_request_reply(request, (mortise_json){ "{}", 2 }, NULL);
		return;
	}
	check(w, !w->open && !w->out, "a second analysis was asked for");
	check(w, !script_now->input_closed, "asked although there is no way to answer");
	w->open = request;
}

static void on_event(const mortise_event *event, void *arg)
{
	struct world *w = arg;

	if (event->type == MORTISE_EVENT_NOTE && strcmp(event->note.method, "done") == 0) {
		check(w, w->out, "done was told, but nothing was under way");
		w->out = false;
		w->dones++;
	}
	if (event->type != MORTISE_EVENT_STATE ||
	    (event->state.now != MORTISE_STOPPED && event->state.now != MORTISE_BACKOFF &&
	     event->state.now != MORTISE_FAILED))
		return;
	w->out = false;
	if (!w->open)
		return;
	check(w, !mortise_request_plugin(w->open), "the process is gone, its request is not");
	check(w, mortise_request_reply(w->open, (mortise_json){ "1", 1 }, NULL) == MORTISE_ECLOSED,
	      "the dead were answered");
	w->open = NULL;
}

static void answer(struct world *w)
{
	mortise_request *request = w->open;

	if (!request)
		return;
	w->open = NULL;
	if (pick(w, 4) == 0) {
		mortise_request_fail(request, -32602, "no", (mortise_json){ 0 }, NULL);
	} else if (mortise_request_reply(request, (mortise_json){ "{\"inputs\":[]}", 13 }, NULL) == 0) {
		w->out = true;
		w->analyses++;
	}
}

/* ---- the analyzer ---- */

/* Mostly what would be right. */
static void say(struct world *w)
{
#define CALL(id, method) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{\"protocol\":\"kythe1\"}}"
#define NOTE(method) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\"}"
	static const char *const bodies[] = {
		CALL("1", "init"),
		CALL("1", "init"),
		CALL("2", "analyze"),
		CALL("2", "analyze"),
		NOTE("done"),
		NOTE("done"),
		CALL("3", "analysis"),
		CALL("4", "vname"),
		NOTE("log"),
		CALL("5", "done"),
		CALL("6", "nope"),
		"[" NOTE("done") "," CALL("7", "analyze") "," CALL("8", "vname") "]",
		"[" CALL("1", "init") "," CALL("2", "analyze") "]",
		"[" CALL("9", "analyze") "," CALL("10", "analyze") "]",
		"[]",
		"",
		"{\"a\":",
		"7",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"init\",\"params\":{\"protocol\":\"kythe0\"}}",
		NOTE("init"),
	};
	const char *body = bodies[pick(w, sizeof(bodies) / sizeof(bodies[0]))];
	const char *right = w->out ? NOTE("done") : w->open ? CALL("4", "vname") : CALL("2", "analyze");
	MOR_CLEAN(mor_buf) struct mor_buf frame = MOR_BUF_INIT;

	if (mortise_plugin_state(w->plugin) == MORTISE_GREETING)
		right = CALL("1", "init");
	mor_enframe(MOR_FRAMING_DECIMAL, mor_slice_of(pick(w, 8) ? right : body), &frame);
	if (pick(w, 80) == 0)
		mor_buf_text(&frame, "x");
	script_deliver(script_now, mor_buf_view(&frame));
}

static void leave(struct world *w)
{
	struct mor_link_end end = { .known = true, .status = (int)pick(w, 2), .text = "exited" };

	end.clean = end.status == 0;
	script_end(script_now, &end);
}

/* ---- what must hold ---- */

static void look_at_sent(struct world *w)
{
	struct mor_slice body;

	while (script_now && script_claim(script_now, &body)) {
		check(w, mor_json_valid(body, 0, 0, NULL), "what we sent is no JSON");
		if (memmem(body.ptr, body.len, "\"code\":-1,", 10)) {
			check(w, script_now->input_closed, "a -1 did not close its stdin");
			w->breaches++;
		}
	}
}

static void look_at_process(struct world *w)
{
	if (script_starts != w->starts) { /* a new one: what became of the old one? */
		bool brought_back = w->starts && !w->starts_asked;

		check(w, !brought_back || !w->closed || w->walked_out,
		      "brought back, although we had closed its stdin");
		w->restarts += brought_back;
		w->starts = script_starts;
		w->closed = w->walked_out = w->said_now = false;
		w->starts_asked = 0;
	}
	if (!script_now)
		return;
	w->closed = script_now->input_closed;
	if ((script_now->terminated || script_now->killed) && !w->said_now)
		check(w, w->closed && script_now->signalled_ms >= script_now->link.closed_ms + 10000,
		      "a signal within the grace");
}

static void pass_time(struct world *w)
{
	static const uint32_t steps[] = { 1, 50, 100, 500, 4900, 9999 };

	mor_loop_advance(w->host->loop, steps[pick(w, 6)]);
}

static void step(struct world *w)
{
	unsigned what = pick(w, 100);

	look_at_process(w); /* a new one may be there */
	if (!script_now || what < 3) {
		if (pick(w, 3) == 0)
			w->starts_asked +=
				mortise_plugin_start(w->plugin, NULL) == 0 && script_starts != w->starts;
		else
			pass_time(w);
	} else if (what < 60) {
		say(w);
	} else if (what < 80) {
		answer(w);
	} else if (what < 90) {
		pass_time(w);
	} else if (what < 95) {
		leave(w);
	} else if (what < 96) {
		w->walked_out = true;
		script_close_stdout(script_now);
	} else if (what < 98) {
		w->walked_out = false;
		mortise_plugin_stop(w->plugin, pick(w, 2) ? MORTISE_STOP_INPUT : MORTISE_STOP_POLITE, NULL);
	} else if (what < 99) {
		w->said_now = true;
		w->walked_out = false;
		mortise_plugin_stop(w->plugin, MORTISE_STOP_NOW, NULL);
	}
	mor_loop_advance(w->host->loop, 0);
	look_at_process(w);
	look_at_sent(w);
}

static void one_life(struct world *w)
{
	static const char *const argv[] = { "script", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt),
				       .argv = argv,
				       .dialect = "kythe",
				       .arg = w,
				       .on_event = on_event,
				       .on_request = on_request };

	w->random = w->seed * 2654435761u + 1;
	script_reset();
	w->starts = w->starts_asked = 0;
	w->open = NULL;
	w->out = false;
	assert_int_equal(mor_host_new_with(NULL, MOR_LOOP_VIRTUAL, script_link_new, &w->host, NULL), 0);
	assert_int_equal(mortise_plugin_new(w->host, &opt, &w->plugin, NULL), 0);
	assert_int_equal(mortise_plugin_start(w->plugin, NULL), 0);
	for (int i = 0; i < STEPS; i++)
		step(w);
	mortise_plugin_unref(w->plugin);
	mortise_host_free(w->host);
}

static void anything_goes(void **state)
{
	struct world w = { 0 };

	(void)state;
	for (w.seed = 1; w.seed <= SEEDS; w.seed++)
		one_life(&w);
	print_message("# %d analyses, %d done, %d breaches, %d restarts\n", w.analyses, w.dones, w.breaches,
		      w.restarts);
	/* The lives were worth living. */
	assert_true(w.analyses > SEEDS / 4 && w.dones > SEEDS / 10 && w.breaches > SEEDS / 10 &&
		    w.restarts > SEEDS / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(anything_goes) };

	return mor_run_group("host/client", tests);
}
