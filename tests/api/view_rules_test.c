/* SPDX-License-Identifier: Apache-2.0 */
/* What a view must not do: hostile stages, misuse, deaths, and who lives where. */
#include "view.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* ---- hostile stages ---- */

/* Links of the stage are shown, and lead where the plugin's own tree leads; they take no mount anywhere. */
static void links_in_the_stage_are_not_followed(void **state)
{
	struct answer answer;
	struct rig rig;

	(void)state;
	put("evil", "usr/include/mor_view/x.h", "x");
	put("secret", "here.h", "secret");
	if (symlink(path_of("%s/secret", top), path_of("%s/evil/usr/include/mor_view/out", top)) < 0)
		assert_int_equal(errno, EEXIST);
	if (symlink("/etc", path_of("%s/evil/usr/games", top)) < 0) /* where the host has a directory */
		assert_int_equal(errno, EEXIST);
	put("evil2", "a", "a");
	if (symlink("/", path_of("%s/evil2/usr", top)) < 0)
		assert_int_equal(errno, EEXIST);
	open_here(&rig);
	view(&rig, "evil");
	expect(&rig, "link", "/usr/include/mor_view/out", path_of("%s/secret", top));
	expect(&rig, "link", "/usr/games", "/etc");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "x");
	answer = try_view(&rig, "evil2", NULL);
	assert_int_equal(answer.status, MORTISE_EINVAL);
	assert_contains(answer.error.text, "/usr: cannot be part of a view");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "x"); /* a failure changes nothing */
	expect(&rig, "read", "/a", "errno ENOENT");
	rig_close(&rig);
}

static void refuses_what_it_cannot_show(void **state)
{
	static const char *const tops[] = { "proc", "sys", "dev" };
	struct answer answer;
	struct rig rig;

	(void)state;
	put("a", "usr/include/mor_view/x.h", "first");
	put("file", "x", "");
	put("clash", "etc", "a file where the machine has a directory");
	open_here(&rig);
	view(&rig, "a");
	for (size_t i = 0; i < 3; i++) {
		put(tops[i], path_of("%s/x", tops[i]), "x");
		answer = try_view(&rig, tops[i], NULL);
		assert_int_equal(answer.status, MORTISE_EINVAL);
		assert_contains(answer.error.text,
				path_of("eye: its view could not be set: /%s: cannot be part of a view",
					tops[i]));
	}
	answer = try_view(&rig, "no such stage", NULL);
	assert_int_equal(answer.status, MORTISE_ENOTFOUND);
	assert_contains(answer.error.text, "no such stage (No such file or directory)");
	assert_int_equal(answer.error.os_errno, ENOENT);
	answer = try_view(&rig, "file/x", NULL);
	assert_int_equal(answer.status, MORTISE_EINVAL);
	answer = try_view(&rig, "clash", NULL);
	assert_int_equal(answer.status, MORTISE_EINVAL);
	assert_contains(answer.error.text, "/etc: is one thing on this machine and another in the view");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "first");
	rig_close(&rig);
}

/* ---- the API's own rules ---- */

