/* SPDX-License-Identifier: Apache-2.0 */
/* What a confined program writes, to be undone if it fails: for mortise run and mortise jail. */
#ifndef MOR_WORKSPACE_UNDO_H
#define MOR_WORKSPACE_UNDO_H

#include <mortise/mortise.h>

#include "base/buf.h"
#include "console/console.h"
#include "wire/json.h"

/* All zero: nothing is to be undone. console and without are set by whoever begins. */
struct mor_workspace_undoing {
	struct mor_console *console;
	const char *without;        /* how to do without: "use --keep" */
	mortise_undo *undo;
	struct mor_buf notes;       /* lines that wait for the error that they follow */
	mortise_undo_result result; /* of mor_workspace_undoing_end() */
	bool done, holds;           /* undone; notes are kept for later */
};

/* $XDG_STATE_HOME/mortise/undo. What came of earlier runs that were killed is told at once. */
int mor_workspace_undoing_begin(struct mor_workspace_undoing *undoing, const char *workspace, const char *name, mortise_error *err);
/* Nothing of it runs any more. */
void mor_workspace_undoing_end(struct mor_workspace_undoing *undoing, bool failed);
/* A line more for mor_workspace_undoing_tell(). */
void mor_workspace_undoing_add(struct mor_workspace_undoing *undoing, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "undone: 3 files changed, 1 created", and what was not, on stderr; after the error. */
void mor_workspace_undoing_tell(struct mor_workspace_undoing *undoing);
/* Of a struct mor_workspace_undoing: the member "undone" with its numbers; nothing where nothing was to be undone. */
void mor_workspace_undoing_member(const void *arg, struct mor_writer *w);
void mor_workspace_undoing_fini(struct mor_workspace_undoing *undoing);

#endif
