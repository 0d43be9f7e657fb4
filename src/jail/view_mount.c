/* SPDX-License-Identifier: Apache-2.0 */
/* The tools of view_stage.c: mounts, and the shop itself. See view_shop.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "jail/confine.h"
#include "jail/root.h"
#include "jail/view_shop.h"

int mor_shop_blame(struct mor_view_shop *shop, int error, const char *name, const char *why)
{
	return mor_setup_fail(shop->failure, MOR_AT_STAGE, error, "%s: %s", name, why);
}

int mor_shop_refused(struct mor_view_shop *shop, int error, const char *name, const char *what)
{
	return mor_setup_fail(shop->failure, MOR_AT_NAMESPACE, error, "%s: the kernel refuses %s", name, what);
}

void mor_shop_close(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static bool lies_below(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) == 0 && name[len] == '/';
}

bool mor_shop_has_mounts(const struct mor_view_shop *shop, const char *name)
{
	for (const char *at = shop->mounts; at < shop->mounts + shop->mounts_len; at += strlen(at) + 1)
		if (lies_below(at, name))
			return true;
	return false;
}

int mor_shop_note_mounts(struct mor_view_shop *shop, const char *name)
{
	size_t len = strlen(name);
	char *more = mor_realloc(shop->mounts, shop->mounts_len + len + 2);

	if (!more)
		return -ENOMEM;
	memcpy(more + shop->mounts_len, name, len);
	memcpy(more + shop->mounts_len + len, "/", 2);
	shop->mounts = more;
	shop->mounts_len += len + 2;
	return 0;
}

bool mor_shop_is_open(int dir, const char *name, int mode)
{
	return faccessat(dir, name, mode, AT_EMPTY_PATH | AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- mounts ---- */

static int spend(struct mor_view_shop *shop)
{
	if (shop->budget == 0)
		return -ENOSPC;
	shop->budget--;
	return 0;
}

int mor_shop_copy(struct mor_view_shop *shop, int from, uint64_t attributes)
{
	int status = spend(shop);

	return status < 0 ? status : mor_mount_copy(from, attributes);
}

