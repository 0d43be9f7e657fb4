/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.h: the question whether an installed plugin may run. Part of mortise.h, which includes it.
 *
 * `mortise install` puts a plugin into the user's own store, and keeps what a person has approved: every file,
 * and the permissions. Before anything of such a plugin runs, at every start, the library compares. If all is
 * as it was approved, nobody is asked. Otherwise on_trust (mortise_host_options) decides. Without on_trust the
 * answer is no: the start fails with MORTISE_EVIOLATION, and a text that names what is different and the
 * command that approves it. The library itself never asks a person.
 *
 * A plugin is known as installed by its directory. One that was named by a path outside of the store is its
 * user's own choice, and is not compared with anything.
 */
#ifndef MORTISE_TRUST_H
#define MORTISE_TRUST_H

#include <stdint.h>

/* Of the types of callbacks: no exception may leave one. Only C++17 can say it in a type. */
#if defined(__cplusplus) && __cplusplus >= 201703L
#define MORTISE_NOEXCEPT noexcept
#else
#define MORTISE_NOEXCEPT
#endif

enum mortise_trust_why {
	MORTISE_TRUST_UNAPPROVED, /* nobody has approved this version, or not with these permissions */
	MORTISE_TRUST_CHANGED     /* its files are not those that were approved */
};

/* Owned by the library, valid until the callback returns. It may grow at its end. */
typedef struct mortise_trust {
	enum mortise_trust_why why;
	const char *name, *version;
	const char *directory;            /* where its files are; absolute */
	const char *file;                 /* with CHANGED: the first one, below the directory; else NULL */
	uint64_t changed, added, missing; /* how many files are others, new, gone */
	const char *permissions;          /* what it may do: a JSON object, as in `mortise list --json` */
	const char *text;                 /* one line for people that says all this */
	const char *command;              /* what a person types to approve it: "mortise approve NAME" */
} mortise_trust;

/* 1: it may run. 0: it may not. The answer holds for these files and permissions as long as the mortise_plugin
 * lives, also for its restarts; nothing is written down. May be called inside mortise_plugin_start(),
 * mortise_call_start() and dispatch. `arg` is that of mortise_host_options. */
typedef int mortise_trust_fn(const mortise_trust *trust, void *arg) MORTISE_NOEXCEPT;

#endif
