/*
 * mortise_plugin_set_view(), as an embedder calls it and as the plugin (tests/plugins/eye.py) sees it.
 *
 *	view_test LEVEL          guarded or t1
 *	view_test LEVEL nobody   the same as an ordinary user, where we are root
 *	view_test LEVEL mounts   in a mount namespace of our own, with something mounted below what the view touches
 *	view_test LEVEL refused  in a user namespace that lets nobody make mount namespaces
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"

static char top[64]; /* all that we make lies below; its top-level directory is "var" */
static const char *level;

static bool confined(void)
{
	return strcmp(level, "t1") == 0;
}

/* ---- stages ---- */

__attribute__((format(printf, 1, 2)))
static char *path_of(const char *format, ...)
{
	static char paths[8][8192];
	static unsigned next;
	char *path = paths[next++ % 8];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(paths[0]), format, args);
	va_end(args);
	return path;
}

static void make_parents(const char *path)
{
	char part[8192];

	for (const char *at = path + 1; (at = strchr(at, '/')); at++) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		if (mkdir(part, 0755) < 0)
			assert_int_equal(errno, EEXIST);
	}
}

/* STAGE is a name below our own directory. */
static void put(const char *stage, const char *name, const char *text)
{
	char *path = path_of("%s/%s/%s", top, stage, name);
	FILE *file;

	make_parents(path);
	file = fopen(path, "we");
	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	fputs(text, file);
	fclose(file);
}

/* ---- the plugin ---- */

static void open_eye(struct rig *rig, const char *const *set)
{
	const char *argv[] = { "/usr/bin/python3", EYE_PLUGIN, NULL };
	mortise_plugin_options opt = {
		.size = sizeof(opt), .argv = argv, .name = "eye", .dialect = "plain", .set = set, .on_event = rig_event, .arg = rig,
	};

	rig_open(rig);
	rig->plugin = rig_plugin(rig, &opt);
}

static void open_here(struct rig *rig)
{
	open_eye(rig, SET("sandbox.view=true", path_of("sandbox.level=%s", level)));
	ask_expect(rig, "ping", NULL, "\"pong\"");
}

static void expect(struct rig *rig, const char *action, const char *path, const char *want)
{
	ask_expect(rig, action, path_of("{\"path\":\"%s\"}", path), path_of("\"%s\"", want));
}

struct answer {
	int count, status, order;
	mortise_error error;
};
static int answers;

static void on_view(mortise_plugin *plugin, int status, const mortise_error *error, void *arg)
{
	struct answer *answer = arg;

	assert_non_null(plugin);
	assert_true((status == MORTISE_OK) == (error == NULL));
	answer->count++;
	answer->status = status;
	answer->order = answers++;
	if (error)
		answer->error = *error;
}

static void order(struct rig *rig, const char *stage, const char *const *writable, struct answer *answer)
{
	mortise_view view = { .size = sizeof(view), .stage = stage, .writable = writable };
	mortise_error err = { 0 };
	int r;

	*answer = (struct answer){ 0 };
	r = mortise_plugin_set_view(rig->plugin, stage ? &view : NULL, on_view, answer, &err);
	if (r < 0)
		fail_msg("mortise_plugin_set_view: %s", err.text);
	assert_int_equal(answer->count, 0);
}

/* The stage by its name below our own directory, or whole; NULL: none. */
static struct answer try_view(struct rig *rig, const char *stage, const char *const *writable)
{
	struct answer answer;

	order(rig, stage && stage[0] != '/' ? path_of("%s/%s", top, stage) : stage, writable, &answer);
	rig_until(rig, &answer.count, 1, "the view");
	assert_int_equal(answer.count, 1);
	return answer;
}

static void view(struct rig *rig, const char *stage)
{
	struct answer answer = try_view(rig, stage, NULL);

	if (answer.status)
		fail_msg("%s: %s", stage ? stage : "no view", answer.error.text);
}

/* ---- what is seen ---- */

