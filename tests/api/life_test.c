/* SPDX-License-Identifier: Apache-2.0 */
/* Life and death of plugins: starting, crashing, restarting; what they get. Stopping: stop_test.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

#define PENDING 10

static void states_of_an_ordinary_life(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_STOPPED);
	assert_int_equal(mortise_plugin_start(rig.plugin, NULL), 0);
	assert_int_equal(mortise_plugin_start(rig.plugin, NULL), 0); /* "Starting what runs is fine." */
	rig_until_state(&rig, MORTISE_READY);
	assert_int_equal(mortise_plugin_start(rig.plugin, NULL), 0);
	assert_echoes(&rig);
	assert_int_equal(mortise_plugin_stop(rig.plugin, MORTISE_STOP_POLITE, NULL), 0);
	rig_until_state(&rig, MORTISE_STOPPED);
	assert_int_equal(mortise_plugin_stop(rig.plugin, MORTISE_STOP_POLITE, NULL), 0); /* "... is fine" */
	assert_true(rig_saw_state(&rig, MORTISE_STARTING));
	assert_true(rig_saw_state(&rig, MORTISE_DRAINING));
	assert_int_equal(rig.states[rig.state_count - 1], MORTISE_STOPPED);
	assert_false(rig_saw_state(&rig, MORTISE_BACKOFF));
	assert_echoes(&rig); /* "Calls start a stopped plugin by themselves" */
	rig_close(&rig);
}

/* Ten calls under way, then SIGSEGV: all fail, in one dispatch, without any timer, and each tells why. */
static void death_fails_all_calls_at_once(void **state)
{
	struct rig rig;
	struct got pending[PENDING], killer;
	int64_t died = 0, heard;
	const char *at;

	(void)state;
	rig_open_bad(&rig, "crashes", NO_SET);
	assert_echoes(&rig);
	for (int i = 0; i < PENDING; i++)
		start(&rig, &pending[i], "hang", NULL, NO_TIMER_MS);
	start(&rig, &killer, "go", NULL, NO_TIMER_MS);
	until_done(&killer);
	heard = now_ns();
	assert_int_equal(killer.status, MORTISE_ECRASHED);
	for (int i = 0; i < PENDING; i++) {
		assert_int_equal(pending[i].finals, 1);
		assert_int_equal(pending[i].turn, killer.turn);
		assert_int_equal(pending[i].status, MORTISE_ECRASHED);
		assert_contains(pending[i].error.text, "crashes");
		assert_contains(pending[i].error.text, "SIGSEGV");
		assert_contains(pending[i].error.text, "last words at");
	}
	at = strstr(killer.error.text, "last words at ");
	died = at ? strtoll(at + strlen("last words at "), NULL, 10) : 0;
	diag("death to the last callback: %.2f ms", (double)(heard - died) / 1e6);
	rig_close(&rig);
}

static void exit_status_and_last_stderr_line(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "exits_loudly", NO_SET);
	start(&rig, &got, "go", NULL, NO_TIMER_MS);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECRASHED);
	assert_contains(got.error.text, "status 3");
	assert_contains(got.error.text, "ImportError: numpy");
	rig_close(&rig);
}

static void exits_silently(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "exits_silently", NO_SET);
	start(&rig, &got, "go", NULL, NO_TIMER_MS);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECRASHED);
	assert_contains(got.error.text, "status 0");
	rig_close(&rig);
}

static void crash_while_idle(void **state)
{
	struct rig rig;
	int pid;

	(void)state;
	rig_open_bad(&rig, "crashes_idle", SET("restart.first=1ms"));
	pid = ask_pid(&rig);
	rig.state_count = 0;
	ask_expect(&rig, "go", NULL, "\"fine\"");
	rig_until(&rig, &rig.state_count, 1, "a change of state");
	assert_int_not_equal(ask_pid(&rig), pid);
	rig_close(&rig);
}

