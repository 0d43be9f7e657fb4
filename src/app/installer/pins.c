/* SPDX-License-Identifier: Apache-2.0 */
/* What others have said about a plugin before it came: the index of its registry, the project's lock, and who
 * signed the version before. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "installer/inside.h"

/* ---- the index ---- */

static const char *unlike_index(const struct mor_installer_visit *visit)
{
	const struct mor_registry_entry *listed = visit->order->listed;

	if (strcmp(visit->name, listed->name) != 0)
		return "its name is another";
	if (strcmp(visit->version, listed->version) != 0)
		return "its version is another";
	if (strcmp(visit->content.digest, listed->digest) != 0)
		return "its content is another";
	if (listed->key && strcmp(visit->origin.key, listed->key) != 0)
		return visit->origin.key[0] ? "another key has signed it" : "its signature is missing";
	return NULL;
}

static int compare_index(const struct mor_installer_visit *visit, mortise_error *err)
{
	const struct mor_registry_entry *listed = visit->order->listed;
	const char *why = listed ? unlike_index(visit) : NULL;

	return why ? mor_fail(err, MORTISE_EINPUT,
			      "%s is not what the index lists as %s %s: %s; nothing was installed",
			      visit->order->from, listed->name, listed->version, why) :
		     0;
}

/* ---- the lock ---- */

static int refuse_pinned(const struct mor_installer_visit *visit, const char *what, mortise_error *err)
{
	const struct mor_installer_order *order = visit->order;

	if (strcmp(what, "name") == 0 || strcmp(what, "version") == 0)
		return mor_fail(err, MORTISE_EINPUT,
				"%s: %s pins %s, but %s holds %s %s; nothing was installed",
				order->pinned->name, order->lock->path, order->pinned->version, order->from,
				visit->name, visit->version);
	return mor_fail(err, MORTISE_EINPUT,
			"%s %s: its %s %s not what %s pins, as it comes from %s; nothing was installed",
			order->pinned->name, order->pinned->version, what,
			strcmp(what, "permissions") == 0 ? "are" : "is", order->lock->path, order->from);
}

static int compare_lock(const struct mor_installer_visit *visit, mortise_error *err)
{
	const struct mor_value *root = mor_doc_root(visit->described);
	MOR_CLEAN(mor_doc) struct mor_doc *offers = NULL;
	struct mor_lockfile_facts facts = {
		.version = visit->version,
		.digest = visit->content.digest,
		.dialect = mor_json_text(mor_json_get(root, "dialect"), "plain"),
		.interface = mor_json_get(root, "interfaces"),
		.permissions = mor_doc_root(visit->permissions_doc),
	};
	const char *what;
	bool no_memory = false;

	if (mor_doc_parse(mor_buf_view(&visit->offers), 0, 0, &offers, NULL) < 0)
		return mor_fail_memory(err);
	facts.offers = mor_doc_root(offers);
	what = strcmp(visit->name, visit->order->pinned->name) != 0 ?
		       "name" :
		       mor_lockfile_differs(visit->order->pinned, &facts, &no_memory);
	if (no_memory)
		return mor_fail_memory(err);
	return what ? refuse_pinned(visit, what, err) : 0;
}

int mor_installer_compare(const struct mor_installer_visit *visit, mortise_error *err)
{
	int r = compare_index(visit, err);

	return r < 0 || !visit->order->pinned ? r : compare_lock(visit, err);
}

/* An attacker who can change a file can leave its signature out: then an attacker's plugin looks like one that
 * never had any. So the loss of a signature is a step back, as with a registry's. */
void mor_installer_compare_signer(struct mor_installer_visit *visit)
{
	const char *before = visit->order->approve ? NULL : visit->before.key;

	visit->resigned = before && strcmp(before, visit->origin.key) != 0;
	if (visit->resigned)
		visit->wider |= MOR_PERMISSION_DOWNGRADE;
}

/* Who has just installed a version expects to use it. */
void mor_installer_tell_lock(const struct mor_installer_visit *visit)
{
	MOR_CLEAN(mor_lockfile) struct mor_lockfile lock = { 0 };
	const struct mor_lockfile_entry *pinned = visit->order->pinned || mor_lockfile_find(&lock, NULL) != 1 ?
							  NULL :
							  mor_lockfile_get(&lock, visit->name);

	if (pinned && (strcmp(pinned->version, visit->version) != 0 ||
		       strcmp(pinned->digest, visit->content.digest) != 0))
		mor_note(visit->console,
			 "%s still pins %s %s, which is used here; to pin this one, type: mortise lock %s",
			 lock.path, pinned->name, pinned->version, pinned->name);
}