static void shows_exact_paths_and_new_bytes_in_the_next_view(void **state)
{
	struct rig rig;

	(void)state;
	put("a", "usr/include/mor_view/x.h", "first");
	put("a", "zz_mortise/only/here.c", "here");
	put("b", "usr/include/mor_view/x.h", "second");
	open_here(&rig);
	expect(&rig, "read", "/usr/include/mor_view/x.h", "errno ENOENT");
	view(&rig, "a");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "first");
	expect(&rig, "read", "/zz_mortise/only/here.c", "here");
	expect(&rig, "hold", "/usr/include/mor_view/x.h", "held");
	expect(&rig, "chdir", "/zz_mortise/only", "/zz_mortise/only");
	expect(&rig, "read", "here.c", "here");
	expect(&rig, "read", "../../usr/include/mor_view/x.h", "first");
	view(&rig, "b");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "second");
	expect(&rig, "read", "/zz_mortise/only/here.c", "errno ENOENT");
	expect(&rig, "list", "/zz_mortise", "errno ENOENT");
	ask_expect(&rig, "reread", NULL, "\"first\""); /* open descriptors go on working */
	view(&rig, NULL);
	expect(&rig, "read", "/usr/include/mor_view/x.h", "errno ENOENT");
	view(&rig, "a");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "first");
	rig_close(&rig);
}

/* A top-level name of the view's own, as a file and as a directory. */
static void what_was_a_file_becomes_a_directory(void **state)
{
	struct answer answer;
	struct rig rig;

	(void)state;
	put("zz1", "zz_mortise", "file");
	put("zz2", "zz_mortise/x.h", "below");
	put("zz3", "zz_mortise", "file");
	put("zz3", "proc/x", "no");
	open_here(&rig);
	for (int i = 0; i < 2; i++) {
		view(&rig, "zz1");
		expect(&rig, "read", "/zz_mortise", "file");
		view(&rig, "zz2");
		expect(&rig, "read", "/zz_mortise/x.h", "below");
	}
	answer = try_view(&rig, "zz3", NULL); /* here the old one must go before the new one fails */
	assert_int_equal(answer.status, MORTISE_EINVAL);
	assert_contains(answer.error.text, "/proc: cannot be part of a view; the view before is gone");
	expect(&rig, "list", "/zz_mortise", "errno ENOENT");
	view(&rig, "zz1");
	expect(&rig, "read", "/zz_mortise", "file");
	rig_close(&rig);
}

/* Neither the stage's files nor, where the stage covers it, the host's. */
static void is_read_only(void **state)
{
	struct rig rig;

	(void)state;
	put("a", "usr/include/mor_view/x.h", "first");
	put("a", "zz_mortise/x.h", "here");
	open_here(&rig);
	view(&rig, "a");
	ask_expect(&rig, "write", "{\"path\":\"/usr/include/mor_view/x.h\",\"text\":\"\"}", "\"errno EROFS\"");
	ask_expect(&rig, "write", "{\"path\":\"/usr/include/mor_view/new.h\",\"text\":\"\"}", "\"errno EROFS\"");
	ask_expect(&rig, "write", "{\"path\":\"/zz_mortise/new.h\",\"text\":\"\"}", "\"errno EROFS\"");
	expect(&rig, "remove", "/usr/include/mor_view/x.h", "errno EROFS");
	expect(&rig, "remove", "/zz_mortise/x.h", "errno EROFS");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "first");
	rig_close(&rig);
}

/* Field notes: equal digests share an inode. Hard links of the stage are one file, also in other directories of it. */
static void equal_files_are_one_inode(void **state)
{
	char *one, *other, *third;
	struct rig rig;

	(void)state;
	put("hard", "usr/include/mor_view/a.h", "same");
	put("hard", "usr/include/mor_view/deep/c.h", "not the same");
	assert_int_equal(link(path_of("%s/hard/usr/include/mor_view/a.h", top),
			      path_of("%s/hard/usr/include/mor_view/deep/b.h", top)), 0);
	open_here(&rig);
	view(&rig, "hard");
	one = ask(&rig, "stat", "{\"path\":\"/usr/include/mor_view/a.h\"}");
	other = ask(&rig, "stat", "{\"path\":\"/usr/include/mor_view/deep/b.h\"}");
	third = ask(&rig, "stat", "{\"path\":\"/usr/include/mor_view/deep/c.h\"}");
	assert_string_equal(one, other);
	assert_string_not_equal(one, third);
	mortise_free(one);
	mortise_free(other);
	mortise_free(third);
	rig_close(&rig);
}

