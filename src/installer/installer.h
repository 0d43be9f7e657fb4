/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `mortise install`, `upgrade` and `approve`: a plugin is copied, looked at, shown to a person, and put into
 * the store if the person agrees. Nothing of it is run. docs/design/0008-store.md says what needs whose yes.
 */
#ifndef MOR_INSTALLER_INSTALLER_H
#define MOR_INSTALLER_INSTALLER_H

#include <stdbool.h>

#include <mortise/mortise.h>

#include "console/console.h"

struct mor_installer_order {
	const char *from; /* a directory or an archive */
	/* It must have this name, and be installed already (upgrade, approve); NULL: any */
	const char *name;
	bool approve;        /* `from` is the installed directory itself, which somebody has changed */
	const char *version; /* `approve`: of this version */
	bool yes, confine;
	unsigned allow;          /* enum mor_permission */
	const char *command;     /* "install": for the line to type */
	const char *const *line; /* the other words as typed, NULL-terminated */
};

/* 0; MORTISE_EINPUT: nobody agreed, with the line to type; MORTISE_ECANCELED; as src/store/keep.h. Prints
 * what was done. */
int mor_installer_run(struct mor_console *console, const struct mor_installer_order *order, mortise_error *err);

/* "network,read" as enum mor_permission. MORTISE_EINVAL names the word that is none. */
int mor_installer_allow(const char *const *words, unsigned *ret, mortise_error *err);

#endif
