/*
 * Putting a view together in the shop, in place: one read-only overlay of the stage's directory over the plugin's per
 * touched top-level directory. Where the kernel has no overlay for it (mounts inside, the stage itself inside, too many
 * overlays on each other) the directory is built anew on a tmpfs, of copies of what is in it, and only what the stage
 * touches is looked at further down. Where a directory of the stage meets a link of the plugin's tree, it is shown where
 * the link leads. Names in the stage are nobody's friends: they are only ever used one at a time, below handles, and no link
 * in the stage is followed. Layers are hung up under names of ours, so what characters they have does not matter.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "jail/confine.h"
#include "jail/root.h"
#include "jail/view_shop.h"

#define DEPTH_MAX 128 /* of directories that the plugin's tree has as well: four handles each */
#define SAFE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define SHOWN (SAFE | MOUNT_ATTR_RDONLY)

static int stage_fails(struct mor_view_shop *shop, int error, const char *name, const char *why)
{
	return mor_setup_fail(shop->failure, MOR_AT_STAGE, error, "%s: %s", name, why);
}

static int kernel_fails(struct mor_view_shop *shop, int error, const char *name, const char *what)
{
	return mor_setup_fail(shop->failure, MOR_AT_NAMESPACE, error, "%s: the kernel refuses %s", name, what);
}

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* ---- directories ---- */

struct scan {
	int fd; /* -1: nothing */
	long got, at;
	char batch[2048] __attribute__((aligned(8)));
};

/* A new look at a directory handle. 0 or -errno. */
static int scan_begin(struct scan *scan, int dir)
{
	scan->got = scan->at = 0;
	scan->fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return scan->fd < 0 ? -errno : 0;
}

/* NULL at the end; closed then. Errors of reading end it as well: such a directory has no more names. */
static const char *scan_next(struct scan *scan)
{
	while (scan->fd >= 0) {
		const struct dirent64 *entry;

		if (scan->at >= scan->got) {
			scan->got = syscall(SYS_getdents64, scan->fd, scan->batch, sizeof(scan->batch));
			scan->at = 0;
			if (scan->got <= 0)
				break;
		}
		entry = (const struct dirent64 *)(scan->batch + scan->at);
		scan->at += entry->d_reclen;
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return entry->d_name;
	}
	if (scan->fd >= 0)
		close(scan->fd);
	scan->fd = -1;
	return NULL;
}

static void scan_end(struct scan *scan)
{
	if (scan->fd >= 0)
		close(scan->fd);
	scan->fd = -1;
}

static int open_entry(int dir, const char *name)
{
	return dir < 0 ? -1 : openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* S_IFDIR and so on; 0: it is not there. */
static mode_t type_of(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

static int join(char out[PATH_MAX], const char *dir, const char *name)
{
	int len = snprintf(out, PATH_MAX, "%s/%s", dir, name);

	return len < 0 || len >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* ---- names of the plugin's tree ---- */

static bool below(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) == 0 && name[len] == '/';
}

static bool has_mounts(const struct mor_view_shop *shop, const char *name)
{
	for (const char *at = shop->mounts; at < shop->mounts + shop->mounts_len; at += strlen(at) + 1)
		if (below(at, name))
			return true;
	return false;
}

/* "/usr/lib/x" -> "usr", noted as a place of the view. false: no view may lie there. */
static bool touch(struct mor_view_shop *shop, const char *path, char letter)
{
	static const char *const never[] = { "", "proc", "sys", "dev" };
	char name[NAME_MAX + 1];
	size_t len = strcspn(path + 1, "/");

	if (len > NAME_MAX)
		return false;
	memcpy(name, path + 1, len);
	name[len] = 0;
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		if (strcmp(name, never[i]) == 0)
			return false;
	for (const char *place = NULL; (place = mor_view_next(&shop->touched, place));)
		if (strcmp(place + 1, name) == 0)
			return true;
	return mor_view_add(&shop->touched, letter, name) == 0;
}

/* Where a link of the plugin's tree leads: the directory, and its true name; -1: to none. */
static int follow(const struct mor_view_shop *shop, const char *link, char real[PATH_MAX])
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, shop->root, link, &how, sizeof(how));
	char number[16];
	ssize_t len;

	if (fd < 0)
		return -1;
	snprintf(number, sizeof(number), "%d", fd);
	len = readlinkat(shop->own_fds, number, real, PATH_MAX - 1);
	if (len <= 0 || len == PATH_MAX - 1) {
		close(fd);
		return -1;
	}
	real[len] = 0;
	return fd;
}