/* The host's own files beside those of the stage (guarded: all; confined: as far as its rules go). */
static void host_files_stay_visible(void **state)
{
	struct rig rig;

	(void)state;
	put("a", "usr/include/mor_view/x.h", "first");
	put("lib", "usr/lib/mor_view.txt", "beside");
	open_here(&rig);
	view(&rig, "a");
	if (!confined())
		expect(&rig, "read", path_of("%s/a/zz_mortise/only/here.c", top), "here"); /* /var is not touched */
	expect(&rig, "link", "/usr/lib/os-release", "errno EINVAL"); /* a file, and it is there */
	view(&rig, "lib");
	expect(&rig, "read", "/usr/lib/mor_view.txt", "beside");
	expect(&rig, "link", "/usr/lib/os-release", "errno EINVAL");
	rig_close(&rig);
}

/* /lib is a link to usr/lib: what the stage has below lib appears there, and the link stays. */
static void top_level_link_is_followed_in_the_tree(void **state)
{
	char target[64];
	struct rig rig;

	(void)state;
	if (readlink("/lib", target, sizeof(target)) < 0)
		return;
	put("link", "lib/mor_view/x.h", "by link");
	put("link", "usr/lib/mor_view/y.h", "by name");
	put("link_only", "lib/mor_view/x.h", "alone");
	open_here(&rig);
	view(&rig, "link");
	expect(&rig, "read", "/lib/mor_view/x.h", "by link");
	expect(&rig, "read", "/usr/lib/mor_view/x.h", "by link");
	expect(&rig, "read", "/lib/mor_view/y.h", "by name");
	expect(&rig, "link", "/lib", "usr/lib");
	view(&rig, "link_only");
	expect(&rig, "read", "/usr/lib/mor_view/x.h", "alone");
	expect(&rig, "link", "/lib", "usr/lib");
	expect(&rig, "link", "/usr/lib/os-release", "errno EINVAL");
	rig_close(&rig);
}

/* A link of the host anywhere on the way: by either name the stage's file, and the host's beside it. */
static void link_further_down_is_followed(void **state)
{
	struct rig rig;

	(void)state;
	if (confined())
		return; /* nothing of the host is there to have links */
	put("host", "real/own.h", "own");
	if (symlink("real", path_of("%s/host/link", top)) < 0)
		assert_int_equal(errno, EEXIST);
	put("deep", path_of("%s/host/link/x.h", top + 1), "staged");
	open_here(&rig);
	view(&rig, "deep");
	expect(&rig, "read", path_of("%s/host/link/x.h", top), "staged");
	expect(&rig, "read", path_of("%s/host/real/x.h", top), "staged");
	expect(&rig, "read", path_of("%s/host/link/own.h", top), "own");
	expect(&rig, "read", path_of("%s/host/real/own.h", top), "own");
	view(&rig, NULL);
	expect(&rig, "read", path_of("%s/host/real/x.h", top), "errno ENOENT");
	expect(&rig, "link", path_of("%s/host/link", top), "real");
	rig_close(&rig);
}

/* ELOOP "overlapping lowerdir": the stage lies in the directory that it covers. */
static void stage_below_what_it_touches(void **state)
{
	struct rig rig;

	(void)state;
	put("inside", path_of("%s/inside_view/x.h", top + 1), "inside");
	put("inside", "var/mor_view.h", "at the top");
	put("beside", "y.h", "host");
	open_here(&rig);
	view(&rig, "inside");
	expect(&rig, "read", path_of("%s/inside_view/x.h", top), "inside");
	expect(&rig, "read", "/var/mor_view.h", "at the top");
	expect(&rig, "read", path_of("%s/beside/y.h", top), confined() ? "errno ENOENT" : "host");
	ask_expect(&rig, "write", path_of("{\"path\":\"%s/new\",\"text\":\"\"}", top), "\"errno EROFS\"");
	view(&rig, NULL);
	if (!confined())
		expect(&rig, "list", path_of("%s/beside", top), "y.h");
	rig_close(&rig);
	assert_int_equal(access("/var/mor_view.h", F_OK), -1);
}

/* Directories of the host that are closed to the plugin must not close the stage's files. As root they are not closed. */
static void closed_directories(void **state)
{
	struct rig rig;

	(void)state;
	put("closed", "root/mor_view/x.h", "at the top");
	put("closed", "var/cache/ldconfig/mor_view/x.h", "further down");
	put("closed", "etc/ssl/private/mor_view/x.h", "in an overlay");
	open_here(&rig);
	view(&rig, "closed");
	expect(&rig, "read", "/root/mor_view/x.h", "at the top");
	expect(&rig, "read", "/var/cache/ldconfig/mor_view/x.h", "further down");
	expect(&rig, "read", "/etc/ssl/private/mor_view/x.h", "in an overlay");
	rig_close(&rig);
}

