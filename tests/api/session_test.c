/* SPDX-License-Identifier: Apache-2.0 */
/* Conversations and what goes beside a call's arguments, as an embedder of G-Assist plugins sees them. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.h"
#include "tmp.h"

static mortise_plugin_options gassist_options(struct rig *rig, const char *argv[3])
{
	mortise_plugin_options opt = rig_options(rig, "", argv);

	argv[0] = "/usr/bin/python3";
	argv[1] = GASSIST_PLUGIN;
	argv[2] = NULL;
	opt.dialect = "gassist";
	return opt;
}

/* A session begins, goes on, is over; each is an event, and input is refused outside it. */
static void conversation(void **state)
{
	const char *argv[3];
	mortise_plugin_options opt;
	mortise_error err = { 0 };
	struct rig rig;

	(void)state;
	rig_open(&rig);
	opt = gassist_options(&rig, argv);
	rig.plugin = rig_plugin(&rig, &opt);
	assert_int_equal(mortise_call_start(rig.plugin, "input", json("{\"content\":\"x\"}"), NULL, NULL, &err),
			 MORTISE_EINPUT);
	assert_contains(err.text, "no session is open");
	mortise_free(ask(&rig, "talk", NULL));
	assert_int_equal(rig.events[MORTISE_EVENT_SESSION], 1);
	assert_int_equal(rig.session.step, MORTISE_SESSION_BEGINS);
	assert_int_equal(rig.session.left_ms, 300000);
	mortise_free(ask(&rig, "input", "{\"content\":\"Ada\"}"));
	assert_int_equal(rig.events[MORTISE_EVENT_SESSION], 1);
	mortise_free(ask(&rig, "input", "{\"content\":\"exit\"}"));
	assert_int_equal(rig.events[MORTISE_EVENT_SESSION], 2);
	assert_int_equal(rig.session.step, MORTISE_SESSION_OVER);
	assert_int_equal(mortise_call_start(rig.plugin, "input", json("{\"content\":\"x\"}"), NULL, NULL, &err),
			 MORTISE_EINPUT);
	rig_close(&rig);
}

/* ---- an end that names no request ---- */

struct twice {
	struct rig rig;
	struct got first, second;
	char dir[TMP_ROOM], gate[256];
	bool unread;
};

/* The plugin waits at the other end: either way a rendezvous. */
static void meet(const char *gate, int flags)
{
	int fd = open(gate, flags | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
}

/* The next call is written when this returns. By then the second end lies in the plugin's stdout. */
static void on_first(const mortise_reply *reply, void *arg)
{
	struct twice *t = arg;

	got_reply(reply, &t->first);
	if (t->unread)
		return;
	meet(t->gate, O_WRONLY);
	meet(t->gate, O_RDONLY);
}

static void on_twice_event(const mortise_event *event, void *arg)
{
	struct twice *t = arg;

	rig_event(event, &t->rig);
	/* The second end has been read, and the plugin may now read the next request. */
	if (event->type == MORTISE_EVENT_NOTE && t->unread)
		meet(t->gate, O_WRONLY);
}

static void end_twice(bool unread)
{
	struct twice t = { .unread = unread };
	mortise_plugin_options opt;
	mortise_call_options call;
	const char *argv[3];
	char params[320];

	tmp_name(t.dir, "twice");
	assert_non_null(mkdtemp(t.dir));
	snprintf(t.gate, sizeof(t.gate), "%s/gate", t.dir);
	assert_int_equal(mkfifo(t.gate, 0600), 0);
	rig_open(&t.rig);
	opt = gassist_options(&t.rig, argv);
	opt.on_event = on_twice_event;
	opt.arg = &t;
	t.rig.plugin = rig_plugin(&t.rig, &opt);
	mortise_free(ask(&t.rig, "echo", NULL));
	snprintf(params, sizeof(params), "{\"gate\":\"%s\",\"unread\":%s}", t.gate, unread ? "true" : "false");
	call = got_options(&t.rig, &t.first, NO_TIMER_MS);
	call.on_reply = on_first;
	call.arg = &t;
	assert_int_equal(mortise_call_start(t.rig.plugin, "end_twice", json(params), &call, NULL, NULL), 0);
	start(&t.rig, &t.second, "echo", "{\"its\":\"own\"}", NO_TIMER_MS);
	until_done(&t.second);
	assert_contains(t.first.result, "first");
	assert_contains(t.second.result, "{\"its\":\"own\"}");
	assert_int_equal(t.rig.events[MORTISE_EVENT_NOTE], 1);
	assert_string_equal(t.rig.note_method, "complete");
	got_clear(&t.first);
	got_clear(&t.second);
	rig_close(&t.rig);
	unlink(t.gate);
	rmdir(t.dir);
}

/* The second end lay in the plugin's stdout before the next request was written. */
static void second_end_before_the_next_request(void **state)
{
	(void)state;
	end_twice(false);
}

/* The second end was written afterwards, but the plugin has not read the request. */
static void second_end_before_the_next_request_is_read(void **state)
{
	(void)state;
	end_twice(true);
}

/* `extra` is borrowed for the length of the call that takes it, also by a pool, where it waits. */
static void extra_is_copied(void **state)
{
	const char *argv[3];
	char extra[] = "{\"system_info\":\"a PC\"}";
	mortise_pool_options pool_opt = { .size = sizeof(pool_opt), .workers = 1 };
	mortise_plugin_options opt;
	mortise_call_options call;
	mortise_pool *pool = NULL;
	mortise_error err = { 0 };
	struct got got;
	struct rig rig;

	(void)state;
	rig_open(&rig);
	opt = gassist_options(&rig, argv);
	assert_int_equal(mortise_pool_new(rig.host, &opt, &pool_opt, &pool, &err), 0);
	call = got_options(&rig, &got, NO_TIMER_MS);
	call.extra = (mortise_json){ extra, sizeof(extra) - 1 };
	assert_int_equal(mortise_pool_call(pool, "echo", json(NULL), &call, NULL, &err), 0);
	memset(extra, 'x', sizeof(extra) - 1);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_OK);
	assert_contains(got.result, "\"system_info\":\"a PC\"");
	got_clear(&got);
	assert_null(mortise_pool_free(pool));
	rig_close(&rig);
}

/* What is no object is refused before anything is sent. */
static void extra_is_checked(void **state)
{
	const char *argv[3];
	mortise_call_options call = { .size = sizeof(call), .extra = { "{oops", 5 } };
	mortise_plugin_options opt;
	mortise_error err = { 0 };
	struct rig rig;

	(void)state;
	rig_open(&rig);
	opt = gassist_options(&rig, argv);
	rig.plugin = rig_plugin(&rig, &opt);
	assert_int_equal(mortise_call_start(rig.plugin, "echo", json(NULL), &call, NULL, &err), MORTISE_EINVAL);
	call.extra = (mortise_json){ "[1]", 3 };
	assert_int_equal(mortise_call_start(rig.plugin, "echo", json(NULL), &call, NULL, &err), MORTISE_EINVAL);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(conversation),
		API_TEST(second_end_before_the_next_request),
		API_TEST(second_end_before_the_next_request_is_read),
		API_TEST(extra_is_copied),
		API_TEST(extra_is_checked),
	};

	return mor_run_group("api/session", tests);
}
