/* SPDX-License-Identifier: Apache-2.0 */
/* mortise trust, for directories and files of YAMS plugins: the list that YAMS itself has. */
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/trust.h"
#include "trusted/trusted.h"

static bool takes_path(const char *word)
{
	struct stat st;

	return stat(word, &st) == 0 && (S_ISDIR(st.st_mode) || mor_trusted_is_script(word));
}

static int add_path(const char *word, const char *as, struct mor_trust_list *ret, mortise_error *err)
{
	MOR_CLEAN(mor_trusted_change) struct mor_trusted_change change = { 0 };
	int r = as ? mor_fail(err, MORTISE_EINVAL, "--as is the name of a key's owner: %s is no key", word) :
		     mor_trusted_add(word, &change, err);

	return r < 0 ? r : mor_trust_list_add(ret, mor_trust_paths.name, change.path, change.note, err);
}

static int list_paths(struct mor_trust_list *ret, mortise_error *err)
{
	MOR_CLEAN(mor_trusted) struct mor_trusted list = { 0 };
	int r = mor_trusted_read(&list, err);

	for (size_t i = 0; r == 0 && i < list.count; i++) {
		const struct mor_trusted_path *item = &list.items[i];
		MOR_CLEAN_TEXT char *note = item->why ? mor_text_format("does not count: %s", item->why) : NULL;

		r = item->why && !note ? mor_fail_memory(err) :
					 mor_trust_list_add(ret, mor_trust_paths.name,
							    item->path ? item->path : item->typed, note, err);
	}
	return r;
}

static int remove_path(const char *word, struct mor_trust_list *ret, mortise_error *err)
{
	MOR_CLEAN(mor_trusted_change) struct mor_trusted_change change = { 0 };
	int r = mor_trusted_remove(word, &change, err);

	return r < 0 ? r : mor_trust_list_add(ret, mor_trust_paths.name, change.path, change.note, err);
}

const struct mor_trust_kind mor_trust_paths = {
	.name = "path",
	.takes = takes_path,
	.add = add_path,
	.list = list_paths,
	.remove = remove_path,
};
