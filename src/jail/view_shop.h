/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by view_make.c, which enters and commits, view_stage.c, which builds the view, view_walk.c, which
 * finds links in the way, and view_mount.c, which has their tools. */
#ifndef MOR_JAIL_VIEW_SHOP_H
#define MOR_JAIL_VIEW_SHOP_H

#include <sys/mount.h>

#include "base/slice.h"
#include "jail/view.h"

#define MOR_VIEW_SAFE  (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define MOR_VIEW_SHOWN (MOR_VIEW_SAFE | MOUNT_ATTR_RDONLY)

/* A directory of the stage whose name is a link to a directory in the plugin's tree, or a directory that we
 * may not enter. */
struct mor_view_link {
	char *source; /* its name below the stage, with a leading slash */
	char *name;   /* its name in the tree */
	char *real;   /* the link's target; NULL: a closed directory, which must be covered */
};

enum { MOR_VIEW_PLACES = 256 };

/* Where views are built: a copy of the plugin's namespace without a view. Handles are O_PATH; -1: none. */
struct mor_view_shop {
	struct mor_setup_failure *failure;
	int own_fds;   /* /proc/self/fd, of a /proc that shows our process */
	int self;      /* /proc/self; the working directory while a view is built: see mor_shop_overlay() */
	int namespace; /* -1: there is no shop now */
	int root;      /* the plugin's root in the shop */
	int stage_place, apart_place; /* where the stage and another layer are mounted */
	int nothing;  /* an empty directory                                                                  */
	int writer;   /* the plugin's root once more, writable; in no namespace                              */
	char *mounts; /* every mount point, each with NUL */
	size_t mounts_len;
	bool used; /* something was mounted in it that stays: it cannot serve another order */

	/* ---- of one order ---- */
	int stage;
	const char *stage_name;       /* on the host */
	struct mor_slice directories; /* of the stage, the deepest ones, each with NUL; ptr NULL: not known */
	struct mor_view_link *links;
	size_t link_count;
	unsigned budget; /* how many more mounts may be made: a directory with too many entries is refused */
	/* enum MOR_PLACE_..: top-level names that are new in the plugin's namespace */
	struct mor_view_texts touched;
	size_t touched_count;
	int ready[MOR_VIEW_PLACES]; /* for each of them a detached mount; -1: use the one in the shop */
};

/* All: 0 or -1 with the failure filled. */

/* Our present mount namespace becomes the shop. */
int mor_shop_open(struct mor_view_shop *shop);
/* Begins an order in the shop. The stage, a detached mount, is mounted. */
int mor_shop_take(struct mor_view_shop *shop, int stage, const char *name);
/* Puts all of the stage over the shop's tree; fills `touched`. */
int mor_shop_show(struct mor_view_shop *shop);
/* Does the shop's tree have that directory of the host under its own name, writable? */
bool mor_shop_has(const struct mor_view_shop *shop, const char *path, int dir);
/* Otherwise a detached mount of it is put there. 1: only when the view is in the plugin's namespace, which
 * has the place for it. */
int mor_shop_writable(struct mor_view_shop *shop, const char *path, int tree);
/* Fills `ready`; the stage is removed. */
int mor_shop_pick_up(struct mor_view_shop *shop);
/* Ends an order, good or bad; and the shop, if it was used. */
void mor_shop_clear(struct mor_view_shop *shop);

/* ---- view_walk.c, for view_stage.c ---- */

/* depth of directories that the plugin's tree also has: up to four handles each */
enum { MOR_VIEW_DEPTH = 128 };

/* Fills `links`, and marks the places where they lead. */
int mor_shop_find_links(struct mor_view_shop *shop);
/* The link with that name in the tree, or NULL. */
const struct mor_view_link *mor_shop_link(const struct mor_view_shop *shop, const char *name);

/* ---- view_mount.c, for both: 0 or -errno unless said otherwise ---- */

/* Fills the failure: the stage is wrong, "NAME: WHY"; the kernel refused, "NAME: the kernel refuses WHAT".
 * -1. */
int mor_shop_blame(struct mor_view_shop *shop, int error, const char *name, const char *why);
int mor_shop_refused(struct mor_view_shop *shop, int error, const char *name, const char *what);
void mor_shop_close(const int *fds, size_t count);

/* Is something mounted below that name? An overlay would not show it. */
bool mor_shop_has_mounts(const struct mor_view_shop *shop, const char *name);
/* From now on. */
int mor_shop_note_mounts(struct mor_view_shop *shop, const char *name);
/* May we use the directory of that name ("": `dir` itself) as `mode` says? An overlay reads it with our
 * rights, not the plugin's. */
bool mor_shop_is_open(int dir, const char *name, int mode);
/* "/usr/lib/x" -> "usr", noted as a place of the view. false: no view may be there. */
bool mor_shop_touch(struct mor_view_shop *shop, const char *path, char letter);

/* Detached mounts: a copy of `from`, with all mounts in it; `from` over `base`, which has that name in the
 * tree. */
int mor_shop_copy(struct mor_view_shop *shop, int from, uint64_t attributes);
int mor_shop_overlay(struct mor_view_shop *shop, int from, int base, const char *name);
int mor_shop_attach(struct mor_view_shop *shop, int mnt, int onto);
/* The same, and takes the mount; mnt < 0 is passed on. */
int mor_shop_attach_take(struct mor_view_shop *shop, int mnt, int onto);
/* The same for `dest` in the shop's tree; `onto` is a handle of it. A top-level one is kept back as long as
 * nothing must be mounted in it: so the shop stays unchanged. */
int mor_shop_place(struct mor_view_shop *shop, int mnt, int onto, const char *dest);
/* The mount that was kept back for the top-level directory of that path, -1: none. It is mounted now. */
int mor_shop_kept(const struct mor_view_shop *shop, const char *path);
int mor_shop_unfold(struct mor_view_shop *shop, const char *path);

/* An empty directory in place of `at`, with its mode: its handle. It can be filled until it is sealed. */
int mor_shop_cover(struct mor_view_shop *shop, int at);
int mor_shop_seal(int mnt);

#endif
