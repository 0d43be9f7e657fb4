/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Undoes what a confined plugin did in its workspace. Everything needed for that is in the *store*, a directory
 * that the plugin cannot reach, with two files:
 *
 *	journal  a head, then one entry per change, in the order in which they were made
 *	copies   the old contents of changed and removed files
 *
 * The host makes the store (mor_undo_store_make()), the guardian's broker fills it (struct mor_undo), and the
 * process that takes the journal's exclusive lock may undo (mor_undo_play): the host if the run has failed, the
 * guardian if the host is dead, the next run if both were killed. A change is noted before it is made. A new
 * thing is noted after it was made, because only then it has an identity.
 *
 * Undoing goes backwards through the journal, so that every name means what it meant then. It changes only
 * things that still have the identity (device, inode, time of birth) that the plugin left, and only files that
 * nobody else has written to since. Everything else stays and is reported. Names are looked up part by part
 * below the workspace, without following links.
 *
 * A journal is read only on the machine and by the version that wrote it.
 */
#ifndef MOR_UNDO_UNDO_H
#define MOR_UNDO_UNDO_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Beyond these limits a change is refused (EDQUOT), and the journal says so. */
#define MOR_UNDO_BYTES   ((uint64_t)1 << 30) /* bytes of copies */
#define MOR_UNDO_ENTRIES 100000u

#define MOR_UNDO_JOURNAL "journal"
#define MOR_UNDO_COPIES  "copies"
#define MOR_UNDO_FILES   "files" /* contents of files that could not be undone, under their own names */

/* ---- the format ---- */

#define MOR_UNDO_MAGIC      0x4f444e55524f4dULL /* "MORUNDO" */
#define MOR_UNDO_VERSION    1u
#define MOR_UNDO_ID_UNKNOWN UINT32_MAX

struct mor_undo_head {
	uint64_t magic;
	uint32_t version, size; /* of the head with its texts, a multiple of 8 */
	uint64_t device, inode; /* of the workspace                            */
	int64_t made_s;         /* when, in seconds since 1970                 */
	char texts[];           /* the workspace, without links; the name of the run */
};

/* The same file as long as all three are equal: inode numbers alone are used again. */
struct mor_undo_id {
	uint64_t device, inode;
	int64_t born_ns; /* 0 if the file system does not know */
};

enum mor_undo_kind {
	MOR_UNDO_MADE = 1, /* id: the new thing; other: its earlier name, for a file with two names */
	MOR_UNDO_CHANGED,  /* id: the file, before it was first opened to be written; copy, bytes, times */
	MOR_UNDO_ATTRS,    /* id, mode and times, before they were first changed */
	MOR_UNDO_REMOVED,  /* id, and everything needed to make it again; other: a link's text */
	MOR_UNDO_MOVED,    /* id: the thing that is now called `other` */
	MOR_UNDO_SWAPPED,  /* id was called `path`, id2 `other`; now it is the other way round */
	MOR_UNDO_GONE,     /* id, which the plugin had made, is gone */
	MOR_UNDO_LEFT,     /* at the end: bytes, mtime and mode of id as the plugin left it; foreign */
	MOR_UNDO_REFUSED,  /* error: a change of `path` was refused because it could not be saved */
	MOR_UNDO_END,      /* every LEFT is written */
	MOR_UNDO_TOLD      /* undone by the guardian: `path` is a line for the next reader */
};

struct mor_undo_entry {
	uint32_t kind, size;  /* size with its texts, a multiple of 8 */
	uint32_t check, mode; /* check: checksum of the entry, with 0 in this field */
	struct mor_undo_id id, id2;
	uint32_t uid, gid; /* MOR_UNDO_ID_UNKNOWN: the guardian's user namespace does not have it */
	int64_t atime_ns, mtime_ns;
	uint64_t copy, bytes; /* offset in the copies */
	uint64_t links;       /* number of its names */
	int32_t error;
	uint16_t foreign; /* LEFT: somebody else has also written to it */
	uint16_t ours;    /* REMOVED: one name of a file that the plugin made and that has another name */
	/* path, other: below the workspace, "" is the workspace itself; each with NUL */
	char texts[];
};

