/* SPDX-License-Identifier: Apache-2.0 */
/* One plugin, by its name and a range of versions. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/inside.h"
#include "store/semver.h"

bool mor_store_is_pick(const char *word)
{
	const char *at = strchr(word, '@');
	struct mor_semver_range range;

	return mor_store_is_name(word) || (at && mor_store_name_valid(word, (size_t)(at - word)) &&
					   mor_semver_range_parse(at + 1, &range, NULL) == 0);
}

/* The newest that fits, whichever is in use. */
static const struct mor_installed *newest_that_fits(const struct mor_store_list *all,
						    const struct mor_semver_range *range)
{
	const struct mor_installed *best = NULL;

	for (size_t i = 0; i < all->count; i++)
		if (mor_semver_range_fits(range, all->items[i].version) &&
		    (!best || mor_store_compare_versions(all->items[i].version, best->version) > 0))
			best = &all->items[i];
	return best;
}

static int refuse_all(const struct mor_store_list *all, const char *name, const char *range, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf have = MOR_BUF_INIT;

	for (size_t i = 0; i < all->count; i++)
		mor_buf_printf(&have, "%s%s", i ? ", " : "", all->items[i].version);
	return mor_fail(err, MORTISE_ENOTFOUND,
			"%s is installed, but no version that fits \"%s\"; there is: %.*s", name, range,
			(int)have.len, have.data ? have.data : "");
}

static int pick_version(const struct mor_store *store, const char *name, const char *text,
			struct mor_installed *ret, mortise_error *err)
{
	MOR_CLEAN(mor_store_list) struct mor_store_list all = { 0 };
	const struct mor_installed *best;
	struct mor_semver_range range;
	int r = mor_semver_range_parse(text, &range, err);

	if (r == 0)
		r = mor_store_versions(store, name, &all, err);
	if (r < 0)
		return r;
	best = newest_that_fits(&all, &range);
	if (!best)
		return refuse_all(&all, name, text, err);
	/* once more by its own name, which checks whose it is and where it lies */
	MOR_CLEAN_TEXT char *word = mor_text_format("%s@%s", name, best->version);
	return word ? mor_store_find(store, word, ret, err) : mor_fail_memory(err);
}

int mor_store_pick(const struct mor_store *store, const char *word, struct mor_installed *ret,
		   mortise_error *err)
{
	const char *at = strchr(word, '@');
	bool exact = !at || mor_store_is_name(word);
	mortise_error why = { 0 };
	MOR_CLEAN_TEXT char *name = at ? mor_strndup(word, (size_t)(at - word)) : NULL;
	int r;

	if (at && !name)
		return mor_fail_memory(err);
	r = exact ? mor_store_find(store, word, ret, &why) : mor_store_unknown(store, word, &why);
	if (r != MORTISE_ENOTFOUND || !at || !mor_store_is_pick(word)) {
		if (r < 0 && err)
			*err = why;
		return r;
	}
	r = pick_version(store, name, at + 1, ret, err);
	if (r == MORTISE_ENOTFOUND && exact && err)
		*err = why; /* it speaks of that version */
	return r;
}