static void misuse_is_told_at_once(void **state)
{
	const char *argv[] = { "/usr/bin/python3", EYE_PLUGIN, NULL };
	mortise_view good = { .size = sizeof(good), .stage = top }, bad = good;
	mortise_plugin_options opt = { .size = sizeof(opt),
				       .argv = argv,
				       .dialect = "plain",
				       .set = SET("sandbox.view=true", "sandbox.level=t0") };
	mortise_plugin *none = NULL;
	mortise_error err;
	struct rig rig;

	(void)state;
	open_eye(&rig, NO_SET);
	ask_expect(&rig, "ping", NULL, "\"pong\"");
	assert_int_equal(mortise_plugin_set_view(rig.plugin, &good, NULL, NULL, &err), MORTISE_EINVAL);
	assert_contains(err.text, "eye: has no view of its own; make it with sandbox.view=true");
	assert_int_equal(mortise_plugin_new(rig.host, &opt, &none, &err), MORTISE_EMANIFEST);
	assert_contains(err.text, "view is true, but level t0 cannot switch mounts");
	rig_close(&rig);
	open_eye(&rig, SET("sandbox.view=true", path_of("sandbox.level=%s", level)));
	assert_int_equal(mortise_plugin_set_view(rig.plugin, &good, NULL, NULL, &err), MORTISE_ECLOSED);
	assert_contains(err.text, "is not running");
	ask_expect(&rig, "ping", NULL, "\"pong\"");
	bad.stage = "relative";
	assert_int_equal(mortise_plugin_set_view(rig.plugin, &bad, NULL, NULL, &err), MORTISE_EINVAL);
	bad.stage = NULL;
	assert_int_equal(mortise_plugin_set_view(rig.plugin, &bad, NULL, NULL, &err), MORTISE_EINVAL);
	bad.stage = top;
	bad.writable = SET("relative");
	assert_int_equal(mortise_plugin_set_view(rig.plugin, &bad, NULL, NULL, &err), MORTISE_EINVAL);
	bad.writable = SET("/no/such/directory");
	assert_int_equal(mortise_plugin_set_view(rig.plugin, &bad, NULL, NULL, &err), MORTISE_ENOTFOUND);
	bad.size = 3;
	assert_int_equal(mortise_plugin_set_view(rig.plugin, &bad, NULL, NULL, &err), MORTISE_EINVAL);
	/* none, and no callback */
	assert_int_equal(mortise_plugin_set_view(rig.plugin, NULL, NULL, NULL, &err), 0);
	ask_expect(&rig, "ping", NULL, "\"pong\"");
	rig_close(&rig);
}

static void order_is_kept(void **state)
{
	struct answer got[6];
	struct rig rig;

	(void)state;
	put("a", "usr/include/mor_view/x.h", "first");
	put("b", "usr/include/mor_view/x.h", "second");
	open_here(&rig);
	answers = 0;
	for (int i = 0; i < 6; i++)
		order(&rig,
		      i == 3 ? "/no/such/stage" :
		      i == 4 ? NULL :
			       path_of("%s/%s", top, i % 2 ? "b" : "a"),
		      NULL, &got[i]);
	rig_until(&rig, &got[5].count, 1, "the last view");
	for (int i = 0; i < 6; i++) {
		assert_int_equal(got[i].count, 1);
		assert_int_equal(got[i].order, i);
		assert_int_equal(got[i].status, i == 3 ? MORTISE_ENOTFOUND : 0);
	}
	expect(&rig, "read", "/usr/include/mor_view/x.h", "second");
	rig_close(&rig);
}

/* Who dies fails what it was ordered, once each; the next process has no view. */
static void death_fails_what_waits(void **state)
{
	struct answer got[8];
	struct rig rig;

	(void)state;
	put("a", "usr/include/mor_view/x.h", "first");
	open_here(&rig);
	view(&rig, "a");
	for (int i = 0; i < 8; i++)
		order(&rig, path_of("%s/a", top), NULL, &got[i]);
	assert_int_equal(mortise_plugin_stop(rig.plugin, MORTISE_STOP_NOW, NULL), 0);
	rig_until_state(&rig, MORTISE_STOPPED);
	for (int i = 0; i < 8; i++)
		assert_int_equal(got[i].count, 1);
	assert_int_equal(got[7].status, MORTISE_ECLOSED);
	ask_expect(&rig, "ping", NULL, "\"pong\"");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "errno ENOENT");
	order(&rig, path_of("%s/a", top), NULL, &got[0]);
	rig.plugin = mortise_plugin_unref(rig.plugin);
	assert_int_equal(got[0].count, 1);
	assert_int_equal(got[0].status, MORTISE_ECANCELED);
	mortise_host_free(rig.host);
}

/* ---- who it is ---- */

static void no_capabilities_and_the_same_numbers(void **state)
{
	struct rig rig;

	(void)state;
	open_here(&rig);
	ask_expect(&rig, "who", NULL,
		   path_of("\"0000000000000000 0000000000000000 %s %u %u\"",
			   getuid() ? "-" : "0000000000000000", getuid(), getgid()));
	rig_close(&rig);
}

