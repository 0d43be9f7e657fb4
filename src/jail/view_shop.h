/* SPDX-License-Identifier: Apache-2.0 */
/* Between view_make.c, which enters and commits, view_stage.c, which puts the view together, view_walk.c, which looks where
 * links are in the way, and view_mount.c, their tools. */
#ifndef MOR_JAIL_VIEW_SHOP_H
#define MOR_JAIL_VIEW_SHOP_H

#include <sys/mount.h>

#include "base/slice.h"
#include "jail/view.h"

#define MOR_VIEW_SAFE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define MOR_VIEW_SHOWN (MOR_VIEW_SAFE | MOUNT_ATTR_RDONLY)

/* A directory of the stage whose name is a link to a directory in the plugin's tree, or a directory that is closed to us. */
struct mor_view_link {
	char *source; /* its name below the stage, with a slash in front             */
	char *name;   /* in the tree                                                 */
	char *real;   /* where the link leads; NULL: a closed directory, to be covered */
};

enum { MOR_VIEW_PLACES = 256 };

/* Where views are put together: a copy of the plugin's namespace without a view. Handles are O_PATH; -1: none. */
struct mor_view_shop {
	struct mor_setup_failure *failure;
	int own_fds;   /* /proc/self/fd, of a /proc that knows us                                             */
	int self;      /* /proc/self; the working directory while something is put together: see mor_shop_overlay() */
	int namespace; /* -1: there is no shop now                                                            */
	int root;      /* the plugin's root, as the shop has it                                               */
	int stage_place, apart_place; /* where the stage and another layer are hung up                         */
	int nothing;   /* an empty directory                                                                  */
	int writer;    /* the plugin's root once more, writable; in no namespace                              */
	char *mounts;  /* every mount point, each with NUL                                                      */
	size_t mounts_len;
	bool used;     /* something was mounted in it that will not be taken away: not for another order      */

	/* ---- of one order ---- */
	int stage;
	const char *stage_name; /* on the host */
	struct mor_slice directories; /* of the stage, those that hold no other, each with NUL; ptr NULL: not known */
	struct mor_view_link *links;
	size_t link_count;
	unsigned budget; /* mounts that may still be made: a directory with very many entries is refused    */
	struct mor_view_texts touched; /* enum MOR_PLACE_..: top-level names that the plugin's namespace gets anew */
	size_t touched_count;
	int ready[MOR_VIEW_PLACES]; /* for each of them a detached mount; -1: what the shop has there */
};

/* All: 0 or -1 with the failure filled. */

/* The mount namespace that we are in becomes the shop. */
int mor_shop_open(struct mor_view_shop *shop);
/* Begins an order: in the shop. The stage, a detached mount, is hung up. */
int mor_shop_take(struct mor_view_shop *shop, int stage, const char *name);
/* All of the stage over the shop's tree; fills `touched`. */
int mor_shop_show(struct mor_view_shop *shop);
/* Whether the shop's tree has that directory of the host under its own name, writable. */
bool mor_shop_has(const struct mor_view_shop *shop, const char *path, int dir);
/* Else a detached mount of it comes there. 1: only once the view is in the plugin's namespace, which has the place for it. */
int mor_shop_writable(struct mor_view_shop *shop, const char *path, int tree);
/* Fills `ready`; the stage goes. */
int mor_shop_pick_up(struct mor_view_shop *shop);
/* Ends an order, whatever has come of it; and the shop, if it was used. */
void mor_shop_clear(struct mor_view_shop *shop);

/* ---- view_walk.c, for view_stage.c ---- */

enum { MOR_VIEW_DEPTH = 128 }; /* of directories that the plugin's tree has as well: up to four handles each */

/* Fills `links`, and touches where they lead. */
int mor_shop_find_links(struct mor_view_shop *shop);
/* The one by that name in the tree, or NULL. */
const struct mor_view_link *mor_shop_link(const struct mor_view_shop *shop, const char *name);

/* ---- view_mount.c, for both: 0 or -errno unless said otherwise ---- */

/* The failure: the stage is at fault, "NAME: WHY"; the kernel, "NAME: the kernel refuses WHAT". -1. */
int mor_shop_blame(struct mor_view_shop *shop, int error, const char *name, const char *why);
int mor_shop_refused(struct mor_view_shop *shop, int error, const char *name, const char *what);
void mor_shop_close(const int *fds, size_t count);

/* Whether something is mounted below that name: no overlay would show it. */
bool mor_shop_has_mounts(const struct mor_view_shop *shop, const char *name);
/* From now on. */
int mor_shop_note_mounts(struct mor_view_shop *shop, const char *name);
/* Whether the directory of that name, "": `dir` itself, is open to us as `mode` says. An overlay looks into it with our
 * rights, not the plugin's. */
bool mor_shop_is_open(int dir, const char *name, int mode);
/* "/usr/lib/x" -> "usr", noted as a place of the view. false: no view may lie there. */
bool mor_shop_touch(struct mor_view_shop *shop, const char *path, char letter);

/* Detached mounts: a copy of what `from` is, with all mounts in it; `from` over `base`, which has that name in the tree. */
int mor_shop_copy(struct mor_view_shop *shop, int from, uint64_t attributes);
int mor_shop_overlay(struct mor_view_shop *shop, int from, int base, const char *name);
int mor_shop_attach(struct mor_view_shop *shop, int mnt, int onto);
/* The same, and takes the mount; mnt < 0 is passed on. */
int mor_shop_hang(struct mor_view_shop *shop, int mnt, int onto);
/* The same for `dest` in the shop's tree, which is what `onto` is. A top-level one is kept back as long as nothing needs to
 * be mounted in it: so the shop stays as it is. */
int mor_shop_place(struct mor_view_shop *shop, int mnt, int onto, const char *dest);
/* What was kept back for the top-level directory of that path, -1: nothing. It is hung up after all. */
int mor_shop_kept(const struct mor_view_shop *shop, const char *path);
int mor_shop_unfold(struct mor_view_shop *shop, const char *path);

/* An empty directory in place of `at`, with its mode: its handle. It can be filled until it is sealed. */
int mor_shop_cover(struct mor_view_shop *shop, int at);
int mor_shop_seal(int mnt);

#endif