static void answer_then_exit_is_an_answer(void **state)
{
	struct rig rig;
	const char *argv[3];
	mortise_plugin_options opt = rig_options(&rig, "ok", argv);

	(void)state;
	rig_open(&rig);
	opt.flags = MORTISE_NO_RESTART;
	rig.plugin = rig_plugin(&rig, &opt);
	for (int i = 0; i < 4; i++) {
		ask_expect(&rig, "quit", NULL, "true");
		/* a call made before the exit is seen would rightly fail with it */
		rig_until_state(&rig, MORTISE_STOPPED);
	}
	rig_close(&rig);
}

/* "MORTISE_NO_RESTART: a plugin that died stays down until it is called again" */
static void no_restart(void **state)
{
	struct rig rig;
	struct got got;
	const char *argv[3];
	mortise_plugin_options opt = rig_options(&rig, "crashes", argv);

	(void)state;
	rig_open(&rig);
	opt.flags = MORTISE_NO_RESTART;
	rig.plugin = rig_plugin(&rig, &opt);
	assert_echoes(&rig);
	start(&rig, &got, "go", NULL, NO_TIMER_MS);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECRASHED);
	rig_until_state(&rig, MORTISE_STOPPED);
	rig_settle(&rig);
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_STOPPED);
	assert_echoes(&rig);
	rig_close(&rig);
}

/* "more deaths than this in that time: FAILED" */
static void too_many_deaths(void **state)
{
	struct rig rig;
	struct got got;
	int deaths = 0, r;

	(void)state;
	rig_open_bad(&rig, "crashes",
		     SET("restart.first=1ms", "restart.cap=2ms", "restart.intensity=3", "restart.period=600s"));
	while (deaths < 10 && mortise_plugin_state(rig.plugin) != MORTISE_FAILED) {
		start(&rig, &got, "go", NULL, NO_TIMER_MS);
		until_done(&got);
		if (got.status != MORTISE_ECRASHED)
			fail_msg("after %d deaths: %d %s", deaths, got.status, got.error.text);
		deaths++;
		rig_settle(&rig);
	}
	assert_int_equal(deaths, 4);
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_FAILED);
	assert_true(rig_saw_state(&rig, MORTISE_BACKOFF));
	assert_contains(rig.last[MORTISE_EVENT_STATE], "SIGSEGV"); /* "text says why" */
	r = mortise_call_sync(rig.plugin, "echo", json(NULL), NULL, NULL, NULL);
	assert_true(r < 0 || mortise_plugin_state(rig.plugin) == MORTISE_READY);
	rig_close(&rig);
}

static void dies_before_it_reads(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "exits_at_start",
		     SET("restart.first=1ms", "restart.cap=2ms", "restart.intensity=2", "restart.period=600s"));
	start(&rig, &got, "echo", NULL, NO_TIMER_MS);
	until_done(&got);
	assert_int_not_equal(got.status, MORTISE_OK);
	assert_int_not_equal(got.status, MORTISE_ETIMEOUT);
	assert_contains(got.error.text, "status 5");
	assert_contains(got.error.text, "bad configuration");
	rig_close(&rig);
}

static void cannot_be_started(const char *program, int want_a, int want_b)
{
	struct rig rig;
	const char *argv[2] = { program, NULL };
	mortise_plugin_options opt = {
		.size = sizeof(opt), .argv = argv, .name = "missing", .on_event = rig_event, .arg = &rig
	};
	mortise_error err = { 0 };
	int r;

	rig_open(&rig);
	r = mortise_plugin_new(rig.host, &opt, &rig.plugin, &err);
	if (r == 0)
		r = mortise_call_sync(rig.plugin, "echo", json(NULL), NULL, NULL, &err);
	if (r != want_a && r != want_b)
		fail_msg("%s: %d %s", program, r, err.text);
	assert_contains(err.text, program);
	rig_close(&rig);
}

static void no_such_program(void **state)
{
	(void)state;
	cannot_be_started("/nonexistent/plugin", MORTISE_ENOTFOUND, MORTISE_EEXEC);
	cannot_be_started("no-such-program-in-path", MORTISE_ENOTFOUND, MORTISE_EEXEC);
	cannot_be_started("/etc/passwd", MORTISE_EEXEC, MORTISE_EEXEC);
}

