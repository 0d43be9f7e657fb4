/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over stage and tree side by side, as far as both have directories. It finds places where a directory
 * of the stage meets a link of the plugin's tree, or a directory that we may not enter. Every order asks
 * this for every directory of its stage, so each question must be cheap: most directories hold only files,
 * and are not even opened.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "jail/confine.h"
#include "jail/view_dir.h"
#include "jail/view_shop.h"

struct stage_walk {
	struct mor_view_shop *shop;
	const char *source, *dest; /* the directory's names: below the stage, in the tree */
	int from, base;
	int depth;
};

const struct mor_view_link *mor_shop_link(const struct mor_view_shop *shop, const char *name)
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
	link = &more[shop->link_count++];
	*link = (struct mor_view_link){ mor_strdup(source), mor_strdup(name), real ? mor_strdup(real) : NULL };
	if (!link->source || !link->name || (real && !link->real))
		return mor_setup_fail(shop->failure, MOR_AT_FORK, ENOMEM, "no memory");
	return 0;
}

static int look_at(const struct stage_walk *walk, const char *name);

static int blame_stage(const struct stage_walk *walk, int error)
{
	return mor_shop_blame(walk->shop, error, walk->dest, "its directory in the stage");
}

/* Takes walk->from, which was opened for reading; -1: with errno. links: the directory's link count. If the
 * file system keeps it, it is two plus one per subdirectory: after the last subdirectory we can stop. */
static int walk_down(const struct stage_walk *walk, nlink_t links)
{
	struct mor_listing listing;
	const char *name;
	int status, ended;

	if (walk->from < 0)
		return blame_stage(walk, errno);
	mor_listing_take(&listing, walk->from);
	status = walk->depth > MOR_VIEW_DEPTH ? blame_stage(walk, ENAMETOOLONG) : 0;
	while (status == 0 && links != 2 && (name = mor_listing_next(&listing))) {
		if (listing.type == DT_DIR || listing.type == DT_UNKNOWN)
			status = look_at(walk, name);
		if (listing.type == DT_DIR && links > 2)
			links--;
	}
	ended = mor_listing_end(&listing);
	return status == 0 && ended < 0 ? blame_stage(walk, -ended) : status;
}

static int open_to_read(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Where a link of the plugin's tree leads: the directory, and its true name; -1: not to a directory. */
static int follow(const struct mor_view_shop *shop, const char *link, char real[PATH_MAX])
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
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

/* A directory of the stage whose name is a link in the tree. A link that leads to no directory is simply
 * covered. */
static int look_behind(const struct stage_walk *walk, const char *name, const char *source, const char *link,
		       nlink_t links)
{
	char real[PATH_MAX];
	int target = follow(walk->shop, link, real), status;
	struct stage_walk next = { walk->shop, source, real, -1, target, walk->depth + 1 };

	if (target < 0)
		return 0;
	if (!mor_shop_touch(walk->shop, real, MOR_PLACE_OVER))
		status = mor_shop_blame(walk->shop, EINVAL, link, "leads to where no view can be");
	else
		status = note_link(walk->shop, source, link, real);
	if (status == 0) {
		next.from = open_to_read(walk->from, name);
		status = walk_down(&next, links);
	}
	close(target);
	return status;
}

static int look_into(const struct stage_walk *walk, const char *name, const char *source, const char *dest,
		     nlink_t links)
{
	int base = openat(walk->base, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), status;
	struct stage_walk next = { walk->shop, source, dest, -1, base, walk->depth + 1 };

	if (base < 0)
		return 0; /* it was there a moment ago */
	next.from = open_to_read(walk->from, name);
	status = walk_down(&next, links);
	close(base);
	return status;
}

static int look_at(const struct stage_walk *walk, const char *name)
{
	char source[PATH_MAX], dest[PATH_MAX];
	struct stat is, was;
	bool open;

	if (fstatat(walk->from, name, &is, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(is.st_mode) ||
	    fstatat(walk->base, name, &was, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (!S_ISDIR(was.st_mode) && !S_ISLNK(was.st_mode)))
		return 0;
	open = S_ISDIR(was.st_mode) && mor_shop_is_open(walk->base, name, X_OK);
	if (open && is.st_nlink == 2)
		return 0;
	if (mor_name_join(source, walk->source, name) < 0 || mor_name_join(dest, walk->dest, name) < 0)
		return mor_shop_blame(walk->shop, ENAMETOOLONG, walk->dest, "what is below it");
	if (S_ISLNK(was.st_mode))
		return look_behind(walk, name, source, dest, is.st_nlink);
	if (open)
		return look_into(walk, name, source, dest, is.st_nlink);
	/* at the top level the caller handles it */
	return walk->depth ? note_link(walk->shop, source, dest, NULL) : 0;
}

/* Does the tree have only directories on that path that we may enter, as far as the path exists? One call
 * instead of six for each of them. */
static bool is_plain(const struct mor_view_shop *shop, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	char inside[PATH_MAX];
	int fd;

	if (mor_name_join(inside, path, ".") < 0) /* "." also asks for the right to enter it */
		return false;
	if ((fd = (int)syscall(SYS_openat2, shop->root, inside, &how, sizeof(how))) < 0)
		return errno == ENOENT || errno == ENOTDIR;
	close(fd);
	return true;
}

static bool all_plain(const struct mor_view_shop *shop)
{
	struct mor_slice left = shop->directories;

	for (size_t len; left.len; left.ptr += len, left.len -= len) {
		len = strlen(left.ptr) + 1;
		if (!is_plain(shop, left.ptr))
			return false;
	}
	return shop->directories.ptr != NULL;
}

int mor_shop_find_links(struct mor_view_shop *shop)
{
	struct stage_walk walk = { shop, "", "", -1, shop->root, 0 };

	if (all_plain(shop))
		return 0;
	walk.from = open_to_read(shop->stage, ".");
	return walk_down(&walk, 0);
}
