/* SPDX-License-Identifier: Apache-2.0 */
/* Stopping plugins, and pipes that close early or never. */
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api.h"

/* ---- stopping ---- */

static void ladder(const char *mode)
{
	struct rig rig;
	struct got got;

	rig_open_bad(&rig, mode, SET("stop.bye=20ms", "stop.term=20ms", "stop.kill=20ms"));
	assert_echoes(&rig);
	start(&rig, &got, "hang", NULL, NO_TIMER_MS);
	rig_settle(&rig);
	assert_int_equal(mortise_plugin_stop(rig.plugin, MORTISE_STOP_POLITE, NULL), 0);
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_DRAINING);
	rig_until_state(&rig, MORTISE_STOPPED);
	until_done(&got);
	assert_int_not_equal(got.status, MORTISE_OK);
	assert_int_not_equal(got.status, MORTISE_ETIMEOUT);
	assert_false(rig_saw_state(&rig, MORTISE_BACKOFF)); /* an end that we brought about is no death */
	assert_echoes(&rig);
	assert_int_equal(got.finals, 1);
	rig_close(&rig);
}

static void stop_ladder_to_sigterm(void **state)
{
	(void)state;
	ladder("answers_and_lingers");
}

static void stop_ladder_to_sigkill(void **state)
{
	(void)state;
	ladder("ignores_sigterm");
}

/* "calls under way may still be answered within the ladder" */
static void answer_within_the_ladder(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "answers_at_eof", SET("stop.term=60s"));
	assert_echoes(&rig);
	start(&rig, &got, "go", NULL, NO_TIMER_MS);
	rig_settle(&rig);
	assert_int_equal(mortise_plugin_stop(rig.plugin, MORTISE_STOP_POLITE, NULL), 0);
	rig_until_state(&rig, MORTISE_STOPPED);
	assert_int_equal(got.finals, 1);
	assert_int_equal(got.status, MORTISE_OK);
	assert_string_equal(got.result, "\"at the end\"");
	got_clear(&got);
	rig_close(&rig);
}

static void stop_input(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "ok", SET("stop.term=60s"));
	assert_echoes(&rig);
	assert_int_equal(mortise_plugin_stop(rig.plugin, MORTISE_STOP_INPUT, NULL), 0);
	rig_until_state(&rig, MORTISE_STOPPED);
	rig_close(&rig);
}

/* SIGKILL reaches a stopped process too. */
static void stop_now_a_process_that_stopped_itself(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "stops_itself", SET("stop.term=60s"));
	assert_echoes(&rig);
	start(&rig, &got, "go", NULL, 100);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ETIMEOUT);
	start(&rig, &got, "echo", NULL, NO_TIMER_MS);
	assert_int_equal(mortise_plugin_stop(rig.plugin, MORTISE_STOP_NOW, NULL), 0);
	rig_until_state(&rig, MORTISE_STOPPED);
	until_done(&got);
	assert_int_not_equal(got.status, MORTISE_OK);
	rig_close(&rig);
}

/* ---- pipes that close early or never ---- */

static void closed_stdin_breaks_no_host(void **state)
{
	struct rig rig;
	struct got got;
	int pid;

	(void)state;
	rig_open_bad(&rig, "closes_stdin", SET("restart.first=1ms", "stop.term=20ms", "stop.kill=20ms"));
	pid = ask_pid(&rig);
	ask_expect(&rig, "go", NULL, "\"deaf now\"");
	start(&rig, &got, "echo", NULL, NO_TIMER_MS);
	until_done(&got);
	diag("call to a plugin that closed its stdin: %s",
	     got.status ? got.error.text : "answered by a new process");
	got_clear(&got);
	assert_int_not_equal(ask_pid(&rig), pid);
	rig_close(&rig);
}