static void writable_directories(void **state)
{
	char out[128], *written, text[16] = "";
	struct answer answer;
	struct rig rig;
	FILE *file;

	(void)state;
	snprintf(out, sizeof(out), "%s/out/worker 1", top);
	put("out", "worker 1/before", "old");
	put("covers", path_of("%s/out/x.h", top + 1), "x");
	put("a", "usr/include/mor_view/x.h", "first");
	open_here(&rig);
	for (int i = 0; i < 2; i++) { /* where the stage covers it, and where it does not */
		answer = try_view(&rig, i ? "a" : "covers", SET(out));
		if (answer.status)
			fail_msg("%s", answer.error.text);
		expect(&rig, "read", path_of("%s/before", out), "old");
		ask_expect(&rig, "write", path_of("{\"path\":\"%s/result\",\"text\":\"%d\"}", out, i), "\"written\"");
		written = path_of("%s/result", out);
		file = fopen(written, "re");
		assert_non_null(file);
		assert_non_null(fgets(text, sizeof(text), file));
		fclose(file);
		assert_string_equal(text, i ? "1" : "0");
		unlink(written);
	}
	view(&rig, "a");
	if (confined()) /* no longer granted, and not there */
		expect(&rig, "list", "/usr/include/mor_view", "x.h");
	rig_close(&rig);
}

/* Names from archives: what overlay's options would trip over, and what is long. */
static void odd_names(void **state)
{
	static const char *const names[] = { "a,b", "c:d", "e\\f", "g h", "i\"j", "k\nl", "upperdir=m,lowerdir=n", "%s", "-o", "..." };
	static const char *const quoted[] = { "a,b", "c:d", "e\\\\f", "g h", "i\\\"j", "k\\nl", "upperdir=m,lowerdir=n", "%s", "-o",
					      "..." };
	char longest[256];
	struct rig rig;

	(void)state;
	memset(longest, 'x', 255);
	longest[255] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		put("odd", path_of("%s/f", names[i]), "new");
		put("odd", path_of("usr/include/%s/f", names[i]), "below");
	}
	put("odd", path_of("%s/%s/%s/%s/%s/f", longest, longest, longest, longest, longest), "long");
	open_here(&rig);
	view(&rig, "odd");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		expect(&rig, "read", path_of("/%s/f", quoted[i]), "new");
		expect(&rig, "read", path_of("/usr/include/%s/f", quoted[i]), "below");
	}
	expect(&rig, "read", path_of("/%s/%s/%s/%s/%s/f", longest, longest, longest, longest, longest), "long");
	view(&rig, NULL);
	expect(&rig, "list", "/a,b", "errno ENOENT");
	rig_close(&rig);
}

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
		assert_contains(answer.error.text, path_of("eye: its view could not be set: /%s: cannot be part of a view", tops[i]));
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
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv, .dialect = "plain",
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
	assert_int_equal(mortise_plugin_set_view(rig.plugin, NULL, NULL, NULL, &err), 0); /* none, and no callback */
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
		order(&rig, i == 3 ? "/no/such/stage" : i == 4 ? NULL : path_of("%s/%s", top, i % 2 ? "b" : "a"), NULL, &got[i]);
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
	assert_int_equal(mortise_plugin_stop(rig.plugin, MORTISE_STOP_NOW), 0);
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
	ask_expect(&rig, "who", NULL, path_of("\"0000000000000000 0000000000000000 %s %u %u\"",
					      getuid() ? "-" : "0000000000000000", getuid(), getgid()));
	rig_close(&rig);
}

static int pid_of(struct rig *rig)
{
	const char *at;
	char *json = NULL;
	int pid;

	assert_int_equal(mortise_plugin_describe(rig->plugin, &json), 0);
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
	open_eye(&rig, SET("sandbox.view=true", path_of("sandbox.level=%s", confined() ? "auto" : "guarded"), "sandbox.pidns=true"));
	ask_expect(&rig, "ping", NULL, "\"pong\"");
	view(&rig, "a");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "first");
	assert_int_equal(mortise_plugin_describe(rig.plugin, &json), 0);
	assert_contains(json, path_of("\"level\":\"%s\"", level));
	mortise_free(json);
	rig_close(&rig);
}