static void no_such_path(void **state)
{
	struct rig rig;
	mortise_plugin_options opt = { .size = sizeof(opt), .path = "/nonexistent/dir" };
	mortise_plugin *plugin = (mortise_plugin *)&rig;
	mortise_error err = { 0 };

	(void)state;
	rig_open(&rig);
	assert_int_equal(mortise_plugin_new(rig.host, &opt, &plugin, &err), MORTISE_ENOTFOUND);
	assert_ptr_equal(plugin, &rig);
	assert_contains(err.text, "/nonexistent/dir");
	opt.path = NULL;
	assert_int_equal(mortise_plugin_new(rig.host, &opt, &plugin, &err), MORTISE_EINVAL);
	rig_close(&rig);
}

/* ---- what the plugin gets ---- */

static void plugin_gets_three_descriptors(void **state)
{
	struct rig rig;
	int stray = open("/dev/null", O_RDONLY | O_CLOEXEC), loud = open("/dev/null", O_RDONLY);

	(void)state;
	assert_true(stray >= 0 && loud >= 0);
	rig_open_bad(&rig, "ok", NO_SET);
	ask_expect(&rig, "fds", NULL, "[0,1,2]"); /* not even one that the embedder forgot to mark */
	rig_close(&rig);
	close(stray);
	close(loud);
}

static void environment(void **state)
{
	struct rig rig;
	const char *argv[3];
	mortise_plugin_options opt = rig_options(&rig, "ok", argv);

	(void)state;
	rig_open(&rig);
	setenv("API_TEST_OURS", "from the host", 1);
	opt.env = SET("API_TEST_MORE=added");
	rig.plugin = rig_plugin(&rig, &opt);
	ask_expect(&rig, "env", "{\"name\":\"API_TEST_OURS\"}", "\"from the host\"");
	ask_expect(&rig, "env", "{\"name\":\"API_TEST_MORE\"}", "\"added\"");
	mortise_plugin_unref(rig.plugin);
	opt.flags = MORTISE_CLEAN_ENV;
	rig.plugin = rig_plugin(&rig, &opt);
	ask_expect(&rig, "env", "{\"name\":\"API_TEST_OURS\"}", "null");
	ask_expect(&rig, "env", "{\"name\":\"API_TEST_MORE\"}", "\"added\"");
	mortise_plugin_unref(rig.plugin);
	opt.env = SET("API_TEST_OURS"); /* "NAME" to pass ours through */
	rig.plugin = rig_plugin(&rig, &opt);
	ask_expect(&rig, "env", "{\"name\":\"API_TEST_OURS\"}", "\"from the host\"");
	unsetenv("API_TEST_OURS");
	rig_close(&rig);
}

static void after_the_event(const mortise_reply *reply, void *arg)
{
	struct got *got = arg;

	if (reply->status == MORTISE_EVIOLATION)
		assert_int_equal(got->rig->events[MORTISE_EVENT_VIOLATION], 1);
	got_reply(reply, arg);
}

/* A violation is an event of its own, with the record as params; then every call fails once, and there
 * is no restart. */
