/* SPDX-License-Identifier: Apache-2.0 */
/* From words to arguments. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/near.h"
#include "base/text.h"
#include "runner/signature.h"

#define FLAG "boolean|bool" /* words for that type */

/* The words, and the one that is read now. */
struct taking {
	struct mor_tree *tree;
	struct mor_signature signature;
	const char *const *words;
	size_t count, at;
	mortise_error *err;
};

/* ---- which parameter ---- */

static struct mor_member parameter_of(struct mor_signature signature, struct mor_slice name)
{
	return mor_member_get(mor_signature_members(signature), name);
}

static bool has_parameter(struct mor_signature signature, struct mor_slice name)
{
	return parameter_of(signature, name).name.ptr;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] == '-' && word[2];
}

/* The name in "KEY" or "KEY=VALUE", with "_" for "-" where only that is a parameter. */
static struct mor_slice key_name(struct mor_signature signature, const char *key, char out[128])
{
	struct mor_slice name = { key, strcspn(key, "=") };
	struct mor_slice other = { out, name.len };

	if (has_parameter(signature, name) || name.len >= 128)
		return name;
	for (size_t i = 0; i < name.len; i++)
		out[i] = name.ptr[i] == '-' ? '_' : name.ptr[i];
	return has_parameter(signature, other) ? other : name;
}

static bool is_of_type(struct mor_signature signature, struct mor_slice name, const char *types)
{
	return mor_member_is(parameter_of(signature, name), types);
}

/* The parameter of "--KEY", or of "--no-KEY" if KEY is a boolean and no parameter has that whole name. */
static struct mor_slice option_name(struct mor_signature signature, const char *word, char out[128],
				    bool *ret_no)
{
	struct mor_slice name = key_name(signature, word + 2, out);

	*ret_no = false;
	if (has_parameter(signature, name) || strncmp(word, "--no-", 5) != 0 || strchr(word, '='))
		return name;
	name = key_name(signature, word + 5, out);
	*ret_no = is_of_type(signature, name, FLAG);
	return *ret_no ? name : key_name(signature, word + 2, out);
}

/* Is the parameter named by one of the words? */
static bool is_named(const struct taking *t, struct mor_slice name)
{
	char other[128];
	bool no;

	for (size_t i = 0; i < t->count; i++) {
		const char *word = t->words[i];
		struct mor_slice key = { word, strcspn(word, ":=.") };

		if (is_option(word))
			key = option_name(t->signature, word, other, &no);
		else if (!mor_args_is_pair(word))
			continue;
		if (mor_slice_eq(key, name))
			return true;
	}
	return false;
}

/* The parameter of the value that has `before` values without a name before it. */
static struct mor_slice nth_parameter(const struct taking *t, size_t before)
{
	for (int required = 1; required >= 0; required--) {
		struct mor_members all = mor_signature_members(t->signature);
		struct mor_member_iter it = mor_member_iter(all);

		while (mor_member_next(&it))
			if (mor_member_required(all, it.at.name) == required && !is_named(t, it.at.name) &&
			    before-- == 0)
				return it.at.name;
	}
	return (struct mor_slice){ 0 };
}

bool mor_signature_knows(struct mor_signature signature, const char *option)
{
	struct mor_member_iter it = mor_member_iter(mor_signature_members(signature));
	char other[128], word[128];
	bool no;
	struct mor_slice name = option_name(signature, option, other, &no);
	struct mor_nearest near = { .word = word };

	if (has_parameter(signature, name))
		return true;
	mor_text_keep(word, sizeof(word), name.ptr, name.len);
	while (mor_member_next(&it))
		mor_nearest_offer(&near, it.at.name.ptr);
	return mor_nearest_best(&near) != NULL;
}

/* ---- its value ---- */

static int set_json(struct taking *t, struct mor_slice path, struct mor_slice json)
{
	return mor_tree_set(t->tree, path, json) < 0 ? mor_fail_memory(t->err) : 0;
}

/* The text as it is; `path` may be dotted. */
static int set_text(struct taking *t, struct mor_slice path, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;

	if (!mor_utf8_valid(mor_slice_of(text)))
		return mor_fail(t->err, MORTISE_EINPUT, "argument \"%.*s\": the value is not UTF-8 text",
				path.len < 80 ? (int)path.len : 80, path.ptr);
	mor_buf_json_string(&json, mor_slice_of(text));
	return mor_buf_failed(&json) ? mor_fail_memory(t->err) : set_json(t, path, mor_buf_view(&json));
}