/* ---- confined ---- */

/* Two consecutive views, and nothing else of the host: below a touched directory it does not exist, elsewhere to ask for
 * it is a violation as ever. */
static void confined_reads_the_view_and_nothing_else(void **state)
{
	struct got got;
	struct rig rig;

	(void)state;
	if (!confined())
		return;
	put("secret", "here.h", "secret");
	put("a", "usr/include/mor_view/x.h", "first");
	put("seen", path_of("%s/seen/x.h", top + 1), "second");
	put("lead_out", "usr/include/mor_view/x.h", "x");
	assert_int_equal(symlink(path_of("%s/secret", top), path_of("%s/lead_out/usr/include/mor_view/out", top)), 0);
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
	expect(&rig, "read", "/usr/include/mor_view/out/here.h", "errno ENOENT"); /* it leads nowhere in this tree */
	view(&rig, NULL);
	start(&rig, &got, "read", path_of("{\"path\":\"%s/secret/here.h\"}", top), NO_TIMER_MS);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_EVIOLATION);
	assert_contains(got.error.text, path_of("%s/secret/here.h: not in ", top));
	got_clear(&got);
	rig_close(&rig);
}

/* ---- size ---- */

static void a_thousand_files(void **state)
{
	int64_t before, set, again, cleared;
	struct rig rig;

	(void)state;
	for (int i = 0; i < 1000; i++)
		put("many", path_of("usr/include/mor_many/%d", i), "0123456789");
	put("a", "usr/include/mor_view/x.h", "first");
	open_here(&rig);
	before = now_ns();
	view(&rig, "many");
	set = now_ns();
	view(&rig, "a");
	again = now_ns();
	view(&rig, NULL);
	cleared = now_ns();
	diag("%s, uid %u: set 1,000 files %.2f ms, replace %.2f ms, take away %.2f ms", level, getuid(), (double)(set - before) / 1e6,
	     (double)(again - set) / 1e6, (double)(cleared - again) / 1e6);
	view(&rig, "many");
	for (int i = 0; i < 2; i++) {
		before = now_ns();
		ask_expect(&rig, "many", "{\"path\":\"/usr/include/mor_many\",\"count\":1000}", "\"10000\"");
		diag("... read all, pass %d: %.2f ms", i + 1, (double)(now_ns() - before) / 1e6);
	}
	rig_close(&rig);
}

static const struct CMUnitTest tests[] = {
	API_TEST(shows_exact_paths_and_new_bytes_in_the_next_view),
	API_TEST(what_was_a_file_becomes_a_directory),
	API_TEST(is_read_only),
	API_TEST(equal_files_are_one_inode),
	API_TEST(host_files_stay_visible),
	API_TEST(top_level_link_is_followed_in_the_tree),
	API_TEST(link_further_down_is_followed),
	API_TEST(stage_below_what_it_touches),
	API_TEST(closed_directories),
	API_TEST(writable_directories),
	API_TEST(with_a_pid_namespace),
	API_TEST(odd_names),
	API_TEST(links_in_the_stage_are_not_followed),
	API_TEST(refuses_what_it_cannot_show),
	API_TEST(misuse_is_told_at_once),
	API_TEST(order_is_kept),
	API_TEST(death_fails_what_waits),
	API_TEST(no_capabilities_and_the_same_numbers),
	API_TEST(nobody_else_lives_there),
	API_TEST(confined_reads_the_view_and_nothing_else),
	API_TEST(a_thousand_files),
};

/* ---- other worlds ---- */

/* "/var" has a mount inside, which no overlay would show and the kernel refuses to cover. */
static void submounts(void **state)
{
	struct rig rig;

	(void)state;
	put("mnt", "from_mount", "mounted"); /* below it a tmpfs is mounted */
	put("stage", path_of("%s/mnt/x.h", top + 1), "into the mount");
	put("stage", path_of("%s/beside/x.h", top + 1), "beside");
	open_here(&rig);
	view(&rig, "stage");
	expect(&rig, "read", path_of("%s/mnt/x.h", top), "into the mount");
	expect(&rig, "read", path_of("%s/beside/x.h", top), "beside");
	expect(&rig, "read", path_of("%s/mnt/from_mount", top), confined() ? "errno ENOENT" : "mounted");
	view(&rig, NULL);
	if (!confined())
		expect(&rig, "list", path_of("%s/mnt", top), "from_mount");
	rig_close(&rig);
}

