/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a view in the shop, in place: one read-only overlay of the stage's directory over the plugin's, for
 * each touched top-level directory. If the kernel cannot make this overlay (mounts inside, the stage itself
 * inside, too many overlays on each other), the directory is built again on a tmpfs, from copies of its
 * entries, and only what the stage touches is followed further down. If a directory of the stage meets a
 * link of the plugin's tree, it is shown where the link leads. We do not trust names in the stage: they are
 * used one at a time, below handles, and no link in the stage is followed. Layers are mounted under our own
 * names, so special characters in their names do not matter.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "jail/root.h"
#include "jail/view_dir.h"
#include "jail/view_shop.h"

/* ---- a directory built anew ---- */

static int show_below(struct mor_view_shop *shop, const char *dest, const char *origin, int from, int base,
		      int depth);

struct anew {
	struct mor_view_shop *shop;
	const char *dest, *origin; /* its name; its earlier name in the tree */
	int from, base, room;      /* the stage's directory (-1: none), the plugin's, the new one */
	int depth;
};

/* The same name in the new directory, with a copy of the thing. */
static int put_copy(const struct anew *anew, const char *name, int thing, uint64_t attributes)
{
	char text[PATH_MAX];
	mode_t type = mor_handle_type(thing);
	int onto, status;
	ssize_t len;

	if (type == S_IFLNK) {
		len = readlinkat(thing, "", text, sizeof(text) - 1);
		if (len < 0)
			return -errno;
		text[len] = 0;
		return symlinkat(text, anew->room, name) < 0 ? -errno : 0;
	}
	if (type == S_IFDIR ? mkdirat(anew->room, name, 0755) < 0 :
			      mknodat(anew->room, name, S_IFREG | 0444, 0) < 0)
		return -errno;
	onto = mor_handle_entry(anew->room, name);
	status = onto < 0 ?
			 -errno :
			 mor_shop_attach_take(anew->shop, mor_shop_copy(anew->shop, thing, attributes), onto);
	if (onto >= 0)
		close(onto);
	return status;
}

/* The existing entry, unless the stage has something else with that name. */
static int keep_old(const struct anew *anew, const char *name)
{
	char dest[PATH_MAX], origin[PATH_MAX];
	int base = mor_handle_entry(anew->base, name), from = mor_handle_entry(anew->from, name), status = 0;
	mode_t was = mor_handle_type(base), is = mor_handle_type(from);
	bool both = was == S_IFDIR && is == S_IFDIR;

	/* If the tree has a link, the stage's directory is shown where the link leads. */
	if (was == S_IFLNK && is == S_IFDIR && mor_name_join(origin, anew->origin, name) == 0 &&
	    mor_shop_link(anew->shop, origin))
		is = 0;
	if (was && (!is || both))
		status = put_copy(anew, name, base, 0);
	if (status == 0 && both) {
		if (mor_name_join(dest, anew->dest, name) < 0 || mor_name_join(origin, anew->origin, name) < 0)
			status = -ENAMETOOLONG;
		else
			status = show_below(anew->shop, dest, origin, from, -1, anew->depth + 1);
	}
	mor_shop_close((int[]){ base, from }, 2);
	return status;
}

/* Entries that only the stage has, or has as another type. */
static int add_new(const struct anew *anew, const char *name)
{
	int there = mor_handle_entry(anew->room, name), from = -1, status = 0;

	if (there < 0) {
		from = mor_handle_entry(anew->from, name);
		status = from < 0 ? -errno : put_copy(anew, name, from, MOR_VIEW_SHOWN);
	}
	mor_shop_close((int[]){ there, from }, 2);
	return status;
}

/* Each pass over names has its own function. A negative status comes with the failure filled, or is a
 * -errno. */
static int fill_room(const struct anew *anew, int dir, int (*each)(const struct anew *anew, const char *name))
{
	struct mor_listing listing;
	const char *name;
	int status = dir < 0 ? 0 : mor_listing_begin(&listing, dir), ended;

	if (dir < 0 || status < 0)
		return status;
	while (status == 0 && (name = mor_listing_next(&listing))) {
		status = each(anew, name);
		if (status < 0 && !anew->shop->failure->step)
			mor_shop_refused(anew->shop, -status, anew->dest,
					 status == -ENOSPC ? "so many mounts for its entries" :
							     "a mount for an entry of it");
	}
	ended = mor_listing_end(&listing);
	return status < 0 ? status : ended;
}

