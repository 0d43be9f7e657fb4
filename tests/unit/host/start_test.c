/* SPDX-License-Identifier: Apache-2.0 */
/* A start that fails: for good where something is wrong, as a death like others where something is
 * only lacking. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "demo.h"
#include "guard/env.h"
#include "host/plugin.h"
#include "host/supervise.h"
#include "leak.h"
#include "script.h"

struct rig {
	mortise_host *host;
	mortise_plugin *plugin;
	const char *dialect;
	uint64_t flags;
	int finals, status;
	mortise_error error;
};

static void rig_open(struct rig *rig)
{
	static const char *const argv[] = { "script", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt),
				       .argv = argv,
				       .flags = rig->flags,
				       .dialect = rig->dialect ? rig->dialect : "plain" };

	script_reset();
	assert_int_equal(mor_host_new_with(NULL, MOR_LOOP_VIRTUAL, script_link_new, &rig->host, NULL), 0);
	rig->host->dialect = demo_find(opt.dialect);
	rig->host->random = 1; /* the jitter of backoffs is always the same */
	assert_int_equal(mortise_plugin_new(rig->host, &opt, &rig->plugin, NULL), 0);
}

static void rig_close(struct rig *rig)
{
	mortise_plugin_unref(rig->plugin);
	mortise_host_free(rig->host);
}

static void pass(struct rig *rig, uint32_t ms)
{
	mor_loop_advance(rig->host->loop, ms);
}

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct rig *rig = arg;

	rig->finals++;
	rig->status = reply->status;
	if (reply->error)
		rig->error = *reply->error;
}

static int call(struct rig *rig)
{
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = on_reply, .arg = rig };

	rig->finals = 0;
	return mortise_call_start(rig->plugin, "work", (mortise_json){ "{}", 2 }, &opt, NULL, &rig->error);
}

static void lack(int times, int os_errno)
{
	script_trouble.times = times;
	script_trouble.error =
		(mortise_error){ .code = MORTISE_ESYSTEM, .os_errno = os_errno, .text = "cannot make pipes" };
}

static void not_made(struct rig *rig, int code, int os_errno)
{
	struct mor_link_end end = { .start_code = code,
				    .os_errno = os_errno,
				    .text = "fork: no process can be made" };

	mor_task_stop(&script_now->announce);
	script_end(script_now, &end);
	pass(rig, 0);
}

static void assert_ready_after(struct rig *rig, uint32_t ms)
{
	assert_int_equal(mortise_plugin_state(rig->plugin), MORTISE_BACKOFF);
	pass(rig, ms);
	assert_int_equal(mortise_plugin_state(rig->plugin), MORTISE_READY);
}

/* ---- lacking ---- */

static void asked_for(void **state)
{
	static const int lacks[] = { EMFILE, ENFILE, EAGAIN, ENOMEM };

	(void)state;
	for (size_t i = 0; i < sizeof(lacks) / sizeof(*lacks); i++) {
		struct rig rig = { 0 };

		rig_open(&rig);
		lack(1, lacks[i]);
		assert_int_equal(mortise_plugin_start(rig.plugin, &rig.error), MORTISE_ESYSTEM);
		assert_int_equal(rig.error.os_errno, lacks[i]);
		assert_ready_after(&rig, 200);
		rig_close(&rig);
	}
}