/* Whether the directory is open to us as `mode` says. An overlay looks into it with our rights, not the plugin's. */
static bool is_open(int dir, int mode)
{
	return faccessat(dir, "", mode, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

/* ---- mounts ---- */

static int spend(struct mor_view_shop *shop)
{
	if (shop->budget == 0)
		return -ENOSPC;
	shop->budget--;
	return 0;
}

static int bind(struct mor_view_shop *shop, int from, int onto, uint64_t attributes)
{
	int status = spend(shop);

	return status < 0 ? status : mor_mount_bind(from, onto, attributes);
}

/* A copy of one directory's mount, under a name in our working directory. */
static int hang_up(int from, const char *name)
{
	int tree = open_tree(from, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH), status = 0;

	if (tree < 0)
		return -errno;
	if (move_mount(tree, "", AT_FDCWD, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		status = -errno;
	close(tree);
	return status;
}

/* A new file system as a mount that belongs nowhere yet. */
static int make_mount(const char *type, const char *const options[][2], uint64_t attributes)
{
	int fs = fsopen(type, FSOPEN_CLOEXEC), mnt = -1, status = 0;

	if (fs < 0)
		return -errno;
	for (; status == 0 && (*options)[0]; options++)
		if (fsconfig(fs, FSCONFIG_SET_STRING, (*options)[0], (*options)[1], 0) < 0)
			status = -errno;
	if (status == 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		status = -errno;
	if (status == 0 && (mnt = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)attributes)) < 0)
		status = -errno;
	close(fs);
	return status < 0 ? status : mnt;
}

static int attach(int mnt, int onto)
{
	return move_mount(mnt, "", onto, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ? -errno : 0;
}

/* `from` over `base`, mounted at `at`. */
static int overlay(struct mor_view_shop *shop, int from, int base, int at)
{
	static const char *const layers[][2] = { { "lowerdir", "over:under" }, { NULL, NULL } };
	int status = spend(shop), mnt;

	if (status == 0)
		status = hang_up(from, "over");
	if (status < 0)
		return status;
	status = hang_up(base, "under");
	if (status == 0) {
		mnt = make_mount("overlay", layers, SHOWN);
		status = mnt < 0 ? mnt : attach(mnt, at);
		if (mnt >= 0)
			close(mnt);
		umount2("under", MNT_DETACH);
	}
	umount2("over", MNT_DETACH);
	return status;
}

/* An empty directory in place of `at`, with its mode; it can be filled until it is sealed. */
static int cover(struct mor_view_shop *shop, int at)
{
	char mode[16];
	const char *const options[][2] = { { "mode", mode }, { "size", "4m" }, { NULL, NULL } };
	struct stat st;
	int status = spend(shop), mnt;

	if (status < 0 || fstat(at, &st) < 0)
		return status < 0 ? status : -errno;
	snprintf(mode, sizeof(mode), "%o", st.st_mode & 07777);
	mnt = make_mount("tmpfs", options, SAFE);
	status = mnt < 0 ? mnt : attach(mnt, at);
	if (status < 0 && mnt >= 0)
		close(mnt);
	return status < 0 ? status : mnt;
}

static int seal(int mnt)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	return mount_setattr(mnt, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

/* ---- a directory built anew ---- */

static int show(struct mor_view_shop *shop, const char *dest, const char *origin, int from, int base, int depth);
static const struct mor_view_link *link_at(const struct mor_view_shop *shop, const char *name);

struct anew {
	struct mor_view_shop *shop;
	const char *dest, *origin; /* its name; that of what it was in the tree before */
	int from, base, room;      /* the stage's directory (-1: none), the plugin's, the new one */
	int depth;
};

/* The same name in the new directory, with a copy of what it is. */
static int put(const struct anew *anew, const char *name, int thing, uint64_t attributes)
{
	char text[PATH_MAX];
	mode_t type = type_of(thing);
	int onto, status;
	ssize_t len;

	if (type == S_IFLNK) {
		len = readlinkat(thing, "", text, sizeof(text) - 1);
		if (len < 0)
			return -errno;
		text[len] = 0;
		return symlinkat(text, anew->room, name) < 0 ? -errno : 0;
	}
	if (type == S_IFDIR ? mkdirat(anew->room, name, 0755) < 0 : mknodat(anew->room, name, S_IFREG | 0444, 0) < 0)
		return -errno;
	onto = open_entry(anew->room, name);
	status = onto < 0 ? -errno : bind(anew->shop, thing, onto, attributes);
	if (onto >= 0)
		close(onto);
	return status;
}

/* What was there, unless the stage has something else by that name. */
static int keep(const struct anew *anew, const char *name)
{
	char dest[PATH_MAX], origin[PATH_MAX];
	int base = open_entry(anew->base, name), from = open_entry(anew->from, name), status = 0;
	mode_t was = type_of(base), is = type_of(from);
	bool both = was == S_IFDIR && is == S_IFDIR;

	/* A directory of the stage where the tree has a link is shown where the link leads. */
	if (was == S_IFLNK && is == S_IFDIR && join(origin, anew->origin, name) == 0 && link_at(anew->shop, origin))
		is = 0;
	if (was && (!is || both))
		status = put(anew, name, base, 0);
	if (status == 0 && both) {
		if (join(dest, anew->dest, name) < 0 || join(origin, anew->origin, name) < 0)
			status = -ENAMETOOLONG;
		else
			status = show(anew->shop, dest, origin, from, -1, anew->depth + 1);
	}
	close_all((int[]){ base, from }, 2);
	return status;
}

/* What only the stage has, or has as another thing. */
static int add(const struct anew *anew, const char *name)
{
	int there = open_entry(anew->room, name), from = -1, status = 0;

	if (there < 0) {
		from = open_entry(anew->from, name);
		status = from < 0 ? -errno : put(anew, name, from, SHOWN);
	}
	close_all((int[]){ there, from }, 2);
	return status;
}

/* Directories that nothing else has made: "a/b/c". */
static int make_way(int room, const char *path)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	for (size_t at = 1; at <= len; at++) {
		if (path[at] != '/' && path[at])
			continue;
		memcpy(part, path, at);
		part[at] = 0;
		if (mkdirat(room, part, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

/* Each pass of names with its own function; -1: the failure is filled already, else -errno. */
static int fill(const struct anew *anew, int dir, int (*each)(const struct anew *anew, const char *name))
{
	struct scan scan;
	const char *name;
	int status = dir < 0 ? 0 : scan_begin(&scan, dir);

	while (dir >= 0 && status == 0 && (name = scan_next(&scan))) {
		status = each(anew, name);
		if (status < 0 && !anew->shop->failure->step)
			kernel_fails(anew->shop, -status, anew->dest, status == -ENOSPC ? "so many mounts for its entries"
											: "a mount for an entry of it");
	}
	if (dir >= 0 && status < 0)
		scan_end(&scan);
	return status;
}

/* way: directories to be there in the end, or NULL. */
static int build_anew(struct mor_view_shop *shop, const struct anew *what, int at, const char *way)
{
	struct anew anew = *what;
	int status;

	if (anew.depth > DEPTH_MAX)
		return stage_fails(shop, ENAMETOOLONG, anew.dest, "too deep");
	anew.room = cover(shop, at);
	if (anew.room < 0)
		return kernel_fails(shop, -anew.room, anew.dest, "a tmpfs");
	status = fill(&anew, anew.base, keep);
	if (status == 0)
		status = fill(&anew, anew.from, add);
	if (status == 0 && way)
		status = make_way(anew.room, way);
	if (status == 0)
		status = seal(anew.room);
	close(anew.room);
	if (status < 0 && !shop->failure->step)
		kernel_fails(shop, -status, anew.dest, "to build it anew");
	return status < 0 ? -1 : 0;
}

/* ---- one directory or file of the stage at its place ---- */

static int show_directory(struct mor_view_shop *shop, const char *dest, const char *origin, int from, int base, int at,
			  int depth)
{
	const struct anew anew = { shop, dest, origin, from, base, -1, depth };
	int status = -EACCES;

	if (is_open(base, X_OK))
		status = has_mounts(shop, origin) ? -EINVAL : overlay(shop, from, base, at);
	/* Overlapping layers; locked mounts inside, or too many overlays on each other. */
	if ((status == -ELOOP || status == -EINVAL) && is_open(base, R_OK))
		return build_anew(shop, &anew, at, NULL);
	/* What the host has there is closed to the plugin as well: nothing is lost without it. */
	if (status == -EACCES || status == -ELOOP || status == -EINVAL)
		status = bind(shop, from, at, SHOWN);
	return status < 0 ? kernel_fails(shop, -status, dest, "an overlay") : 0;
}

/* `origin`: the name by which its mounts are known. base: what lies below, -1: what is at `dest`. */
static int show(struct mor_view_shop *shop, const char *dest, const char *origin, int from, int base, int depth)
{
	int at = mor_mount_open(shop->root, dest), status, r;
	mode_t here = type_of(at), is = type_of(from);

	if (at < 0)
		return kernel_fails(shop, -at, dest, "to open it");
	if (is == S_IFDIR && here == S_IFDIR)
		status = show_directory(shop, dest, origin, from, base < 0 ? at : base, at, depth);
	else if (is == S_IFDIR || here == S_IFDIR || here == S_IFLNK || is == S_IFLNK)
		status = stage_fails(shop, EINVAL, dest, "is one thing on this machine and another in the view");
	else
		status = (r = bind(shop, from, at, SHOWN)) < 0 ? kernel_fails(shop, -r, dest, "a bind mount") : 0;
	close(at);
	return status;
}

/* ---- links of the tree on the way ---- */

static const struct mor_view_link *link_at(const struct mor_view_shop *shop, const char *name)
{
	for (size_t i = 0; i < shop->link_count; i++)
		if (shop->links[i].real && strcmp(shop->links[i].name, name) == 0)
			return &shop->links[i];
	return NULL;
}

static int note_link(struct mor_view_shop *shop, const char *source, const char *name, const char *real)
{
	struct mor_view_link *more = mor_realloc(shop->links, (shop->link_count + 1) * sizeof(*more)), *link;

	if (!more)
		return mor_setup_fail(shop->failure, MOR_AT_FORK, ENOMEM, "no memory");
	shop->links = more;
	link = &more[shop->link_count];
	*link = (struct mor_view_link){ mor_strdup(source), mor_strdup(name), real ? mor_strdup(real) : NULL };
	if (!link->source || !link->name || (real && !link->real))
		return mor_setup_fail(shop->failure, MOR_AT_FORK, ENOMEM, "no memory");
	shop->link_count++;
	return 0;
}

/* Stage and tree side by side, down as far as both have directories. */
struct walk {
	struct mor_view_shop *shop;
	int from, base;
	const char *source, *dest; /* their names: below the stage, in the tree */
	int depth;
};

static int look_at(const struct walk *walk, const char *name);

static int walk_down(const struct walk *walk)
{
	struct scan scan;
	const char *name;
	int status = scan_begin(&scan, walk->from);

	if (status < 0 || walk->depth > DEPTH_MAX) {
		if (status == 0)
			scan_end(&scan);
		return stage_fails(walk->shop, status < 0 ? -status : ENAMETOOLONG, walk->dest, "its directory in the stage");
	}
	while (status == 0 && (name = scan_next(&scan)))
		status = look_at(walk, name);
	scan_end(&scan);
	return status;
}

/* A directory of the stage whose name is a link in the tree; one that leads to no directory is simply covered. */
static int look_behind(const struct walk *walk, const char *source, const char *link, int from)
{
	char real[PATH_MAX];
	int target = follow(walk->shop, link, real), status;
	struct walk next = { walk->shop, from, target, source, real, walk->depth + 1 };

	if (target < 0)
		return 0;
	if (!touch(walk->shop, real, MOR_PLACE_OVER))
		status = stage_fails(walk->shop, EINVAL, link, "leads to where no view can be");
	else
		status = note_link(walk->shop, source, link, real);
	if (status == 0)
		status = walk_down(&next);
	close(target);
	return status;
}

static int look_at(const struct walk *walk, const char *name)
{
	int from = open_entry(walk->from, name), base = type_of(from) == S_IFDIR ? open_entry(walk->base, name) : -1, status = 0;
	mode_t was = type_of(base);
	char source[PATH_MAX], dest[PATH_MAX];
	struct walk next = { walk->shop, from, base, source, dest, walk->depth + 1 };

	if (was == S_IFDIR || was == S_IFLNK) {
		if (join(source, walk->source, name) < 0 || join(dest, walk->dest, name) < 0)
			status = stage_fails(walk->shop, ENAMETOOLONG, walk->dest, "what is below it");
		else if (was == S_IFDIR && !is_open(base, X_OK)) /* at the top show_directory() sees to it */
			status = walk->depth ? note_link(walk->shop, source, dest, NULL) : 0;
		else
			status = was == S_IFDIR ? walk_down(&next) : look_behind(walk, source, dest, from);
	}
	close_all((int[]){ from, base }, 2);
	return status;
}

/* The stage's directory where the link leads. Where an overlay of a directory above shows it in place of the link, it gets
 * below it what the link led to. */
static int show_link(struct mor_view_shop *shop, const struct mor_view_link *link)
{
	int from = mor_mount_open(shop->stage, link->source), now, at, status;

	if (from < 0)
		return stage_fails(shop, -from, link->name, "its directory in the stage");
	if (!link->real) {
		at = mor_mount_open(shop->root, link->name);
		status = at < 0 ? at : bind(shop, from, at, SHOWN);
		close_all((int[]){ from, at }, 2);
		return status < 0 ? kernel_fails(shop, -status, link->name, "a bind mount") : 0;
	}
	status = show(shop, link->real, link->real, from, -1, 0);
	now = status < 0 ? -1 : mor_mount_open(shop->root, link->real);
	at = status < 0 ? -1 : mor_mount_open(shop->root, link->name);
	if (now >= 0 && type_of(at) == S_IFDIR)
		status = show(shop, link->name, link->real, from, now, 0);
	close_all((int[]){ from, now, at }, 3);
	return status;
}

/* ---- what goes where ---- */

/* A name that the plugin's root does not have. */
static int make_place(struct mor_view_shop *shop, const char *name, bool directory)
{
	if (directory ? mkdirat(shop->writer, name, 0755) < 0 : mknodat(shop->writer, name, S_IFREG | 0444, 0) < 0)
		return -errno;
	return 0;
}

static int show_new(struct mor_view_shop *shop, const char *dest, int from)
{
	int status = make_place(shop, dest + 1, type_of(from) == S_IFDIR), at = -1;

	if (status == 0) {
		at = mor_mount_open(shop->root, dest);
		status = at < 0 ? at : bind(shop, from, at, SHOWN);
	}
	close_all(&at, 1);
	return status < 0 ? kernel_fails(shop, -status, dest, "a place on the plugin's root") : 0;
}

/* One top-level name of the stage. What lies behind a link of that name comes with the links. */
static int show_top(struct mor_view_shop *shop, const char *name)
{
	int from = open_entry(shop->stage, name), base = open_entry(shop->root, name), status = 0;
	mode_t is = type_of(from), was = type_of(base);
	char dest[NAME_MAX + 2] = "/";

	memcpy(dest + 1, name, strlen(name) + 1);
	if (is == S_IFDIR && was == S_IFLNK) {
		if (!link_at(shop, dest))
			status = stage_fails(shop, EINVAL, dest, "is a link on this machine that leads to no directory");
	} else if (is == S_IFLNK || !touch(shop, dest, was ? MOR_PLACE_OVER : MOR_PLACE_MADE)) {
		status = stage_fails(shop, EINVAL, dest, "cannot be part of a view");
	} else {
		status = was ? show(shop, dest, dest, from, -1, 0) : show_new(shop, dest, from);
	}
	close_all((int[]){ from, base }, 2);
	return status;
}

int mor_shop_show(struct mor_view_shop *shop)
{
	struct walk walk = { shop, shop->stage, shop->root, "", "", 0 };
	struct scan scan;
	const char *name;
	int status = walk_down(&walk); /* before anything is covered */

	if (status == 0)
		status = scan_begin(&scan, shop->stage);
	if (status < 0)
		return -1;
	while (status == 0 && (name = scan_next(&scan)))
		status = show_top(shop, name);
	scan_end(&scan);
	for (size_t i = 0; status == 0 && i < shop->link_count; i++)
		status = show_link(shop, &shop->links[i]);
	return status < 0 ? -1 : 0;
}

/* ---- writable directories ---- */

static bool is_there(int at, int tree)
{
	struct stat a, b;

	return at >= 0 && fstat(at, &a) == 0 && fstat(tree, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino &&
	       faccessat(at, "", W_OK, AT_EMPTY_PATH) == 0;
}

/* The nearest directory above that is there is built anew with what is missing. */
static int make_room(struct mor_view_shop *shop, const char *path)
{
	struct anew anew = { .shop = shop, .from = -1, .base = -1 };
	char above[PATH_MAX];
	size_t len = strlen(path);
	int at = -ENOENT, status;

	memcpy(above, path, len + 1);
	while (at < 0 && len > 0) {
		while (len > 0 && above[len] != '/')
			len--;
		above[len] = 0;
		at = len ? mor_mount_open(shop->root, above) : -ENOENT;
	}
	if (at < 0) { /* not even its top-level directory */
		len = strcspn(path + 1, "/") + 1;
		memcpy(above, path, len);
		above[len] = 0;
		status = make_place(shop, above + 1, true);
		at = status < 0 ? status : mor_mount_open(shop->root, above);
	}
	if (at < 0)
		return kernel_fails(shop, -at, above, "a place on the plugin's root");
	anew.dest = anew.origin = above;
	anew.base = at;
	status = path[len] ? build_anew(shop, &anew, at, path + len + 1) : 0;
	close(at);
	return status;
}

int mor_shop_writable(struct mor_view_shop *shop, const char *path, int tree)
{
	struct mount_attr attr = { .attr_set = SAFE };
	char top[NAME_MAX + 1];
	size_t len = strcspn(path + 1, "/");
	int at = mor_mount_open(shop->root, path), status = 0;

	if (is_there(at, tree)) {
		close(at);
		return 0;
	}
	if (len <= NAME_MAX) {
		memcpy(top, path + 1, len);
		top[len] = 0;
	}
	if (len > NAME_MAX || !touch(shop, path, faccessat(shop->root, top, F_OK, AT_SYMLINK_NOFOLLOW) < 0 ? MOR_PLACE_MADE
													 : MOR_PLACE_OVER)) {
		close_all(&at, 1);
		return stage_fails(shop, EINVAL, path, "no writable directory can be there");
	}
	if (at < 0 && make_room(shop, path) < 0)
		return -1;
	if (at < 0)
		at = mor_mount_open(shop->root, path);
	if (at >= 0 && mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		status = -errno;
	if (at >= 0 && status == 0)
		status = attach(tree, at);
	if (at < 0 || status < 0)
		status = kernel_fails(shop, at < 0 ? -at : -status, path, "to mount it");
	close_all(&at, 1);
	return status;
}

/* ---- the shop itself ---- */

/* "\040" and the like, in place. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] && text[3]) {
			*to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = 0;
}

/* Of each line the fifth field, packed to the front. */
static void keep_mount_points(struct mor_view_shop *shop, char *text)
{
	char *to = text, *line = text, *next;

	for (; *line; line = next) {
		char *field = line, *end;

		next = strchrnul(line, '\n');
		if (*next)
			*next++ = 0;
		for (int i = 0; field && i < 4; i++)
			field = (field = strchr(field, ' ')) ? field + 1 : NULL;
		if (!field)
			continue;
		end = strchrnul(field, ' ');
		*end = 0;
		unescape(field);
		memmove(to, field, strlen(field) + 1);
		to += strlen(to) + 1;
	}
	shop->mounts = text;
	shop->mounts_len = (size_t)(to - text);
}

static int read_mounts(struct mor_view_shop *shop)
{
	int fd = openat(shop->self, "mountinfo", O_RDONLY | O_CLOEXEC);
	size_t len = 0, room = 0;
	char *text = NULL;
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0) {
		if (room - len < 4096) {
			char *more = mor_realloc(text, room += 64 * 1024);

			if (!more) {
				n = -1;
				break;
			}
			text = more;
		}
		n = read(fd, text + len, room - len - 1);
		len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		mor_free(text);
		return -EIO;
	}
	text[len] = 0;
	keep_mount_points(shop, text);
	return 0;
}

/* Mounted over the root, where nobody steps on it: names begin at handles below it. */
static int open_room(void)
{
	static const char *const options[][2] = { { "mode", "0700" }, { "size", "64k" }, { NULL, NULL } };
	int room = make_mount("tmpfs", options, SAFE), status;

	if (room < 0)
		return room;
	status = move_mount(room, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 || fchdir(room) < 0 ||
			 mkdir("over", 0700) < 0 || mkdir("under", 0700) < 0 || mkdir("stage", 0700) < 0 ? -errno : 0;
	close(room);
	return status;
}

int mor_shop_open(struct mor_view_shop *shop, int stage)
{
	int status = read_mounts(shop);

	if (status == 0)
		status = open_room();
	if (status == 0 && move_mount(stage, "", AT_FDCWD, "stage", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		status = -errno;
	shop->stage = stage; /* a handle on it, as before */
	return status < 0 ? mor_setup_fail(shop->failure, MOR_AT_NAMESPACE, -status, "the kernel refuses to prepare the mounts") : 0;
}
