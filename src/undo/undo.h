/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Undoing what a confined plugin did in its workspace. What is needed for it lies in the *store*, a directory of its own
 * outside of all that the plugin can reach, with two files:
 *
 *	journal  a head, then one entry per change, in the order in which they were made
 *	copies   what the changed and removed files held
 *
 * The host makes the store (mor_undo_make), the guardian's broker fills it (struct mor_undo), and whoever takes the
 * journal's exclusive lock may undo (mor_undo_play): the host when the run has failed, the guardian when the host is
 * dead, the next run where both were killed. A change is noted before it is made, except that what is new is noted when
 * it is there, with its identity: only then is there something to take back.
 *
 * Undoing goes backwards through the journal, so every name means what it meant then. It touches only what is by its
 * identity (device, inode, time of birth) what the plugin left there, and of files only those that nobody else has
 * written to since; all else stays and is told. Names are looked up part by part below the workspace, without links.
 *
 * The journal is of this machine and this version only: it never travels.
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

/* Beyond these a change is refused (EDQUOT), and the journal says so. */
#define MOR_UNDO_BYTES ((uint64_t)1 << 30) /* of copies  */
#define MOR_UNDO_ENTRIES 100000u

#define MOR_UNDO_JOURNAL "journal"
#define MOR_UNDO_COPIES "copies"
#define MOR_UNDO_FILES "files" /* what a file held that could not be undone, under its own name */

/* ---- the format ---- */

#define MOR_UNDO_MAGIC 0x4f444e55524f4dULL /* "MORUNDO" */
#define MOR_UNDO_VERSION 1u
#define MOR_UNDO_ID_UNKNOWN UINT32_MAX

struct mor_undo_head {
	uint64_t magic;
	uint32_t version, size;  /* of the head with its texts, a multiple of 8 */
	uint64_t device, inode;  /* of the workspace                            */
	int64_t made_s;          /* when, in seconds since 1970                 */
	char texts[];            /* the workspace, without links; whose run it is */
};

/* The same file as long as all three are the same: numbers alone are used again. */
struct mor_undo_id {
	uint64_t device, inode;
	int64_t born_ns; /* 0 where the file system does not know */
};

enum mor_undo_kind {
	MOR_UNDO_MADE = 1, /* id: what is there since; other: the name that it had before, of a file with two         */
	MOR_UNDO_CHANGED,  /* id: the file, before it was first opened to be written; copy, bytes, times              */
	MOR_UNDO_ATTRS,    /* id, mode and times, before they were first changed                                      */
	MOR_UNDO_REMOVED,  /* id, and all that is needed to make it anew; other: a link's text                        */
	MOR_UNDO_MOVED,    /* id: what is now called `other`                                                          */
	MOR_UNDO_SWAPPED,  /* id was called `path`, id2 `other`; now it is the other way round                        */
	MOR_UNDO_GONE,     /* id, which the plugin had made, is no more                                               */
	MOR_UNDO_LEFT,     /* at the end: bytes, mtime and mode of id as the plugin left it; foreign                   */
	MOR_UNDO_REFUSED,  /* error: a change of `path` that could not be saved was not allowed                       */
	MOR_UNDO_END,      /* every LEFT is there                                                                     */
	MOR_UNDO_TOLD      /* undone by the guardian: `path` is a line for whoever comes next                         */
};

struct mor_undo_entry {
	uint32_t kind, size;    /* with its texts, a multiple of 8     */
	uint32_t check, mode;   /* check: of all of it, with 0 in here */
	struct mor_undo_id id, id2;
	uint32_t uid, gid;      /* MOR_UNDO_ID_UNKNOWN: the guardian's user namespace does not have it */
	int64_t atime_ns, mtime_ns;
	uint64_t copy, bytes;   /* where in the copies                 */
	uint64_t links;         /* names that it had                   */
	int32_t error;
	uint16_t foreign;       /* LEFT: somebody else has written it, too */
	uint16_t ours;          /* REMOVED: a name of what the plugin has made itself and that has another one */
	char texts[];           /* path, other: below the workspace, "" is itself; each with NUL */
};

