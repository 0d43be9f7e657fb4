/* SPDX-License-Identifier: Apache-2.0 */
/* mortise_jail_run() and mortise_doctor() as an embedder calls them. Level "guarded": what each level confines
 * is for tests/jail; here statuses, ends, orders and sizes. Nothing in it reads stdin. */
#include "leak.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <mortise/jail.h>

static const char *const guarded[] = { "level=guarded", NULL };

static mortise_jail_result *last; /* to which the texts of `ret` belong */

static int run_with(mortise_jail_options opt, const char *script, mortise_jail_result *ret, mortise_error *err)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	int r;

	opt.size = sizeof(opt);
	if (script)
		opt.argv = argv;
	if (!opt.policy)
		opt.policy = guarded;
	*err = (mortise_error){ 0 };
	mortise_free(last);
	r = mortise_jail_run(&opt, &last, err);
	*ret = last ? *last : (mortise_jail_result){ 0 };
	return r;
}

static void test_ends(void **state)
{
	mortise_jail_result ret;
	mortise_error err;

	(void)state;
	assert_int_equal(run_with((mortise_jail_options){ 0 }, "exit 0", &ret, &err), 0);
	assert_int_equal(ret.exit_code, 0);
	assert_string_equal(ret.level, "guarded");
	assert_int_equal(run_with((mortise_jail_options){ 0 }, "exit 41", &ret, &err), 0);
	assert_int_equal(ret.exit_code, 41);
	assert_int_equal(ret.signal, 0);
	assert_int_equal(run_with((mortise_jail_options){ 0 }, "kill -KILL $$", &ret, &err), 0);
	assert_int_equal(ret.exit_code, 128 + SIGKILL);
	assert_int_equal(ret.signal, SIGKILL);
	assert_int_equal(ret.timed_out, 0);
}

/* A daemon may have closed its own stdin: that says nothing about what this machine can. */
static void test_closed_stdin(void **state)
{
	int kept = dup(0), r, exit_code;
	mortise_jail_result ret;
	mortise_error err;

	(void)state;
	assert_true(kept > 2);
	close(0);
	r = run_with((mortise_jail_options){ 0 }, "exit 41", &ret, &err);
	exit_code = ret.exit_code;
	assert_int_equal(dup2(kept, 0), 0);
	close(kept);
	assert_int_equal(r, 0);
	assert_int_equal(exit_code, 41);
}

static void test_wall(void **state)
{
	static const char *const policy[] = { "level=guarded", "wall=100ms", NULL };
	mortise_jail_result ret;
	mortise_error err;

	(void)state;
	assert_int_equal(run_with((mortise_jail_options){ .policy = policy }, "sleep 60", &ret, &err), 0);
	assert_int_equal(ret.timed_out, 1);
	assert_int_equal(ret.signal, SIGKILL);
}

static void test_refused(void **state)
{
	static const char *const missing[] = { "/no/such/program", NULL }, *const nothing[] = { NULL };
	static const char *const file[] = { "/etc/hostname", NULL };
	static const struct {
		const char *pair, *text;
	} cases[] = {
		{ "level=strong", "level is \"strong\": it must be one of guarded, auto, t0, t1" },
		{ "read=x", "read is \"x\": it must be an absolute path, or one that begins with \"~/\"" },
		{ "nonsense", "policy \"nonsense\": write it as key=value" },
		{ "colour=red", "there is no permission \"colour\"" },
		{ "workspace_write=true", "workspace_write is true, but there is no workspace: set workspace" },
	};
	mortise_jail_result ret;
	mortise_error err;

	(void)state;
	assert_int_equal(run_with((mortise_jail_options){ .argv = missing }, NULL, &ret, &err),
			 MORTISE_ENOTFOUND);
	assert_int_equal(run_with((mortise_jail_options){ .argv = file }, NULL, &ret, &err), MORTISE_EEXEC);
	assert_int_equal(run_with((mortise_jail_options){ .argv = nothing }, NULL, &ret, &err), MORTISE_EINVAL);
	assert_int_equal(run_with((mortise_jail_options){ .flags = 1ull << 63 }, "exit 0", &ret, &err),
			 MORTISE_EINVAL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *const policy[] = { cases[i].pair, NULL };

		assert_int_equal(run_with((mortise_jail_options){ .policy = policy }, "exit 0", &ret, &err),
				 MORTISE_EINVAL);
		assert_string_equal(err.text, cases[i].text);
	}
}

/* What would allow it, as a key of the policy; for the command as an option. */
static void test_words(void **state)
{
	static const char *const confined[] = { "level=auto", NULL };
	static const struct {
		uint64_t flags;
		const char *text;
	} rows[] = {
		{ 0, "add read=/etc/hostname to its policy" },
		{ MORTISE_JAIL_COMMAND_WORDS, "add --read /etc/hostname" },
	};
	mortise_jail_result ret;
	mortise_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int r = run_with((mortise_jail_options){ .policy = confined, .flags = rows[i].flags },
				 "read line </etc/hostname", &ret, &err);

		if (r == MORTISE_EJAIL)
			leak_skip("nothing can be confined here");
		assert_true(ret.exit_code != 0);
		assert_non_null(strstr(ret.denied_text, rows[i].text));
	}
}

/* No helper, or another program instead: nothing runs, and the status says so. */
static void test_helper(void **state)
{
	mortise_jail_result ret;
	mortise_error err;

	(void)state;
	assert_int_equal(run_with((mortise_jail_options){ .helper = "/no/mortise-jail" }, "exit 0", &ret, &err),
			 MORTISE_EJAIL);
	assert_non_null(strstr(err.text, "/no/mortise-jail"));
	assert_int_equal(ret.exit_code, 125);
	assert_string_equal(ret.level, "");
	assert_int_equal(run_with((mortise_jail_options){ .helper = "/bin/true" }, "exit 0", &ret, &err),
			 MORTISE_EJAIL);
	assert_non_null(strstr(err.text, "ended without reporting"));
}

