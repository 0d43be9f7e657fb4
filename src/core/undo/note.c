/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes what the broker will do. See undo.h.
 *
 * Everything runs in the broker's only thread and, after its end, in the guardian's first thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "undo/known.h"

#define ALIGNED(at) (((at) + 4095) & ~(uint64_t)4095) /* blocks that a file system can share */
#define OVERFLOW_ID 65534u

bool mor_undo_covers(const struct mor_undo *undo, const char *where)
{
	return undo && strncmp(where, undo->store.root, undo->root_len) == 0 &&
	       (where[undo->root_len] == '/' || !where[undo->root_len]);
}

/* The name of a path below the workspace. */
static const char *below_workspace(const struct mor_undo *undo, const char *where)
{
	return where[undo->root_len] ? where + undo->root_len + 1 : "";
}

/* ---- the journal ---- */

struct draft {
	const char *path, *other;
	struct mor_undo_entry entry; /* without the texts */
};

static int append_draft(struct mor_undo *undo, struct draft *draft)
{
	int status = mor_undo_store_add(&undo->store, &undo->journal_end, &draft->entry, draft->path,
					draft->other ? draft->other : "");

	undo->entries += status == 0;
	return status;
}

/* Reported once: the first one is what stopped the plugin. It has its own space. */
static int refuse_change(struct mor_undo *undo, const char *where, int error)
{
	struct draft draft = { .path = below_workspace(undo, where),
			       .entry = { .kind = MOR_UNDO_REFUSED, .error = error } };

	if (!undo->refused && error != EINTR)
		undo->refused = append_draft(undo, &draft) == 0;
	return -error;
}

static int have_room(struct mor_undo *undo, const char *where)
{
	/* The list also grows without entries: by files that never get a name. */
	return undo->entries < MOR_UNDO_ENTRIES && undo->count < 2 * MOR_UNDO_ENTRIES ?
		       0 :
		       refuse_change(undo, where, EDQUOT);
}

static int note_draft(struct mor_undo *undo, const char *where, struct draft *draft)
{
	int status = have_room(undo, where);

	if (status == 0) {
		draft->path = below_workspace(undo, where);
		status = append_draft(undo, draft);
	}
	return status;
}

/* At t1 the guardian has a user namespace with one user and one group: all others look the same there. */
static bool are_mapped(struct mor_undo *undo)
{
	char map[64] = "";
	int fd = undo->mapped < 0 ? open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		undo->mapped = read(fd, map, sizeof(map) - 1) <= 0 || !strstr(map, " 4294967295");
		close(fd);
	}
	return undo->mapped != 0;
}

static uint32_t true_id(struct mor_undo *undo, uint32_t id, uint32_t own)
{
	return id == OVERFLOW_ID && id != own && are_mapped(undo) ? MOR_UNDO_ID_UNKNOWN : id;
}

static void describe_entry(struct mor_undo *undo, struct mor_undo_entry *entry, enum mor_undo_kind kind,
			   const struct mor_undo_look *look)
{
	*entry = (struct mor_undo_entry){
		.kind = kind,
		.mode = look->mode,
		.id = look->id,
		.uid = true_id(undo, look->uid, geteuid()),
		.gid = true_id(undo, look->gid, getegid()),
		.atime_ns = look->atime_ns,
		.mtime_ns = look->mtime_ns,
		.bytes = look->bytes,
		.links = look->links,
	};
}

struct mor_undo_mark mor_undo_mark(const struct mor_undo *undo)
{
	if (!undo)
		return (struct mor_undo_mark){ 0 };
	return (struct mor_undo_mark){ undo->journal_end, undo->copies_end, undo->entries };
}

void mor_undo_take_back(struct mor_undo *undo, struct mor_undo_mark mark)
{
	if (!undo || mark.entries == undo->entries)
		return;
	if (ftruncate(undo->store.journal, (off_t)mark.journal_end) < 0)
		return; /* then the entry stays, and undoing finds that the change was not made */
	undo->journal_end = mark.journal_end;
	undo->copies_end = mark.copies_end;
	undo->entries = mark.entries;
}

/* ---- copies ---- */

static int save(struct mor_undo *undo, const char *where, int fd, const struct mor_undo_look *look,
		struct mor_undo_known *known)
{
	uint64_t at = ALIGNED(undo->copies_end);
	int from, status;

