/* SPDX-License-Identifier: Apache-2.0 */
/* From paths of a record to places in a tree. After sorting, equal paths and "a file that is also a
 * directory" are neighbours. */
#include "kythe/stage/items.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"

#define HERE_MAX ((size_t)256 << 20) /* no source is larger */
#define OWN_ROOT "/kythe-unit"       /* place of records without a working directory */

static unsigned steps_up(const char *path)
{
	MOR_CLEAN_TEXT char *clean = mor_path_cleaned("", path);
	unsigned count = 0;

	for (const char *at = clean; at && strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0');
	     at += 3) {
		count++;
		if (at[2] == '\0')
			break;
	}
	return count;
}

/* The longest chain of "../" in the inputs. */
static unsigned most_steps_up(const struct mor_unit *unit)
{
	unsigned deepest = 0;

	for (size_t i = 0; i < unit->input_count; i++) {
		unsigned up = unit->inputs[i].path[0] == '/' ? 0 : steps_up(unit->inputs[i].path);

		deepest = up > deepest ? up : deepest;
	}
	return deepest;
}

int mor_stage_working_dir(const struct mor_unit *unit, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf own = MOR_BUF_INIT;
	unsigned deepest = most_steps_up(unit);

	if (unit->working_directory[0] == '/')
		return mor_path_clean("", unit->working_directory, out);
	if (deepest < steps_up(unit->working_directory))
		deepest = steps_up(unit->working_directory);
	mor_buf_text(&own, OWN_ROOT);
	for (unsigned i = 0; i < deepest && i < 256; i++)
		mor_buf_text(&own, "/d");
	mor_buf_byte(&own, '\0');
	return mor_buf_failed(&own) ? own.status : mor_path_clean(own.data, unit->working_directory, out);
}

/* Is the machine's own file the one that the record wants? */
static bool is_here(const char *path, const char *digest)
{
	MOR_CLEAN_TEXT char *content = NULL;
	char hex[MOR_DIGEST_SIZE];
	size_t len;

	if (path[0] != '/' || mor_fd_read_file(path, HERE_MAX, &content, &len) < 0)
		return false;
	mor_digest_of(content, len, hex);
	return strcmp(hex, digest) == 0;
}

/* The item's place in the tree; NULL with a text: the mode cannot show it; "": it need not be shown. */
static char *tree_path(const struct mor_input *input, const char *working_dir, enum mor_stage_mode mode,
		       mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_path_cleaned(working_dir, input->path);
	size_t len = path ? strlen(path) : 0;
	bool absolute = mode == MOR_STAGE_DIR && input->path[0] == '/';
	bool here = path && absolute && is_here(path, input->digest);

	if (!path)
		mor_fail_memory(err);
	else if (absolute && !here)
		mor_fail(err, MORTISE_EINPUT,
			 "%s: cannot be shown without namespaces: the path is absolute, and this machine has "
			 "no such file with this content",
			 input->path);
	else if (len == 1)
		mor_fail(err, MORTISE_EINPUT, "\"%s\" is not the path of a file", input->path);
	else if (len + 2 > PATH_MAX) /* nobody could open it, and we could not remove it again */
		mor_fail(err, MORTISE_EINPUT, "%.200s…: the path is longer than %d bytes", input->path,
			 PATH_MAX - 2);
	else {
		memmove(path, path + 1, len); /* without its slash */
		path[0] = here ? '\0' : path[0];
		return mor_take(&path);
	}
	return NULL;
}

bool mor_stage_item_is_dir(const struct mor_stage_item *item)
{
	return item->digest[0] == '\0';
}

size_t mor_stage_item_dir_len(const struct mor_stage_item *item)
{
	const char *slash =
		mor_stage_item_is_dir(item) ? item->path + strlen(item->path) : strrchr(item->path, '/');

	return slash ? (size_t)(slash - item->path) : 0;
}

static bool is_step_up(const char *path, const char *end)
{
	return end - path >= 2 && memcmp(end - 2, "..", 2) == 0 && (end - path == 2 || end[-3] == '/');
}

