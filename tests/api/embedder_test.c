/* SPDX-License-Identifier: Apache-2.0 */
/* Embedders with habits: no SIGCHLD, no stdin, many plugins, long lives. */
#include <dirent.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

#define CYCLES 200
#define IDLE   100

/* ECHILD: the kernel reaps for us. The end is still noticed; only its status is lost. */
static void ignores_sigchld(void **state)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	struct rig rig;
	struct got got;

	(void)state;
	sigaction(SIGCHLD, &ignore, &before);
	rig_open_bad(&rig, "exits_loudly", SET("restart.first=1ms"));
	assert_echoes(&rig);
	start(&rig, &got, "go", NULL, NO_TIMER_MS);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECRASHED);
	assert_contains(got.error.text, "ImportError: numpy");
	assert_echoes(&rig);
	rig_close(&rig);
	sigaction(SIGCHLD, &before, NULL);
}

/* The embedder's dispositions and mask are its own, and a broken pipe kills nobody. */
static void touches_no_signal(void **state)
{
	struct rig rig;
	struct sigaction before[32], after;
	sigset_t mask_before, mask_after;

	(void)state;
	sigprocmask(SIG_BLOCK, NULL, &mask_before);
	for (int i = 1; i < 32; i++)
		sigaction(i, NULL, &before[i]);
	assert_ptr_equal(before[SIGPIPE].sa_handler, SIG_DFL);
	rig_open_bad(&rig, "closes_stdin", SET("restart.first=1ms", "stop.term=20ms", "stop.kill=20ms"));
	ask_expect(&rig, "go", NULL, "\"deaf now\"");
	mortise_call_sync(rig.plugin, "echo", json(NULL), NULL, NULL, NULL);
	rig_close(&rig);
	sigprocmask(SIG_BLOCK, NULL, &mask_after);
	for (int i = 1; i < 32; i++) {
		sigaction(i, NULL, &after);
		assert_ptr_equal(after.sa_handler, before[i].sa_handler);
		assert_int_equal(sigismember(&mask_after, i), sigismember(&mask_before, i));
	}
}

/* The pipes of a plugin then get the numbers 0 to 2, which the child's own must not collide with. Runs in a
 * process of its own, so it may not assert. */
static int live_without_stdio(int low, int high)
{
	const char *argv[] = { BAD_PLUGIN, "ok", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv, .dialect = "plain" };
	mortise_host *host = NULL;
	mortise_plugin *plugin = NULL;
	char *result = NULL;
	int bad = 0;

	for (int fd = low; fd <= high; fd++)
		close(fd);
	if (mortise_host_new(NULL, &host, NULL) < 0 || mortise_plugin_new(host, &opt, &plugin, NULL) < 0)
		return 10;
	for (int i = 0; i < 3 && !bad; i++) {
		if (mortise_call_sync(plugin, "fds", json(NULL), NULL, &result, NULL) < 0)
			return 11;
		bad = strcmp(result, "[0,1,2]") != 0;
		mortise_free(result);
	}
	mortise_plugin_unref(plugin);
	mortise_host_free(host);
	return bad ? 12 : 0;
}

static void without_stdio(void **state)
{
	static const int ranges[][2] = { { 0, 0 }, { 0, 1 }, { 1, 2 }, { 2, 2 }, { 0, 2 } };

	(void)state;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		int status = -1;
		pid_t pid;

		fflush(NULL);
		pid = fork();
		if (pid == 0)
			_exit(live_without_stdio(ranges[i][0], ranges[i][1]));
		assert_true(pid > 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status != 0)
			fail_msg("with %d to %d closed: wait status %#x", ranges[i][0], ranges[i][1],
				 (unsigned)status);
	}
}

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void two_hundred_lives(void **state)
{
	struct rig rig;
	int first = 0;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	for (int i = 0; i < CYCLES; i++) {
		assert_echoes(&rig);
		assert_int_equal(mortise_plugin_stop(rig.plugin, i % 2 ? MORTISE_STOP_NOW : MORTISE_STOP_POLITE,
						     NULL),
				 0);
		rig_until_state(&rig, MORTISE_STOPPED);
		if (i == 0)
			first = open_fds();
	}
	assert_int_equal(open_fds(), first);
	rig_close(&rig);
}