/* The name as a path: a dot in a parameter's own name does not part it. */
static void write_path(const struct taking *t, struct mor_slice name, struct mor_buf *out)
{
	for (size_t i = 0; i < name.len; i++) {
		if (strchr(".\\:=", name.ptr[i]) && (name.ptr[i] != '.' || has_parameter(t->signature, name)))
			mor_buf_byte(out, '\\');
		mor_buf_byte(out, name.ptr[i]);
	}
}

static int set_flag(struct taking *t, struct mor_slice name, bool on)
{
	MOR_CLEAN(mor_buf) struct mor_buf path = MOR_BUF_INIT;

	write_path(t, name, &path);
	if (mor_buf_failed(&path))
		return mor_fail_memory(t->err);
	return set_json(t, mor_buf_view(&path), on ? MOR_SLICE("true") : MOR_SLICE("false"));
}

/* A value for a parameter, by the way that its type is written. */
static int set_value(struct taking *t, struct mor_slice name, const char *value)
{
	MOR_CLEAN(mor_buf) struct mor_buf pair = MOR_BUF_INIT;
	bool json =
		(*value == '[' || *value == '{') && is_of_type(t->signature, name, "array|list|object|dict");

	write_path(t, name, &pair);
	if (mor_signature_wants_text(t->signature, name) && *value != '@')
		return mor_buf_failed(&pair) ? mor_fail_memory(t->err) :
					       set_text(t, mor_buf_view(&pair), value);
	mor_buf_printf(&pair, "%s%s", json ? ":=" : "=", value);
	if (mor_buf_byte(&pair, '\0') < 0)
		return mor_fail_memory(t->err);
	return mor_args_pair(t->tree, "argument", pair.data, t->err);
}

/* ---- the words ---- */

/* "KEY=VALUE" where a text is wanted: then 5 and true are texts. */
static int take_pair(struct taking *t, const char *word)
{
	struct mor_slice name = { word, strcspn(word, "=") };

	if (name.len && word[name.len - 1] != ':' && word[name.len + 1] != '@' &&
	    mor_signature_wants_text(t->signature, name))
		return set_text(t, name, word + name.len + 1);
	return mor_args_pair(t->tree, "argument", word, t->err);
}

static int take_option(struct taking *t, const char *word)
{
	const char *equals = strchr(word, '='), *next = t->at + 1 < t->count ? t->words[t->at + 1] : NULL;
	char other[128];
	bool no;
	struct mor_slice name = option_name(t->signature, word, other, &no);
	bool flag = is_of_type(t->signature, name, FLAG);

	if (equals)
		return set_value(t, name, equals + 1);
	if (!flag && next && !is_option(next) && !mor_args_is_pair(next))
		return set_value(t, name, t->words[++t->at]);
	if (flag || !mor_signature_known(t->signature))
		return set_flag(t, name, !no);
	return mor_signature_refuse(t->signature, t->err, "%s needs a value", word);
}

static int no_such_place(struct taking *t, const char *word)
{
	char shown[100];

	mor_excerpt(mor_slice_of(word), shown, sizeof(shown));
	if (!mor_signature_known(t->signature))
		return mor_fail(t->err, MORTISE_EINPUT, "argument \"%s\": expected KEY=VALUE or a JSON object",
				shown);
	return mor_signature_refuse(t->signature, t->err, "\"%s\" is %s", shown,
				    mor_members_any(mor_signature_members(t->signature)) ? "a value too many" :
											   "not KEY=VALUE");
}

int mor_signature_take(struct mor_tree *tree, struct mor_signature signature, const char *const *words,
		       size_t count, mortise_error *err)
{
	struct taking t = { tree, signature, words, count, 0, err };
	size_t values = 0;
	int r = 0;

	for (; t.at < count && r == 0; t.at++) {
		const char *word = words[t.at];
		struct mor_slice name;

		if (is_option(word)) {
			r = take_option(&t, word);
		} else if (mor_args_is_pair(word)) {
			r = take_pair(&t, word);
		} else {
			name = nth_parameter(&t, values++);
			r = name.ptr ? set_value(&t, name, word) : no_such_place(&t, word);
		}
	}
	return r;
}
