/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `mortise install`, `upgrade` and `approve`: a plugin is copied, looked at, shown to a person, and put into
 * the store if the person agrees. Nothing of it is run. docs/design/0008-store.md says what needs whose yes.
 */
#ifndef MOR_INSTALLER_INSTALLER_H
#define MOR_INSTALLER_INSTALLER_H

#include <stdbool.h>

#include <mortise/mortise.h>

#include "base/textlist.h"
#include "console/console.h"
#include "lockfile/lockfile.h"
#include "registry/registry.h"

struct mor_installer_order {
	const char *from; /* a directory or an archive */
	/* It must have this name, and be installed already (upgrade, approve); NULL: any */
	const char *name;
	bool approve;        /* `from` is the installed directory itself, which somebody has changed */
	const char *version; /* `approve`: of this version */
	bool yes, confine;
	bool aside; /* the version that its name means stays another one, if one is installed */
	/* From a registry: `from` is the path of its file. It must be what the index says. Or NULL, both. */
	const struct mor_registry *registry;
	const struct mor_registry_entry *listed;
	/* It must be what the lock pins. Or NULL, both. */
	const struct mor_lockfile *lock;
	const struct mor_lockfile_entry *pinned;
	const char *recorded;    /* what the store notes as its origin; NULL: `from`, or the registry */
	const char *key;         /* with `recorded`: whose signature was found then; or NULL */
	unsigned allow;          /* enum mor_permission */
	const char *command;     /* "install": for the line to type */
	const char *const *line; /* the other words as typed, NULL-terminated */
};

/* 0; MORTISE_EINPUT: nobody agreed, with the line to type; MORTISE_ECANCELED; as src/lib/store/keep.h. Prints
 * what was done. */
int mor_installer_run(struct mor_console *console, const struct mor_installer_order *order, mortise_error *err);

/* NAME[@RANGE] from the registry in `dir`. `order` has what the user agrees to. */
int mor_installer_run_from(struct mor_console *console, struct mor_installer_order *order, const char *word,
			   const char *dir, mortise_error *err);
/* NAME[@RANGE], which is installed, from `dir`, or (NULL) from the registry that it came from. Says so, if
 * there is nothing newer. */
int mor_installer_run_newer(struct mor_console *console, struct mor_installer_order *order, const char *word,
			    const char *dir, mortise_error *err);
/* Everything that the project's lock pins, or only these names, from the place that the lock has, or from
 * `dir`. One that fails is reported, and the others go on. Returns the exit code. */
int mor_installer_run_locked(struct mor_console *console, struct mor_installer_order *order,
			     const struct mor_text_list *names, const char *dir);

/* "network,read" as enum mor_permission. MORTISE_EINVAL names the word that is not a permission. */
int mor_installer_allow(const char *const *words, unsigned *ret, mortise_error *err);

#endif