static void violation_comes_before_what_fails(void **state)
{
	static const char words[] =
		"thief tried to read /etc/shadow: not in sandbox.read; to allow it, add \"/etc/shadow\" to "
		"the setting sandbox.read";
	const char *argv[] = { "/bin/sh", "-c", "read line; read line; read line </etc/shadow", NULL };
	struct rig rig;
	struct got calls[2];

	(void)state;
	rig_open(&rig);
	rig.plugin = rig_plugin(&rig, &(mortise_plugin_options){
					      .size = sizeof(mortise_plugin_options),
					      .argv = argv,
					      .name = "thief",
					      .dialect = "plain",
					      .on_event = rig_event,
					      .arg = &rig,
					      .set = SET("sandbox.level=t0", "sandbox.on_denial=kill") });
	for (int i = 0; i < 2; i++) {
		mortise_call_options opt = got_options(&rig, &calls[i], NO_TIMER_MS);

		opt.on_reply = after_the_event;
		assert_int_equal(mortise_call_start(rig.plugin, "echo", json("{}"), &opt, &calls[i].call, NULL),
				 0);
	}
	until_done(&calls[0]);
	until_done(&calls[1]);
	if (calls[0].status == MORTISE_EJAIL) {
		diag("this machine cannot confine: %s", calls[0].error.text);
		rig_close(&rig);
		leak_skip("this machine cannot confine");
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(calls[i].status, MORTISE_EVIOLATION);
		assert_string_equal(calls[i].error.text, words);
		got_clear(&calls[i]);
	}
	assert_string_equal(mortise_event_name(MORTISE_EVENT_VIOLATION), "sandbox_violation");
	assert_string_equal(rig.last[MORTISE_EVENT_VIOLATION], words);
	assert_string_equal(
		rig.note_params,
		"{\"event\":\"sandbox_violation\",\"plugin\":\"thief\",\"syscall\":\"openat\",\"path\":\"/etc/shadow\",\"rule\":\"not "
		"in sandbox.read\",\"kind\":\"read\",\"allow\":\"add \\\"/etc/shadow\\\" to the setting "
		"sandbox.read\",\"action\":\"killed\"}");
	assert_int_equal(rig.states[rig.state_count - 1], MORTISE_FAILED);
	rig_close(&rig);
}

/* SIGXCPU can be ignored, and on a busy machine it may come too late: SIGKILL follows, and still the
 * text says why. */
static void used_up_time_is_told(void **state)
{
	const char *argv[] = { "/bin/sh", "-c", "trap '' XCPU; while :; do :; done", NULL };
	struct rig rig;
	struct got got;

	(void)state;
	rig_open(&rig);
	rig.plugin = rig_plugin(&rig, &(mortise_plugin_options){ .size = sizeof(mortise_plugin_options),
								 .argv = argv,
								 .name = "busy",
								 .dialect = "plain",
								 .flags = MORTISE_NO_RESTART,
								 .set = SET("sandbox.cpu=1s") });
	start(&rig, &got, "echo", NULL, NO_TIMER_MS);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECRASHED);
	assert_contains(got.error.text, "SIGKILL (it used up its processor time: sandbox.cpu 1s)");
	rig_close(&rig);
}

/* "where descriptors, processes or memory are only lacking ... that is a death like others": whether our own
 * calls notice it or the guardian does, the plugin comes up by itself once there are enough again. */
static void descriptors_may_be_short_for_a_moment(void **state)
{
	int refused = 0;

	(void)state;
	for (int left = 1; left < 12; left++) {
		mortise_error err = { 0 };
		struct rig rig;
		int r;

		rig_open_bad(&rig, "ok", SET("restart.first=1ms"));
		leave_descriptors(left);
		r = mortise_plugin_start(rig.plugin, &err);
		leave_descriptors(-1);
		if (r < 0) {
			assert_int_equal(err.os_errno, EMFILE);
			assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_BACKOFF);
			refused++;
		}
		rig_until_state(&rig, MORTISE_READY);
		assert_false(rig_saw_state(&rig, MORTISE_FAILED));
		assert_echoes(&rig);
		rig_close(&rig);
	}
	assert_true(refused > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(states_of_an_ordinary_life),
		API_TEST(death_fails_all_calls_at_once),
		API_TEST(exit_status_and_last_stderr_line),
		API_TEST(exits_silently),
		API_TEST(crash_while_idle),
		API_TEST(answer_then_exit_is_an_answer),
		API_TEST(no_restart),
		API_TEST(too_many_deaths),
		API_TEST(dies_before_it_reads),
		API_TEST(no_such_program),
		API_TEST(no_such_path),
		API_TEST(plugin_gets_three_descriptors),
		API_TEST(environment),
		API_TEST(violation_comes_before_what_fails),
		API_TEST(used_up_time_is_told),
		API_TEST(descriptors_may_be_short_for_a_moment),
	};

	return mor_run_group("api/life", tests);
}