/* End of stdout is the end of the session: no answer can come any more. */
static void closed_stdout_fails_the_call(void **state)
{
	struct rig rig;
	struct got got;
	int pid;

	(void)state;
	rig_open_bad(&rig, "closes_stdout_keeps_running",
		     SET("restart.first=1ms", "stop.term=20ms", "stop.kill=20ms"));
	pid = ask_pid(&rig);
	start(&rig, &got, "go", NULL, NO_TIMER_MS);
	until_done(&got);
	assert_int_not_equal(got.status, MORTISE_OK);
	assert_int_not_equal(got.status, MORTISE_ETIMEOUT);
	assert_int_not_equal(ask_pid(&rig), pid);
	rig_close(&rig);
}

/* The exit counts, not the end of a pipe that a grandchild keeps open. */
/* The only child of this process. */
static int guardian(void)
{
	FILE *list = fopen("/proc/thread-self/children", "re");
	int pid = 0;

	assert_non_null(list);
	assert_int_equal(fscanf(list, "%d", &pid), 1);
	fclose(list);
	return pid;
}

/* ... unless it has ended with the session: then its end says why, however long its guardian
 * takes to tell it. */
static void a_late_end_is_no_closed_stdout(void **state)
{
	struct rig rig;
	struct got got;
	int pid, guard;
	int64_t end;

	(void)state;
	rig_open_bad(&rig, "ok", SET("restart.first=1ms"));
	pid = ask_pid(&rig);
	guard = guardian();
	start(&rig, &got, "hang", NULL, NO_TIMER_MS);
	rig_settle(&rig);
	assert_int_equal(kill(guard, SIGSTOP), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	end = now_ns() + 400000000; /* longer than a closed stdout is waited for */
	while (now_ns() < end)
		assert_true(mortise_host_wait(rig.host, 10) >= 0);
	assert_int_equal(got.finals, 0);
	assert_int_equal(kill(guard, SIGCONT), 0);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECRASHED);
	assert_contains(got.error.text, "SIGKILL");
	rig_close(&rig);
}

static void grandchild_holds_the_pipes(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "grandchild_holds_stdout", SET("restart.first=1ms"));
	start(&rig, &got, "go", NULL, NO_TIMER_MS);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECRASHED);
	assert_contains(got.error.text, "status 4");
	assert_echoes(&rig);
	rig_close(&rig);
}

static void child_in_its_own_session(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "setsid_child", SET("stop.term=60s"));
	ask_expect(&rig, "go", NULL, "\"has a child\"");
	assert_int_equal(mortise_plugin_stop(rig.plugin, MORTISE_STOP_POLITE, NULL), 0);
	rig_until_state(&rig, MORTISE_STOPPED);
	rig_close(&rig);
}

/* ---- stopping and waiting for it ---- */

static void stop_sync_is_polite(void **state)
{
	struct rig rig;
	mortise_error err = { 0 };

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	assert_echoes(&rig);
	assert_int_equal(mortise_plugin_stop_sync(rig.plugin, -1, &err), 0);
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_STOPPED);
	assert_false(rig_saw_state(&rig, MORTISE_BACKOFF));
	assert_int_equal(mortise_plugin_stop_sync(rig.plugin, 0, &err), 0); /* it is stopped already */
	assert_echoes(&rig);
	rig_close(&rig);
}

/* The plugin's own steps would take an hour. */
static void stop_sync_has_a_limit(void **state)
{
	struct rig rig;
	mortise_error err = { 0 };

	(void)state;
	rig_open_bad(&rig, "ignores_sigterm", SET("stop.bye=1h", "stop.term=1h", "stop.kill=1h"));
	assert_echoes(&rig);
	assert_int_equal(mortise_plugin_stop_sync(rig.plugin, 20, &err), MORTISE_ETIMEOUT);
	assert_contains(err.text, "did not end within 20 ms and was killed");
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_STOPPED);
	rig_close(&rig);
}