static int pid_of(struct rig *rig)
{
	const char *at;
	char *json = NULL;
	int pid;

	assert_int_equal(mortise_plugin_describe(rig->plugin, &json, NULL), 0);
	at = strstr(json, "\"pid\":");
	assert_non_null(at);
	pid = (int)strtol(at + strlen("\"pid\":"), NULL, 10);
	mortise_free(json);
	return pid;
}

/* In its mount namespace live the plugin alone, and at t1 the init of its PID namespace. */
static void nobody_else_lives_there(void **state)
{
	char own[64] = "", other[64];
	int count = 0;
	struct rig rig;
	DIR *dir;

	(void)state;
	put("a", "usr/include/mor_view/x.h", "first");
	open_here(&rig);
	view(&rig, "a");
	assert_true(readlink(path_of("/proc/%d/ns/mnt", pid_of(&rig)), own, sizeof(own) - 1) > 0);
	dir = opendir("/proc");
	for (struct dirent *entry; (entry = readdir(dir));) {
		ssize_t len = readlink(path_of("/proc/%s/ns/mnt", entry->d_name), other, sizeof(other) - 1);

		other[len < 0 ? 0 : len] = '\0';
		count += strcmp(own, other) == 0;
	}
	closedir(dir);
	assert_in_range(count, 1, confined() ? 2 : 1);
	rig_close(&rig);
}

/* Whatever makes the namespaces: the view is the same. `auto` comes to t1, never to t0. */
static void with_a_pid_namespace(void **state)
{
	char *json = NULL;
	struct rig rig;

	(void)state;
	put("a", "usr/include/mor_view/x.h", "first");
	open_eye(&rig, SET("sandbox.view=true", path_of("sandbox.level=%s", confined() ? "auto" : "guarded"),
			   "sandbox.pidns=true"));
	ask_expect(&rig, "ping", NULL, "\"pong\"");
	view(&rig, "a");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "first");
	assert_int_equal(mortise_plugin_describe(rig.plugin, &json, NULL), 0);
	assert_contains(json, path_of("\"level\":\"%s\"", level));
	mortise_free(json);
	rig_close(&rig);
}

/* ---- the process that makes views ---- */

static int first_child(int pid)
{
	FILE *file = fopen(path_of("/proc/%d/task/%d/children", pid, pid), "re");
	int child = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &child), 1);
	fclose(file);
	return child;
}

/* Our child is the guardian, whose first child is the maker. */
static int maker(void)
{
	return first_child(first_child(getpid()));
}

/* The maker lives in the plugin's user namespace, with all rights there, and holds the host's tree. */
static void the_maker_is_closed_to_the_plugin(void **state)
{
	static const char *const names[] = { "ns/mnt", "root", "cwd", "fd/0" };
	struct rig rig;

	(void)state;
	put("a", "usr/include/mor_view/x.h", "first");
	open_here(&rig);
	for (int i = 0; i < 2; i++) { /* before it has entered, and after */
		for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++)
			expect(&rig, "link", path_of("/proc/%d/%s", maker(), names[n]),
			       confined() ? "errno ENOENT" : "errno EACCES");
		view(&rig, "a");
	}
	rig_close(&rig);
}

/* Nobody knows then what the plugin sees. */
static void without_the_maker_the_plugin_ends(void **state)
{
	struct rig rig;

	(void)state;
	put("a", "usr/include/mor_view/x.h", "first");
	open_here(&rig);
	view(&rig, "a");
	assert_int_equal(kill(maker(), SIGKILL), 0);
	rig_until_state(&rig, MORTISE_STOPPED);
	ask_expect(&rig, "ping", NULL, "\"pong\""); /* the next one has a maker again, and no view */
	expect(&rig, "read", "/usr/include/mor_view/x.h", "errno ENOENT");
	view(&rig, "a");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "first");
	rig_close(&rig);
}