/* The call that would have started it fails, the next one waits for the restart. */
static void by_a_call(void **state)
{
	struct rig rig = { 0 };

	(void)state;
	rig_open(&rig);
	lack(1, EAGAIN);
	assert_int_equal(call(&rig), MORTISE_ESYSTEM);
	assert_int_equal(call(&rig), 0);
	pass(&rig, 1);
	assert_int_equal(rig.finals, 0);
	assert_ready_after(&rig, 200);
	script_deliver(script_now, mor_slice_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n"));
	pass(&rig, 0);
	assert_int_equal(rig.finals, 1);
	assert_int_equal(rig.status, MORTISE_OK);
	rig_close(&rig);
}

static void no_link(void **state)
{
	struct rig rig = { 0 };

	(void)state;
	rig_open(&rig);
	script_trouble = (struct script_trouble){ .times = 1, .make = MORTISE_ENOMEM };
	assert_int_equal(mortise_plugin_start(rig.plugin, &rig.error), MORTISE_ENOMEM);
	assert_ready_after(&rig, 200);
	rig_close(&rig);
}

/* BACKOFF, its timer, a lack; and again. What waits is told, what comes later waits. */
static void at_the_restart(void **state)
{
	struct rig rig = { 0 };

	(void)state;
	rig_open(&rig);
	assert_int_equal(call(&rig), 0);
	pass(&rig, 0);
	script_end(script_now,
		   &(struct mor_link_end){ .known = true, .status = 1, .text = "exited with status 1" });
	pass(&rig, 0);
	assert_int_equal(rig.status, MORTISE_ECRASHED);
	assert_int_equal(call(&rig), 0);
	lack(1, EMFILE);
	pass(&rig, 130); /* 100 ms, more or less a quarter */
	assert_int_equal(rig.finals, 1);
	assert_int_equal(rig.status, MORTISE_ESYSTEM);
	assert_int_equal(rig.error.os_errno, EMFILE);
	script_trouble = (struct script_trouble){ .times = 1, .make = MORTISE_ENOMEM };
	pass(&rig, 260);
	assert_int_equal(script_trouble.times, 0);
	assert_int_equal(call(&rig), 0);
	assert_ready_after(&rig, 1000);
	rig_close(&rig);
}

static void told_by_the_guardian(void **state)
{
	struct rig rig = { 0 };

	(void)state;
	rig_open(&rig);
	assert_int_equal(call(&rig), 0);
	not_made(&rig, MORTISE_ESYSTEM, EAGAIN);
	assert_int_equal(rig.status, MORTISE_ESYSTEM);
	assert_int_equal(rig.error.os_errno, EAGAIN);
	assert_ready_after(&rig, 200);
	rig_close(&rig);
}

/* The guardian was killed before it had started anything. */
static void guardian_lost(void **state)
{
	struct rig rig = { 0 };

	(void)state;
	rig_open(&rig);
	assert_int_equal(call(&rig), 0);
	not_made(&rig, MORTISE_ECRASHED, ECHILD);
	assert_int_equal(rig.status, MORTISE_ECRASHED);
	assert_ready_after(&rig, 200);
	rig_close(&rig);
}

/* Such a start counts: a lack that stays ends in FAILED, and the text says what it was the last time. */
static void too_often(void **state)
{
	struct rig rig = { 0 };

	(void)state;
	rig_open(&rig);
	lack(5, EMFILE);
	assert_int_equal(mortise_plugin_start(rig.plugin, NULL), MORTISE_ESYSTEM);
	pass(&rig, 1900); /* five in all: 100, 200, 400, 800 ms, each more or less a quarter */
	lack(1, ENFILE);
	script_trouble.error =
		(mortise_error){ .code = MORTISE_ESYSTEM, .os_errno = ENFILE, .text = "fresh words" };
	pass(&rig, 10000);
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_FAILED);
	assert_int_equal(call(&rig), MORTISE_ECLOSED);
	assert_non_null(strstr(rig.error.text, "ended 6 times"));
	assert_non_null(strstr(rig.error.text, "fresh words"));
	assert_int_equal(mortise_plugin_start(rig.plugin, NULL), 0); /* by hand: a fresh chance */
	pass(&rig, 0);
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_READY);
	rig_close(&rig);
}

/* Plugins that nobody brings back are STOPPED: the next call tries again. */
static void brought_back_by_the_next_call(void **state)
{
	static const struct {
		const char *dialect;
		uint64_t flags;
	} kinds[] = { { "plain", MORTISE_NO_RESTART }, { "demo-call", 0 }, { "demo-run", 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct rig rig = { .dialect = kinds[i].dialect, .flags = kinds[i].flags };

		rig_open(&rig);
		lack(1, EMFILE);
		assert_int_equal(call(&rig), MORTISE_ESYSTEM);
		assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_STOPPED);
		assert_int_equal(call(&rig), 0);
		not_made(&rig, MORTISE_EJAIL, ENOMEM);
		assert_int_equal(rig.finals, 1);
		assert_int_equal(rig.status, MORTISE_EJAIL);
		assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_STOPPED);
		assert_int_equal(call(&rig), 0);
		pass(&rig, 0);
		assert_non_null(script_now);
		rig_close(&rig);
	}
}

/* ---- wrong ---- */

static void for_good(void **state)
{
	struct rig rig = { 0 };

	(void)state;
	rig_open(&rig);
	script_trouble = (struct script_trouble){
		1, 0, { .code = MORTISE_ENOTFOUND, .os_errno = ENOENT, .text = "no such file" }
	};
	assert_int_equal(mortise_plugin_start(rig.plugin, NULL), MORTISE_ENOTFOUND);
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_FAILED);
	assert_int_equal(mortise_plugin_start(rig.plugin, NULL), 0);
	not_made(&rig, MORTISE_EJAIL, EPERM);
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_FAILED);
	rig_close(&rig);
}