static inline const char *mor_undo_path(const struct mor_undo_entry *entry)
{
	return entry->texts;
}
const char *mor_undo_other(const struct mor_undo_entry *entry);

/* The thing behind a name. */
struct mor_undo_look {
	struct mor_undo_id id;
	uint32_t mode, uid, gid, links;
	uint64_t bytes;
	int64_t atime_ns, mtime_ns;
};
/* name "": dir itself. Links are not followed. 0 or -errno. */
int mor_undo_look(int dir, const char *name, struct mor_undo_look *ret);
bool mor_undo_same(const struct mor_undo_id *a, const struct mor_undo_id *b);
/* 0 or -errno. Copies between the given places of both files; uses reflinks if the file system has them.
 * `wanted` (may be NULL) is asked from time to time; false: -EINTR. */
typedef bool mor_undo_wanted_fn(void *arg);
int mor_undo_copy(int from, uint64_t from_at, int to, uint64_t to_at, uint64_t bytes,
		  mor_undo_wanted_fn *wanted, void *arg);
uint32_t mor_undo_check(const struct mor_undo_entry *entry);

/* From identities to numbers below UINT32_MAX. */
struct mor_undo_map {
	struct mor_undo_slot {
		struct mor_undo_id id;
		uint32_t value; /* + 1; 0: free */
	} * slots;
	size_t count, room;
};
/* replaces; 0 or -ENOMEM */
int mor_undo_map_put(struct mor_undo_map *map, const struct mor_undo_id *id, uint32_t value);
/* UINT32_MAX: none */
uint32_t mor_undo_map_get(const struct mor_undo_map *map, const struct mor_undo_id *id);
void mor_undo_map_fini(struct mor_undo_map *map);

/* ---- the store (library and guardian) ---- */

struct mor_undo_store {
	int dir, journal, copies;
	struct mor_undo_head *head; /* we own it */
	const char *root, *name;    /* files in it */
};
/* clang-format off */
#define MOR_UNDO_STORE_INIT { .dir = -1, .journal = -1, .copies = -1 }
/* clang-format on */
/* Makes the two files in `dir`, an empty directory, and holds a shared lock. 0 or -errno. */
int mor_undo_store_make(struct mor_undo_store *store, const char *dir, const char *root, const char *name);
/* Opens an existing store and takes a lock: LOCK_SH, or LOCK_EX. With LOCK_NB: -EWOULDBLOCK if another
 * process has a conflicting lock. -EPROTO: not a store, or of another version. */
int mor_undo_store_open(struct mor_undo_store *store, const char *dir, int lock);
void mor_undo_store_fini(struct mor_undo_store *store);

/* Appends one entry at *end, and moves *end. 0 or -errno. For one thread at a time. */
int mor_undo_store_add(const struct mor_undo_store *store, uint64_t *end, const struct mor_undo_entry *entry,
		       const char *path, const char *other);
/* The complete entries of the journal, in one block of memory. */
struct mor_undo_list {
	char *bytes;
	const struct mor_undo_entry **entry;
	size_t count;
};
int mor_undo_store_read(const struct mor_undo_store *store, struct mor_undo_list *ret); /* 0 or -errno */
void mor_undo_list_fini(struct mor_undo_list *list);

/* ---- noting (guardian; note.c) ---- */

struct mor_undo_known; /* a file that the plugin made or changed */
struct mor_undo {
	struct mor_undo_store store;
	int root, watch; /* O_PATH; inotify, -1: not available */
	size_t root_len;
	uint64_t journal_end, copies_end;
	unsigned entries;
	bool refused; /* has been reported */
	bool blind;   /* events were lost: we do not know who wrote */
	int mapped;   /* 1: some owners are not in our user namespace; -1: not known yet */
	struct mor_undo_map index;
	struct mor_undo_known *known;
	size_t count, room;
	pthread_mutex_t watch_gate;
	uint32_t *closes; /* by watch descriptor: closes by any process that could write */
	size_t watch_room;
	mor_undo_wanted_fn *wanted; /* whether the caller still waits                             */
	void *arg;
};
/* clang-format off */
#define MOR_UNDO_INIT { \
	.store = MOR_UNDO_STORE_INIT, .root = -1, .watch = -1, .mapped = -1, \
	.watch_gate = PTHREAD_MUTEX_INITIALIZER \
}
/* clang-format on */