static inline const char *mor_undo_path(const struct mor_undo_entry *entry)
{
	return entry->texts;
}
const char *mor_undo_other(const struct mor_undo_entry *entry);

/* What a name stands for. */
struct mor_undo_look {
	struct mor_undo_id id;
	uint32_t mode, uid, gid, links;
	uint64_t bytes;
	int64_t atime_ns, mtime_ns;
};
/* name "": of dir itself. Links are not followed. 0 or -errno. */
int mor_undo_look(int dir, const char *name, struct mor_undo_look *ret);
bool mor_undo_same(const struct mor_undo_id *a, const struct mor_undo_id *b);
/* 0 or -errno. Both files are read and written at the places given; reflinks where the file system has them. `wanted` (may be
 * NULL) is asked now and then; false: -EINTR. */
typedef bool mor_undo_wanted_fn(void *arg);
int mor_undo_copy(int from, uint64_t from_at, int to, uint64_t to_at, uint64_t bytes, mor_undo_wanted_fn *wanted, void *arg);
uint32_t mor_undo_check(const struct mor_undo_entry *entry);

/* From identities to numbers below UINT32_MAX. */
struct mor_undo_map {
	struct mor_undo_slot {
		struct mor_undo_id id;
		uint32_t value; /* + 1; 0: free */
	} *slots;
	size_t count, room;
};
int mor_undo_map_put(struct mor_undo_map *map, const struct mor_undo_id *id, uint32_t value); /* replaces; 0 or -ENOMEM */
uint32_t mor_undo_map_get(const struct mor_undo_map *map, const struct mor_undo_id *id);       /* UINT32_MAX: none */
void mor_undo_map_fini(struct mor_undo_map *map);

/* ---- the store (library and guardian) ---- */

struct mor_undo_store {
	int dir, journal, copies;
	struct mor_undo_head *head; /* ours */
	const char *root, *name;    /* in it */
};
/* clang-format off */
#define MOR_UNDO_STORE_INIT { .dir = -1, .journal = -1, .copies = -1 }
/* clang-format on */
/* Makes the two files in `dir`, an empty directory, and holds a shared lock. 0 or -errno. */
int mor_undo_store_make(struct mor_undo_store *store, const char *dir, const char *root, const char *name);
/* Opens one that is there, and takes a lock: LOCK_SH, or LOCK_EX, with LOCK_NB: -EWOULDBLOCK where somebody has the other.
 * -EPROTO: it is none, or of another version. */
int mor_undo_store_open(struct mor_undo_store *store, const char *dir, int lock);
void mor_undo_store_fini(struct mor_undo_store *store);

/* Appends one entry at *end, which moves on. 0 or -errno. For one thread at a time. */
int mor_undo_store_add(const struct mor_undo_store *store, uint64_t *end, const struct mor_undo_entry *entry, const char *path,
		       const char *other);
/* The journal's entries as far as they are whole. They lie in one block of memory. */
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
	int root, watch;             /* O_PATH; inotify, -1: none to be had                       */
	size_t root_len;
	uint64_t journal_end, copies_end;
	unsigned entries;
	bool refused;                /* has been told                                              */
	bool blind;                  /* events were lost: who wrote is not known                    */
	int mapped;                  /* 1: some owners are not in our user namespace; -1: not known yet */
	struct mor_undo_map index;
	struct mor_undo_known *known;
	size_t count, room;
	pthread_mutex_t watch_gate;
	uint32_t *closes;            /* by watch descriptor: by anybody who could write            */
	size_t watch_room;
	mor_undo_wanted_fn *wanted;  /* whether the caller still waits                             */
	void *arg;
};
/* clang-format off */
#define MOR_UNDO_INIT { \
	.store = MOR_UNDO_STORE_INIT, .root = -1, .watch = -1, .mapped = -1, \
	.watch_gate = PTHREAD_MUTEX_INITIALIZER \
}
/* clang-format on */