static int count_open(int pid)
{
	DIR *dir = opendir(path_of("/proc/%d/fd", pid));
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* The test gives all orders itself: good ones, bad ones, and those for which the shop must be made again. */
static void orders_leave_nothing_behind(void **state)
{
	char out[128];
	struct rig rig;
	int before = 0;

	(void)state;
	snprintf(out, sizeof(out), "%s/out/worker 1", top);
	put("out", "worker 1/before", "old");
	put("a", "usr/include/mor_view/x.h", "first");
	put("b", "usr/include/mor_view/x.h", "second");
	put("b", "lib/mor_view/x.h", "by link");
	put("covers", path_of("%s/out/x.h", top + 1), "x");
	put("bad", "usr/include/mor_view/x.h", "x");
	put("bad", "proc/x", "no");
	open_here(&rig);
	for (int i = 0; i < 20; i++) {
		view(&rig, "a");
		view(&rig, "b");
		assert_int_equal(try_view(&rig, "bad", SET(out)).status, MORTISE_EINVAL);
		assert_int_equal(try_view(&rig, "covers", SET(out)).status, 0);
		assert_int_equal(try_view(&rig, "a", SET(out)).status, 0);
		view(&rig, NULL);
		view(&rig, "a");
		expect(&rig, "read", "/usr/include/mor_view/x.h", "first");
		expect(&rig, "read", "/lib/mor_view/x.h", "errno ENOENT");
		if (i == 0)
			before = count_open(maker());
	}
	assert_int_equal(count_open(maker()), before);
	rig_close(&rig);
}

/* ---- confined ---- */

/* Two consecutive views, and nothing else of the host: below a touched directory it does not exist, elsewhere
 * to ask for it is denied, and told, as ever. */
static void confined_reads_the_view_and_nothing_else(void **state)
{
	struct rig rig;

	(void)state;
	if (!confined())
		return;
	put("secret", "here.h", "secret");
	put("a", "usr/include/mor_view/x.h", "first");
	put("seen", path_of("%s/seen/x.h", top + 1), "second");
	put("lead_out", "usr/include/mor_view/x.h", "x");
	assert_int_equal(symlink(path_of("%s/secret", top),
				 path_of("%s/lead_out/usr/include/mor_view/out", top)),
			 0);
	open_here(&rig);
	view(&rig, "a");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "first");
	expect(&rig, "read", "/usr/include/stdio.h", "errno ENOENT");
	view(&rig, "seen");
	expect(&rig, "read", path_of("%s/seen/x.h", top), "second");
	expect(&rig, "read", path_of("%s/secret/here.h", top), "errno ENOENT");
	expect(&rig, "list", path_of("%s", top), "seen");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "errno ENOENT");
	view(&rig, "lead_out");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "x");
	expect(&rig, "link", "/usr/include/mor_view/out", path_of("%s/secret", top));
	/* it leads nowhere in this tree */
	expect(&rig, "read", "/usr/include/mor_view/out/here.h", "errno ENOENT");
	view(&rig, NULL);
	expect(&rig, "read", path_of("%s/secret/here.h", top), "errno ENOENT");
	rig_until(&rig, &rig.events[MORTISE_EVENT_VIOLATION], 1, "a denial");
	assert_contains(rig.last[MORTISE_EVENT_VIOLATION], path_of("%s/secret/here.h: not in ", top));
	rig_close(&rig);
}

static const struct CMUnitTest tests[] = {
	API_TEST(links_in_the_stage_are_not_followed),
	API_TEST(refuses_what_it_cannot_show),
	API_TEST(misuse_is_told_at_once),
	API_TEST(order_is_kept),
	API_TEST(death_fails_what_waits),
	API_TEST(no_capabilities_and_the_same_numbers),
	API_TEST(nobody_else_lives_there),
	API_TEST(the_maker_is_closed_to_the_plugin),
	API_TEST(without_the_maker_the_plugin_ends),
	API_TEST(orders_leave_nothing_behind),
	API_TEST(with_a_pid_namespace),
	API_TEST(confined_reads_the_view_and_nothing_else),
};

int run_in(const char *world)
{
	(void)world;
	return mor_run_group("api/view-rules", tests);
}