static bool can_be_opened(const char *path)
{
	for (const char *at = path + strspn(path, "/"); *at; at += strspn(at, "/")) {
		size_t len = strcspn(at, "/");

		if (len > NAME_MAX)
			return false;
		at += len;
	}
	return strlen(path) < PATH_MAX;
}

/* A directory that the tree needs in addition to those of its files: path, up to `end`. */
static int list_dir(const char *path, const char *end, bool optional, struct mor_stage_items *ret,
		    enum mor_stage_mode mode, mortise_error *err)
{
	MOR_CLEAN_TEXT char *prefix = mor_strndup(path, (size_t)(end - path));
	MOR_CLEAN_TEXT char *dir = prefix ? mor_path_cleaned(ret->working_dir, prefix) : NULL;

	if (!dir)
		return mor_fail_memory(err);
	memmove(dir, dir + 1, strlen(dir));
	if (*dir && (mode == MOR_STAGE_ROOT || prefix[0] != '/') && can_be_opened(dir))
		ret->at[ret->count++] = (struct mor_stage_item){ .path = mor_take(&dir),
								 .spelled = path,
								 .optional = optional };
	return 0;
}

/* The kernel finds a/b/../c only if a/b exists, with or without a file of the record in it. */
static int list_detours(const char *path, bool optional, struct mor_stage_items *ret, enum mor_stage_mode mode,
			mortise_error *err)
{
	int r = 0;

	for (const char *at = strstr(path, "/../"); r == 0 && at; at = strstr(at + 3, "/../"))
		if (at != path && !is_step_up(path, at))
			r = list_dir(path, at, optional, ret, mode, err);
	return r;
}

/* The path in an argument such as -Ia/b/../c or --sysroot=/x: its directories must exist too. */
static const char *path_in(const char *argument)
{
	const char *value = strchr(argument, '=');

	if (strlen(argument) >= PATH_MAX)
		return "";
	if (argument[0] != '-')
		return argument;
	if (value)
		return value + 1;
	if (argument[1] && strchr("ILFB", argument[1]))
		return argument + 2;
	value = strchr(argument, '/');
	return value ? value : "";
}

static size_t count_detours(const struct mor_unit *unit)
{
	size_t count = 0;

	for (size_t i = 0; i < unit->input_count; i++)
		for (const char *at = strstr(unit->inputs[i].path, "/../"); at; at = strstr(at + 3, "/../"))
			count++;
	for (size_t i = 0; i < unit->argument_count; i++)
		for (const char *at = strstr(path_in(unit->arguments[i]), "/../"); at;
		     at = strstr(at + 3, "/../"))
			count++;
	return count;
}

struct mor_stage_items *mor_stage_items_free(struct mor_stage_items *items)
{
	for (size_t i = 0; items && i < items->count; i++)
		mor_free(items->at[i].path);
	if (items) {
		mor_free(items->at);
		mor_free(items->working_dir);
	}
	return mor_free(items);
}

/* "/" sorts before everything else, so that the paths below a path follow it directly. */
static int compare_paths(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a == '/' || *b == '/')
		return *a == *b ? 0 : *a == '\0' ? -1 : *b == '\0' ? 1 : *a == '/' ? -1 : 1;
	return (unsigned char)*a - (unsigned char)*b;
}

int mor_stage_items_compare(const void *a, const void *b)
{
	return compare_paths(((const struct mor_stage_item *)a)->path,
			     ((const struct mor_stage_item *)b)->path);
}

/* Among equal paths. */
static int optional_last(const void *a, const void *b)
{
	int order = mor_stage_items_compare(a, b);

	return order ? order :
		       ((const struct mor_stage_item *)a)->optional -
			       ((const struct mor_stage_item *)b)->optional;
}