/* What the plugin said when it refused is told to those who call it later, data and all. */
static void the_refusal_is_kept(void **state)
{
	struct rig rig = { .dialect = "demo" };
	char *data = NULL;

	(void)state;
	rig_open(&rig);
	assert_int_equal(call(&rig), 0);
	pass(&rig, 0);
	script_deliver(
		script_now,
		mor_slice_of(
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"no\",\"data\":{\"a\":1}}}\n"));
	pass(&rig, 0);
	assert_int_equal(rig.status, MORTISE_EREMOTE);
	script_end(script_now,
		   &(struct mor_link_end){ .known = true, .clean = true, .text = "exited with status 0" });
	pass(&rig, 0);
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_FAILED);
	assert_int_equal(mortise_call_sync(rig.plugin, "work", (mortise_json){ 0 }, NULL, &data, &rig.error),
			 MORTISE_EREMOTE);
	assert_int_equal(rig.error.rpc_code, -32602);
	assert_string_equal(data, "{\"a\":1}");
	mortise_free(data);
	rig_close(&rig);
}

/* ---- a callback about the start ends it ---- */

struct meddler {
	struct rig rig;
	int how; /* 0: stop now; 1: politely; 2: release; 3: start again; 4: stop and start */
	int calls;
};

static void meddle(const mortise_event *event, void *arg)
{
	struct meddler *m = arg;

	if (event->type != MORTISE_EVENT_STATE || event->state.now != MORTISE_STARTING || m->calls++)
		return;
	if (m->how == 2)
		m->rig.plugin = mortise_plugin_unref(m->rig.plugin);
	else if (m->how != 3)
		mortise_plugin_stop(event->plugin, m->how == 1 ? MORTISE_STOP_POLITE : MORTISE_STOP_NOW, NULL);
	if (m->how >= 3)
		assert_int_equal(mortise_plugin_start(event->plugin, NULL), 0);
}

static void ended_as_it_starts(void **state)
{
	static const char *const argv[] = { "script", NULL };

	(void)state;
	for (int how = 0; how < 5; how++) {
		struct meddler m = { .how = how };
		mortise_plugin_options opt = {
			.size = sizeof(opt), .argv = argv, .dialect = "plain", .on_event = meddle, .arg = &m
		};
		int r;

		script_reset();
		assert_int_equal(mor_host_new_with(NULL, MOR_LOOP_VIRTUAL, script_link_new, &m.rig.host, NULL),
				 0);
		assert_int_equal(mortise_plugin_new(m.rig.host, &opt, &m.rig.plugin, NULL), 0);
		r = call(&m.rig);
		assert_int_equal(m.rig.finals, 0); /* never before the start function has returned */
		assert_int_equal(r, how < 3 ? MORTISE_ECLOSED : 0);
		pass(&m.rig, 100000);
		assert_int_equal(script_starts, how < 3 ? 0 : 1);
		assert_int_equal(m.rig.finals, r == 0); /* by its time limit */
		if (how < 2)
			assert_int_equal(mortise_plugin_state(m.rig.plugin), MORTISE_STOPPED);
		rig_close(&m.rig);
	}
}

static void stop_it(const mortise_tap_frame *frame, void *arg)
{
	(void)arg;
	if (frame->direction == MORTISE_TO_PLUGIN)
		mortise_plugin_stop(frame->plugin, MORTISE_STOP_INPUT, NULL);
}

/* The tap of the greeting stops the plugin, so that the greeting itself cannot go out. That is no
 * failed greeting. */
static void ended_as_it_greets(void **state)
{
	struct rig rig = { .dialect = "demo" };

	(void)state;
	rig_open(&rig);
	mortise_host_set_tap(rig.host, stop_it, NULL, NULL);
	assert_int_equal(call(&rig), 0);
	pass(&rig, 0);
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_DRAINING);
	assert_int_equal(rig.finals, 1);
	assert_int_equal(rig.status, MORTISE_ECLOSED);
	assert_string_equal(rig.error.text, "script: stopped");
	script_end(script_now,
		   &(struct mor_link_end){ .known = true, .clean = true, .text = "exited with status 0" });
	pass(&rig, 100000);
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_STOPPED);
	assert_int_equal(script_starts, 1);
	rig_close(&rig);
}

/* ---- without memory ---- */