/* way: directories that must exist at the end, or NULL. */
static int build_anew(struct mor_view_shop *shop, const struct anew *what, int at, const char *way)
{
	struct anew anew = *what;
	int status;

	if (anew.depth > MOR_VIEW_DEPTH)
		return mor_shop_blame(shop, ENAMETOOLONG, anew.dest, "too deep");
	anew.room = mor_shop_cover(shop, at);
	if (anew.room < 0)
		return mor_shop_refused(shop, -anew.room, anew.dest, "a tmpfs");
	status = mor_shop_note_mounts(shop, anew.dest);
	if (status == 0)
		status = fill_room(&anew, anew.base, keep_old);
	if (status == 0)
		status = fill_room(&anew, anew.from, add_new);
	if (status == 0 && way)
		status = mor_dir_make_all(anew.room, way, 0755);
	if (status == 0)
		status = mor_shop_seal(anew.room);
	close(anew.room);
	if (status < 0 && !shop->failure->step)
		mor_shop_refused(shop, -status, anew.dest, "to build it anew");
	return status < 0 ? -1 : 0;
}

/* ---- one directory or file of the stage at its place ---- */

static int show_directory(struct mor_view_shop *shop, const char *dest, const char *origin, int from, int base,
			  int at, int depth)
{
	const struct anew anew = { shop, dest, origin, from, base, -1, depth };
	int status = -EACCES;

	if (mor_shop_is_open(base, "", X_OK))
		status = mor_shop_has_mounts(shop, origin) ? -EINVAL :
							     mor_shop_overlay(shop, from, base, origin);
	if (status >= 0)
		status = mor_shop_place(shop, status, at, dest);
	/* Overlapping layers; locked mounts inside, or too many overlays on each other. */
	if ((status == -ELOOP || status == -EINVAL) && mor_shop_is_open(base, "", R_OK))
		return build_anew(shop, &anew, at, NULL);
	/* The host's directory is closed to the plugin as well: nothing is lost without it. */
	if (status == -EACCES || status == -ELOOP || status == -EINVAL)
		status = mor_shop_place(shop, mor_shop_copy(shop, from, MOR_VIEW_SHOWN), at, dest);
	return status < 0 ? mor_shop_refused(shop, -status, dest, "an overlay") : 0;
}

/* `origin`: the name of its mounts. base: the layer below, -1: the one at `dest`. */
static int show_below(struct mor_view_shop *shop, const char *dest, const char *origin, int from, int base,
		      int depth)
{
	int at = mor_mount_open(shop->root, dest), status = 0, r = 0;
	mode_t here = mor_handle_type(at), is = mor_handle_type(from);

	if (at < 0)
		return mor_shop_refused(shop, -at, dest, "to open it");
	if (is == S_IFDIR && here == S_IFDIR)
		status = show_directory(shop, dest, origin, from, base < 0 ? at : base, at, depth);
	else if (is == S_IFDIR || here == S_IFDIR || here == S_IFLNK || is == S_IFLNK)
		status = mor_shop_blame(shop, EINVAL, dest,
					"is one thing on this machine and another in the view");
	else
		r = mor_shop_place(shop, mor_shop_copy(shop, from, MOR_VIEW_SHOWN), at, dest);
	close(at);
	return r < 0 ? mor_shop_refused(shop, -r, dest, "a bind mount") : status;
}

/* ---- links of the tree on the way ---- */

/* The stage's directory, at the target of the link. If an overlay of a directory above shows it in place of
 * the link, the link's old target becomes the layer below it. */
static int show_link(struct mor_view_shop *shop, const struct mor_view_link *link)
{
	int from = mor_mount_open(shop->stage, link->source), now, at, status;

	if (from < 0)
		return mor_shop_blame(shop, -from, link->name, "its directory in the stage");
	if (!link->real) {
		at = mor_mount_open(shop->root, link->name);
		status =
			at < 0 ? at : mor_shop_attach_take(shop, mor_shop_copy(shop, from, MOR_VIEW_SHOWN), at);
		mor_shop_close((int[]){ from, at }, 2);
		return status < 0 ? mor_shop_refused(shop, -status, link->name, "a bind mount") : 0;
	}
	status = show_below(shop, link->real, link->real, from, -1, 0);
	now = status < 0 ? -1 : mor_mount_open(shop->root, link->real);
	at = status < 0 ? -1 : mor_mount_open(shop->root, link->name);
	if (now >= 0 && mor_handle_type(at) == S_IFDIR)
		status = show_below(shop, link->name, link->real, from, now, 0);
	mor_shop_close((int[]){ from, now, at }, 3);
	return status;
}

/* ---- places ---- */

/* A name that the plugin's root does not have. */
static int make_place(struct mor_view_shop *shop, const char *name, bool directory)
{
	if (directory ? mkdirat(shop->writer, name, 0755) < 0 :
			mknodat(shop->writer, name, S_IFREG | 0444, 0) < 0)
		return -errno;
	return 0;
}

static int show_new(struct mor_view_shop *shop, const char *dest, int from)
{
	int status = make_place(shop, dest + 1, mor_handle_type(from) == S_IFDIR), at = -1;

	if (status == 0) {
		at = mor_mount_open(shop->root, dest);
		status =
			at < 0 ? at : mor_shop_place(shop, mor_shop_copy(shop, from, MOR_VIEW_SHOWN), at, dest);
	}
	mor_shop_close(&at, 1);
	return status < 0 ? mor_shop_refused(shop, -status, dest, "a place on the plugin's root") : 0;
}

