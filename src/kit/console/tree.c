/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON object that grows member by member. Values are kept as texts, because the tree is only written,
 * never read. */
#include "console/args.h"

#include "base/alloc.h"

static void drop_value(struct mor_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		mor_tree_fini(tree->kids[i]);
		mor_free(tree->kids[i]);
	}
	mor_free(tree->kids);
	mor_free(tree->json);
	tree->kids = NULL;
	tree->json = NULL;
	tree->count = 0;
}

void mor_tree_fini(struct mor_tree *tree)
{
	drop_value(tree);
	mor_free(tree->name);
	tree->name = NULL;
}

bool mor_tree_empty(const struct mor_tree *tree)
{
	return tree->count == 0 && !tree->json;
}

/* On failure the tree is unchanged. The array may have grown, but nobody can see that. */
static struct mor_tree *add_kid(struct mor_tree *tree, struct mor_slice name)
{
	struct mor_tree **grown = mor_realloc(tree->kids, (tree->count + 1) * sizeof(*grown));
	struct mor_tree *kid;

	if (!grown)
		return NULL;
	tree->kids = grown;
	kid = mor_zalloc(sizeof(*kid));
	if (!kid)
		return NULL;
	kid->name = mor_strndup(name.ptr, name.len);
	if (!kid->name) {
		mor_free(kid);
		return NULL;
	}
	kid->name_len = name.len;
	tree->kids[tree->count++] = kid;
	return kid;
}

/* Finds the member of that name, or makes it. A scalar becomes an object. */
static struct mor_tree *tree_member(struct mor_tree *tree, struct mor_slice name)
{
	if (tree->json)
		drop_value(tree);
	for (size_t i = 0; i < tree->count; i++)
		if (mor_slice_eq(name, (struct mor_slice){ tree->kids[i]->name, tree->kids[i]->name_len }))
			return tree->kids[i];
	return add_kid(tree, name);
}

/* An object is split into members, so that a later key can change one of them. An empty object has no
 * members and is kept as a value. */
static int set_leaf(struct mor_tree *tree, const struct mor_value *value)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	char *text;

	if (mor_json_type(value) == MOR_JSON_OBJECT && mor_json_size(value) > 0)
		return mor_tree_merge(tree, value);
	mor_json_write(value, false, &json);
	text = mor_buf_detach(&json);
	if (!text)
		return MORTISE_ENOMEM;
	drop_value(tree);
	tree->json = text;
	return 0;
}

int mor_tree_merge(struct mor_tree *tree, const struct mor_value *object)
{
	struct mor_json_iter it = mor_json_iter(object);

	while (mor_json_next(&it)) {
		struct mor_tree *kid = tree_member(tree, it.name);
		int r = kid ? set_leaf(kid, it.value) : MORTISE_ENOMEM;

		if (r < 0)
			return r;
	}
	return 0;
}

/* Takes the first part of a dotted path and removes its backslashes. */
static int next_part(struct mor_slice *path, struct mor_buf *part)
{
	size_t i = 0;

	for (; i < path->len && path->ptr[i] != '.'; i++) {
		if (path->ptr[i] == '\\' && i + 1 < path->len)
			i++;
		mor_buf_byte(part, path->ptr[i]);
	}
	i += i < path->len;
	path->ptr += i;
	path->len -= i;
	return part->status;
}

/* "a.b" goes down into the tree and makes objects on the way. It replaces what was there before. */
int mor_tree_set(struct mor_tree *tree, struct mor_slice path, struct mor_slice json)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = mor_doc_parse(json, 0, 0, &doc, NULL);

	while (r == 0 && path.len) {
		MOR_CLEAN(mor_buf) struct mor_buf part = MOR_BUF_INIT;

		if ((r = next_part(&path, &part)) < 0)
			return r;
		tree = tree_member(tree, part.len ? mor_buf_view(&part) : MOR_SLICE(""));
		if (!tree)
			return MORTISE_ENOMEM;
	}
	return r < 0 ? r : set_leaf(tree, mor_doc_root(doc));
}

/* Written by hand: mor_writer has a depth limit, and dotted keys may be deeper. */
int mor_tree_write(const struct mor_tree *tree, struct mor_buf *out)
{
	if (tree->json)
		return mor_buf_text(out, tree->json);
	mor_buf_byte(out, '{');
	for (size_t i = 0; i < tree->count; i++) {
		if (i)
			mor_buf_byte(out, ',');
		mor_buf_json_string(out, (struct mor_slice){ tree->kids[i]->name, tree->kids[i]->name_len });
		mor_buf_byte(out, ':');
		mor_tree_write(tree->kids[i], out);
	}
	return mor_buf_byte(out, '}');
}
