/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and reading a lock. The author of the project wrote it, too. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "lockfile/inside.h"

#define LOCK_DEPTH 16
#define FAIL(...)  mor_fail(err, MORTISE_EINPUT, __VA_ARGS__)

/* ---- one entry ---- */

static const char *text_at(const struct mor_value *entry, const char *name)
{
	return mor_json_text(mor_json_get(entry, name), NULL);
}

/* NAME@VERSION as the store would accept it. */
static bool words_valid(const struct mor_lockfile_entry *entry)
{
	MOR_CLEAN_TEXT char *word = NULL;

	if (!entry->name || !entry->version || strchr(entry->name, '@'))
		return false;
	word = mor_text_format("%s@%s", entry->name, entry->version);
	return word && mor_store_is_name(word);
}

static int read_entry(const struct mor_value *value, struct mor_lockfile_entry *ret, mortise_error *err)
{
	struct mor_lockfile_entry entry = {
		.name = text_at(value, "name"),
		.version = text_at(value, "version"),
		.digest = text_at(value, "digest"),
		.registry = text_at(value, "registry"),
		.path = text_at(value, "path"),
		.confine = mor_json_bool(mor_json_get(value, "confine"), false),
		.permissions = mor_json_get(value, "permissions"),
		.interface = mor_json_get(value, "interface"),
		.value = value,
	};
	char shown[120];

	if (!words_valid(&entry))
		return FAIL("\"%s\" and its version cannot be those of a plugin",
			    mor_excerpt(mor_slice_of(entry.name ? entry.name : ""), shown, sizeof(shown)));
	if (!entry.digest || !mor_digest_valid(entry.digest) ||
	    mor_json_type(entry.permissions) != MOR_JSON_OBJECT ||
	    mor_json_type(entry.interface) != MOR_JSON_OBJECT)
		return FAIL("%s: its digest, permissions or interface is missing or wrong", entry.name);
	*ret = entry;
	return 0;
}

/* ---- all of it ---- */

static int by_name(const void *a, const void *b)
{
	const struct mor_lockfile_entry *one = a, *two = b;

	return strcmp(one->name, two->name);
}

static int read_entries(const struct mor_value *plugins, struct mor_lockfile *lock, mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(plugins);

	while (mor_json_next(&it)) {
		int r;

		if (mor_grow(&lock->items, lock->count, &lock->cap, sizeof(*lock->items)) < 0)
			return mor_fail_memory(err);
		if ((r = read_entry(it.value, &lock->items[lock->count], err)) < 0)
			return r;
		lock->count++;
	}
	if (lock->count)
		qsort(lock->items, lock->count, sizeof(*lock->items), by_name);
	for (size_t i = 1; i < lock->count; i++)
		if (by_name(&lock->items[i - 1], &lock->items[i]) == 0)
			return FAIL("%s is listed twice", lock->items[i].name);
	return 0;
}

int mor_lockfile_parse(struct mor_slice text, struct mor_lockfile *lock, mortise_error *err)
{
	const struct mor_value *root;
	mortise_error why = { 0 };
	int r = mor_doc_parse(text, 0, LOCK_DEPTH, &lock->doc, &why);

	if (r < 0)
		return r == MORTISE_ENOMEM ? mor_fail_memory(err) : FAIL("it is no JSON: %s", why.text);
	root = mor_doc_root(lock->doc);
	if (mor_json_int(mor_json_get(root, "mortise_lock"), 0) != 1)
		return FAIL("it is no lock that this version of mortise knows (mortise_lock must be 1)");
	if (mor_json_type(mor_json_get(root, "plugins")) != MOR_JSON_ARRAY)
		return FAIL("its list of plugins is missing");
	return read_entries(mor_json_get(root, "plugins"), lock, err);
}

/* ---- where it is ---- */

static int read_lock(const char *dir, struct mor_lockfile *ret, mortise_error *err)
{
	struct mor_lockfile lock = { .path = mor_path_join(dir, MOR_LOCKFILE_NAME), .dir = mor_strdup(dir) };
	MOR_CLEAN_TEXT char *text = NULL;
	size_t len = 0;
	int r = lock.path && lock.dir ? mor_fd_read_file(lock.path, MOR_LOCKFILE_BYTES, &text, &len) : -ENOMEM;

	if (r == -ENOMEM)
		r = mor_fail_memory(err);
	else if (r == -EFBIG)
		r = FAIL("%s: it is larger than 4 MiB", lock.path);
	else if (r < 0)
		r = mor_fail_errno(err, MORTISE_EINPUT, -r, "%s: it cannot be read", lock.path);
	else if ((r = mor_lockfile_parse((struct mor_slice){ text, len }, &lock, err)) == MORTISE_EINPUT)
		mor_fail_prefix(err, lock.path);
	if (r < 0)
		mor_lockfile_fini(&lock);
	else
		*ret = lock;
	return r;
}

/* A lock chooses among the versions that are installed. In a directory that many share, such as /tmp, another
 * user's does not choose for us; the owner of the directory may, as a project's owner does. */
static bool has_lock(const char *dir)
{
	MOR_CLEAN_TEXT char *path = mor_path_join(dir, MOR_LOCKFILE_NAME);
	struct stat lock, around;

	if (!path || stat(path, &lock) < 0 || stat(dir, &around) < 0 || lock.st_mode & S_IWOTH)
		return false;
	return lock.st_uid == geteuid() || lock.st_uid == 0 || lock.st_uid == around.st_uid;
}

int mor_lockfile_find(struct mor_lockfile *ret, mortise_error *err)
{
	char dir[PATH_MAX], *slash;
	int r;

	if (!getcwd(dir, sizeof(dir)))
		return 0; /* it was removed: nothing lies in it */
	while (!has_lock(dir)) {
		slash = strrchr(dir, '/');
		if (!slash || !dir[1])
			return 0;
		slash[slash == dir] = '\0';
	}
	r = read_lock(dir, ret, err);
	return r < 0 ? r : 1;
}

int mor_lockfile_new(struct mor_lockfile *ret, mortise_error *err)
{
	char dir[PATH_MAX];
	struct mor_lockfile lock = { 0 };

	if (!getcwd(dir, sizeof(dir)))
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "the current directory");
	lock.dir = mor_strdup(dir);
	lock.path = mor_path_join(dir, MOR_LOCKFILE_NAME);
	if (!lock.dir || !lock.path) {
		mor_lockfile_fini(&lock);
		return mor_fail_memory(err);
	}
	*ret = lock;
	return 0;
}

void mor_lockfile_fini(struct mor_lockfile *lock)
{
	mor_doc_free(lock->doc);
	mor_free(lock->items);
	mor_free(lock->path);
	mor_free(lock->dir);
	*lock = (struct mor_lockfile){ 0 };
}

const struct mor_lockfile_entry *mor_lockfile_get(const struct mor_lockfile *lock, const char *name)
{
	for (size_t i = 0; i < lock->count; i++)
		if (strcmp(lock->items[i].name, name) == 0)
			return &lock->items[i];
	return NULL;
}

char *mor_lockfile_place(const struct mor_lockfile *lock, const char *written)
{
	return mor_path_join(lock->dir, written);
}
