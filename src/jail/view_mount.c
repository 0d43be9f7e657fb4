/* What view_stage.c builds with: mounts, and the shop itself. See view_shop.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
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

static bool below(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) == 0 && name[len] == '/';
}

bool mor_shop_has_mounts(const struct mor_view_shop *shop, const char *name)
{
	for (const char *at = shop->mounts; at < shop->mounts + shop->mounts_len; at += strlen(at) + 1)
		if (below(at, name))
			return true;
	return false;
}

bool mor_shop_is_open(int dir, int mode)
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

int mor_shop_bind(struct mor_view_shop *shop, int from, int onto, uint64_t attributes)
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

int mor_shop_attach(int mnt, int onto)
{
	return move_mount(mnt, "", onto, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ? -errno : 0;
}

int mor_shop_overlay(struct mor_view_shop *shop, int from, int base, int at)
{
	static const char *const layers[][2] = { { "lowerdir", "over:under" }, { NULL, NULL } };
	int status = spend(shop), mnt;

	if (status == 0)
		status = hang_up(from, "over");
	if (status < 0)
		return status;
	status = hang_up(base, "under");
	if (status == 0) {
		mnt = make_mount("overlay", layers, MOR_VIEW_SHOWN);
		status = mnt < 0 ? mnt : mor_shop_attach(mnt, at);
		if (mnt >= 0)
			close(mnt);
		umount2("under", MNT_DETACH);
	}
	umount2("over", MNT_DETACH);
	return status;
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
	status = mnt < 0 ? mnt : mor_shop_attach(mnt, at);
	if (status < 0 && mnt >= 0)
		close(mnt);
	return status < 0 ? status : mnt;
}

int mor_shop_seal(int mnt)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	return mount_setattr(mnt, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
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
	int room = make_mount("tmpfs", options, MOR_VIEW_SAFE), status;

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