	if (look->bytes > MOR_UNDO_BYTES || at > MOR_UNDO_BYTES - look->bytes)
		return refuse_change(undo, where, EDQUOT);
	if ((from = mor_fd_reopen(fd, O_RDONLY | O_NONBLOCK | O_NOCTTY)) < 0)
		return refuse_change(undo, where, -from);
	status = mor_undo_copy(from, 0, undo->store.copies, at, look->bytes, undo->wanted, undo->arg);
	mor_fd_close(&from);
	if (status < 0)
		return refuse_change(undo, where, -status);
	known->copy = at;
	known->bytes = look->bytes;
	known->atime_ns = look->atime_ns;
	known->mtime_ns = look->mtime_ns;
	undo->copies_end = at + look->bytes;
	return 0;
}

/* ---- before ---- */

int mor_undo_before_write(struct mor_undo *undo, const char *where, int fd)
{
	struct mor_undo_known *known;
	struct mor_undo_look look;
	struct draft draft = { 0 };
	int status;

	if (!mor_undo_covers(undo, where))
		return 0;
	status = mor_undo_look(fd, "", &look);
	if (status < 0 || !S_ISREG(look.mode) || !look.links)
		return status;
	known = mor_undo_known_add(undo, &look.id, below_workspace(undo, where));
	if (!known)
		return -ENOMEM;
	if (known->ours || known->saved)
		return 0;
	status = have_room(undo, where);
	if (status == 0)
		status = save(undo, where, fd, &look, known);
	if (status < 0)
		return status;
	mor_undo_known_watch(undo, known, fd);
	describe_entry(undo, &draft.entry, MOR_UNDO_CHANGED, &look);
	draft.entry.copy = known->copy;
	status = note_draft(undo, where, &draft);
	known->saved = status == 0;
	return status;
}

/* Every time, not only the first: a step between two changes of a mode may need the mode between them. */
int mor_undo_before_attrs(struct mor_undo *undo, const char *where, int fd)
{
	struct mor_undo_look look;
	struct draft draft = { 0 };
	int status;

	if (!mor_undo_covers(undo, where))
		return 0;
	status = mor_undo_look(fd, "", &look);
	if (status < 0 || !look.links)
		return status;
	if (!mor_undo_known_add(undo, &look.id, below_workspace(undo, where))) /* to know the mode at the end */
		return -ENOMEM;
	describe_entry(undo, &draft.entry, MOR_UNDO_ATTRS, &look);
	return note_draft(undo, where, &draft);
}

static int read_link(int parent, const char *name, char text[PATH_MAX])
{
	ssize_t len = readlinkat(parent, name, text, PATH_MAX);

	if (len < 0 || len == PATH_MAX)
		return len < 0 ? -errno : -ENAMETOOLONG;
	text[len] = 0;
	return 0;
}

/* The first content of the file, saved now or before. */
static int keep_content(struct mor_undo *undo, const char *where, int parent, const char *name,
			const struct mor_undo_look *look, struct mor_undo_entry *entry)
{
	struct mor_undo_known *known = mor_undo_known_add(undo, &look->id, below_workspace(undo, where));
	int fd, status = 0;

	if (!known)
		return -ENOMEM;
	if (!known->saved) {
		fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		status = fd < 0 ? -errno : save(undo, where, fd, look, known);
		mor_fd_close(&fd);
	}
	entry->copy = known->copy;
	entry->bytes = known->bytes;
	entry->atime_ns = known->atime_ns;
	entry->mtime_ns = known->mtime_ns;
	return status;
}

static bool is_ours(struct mor_undo *undo, const struct mor_undo_id *id)
{
	const struct mor_undo_known *known = mor_undo_known_find(undo, id);

	return known && known->ours;
}

static int note_removal(struct mor_undo *undo, const char *where, int parent, const char *name,
			const struct mor_undo_look *look)
{
	struct draft draft = { 0 };
	char text[PATH_MAX];
	int status = have_room(undo, where);

	if (status < 0)
		return status;
	describe_entry(undo, &draft.entry, MOR_UNDO_REMOVED, look);
	/* What the plugin made need not come back, and its earlier changes neither. But other things may
	 * have gone through its directories, and must go back the same way. */
	draft.entry.ours = !S_ISDIR(look->mode) && is_ours(undo, &look->id);
	if (draft.entry.ours && look->links == 1)
		draft.entry.kind = MOR_UNDO_GONE;
	else if (draft.entry.ours)
		draft.entry.bytes = 0; /* if it cannot be linked again, a file must exist that can go back */
	else if (S_ISREG(look->mode))
		status = keep_content(undo, where, parent, name, look, &draft.entry);
	else if (S_ISLNK(look->mode))
		status = read_link(parent, name, text);
	draft.other = S_ISLNK(look->mode) ? text : NULL;
	return status < 0 ? status : note_draft(undo, where, &draft);
}

