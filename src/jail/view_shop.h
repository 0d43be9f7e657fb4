/* Between view_make.c, which enters and commits, view_stage.c, which puts the view together, and view_mount.c, its tools. */
#ifndef MOR_JAIL_VIEW_SHOP_H
#define MOR_JAIL_VIEW_SHOP_H

#include <sys/mount.h>

#include "jail/view.h"

#define MOR_VIEW_SAFE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define MOR_VIEW_SHOWN (MOR_VIEW_SAFE | MOUNT_ATTR_RDONLY)

/* A directory of the stage whose name is a link to a directory in the plugin's tree, or a directory that is closed to us. */
struct mor_view_link {
	char *source; /* its name below the stage, with a slash in front             */
	char *name;   /* in the tree                                                 */
	char *real;   /* where the link leads; NULL: a closed directory, to be covered */
};

/* Where one order is carried out: a copy of the plugin's namespace without the view that was. Handles are O_PATH. */
struct mor_view_shop {
	struct mor_setup_failure *failure;
	int own_fds;  /* /proc/self/fd, of a /proc that knows us                                             */
	int self;     /* /proc/self                                                                         */
	int root;     /* the plugin's root, as the shop has it                                               */
	int writer;   /* the same once more, writable; in no namespace                                       */
	int stage;    /* hung up in the shop                                                                 */
	char *mounts; /* every mount point before we began, each with NUL                                    */
	size_t mounts_len;
	struct mor_view_link *links;
	size_t link_count;
	unsigned budget; /* mounts that may still be made: a directory with very many entries is refused    */
	struct mor_view_texts touched; /* enum MOR_PLACE_..: top-level names that the plugin's namespace gets anew */
};

/* Our own place for layers becomes the working directory, the stage (a detached mount) is hung up in it. 0 or -1 with
 * the failure filled, as all here. */
int mor_shop_open(struct mor_view_shop *shop, int stage);
/* All of the stage over the shop's tree; fills `touched`. */
int mor_shop_show(struct mor_view_shop *shop);
/* A directory of the host, writable, under its own name. */
int mor_shop_writable(struct mor_view_shop *shop, const char *path, int tree);

/* ---- view_mount.c, for view_stage.c: 0 or -errno unless said otherwise ---- */

/* The failure: the stage is at fault, "NAME: WHY"; the kernel, "NAME: the kernel refuses WHAT". -1. */
int mor_shop_blame(struct mor_view_shop *shop, int error, const char *name, const char *why);
int mor_shop_refused(struct mor_view_shop *shop, int error, const char *name, const char *what);
void mor_shop_close(const int *fds, size_t count);

/* Whether something was mounted below that name. */
bool mor_shop_has_mounts(const struct mor_view_shop *shop, const char *name);
/* Whether the directory is open to us as `mode` says. An overlay looks into it with our rights, not the plugin's. */
bool mor_shop_is_open(int dir, int mode);

int mor_shop_bind(struct mor_view_shop *shop, int from, int onto, uint64_t attributes);
/* `from` over `base`, mounted at `at`. */
int mor_shop_overlay(struct mor_view_shop *shop, int from, int base, int at);
/* An empty directory in place of `at`, with its mode: its handle. It can be filled until it is sealed. */
int mor_shop_cover(struct mor_view_shop *shop, int at);
int mor_shop_seal(int mnt);
int mor_shop_attach(int mnt, int onto);

#endif