static int attach(int mnt, int onto)
{
	return move_mount(mnt, "", onto, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ? -errno :
												      0;
}

int mor_shop_attach(struct mor_view_shop *shop, int mnt, int onto)
{
	shop->used = true;
	return attach(mnt, onto);
}

int mor_shop_attach_take(struct mor_view_shop *shop, int mnt, int onto)
{
	int status = mnt < 0 ? mnt : mor_shop_attach(shop, mnt, onto);

	if (mnt >= 0)
		close(mnt);
	return status;
}

/* A new file system as a detached mount. */
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

/* Layers are named by our own descriptors, so overlay's options never contain a name from the stage: commas,
 * colons, backslashes and length do not matter. Linux 6.1 requires them to be in our namespace. */
static int overlay(int from, int base)
{
	char layers[64];
	const char *const options[][2] = { { "lowerdir", layers }, { NULL, NULL } };

	snprintf(layers, sizeof(layers), "fd/%d:fd/%d", from, base);
	return make_mount("overlay", options, MOR_VIEW_SHOWN);
}

/* Removes the topmost mount of that place. The next order must not see a leftover. */
static void take_off(struct mor_view_shop *shop, int place)
{
	char name[24];

	snprintf(name, sizeof(name), "fd/%d", place);
	if (umount2(name, MNT_DETACH) < 0)
		shop->used = true;
}

/* The stage may lie inside the directory it covers, for example in a home directory, but no layer may be
 * inside another. Behind an overlay of its own, over nothing, the stage's directory belongs to another file
 * system. */
static int overlay_apart(struct mor_view_shop *shop, int from, int base)
{
	int apart = overlay(from, shop->nothing), mnt;

	if (apart < 0)
		return apart;
	mnt = attach(apart, shop->apart_place);
	if (mnt == 0) {
		mnt = overlay(apart, base);
		take_off(shop, shop->apart_place);
	}
	close(apart);
	return mnt;
}

/* Usually its name is enough. The kernel knows too, but logs each refusal. */
int mor_shop_overlay(struct mor_view_shop *shop, int from, int base, const char *name)
{
	int status = spend(shop), mnt = -ELOOP;

	if (status < 0)
		return status;
	if (!lies_below(shop->stage_name, name))
		mnt = overlay(from, base);
	return mnt == -ELOOP ? overlay_apart(shop, from, base) : mnt;
}

int mor_shop_cover(struct mor_view_shop *shop, int at)
{
	char mode[16];
	const char *const options[][2] = { { "mode", mode }, { "size", "4m" }, { NULL, NULL } };
	struct stat st;
	int status = spend(shop), mnt;

	if (status < 0 || fstat(at, &st) < 0)
		return status < 0 ? status : -errno;
	snprintf(mode, sizeof(mode), "%o", st.st_mode & 07777);
	mnt = make_mount("tmpfs", options, MOR_VIEW_SAFE);
	status = mnt < 0 ? mnt : mor_shop_attach(shop, mnt, at);
	if (status < 0 && mnt >= 0)
		close(mnt);
	return status < 0 ? status : mnt;
}

int mor_shop_seal(int mnt)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	return mount_setattr(mnt, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

/* ---- places ---- */

bool mor_shop_touch(struct mor_view_shop *shop, const char *path, char letter)
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
	if (mor_view_add(&shop->touched, letter, name) < 0)
		return false;
	if (shop->touched_count < MOR_VIEW_PLACES)
		shop->ready[shop->touched_count] = -1;
	shop->touched_count++;
	return true;
}

/* The index of the path's first name among the touched names; touched_count: not among them. */
static size_t place_of(const struct mor_view_shop *shop, const char *path)
{
	size_t len = strcspn(path + 1, "/"), i = 0;

	for (const char *place = NULL; (place = mor_view_next(&shop->touched, place)); i++)
		if (strncmp(place + 1, path + 1, len) == 0 && !place[1 + len])
			break;
	return i;
}

int mor_shop_place(struct mor_view_shop *shop, int mnt, int onto, const char *dest)
{
	size_t at = place_of(shop, dest);

	if (mnt < 0 || shop->link_count || strchr(dest + 1, '/') || at >= MOR_VIEW_PLACES)
		return mor_shop_attach_take(shop, mnt, onto);
	shop->ready[at] = mnt;
	return 0;
}

int mor_shop_kept(const struct mor_view_shop *shop, const char *path)
{
	size_t at = place_of(shop, path);

	return at < shop->touched_count && at < MOR_VIEW_PLACES ? shop->ready[at] : -1;
}

int mor_shop_unfold(struct mor_view_shop *shop, const char *path)
{
	int mnt = mor_shop_kept(shop, path), onto, status;
	char top[NAME_MAX + 2];

	if (mnt < 0)
		return 0;
	snprintf(top, sizeof(top), "%.*s", (int)strcspn(path + 1, "/") + 1, path);
	if ((onto = mor_mount_open(shop->root, top)) < 0)
		return onto;
	shop->ready[place_of(shop, path)] = -1;
	status = mor_shop_attach_take(shop, mnt, onto);
	close(onto);
	return status;
}

static int pick_up_one(struct mor_view_shop *shop, size_t number, const char *name)
{
	const unsigned how = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW;

	if (number >= MOR_VIEW_PLACES)
		return mor_setup_fail(shop->failure, MOR_AT_STAGE, E2BIG, "more than %d top-level names",
				      MOR_VIEW_PLACES);
	if (shop->ready[number] < 0)
		shop->ready[number] = open_tree(shop->root, name, how);
	return shop->ready[number] < 0 ? mor_setup_fail(shop->failure, MOR_AT_NAMESPACE, errno,
							"the kernel refuses a copy of the view") :
					 0;
}

int mor_shop_pick_up(struct mor_view_shop *shop)
{
	size_t i = 0;

	for (const char *place = NULL; (place = mor_view_next(&shop->touched, place)); i++)
		if (pick_up_one(shop, i, place + 1) < 0)
			return -1;
	if (!shop->used)
		take_off(shop, shop->stage_place);
	return 0;
}

/* ---- the shop itself ---- */

/* "\040" and the like, in place. */
static void unescape_mount(char *text)
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

/* The fifth field of each line, packed to the front. */
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
		unescape_mount(field);
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

static int make_place(int room, const char *name, int *ret)
{
	if (mkdirat(room, name, 0700) < 0)
		return -errno;
	*ret = openat(room, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *ret < 0 ? -errno : 0;
}

/* Our own place, mounted over the root, where nobody comes: names begin at handles below it. */
static int open_room(struct mor_view_shop *shop)
{
	static const char *const options[][2] = { { "mode", "0700" }, { "size", "64k" }, { NULL, NULL } };
	int room = make_mount("tmpfs", options, MOR_VIEW_SAFE), status;

	if (room < 0)
		return room;
	status = attach(room, shop->root);
	if (status == 0)
		status = make_place(room, "stage", &shop->stage_place);
	if (status == 0)
		status = make_place(room, "apart", &shop->apart_place);
	if (status == 0)
		status = make_place(room, "nothing", &shop->nothing);
	close(room);
	return status;
}

int mor_shop_open(struct mor_view_shop *shop)
{
	int status;

	shop->used = false;
	shop->namespace = openat(shop->self, "ns/mnt", O_RDONLY | O_CLOEXEC);
	shop->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	status = shop->namespace < 0 || shop->root < 0 ? -errno : read_mounts(shop);
	if (status == 0)
		status = open_room(shop);
	return status < 0 ? mor_setup_fail(shop->failure, MOR_AT_NAMESPACE, -status,
					   "the kernel refuses to prepare the mounts") :
			    0;
}

int mor_shop_take(struct mor_view_shop *shop, int stage, const char *name)
{
	int status = attach(stage, shop->stage_place);

	shop->stage = stage; /* a handle on it, as before */
	shop->stage_name = name;
	return status < 0 ? mor_setup_fail(shop->failure, MOR_AT_NAMESPACE, -status,
					   "the kernel refuses to hang up the stage") :
			    0;
}

void mor_shop_clear(struct mor_view_shop *shop)
{
	for (size_t i = 0; i < shop->link_count; i++) {
		mor_free(shop->links[i].source);
		mor_free(shop->links[i].name);
		mor_free(shop->links[i].real);
	}
	mor_free(shop->links);
	shop->links = NULL;
	mor_shop_close(shop->ready,
		       shop->touched_count < MOR_VIEW_PLACES ? shop->touched_count : MOR_VIEW_PLACES);
	shop->link_count = shop->touched_count = shop->touched.used = 0;
	if (!shop->used)
		return;
	mor_shop_close((int[]){ shop->namespace, shop->root, shop->stage_place, shop->apart_place,
				shop->nothing },
		       5);
	shop->namespace = shop->root = shop->stage_place = shop->apart_place = shop->nothing = -1;
	mor_free(shop->mounts);
	shop->mounts = NULL;
	shop->mounts_len = 0;
}