/* The text is lost, but not that it failed, nor with what. */
static void blamed_without_memory(void **state)
{
	const mortise_error given = { MORTISE_ECRASHED, EIO, -32000, "script: killed by SIGSEGV" };
	struct rig rig = { 0 };
	mortise_error found;

	(void)state;
	rig_open(&rig);
	assert_int_equal(mor_supervise_blamed(rig.plugin, &found), 0);
	assert_string_equal(found.text, "");
	mor_alloc_fail_after(0);
	mor_supervise_blame(rig.plugin, &given, mor_slice_of("{}"));
	mor_alloc_fail_after(-1);
	assert_int_equal(mor_supervise_blamed(rig.plugin, &found), MORTISE_ECRASHED);
	assert_int_equal(found.os_errno, EIO);
	assert_int_equal(found.rpc_code, -32000);
	assert_string_equal(found.text, MOR_KEPT_LOST);
	mor_supervise_blame(rig.plugin, &given, mor_slice_of("{}"));
	assert_int_equal(mor_supervise_blamed(rig.plugin, &found), MORTISE_ECRASHED);
	assert_string_equal(found.text, given.text);
	rig_close(&rig);
}

/* Whose times cannot be kept are all counted: it is not started again for ever. */
static void deaths_without_memory(void **state)
{
	mortise_error error = { MORTISE_ECRASHED, 0, 0, "script: killed by SIGSEGV" };
	struct rig rig = { 0 };
	unsigned times = 1;

	(void)state;
	rig_open(&rig);
	mor_alloc_fail_after(0);
	while (mor_supervise_after_death(rig.plugin, &error) == MORTISE_BACKOFF) {
		mor_loop_advance(rig.host->loop, 10 * rig.plugin->is.restart.period_ms);
		times++;
	}
	mor_alloc_fail_after(-1);
	assert_int_equal(times, rig.plugin->is.restart.intensity + 1);
	assert_int_equal(error.code, MORTISE_ECLOSED);
	rig_close(&rig);
}

/* A plugin's environment is its own where it is another. */
static void environments(void **state)
{
	static const char *const argv[] = { "script", NULL }, *const more[] = { "KEPT_TEST=1", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv, .dialect = "plain" };
	mortise_plugin *twin = NULL, *other = NULL;
	struct rig rig = { 0 };

	(void)state;
	rig_open(&rig);
	assert_int_equal(mortise_plugin_new(rig.host, &opt, &twin, NULL), 0);
	opt.env = more;
	assert_int_equal(mortise_plugin_new(rig.host, &opt, &other, NULL), 0);
	assert_ptr_equal(twin->guarded.env, rig.plugin->guarded.env);
	assert_ptr_not_equal(twin->guarded.env, other->guarded.env);
	mortise_plugin_unref(rig.plugin); /* the first one of it goes */
	rig.plugin = NULL;
	assert_int_equal(twin->guarded.env->refs, 1);
	assert_string_equal(other->guarded.env->list[0], twin->guarded.env->list[0]);
	mortise_host_free(rig.host); /* the shells stay */
	mortise_plugin_unref(twin);
	mortise_plugin_unref(other);
}

static void expect_grace(const char *dialect, const char *set, uint32_t term_ms, uint32_t kill_ms)
{
	static const char *const argv[] = { "/bin/true", NULL };
	const char *const sets[] = { set, NULL };
	mortise_plugin_options opt = {
		.size = sizeof(opt), .argv = argv, .dialect = dialect, .set = set ? sets : NULL
	};
	mortise_plugin *plugin = NULL;
	mortise_host *host = NULL;

	assert_int_equal(mortise_host_new(NULL, &host, NULL), 0);
	assert_int_equal(mortise_plugin_new(host, &opt, &plugin, NULL), 0);
	assert_int_equal(plugin->guarded.policy.grace.term_ms, term_ms);
	assert_int_equal(plugin->guarded.policy.grace.kill_ms, kill_ms);
	mortise_plugin_unref(plugin);
	mortise_host_free(host);
}

/* What the guardian is told: the dialect's times where it holds them (R13 of docs/dialects/kythe.md),
 * else nothing. */
static void grace(void **state)
{
	(void)state;
	expect_grace("kythe", NULL, 10000, 2000);
	expect_grace("kythe", "stop.term=12s", 12000, 2000);
	expect_grace("plain", NULL, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(asked_for),
		MOR_TEST(by_a_call),
		MOR_TEST(no_link),
		MOR_TEST(at_the_restart),
		MOR_TEST(told_by_the_guardian),
		MOR_TEST(guardian_lost),
		MOR_TEST(too_often),
		MOR_TEST(brought_back_by_the_next_call),
		MOR_TEST(for_good),
		MOR_TEST(the_refusal_is_kept),
		MOR_TEST(ended_as_it_starts),
		MOR_TEST(ended_as_it_greets),
		MOR_TEST(blamed_without_memory),
		MOR_TEST(deaths_without_memory),
		MOR_TEST(environments),
		MOR_TEST(grace),
	};

	return mor_run_group("host/start", tests);
}
