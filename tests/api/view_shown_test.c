/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin sees of a view, and of the host beside it. */
#include "view.h"

#include <errno.h>
#include <unistd.h>

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
	ask_expect(&rig, "write", "{\"path\":\"/usr/include/mor_view/new.h\",\"text\":\"\"}",
		   "\"errno EROFS\"");
	ask_expect(&rig, "write", "{\"path\":\"/zz_mortise/new.h\",\"text\":\"\"}", "\"errno EROFS\"");
	expect(&rig, "remove", "/usr/include/mor_view/x.h", "errno EROFS");
	expect(&rig, "remove", "/zz_mortise/x.h", "errno EROFS");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "first");
	rig_close(&rig);
}

static void expect_one_inode(struct rig *rig, const char *dir)
{
	char *one = ask(rig, "stat", path_of("{\"path\":\"/%s/a.h\"}", dir));
	char *other = ask(rig, "stat", path_of("{\"path\":\"/%s/deep/b.h\"}", dir));
	char *third = ask(rig, "stat", path_of("{\"path\":\"/%s/deep/c.h\"}", dir));

	assert_string_equal(one, other);
	assert_string_not_equal(one, third);
	mortise_free(one);
	mortise_free(other);
	mortise_free(third);
}

/* Field notes: equal digests share an inode. Hard links of the stage are one file, also in other directories of
 * it, and where the stage itself lies below what it touches. */
static void equal_files_are_one_inode(void **state)
{
	char dirs[2][128] = { "usr/include/mor_view" };
	struct rig rig;

	(void)state;
	snprintf(dirs[1], sizeof(dirs[1]), "%s/equal", top + 1);
	for (int i = 0; i < 2; i++) {
		put("hard", path_of("%s/a.h", dirs[i]), "same");
		put("hard", path_of("%s/deep/c.h", dirs[i]), "not the same");
		assert_int_equal(link(path_of("%s/hard/%s/a.h", top, dirs[i]),
				      path_of("%s/hard/%s/deep/b.h", top, dirs[i])),
				 0);
	}
	open_here(&rig);
	view(&rig, "hard");
	for (int i = 0; i < 2; i++)
		expect_one_inode(&rig, dirs[i]);
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
		/* /var is not touched */
		expect(&rig, "read", path_of("%s/a/zz_mortise/only/here.c", top), "here");
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

/* More directories than an order has room for: none of them counts, and the stage is looked through. */
static void too_many_directories_are_none(void **state)
{
	struct rig rig;

	(void)state;
	put("many", "usr/mor_view/x.h", "one of them");
	open_here(&rig);
	more_directories = 800;
	view(&rig, "many");
	more_directories = 0;
	expect(&rig, "read", "/usr/mor_view/x.h", "one of them");
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

/* Directories of the host that are closed to the plugin must not close the stage's files. As root they
 * are not closed. */
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
		ask_expect(&rig, "write", path_of("{\"path\":\"%s/result\",\"text\":\"%d\"}", out, i),
			   "\"written\"");
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
	static const char *const names[] = {
		"a,b", "c:d", "e\\f", "g h", "i\"j", "k\nl", "upperdir=m,lowerdir=n", "%s", "-o", "..."
	};
	static const char *const quoted[] = {
		"a,b", "c:d", "e\\\\f", "g h", "i\\\"j", "k\\nl", "upperdir=m,lowerdir=n", "%s", "-o", "..."
	};
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
	diag("%s, uid %u: set 1,000 files %.2f ms, replace %.2f ms, take away %.2f ms", level, getuid(),
	     (double)(set - before) / 1e6, (double)(again - set) / 1e6, (double)(cleared - again) / 1e6);
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
	API_TEST(too_many_directories_are_none),
	API_TEST(stage_below_what_it_touches),
	API_TEST(closed_directories),
	API_TEST(writable_directories),
	API_TEST(odd_names),
	API_TEST(a_thousand_files),
};

int run_in(const char *world)
{
	(void)world;
	return mor_run_group("api/view-shown", tests);
}
