/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a store: its mark, and the modes of what is made in it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "depot/inside.h"

#define MARK_TEXT "mortise-store 1\n"

const char *const mor_depot_folders[MOR_DEPOT_KINDS] = { "kzips", "files", "specs", "segments", "keys" };

bool mor_depot_hex_name(const char *name, size_t len)
{
	return mor_hex_count(name) == len && name[len] == '\0';
}

/* ---- modes ---- */

void mor_depot_share(const struct mor_depot *depot, int fd, mode_t mode)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || (st.st_gid != depot->gid && fchown(fd, (uid_t)-1, depot->gid) < 0))
		return; /* the bits of the group are not for another group */
	if ((st.st_mode & 07777) != mode)
		(void)fchmod(fd, mode);
}

int mor_depot_temporary(const struct mor_depot *depot, char **ret)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	*ret = mor_text_format("%s/new/%016" PRIx64, depot->path, number);
	return *ret ? 0 : -ENOMEM;
}

static int make_shared(const struct mor_depot *depot, const char *path)
{
	int fd;

	if (mkdir(path, 0700) < 0)
		return -errno;
	if ((fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return -errno;
	mor_depot_share(depot, fd, depot->mode | S_IRWXU);
	close(fd);
	return 0;
}

/* The directory appears with its mode: a worker of another user may want to write there at once. */
int mor_depot_make_dir(const struct mor_depot *depot, const char *path)
{
	MOR_CLEAN_TEXT char *made = NULL;
	int r;

	if (access(path, F_OK) == 0)
		return 0;
	r = mor_depot_temporary(depot, &made);
	r = r ? r : make_shared(depot, made);
	if (r == 0 && rename(made, path) < 0) {
		r = errno == EEXIST || errno == ENOTEMPTY ? 0 : -errno; /* another one was faster */
		rmdir(made);
	}
	return r;
}

int mor_depot_make_folders(const struct mor_depot *depot)
{
	MOR_CLEAN_TEXT char *fresh = mor_path_join(depot->path, "new");
	int r = fresh ? make_shared(depot, fresh) : -ENOMEM;

	r = r == -EEXIST ? 0 : r;
	for (size_t i = 0; r == 0 && i < MOR_DEPOT_KINDS; i++) {
		MOR_CLEAN_TEXT char *path = mor_path_join(depot->path, mor_depot_folders[i]);

		r = path ? mor_depot_make_dir(depot, path) : -ENOMEM;
	}
	return r;
}

/* ---- the mark ---- */

static bool has_mark(int top)
{
	struct stat st;

	return fstatat(top, MOR_DEPOT_MARK, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

DIR *mor_depot_list(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

/* Whether it is a directory, and all names in it are good (NULL: any). Names with a dot are those of file
 * servers and their tools. */
static bool only_names(int at, const char *name, bool (*good)(int at, const char *name))
{
	DIR *dir = mor_depot_list(at, name);
	struct dirent *entry;
	bool all = dir != NULL;

	while (all && (entry = readdir(dir)))
		all = !good || entry->d_name[0] == '.' || good(dirfd(dir), entry->d_name);
	if (dir)
		closedir(dir);
	return all;
}

static bool is_fan(int at, const char *name)
{
	struct stat st;

	return mor_depot_hex_name(name, 2) && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

static bool is_folder(int at, const char *name)
{
	if (strcmp(name, "lost+found") == 0)
		return true;
	if (strcmp(name, "new") == 0)
		return only_names(at, name, NULL); /* it is a directory */
	for (size_t i = 0; i < MOR_DEPOT_KINDS; i++)
		if (strcmp(name, mor_depot_folders[i]) == 0)
			return only_names(at, name, is_fan);
	return false;
}

static int put_mark(const struct mor_depot *depot, int top, mortise_error *err)
{
	int fd = openat(top, MOR_DEPOT_MARK, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), r = 0;

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0)
		return mor_fail_errno(err, MORTISE_EINPUT, errno, "%s/" MOR_DEPOT_MARK, depot->given);
	mor_depot_share(depot, fd, (depot->mode & 0666) | 0600);
	r = mor_fd_write_all(fd, MARK_TEXT, strlen(MARK_TEXT));
	close(fd);
	if (r == 0)
		return 0;
	unlinkat(top, MOR_DEPOT_MARK, 0);
	return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "writing to the store %s", depot->given);
}

int mor_depot_check_place(const struct mor_depot *depot, int top, enum mor_depot_use use, mortise_error *err)
{
	int r;

	if (use == MOR_DEPOT_READ || (use == MOR_DEPOT_WORK && has_mark(top)))
		return 0;
	if (use == MOR_DEPOT_WORK)
		return mor_fail(err, MORTISE_EINPUT,
				"%s is no store of a farm: it has no file " MOR_DEPOT_MARK
				". mortise farm init URL --store DIR makes it, and so does the first run",
				depot->given);
	if (!has_mark(top) && !only_names(top, ".", is_folder))
		return mor_fail(err, MORTISE_EINPUT,
				"%s is no store of a farm: it has files, but no " MOR_DEPOT_MARK
				". Name an empty directory",
				depot->given);
	r = put_mark(depot, top, err);
	if (r == 0 && (r = mor_depot_make_folders(depot)) < 0)
		r = mor_fail_errno(err, MORTISE_EINPUT, -r, "writing to the store %s", depot->given);
	return r;
}