int mor_undo_before_remove(struct mor_undo *undo, const char *where, int parent, const char *name)
{
	struct mor_undo_look look;
	int status;

	if (!mor_undo_covers(undo, where))
		return 0;
	status = mor_undo_look(parent, name, &look);
	return status < 0 ? status : note_removal(undo, where, parent, name, &look);
}

/* Two names of one file: rename does nothing then. */
int mor_undo_before_move(struct mor_undo *undo, const struct mor_undo_name *from,
			 const struct mor_undo_name *to, unsigned flags)
{
	bool swap = flags & RENAME_EXCHANGE;
	struct mor_undo_look moved, there = { 0 };
	struct draft draft = { 0 };
	int status, found;

	if (mor_undo_covers(undo, from->where) != mor_undo_covers(undo, to->where))
		return -EXDEV;
	if (!mor_undo_covers(undo, from->where))
		return 0;
	status = mor_undo_look(from->parent, from->name, &moved);
	found = mor_undo_look(to->parent, to->name, &there);
	if (status < 0 || (found == 0 && mor_undo_same(&moved.id, &there.id)))
		return status;
	if (found == 0 && !swap && !(flags & RENAME_NOREPLACE))
		status = note_removal(undo, to->where, to->parent, to->name, &there);
	describe_entry(undo, &draft.entry, swap ? MOR_UNDO_SWAPPED : MOR_UNDO_MOVED, &moved);
	draft.entry.id2 = there.id;
	draft.other = below_workspace(undo, to->where);
	return status < 0 ? status : note_draft(undo, from->where, &draft);
}

int mor_undo_before_make(struct mor_undo *undo, const char *where)
{
	return mor_undo_covers(undo, where) ? have_room(undo, where) : 0;
}

/* ---- after ---- */

static void rename_to(struct mor_undo_known *known, const char *path)
{
	char *copy = mor_strdup(path);

	mor_free(known->path);
	known->path = copy; /* no entry: then its final state is not known */
}

/* If a file has a second name, the new name stays: link and unlink are a rename of the old one. */
int mor_undo_made(struct mor_undo *undo, const char *where, int parent, const char *name, const char *source)
{
	struct mor_undo_known *known;
	struct mor_undo_look look;
	struct draft draft = { 0 };
	int status;

	if (!mor_undo_covers(undo, where))
		return 0;
	if ((status = mor_undo_look(parent, name, &look)) < 0)
		return status;
	describe_entry(undo, &draft.entry, MOR_UNDO_MADE, &look);
	known = mor_undo_known_add(undo, &look.id, below_workspace(undo, where));
	if (!known)
		return -ENOMEM;
	if (look.links == 1 || !S_ISREG(look.mode))
		known->ours = true;
	else
		rename_to(known, below_workspace(undo, where));
	if (source && mor_undo_covers(undo, source) && look.links > 1)
		draft.other = below_workspace(undo, source);
	return note_draft(undo, where, &draft);
}

void mor_undo_removed(struct mor_undo *undo, const struct mor_undo_id *id, const char *where)
{
	struct mor_undo_known *known = mor_undo_covers(undo, where) ? mor_undo_known_find(undo, id) : NULL;

	if (!known || !known->path || strcmp(known->path, below_workspace(undo, where)) != 0)
		return;
	mor_free(known->path);
	known->path = NULL;
}

/* The files of a directory move with it. */
static bool move_known(struct mor_undo_known *known, const char *from, const char *to)
{
	char path[2 * PATH_MAX];
	size_t len = strlen(from);

	if (!known->path || strncmp(known->path, from, len) != 0 ||
	    (known->path[len] && known->path[len] != '/'))
		return false;
	snprintf(path, sizeof(path), "%s%s", to, known->path + len);
	rename_to(known, path);
	return true;
}

void mor_undo_moved(struct mor_undo *undo, const char *from, const char *to, unsigned flags)
{
	const char *old, *new;

	if (!mor_undo_covers(undo, from) || !mor_undo_covers(undo, to))
		return;
	old = below_workspace(undo, from), new = below_workspace(undo, to);
	for (size_t i = 0; i < undo->count; i++)
		if (!move_known(&undo->known[i], old, new) && flags & RENAME_EXCHANGE)
			move_known(&undo->known[i], new, old);
}

