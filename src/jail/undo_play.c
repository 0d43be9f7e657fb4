/* Undoing, from the journal's end to its beginning. See undo.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "jail/undo.h"

#define NONE UINT32_MAX
#define SEARCH_MAX 200000 /* looks for second names of files, in all: then they become files of their own */
#define FOREIGN "somebody else has changed it since"
#define ANOTHER "there is another one by that name since"
#define UNKNOWN "how the plugin left it is not known"

/* How it was left, and, from when we have touched it ourselves, how we left it. */
struct state {
	uint64_t bytes;
	int64_t mtime_ns;
	uint32_t mode;
	bool foreign, gone; /* gone: the plugin has removed what it had made */
};

struct play {
	const struct mor_undo_store *store;
	const struct mor_undo_player *player;
	struct mor_undo_result *ret;
	struct mor_undo_list list;
	int root;
	struct mor_undo_map state_of, anew_of; /* -> states; -> anew */
	struct state *states;
	struct mor_undo_id *anew;              /* what was removed is another thing when it has been made anew */
	size_t state_count, state_room, anew_count, anew_room;
	struct name *names; /* sorted */
	size_t name_count, searched;
};

/* One that the entries have. */
struct name {
	const char *path;
	size_t order;
	bool existed, there;               /* before the first of them; after the last */
	const char *why;                   /* it stays as it is                        */
	const struct mor_undo_entry *held; /* with what it held before                 */
};

/* A name in its directory. */
struct place {
	int parent;
	const char *name;
	bool there;
	struct mor_undo_look look;
};

/* ---- names ---- */

static int by_path(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : (x->order > y->order) - (x->order < y->order);
}

static struct name *name_of(const struct play *play, const char *path)
{
	size_t low = 0, high = play->name_count;

	while (low < high) {
		size_t half = (low + high) / 2;
		int order = strcmp(path, play->names[half].path);

		if (order == 0)
			return &play->names[half];
		if (order > 0)
			low = half + 1;
		else
			high = half;
	}
	return NULL;
}

/* One that stays as it is. Of several reasons the last in time is told; of several contents the first. */
static void leave(struct play *play, const struct mor_undo_entry *entry, const char *path, const char *why)
{
	bool held = (entry->kind == MOR_UNDO_CHANGED || entry->kind == MOR_UNDO_REMOVED) && S_ISREG(entry->mode);
	struct name *name = name_of(play, path);

	if (!name)
		return;
	if (!name->why)
		name->why = why;
	if (held)
		name->held = entry;
}

static void leave_for(struct play *play, const struct mor_undo_entry *entry, int error)
{
	leave(play, entry, mor_undo_path(entry), strerrordesc_np(-error));
}

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

/* 0: place->there tells whether it is. A directory on the way that is gone, or has become a link, is an error. */
static int go_to(const struct play *play, const char *path, struct place *place)
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

/* A handle of what was looked at. */
static int hold(const struct place *place)
{
	struct mor_undo_look look;
	int fd = openat(place->parent, *place->name ? place->name : ".", O_PATH | O_NOFOLLOW | O_CLOEXEC), status;

	if (fd < 0)
		return -errno;
	status = mor_undo_look(fd, "", &look);
	if (status == 0 && !mor_undo_same(&look.id, &place->look.id))
		status = -ESTALE;
	if (status < 0)
		close(fd);
	return status < 0 ? status : fd;
}

