/* SPDX-License-Identifier: Apache-2.0 */
/* Which version, and its file. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/near.h"
#include "base/text.h"
#include "content/content.h"
#include "registry/inside.h"

#define VERSIONS_SHOWN 8

const struct mor_registry_entry *mor_registry_newest(const struct mor_registry *registry, const char *name,
						     const struct mor_semver_range *range)
{
	for (size_t i = 0; i < registry->count; i++)
		if (strcmp(registry->items[i].name, name) == 0 &&
		    mor_semver_range_fits(range, registry->items[i].version))
			return &registry->items[i];
	return NULL;
}

static int refuse_name(const struct mor_registry *registry, const char *name, mortise_error *err)
{
	struct mor_nearest nearest = { .word = name };
	char shown[150];

	for (size_t i = 0; i < registry->count; i++)
		mor_nearest_offer(&nearest, registry->items[i].name);
	mor_excerpt(mor_slice_of(name), shown, sizeof(shown));
	if (mor_nearest_best(&nearest))
		return mor_fail(err, MORTISE_ENOTFOUND, "%s has no plugin called \"%s\"; did you mean %s?",
				registry->path, shown, mor_nearest_best(&nearest));
	return mor_fail(err, MORTISE_ENOTFOUND, "%s has no plugin called \"%s\"; mortise registry list %s",
			registry->path, shown, registry->path);
}

static int refuse_range(const struct mor_registry *registry, const char *name, const char *range,
			mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf have = MOR_BUF_INIT;
	size_t count = 0;

	for (size_t i = 0; i < registry->count; i++)
		if (strcmp(registry->items[i].name, name) == 0 && count++ < VERSIONS_SHOWN)
			mor_buf_printf(&have, "%s%s", have.len ? ", " : "", registry->items[i].version);
	if (!count)
		return refuse_name(registry, name, err);
	return mor_fail(err, MORTISE_ENOTFOUND, "%s has no version of %s that fits \"%s\"; there is: %.*s%s",
			registry->path, name, range ? range : "*", (int)have.len, have.data ? have.data : "",
			count > VERSIONS_SHOWN ? ", ..." : "");
}

int mor_registry_pick(const struct mor_registry *registry, const char *name, const char *range,
		      const struct mor_registry_entry **ret, mortise_error *err)
{
	struct mor_semver_range parsed;
	const struct mor_registry_entry *found;
	int r = mor_semver_range_parse(range, &parsed, err);

	if (r < 0)
		return r;
	found = mor_registry_newest(registry, name, &parsed);
	if (!found)
		return refuse_range(registry, name, range, err);
	*ret = found;
	return 0;
}

int mor_registry_sum(int fd, const char *shown, char ret_hex[MOR_DIGEST_SIZE], uint64_t *ret_size,
		     mortise_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", shown);
	*ret_size = (uint64_t)st.st_size;
	return mor_content_hash_fd(fd, *ret_size, ret_hex, shown, err);
}

static int compare_file(const struct mor_registry *registry, const struct mor_registry_entry *entry, int fd,
			mortise_error *err)
{
	char sum[MOR_DIGEST_SIZE];
	uint64_t size;
	int r = mor_registry_sum(fd, entry->file, sum, &size, err);

	if (r < 0)
		return r;
	if (size == entry->size && strcmp(sum, entry->sha256) == 0)
		return 0;
	return mor_fail(err, MORTISE_EINPUT,
			"%s/%s is not the file that the index lists as %s %s: its %s; nothing was installed",
			registry->path, entry->file, entry->name, entry->version,
			size == entry->size ? "sha256 is another" : "size is another");
}

int mor_registry_fetch(const struct mor_registry *registry, const struct mor_registry_entry *entry, int *ret_fd,
		       mortise_error *err)
{
	int r, fd = mor_fd_open_in(registry->dir, entry->file);

	if (fd < 0)
		return mor_registry_fail_file(registry->path, entry->file, -fd, err);
	r = compare_file(registry, entry, fd, err);
	if (r == 0)
		*ret_fd = fd;
	else
		mor_fd_close(&fd);
	return r;
}
