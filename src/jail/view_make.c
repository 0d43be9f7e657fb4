/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One order: builds the new view in the shop, then changes the plugin's mounts. A failure before that
 * changes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/confine.h"
#include "jail/root.h"
#include "jail/view_shop.h"

enum { MOUNTS_MAX = 20000 };

struct order {
	const int *namespaces;
	struct mor_view_answer *answer;
	struct mor_setup_failure *failure; /* usually the answer's */
	const char *stage;                 /* "": none */
	const char *writable[MOR_PLAN_VIEW_WRITABLE];
	size_t writable_count;
	int stage_tree; /* a detached mount */
	/* handles; and detached mounts of them when these are needed */
	int writable_dirs[MOR_PLAN_VIEW_WRITABLE];
	bool late[MOR_PLAN_VIEW_WRITABLE]; /* to mount in the plugin's namespace */
};

/* What is kept between orders. */
static struct {
	bool inside; /* in the user namespace */
	bool busy;   /* the plugin's own mounts are being changed: ending now would leave them half done */
	int root;    /* the plugin's root, in its own namespace; -1: not yet opened */
	struct mor_view_texts places; /* the places of the present view */
	struct mor_view_shop shop;
} maker = {
	.root = -1,
	.shop = { .own_fds = -1,
		  .self = -1,
		  .namespace = -1,
		  .root = -1,
		  .stage_place = -1,
		  .apart_place = -1,
		  .nothing = -1,
		  .writer = -1 },
};

static int refused_order(const struct order *order, const char *what)
{
	return mor_setup_fail(order->failure, MOR_AT_NAMESPACE, errno, "the kernel refuses %s", what);
}

static int read_texts(struct order *order, const char *texts, size_t size)
{
	const char *end = texts + size;

	order->stage = texts;
	for (texts += strlen(texts) + 1; texts < end && *texts; texts += strlen(texts) + 1) {
		if (order->writable_count == MOR_PLAN_VIEW_WRITABLE || texts[0] != '/')
			return mor_setup_fail(order->failure, MOR_AT_STAGE, EINVAL,
					      "too many writable directories");
		order->writable_dirs[order->writable_count] = -1;
		order->writable[order->writable_count++] = texts;
	}
	maker.shop.directories = texts < end ? (struct mor_slice){ texts + 1, (size_t)(end - texts) - 1 } :
					       (struct mor_slice){ 0 };
	return 0;
}

/* ---- entering ---- */

static int enter_namespace(const struct order *order, enum mor_view_namespace which)
{
	int kind = which == MOR_VIEW_USER ? CLONE_NEWUSER : CLONE_NEWNS;

	return setns(order->namespaces[which], kind) < 0 ?
		       refused_order(order, "to enter the plugin's namespaces") :
		       0;
}

/* /proc must show our process: the plugin's may belong to another PID namespace. */
static int open_handles(const struct order *order)
{
	struct mor_view_shop *shop = &maker.shop;

	if (shop->own_fds < 0)
		shop->own_fds = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (shop->self < 0)
		shop->self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return shop->own_fds < 0 || shop->self < 0 ? refused_order(order, "/proc") : 0;
}

/* The plugin's root is read-only for everybody. Through this mount of it, which only we have, names can be
 * made and removed. */
static int open_writer(const struct order *order)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };
	int writer = open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (writer < 0 || mount_setattr(writer, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0) {
		refused_order(order, "a copy of the plugin's root");
		mor_shop_close(&writer, 1);
		return -1;
	}
	maker.shop.writer = writer;
	return 0;
}

/* With the first order; by then the plugin's root exists. Ends in `host`, like every order. */
static int move_in(const struct order *order)
{
	if (maker.root >= 0)
		return 0;
	if (!maker.inside && (open_handles(order) < 0 || enter_namespace(order, MOR_VIEW_USER) < 0))
		return -1;
	maker.inside = true;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the kernel may forget it after a change of rights */
	if (enter_namespace(order, MOR_VIEW_PLUGIN) < 0 || (maker.shop.writer < 0 && open_writer(order) < 0))
		return -1;
	maker.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (maker.root < 0)
		return refused_order(order, "the plugin's root");
	return enter_namespace(order, MOR_VIEW_HOST);
}

/* ---- what the host has ---- */