static void start_again(const mortise_event *event, void *arg)
{
	rig_event(event, arg);
	if (event->type == MORTISE_EVENT_STATE && event->state.now == MORTISE_STOPPED)
		(void)mortise_plugin_start(event->plugin, NULL);
}

/* Else it would be stopped and started without end. */
static void stop_sync_leaves_a_new_process_alone(void **state)
{
	struct rig rig;
	const char *argv[3];
	mortise_plugin_options opt;

	(void)state;
	rig_open(&rig);
	opt = rig_options(&rig, "ok", argv);
	opt.on_event = start_again;
	rig.plugin = rig_plugin(&rig, &opt);
	for (int timeout = 0; timeout < 2; timeout++) {
		assert_echoes(&rig);
		assert_int_equal(mortise_plugin_stop_sync(rig.plugin, timeout ? -1 : 0, NULL),
				 timeout ? 0 : MORTISE_ETIMEOUT);
		assert_int_not_equal(mortise_plugin_state(rig.plugin), MORTISE_STOPPED);
	}
	rig_close(&rig);
}

/* No process, nothing to kill. */
static void stop_sync_in_backoff(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_bad(&rig, "exits_loudly", SET("restart.first=1h", "restart.cap=1h"));
	start(&rig, &got, "go", NULL, NO_TIMER_MS);
	until_done(&got);
	rig_until_state(&rig, MORTISE_BACKOFF);
	assert_int_equal(mortise_plugin_stop_sync(rig.plugin, 0, NULL), 0);
	assert_int_equal(mortise_plugin_state(rig.plugin), MORTISE_STOPPED);
	rig_close(&rig);
}

/* ---- what a wait is ended by ---- */

static void on_nothing(int number)
{
	(void)number;
}

/* 0, if it waited for the whole time, and what it did then; 1: it came back earlier. */
static int waits_for_at_least(struct rig *rig, int ms)
{
	struct timespec a, b;
	int r;

	clock_gettime(CLOCK_MONOTONIC, &a);
	r = mortise_host_wait(rig->host, ms);
	clock_gettime(CLOCK_MONOTONIC, &b);
	if (r)
		return r;
	return (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms - 1;
}

/* A signal every other millisecond, whose handler calls nobody, does not end the wait; a wake-up does, once. */
static void only_a_wakeup_ends_the_wait(void **state)
{
	const struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_nothing }, before;
	struct rig rig;

	(void)state;
	rig_open(&rig);
	sigaction(SIGALRM, &action, &before);
	setitimer(ITIMER_REAL, &often, NULL);
	assert_int_equal(waits_for_at_least(&rig, 50), 0);
	assert_int_equal(mortise_host_wakeup(rig.host), 0);
	assert_int_equal(mortise_host_wait(rig.host, -1), 0);
	assert_int_equal(waits_for_at_least(&rig, 50), 0);
	/* Also where a dispatch has met it. */
	assert_int_equal(mortise_host_wakeup(rig.host), 0);
	assert_int_equal(mortise_host_dispatch(rig.host), 0);
	assert_int_equal(waits_for_at_least(&rig, 50), 0);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(stop_ladder_to_sigterm),
		API_TEST(stop_ladder_to_sigkill),
		API_TEST(answer_within_the_ladder),
		API_TEST(stop_input),
		API_TEST(stop_now_a_process_that_stopped_itself),
		API_TEST(closed_stdin_breaks_no_host),
		API_TEST(closed_stdout_fails_the_call),
		API_TEST(a_late_end_is_no_closed_stdout),
		API_TEST(grandchild_holds_the_pipes),
		API_TEST(child_in_its_own_session),
		API_TEST(stop_sync_is_polite),
		API_TEST(stop_sync_has_a_limit),
		API_TEST(stop_sync_leaves_a_new_process_alone),
		API_TEST(stop_sync_in_backoff),
		API_TEST(only_a_wakeup_ends_the_wait),
	};

	return mor_run_group("api/stop", tests);
}
