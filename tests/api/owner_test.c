/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "One thread per host": every function of the header from another thread, while the host's thread works; and
 * from a forked child, which may do one thing: free its copy.
 */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strangers.h"
#include "tmp.h"

/* ---- a host with one of everything ---- */

struct home {
	struct rig rig;
	struct handles h;
	struct got hung, pooled;
	int asked, told;
	char store[TMP_ROOM], workspace[256];
};

static void on_request(mortise_request *request, const char *method, mortise_json params, void *arg)
{
	struct home *home = arg;

	(void)method;
	(void)params;
	home->h.request = request;
	home->asked++;
}

static void on_event(const mortise_event *event, void *arg)
{
	struct home *home = arg;

	home->told++;
	rig_event(event, &home->rig);
}

static mortise_plugin *make_orphan(void)
{
	static const char *const argv[] = { "/bin/true", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv };
	mortise_plugin *plugin = NULL;
	mortise_host *host = NULL;

	assert_int_equal(mortise_host_new(NULL, &host, NULL), 0);
	assert_int_equal(mortise_plugin_new(host, &opt, &plugin, NULL), 0);
	assert_null(mortise_host_free(host));
	return plugin;
}

static void make_undo(struct home *home)
{
	mortise_undo_options opt = { .size = sizeof(opt),
				     .directory = home->store,
				     .workspace = home->workspace };

	tmp_name(home->store, "owner");
	assert_non_null(mkdtemp(home->store));
	snprintf(home->workspace, sizeof(home->workspace), "%s/workspace", home->store);
	assert_int_equal(mkdir(home->workspace, 0700), 0);
	assert_int_equal(mortise_undo_new(&opt, &home->h.undo, NULL), 0);
}

static void home_open(struct home *home)
{
	const char *argv[3], *pool_argv[3];
	mortise_plugin_options opt, pool_plugin;
	mortise_pool_options pool_opt = { .size = sizeof(pool_opt), .workers = 1 };
	mortise_call_options call;

	memset(home, 0, sizeof(*home));
	rig_open(&home->rig);
	opt = rig_options(&home->rig, "asks_host", argv);
	opt.on_event = on_event;
	opt.on_request = on_request;
	opt.arg = home;
	home->rig.plugin = home->h.plugin = rig_plugin(&home->rig, &opt);
	home->h.host = home->rig.host;
	home->h.orphan = make_orphan();
	make_undo(home);
	start(&home->rig, &home->hung, "go", "{\"send\":{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"what\"}}",
	      NO_TIMER_MS);
	home->h.call = home->hung.call;
	rig_until(&home->rig, &home->asked, 1, "the plugin's request");
	pool_plugin = rig_options(&home->rig, "hangs", pool_argv);
	assert_int_equal(mortise_pool_new(home->h.host, &pool_plugin, &pool_opt, &home->h.pool, NULL), 0);
	call = got_options(&home->rig, &home->pooled, NO_TIMER_MS);
	assert_int_equal(mortise_pool_call(home->h.pool, "hang", json(NULL), &call, NULL, NULL), 0);
	while (mortise_plugin_state(mortise_pool_worker(home->h.pool, 0)) != MORTISE_READY)
		rig_turn(&home->rig);
}

/* Nothing has happened to it: the request is open, the call waits for it, the pool has its worker. */
static void home_is_whole(struct home *home)
{
	mortise_call_options opt = { .size = sizeof(opt), .timeout_ms = GUARD_S * 1000 };
	char *result = NULL;

	assert_int_equal(home->hung.finals + home->pooled.finals, 0);
	assert_int_equal(access(mortise_undo_store(home->h.undo), F_OK), 0);
	assert_int_equal(mortise_plugin_state(home->h.plugin), MORTISE_READY);
	assert_int_equal(mortise_request_reply(home->h.request, json("\"ours\""), NULL), 0);
	until_done(&home->hung);
	assert_string_equal(home->hung.result, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"ours\"}");
	got_clear(&home->hung);
	assert_echoes(&home->rig);
	assert_int_equal(mortise_call_sync(mortise_pool_worker(home->h.pool, 0), "echo", json("[2]"), &opt,
					   &result, NULL),
			 0);
	assert_string_equal(result, "[2]");
	mortise_free(result);
	assert_int_equal(home->pooled.finals, 0);
}