/* One top-level name of the stage. What lies behind a link of that name is handled with the links. */
static int show_top(struct mor_view_shop *shop, const char *name)
{
	int from = mor_handle_entry(shop->stage, name), base = mor_handle_entry(shop->root, name), status = 0;
	mode_t is = mor_handle_type(from), was = mor_handle_type(base);
	char dest[NAME_MAX + 2] = "/";

	memcpy(dest + 1, name, strlen(name) + 1);
	if (is == S_IFDIR && was == S_IFLNK) {
		if (!mor_shop_link(shop, dest))
			status = mor_shop_blame(shop, EINVAL, dest,
						"is a link on this machine that leads to no directory");
	} else if (is == S_IFLNK || !mor_shop_touch(shop, dest, was ? MOR_PLACE_OVER : MOR_PLACE_MADE)) {
		status = mor_shop_blame(shop, EINVAL, dest, "cannot be part of a view");
	} else {
		status = was ? show_below(shop, dest, dest, from, -1, 0) : show_new(shop, dest, from);
	}
	mor_shop_close((int[]){ from, base }, 2);
	return status;
}

int mor_shop_show(struct mor_view_shop *shop)
{
	struct mor_listing listing;
	const char *name;
	int status = mor_shop_find_links(shop), ended; /* before anything is covered */

	if (status == 0)
		status = mor_listing_begin(&listing, shop->stage);
	if (status != 0)
		return shop->failure->step ? -1 : mor_shop_blame(shop, -status, "/", "the stage");
	while (status == 0 && (name = mor_listing_next(&listing)))
		status = show_top(shop, name);
	ended = mor_listing_end(&listing);
	if (status == 0 && ended < 0)
		status = mor_shop_blame(shop, -ended, "/", "the stage");
	for (size_t i = 0; status == 0 && i < shop->link_count; i++)
		status = show_link(shop, &shop->links[i]);
	return status < 0 ? -1 : 0;
}

/* ---- writable directories ---- */

static bool is_there(int at, int dir)
{
	struct stat a, b;

	return at >= 0 && fstat(at, &a) == 0 && fstat(dir, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino && faccessat(at, "", W_OK, AT_EMPTY_PATH) == 0;
}

/* What is kept back is read-only. */
bool mor_shop_has(const struct mor_view_shop *shop, const char *path, int dir)
{
	int at = mor_shop_kept(shop, path) >= 0 ? -1 : mor_mount_open(shop->root, path);
	bool there = is_there(at, dir);

	mor_shop_close(&at, 1);
	return there;
}

/* Does the view that is kept back for its top-level directory have a directory there? */
static bool is_shown(const struct mor_view_shop *shop, const char *path)
{
	int kept = mor_shop_kept(shop, path),
	    at = kept < 0 ? -1 : mor_mount_open(kept, path + 1 + strcspn(path + 1, "/"));
	bool shown = mor_handle_type(at) == S_IFDIR;

	mor_shop_close(&at, 1);
	return shown;
}

/* The nearest existing directory above is built again, with the missing ones. */
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
		return mor_shop_refused(shop, -at, above, "a place on the plugin's root");
	anew.dest = anew.origin = above;
	anew.base = at;
	status = path[len] ? build_anew(shop, &anew, at, path + len + 1) : 0;
	close(at);
	return status;
}

int mor_shop_writable(struct mor_view_shop *shop, const char *path, int tree)
{
	char top[NAME_MAX + 1];
	size_t len = strcspn(path + 1, "/");
	int status, at;

	if (is_shown(shop, path))
		return 1;
	if ((status = mor_shop_unfold(shop, path)) < 0)
		return mor_shop_refused(shop, -status, path, "to mount the view above it");
	at = mor_mount_open(shop->root, path);
	if (is_there(at, tree)) {
		close(at);
		return 0;
	}
	if (len <= NAME_MAX) {
		memcpy(top, path + 1, len);
		top[len] = 0;
	}
	if (len > NAME_MAX ||
	    !mor_shop_touch(shop, path,
			    faccessat(shop->root, top, F_OK, AT_SYMLINK_NOFOLLOW) < 0 ? MOR_PLACE_MADE :
											MOR_PLACE_OVER)) {
		mor_shop_close(&at, 1);
		return mor_shop_blame(shop, EINVAL, path, "no writable directory can be there");
	}
	if (at < 0 && make_room(shop, path) < 0)
		return -1;
	if (at < 0)
		at = mor_mount_open(shop->root, path);
	if (at >= 0)
		status = mor_shop_attach(shop, tree, at);
	if (at < 0 || status < 0)
		status = mor_shop_refused(shop, at < 0 ? -at : -status, path, "to mount it");
	mor_shop_close(&at, 1);
	return status;
}
