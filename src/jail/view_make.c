/*
 * One order, in a process of its own: enters the plugin's namespaces, puts the new view together in the shop, then changes
 * the plugin's mounts. Whatever fails before that changes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/confine.h"
#include "jail/root.h"
#include "jail/view_shop.h"

enum { MOUNTS_MAX = 20000, TOUCHED_MAX = 256 };

struct order {
	const int *namespaces;
	struct mor_view_shared *shared;
	struct mor_setup_failure *failure;
	const char *stage;                 /* "": none */
	const char *writable[MOR_VIEW_WRITABLE];
	size_t writable_count;
	int stage_tree, writable_trees[MOR_VIEW_WRITABLE]; /* detached mounts */
	struct mor_view_shop shop;
	int ready[TOUCHED_MAX];            /* detached mounts, in the order of shop.touched */
	size_t ready_count;
};

static int refused(const struct order *order, const char *what)
{
	return mor_setup_fail(order->failure, MOR_AT_NAMESPACE, errno, "the kernel refuses %s", what);
}

static int read_texts(struct order *order, const char *texts, size_t size)
{
	const char *end = texts + size;

	order->stage = texts;
	for (texts += strlen(texts) + 1; texts < end; texts += strlen(texts) + 1) {
		if (order->writable_count == MOR_VIEW_WRITABLE || texts[0] != '/')
			return mor_setup_fail(order->failure, MOR_AT_STAGE, EINVAL, "too many writable directories");
		order->writable[order->writable_count++] = texts;
	}
	return 0;
}

/* ---- entering ---- */

static int enter(const struct order *order, enum mor_view_namespace which)
{
	int kind = which == MOR_VIEW_USER ? CLONE_NEWUSER : CLONE_NEWNS;

	return setns(order->namespaces[which], kind) < 0 ? refused(order, "to enter the plugin's namespaces") : 0;
}

/* A directory of the host as a mount that belongs nowhere yet. */
static int fetch(const struct order *order, const char *path, unsigned flags, int *ret)
{
	struct stat st;

	*ret = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags);
	if (*ret < 0 && errno == EINVAL)
		return mor_setup_fail(order->failure, MOR_AT_STAGE, EINVAL, "%s: something is mounted in it", path);
	if (*ret < 0 || fstat(*ret, &st) < 0)
		return mor_setup_fail(order->failure, MOR_AT_STAGE, errno, "%s", path);
	return S_ISDIR(st.st_mode) ? 0 : mor_setup_fail(order->failure, MOR_AT_STAGE, ENOTDIR, "%s", path);
}

static int fetch_all(struct order *order)
{
	if (enter(order, MOR_VIEW_HOST) < 0 || fetch(order, order->stage, 0, &order->stage_tree) < 0)
		return -1;
	for (size_t i = 0; i < order->writable_count; i++)
		if (fetch(order, order->writable[i], AT_RECURSIVE, &order->writable_trees[i]) < 0)
			return -1;
	return 0;
}

static int open_handles(struct order *order)
{
	struct mor_view_shop *shop = &order->shop;

	shop->own_fds = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	shop->self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return shop->own_fds < 0 || shop->self < 0 ? refused(order, "/proc") : 0;
}