/* What the host mounts after the start can be a stage; the plugin itself does not see the mount. */
static void a_stage_that_is_mounted_later(void **state)
{
	struct rig rig;

	(void)state;
	assert_int_equal(mkdir(path_of("%s/late", top), 0755), 0);
	open_here(&rig);
	assert_int_equal(mount("tmpfs", path_of("%s/late", top), "tmpfs", 0, "size=1m"), 0);
	put("late", "usr/include/mor_view/x.h", "late");
	view(&rig, "late");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "late");
	if (!confined())
		expect(&rig, "list", path_of("%s/late", top), "");
	view(&rig, NULL);
	rig_close(&rig);
	assert_int_equal(umount2(path_of("%s/late", top), 0), 0); /* nobody holds it */
}

/* Nothing is started, and the text says what to look at. */
static void refused_namespaces(void **state)
{
	mortise_error err;
	struct rig rig;
	struct got got;

	(void)state;
	open_eye(&rig, SET("sandbox.view=true", path_of("sandbox.level=%s", level)));
	start(&rig, &got, "ping", NULL, NO_TIMER_MS);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_EJAIL);
	assert_contains(got.error.text, "eye: ");
	assert_contains(got.error.text, "its jail could not be set up: the kernel refuses");
	assert_contains(got.error.text, "user.max_mnt_namespaces");
	got_clear(&got);
	assert_int_equal(mortise_plugin_set_view(rig.plugin, NULL, NULL, NULL, &err), MORTISE_ECLOSED);
	rig_close(&rig);
}

static const struct CMUnitTest mounts_tests[] = { API_TEST(submounts), API_TEST(a_stage_that_is_mounted_later) },
			       refused_tests[] = { API_TEST(refused_namespaces) };

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) >= 0;

	if (fd >= 0)
		close(fd);
	return done;
}

/* Ourselves in namespaces of our own; false: the machine refuses. */
static bool move_out(int namespaces)
{
	unsigned uid = geteuid(), gid = getegid();

	return unshare(namespaces) == 0 && write_text("/proc/self/setgroups", "deny") &&
	       write_text("/proc/self/uid_map", path_of("0 %u 1", uid)) &&
	       write_text("/proc/self/gid_map", path_of("0 %u 1", gid));
}

static bool prepare(const char *world)
{
	if (strcmp(world, "nobody") == 0)
		return geteuid() == 0 && setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0 &&
		       prctl(PR_SET_DUMPABLE, 1) == 0;
	if (strcmp(world, "mounts") == 0)
		return move_out(CLONE_NEWUSER | CLONE_NEWNS);
	if (strcmp(world, "refused") == 0)
		return move_out(CLONE_NEWUSER) && write_text("/proc/sys/user/max_mnt_namespaces", "0");
	return true;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static bool t1_works(void)
{
	char *json = NULL;
	bool works = mortise_doctor(&json) == 0 && strstr(json, "\"level\":\"t1\",\"available\":true");

	mortise_free(json);
	return works;
}

/* Tried by a child, which ends with them. */
static bool namespaces_work(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool possible(const char *world)
{
	return prepare(world) && (strcmp(world, "refused") == 0 || (confined() ? t1_works() : namespaces_work()));
}

static int run(const char *world)
{
	if (strcmp(world, "mounts") == 0) {
		assert_int_equal(mkdir(path_of("%s/mnt", top), 0755), 0);
		if (mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL) < 0 ||
		    mount("tmpfs", path_of("%s/mnt", top), "tmpfs", 0, "size=1m") < 0)
			return 1;
		return mor_run_group("api/view", mounts_tests);
	}
	return strcmp(world, "refused") == 0 ? mor_run_group("api/view", refused_tests) : mor_run_group("api/view", tests);
}

int main(int argc, char **argv)
{
	const char *world = argc > 2 ? argv[2] : "";
	int r;

	level = argc > 1 ? argv[1] : "guarded";
	if (!possible(world)) {
		printf("1..0 # SKIP %s %s: this machine or user cannot\n", level, world);
		return 0;
	}
	snprintf(top, sizeof(top), "/var/tmp/mortise-view-XXXXXX");
	if (!mkdtemp(top) || chmod(top, 0755) < 0 || setenv("HOME", top, 1) < 0)
		return 1;
	r = run(world);
	umount2(path_of("%s/mnt", top), MNT_DETACH);
	nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return r;
}