/* The stage as a detached mount. */
static int fetch_stage(struct order *order)
{
	struct stat st;
	int tree = open_tree(AT_FDCWD, order->stage, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	order->stage_tree = tree;
	if (tree < 0 && errno == EINVAL)
		return mor_setup_fail(order->failure, MOR_AT_STAGE, EINVAL, "%s: something is mounted in it",
				      order->stage);
	if (tree < 0 || fstat(tree, &st) < 0)
		return mor_setup_fail(order->failure, MOR_AT_STAGE, errno, "%s", order->stage);
	return S_ISDIR(st.st_mode) ? 0 :
				     mor_setup_fail(order->failure, MOR_AT_STAGE, ENOTDIR, "%s", order->stage);
}

static int fetch_all(struct order *order)
{
	if (fetch_stage(order) < 0)
		return -1;
	for (size_t i = 0; i < order->writable_count; i++) {
		order->writable_dirs[i] = open(order->writable[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (order->writable_dirs[i] < 0)
			return mor_setup_fail(order->failure, MOR_AT_STAGE, errno, "%s", order->writable[i]);
	}
	return 0;
}

/* Writable directories can become mounts only in their own namespace. */
static int copy_writable(struct order *order)
{
	for (size_t i = 0; i < order->writable_count; i++) {
		int copy = mor_mount_copy(order->writable_dirs[i], MOR_VIEW_SAFE);

		if (copy < 0)
			return mor_setup_fail(order->failure, MOR_AT_STAGE, -copy, "%s", order->writable[i]);
		close(order->writable_dirs[i]);
		order->writable_dirs[i] = copy;
	}
	return 0;
}

/* ---- places ---- */

static int detach_all(const struct order *order)
{
	char path[NAME_MAX + 2] = "/";

	for (const char *place = NULL; (place = mor_view_next(&maker.places, place));) {
		memcpy(path + 1, place + 1, strlen(place + 1) + 1);
		if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
			return refused_order(order, "to take the view away");
	}
	return 0;
}

static bool has_place(const struct mor_view_texts *places, const char *name)
{
	for (const char *place = NULL; (place = mor_view_next(places, place));)
		if (strcmp(place + 1, name) == 0)
			return true;
	return false;
}

/* Removes names that were made on the plugin's root, unless `but` still has them. */
static void remove_made(const struct mor_view_texts *places, const struct mor_view_texts *but)
{
	int writer = maker.shop.writer;

	for (const char *place = NULL; (place = mor_view_next(places, place));) {
		if (place[0] != MOR_PLACE_MADE || has_place(but, place + 1))
			continue;
		if (unlinkat(writer, place + 1, AT_REMOVEDIR) < 0 && errno == ENOTDIR)
			(void)unlinkat(writer, place + 1, 0);
	}
}

/* A name that the earlier view made is still only ours. */
static void inherit_made(void)
{
	struct mor_view_texts *touched = &maker.shop.touched;

	for (const char *place = NULL; (place = mor_view_next(&maker.places, place));)
		for (const char *now = NULL; place[0] == MOR_PLACE_MADE && (now = mor_view_next(touched, now));)
			if (strcmp(now + 1, place + 1) == 0)
				touched->bytes[now - touched->bytes] = MOR_PLACE_MADE;
}

/* ---- the shop ---- */

static int open_shop(const struct order *order)
{
	if (enter_namespace(order, MOR_VIEW_PLUGIN) < 0)
		return -1;
	if (unshare(CLONE_NEWNS) < 0)
		return refused_order(order, "one more mount namespace; see user.max_mnt_namespaces");
	return detach_all(order) < 0 ? -1 : mor_shop_open(&maker.shop);
}

static int enter_shop(const struct order *order)
{
	const struct mor_view_shop *shop = &maker.shop;

	if (setns(shop->namespace, CLONE_NEWNS) < 0 || fchdir(shop->self) < 0)
		return refused_order(order, "to enter the shop");
	return 0;
}

/* Usually the plugin's tree already has them, and writable: then nothing is mounted. */
static int add_writable(struct order *order)
{
	struct mor_view_shop *shop = &maker.shop;
	bool there = true;

	for (size_t i = 0; there && i < order->writable_count; i++)
		there = mor_shop_has(shop, order->writable[i], order->writable_dirs[i]);
	if (there)
		return 0;
	if (enter_namespace(order, MOR_VIEW_HOST) < 0 || copy_writable(order) < 0 || enter_shop(order) < 0)
		return -1;
	for (size_t i = 0; i < order->writable_count; i++) {
		int status = mor_shop_writable(shop, order->writable[i], order->writable_dirs[i]);

		if (status < 0)
			return -1;
		order->late[i] = status > 0;
	}
	return 0;
}

static int build(struct order *order)
{
	struct mor_view_shop *shop = &maker.shop;

	if ((shop->namespace < 0 && open_shop(order) < 0) || enter_shop(order) < 0)
		return -1;
	if (mor_shop_take(shop, order->stage_tree, order->stage) < 0 || mor_shop_show(shop) < 0 ||
	    add_writable(order) < 0)
		return -1;
	inherit_made();
	return mor_shop_pick_up(shop);
}

static int grant_all(const struct order *order)
{
	struct mor_view_texts *grants = &order->answer->grants;
	char path[NAME_MAX + 2] = "/";
	int status = 0;

	for (const char *place = NULL; status == 0 && (place = mor_view_next(&maker.shop.touched, place));) {
		memcpy(path + 1, place + 1, strlen(place + 1) + 1);
		status = mor_view_add(grants, MOR_GRANT_READ, path);
	}
	for (size_t i = 0; status == 0 && i < order->writable_count; i++)
		status = mor_view_add(grants, MOR_GRANT_WRITE, order->writable[i]);
	return status < 0 ? mor_setup_fail(order->failure, MOR_AT_STAGE, E2BIG, "too many names") : 0;
}

/* ---- the plugin's own mounts ---- */

static int attach_writable(const struct order *order, const char *path, int tree)
{
	int onto = mor_mount_open(maker.root, path), status = onto < 0 ? onto : 0;

	if (onto >= 0 && move_mount(tree, "", onto, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		status = -errno;
	mor_shop_close(&onto, 1);
	return status < 0 ? mor_setup_fail(order->failure, MOR_AT_NAMESPACE, -status,
					   "the kernel refuses to mount %s", path) :
			    0;
}

static int attach_all(const struct order *order)
{
	const struct mor_view_shop *shop = &maker.shop;
	size_t i = 0;

	for (const char *place = NULL; (place = mor_view_next(&shop->touched, place)); i++) {
		if (move_mount(shop->ready[i], "", maker.root, place + 1, MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return refused_order(order, "to mount the view");
		if (mor_view_add(&maker.places, place[0], place + 1) < 0)
			return mor_setup_fail(order->failure, MOR_AT_STAGE, E2BIG, "too many names");
	}
	for (i = 0; i < order->writable_count; i++)
		if (order->late[i] && attach_writable(order, order->writable[i], order->writable_dirs[i]) < 0)
			return -1;
	return 0;
}

/* From here on the old view cannot come back, but removing the view always works. */
static int commit(const struct order *order)
{
	struct mor_view_texts old = maker.places;
	struct mor_setup_failure ignored;

	maker.busy = true;
	if (enter_namespace(order, MOR_VIEW_PLUGIN) < 0 || detach_all(order) < 0)
		return -1; /* still busy: the guardian ends the plugin */
	maker.places.used = 0;
	order->answer->changed = 1;
	if (attach_all(order) < 0) {
		struct order undo = *order;

		undo.failure = &ignored;
		if (detach_all(&undo) < 0)
			return -1;
		maker.places.used = order->answer->grants.used = 0;
	}
	remove_made(&old, &maker.places);
	maker.busy = false;
	return order->failure->step ? -1 : 0;
}

/* Is a name that the old view made on the root a file there and a directory in the new one, or the other way
 * round? */
static bool must_clear(const struct order *order)
{
	for (const char *place = NULL; (place = mor_view_next(&maker.places, place));) {
		struct stat here, there;

		if (place[0] == MOR_PLACE_MADE &&
		    fstatat(maker.shop.writer, place + 1, &here, AT_SYMLINK_NOFOLLOW) == 0 &&
		    fstatat(order->stage_tree, place + 1, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(here.st_mode) != S_ISDIR(there.st_mode))
			return true;
	}
	return false;
}

/* ---- all of it ---- */

static int carry_out(struct order *order)
{
	if (move_in(order) < 0)
		return -1;
	if (!order->stage[0])
		return commit(order);
	if (fetch_all(order) < 0 || (must_clear(order) && commit(order) < 0))
		return -1;
	return build(order) < 0 || grant_all(order) < 0 ? -1 : commit(order);
}

static void tell_failure(const struct order *order)
{
	struct mor_view_answer *answer = order->answer;
	struct mor_setup_failure why = answer->failure;

	if (answer->changed)
		mor_setup_fail(&answer->failure, why.step, why.error, "%s; the view before is gone", why.text);
	answer->grants.used = 0;
	if (maker.shop.writer >= 0)
		remove_made(&maker.shop.touched, &maker.places);
}

void mor_view_make(const int namespaces[MOR_VIEW_NAMESPACES], const char *texts, size_t size,
		   struct mor_view_answer *ret)
{
	struct order order = {
		.namespaces = namespaces, .answer = ret, .failure = &ret->failure, .stage_tree = -1
	};

	maker.shop.failure = &ret->failure;
	maker.shop.budget = MOUNTS_MAX;
	if (read_texts(&order, texts, size) < 0)
		return;
	if (carry_out(&order) < 0) {
		if (maker.busy)
			_exit(1);
		tell_failure(&order);
		maker.shop.used = true; /* whatever is in it */
	}
	mor_shop_clear(&maker.shop);
	mor_shop_close(order.writable_dirs, order.writable_count);
	mor_shop_close(&order.stage_tree, 1);
	/* Only the plugin's processes live in `plugin`. */
	if (maker.inside && setns(namespaces[MOR_VIEW_HOST], CLONE_NEWNS) < 0)
		_exit(1);
}
