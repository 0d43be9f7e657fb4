/* SPDX-License-Identifier: Apache-2.0 */
/* Is a plugin still what was approved? */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "store/inside.h"

int mor_store_record(const struct mor_installed *plugin, struct mor_content *ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *text = NULL;
	mortise_error why = { 0 };
	struct mor_content record;
	size_t len = 0;
	int r;

	if ((r = mor_fd_read_file(plugin->record, MOR_STORE_RECORD_MAX, &text, &len)) < 0)
		return r == -ENOMEM ?
			       mor_fail_memory(err) :
			       mor_fail_errno(err, MORTISE_EVIOLATION, -r,
					      "the record of version %s cannot be read: install it again",
					      plugin->version);
	if ((r = mor_content_read((struct mor_slice){ text, len }, &record, &why)) < 0)
		return r == MORTISE_ENOMEM ? mor_fail_memory(err) :
					     mor_fail(err, MORTISE_EVIOLATION,
						      "the record of version %s is damaged (%s): install it "
						      "again",
						      plugin->version, why.text);
	if (strcmp(record.digest, plugin->digest) != 0) {
		mor_content_fini(&record);
		return mor_fail(err, MORTISE_EVIOLATION,
				"the record of version %s is not the one that was approved: install it again",
				plugin->version);
	}
	*ret = record;
	return 0;
}

/* Files that were read because they were fresh, or because a copy of the store has other inodes, need not be
 * read again: what was found is a better record. If it cannot be written, nothing is lost. */
static void renew_record(const struct mor_installed *plugin, const struct mor_content *now)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;

	if (mor_content_write(now, true, &json) == 0)
		(void)mor_store_write_file(plugin->record, mor_buf_view(&json), NULL);
}

/* Is there a file that the new record need not read, and the old one must? */
static bool worth_renewing(const struct mor_store_check *check)
{
	const struct mor_content *now = &check->found.now;

	if (!check->found.hashed || check->found.changes.count)
		return false;
	for (size_t i = 0; i < now->count; i++) {
		const struct mor_content_file *old = &check->record.files[i], *new = &now->files[i];

		if (!new->target && mor_content_settled(now, new) &&
		    !(mor_content_settled(&check->record, old) &&
		      mor_content_same(&old->identity, &new->identity)))
			return true;
	}
	return false;
}

/* Something that no plugin can have, or that cannot be read: not what somebody has approved. */
static int refuse_tree(const struct mor_installed *plugin, const mortise_error *why, mortise_error *err)
{
	return mor_fail(
		err, MORTISE_EVIOLATION,
		"version %s is not as it was approved: %s; nothing of it was run; remove that, or install %s "
		"again",
		plugin->version, why->text, plugin->name);
}

int mor_store_verify(const struct mor_installed *plugin, struct mor_store_check *ret, mortise_error *err)
{
	struct mor_store_check check = { 0 };
	mortise_error why = { 0 };
	int dir, r = mor_store_record(plugin, &check.record, err);

	if (r < 0)
		return r;
	if ((dir = open(plugin->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		r = mor_fail_errno(&why, MORTISE_EVIOLATION, errno, "its files cannot be read");
	else
		r = mor_content_verify(dir, "its files", &check.record, &check.found, &why);
	mor_fd_close(&dir);
	if (r < 0) {
		mor_content_fini(&check.record);
		return r == MORTISE_ENOMEM ? mor_fail_memory(err) : refuse_tree(plugin, &why, err);
	}
	if (worth_renewing(&check))
		renew_record(plugin, &check.found.now);
	*ret = check;
	return 0;
}

void mor_store_check_fini(struct mor_store_check *check)
{
	mor_content_check_fini(&check->found);
	mor_content_fini(&check->record);
}