/* The plugin's root is read-only for all; through this mount of it, which nobody else has, names can be made and removed. */
static int open_writer(struct order *order)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };
	int writer = open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (writer < 0 || mount_setattr(writer, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return refused(order, "a copy of the plugin's root");
	order->shop.writer = writer;
	return 0;
}

/* ---- places ---- */

static int detach_all(const struct order *order, const struct mor_view_texts *places)
{
	char path[NAME_MAX + 2] = "/";

	for (const char *place = NULL; (place = mor_view_next(places, place));) {
		memcpy(path + 1, place + 1, strlen(place + 1) + 1);
		if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
			return refused(order, "to take the view away");
	}
	return 0;
}

static bool has(const struct mor_view_texts *places, const char *name)
{
	for (const char *place = NULL; (place = mor_view_next(places, place));)
		if (strcmp(place + 1, name) == 0)
			return true;
	return false;
}

/* Names that were made on the plugin's root, unless `but` has them still. */
static void remove_made(const struct order *order, const struct mor_view_texts *places, const struct mor_view_texts *but)
{
	for (const char *place = NULL; (place = mor_view_next(places, place));) {
		if (place[0] != MOR_PLACE_MADE || (but && has(but, place + 1)))
			continue;
		if (unlinkat(order->shop.writer, place + 1, AT_REMOVEDIR) < 0 && errno == ENOTDIR)
			(void)unlinkat(order->shop.writer, place + 1, 0);
	}
}

/* A name that the view before had to make is still only ours. */
static void inherit_made(struct order *order)
{
	const struct mor_view_texts *old = &order->shared->places;
	struct mor_view_texts *touched = &order->shop.touched;

	for (const char *place = NULL; (place = mor_view_next(old, place));)
		for (const char *now = NULL; place[0] == MOR_PLACE_MADE && (now = mor_view_next(touched, now));)
			if (strcmp(now + 1, place + 1) == 0)
				touched->bytes[now - touched->bytes] = MOR_PLACE_MADE;
}

/* ---- the shop ---- */

static int build(struct order *order)
{
	struct mor_view_shop *shop = &order->shop;

	if (unshare(CLONE_NEWNS) < 0)
		return refused(order, "one more mount namespace; see user.max_mnt_namespaces");
	shop->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (shop->root < 0)
		return refused(order, "the plugin's root");
	if (detach_all(order, &order->shared->places) < 0 || mor_shop_open(shop, order->stage_tree) < 0 ||
	    mor_shop_show(shop) < 0)
		return -1;
	for (size_t i = 0; i < order->writable_count; i++)
		if (mor_shop_writable(shop, order->writable[i], order->writable_trees[i]) < 0)
			return -1;
	inherit_made(order);
	return 0;
}

static int pick_up(struct order *order)
{
	for (const char *place = NULL; (place = mor_view_next(&order->shop.touched, place)); order->ready_count++) {
		int *fd = &order->ready[order->ready_count];

		if (order->ready_count == TOUCHED_MAX)
			return mor_setup_fail(order->failure, MOR_AT_STAGE, E2BIG, "more than %d top-level names", TOUCHED_MAX);
		*fd = open_tree(order->shop.root, place + 1, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE |
								  AT_SYMLINK_NOFOLLOW);
		if (*fd < 0)
			return refused(order, "a copy of the view");
	}
	return 0;
}

static int grant_all(const struct order *order)
{
	struct mor_view_texts *grants = &order->shared->answer.grants;
	char path[NAME_MAX + 2] = "/";
	int status = 0;

	for (const char *place = NULL; status == 0 && (place = mor_view_next(&order->shop.touched, place));) {
		memcpy(path + 1, place + 1, strlen(place + 1) + 1);
		status = mor_view_add(grants, MOR_GRANT_READ, path);
	}
	for (size_t i = 0; status == 0 && i < order->writable_count; i++)
		status = mor_view_add(grants, MOR_GRANT_WRITE, order->writable[i]);
	return status < 0 ? mor_setup_fail(order->failure, MOR_AT_STAGE, E2BIG, "too many names") : 0;
}

/* ---- the plugin's own mounts ---- */

static int attach_all(struct order *order, int root)
{
	const struct mor_view_texts *touched = &order->shop.touched;
	size_t i = 0;

	for (const char *place = NULL; (place = mor_view_next(touched, place)); i++) {
		if (move_mount(order->ready[i], "", root, place + 1, MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return refused(order, "to mount the view");
		if (mor_view_add(&order->shared->places, place[0], place + 1) < 0)
			return mor_setup_fail(order->failure, MOR_AT_STAGE, E2BIG, "too many names");
	}
	return 0;
}

/* From here on there is no way back to the old view, but always one to none. */
static int commit(struct order *order, int root)
{
	struct mor_view_shared *shared = order->shared;
	struct mor_view_texts old = shared->places;
	struct mor_setup_failure ignored;

	shared->busy = true;
	if (enter(order, MOR_VIEW_PLUGIN) < 0 || detach_all(order, &shared->places) < 0)
		return -1; /* still busy: the guardian ends the plugin */
	shared->places.used = 0;
	shared->answer.changed = 1;
	if (attach_all(order, root) < 0) {
		struct order undo = *order;

		undo.failure = &ignored;
		if (detach_all(&undo, &shared->places) < 0)
			return -1;
		shared->places.used = shared->answer.grants.used = 0;
	}
	remove_made(order, &old, &shared->places);
	shared->busy = false;
	return order->failure->step ? -1 : 0;
}

/* Whether a name that the old view made on the root is a file there and a directory in the new one, or the other way. */
static bool must_clear(const struct order *order)
{
	for (const char *place = NULL; (place = mor_view_next(&order->shared->places, place));) {
		struct stat here, there;

		if (place[0] == MOR_PLACE_MADE && fstatat(order->shop.writer, place + 1, &here, AT_SYMLINK_NOFOLLOW) == 0 &&
		    fstatat(order->stage_tree, place + 1, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(here.st_mode) != S_ISDIR(there.st_mode))
			return true;
	}
	return false;
}

static int carry_out(struct order *order)
{
	int root;

	if (open_handles(order) < 0 || enter(order, MOR_VIEW_USER) < 0 || (order->stage[0] && fetch_all(order) < 0) ||
	    enter(order, MOR_VIEW_PLUGIN) < 0 || open_writer(order) < 0)
		return -1;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return refused(order, "the plugin's root");
	if (order->stage[0] && must_clear(order) && commit(order, root) < 0)
		return -1;
	if (order->stage[0] && (build(order) < 0 || pick_up(order) < 0 || grant_all(order) < 0))
		return -1;
	return commit(order, root);
}

void mor_view_make(const int namespaces[MOR_VIEW_NAMESPACES], const char *texts, size_t size, struct mor_view_shared *shared)
{
	static struct order order; /* too large for comfort on a stack */

	order.namespaces = namespaces;
	order.shared = shared;
	order.failure = order.shop.failure = &shared->answer.failure;
	order.shop.budget = MOUNTS_MAX;
	order.shop.writer = -1;
	if (read_texts(&order, texts, size) < 0 || carry_out(&order) == 0)
		return;
	if (shared->busy)
		_exit(1);
	if (shared->answer.changed) {
		struct mor_setup_failure why = shared->answer.failure;

		mor_setup_fail(&shared->answer.failure, why.step, why.error, "%s; the view before is gone", why.text);
	}
	shared->answer.grants.used = 0;
	if (order.shop.writer >= 0)
		remove_made(&order, &order.shop.touched, &shared->places);
}