void mor_undo_opened(struct mor_undo *undo, const char *where, int fd, bool unnamed)
{
	struct mor_undo_known *known;
	struct mor_undo_look look;

	if (!mor_undo_covers(undo, where) || mor_undo_look(fd, "", &look) < 0)
		return;
	known = unnamed ? mor_undo_known_add(undo, &look.id, "") : mor_undo_known_find(undo, &look.id);
	if (!known)
		return;
	if (unnamed) {
		known->ours = true;
		mor_free(known->path);
		known->path = NULL;
	}
	known->opens++;
	mor_undo_known_watch(undo, known, fd);
}

/* ---- beginning and end ---- */

int mor_undo_begin(struct mor_undo *undo, const char *dir)
{
	struct stat journal, copies;
	int status;

	*undo = (struct mor_undo)MOR_UNDO_INIT;
	if ((status = mor_undo_store_open(&undo->store, dir, LOCK_SH)) < 0)
		return status;
	if (fstat(undo->store.journal, &journal) < 0 || fstat(undo->store.copies, &copies) < 0)
		return -errno;
	undo->journal_end = (uint64_t)journal.st_size;
	undo->copies_end = (uint64_t)copies.st_size;
	undo->root_len = strlen(undo->store.root) == 1 ? 0 : strlen(undo->store.root);
	undo->root = open(undo->store.root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (undo->root < 0)
		return -errno;
	undo->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return 0;
}

static int note_left(struct mor_undo *undo, const struct mor_undo_known *known)
{
	struct mor_undo_look look;
	struct draft draft = { .path = known->path };

	if (!known->path || mor_undo_look(undo->root, known->path, &look) < 0 ||
	    !mor_undo_same(&look.id, &known->id))
		return 0; /* then undoing finds that it does not exist */
	describe_entry(undo, &draft.entry, MOR_UNDO_LEFT, &look);
	draft.entry.foreign = !undo->blind && known->watch >= 0 && undo->closes[known->watch] > known->opens;
	return append_draft(undo, &draft);
}

int mor_undo_end(struct mor_undo *undo)
{
	struct draft end = { .path = "", .entry = { .kind = MOR_UNDO_END } };
	int status = 0;

	if (!undo || undo->root < 0)
		return 0;
	mor_undo_hear(undo);
	for (size_t i = 0; status == 0 && i < undo->count; i++)
		status = note_left(undo, &undo->known[i]);
	return status < 0 ? status : append_draft(undo, &end);
}

/* ---- the host is dead ---- */

struct undo_telling {
	struct mor_undo *undo;
	char text[2 * PATH_MAX];
};

static void tell_changes(struct undo_telling *telling)
{
	struct draft draft = { .path = telling->text, .entry = { .kind = MOR_UNDO_TOLD } };

	(void)append_draft(telling->undo, &draft);
}

static void tell_left(void *arg, const char *path, const char *why, const char *copy)
{
	struct undo_telling *telling = arg;

	(void)copy;
	snprintf(telling->text, sizeof(telling->text), "not undone: %.4000s: %s", path, why);
	tell_changes(telling);
}

void mor_undo_alone(struct mor_undo *undo)
{
	static struct undo_telling telling;
	struct mor_undo_player player = { .on_left = tell_left, .arg = &telling };
	struct mor_undo_result result;
	char summary[MOR_UNDO_SUMMARY];

	if (!undo || undo->root < 0 || flock(undo->store.journal, LOCK_EX | LOCK_NB) < 0)
		return;
	telling.undo = undo;
	if (mor_undo_play(&undo->store, &player, &result) < 0)
		return;
	mor_undo_summary(&result, summary);
	snprintf(telling.text, sizeof(telling.text), "undone: %s", summary);
	tell_changes(&telling);
}

void mor_undo_fini(struct mor_undo *undo)
{
	for (size_t i = 0; i < undo->count; i++)
		mor_free(undo->known[i].path);
	mor_free(undo->known);
	mor_free(undo->closes);
	mor_undo_map_fini(&undo->index);
	mor_fd_close(&undo->watch);
	mor_fd_close(&undo->root);
	mor_undo_store_fini(&undo->store);
	*undo = (struct mor_undo)MOR_UNDO_INIT;
}
