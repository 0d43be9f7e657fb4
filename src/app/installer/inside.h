/* SPDX-License-Identifier: Apache-2.0 */
/* For the files of src/app/installer alone. */
#ifndef MOR_INSTALLER_INSIDE_H
#define MOR_INSTALLER_INSIDE_H

#include "bundle/signature.h"
#include "installer/installer.h"
#include "store/keep.h"
#include "store/permissions.h"
#include "wire/json.h"

/* One plugin on its way. */
struct mor_installer_visit {
	const struct mor_installer_order *order;
	struct mor_console *console;
	struct mor_staging staging;
	struct mor_content content;
	struct mor_bundle_origin origin; /* who has signed the archive */
	struct mor_doc *described;       /* what describe says about the copy */
	struct mor_buf offers, permissions;
	struct mor_doc *permissions_doc;
	char *name, *version;
	struct mor_installed before; /* the current version; without doc: none is installed */
	struct mor_content record;   /* its files */
	struct mor_content_changes changes;
	bool older;     /* than the current version */
	bool resigned;  /* the current version had a signature, and this one has not the same key's */
	bool damaged;   /* something is installed under its name, but nobody can use it */
	unsigned asked; /* what the plugin wants */
	unsigned wider; /* of that, what the version before could not do; a downgrade, a replacement, too */
	bool confine;   /* the user wants it so, now or when it was installed */
};

/* look.c: fills everything from `described` on. */
int mor_installer_look(struct mor_installer_visit *visit, const struct mor_store *store, mortise_error *err);
/* name.c: what an archive calls the plugin, if its manifest does not: its top directory (`top`, or ""), without
 * the version. Its own name was taken before. */
int mor_installer_name(struct mor_installer_visit *visit, const char *top, mortise_error *err);
/* What people know instead of the paths of our copy: the words of the order, or the plugin's name. */
const char *mor_installer_source(const struct mor_installer_visit *visit);
void mor_installer_hide_copy(const struct mor_installer_visit *visit, mortise_error *err);
/* show.c: all facts, on stderr. */
void mor_installer_show(const struct mor_installer_visit *visit);
/* pins.c: is it what the index lists and the lock pins? MORTISE_EINPUT: no, and what differs. */
int mor_installer_compare(const struct mor_installer_visit *visit, mortise_error *err);
/* Whose signature had the version before? */
void mor_installer_compare_signer(struct mor_installer_visit *visit);
/* A line about a lock that pins another version. */
void mor_installer_tell_lock(const struct mor_installer_visit *visit);
/* run.c: one line, or JSON. Returns 0. */
int mor_installer_tell_nothing(struct mor_console *console, const char *name, const char *version,
			       const char *why, const char *where);
/* ask.c: 0: agreed. */
int mor_installer_ask(struct mor_installer_visit *visit, mortise_error *err);

#endif
