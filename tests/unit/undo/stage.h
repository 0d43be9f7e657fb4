/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of undoing share: a workspace, a store, and the broker's part, note by note. A writer
 * without a note is somebody else. For one test program, hence static.
 */
#ifndef TESTS_UNIT_JAIL_UNDO_STAGE_H
#define TESTS_UNIT_JAIL_UNDO_STAGE_H

#include "leak.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tmp.h"
#include "undo/undo.h"

static char top[TMP_ROOM];
static struct mor_undo_store host;
static struct mor_undo undo;
static char left[4096];

/* ---- the stage ---- */

static const char *at(const char *name)
{
	static char names[8][PATH_MAX];
	static unsigned next;
	char *out = names[next++ % 8];

	snprintf(out, sizeof(names[0]), "%s/ws%s%s", top, *name ? "/" : "", name);
	return out;
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static const char *get(const char *path)
{
	static char text[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = 0;
	return n < 0 ? NULL : text;
}

/* Names, types, modes, contents, dates of files and texts of links, as one text. */
static void describe(const char *dir, char *out, size_t size)
{
	struct dirent **list;
	int count = scandir(dir, &list, NULL, alphasort);

	assert_true(count >= 0);
	for (int i = 0; i < count; i++) {
		char path[PATH_MAX], text[256] = "";
		struct stat st;
		size_t len = strlen(out);

		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		if (strcmp(list[i]->d_name, ".") != 0 && strcmp(list[i]->d_name, "..") != 0 &&
		    lstat(path, &st) == 0) {
			if (S_ISLNK(st.st_mode) && readlink(path, text, sizeof(text) - 1) < 0)
				text[0] = '?';
			snprintf(out + len, size - len, "%s %o %s %ld.%09ld\n", path, st.st_mode,
				 S_ISREG(st.st_mode) ? get(path) : text,
				 S_ISDIR(st.st_mode) ? 0L : (long)st.st_mtim.tv_sec,
				 S_ISDIR(st.st_mode) ? 0L : st.st_mtim.tv_nsec);
			if (S_ISDIR(st.st_mode))
				describe(path, out, size);
		}
		free(list[i]);
	}
	free(list);
}

static char before[65536], after[65536];

static void begin(void)
{
	char store[256];

	snprintf(store, sizeof(store), "%s/store", top);
	assert_int_equal(mkdir(store, 0700), 0);
	before[0] = 0;
	describe(at(""), before, sizeof(before));
	assert_int_equal(mor_undo_store_make(&host, store, at(""), "tester"), 0);
	assert_int_equal(mor_undo_begin(&undo, store), 0);
	left[0] = 0;
}

static void on_left(void *arg, const char *path, const char *why, const char *copy)
{
	size_t len = strlen(left);

	(void)arg;
	snprintf(left + len, sizeof(left) - len, "%s|%s|%s\n", path, why, copy ? get(copy) : "");
}

static struct mor_undo_result play(void)
{
	struct mor_undo_player player = { .extract = true, .on_left = on_left };
	struct mor_undo_result result;

	assert_int_equal(mor_undo_play(&host, &player, &result), 0);
	return result;
}

static void close_all(void)
{
	mor_undo_fini(&undo);
	mor_undo_store_fini(&host);
}

/* The plugin is dead: undone, and the workspace is compared. */
static struct mor_undo_result finish(const char *expected_left)
{
	struct mor_undo_result result;

	assert_int_equal(mor_undo_end(&undo), 0);
	result = play();
	assert_string_equal(left, expected_left);
	after[0] = 0;
	describe(at(""), after, sizeof(after));
	if (!*expected_left)
		assert_string_equal(after, before);
	close_all();
	return result;
}

static void drop_store(void)
{
	static const char *const parts[] = { "/journal", "/copies", "" };
	char path[256];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/store%s", top, parts[i]);
		assert_int_equal(remove(path), 0);
	}
}

static int make_stage(void **state)
{
	(void)state;
	tmp_name(top, "undo");
	if (!mkdtemp(top) || mkdir(at(""), 0755) < 0 || mkdir(at("d"), 0755) < 0)
		return -1;
	put(at("a"), "first");
	put(at("b"), "second");
	put(at("d/c"), "third");
	return symlink("a", at("l"));
}

static int open_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)type, (void)where;
	return S_ISDIR(st->st_mode) ? chmod(path, 0700) : 0;
}