/* `undo` may be NULL in all of these: then nothing is noted. `where` is a canonical name; names outside the
 * workspace are ignored. 0 or -errno: then the change must not be made. */
int mor_undo_begin(struct mor_undo *undo, const char *dir);
bool mor_undo_covers(const struct mor_undo *undo, const char *where);
/* Before a change. `fd` is a handle of the thing. */
int mor_undo_before_write(struct mor_undo *undo, const char *where, int fd);
int mor_undo_before_attrs(struct mor_undo *undo, const char *where, int fd);
int mor_undo_before_remove(struct mor_undo *undo, const char *where, int parent, const char *name);
/* flags: those of renameat2. -EXDEV: only one of the two names is in the workspace. */
struct mor_undo_name {
	const char *where, *name;
	int parent;
};
int mor_undo_before_move(struct mor_undo *undo, const struct mor_undo_name *from,
			 const struct mor_undo_name *to, unsigned flags);
/* Is there room for one more entry? Call it before something new is made. */
int mor_undo_before_make(struct mor_undo *undo, const char *where);
/* The last noted change was not made: the journal goes back to its earlier end. */
struct mor_undo_mark {
	uint64_t journal_end, copies_end;
	unsigned entries;
};
struct mor_undo_mark mor_undo_mark(const struct mor_undo *undo);
void mor_undo_take_back(struct mor_undo *undo, struct mor_undo_mark mark);
/* After a change. Made: its name in its directory; source: the file that gets a second name, or NULL.
 * Removed and moved: our records of it are updated. */
int mor_undo_made(struct mor_undo *undo, const char *where, int parent, const char *name, const char *source);
void mor_undo_removed(struct mor_undo *undo, const struct mor_undo_id *id, const char *where);
void mor_undo_moved(struct mor_undo *undo, const char *from, const char *to, unsigned flags);
/* We have opened it for writing, for the plugin; unnamed: it has no name yet (O_TMPFILE). */
void mor_undo_opened(struct mor_undo *undo, const char *where, int fd, bool unnamed);
/* undo->watch is readable. Call it from a separate thread: otherwise waiting events are merged into one. */
void mor_undo_hear(struct mor_undo *undo);
/* The plugin is dead: notes the final state of things. */
int mor_undo_end(struct mor_undo *undo);
/* ... and the host is dead too: undoes the changes if nobody else has the lock, and leaves its report in the
 * journal. */
void mor_undo_alone(struct mor_undo *undo);
void mor_undo_fini(struct mor_undo *undo);

/* ---- undoing (library and guardian; play.c) ---- */

struct mor_undo_result {
	unsigned changed, created, removed; /* files, links and directories by name that are as before */
	unsigned left;
};
struct mor_undo_player {
	bool only_tell; /* undo nothing: keep all changes */
	bool extract;   /* save contents of files that are left to the store's files */
	/* A name that stays as it is, and why; copy: where its earlier content was put, or NULL. May be
	 * NULL. */
	void (*on_left)(void *arg, const char *path, const char *why, const char *copy);
	/* A change that was refused during the run. May be NULL. */
	void (*on_refused)(void *arg, const char *path, int error);
	void *arg;
};
/* The caller has the lock, and has had one since the plugin ran, or there is an END. Things without LEFT are
 * taken to be as the plugin left them. 0 or -errno: it could not begin. */
int mor_undo_play(const struct mor_undo_store *store, const struct mor_undo_player *player,
		  struct mor_undo_result *ret);
/* "3 files changed, 1 created" */
#define MOR_UNDO_SUMMARY 80
void mor_undo_summary(const struct mor_undo_result *result, char text[MOR_UNDO_SUMMARY]);

#endif