/* True if the item adds nothing to the last one, or nothing that conflicts with it. */
static bool is_said(const struct mor_stage_item *last, const struct mor_stage_item *item)
{
	if (strcmp(last->path, item->path) == 0)
		return item->optional || strcmp(last->digest, item->digest) == 0;
	return item->optional && !mor_stage_item_is_dir(last) && mor_path_below(last->path, item->path);
}

/* Neighbours that are the same file become one. A conflict is an error in the record. */
static int settle_items(struct mor_stage_items *items, mortise_error *err)
{
	size_t kept = 0;

	qsort(items->at, items->count, sizeof(struct mor_stage_item), optional_last);
	for (size_t i = 0; i < items->count; i++) {
		struct mor_stage_item *last = kept ? &items->at[kept - 1] : NULL, *item = &items->at[i];

		if (last && is_said(last, item)) {
			item->path = mor_free(item->path);
			continue;
		}
		if (last && strcmp(last->path, item->path) == 0 && !mor_stage_item_is_dir(last) &&
		    !mor_stage_item_is_dir(item))
			return mor_fail(err, MORTISE_EINPUT, "%s: one path with two contents", item->spelled);
		if (last && (strcmp(last->path, item->path) == 0 ||
			     (!mor_stage_item_is_dir(last) && mor_path_below(last->path, item->path))))
			return mor_fail(err, MORTISE_EINPUT,
					"%s: its directory is also a file of the record (%s)", item->spelled,
					last->spelled);
		if (item != &items->at[kept]) {
			items->at[kept] = *item;
			item->path = NULL;
		}
		kept++;
	}
	items->count = kept;
	return 0;
}

static int check_working_dir(const struct mor_stage_items *items, const char *working_dir, mortise_error *err)
{
	for (size_t i = 0; i < items->count; i++)
		if (!mor_stage_item_is_dir(&items->at[i]) &&
		    (strcmp(items->at[i].path, working_dir + 1) == 0 ||
		     mor_path_below(items->at[i].path, working_dir + 1)))
			return mor_fail(err, MORTISE_EINPUT,
					"the working directory %.200s is a file of the record, or lies below "
					"one",
					working_dir);
	return 0;
}

static int list_items(const struct mor_unit *unit, enum mor_stage_mode mode, struct mor_stage_items *ret,
		      mortise_error *err)
{
	ret->at = mor_zalloc((unit->input_count + count_detours(unit) + 1) * sizeof(struct mor_stage_item));
	if (!ret->at)
		return mor_fail_memory(err);
	for (size_t i = 0; i < unit->input_count; i++) {
		const struct mor_input *input = &unit->inputs[i];
		struct mor_stage_item *item = &ret->at[ret->count];
		int r;

		*item = (struct mor_stage_item){ .path = tree_path(input, ret->working_dir, mode, err),
						 .spelled = input->path };
		if (!item->path)
			return err->code;
		if (!*item->path) {
			mor_free(item->path);
			continue;
		}
		snprintf(item->digest, sizeof(item->digest), "%s", *input->digest ? input->digest : "none");
		ret->count++;
		if ((r = list_detours(input->path, false, ret, mode, err)) < 0)
			return r;
	}
	for (size_t i = 0; i < unit->argument_count; i++) {
		int r = list_detours(path_in(unit->arguments[i]), true, ret, mode, err);

		if (r < 0)
			return r;
	}
	return settle_items(ret, err);
}

/* Contents differ in their digests, which are hashes already. The path is mixed in too. */
static void draw_sketch(struct mor_stage_items *items)
{
	for (size_t i = 0; i < items->count; i++) {
		const struct mor_stage_item *item = &items->at[i];
		uint64_t hash = mor_hash(item->path, strlen(item->path));

		hash = mor_hash_add(hash, item->digest, strnlen(item->digest, 8));
		hash ^= hash >> 32;
		items->sketch[hash / 64 % MOR_SKETCH_WORDS] |= (uint64_t)1 << hash % 64;
	}
}

unsigned mor_stage_items_distance(const struct mor_stage_items *a, const struct mor_stage_items *b)
{
	unsigned count = 0;

	for (int i = 0; i < MOR_SKETCH_WORDS; i++)
		count += (unsigned)__builtin_popcountll(a->sketch[i] ^ b->sketch[i]);
	return count;
}