/* "*ret_result is set whatever is returned". */
static void test_result(void **state)
{
	static const char *const argv[] = { "/bin/sh", "-c", "exit 5", NULL };
	static const char *const missing[] = { "/no/such/program", NULL };
	mortise_jail_options opt = { .size = sizeof(opt), .argv = argv, .policy = guarded };
	mortise_jail_result *ret = NULL;
	mortise_error err;

	(void)state;
	assert_int_equal(mortise_jail_run(&opt, &ret, NULL), 0);
	assert_int_equal(ret->exit_code, 5);
	assert_string_equal(ret->denied_text, "");
	assert_string_equal(ret->path, "");
	mortise_free(ret);
	opt.argv = missing;
	assert_int_equal(mortise_jail_run(&opt, &ret, &err), MORTISE_ENOTFOUND);
	assert_int_equal(ret->exit_code, 127);
	assert_string_equal(ret->level, "");
	mortise_free(ret);
	assert_int_equal(mortise_jail_run(&opt, NULL, &err), MORTISE_EINVAL);
	assert_int_equal(mortise_jail_run(NULL, &ret, &err), MORTISE_EINVAL);
	assert_null(ret);
}

/* ---- orders ---- */

struct waker {
	mortise_host *host;
	enum mortise_jail_order orders[2]; /* to go on after these */
	int asked;
	int up; /* the program writes here when it is ready */
};

static enum mortise_jail_order on_wakeup(void *arg)
{
	struct waker *waker = arg;

	return waker->asked < 2 ? waker->orders[waker->asked++] : MORTISE_JAIL_GO_ON;
}

/* Wakes the host once for each byte that the program writes. */
static void *wake(void *arg)
{
	struct waker *waker = arg;
	char byte;

	while (read(waker->up, &byte, 1) == 1)
		if (byte == '.')
			mortise_host_wakeup(waker->host);
	return NULL;
}

/* stderr of the program is a pipe of ours for the time of the run. */
static int run_woken(struct waker *waker, const char *script, mortise_jail_result *ret)
{
	int fds[2], saved = dup(2), r;
	pthread_t thread;
	mortise_error err;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(dup2(fds[1], 2), 2);
	close(fds[1]);
	waker->up = fds[0];
	assert_int_equal(mortise_host_new(NULL, &waker->host, &err), 0);
	assert_int_equal(pthread_create(&thread, NULL, wake, waker), 0);
	r = run_with((mortise_jail_options){ .host = waker->host, .on_wakeup = on_wakeup, .arg = waker },
		     script, ret, &err);
	dup2(saved, 2);
	close(saved);
	pthread_join(thread, NULL);
	close(fds[0]);
	mortise_host_free(waker->host);
	return r;
}

static void test_orders(void **state)
{
	struct waker term = { .orders = { MORTISE_JAIL_GO_ON, MORTISE_JAIL_TERM } };
	struct waker killed = { .orders = { MORTISE_JAIL_KILL } };
	mortise_jail_result ret;

	(void)state;
	/* The first wake-up changes nothing; SIGTERM comes with the second, and is caught. Two may
	 * count as one. */
	assert_int_equal(run_woken(&term, "trap 'exit 33' TERM; while :; do echo . >&2; sleep 0.05; done",
				   &ret),
			 0);
	assert_int_equal(ret.exit_code, 33);
	assert_int_equal(term.asked, 2);
	assert_int_equal(run_woken(&killed, "trap '' TERM; echo . >&2; while :; do sleep 0.05; done", &ret), 0);
	assert_int_equal(ret.signal, SIGKILL);
}

/* An order that comes while the jail is being made is kept until there is somebody to obey it. */
static void test_order_before_the_start(void **state)
{
	static const char *const levels[] = { "level=guarded", "level=t0", "level=t1" };
	static const char *const argv[] = { "/bin/sleep", "60", NULL };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const char *const policy[] = { levels[i], NULL };
		struct waker term = { .orders = { MORTISE_JAIL_TERM } };
		mortise_jail_options opt = {
			.argv = argv, .policy = policy, .on_wakeup = on_wakeup, .arg = &term
		};
		mortise_jail_result ret;
		mortise_error err;
		int r;

		assert_int_equal(mortise_host_new(NULL, &opt.host, &err), 0);
		mortise_host_wakeup(opt.host);
		r = run_with(opt, NULL, &ret, &err);
		mortise_host_free(opt.host);
		if (i > 0 && r == MORTISE_EJAIL) /* this kernel has no such jail */
			continue;
		assert_int_equal(r, 0);
		assert_int_equal(ret.signal, SIGTERM);
	}
}

static void test_doctor(void **state)
{
	char *json = NULL;

	(void)state;
	assert_int_equal(mortise_doctor(NULL, NULL), MORTISE_EINVAL);
	assert_int_equal(mortise_doctor(&json, NULL), 0);
	assert_non_null(strstr(json, "\"level\":\"guarded\",\"available\":true"));
	assert_non_null(strstr(json, "\"name\":\"landlock\""));
	mortise_free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_ends),    MOR_TEST(test_closed_stdin), MOR_TEST(test_wall),
		MOR_TEST(test_refused), MOR_TEST(test_words),        MOR_TEST(test_helper),
		MOR_TEST(test_result),  MOR_TEST(test_orders),       MOR_TEST(test_order_before_the_start),
		MOR_TEST(test_doctor),
	};

	return mor_run_group("api/jail", tests);
}
