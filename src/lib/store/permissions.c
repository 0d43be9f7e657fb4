/* SPDX-License-Identifier: Apache-2.0 */
#include "store/permissions.h"

#include <stdlib.h>
#include <string.h>

#include <mortise/mortise.h>

#include "base/alloc.h"
#include "base/textlist.h"

static const struct {
	unsigned bit;
	const char *word;
} words[] = {
	{ MOR_PERMISSION_NETWORK, "network" },       { MOR_PERMISSION_READ, "read" },
	{ MOR_PERMISSION_SPAWN, "spawn" },           { MOR_PERMISSION_WRITE, "write" },
	{ MOR_PERMISSION_UNCONFINED, "unconfined" }, { MOR_PERMISSION_DOWNGRADE, "downgrade" },
	{ MOR_PERMISSION_REPLACE, "replace" },
};
#define WORDS (sizeof(words) / sizeof(*words))

void mor_permissions_words(unsigned permissions, const char *separator, struct mor_buf *out)
{
	bool first = true;

	for (size_t i = 0; i < WORDS; i++)
		if (permissions & words[i].bit) {
			mor_buf_printf(out, "%s%s", first ? "" : separator, words[i].word);
			first = false;
		}
}

unsigned mor_permissions_of_word(struct mor_slice word)
{
	for (size_t i = 0; i < WORDS; i++)
		if (mor_slice_is(word, words[i].word))
			return words[i].bit;
	return 0;
}

/* ---- the canonical text ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void write_sorted(struct mor_writer *w, const struct mor_value *list)
{
	struct mor_text_list texts = { 0 };
	struct mor_json_iter it = mor_json_iter(list);

	while (mor_json_next(&it))
		if (mor_text_list_add(&texts, mor_json_text(it.value, "")) < 0)
			w->out->status = MORTISE_ENOMEM;
	if (texts.count)
		qsort(texts.item, texts.count, sizeof(*texts.item), by_text);
	mor_w_array(w);
	for (size_t i = 0; i < texts.count; i++)
		if (i == 0 || strcmp(texts.item[i], texts.item[i - 1]) != 0)
			mor_w_string(w, texts.item[i]);
	mor_w_end(w);
	mor_free(texts.item);
}

static void write_confined(struct mor_writer *w, const struct mor_value *network, const struct mor_value *read,
			   bool spawn, bool write)
{
	mor_w_object(w);
	mor_w_pair_bool(w, "confined", true);
	mor_w_key(w, "network");
	if (mor_json_type(network) == MOR_JSON_ARRAY)
		write_sorted(w, network);
	else
		mor_w_bool(w, mor_json_bool(network, false));
	mor_w_key(w, "read");
	write_sorted(w, read);
	mor_w_pair_bool(w, "spawn", spawn);
	mor_w_pair_bool(w, "write", write);
	mor_w_end(w);
}

static void write_unconfined(struct mor_writer *w)
{
	mor_w_object(w);
	mor_w_pair_bool(w, "confined", false);
	mor_w_end(w);
}

int mor_permissions_write(const struct mor_value *policy, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };
	const char *level = mor_json_text(mor_json_get(policy, "level"), "guarded");

	if (strcmp(level, "guarded") == 0)
		write_unconfined(&w);
	else
		write_confined(&w, mor_json_get(policy, "network"), mor_json_get(policy, "read"),
			       mor_json_bool(mor_json_get(policy, "spawn"), false),
			       mor_json_bool(mor_json_get(policy, "workspace_write"), false));
	return out->status < 0 ? MORTISE_ENOMEM : 0;
}

bool mor_permissions_confined(const struct mor_value *permissions)
{
	return mor_json_bool(mor_json_get(permissions, "confined"), false);
}

static bool has_flag(const struct mor_value *permissions, const char *name)
{
	return mor_json_bool(mor_json_get(permissions, name), false);
}

void mor_permissions_canonical(const struct mor_value *permissions, struct mor_writer *w)
{
	if (mor_permissions_confined(permissions))
		write_confined(w, mor_json_get(permissions, "network"), mor_json_get(permissions, "read"),
			       has_flag(permissions, "spawn"), has_flag(permissions, "write"));
	else
		write_unconfined(w);
}

/* ---- what they mean ---- */

unsigned mor_permissions_asked(const struct mor_value *permissions)
{
	unsigned asked = 0;

	if (!mor_permissions_confined(permissions))
		return MOR_PERMISSION_UNCONFINED;
	if (has_flag(permissions, "network") || mor_json_size(mor_json_get(permissions, "network")))
		asked |= MOR_PERMISSION_NETWORK;
	if (mor_json_size(mor_json_get(permissions, "read")))
		asked |= MOR_PERMISSION_READ;
	if (has_flag(permissions, "spawn"))
		asked |= MOR_PERMISSION_SPAWN;
	if (has_flag(permissions, "write"))
		asked |= MOR_PERMISSION_WRITE;
	return asked;
}

static bool lists_text(const struct mor_value *list, struct mor_slice text)
{
	struct mor_json_iter it = mor_json_iter(list);

	while (mor_json_next(&it))
		if (mor_slice_eq(mor_json_string(it.value), text))
			return true;
	return false;
}

/* A path below one that was allowed is not listed as allowed: then it is asked for once more. */
static bool has_more(const struct mor_value *before, const struct mor_value *now)
{
	struct mor_json_iter it = mor_json_iter(now);

	if (mor_json_type(before) == MOR_JSON_BOOL && mor_json_bool(before, false))
		return false;
	while (mor_json_next(&it))
		if (!lists_text(before, mor_json_string(it.value)))
			return true;
	return mor_json_bool(now, false);
}

unsigned mor_permissions_wider(const struct mor_value *before, const struct mor_value *now)
{
	unsigned asked = mor_permissions_asked(now), wider;

	if (!before)
		return asked;
	if (!mor_permissions_confined(before)) /* it could do everything */
		return 0;
	wider = asked & ~mor_permissions_asked(before);
	if (has_more(mor_json_get(before, "network"), mor_json_get(now, "network")))
		wider |= MOR_PERMISSION_NETWORK;
	if (has_more(mor_json_get(before, "read"), mor_json_get(now, "read")))
		wider |= MOR_PERMISSION_READ;
	return wider;
}