static void home_close(struct home *home)
{
	assert_null(mortise_undo_free(home->h.undo));
	assert_int_equal(rmdir(home->workspace), 0);
	assert_int_equal(rmdir(home->store), 0);
	assert_null(mortise_plugin_unref(home->h.orphan));
	assert_null(mortise_pool_free(home->h.pool));
	rig_close(&home->rig);
	assert_int_equal(home->pooled.finals, 1);
	got_clear(&home->pooled);
}

/* ---- another thread ---- */

struct visit {
	const struct handles *h;
	_Atomic int rounds, wrong;
	_Atomic bool over;
};

static void *visitor(void *arg)
{
	struct visit *visit = arg;

	for (; !visit->over; visit->rounds++) {
		for (size_t i = 0; i < stranger_count; i++) {
			int want = strangers[i].may == STRANGER_MAY || strangers[i].may == STRANGER_ADOPTS ?
					   0 :
					   MORTISE_ETHREAD,
			    r;

			/* Adopting works, and then the host's thread is the stranger; undoing is for once;
			 * slow ones, too. */
			if (strcmp(strangers[i].name, "mortise_host_adopt") == 0 ||
			    strcmp(strangers[i].name, "mortise_undo_run") == 0 ||
			    (visit->rounds && strcmp(strangers[i].name, "mortise_doctor") == 0))
				continue;
			r = strangers[i].call(visit->h);
			if (r != want) {
				print_error("%s gave %d on another thread\n", strangers[i].name, r);
				visit->wrong++;
			}
		}
	}
	return NULL;
}

static void table_is_complete(void **state)
{
	(void)state;
	strangers_are_complete();
}

static void another_thread_is_refused(void **state)
{
	struct home home;
	struct visit visit = { .over = false };
	pthread_t thread;

	(void)state;
	home_open(&home);
	visit.h = &home.h;
	assert_int_equal(pthread_create(&thread, NULL, visitor, &visit), 0);
	/* The host's thread does not stand still meanwhile: whatever a refusal looks at must not be moving. */
	while (visit.rounds < 20)
		assert_true(mortise_host_wait(home.h.host, 1) >= 0);
	visit.over = true;
	pthread_join(thread, NULL);
	assert_int_equal(visit.wrong, 0);
	home_is_whole(&home);
	home_close(&home);
}

/* ---- a forked child ---- */

/* What the child finds wrong: its exit status. cmocka is the parent's. */
static int in_child(struct home *home, int (*visit)(struct home *))
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(visit(home));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

static int refused_in_child(struct home *home)
{
	mortise_error err = { 0 };
	int wrong = 0;

	if (mortise_plugin_start(home->h.plugin, &err) != MORTISE_ETHREAD ||
	    !strstr(err.text, "forked child")) {
		fprintf(stderr, "a forked child was told: %s\n", err.text);
		wrong++;
	}

	for (size_t i = 0; i < stranger_count; i++) {
		bool leaves = strangers[i].may == STRANGER_MAY_LEAVE;
		int r = leaves ? MORTISE_ETHREAD : strangers[i].call(&home->h);

		if (r != (strangers[i].may == STRANGER_MAY ? 0 : MORTISE_ETHREAD)) {
			fprintf(stderr, "%s gave %d in a forked child\n", strangers[i].name, r);
			wrong++;
		}
	}
	return wrong;
}

static void child_is_refused(void **state)
{
	struct home home;

	(void)state;
	home_open(&home);
	assert_int_equal(in_child(&home, refused_in_child), 0);
	home_is_whole(&home);
	home_close(&home);
}

/* Frees it all, one way or the other. Nobody is told: what ends is a copy. */
static int free_in_child(struct home *home)
{
	int told = home->told, files = open_files();

	if (mortise_host_free(home->h.host) || mortise_plugin_unref(home->h.orphan) ||
	    mortise_undo_free(home->h.undo))
		return 1;
	if (home->told != told || home->hung.finals || home->pooled.finals)
		return 2;
	/* Its own two loops' worth of descriptors, and five for each process. */
	return open_files() < files - 10 ? 0 : 3;
}

static int free_by_parts_in_child(struct home *home)
{
	if (mortise_pool_free(home->h.pool) || mortise_plugin_unref(home->h.plugin) ||
	    mortise_host_free(home->h.host))
		return 1;
	return home->hung.finals + home->pooled.finals ? 2 : 0;
}

