/* SPDX-License-Identifier: Apache-2.0 */
/* One writer at a time, and what writers that were killed left behind. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "store/inside.h"
#include "store/keep_inside.h"

/* A directory that somebody is filling is locked. */
static void sweep_staging(int plugins, const char *name)
{
	int fd = openat(plugins, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		mor_dir_remove_all(plugins, name);
	mor_fd_close(&fd);
}

/* Is it a directory of a version, or its record? */
static bool state_names(const struct mor_value *root, const char *name)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(root, "versions"));

	while (mor_json_next(&it)) {
		struct mor_slice directory = mor_json_string(mor_json_get(it.value, "directory"));

		if (directory.len && strncmp(name, directory.ptr, directory.len) == 0 &&
		    (!name[directory.len] || strcmp(name + directory.len, ".json") == 0))
			return true;
	}
	return false;
}

static void sweep_entries_take(int fd, const struct mor_value *root)
{
	DIR *dir = fdopendir(fd);
	struct dirent *item;

	if (!dir) {
		mor_fd_close(&fd);
		return;
	}
	while ((item = readdir(dir)))
		if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0 &&
		    strcmp(item->d_name, "state.json") != 0 && !state_names(root, item->d_name))
			mor_dir_remove_all(dirfd(dir), item->d_name);
	closedir(dir);
}

/* A state that cannot be read is left as it is: a person may want to look at it. */
static void sweep_plugin(const struct mor_store *store, int plugins, const char *name)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int fd, r = mor_store_state_read(store, name, &doc, NULL);

	if (r < 0 && r != MORTISE_ENOTFOUND)
		return;
	if ((fd = openat(plugins, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return;
	sweep_entries_take(fd, mor_doc_root(doc));
	if (r == MORTISE_ENOTFOUND)
		unlinkat(plugins, name, AT_REMOVEDIR);
}

static void sweep_all(const struct mor_store *store)
{
	DIR *dir = opendir(store->plugins);
	struct dirent *item;

	while (dir && (item = readdir(dir))) {
		if (strncmp(item->d_name, ".new-", 5) == 0)
			sweep_staging(dirfd(dir), item->d_name);
		else if (mor_store_name_valid(item->d_name, strlen(item->d_name)))
			sweep_plugin(store, dirfd(dir), item->d_name);
	}
	if (dir)
		closedir(dir);
}

int mor_store_lock(const struct mor_store *store, mortise_error *err)
{
	int r, fd, plugins;

	if ((r = mor_store_has_place(store, err)) < 0)
		return r;
	r = mor_dir_make_all(AT_FDCWD, store->plugins, 0700); /* for this user only */
	if (r < 0)
		return mor_store_fail_write(store->plugins, -r, err);
	if ((r = mor_store_check_owner(store, NULL, err)) < 0)
		return r;
	plugins = open(store->plugins, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = plugins < 0 ? -1 :
			   openat(plugins, MOR_STORE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		r = mor_store_fail_write(store->plugins, errno, err);
	mor_fd_close(&plugins);
	while (r == 0 && flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			r = mor_fail_errno(err, MORTISE_ESYSTEM, errno,
					   "%s/" MOR_STORE_LOCK ": it cannot be locked", store->plugins);
	if (r < 0) {
		mor_fd_close(&fd);
		return r;
	}
	sweep_all(store);
	return fd;
}
