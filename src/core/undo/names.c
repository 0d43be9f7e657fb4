/* SPDX-License-Identifier: Apache-2.0 */
/* The report of an undo: which names, what happened to them, and copies of what is left. See play.h. */
#include "undo/play.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/fd.h"

/* ---- names ---- */

static int by_path(const void *a, const void *b)
{
	const struct mor_undo_told *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* Each name in the entries, and whether it existed before. */
static size_t list_names(const struct mor_undo_list *list, struct mor_undo_told *names)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct mor_undo_entry *entry = list->entry[i];

		if (entry->kind > MOR_UNDO_SWAPPED)
			continue;
		names[count++] = (struct mor_undo_told){ .path = mor_undo_path(entry),
							 .order = i,
							 .existed = entry->kind != MOR_UNDO_MADE };
		if (entry->kind == MOR_UNDO_MOVED || entry->kind == MOR_UNDO_SWAPPED ||
		    (entry->kind == MOR_UNDO_MADE && *mor_undo_other(entry)))
			names[count++] = (struct mor_undo_told){ .path = mor_undo_other(entry),
								 .order = i,
								 .existed = entry->kind != MOR_UNDO_MOVED };
	}
	return count;
}

int mor_undo_gather(struct mor_undo_playing *play)
{
	size_t count;

	play->names = mor_alloc((2 * play->list.count + 1) * sizeof(*play->names));
	if (!play->names)
		return -ENOMEM;
	count = list_names(&play->list, play->names);
	if (count)
		qsort(play->names, count, sizeof(*play->names), by_path);
	for (size_t i = 0; i < count; i++) {
		struct mor_undo_place at;

		if (i > 0 && strcmp(play->names[i].path, play->names[i - 1].path) == 0)
			continue;
		play->names[play->name_count] = play->names[i];
		if (mor_undo_go_to(play, play->names[i].path, &at) == 0) {
			play->names[play->name_count].there = at.there;
			mor_fd_close(&at.parent);
		}
		play->name_count++;
	}
	return 0;
}

static struct mor_undo_told *name_of(const struct mor_undo_playing *play, const char *path)
{
	size_t low = 0, high = play->name_count;

	while (low < high) {
		size_t half = (low + high) / 2;
		int order = strcmp(path, play->names[half].path);

		if (order == 0)
			return &play->names[half];
		if (order > 0)
			low = half + 1;
		else
			high = half;
	}
	return NULL;
}

/* A name that stays as it is. The last of several reasons is reported; the first of several contents is
 * copied. */
void mor_undo_leave(struct mor_undo_playing *play, const struct mor_undo_entry *entry, const char *path,
		    const char *why)
{
	bool held =
		(entry->kind == MOR_UNDO_CHANGED || entry->kind == MOR_UNDO_REMOVED) && S_ISREG(entry->mode);
	struct mor_undo_told *name = name_of(play, path);

	if (!name)
		return;
	if (!name->why)
		name->why = why;
	if (held)
		name->held = entry;
}

/* ---- copies of what stays ---- */

/* The directories of a name, in the store. */
static int make_way(int dir, const char *path, int *ret, const char **ret_name)
{
	int at = fcntl(dir, F_DUPFD_CLOEXEC, 0), next;

	if (at < 0)
		at = -errno;
	for (const char *slash; at >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		char part[NAME_MAX + 1];

		if ((size_t)(slash - path) > NAME_MAX)
			slash = path + NAME_MAX; /* cannot happen: it was a name */
		memcpy(part, path, (size_t)(slash - path));
		part[slash - path] = 0;
		next = mor_dir_make_open(at, part, 0700, O_PATH, NULL);
		close(at);
		at = next;
	}
	*ret = at;
	*ret_name = path;
	return at < 0 ? at : 0;
}

static int name_handle(int fd, char name[PATH_MAX])
{
	char link[32];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, PATH_MAX - 1);
	if (len < 0)
		return -errno;
	name[len] = 0;
	return 0;
}

static int extract(struct mor_undo_playing *play, const struct mor_undo_entry *entry, char copy[PATH_MAX])
{
	char path[PATH_MAX];
	const char *name;
	int dir, fd, status;

	if (snprintf(path, sizeof(path), MOR_UNDO_FILES "/%s", mor_undo_path(entry)) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if ((status = make_way(play->store->dir, path, &dir, &name)) < 0)
		return status;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	status = fd < 0 ? -errno : mor_undo_fill(play, fd, entry);
	close(dir);
	if (status == 0)
		status = name_handle(fd, copy);
	mor_fd_close(&fd);
	return status;
}

/* ---- telling ---- */

/* The result as a person would describe it: temporary files that came and went do not count. */
void mor_undo_tell(struct mor_undo_playing *play)
{
	for (size_t i = 0; i < play->name_count; i++) {
		const struct mor_undo_told *name = &play->names[i];
		char copy[PATH_MAX] = "";

		if (!name->why) {
			play->ret->changed += name->existed && name->there;
			play->ret->removed += name->existed && !name->there;
			play->ret->created += !name->existed && name->there;
			continue;
		}
		play->ret->left++;
		if (name->held && play->player->extract && extract(play, name->held, copy) < 0)
			copy[0] = 0;
		if (play->player->on_left)
			play->player->on_left(play->player->arg, name->path, name->why, *copy ? copy : NULL);
	}
}

void mor_undo_summary(const struct mor_undo_result *result, char text[MOR_UNDO_SUMMARY])
{
	const struct {
		unsigned count;
		const char *word;
	} parts[] = { { result->changed, "changed" },
		      { result->created, "created" },
		      { result->removed, "removed" } };
	size_t len = 0;

	text[0] = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i].count)
			len += (size_t)snprintf(text + len, MOR_UNDO_SUMMARY - len, "%s%u%s %s",
						len ? ", " : "", parts[i].count,
						len                 ? "" :
						parts[i].count == 1 ? " file" :
								      " files",
						parts[i].word);
	if (!len)
		snprintf(text, MOR_UNDO_SUMMARY, "nothing");
}