static int open_held(int fd, int flags)
{
	char name[32];
	int again;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	again = open(name, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

/* ---- who is who ---- */

static const struct mor_undo_id *today(const struct play *play, const struct mor_undo_id *id)
{
	uint32_t at = mor_undo_map_get(&play->anew_of, id);

	return at == NONE ? id : &play->anew[at];
}

static bool is_it(const struct play *play, const struct place *place, const struct mor_undo_id *id)
{
	/* Of a file with two names one may have been made anew, and the other is the old one still. */
	return place->there && (mor_undo_same(&place->look.id, id) || mor_undo_same(&place->look.id, today(play, id)));
}

static struct state *state_of(struct play *play, const struct mor_undo_id *id)
{
	uint32_t at = mor_undo_map_get(&play->state_of, id);

	return at == NONE ? NULL : &play->states[at];
}

static int set_state(struct play *play, const struct mor_undo_id *id, const struct state *state)
{
	struct state *old = state_of(play, id);

	if (old) {
		*old = *state;
		return 0;
	}
	if (mor_grow(&play->states, play->state_count, &play->state_room, sizeof(*play->states)) < 0)
		return -ENOMEM;
	play->states[play->state_count] = *state;
	return mor_undo_map_put(&play->state_of, id, (uint32_t)play->state_count++);
}

static int is_anew(struct play *play, const struct mor_undo_id *id, const struct mor_undo_id *now)
{
	if (mor_grow(&play->anew, play->anew_count, &play->anew_room, sizeof(*play->anew)) < 0)
		return -ENOMEM;
	play->anew[play->anew_count] = *now;
	return mor_undo_map_put(&play->anew_of, id, (uint32_t)play->anew_count++);
}

static bool is_gone(struct play *play, const struct mor_undo_id *id)
{
	const struct state *state = state_of(play, id);

	return state && state->gone;
}

/* Why a file's content is not ours to touch; NULL: it is. */
static const char *why_not(struct play *play, const struct mor_undo_id *id, const struct mor_undo_look *now)
{
	const struct state *state = state_of(play, id);

	if (!state) /* the guardian was killed, or the name that it knew is gone and another one is left */
		return NULL;
	return state->foreign || state->bytes != now->bytes || state->mtime_ns != now->mtime_ns ? FOREIGN : NULL;
}

/* ---- contents and attributes ---- */

static struct timespec time_of(int64_t ns)
{
	int64_t seconds = ns / 1000000000, rest = ns % 1000000000;

	return (struct timespec){ .tv_sec = rest < 0 ? seconds - 1 : seconds, .tv_nsec = rest < 0 ? rest + 1000000000 : rest };
}

static int set_times(int fd, const struct mor_undo_entry *entry)
{
	struct timespec times[2] = { time_of(entry->atime_ns), time_of(entry->mtime_ns) };

	return utimensat(fd, "", times, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static int fill(const struct play *play, int fd, const struct mor_undo_entry *entry)
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

/* ---- what could not be undone ---- */

/* The directories of a name, in the store. */
static int make_way(int dir, const char *path, int *ret, const char **ret_name)
{
	int at = fcntl(dir, F_DUPFD_CLOEXEC, 0), next;

	for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		char part[NAME_MAX + 1];

		if ((size_t)(slash - path) > NAME_MAX)
			slash = path + NAME_MAX; /* never: it was a name */
		memcpy(part, path, (size_t)(slash - path));
		part[slash - path] = 0;
		(void)mkdirat(at, part, 0700);
		next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
	}
	*ret = at;
	*ret_name = path;
	return at < 0 ? -errno : 0;
}

static int name_handle(int fd, char name[PATH_MAX])
{
	char link[32];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, PATH_MAX - 1);
	if (len < 0)
		return -errno;
	name[len] = 0;
	return 0;
}

static int extract(struct play *play, const struct mor_undo_entry *entry, char copy[PATH_MAX])
{
	char path[PATH_MAX];
	const char *name;
	int dir, fd, status;

	if (snprintf(path, sizeof(path), MOR_UNDO_FILES "/%s", mor_undo_path(entry)) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	status = make_way(play->store->dir, path, &dir, &name);
	if (status < 0)
		return status;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	status = fd < 0 ? -errno : fill(play, fd, entry);
	close(dir);
	if (status == 0)
		status = name_handle(fd, copy);
	mor_fd_close(&fd);
	return status;
}

/* ---- the kinds ---- */

static int undo_made(struct play *play, const struct mor_undo_entry *entry, struct place *at)
{
	const char *why;

	if (!at->there)
		return 0;
	if (!is_it(play, at, &entry->id)) {
		leave(play, entry, mor_undo_path(entry), ANOTHER);
		return 0;
	}
	why = S_ISREG(at->look.mode) && mor_undo_same(&at->look.id, &entry->id) ? why_not(play, &entry->id, &at->look) : NULL;
	if (!why && unlinkat(at->parent, at->name, S_ISDIR(at->look.mode) ? AT_REMOVEDIR : 0) < 0 && errno != ENOENT) {
		if (errno != ENOTEMPTY && errno != EEXIST)
			return -errno;
		why = "something else is in it";
	}
	if (why)
		leave(play, entry, mor_undo_path(entry), why);
	return 0;
}

static int restore(struct play *play, const struct mor_undo_entry *entry, struct place *at)
{
	struct state now = { .bytes = entry->bytes, .mtime_ns = entry->mtime_ns, .mode = at->look.mode };
	int handle = hold(at), fd, status;

	if (handle < 0)
		return handle;
	fd = open_held(handle, O_WRONLY);
	status = fd < 0 ? fd : fill(play, fd, entry);
	if (fd >= 0)
		close(fd); /* before the times: closing may write */
	if (status == 0)
		status = set_times(handle, entry);
	close(handle);
	/* What was made anew is another thing: the old one may still be there, by another name. */
	return status < 0 || !mor_undo_same(&at->look.id, &entry->id) ? status : set_state(play, &entry->id, &now);
}

static int undo_changed(struct play *play, const struct mor_undo_entry *entry, struct place *at)
{
	bool anew = mor_undo_map_get(&play->anew_of, &entry->id) != NONE;
	const char *why;

	if (!is_it(play, at, &entry->id)) {
		leave(play, entry, mor_undo_path(entry), at->there ? ANOTHER : "somebody else has removed it since");
		return 0;
	}
	why = anew ? NULL : why_not(play, &entry->id, &at->look); /* made anew it has what it first held */
	if (!why) {
		if (anew && at->look.links < entry->links)
			leave(play, entry, mor_undo_path(entry), "a second name of it, somewhere, keeps what was written");
		return restore(play, entry, at);
	}
	leave(play, entry, mor_undo_path(entry), why);
	return 0;
}

static int undo_attrs(struct play *play, const struct mor_undo_entry *entry, struct place *at)
{
	struct state *state = state_of(play, &entry->id);
	int fd, status;

	if (!is_it(play, at, &entry->id) || (state && state->mode != at->look.mode)) {
		leave(play, entry, mor_undo_path(entry), at->there ? FOREIGN : "somebody else has removed it since");
		return 0;
	}
	fd = hold(at);
	if (fd < 0)
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

static int make_file(struct play *play, const struct mor_undo_entry *entry, const struct place *at)
{
	int fd = openat(at->parent, at->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), status;

	if (fd < 0)
		return -errno;
	status = fill(play, fd, entry);
	close(fd);
	if (status < 0)
		unlinkat(at->parent, at->name, 0);
	return status;
}

static int make_anew(struct play *play, const struct mor_undo_entry *entry, const struct place *at)
{
	switch (entry->mode & S_IFMT) {
	case S_IFREG:
		return make_file(play, entry, at);
	case S_IFDIR:
		return mkdirat(at->parent, at->name, 0700) < 0 ? -errno : 0;
	case S_IFLNK:
		return symlinkat(mor_undo_other(entry), at->parent, at->name) < 0 ? -errno : 0;
	case S_IFIFO:
		return mkfifoat(at->parent, at->name, 0600) < 0 ? -errno : 0;
	default:
		return -EOPNOTSUPP; /* sockets and devices: whoever had them makes them */
	}
}

/* Owner, mode and times. Another owner only root can give back. */
static int dress(const struct mor_undo_entry *entry, struct place *at)
{
	int fd, status = mor_undo_look(at->parent, at->name, &at->look);

	fd = status < 0 ? status : hold(at);
	if (fd < 0)
		return fd;
	if ((at->look.uid != entry->uid || at->look.gid != entry->gid) &&
	    fchownat(fd, "", entry->uid, entry->gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
		status = -errno;
	if (status == 0 && !S_ISLNK(entry->mode))
		status = set_mode(fd, entry->mode);
	if (status == 0)
		status = set_times(fd, entry);
	close(fd);
	return status;
}

/* A file may live on under a name that the plugin gave it: then the removed one is its second name again. 1: it is. */
static int link_again(struct play *play, const struct mor_undo_entry *entry, const struct place *at)
{
	int done = 0;

	for (size_t i = 0; !done && entry->links > 1 && S_ISREG(entry->mode) && i < play->name_count && play->searched < SEARCH_MAX; i++) {
		struct place place;

		play->searched++;
		if (go_to(play, play->names[i].path, &place) < 0)
			continue;
		done = is_it(play, &place, &entry->id) && linkat(place.parent, place.name, at->parent, at->name, 0) == 0;
		mor_fd_close(&place.parent);
	}
	return done;
}

static int undo_removed(struct play *play, const struct mor_undo_entry *entry, struct place *at)
{
	int status;

	if (is_it(play, at, &entry->id)) /* it never came to pass */
		return 0;
	if (at->there) {
		leave(play, entry, mor_undo_path(entry), ANOTHER);
		return 0;
	}
	if (link_again(play, entry, at))
		return 0;
	status = make_anew(play, entry, at);
	if (status == 0)
		status = dress(entry, at);
	return status < 0 ? status : is_anew(play, &entry->id, &at->look.id);
}

/* What is at `now` was at `old`. */
static int move_back(struct play *play, const struct mor_undo_entry *entry, const struct mor_undo_id *id, struct place *now,
		     struct place *old)
{
	if (!is_it(play, now, id))
		leave(play, entry, mor_undo_other(entry), now->there ? ANOTHER : "somebody else has removed it since");
	else if (old->there)
		leave(play, entry, mor_undo_path(entry), ANOTHER);
	else if (renameat2(now->parent, now->name, old->parent, old->name, RENAME_NOREPLACE) < 0)
		return -errno;
	return 0;
}

static int swap_back(struct play *play, const struct mor_undo_entry *entry, struct place *at, struct place *to)
{
	if (is_gone(play, &entry->id)) /* then the other one is all that is to be moved */
		return is_gone(play, &entry->id2) ? 0 : move_back(play, entry, &entry->id2, at, to);
	if (is_gone(play, &entry->id2))
		return move_back(play, entry, &entry->id, to, at);
	if (!is_it(play, to, &entry->id) || !is_it(play, at, &entry->id2))
		leave(play, entry, mor_undo_path(entry), ANOTHER);
	else if (renameat2(to->parent, to->name, at->parent, at->name, RENAME_EXCHANGE) < 0)
		return -errno;
	return 0;
}

/* And swapped. Where it is in its old place already it never came to pass, or somebody has moved it back. */
static int undo_moved(struct play *play, const struct mor_undo_entry *entry, struct place *at)
{
	struct place to;
	int status;

	if (is_it(play, at, &entry->id))
		return 0;
	status = go_to(play, mor_undo_other(entry), &to);
	if (status < 0)
		return status;
	status = entry->kind == MOR_UNDO_SWAPPED ? swap_back(play, entry, at, &to) : move_back(play, entry, &entry->id, &to, at);
	mor_fd_close(&to.parent);
	return status;
}

static int take_left(struct play *play, const struct mor_undo_entry *entry)
{
	struct state state = {
		.bytes = entry->bytes, .mtime_ns = entry->mtime_ns, .mode = entry->mode, .foreign = entry->foreign,
		.gone = entry->kind == MOR_UNDO_GONE,
	};

	return set_state(play, &entry->id, &state);
}

/* ---- all of it ---- */

typedef int undo_fn(struct play *play, const struct mor_undo_entry *entry, struct place *at);
static undo_fn *const deeds[] = {
	[MOR_UNDO_MADE] = undo_made, [MOR_UNDO_CHANGED] = undo_changed, [MOR_UNDO_ATTRS] = undo_attrs,
	[MOR_UNDO_REMOVED] = undo_removed, [MOR_UNDO_MOVED] = undo_moved, [MOR_UNDO_SWAPPED] = undo_moved,
};

static void undo_one(struct play *play, const struct mor_undo_entry *entry)
{
	struct place at;
	int status;

	if (entry->kind == MOR_UNDO_REFUSED && play->player->on_refused)
		play->player->on_refused(play->player->arg, mor_undo_path(entry), entry->error);
	if (entry->kind == MOR_UNDO_LEFT || entry->kind == MOR_UNDO_GONE)
		(void)take_left(play, entry); /* no memory: then it is not known */
	if (entry->kind > MOR_UNDO_SWAPPED || (entry->kind != MOR_UNDO_SWAPPED && is_gone(play, &entry->id)))
		return;
	if (play->player->only_tell) {
		leave(play, entry, mor_undo_path(entry), UNKNOWN);
		return;
	}
	status = go_to(play, mor_undo_path(entry), &at);
	if (status == 0) {
		status = deeds[entry->kind](play, entry, &at);
		mor_fd_close(&at.parent);
	}
	/* What was made in a directory that is gone went with it. */
	if (entry->kind == MOR_UNDO_MADE && (status == -ENOENT || status == -ENOTDIR || status == -ELOOP))
		return;
	if (status < 0)
		leave_for(play, entry, status);
}

/* ---- what happened ---- */

/* Each name that the entries have, with whether it existed before. */
static size_t list_names(const struct mor_undo_list *list, struct name *names)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct mor_undo_entry *entry = list->entry[i];

		if (entry->kind > MOR_UNDO_SWAPPED)
			continue;
		names[count++] = (struct name){ .path = mor_undo_path(entry), .order = i, .existed = entry->kind != MOR_UNDO_MADE };
		if (entry->kind == MOR_UNDO_MOVED || entry->kind == MOR_UNDO_SWAPPED || (entry->kind == MOR_UNDO_MADE && *mor_undo_other(entry)))
			names[count++] = (struct name){ .path = mor_undo_other(entry), .order = i, .existed = entry->kind != MOR_UNDO_MOVED };
	}
	return count;
}

static int gather_names(struct play *play)
{
	size_t count;

	play->names = mor_alloc((2 * play->list.count + 1) * sizeof(*play->names));
	if (!play->names)
		return -ENOMEM;
	count = list_names(&play->list, play->names);
	if (count)
		qsort(play->names, count, sizeof(*play->names), by_path);
	for (size_t i = 0; i < count; i++) {
		struct place at;

		if (i > 0 && strcmp(play->names[i].path, play->names[i - 1].path) == 0)
			continue;
		play->names[play->name_count] = play->names[i];
		if (go_to(play, play->names[i].path, &at) == 0) {
			play->names[play->name_count].there = at.there;
			mor_fd_close(&at.parent);
		}
		play->name_count++;
	}
	return 0;
}

/* What a person would say that happened: temporary files that came and went are nothing. */
static void tell(struct play *play)
{
	for (size_t i = 0; i < play->name_count; i++) {
		const struct name *name = &play->names[i];
		char copy[PATH_MAX] = "";

		if (!name->why) {
			play->ret->changed += name->existed && name->there;
			play->ret->removed += name->existed && !name->there;
			play->ret->created += !name->existed && name->there;
			continue;
		}
		play->ret->left++;
		if (name->held && play->player->extract && extract(play, name->held, copy) < 0)
			copy[0] = 0;
		if (play->player->on_left)
			play->player->on_left(play->player->arg, name->path, name->why, *copy ? copy : NULL);
	}
}

void mor_undo_summary(const struct mor_undo_result *result, char text[MOR_UNDO_SUMMARY])
{
	const struct {
		unsigned count;
		const char *word;
	} parts[] = { { result->changed, "changed" }, { result->created, "created" }, { result->removed, "removed" } };
	size_t len = 0;

	text[0] = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i].count)
			len += (size_t)snprintf(text + len, MOR_UNDO_SUMMARY - len, "%s%u%s %s", len ? ", " : "", parts[i].count,
						len ? "" : parts[i].count == 1 ? " file" : " files", parts[i].word);
	if (!len)
		snprintf(text, MOR_UNDO_SUMMARY, "nothing");
}

static int open_root(const struct mor_undo_store *store)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, store->root, &how, sizeof(how));
	struct mor_undo_look look;

	if (fd < 0)
		return -errno;
	if (mor_undo_look(fd, "", &look) == 0 && look.id.device == store->head->device && look.id.inode == store->head->inode)
		return fd;
	close(fd);
	return -ESTALE;
}

static void play_fini(struct play *play)
{
	mor_fd_close(&play->root);
	mor_undo_map_fini(&play->state_of);
	mor_undo_map_fini(&play->anew_of);
	mor_free(play->states);
	mor_free(play->anew);
	mor_free(play->names);
	mor_undo_list_fini(&play->list);
}

int mor_undo_play(const struct mor_undo_store *store, const struct mor_undo_player *player, struct mor_undo_result *ret)
{
	struct play play = { .store = store, .player = player, .ret = ret, .root = open_root(store) };
	int status = play.root < 0 ? play.root : mor_undo_store_read(store, &play.list);

	*ret = (struct mor_undo_result){ 0 };
	if (status == 0)
		status = gather_names(&play);
	for (size_t i = play.list.count; status == 0 && i-- > 0;)
		undo_one(&play, play.list.entry[i]);
	if (status == 0)
		tell(&play);
	play_fini(&play);
	return status;
}
