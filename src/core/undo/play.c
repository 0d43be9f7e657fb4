/* SPDX-License-Identifier: Apache-2.0 */
/* Undoes the journal, from its end to its beginning. See undo.h. */
#include "undo/play.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/fd.h"

#define NONE       UINT32_MAX
#define SEARCH_MAX 200000 /* total limit of searches for second names; after it, they become separate files */
#define FOREIGN    "somebody else has changed it since"
#define ANOTHER    "another file has this name now"
#define UNKNOWN    "its state at the plugin's end is not known"

/* The state of a file at the plugin's end, and, after we have changed it, our own state. */
struct mor_undo_state {
	uint64_t bytes;
	int64_t mtime_ns;
	uint32_t mode;
	bool foreign, gone; /* gone: the plugin made it and removed it again */
};

/* ---- places ---- */

static int open_below(int root, const char *path, size_t len)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	char dir[PATH_MAX];
	long fd;

	if (len >= sizeof(dir))
		return -ENAMETOOLONG;
	memcpy(dir, len ? path : ".", len ? len : 1);
	dir[len ? len : 1] = 0;
	fd = syscall(SYS_openat2, root, dir, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

int mor_undo_go_to(const struct mor_undo_playing *play, const char *path, struct mor_undo_place *place)
{
	const char *slash = strrchr(path, '/');
	int status;

	place->name = slash ? slash + 1 : path;
	place->parent = open_below(play->root, path, slash ? (size_t)(slash - path) : 0);
	if (place->parent < 0)
		return place->parent;
	status = mor_undo_look(place->parent, place->name, &place->look);
	place->there = status == 0;
	if (status == 0 || status == -ENOENT)
		return 0;
	mor_fd_close(&place->parent);
	return status;
}

/* A handle of the thing that was checked. */
static int hold(const struct mor_undo_place *place)
{
	struct mor_undo_look look;
	int fd = openat(place->parent, *place->name ? place->name : ".", O_PATH | O_NOFOLLOW | O_CLOEXEC),
	    status;

	if (fd < 0)
		return -errno;
	status = mor_undo_look(fd, "", &look);
	if (status == 0 && !mor_undo_same(&look.id, &place->look.id))
		status = -ESTALE;
	if (status < 0)
		close(fd);
	return status < 0 ? status : fd;
}

/* ---- identities ---- */

static const struct mor_undo_id *today(const struct mor_undo_playing *play, const struct mor_undo_id *id)
{
	uint32_t at = mor_undo_map_get(&play->anew_of, id);

	return at == NONE ? id : &play->anew[at];
}

static bool is_it(const struct mor_undo_playing *play, const struct mor_undo_place *place,
		  const struct mor_undo_id *id)
{
	/* If a file had two names, one may be a new copy, while the other is still the old file. */
	return place->there &&
	       (mor_undo_same(&place->look.id, id) || mor_undo_same(&place->look.id, today(play, id)));
}

static struct mor_undo_state *state_of(struct mor_undo_playing *play, const struct mor_undo_id *id)
{
	uint32_t at = mor_undo_map_get(&play->state_of, id);

	return at == NONE ? NULL : &play->states[at];
}

static int set_state(struct mor_undo_playing *play, const struct mor_undo_id *id,
		     const struct mor_undo_state *state)
{
	struct mor_undo_state *old = state_of(play, id);

	if (old) {
		*old = *state;
		return 0;
	}
	if (mor_grow(&play->states, play->state_count, &play->state_room, sizeof(*play->states)) < 0)
		return -ENOMEM;
	play->states[play->state_count] = *state;
	return mor_undo_map_put(&play->state_of, id, (uint32_t)play->state_count++);
}

static int is_anew(struct mor_undo_playing *play, const struct mor_undo_id *id, const struct mor_undo_id *now)
{
	if (mor_grow(&play->anew, play->anew_count, &play->anew_room, sizeof(*play->anew)) < 0)
		return -ENOMEM;
	play->anew[play->anew_count] = *now;
	return mor_undo_map_put(&play->anew_of, id, (uint32_t)play->anew_count++);
}

static bool is_gone(struct mor_undo_playing *play, const struct mor_undo_id *id)
{
	const struct mor_undo_state *state = state_of(play, id);

	return state && state->gone;
}

/* The reason why we must not change the file's content; NULL: we may. */
static const char *why_not(struct mor_undo_playing *play, const struct mor_undo_id *id,
			   const struct mor_undo_look *now)
{
	const struct mor_undo_state *state = state_of(play, id);

	if (!state) /* the guardian was killed, or its name for the file is gone and another is left */
		return NULL;
	return state->foreign || state->bytes != now->bytes || state->mtime_ns != now->mtime_ns ? FOREIGN :
												  NULL;
}

/* ---- contents and attributes ---- */

static struct timespec time_of(int64_t ns)
{
	int64_t seconds = ns / 1000000000, rest = ns % 1000000000;

	return (struct timespec){ .tv_sec = rest < 0 ? seconds - 1 : seconds,
				  .tv_nsec = rest < 0 ? rest + 1000000000 : rest };
}

static int set_times(int fd, const struct mor_undo_entry *entry)
{
	struct timespec times[2] = { time_of(entry->atime_ns), time_of(entry->mtime_ns) };

	return utimensat(fd, "", times, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

int mor_undo_fill(const struct mor_undo_playing *play, int fd, const struct mor_undo_entry *entry)
{
	int status = mor_undo_copy(play->store->copies, entry->copy, fd, 0, entry->bytes, NULL, NULL);

	if (status == 0 && ftruncate(fd, (off_t)entry->bytes) < 0)
		status = -errno;
	return status;
}

static int set_mode(int fd, uint32_t mode)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return chmod(name, mode & 07777) < 0 ? -errno : 0;
}

/* ---- the kinds ---- */

static int undo_made(struct mor_undo_playing *play, const struct mor_undo_entry *entry,
		     struct mor_undo_place *at)
{
	const char *why;

	if (!at->there)
		return 0;
	if (!is_it(play, at, &entry->id)) {
		mor_undo_leave(play, entry, mor_undo_path(entry), ANOTHER);
		return 0;
	}
	why = S_ISREG(at->look.mode) && mor_undo_same(&at->look.id, &entry->id) ?
		      why_not(play, &entry->id, &at->look) :
		      NULL;
	if (!why && unlinkat(at->parent, at->name, S_ISDIR(at->look.mode) ? AT_REMOVEDIR : 0) < 0 &&
	    errno != ENOENT) {
		if (errno != ENOTEMPTY && errno != EEXIST)
			return -errno;
		why = "something else is in it";
	}
	if (why)
		mor_undo_leave(play, entry, mor_undo_path(entry), why);
	return 0;
}

static int restore(struct mor_undo_playing *play, const struct mor_undo_entry *entry, struct mor_undo_place *at)
{
	struct mor_undo_state now = { .bytes = entry->bytes,
				      .mtime_ns = entry->mtime_ns,
				      .mode = at->look.mode };
	int handle = hold(at), fd, status;

	if (handle < 0)
		return handle;
	fd = mor_fd_reopen(handle, O_WRONLY | O_NONBLOCK | O_NOCTTY);
	status = fd < 0 ? fd : mor_undo_fill(play, fd, entry);
	if (fd >= 0)
		close(fd); /* before the times are set: closing may write */
	if (status == 0)
		status = set_times(handle, entry);
	close(handle);
	/* A new copy is another thing: the old one may still exist under another name. */
	return status < 0 || !mor_undo_same(&at->look.id, &entry->id) ? status :
									set_state(play, &entry->id, &now);
}

static int undo_changed(struct mor_undo_playing *play, const struct mor_undo_entry *entry,
			struct mor_undo_place *at)
{
	bool anew = mor_undo_map_get(&play->anew_of, &entry->id) != NONE;
	const char *why;

	if (!is_it(play, at, &entry->id)) {
		mor_undo_leave(play, entry, mor_undo_path(entry),
			       at->there ? ANOTHER : "somebody else has removed it since");
		return 0;
	}
	why = anew ? NULL : why_not(play, &entry->id, &at->look); /* the new copy has the first content */
	if (!why) {
		if (anew && at->look.links < entry->links)
			mor_undo_leave(play, entry, mor_undo_path(entry),
				       "a second name of it, in another place, keeps what was written");
		return restore(play, entry, at);
	}
	mor_undo_leave(play, entry, mor_undo_path(entry), why);
	return 0;
}

static int undo_attrs(struct mor_undo_playing *play, const struct mor_undo_entry *entry,
		      struct mor_undo_place *at)
{
	struct mor_undo_state *state = state_of(play, &entry->id);
	int fd, status;

	if (!is_it(play, at, &entry->id) || (state && state->mode != at->look.mode)) {
		mor_undo_leave(play, entry, mor_undo_path(entry),
			       at->there ? FOREIGN : "somebody else has removed it since");
		return 0;
	}
	if ((fd = hold(at)) < 0)
		return fd;
	status = S_ISLNK(entry->mode) ? 0 : set_mode(fd, entry->mode);
	if (status == 0 && !(state && state->foreign))
		status = set_times(fd, entry);
	close(fd);
	if (status == 0 && state) {
		state->mode = entry->mode;
		if (state->mtime_ns == at->look.mtime_ns && !state->foreign)
			state->mtime_ns = entry->mtime_ns;
	}
	return status;
}

static int make_file(struct mor_undo_playing *play, const struct mor_undo_entry *entry,
		     const struct mor_undo_place *at)
{
	int fd = openat(at->parent, at->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600),
	    status;

	if (fd < 0)
		return -errno;
	status = mor_undo_fill(play, fd, entry);
	close(fd);
	if (status < 0)
		unlinkat(at->parent, at->name, 0);
	return status;
}

static int make_anew(struct mor_undo_playing *play, const struct mor_undo_entry *entry,
		     const struct mor_undo_place *at)
{
	switch (entry->mode & S_IFMT) {
	case S_IFREG:
		return make_file(play, entry, at);
	case S_IFDIR:
		return mor_dir_make(at->parent, at->name, 0700);
	case S_IFLNK:
		return symlinkat(mor_undo_other(entry), at->parent, at->name) < 0 ? -errno : 0;
	case S_IFIFO:
		return mkfifoat(at->parent, at->name, 0600) < 0 ? -errno : 0;
	default:
		return -EOPNOTSUPP; /* sockets and devices: their owner must make them again */
	}
}

/* Only root can give a file to another owner. An unknown group is left to the directory's set-group-id bit. */
static int give_back(struct mor_undo_playing *play, const struct mor_undo_entry *entry, int fd,
		     const struct mor_undo_look *now)
{
	uid_t uid = entry->uid == now->uid || entry->uid == MOR_UNDO_ID_UNKNOWN ? (uid_t)-1 : entry->uid;
	gid_t gid = entry->gid == now->gid || entry->gid == MOR_UNDO_ID_UNKNOWN ? (gid_t)-1 : entry->gid;

	if (entry->uid == MOR_UNDO_ID_UNKNOWN)
		mor_undo_leave(play, entry, mor_undo_path(entry),
			       "it is back, but it belonged to another user");
	if (uid == (uid_t)-1 && gid == (gid_t)-1)
		return 0;
	return fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* Owner, mode and times. */
static int dress(struct mor_undo_playing *play, const struct mor_undo_entry *entry,
		 const struct mor_undo_place *at)
{
	int fd = hold(at), status;

	if (fd < 0)
		return fd;
	status = give_back(play, entry, fd, &at->look);
	if (!S_ISLNK(entry->mode))
		status = set_mode(fd, entry->mode) < 0 && status == 0 ? -errno : status;
	if (status == 0)
		status = set_times(fd, entry);
	close(fd);
	return status;
}

/* A file may still exist under a name that the plugin gave it. Then the removed name becomes its second name
 * again. 1: it does. */
static int link_again(struct mor_undo_playing *play, const struct mor_undo_entry *entry,
		      const struct mor_undo_place *at)
{
	int done = 0;

	for (size_t i = 0; !done && entry->links > 1 && S_ISREG(entry->mode) && i < play->name_count &&
			   play->searched < SEARCH_MAX;
	     i++) {
		struct mor_undo_place place;

		play->searched++;
		if (mor_undo_go_to(play, play->names[i].path, &place) < 0)
			continue;
		done = is_it(play, &place, &entry->id) &&
		       linkat(place.parent, place.name, at->parent, at->name, 0) == 0;
		mor_fd_close(&place.parent);
	}
	return done;
}

static int undo_removed(struct mor_undo_playing *play, const struct mor_undo_entry *entry,
			struct mor_undo_place *at)
{
	int status;

	if (is_it(play, at, &entry->id)) /* the change was never made */
		return 0;
	if (at->there) {
		mor_undo_leave(play, entry, mor_undo_path(entry), ANOTHER);
		return 0;
	}
	if (link_again(play, entry, at))
		return 0;
	status = make_anew(play, entry, at);
	if (status < 0 || (status = mor_undo_look(at->parent, at->name, &at->look)) < 0 ||
	    (status = is_anew(play, &entry->id, &at->look.id)) < 0)
		return status;
	return dress(play, entry, at);
}

/* The thing at `now` was at `old` before. */
static int move_back(struct mor_undo_playing *play, const struct mor_undo_entry *entry,
		     const struct mor_undo_id *id, struct mor_undo_place *now, struct mor_undo_place *old)
{
	if (!is_it(play, now, id))
		mor_undo_leave(play, entry, mor_undo_other(entry),
			       now->there ? ANOTHER : "somebody else has removed it since");
	else if (old->there)
		mor_undo_leave(play, entry, mor_undo_path(entry), ANOTHER);
	else if (renameat2(now->parent, now->name, old->parent, old->name, RENAME_NOREPLACE) < 0)
		return -errno;
	return 0;
}

static int swap_back(struct mor_undo_playing *play, const struct mor_undo_entry *entry,
		     struct mor_undo_place *at, struct mor_undo_place *to)
{
	if (is_gone(play, &entry->id)) /* then only the other one must be moved */
		return is_gone(play, &entry->id2) ? 0 : move_back(play, entry, &entry->id2, at, to);
	if (is_gone(play, &entry->id2))
		return move_back(play, entry, &entry->id, to, at);
	if (!is_it(play, to, &entry->id) || !is_it(play, at, &entry->id2))
		mor_undo_leave(play, entry, mor_undo_path(entry), ANOTHER);
	else if (renameat2(to->parent, to->name, at->parent, at->name, RENAME_EXCHANGE) < 0)
		return -errno;
	return 0;
}

/* And swapped. If it is already in its old place, the swap was never made, or somebody has moved it back. */
static int undo_moved(struct mor_undo_playing *play, const struct mor_undo_entry *entry,
		      struct mor_undo_place *at)
{
	struct mor_undo_place to;
	int status;

	if (is_it(play, at, &entry->id))
		return 0;
	if ((status = mor_undo_go_to(play, mor_undo_other(entry), &to)) < 0)
		return status;
	status = entry->kind == MOR_UNDO_SWAPPED ? swap_back(play, entry, at, &to) :
						   move_back(play, entry, &entry->id, &to, at);
	mor_fd_close(&to.parent);
	return status;
}

static int take_left(struct mor_undo_playing *play, const struct mor_undo_entry *entry)
{
	struct mor_undo_state state = {
		.bytes = entry->bytes,
		.mtime_ns = entry->mtime_ns,
		.mode = entry->mode,
		.foreign = entry->foreign,
		.gone = entry->kind == MOR_UNDO_GONE,
	};

	return set_state(play, &entry->id, &state);
}

/* ---- all of it ---- */

typedef int undo_fn(struct mor_undo_playing *play, const struct mor_undo_entry *entry,
		    struct mor_undo_place *at);
static undo_fn *const deeds[] = {
	[MOR_UNDO_MADE] = undo_made,       [MOR_UNDO_CHANGED] = undo_changed, [MOR_UNDO_ATTRS] = undo_attrs,
	[MOR_UNDO_REMOVED] = undo_removed, [MOR_UNDO_MOVED] = undo_moved,     [MOR_UNDO_SWAPPED] = undo_moved,
};

static void undo_one(struct mor_undo_playing *play, const struct mor_undo_entry *entry)
{
	struct mor_undo_place at;
	int status;

	if (entry->kind == MOR_UNDO_REFUSED && play->player->on_refused)
		play->player->on_refused(play->player->arg, mor_undo_path(entry), entry->error);
	if (entry->kind == MOR_UNDO_LEFT || entry->kind == MOR_UNDO_GONE)
		(void)take_left(play, entry); /* no memory: then it is not known */
	if (entry->kind > MOR_UNDO_SWAPPED || (entry->kind != MOR_UNDO_SWAPPED && is_gone(play, &entry->id)))
		return;
	if (play->player->only_tell) {
		mor_undo_leave(play, entry, mor_undo_path(entry), UNKNOWN);
		return;
	}
	status = mor_undo_go_to(play, mor_undo_path(entry), &at);
	if (status == 0) {
		status = deeds[entry->kind](play, entry, &at);
		mor_fd_close(&at.parent);
	}
	/* Things made in a directory that is gone are gone with it. */
	if (entry->kind == MOR_UNDO_MADE && (status == -ENOENT || status == -ENOTDIR || status == -ELOOP))
		return;
	if (status < 0)
		mor_undo_leave(play, entry, mor_undo_path(entry), strerrordesc_np(-status));
}

static int open_root(const struct mor_undo_store *store)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, store->root, &how, sizeof(how));
	struct mor_undo_look look;

	if (fd < 0)
		return -errno;
	if (mor_undo_look(fd, "", &look) == 0 && look.id.device == store->head->device &&
	    look.id.inode == store->head->inode)
		return fd;
	close(fd);
	return -ESTALE;
}

static void play_fini(struct mor_undo_playing *play)
{
	mor_fd_close(&play->root);
	mor_undo_map_fini(&play->state_of);
	mor_undo_map_fini(&play->anew_of);
	mor_free(play->states);
	mor_free(play->anew);
	mor_free(play->names);
	mor_undo_list_fini(&play->list);
}

int mor_undo_play(const struct mor_undo_store *store, const struct mor_undo_player *player,
		  struct mor_undo_result *ret)
{
	struct mor_undo_playing play = {
		.store = store, .player = player, .ret = ret, .root = open_root(store)
	};
	int status = play.root < 0 ? play.root : mor_undo_store_read(store, &play.list);

	*ret = (struct mor_undo_result){ 0 };
	if (status == 0)
		status = mor_undo_gather(&play);
	for (size_t i = play.list.count; status == 0 && i-- > 0;)
		undo_one(&play, play.list.entry[i]);
	if (status == 0)
		mor_undo_tell(&play);
	play_fini(&play);
	return status;
}
