/* SPDX-License-Identifier: Apache-2.0 */
#include "content/nameset.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <utf8proc.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "content/names.h"

#define TABLE_SLOTS 131072u /* a power of two, over twice the limit: searches stay short */
#define NO_PARENT   UINT32_MAX
/* One character becomes at most four when its case is folded and it is taken apart. */
#define FOLD_CODES (4 * MOR_CONTENT_NAME_BYTES)

/* One name in one directory. A tree of names keeps a path of 2,000 directories from being kept 2,000 times. */
struct name_node {
	uint32_t parent; /* NO_PARENT: the top */
	uint32_t hash;
	enum mor_nameset_kind kind;
	uint16_t spelt_len, folded_len;
	char text[]; /* as spelt, then folded */
};

struct mor_nameset {
	struct name_node *node[MOR_NAMESET_LIMIT];
	uint32_t count;
	uint32_t slot[TABLE_SLOTS]; /* index of a node + 1 */
};

struct folded {
	uint32_t parent, hash;
	struct mor_slice text;
};

struct mor_nameset *mor_nameset_new(void)
{
	return mor_zalloc(sizeof(struct mor_nameset));
}

struct mor_nameset *mor_nameset_free(struct mor_nameset *set)
{
	if (!set)
		return NULL;
	for (uint32_t i = 0; i < set->count; i++)
		mor_free(set->node[i]);
	mor_free(set);
	return NULL;
}

/* FNV-1a. Who makes collisions on purpose makes a search slow, over 60,000 names at most. */
static uint32_t hash_name(uint32_t parent, struct mor_slice text)
{
	uint32_t hash = 2166136261u ^ parent * 2654435761u;

	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.ptr[i]) * 16777619u;
	return hash ^ hash >> 15;
}

/* Without case, and composed as macOS and Unicode's "canonical caseless matching" see it. */
static int fold_name(struct mor_slice name, int32_t codes[FOLD_CODES + 1], struct mor_slice *ret)
{
	const utf8proc_option_t how = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD;
	utf8proc_ssize_t len = utf8proc_decompose((const utf8proc_uint8_t *)name.ptr,
						  (utf8proc_ssize_t)name.len, codes, FOLD_CODES, how);

	if (len < 0 || len > FOLD_CODES)
		return MORTISE_EINPUT;
	len = utf8proc_reencode(codes, len, how);
	if (len < 0)
		return MORTISE_EINPUT;
	*ret = (struct mor_slice){ (const char *)codes, (size_t)len };
	return 0;
}

static bool is_node(const struct name_node *node, const struct folded *want)
{
	struct mor_slice have = { node->text + node->spelt_len, node->folded_len };

	return node->hash == want->hash && node->parent == want->parent && mor_slice_eq(have, want->text);
}

/* The slot of the name, or the free one where it belongs. */
static uint32_t *find_slot(struct mor_nameset *set, const struct folded *want)
{
	uint32_t at = want->hash % TABLE_SLOTS;

	while (set->slot[at] && !is_node(set->node[set->slot[at] - 1], want))
		at = (at + 1) % TABLE_SLOTS;
	return &set->slot[at];
}

static int add_node(struct mor_nameset *set, const struct folded *key, struct mor_slice name,
		    enum mor_nameset_kind kind, mortise_error *err)
{
	struct name_node *node;

	if (set->count == MOR_NAMESET_LIMIT)
		return mor_fail(err, MORTISE_EINPUT, "more than %d files and directories", MOR_NAMESET_LIMIT);
	node = mor_alloc(sizeof(*node) + name.len + key->text.len);
	if (!node)
		return mor_fail_memory(err);
	node->parent = key->parent;
	node->hash = key->hash;
	node->kind = kind;
	node->spelt_len = (uint16_t)name.len;
	node->folded_len = (uint16_t)key->text.len;
	memcpy(node->text, name.ptr, name.len);
	memcpy(node->text + name.len, key->text.ptr, key->text.len);
	set->node[set->count++] = node;
	return 0;
}

/* The whole path of a node, shown. */
static const char *show_node(const struct mor_nameset *set, uint32_t at, char *out, size_t size)
{
	const struct name_node *chain[MOR_CONTENT_PATH_BYTES / 2 + 1];
	MOR_CLEAN(mor_buf) struct mor_buf path = MOR_BUF_INIT;
	size_t depth = 0;

	for (; at != NO_PARENT && depth < sizeof(chain) / sizeof(chain[0]); at = set->node[at]->parent)
		chain[depth++] = set->node[at];
	while (depth--) {
		mor_buf_append(&path, chain[depth]->text, chain[depth]->spelt_len);
		if (depth)
			mor_buf_byte(&path, '/');
	}
	return mor_content_name_show(mor_buf_view(&path), out, size);
}

static int refuse_name(const struct mor_nameset *set, uint32_t at, struct mor_slice path, bool respelt,
		       bool last, mortise_error *err)
{
	char mine[200], other[200];

	mor_content_name_show(path, mine, sizeof(mine));
	show_node(set, at, other, sizeof(other));
	if (respelt)
		return mor_fail(
			err, MORTISE_EINPUT,
			"\"%s\" and \"%s\" differ in case or Unicode form only: on some systems they are one "
			"file",
			mine, other);
	if (last)
		return mor_fail(err, MORTISE_EINPUT, "\"%s\" is there twice", mine);
	return mor_fail(err, MORTISE_EINPUT, "\"%s\" lies below \"%s\", which is a %s", mine, other,
			set->node[at]->kind == MOR_NAMESET_LINK ? "link" : "file");
}

/* Adds the last name of `path`, below *parent, which becomes it. */
static int add_name(struct mor_nameset *set, struct mor_slice path, struct mor_slice name,
		    enum mor_nameset_kind kind, bool last, uint32_t *parent, mortise_error *err)
{
	int32_t codes[FOLD_CODES + 1];
	struct folded key = { .parent = *parent };
	const struct name_node *node;
	uint32_t *slot;
	bool respelt;
	int r = fold_name(name, codes, &key.text);

	if (r < 0)
		return mor_fail(err, r, "a name is not UTF-8");
	key.hash = hash_name(key.parent, key.text);
	slot = find_slot(set, &key);
	if (!*slot) {
		r = add_node(set, &key, name, kind, err);
		if (r == 0) {
			*slot = set->count;
			*parent = set->count - 1;
		}
		return r;
	}
	*parent = *slot - 1;
	node = set->node[*parent];
	respelt = !mor_slice_eq((struct mor_slice){ node->text, node->spelt_len }, name);
	if (respelt || kind != MOR_NAMESET_DIR || node->kind != MOR_NAMESET_DIR)
		return refuse_name(set, *parent, path, respelt, last, err);
	return 0;
}

int mor_nameset_add(struct mor_nameset *set, const char *path, enum mor_nameset_kind kind, mortise_error *err)
{
	uint32_t parent = NO_PARENT;
	const char *name = path;

	for (;;) {
		size_t len = strcspn(name, "/");
		bool last = name[len] == '\0';
		struct mor_slice all = { path, strlen(path) };
		int r = add_name(set, all, (struct mor_slice){ name, len }, last ? kind : MOR_NAMESET_DIR, last,
				 &parent, err);

		if (r < 0 || last)
			return r;
		name += len + 1;
	}
}
