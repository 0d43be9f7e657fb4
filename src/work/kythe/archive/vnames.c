/* SPDX-License-Identifier: Apache-2.0 */
#include "kythe/archive/vnames.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"
#include "base/search.h"

int mor_vname_own_set(struct mor_vname_own *ret, const struct mor_vname *from)
{
	const char *texts[] = { from->signature, from->corpus, from->root, from->path, from->language };
	MOR_CLEAN(mor_buf) struct mor_buf all = MOR_BUF_INIT;
	size_t at[5];

	for (int i = 0; i < 5; i++) {
		at[i] = all.len;
		mor_buf_append(&all, texts[i], strlen(texts[i]) + 1);
	}
	if (mor_buf_failed(&all))
		return all.status;
	ret->memory = mor_buf_detach(&all);
	ret->vname = (struct mor_vname){ ret->memory + at[0], ret->memory + at[1], ret->memory + at[2],
					 ret->memory + at[3], ret->memory + at[4] };
	return 0;
}

/* ---- the `vname` method ---- */

/* The key of an input: its clean path below the working directory. */
struct named_key {
	char *path;
	const struct mor_input *input;
};

struct mor_namer {
	const struct mor_unit *unit;
	const struct mor_vname_rules *rules;
	char *dir; /* clean */
	struct named_key *keys;
	size_t count;
};

static char *make_key(const char *dir, const char *path)
{
	char *whole = mor_path_cleaned(dir, path);
	const char *below = whole ? mor_path_below(dir, whole) : NULL;

	if (below)
		memmove(whole, below, strlen(below) + 1);
	return whole;
}

static int by_path(const void *a, const void *b)
{
	const struct named_key *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	/* If two inputs have one path, the first is found. */
	return order ? order : (x->input > y->input) - (x->input < y->input);
}

static int fill_namer(struct mor_namer *namer, const char *working_dir)
{
	const struct mor_unit *unit = namer->unit;

	namer->dir = *working_dir ? mor_path_cleaned("", working_dir) : mor_strdup("");
	namer->keys = mor_zalloc(unit->input_count * sizeof(*namer->keys));
	if (!namer->dir || !namer->keys)
		return MORTISE_ENOMEM;
	for (; namer->count < unit->input_count; namer->count++) {
		struct named_key *key = &namer->keys[namer->count];

		key->input = &unit->inputs[namer->count];
		key->path = make_key(namer->dir, key->input->path);
		if (!key->path)
			return MORTISE_ENOMEM;
	}
	if (namer->count)
		qsort(namer->keys, namer->count, sizeof(*namer->keys), by_path);
	return 0;
}

int mor_namer_new(const struct mor_unit *unit, const char *working_dir, const struct mor_vname_rules *rules,
		  struct mor_namer **ret, mortise_error *err)
{
	MOR_CLEAN(mor_namer) struct mor_namer *namer = mor_zalloc(sizeof(*namer));

	if (!namer)
		return mor_fail_memory(err);
	namer->unit = unit;
	namer->rules = rules;
	if (fill_namer(namer, working_dir ? working_dir : unit->working_directory) < 0)
		return mor_fail_memory(err);
	*ret = mor_take(&namer);
	return 0;
}

struct mor_namer *mor_namer_free(struct mor_namer *namer)
{
	if (!namer)
		return NULL;
	for (size_t i = 0; i < namer->count; i++)
		mor_free(namer->keys[i].path);
	mor_free(namer->keys);
	mor_free(namer->dir);
	return mor_free(namer);
}

static const struct mor_input *find_input(const struct mor_namer *namer, const char *path)
{
	struct named_key key = { .path = (char *)(uintptr_t)path };
	size_t at = mor_lower_bound(&key, namer->keys, namer->count, sizeof(key), by_path);

	return at < namer->count && strcmp(namer->keys[at].path, path) == 0 ? namer->keys[at].input : NULL;
}

/* Signature and language do not depend on the path. */
static struct mor_vname complete(const struct mor_namer *namer, struct mor_vname vname, const char *path,
				 const char *signature)
{
	const struct mor_vname *unit = &namer->unit->vname;

	if (!*vname.corpus) {
		vname.corpus = unit->corpus;
		vname.root = unit->root;
	}
	if (!*vname.path)
		vname.path = path;
	vname.signature = signature;
	vname.language = *signature ? unit->language : "";
	return vname;
}

static int ask_rules(const struct mor_namer *namer, const char *key, const char *signature,
		     struct mor_vname_own *ret, mortise_error *err)
{
	MOR_CLEAN(mor_vname_own) struct mor_vname_own ruled = { .vname = MOR_VNAME_EMPTY };
	int r = mor_vname_rules_apply(namer->rules, key, &ruled, err);

	ruled.vname = complete(namer, ruled.vname, key, signature);
	return r < 0 ? r : mor_vname_own_set(ret, &ruled.vname);
}

int mor_namer_ask(const struct mor_namer *namer, const char *path, const char *signature,
		  struct mor_vname_own *ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *key = make_key(namer->dir, path);
	const struct mor_input *input = key ? find_input(namer, key) : NULL;
	int r = key ? 0 : MORTISE_ENOMEM;

	if (input) {
		ret->vname = complete(namer, input->vname, key, signature);
		ret->memory = mor_take(&key);
	} else if (key) {
		r = ask_rules(namer, key, signature, ret, err);
	}
	return r == MORTISE_ENOMEM ? mor_fail_memory(err) : r;
}

int mor_vname_without_unit(const struct mor_vname_rules *rules, const char *path, const char *signature,
			   struct mor_vname_own *ret, mortise_error *err)
{
	MOR_CLEAN(mor_vname_own) struct mor_vname_own ruled = { .vname = MOR_VNAME_EMPTY };
	int r = mor_vname_rules_apply(rules, path, &ruled, err);

	if (r < 0)
		return r;
	if (r == 0)
		return mor_fail(err, MORTISE_ENOTFOUND, "no unit is being analysed, and no rule names \"%s\"",
				path);
	ruled.vname.signature = signature;
	r = mor_vname_own_set(ret, &ruled.vname);
	return r < 0 ? mor_fail_memory(err) : 0;
}

static void write_parts(const struct mor_vname *vname, struct mor_buf *out)
{
	const char *const texts[] = { vname->signature, vname->corpus, vname->root, vname->path,
				      vname->language };
	static const char *const heads[] = { "\"signature\":", ",\"corpus\":", ",\"root\":", ",\"path\":",
					     ",\"language\":" };

	for (int i = 0; i < 5; i++) {
		mor_buf_text(out, heads[i]);
		mor_buf_json_string(out, mor_slice_of(texts[i]));
	}
}

/* An analyzer asks for the names of all its files, a hundred or more. So the second form is made by copying
 * the first. */
void mor_vname_reply_json(const struct mor_vname *vname, struct mor_buf *out)
{
	size_t start, len;

	mor_buf_reserve(out, 400);
	mor_buf_text(out, "{\"vname\":{");
	start = out->len;
	write_parts(vname, out);
	len = out->len - start;
	mor_buf_text(out, "},");
	/* room for both, so that the buffer does not move while we copy */
	if (mor_buf_reserve(out, len + 1) == 0)
		mor_buf_append(out, out->data + start, len);
	mor_buf_byte(out, '}');
}
