/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise_undo_…(): stores that can undo what a confined program changes (src/core/undo/undo.h), and those that
 * killed runs have left.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <mortise/undo.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/options.h"
#include "base/path.h"
#include "base/text.h"
#include "undo/scratch.h"
#include "undo/undo.h"

#define DIGITS    16
#define KEEP_S    (7 * 24 * 3600)  /* old contents of what could not be undone */
#define FORGET_S  (30 * 24 * 3600) /* a store that no later run has used      */
#define LINES_MAX 20

struct mortise_undo {
	struct mor_undo_store store;
	char *path;
	mortise_undo_note_fn *on_note;
	void *arg;
	unsigned lines;
	bool failed; /* undoing failed: the store is kept for the next run here */
	mortise_undo_result result;
	pid_t pid; /* the process that made it: a forked child has a copy */
};

/* ---- telling ---- */

static void say_line(struct mortise_undo *undo, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say_line(struct mortise_undo *undo, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	va_list args;

	va_start(args, format);
	mor_buf_vprintf(&line, format, args);
	va_end(args);
	if (undo->on_note && mor_buf_byte(&line, '\0') == 0)
		undo->on_note(line.data, undo->arg);
}

/* Names come from the plugin, so they are made printable. */
static void say_left(void *arg, const char *path, const char *why, const char *copy)
{
	struct mortise_undo *undo = arg;
	char shown[600], kept[600];

	if (undo->lines++ >= LINES_MAX)
		return;
	mor_printable(mor_slice_of(*path ? path : "."), shown, sizeof(shown));
	if (copy)
		say_line(undo, "not undone: %s: %s; its old content: %s", shown, why,
			 mor_printable(mor_slice_of(copy), kept, sizeof(kept)));
	else
		say_line(undo, "not undone: %s: %s", shown, why);
}

static void say_refused(void *arg, const char *path, int error)
{
	struct mortise_undo *undo = arg;
	char shown[600];

	undo->result.refused++;
	mor_printable(mor_slice_of(path), shown, sizeof(shown));
	if (error == EDQUOT)
		say_line(undo, "%s could not be changed: at most 1 GiB and %u changes can be kept for undoing",
			 shown, MOR_UNDO_ENTRIES);
	else
		say_line(undo, "%s could not be changed: its old content could not be kept for undoing: %s",
			 shown, strerrordesc_np(error));
}

/* ---- playing ---- */

static int play(struct mortise_undo *undo, bool only_tell)
{
	struct mor_undo_player player = {
		.only_tell = only_tell,
		.extract = true,
		.on_left = say_left,
		.on_refused = say_refused,
		.arg = undo,
	};
	struct mor_undo_result done;
	int status;

	undo->lines = 0;
	status = mor_undo_play(&undo->store, &player, &done);
	if (undo->lines > LINES_MAX)
		say_line(undo, "not undone: %u more", undo->lines - LINES_MAX);
	undo->result.changed = done.changed;
	undo->result.created = done.created;
	undo->result.removed = done.removed;
	undo->result.left = done.left;
	return status;
}

static void summarise(const struct mortise_undo *undo, char text[MOR_UNDO_SUMMARY])
{
	mor_undo_summary(&(struct mor_undo_result){ .changed = undo->result.changed,
						    .created = undo->result.created,
						    .removed = undo->result.removed },
			 text);
}

/* Copies of what was not undone stay: then the directory is not empty. */
static void drop_files(const struct mor_undo_store *store, const char *path)
{
	unlinkat(store->dir, MOR_UNDO_COPIES, 0);
	unlinkat(store->dir, MOR_UNDO_JOURNAL, 0);
	rmdir(path);
}

/* ---- stores of killed runs ---- */

static bool repeat_told(struct mortise_undo *old, const struct mor_undo_list *list)
{
	bool any = false;

	for (size_t i = 0; i < list->count; i++) {
		char shown[1200];

		if (list->entry[i]->kind != MOR_UNDO_TOLD)
			continue;
		say_line(old, "%s was killed when it last ran here; %s", old->store.name,
			 mor_printable(mor_slice_of(mor_undo_path(list->entry[i])), shown, sizeof(shown)));
		any = true;
	}
	return any;
}

/* If only the host was killed, everything is known, and the run is undone now. If its guardian was killed too,
 * nobody knows who has changed what since then: its changes stay, and the old contents are put aside. */
static void settle_store(struct mortise_undo *old)
{
	char summary[MOR_UNDO_SUMMARY];
	struct mor_undo_list list;
	bool told, ended;
	int status;

	if (mor_undo_store_read(&old->store, &list) < 0)
		return;
	told = repeat_told(old, &list);
	ended = list.count && list.entry[list.count - 1]->kind == MOR_UNDO_END;
	status = !told && list.count ? play(old, !ended) : 0;
	summarise(old, summary);
	if (status < 0)
		say_line(old, "%s was killed when it last ran here, and its changes cannot be undone: %s",
			 old->store.name, strerrordesc_np(-status));
	else if (!told && list.count && ended)
		say_line(old, "%s was killed when it last ran here; undone: %s", old->store.name, summary);
	else if (!told && list.count)
		say_line(old, "%s and its guardian were killed when it last ran here: its changes stay",
			 old->store.name);
	mor_undo_list_fini(&list);
	drop_files(&old->store, old->path);
}

static void remove_whole(int parent, const char *name)
{
	struct mor_scratch tree = { .parent = fcntl(parent, F_DUPFD_CLOEXEC, 0), .dir = -1 };

	if (snprintf(tree.name, sizeof(tree.name), "%s", name) < (int)sizeof(tree.name))
		tree.dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	mor_scratch_remove(&tree);
}

/* One directory. If its journal can be locked, a killed run left it; without a journal it holds only copies. */
static void look_at_store(struct mortise_undo *undo, const char *parent, int dir, const char *name)
{
	struct mortise_undo old = { .on_note = undo->on_note, .arg = undo->arg };
	int64_t now = (int64_t)time(NULL);
	struct stat st;
	int status;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return;
	old.path = mor_path_join(parent, name);
	status = old.path ? mor_undo_store_open(&old.store, old.path, LOCK_EX) : -ENOMEM;
	if (status == 0 && strcmp(old.store.root, undo->store.root) == 0)
		settle_store(&old);
	else if ((status == 0 && now - old.store.head->made_s > FORGET_S) ||
		 ((status == -ENOENT || status == -EPROTO) && now - (int64_t)st.st_mtime > KEEP_S))
		remove_whole(dir, name);
	if (old.path)
		mor_undo_store_fini(&old.store);
	mor_free(old.path);
}

static void look_around(struct mortise_undo *undo, const char *parent)
{
	DIR *list = opendir(parent);

	for (struct dirent *entry; list && (entry = readdir(list));)
		if (strlen(entry->d_name) == DIGITS && mor_hex_count(entry->d_name) == DIGITS)
			look_at_store(undo, parent, dirfd(list), entry->d_name);
	if (list)
		closedir(list);
}

/* ---- a new one ---- */

static int make_store(struct mortise_undo *undo, const char *parent, const char *root, const char *name)
{
	unsigned long long number;
	char text[DIGITS + 1];
	int status;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(text, sizeof(text), "%016llx", number);
	undo->path = mor_path_join(parent, text);
	status = undo->path ? mor_dir_make_all(AT_FDCWD, undo->path, 0700) : -ENOMEM;
	return status < 0 ? status : mor_undo_store_make(&undo->store, undo->path, root, name);
}

int mortise_undo_new(const mortise_undo_options *given, mortise_undo **ret, mortise_error *err)
{
	mortise_undo_options opt;
	mortise_undo *undo;
	char root[PATH_MAX];
	int r = mor_import_options(given, &opt, sizeof(opt), err);

	if (r < 0)
		return r;
	if (!opt.directory || opt.directory[0] != '/' || !opt.workspace || opt.workspace[0] != '/')
		return mor_fail(err, MORTISE_EINVAL,
				"undo options: directory and workspace must be absolute paths");
	if (!realpath(opt.workspace, root))
		return mor_fail_errno(err, MORTISE_ENOTFOUND, errno, "the workspace %s", opt.workspace);
	undo = mor_zalloc(sizeof(*undo));
	if (!undo)
		return mor_fail_memory(err);
	undo->store = (struct mor_undo_store)MOR_UNDO_STORE_INIT;
	undo->on_note = opt.on_note;
	undo->arg = opt.arg;
	undo->pid = getpid();
	r = make_store(undo, opt.directory, root, opt.name ? opt.name : "a plugin");
	if (r < 0) {
		mortise_undo_free(undo);
		return mor_fail_errno(err, r == -ENOMEM ? MORTISE_ENOMEM : MORTISE_ESYSTEM, -r,
				      "%s, where undoing keeps old contents", opt.directory);
	}
	look_around(undo, opt.directory);
	*ret = undo;
	return 0;
}

const char *mortise_undo_store(const mortise_undo *undo)
{
	return undo ? undo->path : NULL;
}

int mortise_undo_run(mortise_undo *undo, mortise_undo_result *ret, mortise_error *err)
{
	char summary[MOR_UNDO_SUMMARY];
	int status;

	if (!undo || !ret || ret->size < sizeof(ret->size))
		return mor_fail(err, MORTISE_EINVAL,
				"undo: set the result's size to sizeof(mortise_undo_result)");
	if (undo->pid != getpid())
		return mor_fail(err, MORTISE_ETHREAD,
				"undoing in %s: only the process that began it may do this, not a forked child",
				undo->store.root);
	undo->failed = true;
	/* If it is still locked, the guardian hangs in the kernel, and perhaps the plugin too. */
	if (flock(undo->store.journal, LOCK_EX | LOCK_NB) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "undoing in %s: its guardian has not ended",
				      undo->store.root);
	if ((status = play(undo, false)) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -status, "undoing in %s", undo->store.root);
	if (ftruncate(undo->store.journal, undo->store.head->size) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", undo->path);
	undo->failed = false;
	summarise(undo, summary);
	if (undo->result.changed || undo->result.created || undo->result.removed)
		say_line(undo, "undone: %s", summary);
	undo->result.size = ret->size;
	memcpy(ret, &undo->result, ret->size < sizeof(*ret) ? ret->size : sizeof(*ret));
	return 0;
}

mortise_undo *mortise_undo_free(mortise_undo *undo)
{
	/* Otherwise it stays: for the process that we were forked from, or for the next run here. */
	bool ours = undo && undo->pid == getpid() && !undo->failed;

	if (!undo)
		return NULL;
	if (ours && undo->store.dir >= 0)
		drop_files(&undo->store, undo->path);
	else if (ours && undo->path)
		rmdir(undo->path);
	mor_undo_store_fini(&undo->store);
	mor_free(undo->path);
	mor_free(undo);
	return NULL;
}