/* `undo` may be NULL in all of these: then nothing is noted. `where` is a canonical name; what does not lie in the workspace
 * is nobody's business here. 0 or -errno: then the change must not be made. */
int mor_undo_begin(struct mor_undo *undo, const char *dir);
bool mor_undo_covers(const struct mor_undo *undo, const char *where);
/* Of what is going to be done. `fd` is a handle of the thing. */
int mor_undo_before_write(struct mor_undo *undo, const char *where, int fd);
int mor_undo_before_attrs(struct mor_undo *undo, const char *where, int fd);
int mor_undo_before_remove(struct mor_undo *undo, const char *where, int parent, const char *name);
/* flags: of renameat2. -EXDEV: one of them lies in the workspace and the other does not. */
struct mor_undo_name {
	const char *where, *name;
	int parent;
};
int mor_undo_before_move(struct mor_undo *undo, const struct mor_undo_name *from, const struct mor_undo_name *to, unsigned flags);
/* Whether one more can be noted: before something new is made. */
int mor_undo_before_make(struct mor_undo *undo, const char *where);
/* What was noted last did not come to pass: back to where the journal was. */
struct mor_undo_mark {
	uint64_t journal_end, copies_end;
	unsigned entries;
};
struct mor_undo_mark mor_undo_mark(const struct mor_undo *undo);
void mor_undo_take_back(struct mor_undo *undo, struct mor_undo_mark mark);
/* It is done. Made: by its name in its directory; source: what it is a second name of, or NULL. Removed and moved: what is
 * known of it follows. */
int mor_undo_made(struct mor_undo *undo, const char *where, int parent, const char *name, const char *source);
void mor_undo_removed(struct mor_undo *undo, const struct mor_undo_id *id, const char *where);
void mor_undo_moved(struct mor_undo *undo, const char *from, const char *to, unsigned flags);
/* We have opened it to be written, in the plugin's stead; unnamed: it has no name as yet (O_TMPFILE). */
void mor_undo_opened(struct mor_undo *undo, const char *where, int fd, bool unnamed);
/* undo->watch is readable. For another thread than all the others: events that wait become one. */
void mor_undo_hear(struct mor_undo *undo);
/* The plugin is dead: how it left things. */
int mor_undo_end(struct mor_undo *undo);
/* ... and so is the host: undoes by itself, if nobody else has the lock, and leaves in the journal what it has to tell. */
void mor_undo_alone(struct mor_undo *undo);
void mor_undo_fini(struct mor_undo *undo);

/* ---- undoing (library and guardian; play.c) ---- */

struct mor_undo_result {
	unsigned changed, created, removed; /* files, links and directories by name, that are as they were again */
	unsigned left;
};
struct mor_undo_player {
	bool only_tell; /* nothing is undone: all that was changed is left                           */
	bool extract;   /* what a file held that is left goes to the store's files                   */
	/* One that stays as it is, and why; copy: where what it held before has been put, or NULL. May be NULL. */
	void (*on_left)(void *arg, const char *path, const char *why, const char *copy);
	/* A change that was refused while it ran. May be NULL. */
	void (*on_refused)(void *arg, const char *path, int error);
	void *arg;
};
/* The caller has the lock, and has had one since the plugin ran, or there is an END: what has no LEFT is taken to be as the
 * plugin left it. 0 or -errno: it could not even begin. */
int mor_undo_play(const struct mor_undo_store *store, const struct mor_undo_player *player, struct mor_undo_result *ret);
/* "3 files changed, 1 created" */
#define MOR_UNDO_SUMMARY 80
void mor_undo_summary(const struct mor_undo_result *result, char text[MOR_UNDO_SUMMARY]);

#endif