static void child_frees_its_copy(void **state)
{
	int (*const ways[])(struct home *) = { free_in_child, free_by_parts_in_child };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct home home;
		int pid;

		home_open(&home);
		pid = ask_pid(
			&(struct rig){ .host = home.h.host, .plugin = mortise_pool_worker(home.h.pool, 0) });
		assert_int_equal(in_child(&home, ways[i]), 0);
		home_is_whole(&home);
		assert_int_equal(kill(pid, 0), 0);
		home_close(&home);
	}
}

static int just_free(struct home *home)
{
	return mortise_host_free(home->h.host) != NULL;
}

/* What waits to be written is written once; what is there to be read is read by the parent; time goes on. */
static void what_is_under_way_stays(void **state)
{
	struct home home;
	struct rig worker;
	struct got queued, timed;
	struct pollfd pfd;

	(void)state;
	home_open(&home);
	worker = (struct rig){ .host = home.h.host, .plugin = mortise_pool_worker(home.h.pool, 0) };
	start(&worker, &queued, "echo", "[1]", NO_TIMER_MS);
	start(&worker, &timed, "hang", NULL, 50);
	pfd = (struct pollfd){ .fd = mortise_host_fd(home.h.host), .events = POLLIN };
	assert_int_equal(poll(&pfd, 1, 0), 1);
	assert_int_equal(in_child(&home, just_free), 0);
	assert_int_equal(poll(&pfd, 1, 0), 1);
	until_done(&queued);
	assert_string_equal(queued.result, "[1]");
	assert_int_equal(in_child(&home, just_free), 0);
	until_done(&timed);
	assert_int_equal(timed.status, MORTISE_ETIMEOUT);
	home_is_whole(&home);
	got_clear(&queued);
	got_clear(&timed);
	home_close(&home);
}

/* A confined plugin's scratch directory is its guardian's to remove, when the plugin ends. */
static void scratch_stays(void **state)
{
	static const char *const argv[] = {
		"/bin/sh", "-c",
		"n=0; while read line; do n=$((n+1)); printf "
		"'{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":\"%s\"}\\n' $n \"$TMPDIR\"; done",
		NULL
	};
	struct home home = { .asked = 0 };
	mortise_plugin_options opt;
	const char *unused[3];
	char *result = NULL, dir[256] = "";
	mortise_error err = { 0 };

	(void)state;
	rig_open(&home.rig);
	opt = rig_options(&home.rig, "sh", unused);
	opt.argv = argv;
	opt.set = SET("sandbox.level=t0");
	home.rig.plugin = rig_plugin(&home.rig, &opt);
	home.h.host = home.rig.host;
	if (mortise_call_sync(home.rig.plugin, "x", json(NULL), NULL, &result, &err) < 0) {
		rig_close(&home.rig);
		assert_int_equal(err.code, MORTISE_EJAIL);
		leak_skip("this machine cannot confine");
	}
	snprintf(dir, sizeof(dir), "%.*s", (int)strlen(result) - 2, result + 1);
	mortise_free(result);
	assert_int_equal(dir[0], '/');
	assert_int_equal(access(dir, F_OK), 0);
	assert_int_equal(in_child(&home, just_free), 0);
	assert_int_equal(access(dir, F_OK), 0);
	result = ask(&home.rig, "x", NULL);
	mortise_free(result);
	rig_close(&home.rig);
	assert_int_equal(access(dir, F_OK), -1);
}

static int try_inside(struct home *home)
{
	/* In the middle of a dispatch it cannot be taken apart; and nothing is. */
	return mortise_host_free(home->h.host) == home->h.host ? 0 : 1;
}

static void fork_in_callback(const mortise_reply *reply, void *arg)
{
	struct home *home = arg;

	(void)reply;
	home->asked = 100 + in_child(home, try_inside);
}

static void child_of_a_callback(void **state)
{
	struct home home;
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = fork_in_callback, .arg = &home };

	(void)state;
	home_open(&home);
	assert_int_equal(mortise_call_start(mortise_pool_worker(home.h.pool, 0), "echo", json(NULL), &opt, NULL,
					    NULL),
			 0);
	rig_until(&home.rig, &home.asked, 100, "the callback that forks");
	assert_int_equal(home.asked, 100);
	home_is_whole(&home);
	home_close(&home);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(table_is_complete),    API_TEST(another_thread_is_refused), API_TEST(child_is_refused),
		API_TEST(child_frees_its_copy), API_TEST(what_is_under_way_stays),   API_TEST(scratch_stays),
		API_TEST(child_of_a_callback),
	};

	return mor_run_group("api/owner", tests);
}