static int drop_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type, (void)where;
	return remove(path);
}

static int drop_stage(void **state)
{
	(void)state;
	return nftw(top, open_one, 8, FTW_PHYS) || nftw(top, drop_one, 8, FTW_DEPTH | FTW_PHYS) ? -1 : 0;
}

/* ---- what the broker does ---- */

static int plugin_opens(const char *name, int flags)
{
	int handle = open(at(name), O_PATH | O_NOFOLLOW | O_CLOEXEC), fd;

	if (handle < 0 && flags & O_CREAT) {
		assert_int_equal(mor_undo_before_make(&undo, at(name)), 0);
		fd = open(at(name), flags | O_EXCL | O_CLOEXEC, 0644);
		assert_true(fd >= 0);
		assert_int_equal(mor_undo_made(&undo, at(name), AT_FDCWD, at(name), NULL), 0);
	} else {
		assert_true(handle >= 0);
		assert_int_equal(mor_undo_before_write(&undo, at(name), handle), 0);
		close(handle);
		fd = open(at(name), flags | O_CLOEXEC, 0644);
	}
	mor_undo_opened(&undo, at(name), fd, false);
	return fd;
}

static void plugin_writes(const char *name, const char *text)
{
	int fd = plugin_opens(name, O_WRONLY | O_CREAT | O_TRUNC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int plugin_removes(const char *name, int flags)
{
	struct mor_undo_mark mark = mor_undo_mark(&undo);
	struct mor_undo_look look;

	assert_int_equal(mor_undo_before_remove(&undo, at(name), AT_FDCWD, at(name)), 0);
	assert_int_equal(mor_undo_look(AT_FDCWD, at(name), &look), 0);
	if (unlinkat(AT_FDCWD, at(name), flags) < 0) {
		mor_undo_take_back(&undo, mark);
		return -1;
	}
	mor_undo_removed(&undo, &look.id, at(name));
	return 0;
}

static int plugin_moves(const char *from, const char *to, unsigned flags)
{
	struct mor_undo_mark mark = mor_undo_mark(&undo);
	struct mor_undo_name a = { at(from), at(from), AT_FDCWD }, b = { at(to), at(to), AT_FDCWD };
	struct mor_undo_look look = { 0 };

	assert_int_equal(mor_undo_before_move(&undo, &a, &b, flags), 0);
	(void)mor_undo_look(AT_FDCWD, at(to), &look);
	if (renameat2(AT_FDCWD, at(from), AT_FDCWD, at(to), flags) < 0) {
		mor_undo_take_back(&undo, mark);
		return -1;
	}
	if (!(flags & RENAME_EXCHANGE))
		mor_undo_removed(&undo, &look.id, at(to));
	mor_undo_moved(&undo, at(from), at(to), flags);
	return 0;
}

static void plugin_made(const char *name)
{
	assert_int_equal(mor_undo_made(&undo, at(name), AT_FDCWD, at(name), NULL), 0);
}

static void plugin_links(const char *source, const char *name)
{
	if (link(at(source), at(name)) == 0)
		assert_int_equal(mor_undo_made(&undo, at(name), AT_FDCWD, at(name), at(source)), 0);
}

static __attribute__((unused)) void plugin_makes_directory(const char *name)
{
	assert_int_equal(mkdir(at(name), 0755), 0);
	plugin_made(name);
}

static void plugin_chmods(const char *name, mode_t mode)
{
	int fd = open(at(name), O_PATH | O_CLOEXEC);

	assert_int_equal(mor_undo_before_attrs(&undo, at(name), fd), 0);
	assert_int_equal(chmod(at(name), mode), 0);
	close(fd);
}

static int setup(void **state)
{
	return make_stage(state) ? -1 : leak_setup(state);
}

static int teardown(void **state)
{
	return leak_teardown(state) | drop_stage(state);
}

#define STAGED(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

#endif