/* The host itself too, and plugins killed while they work. */
static void fifty_hosts(void **state)
{
	int before = open_fds();

	(void)state;
	for (int i = 0; i < 50; i++) {
		struct rig rig;
		struct got got;

		rig_open_bad(&rig, "ok", NO_SET);
		start(&rig, &got, "hang", NULL, NO_TIMER_MS);
		if (i % 2)
			rig_settle(&rig);
		rig_close(&rig);
		assert_int_equal(got.finals, 1);
	}
	assert_int_equal(open_fds(), before);
}

static size_t heap_in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Under a sanitizer mallinfo2() says nothing, and the test then proves nothing. */
static void memory_of_an_idle_plugin(void **state)
{
	mortise_plugin *plugins[IDLE];
	const char *argv[3];
	mortise_plugin_options opt;
	struct rig rig;
	size_t before, each;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	assert_echoes(&rig); /* what the first one needs is the host's */
	opt = rig_options(&rig, "ok", argv);
	before = heap_in_use();
	for (int i = 0; i < IDLE; i++) {
		mortise_plugin *first = rig.plugin;

		rig.plugin = plugins[i] = rig_plugin(&rig, &opt);
		assert_echoes(&rig);
		rig.plugin = first;
	}
	each = (heap_in_use() - before) / IDLE;
	diag("host memory of an idle plugin: %zu bytes", each);
	assert_true(each < 64 * 1024);
	for (int i = 0; i < IDLE; i++)
		mortise_plugin_unref(plugins[i]);
	rig_close(&rig);
}

/* A big reply's buffer is given back, sooner or later the next small call must not carry it. */
static void memory_after_a_big_result(void **state)
{
	struct rig rig;
	size_t before, after;

	(void)state;
	rig_open_bad(&rig, "big_result", NO_SET);
	assert_echoes(&rig);
	before = heap_in_use();
	mortise_free(ask(&rig, "go", NULL));
	for (int i = 0; i < 10; i++)
		assert_echoes(&rig);
	after = heap_in_use();
	diag("kept after a 64 MiB result: %zu bytes", after - before);
	assert_true(after < before + (1 << 20));
	rig_close(&rig);
}

/* Also in the last callback, when it is released. */
static void sees_its_pointer(const mortise_reply *reply, void *arg)
{
	int *mine = arg;

	*mine = mortise_plugin_arg(reply->plugin) == mine && !mortise_plugin_host(reply->plugin);
	assert_null(mortise_host_next_plugin(NULL, reply->plugin));
}

/* What an embedder gave it can be read back, and what a host has can be listed. */
static void finds_its_way_back(void **state)
{
	struct rig rig;
	int mine = 0;
	const char *argv[] = { "/bin/cat", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv, .name = "second", .arg = &mine };
	mortise_plugin *second = NULL, *at;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	assert_int_equal(mortise_plugin_new(rig.host, &opt, &second, NULL), 0);
	assert_ptr_equal(mortise_plugin_arg(second), &mine);
	assert_ptr_equal(mortise_plugin_host(second), rig.host);
	at = mortise_host_next_plugin(rig.host, NULL);
	assert_ptr_equal(at, rig.plugin);
	at = mortise_host_next_plugin(rig.host, at);
	assert_ptr_equal(at, second);
	assert_null(mortise_host_next_plugin(rig.host, at));
	assert_int_equal(mortise_call_start(second, "x", json(NULL),
					    &(mortise_call_options){ .size = sizeof(mortise_call_options),
								     .on_reply = sees_its_pointer,
								     .arg = &mine },
					    NULL, NULL),
			 0);
	mortise_plugin_unref(second);
	assert_int_equal(mine, 1);
	assert_null(mortise_host_next_plugin(rig.host, rig.plugin));
	at = mortise_plugin_ref(rig.plugin);
	rig_close(&rig);
	assert_null(mortise_plugin_host(at));
	assert_ptr_equal(mortise_plugin_arg(at), &rig);
	assert_null(mortise_host_next_plugin(NULL, at));
	mortise_plugin_unref(at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(finds_its_way_back),       API_TEST(ignores_sigchld),
		API_TEST(touches_no_signal),        API_TEST(without_stdio),
		API_TEST(two_hundred_lives),        API_TEST(fifty_hosts),
		API_TEST(memory_of_an_idle_plugin), API_TEST(memory_after_a_big_result),
	};

	return mor_run_group("api/embedder", tests);
}