static bool dir_holds(struct mor_slice dir, struct mor_slice other)
{
	return mor_path_len_is_within(other.ptr, other.len, dir.ptr, dir.len);
}

/* Adds the directory after `count` others, unless the last one contains it or lies in it. Then the deeper
 * one stays. Everything in a directory comes together, so only the last one matters. */
static size_t add_dir(struct mor_slice *dirs, size_t count, struct mor_slice dir)
{
	if (dir.len == 0 || (count && dir_holds(dir, dirs[count - 1])))
		return count;
	count -= count && dir_holds(dirs[count - 1], dir);
	dirs[count] = dir;
	return count + 1;
}

static const char **copy_texts(const struct mor_slice *texts, size_t count)
{
	size_t size = (count + 1) * sizeof(char *);
	const char **list;
	char *at;

	for (size_t i = 0; i < count; i++)
		size += texts[i].len + 1;
	list = mor_alloc(size);
	if (!list)
		return NULL;
	at = (char *)(list + count + 1);
	for (size_t i = 0; i < count; i++) {
		list[i] = memcpy(at, texts[i].ptr, texts[i].len);
		at[texts[i].len] = '\0';
		at += texts[i].len + 1;
	}
	list[count] = NULL;
	return list;
}

const char **mor_stage_items_directories(const struct mor_stage_items *items)
{
	struct mor_slice *dirs = mor_alloc((items->count + 1) * sizeof(*dirs));
	const char **list;
	size_t count = 0;

	if (!dirs)
		return NULL;
	for (size_t i = 0; i < items->count; i++)
		count = add_dir(dirs, count,
				(struct mor_slice){ items->at[i].path, mor_stage_item_dir_len(&items->at[i]) });
	dirs[count++] = mor_slice_of(items->working_dir + 1);
	list = copy_texts(dirs, count);
	mor_free(dirs);
	return list;
}

bool mor_stage_items_equal(const struct mor_stage_items *a, const struct mor_stage_items *b)
{
	if (a->count != b->count || memcmp(a->sketch, b->sketch, sizeof(a->sketch)) != 0 ||
	    strcmp(a->working_dir, b->working_dir) != 0)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->at[i].path, b->at[i].path) != 0 || strcmp(a->at[i].digest, b->at[i].digest) != 0)
			return false;
	return true;
}

/* "/a/b/c" with two steps is "/b/c": the part that "../../x" needs above it. */
static void keep_tail(char *path, unsigned steps)
{
	const char *at = path + strlen(path);

	if (!path[1])
		return;
	while (at > path && steps) {
		at--;
		steps -= *at == '/';
	}
	if (at[0] == '\0')
		at = "/";
	memmove(path, at, strlen(at) + 1);
}

int mor_stage_items_list(const struct mor_unit *unit, enum mor_stage_mode mode, struct mor_stage_items **ret,
			 mortise_error *err)
{
	struct mor_buf working_dir = MOR_BUF_INIT;
	int r = mor_stage_working_dir(unit, &working_dir);

	*ret = mor_zalloc(sizeof(**ret));
	if (r < 0 || !*ret) {
		mor_buf_fini(&working_dir);
		return mor_fail_memory(err);
	}
	(*ret)->working_dir = mor_buf_detach(&working_dir);
	if (!(*ret)->working_dir)
		return mor_fail_memory(err);
	if (!can_be_opened((*ret)->working_dir))
		return mor_fail(err, MORTISE_EINPUT, "the working directory is too long: %.200s…",
				(*ret)->working_dir);
	if (mode == MOR_STAGE_DIR)
		keep_tail((*ret)->working_dir, most_steps_up(unit));
	r = list_items(unit, mode, *ret, err);
	if (r == 0)
		draw_sketch(*ret);
	return r < 0 ? r : check_working_dir(*ret, (*ret)->working_dir, err);
}
