/* SPDX-License-Identifier: Apache-2.0 */
/* Undoes what a confined program wrote if it fails. Used by mortise run and mortise jail. */
#ifndef MOR_WORKSPACE_UNDO_H
#define MOR_WORKSPACE_UNDO_H

#include <mortise/undo.h>

#include "base/buf.h"
#include "console/console.h"
#include "wire/json.h"

/* All zero: nothing is undone. The caller sets console and without. */
struct mor_workspace_undoing {
	struct mor_console *console;
	const char *without; /* how to run without undoing: "use --keep" */
	mortise_undo *undo;
	struct mor_buf notes;       /* lines that are printed after the error */
	mortise_undo_result result; /* of mor_workspace_undoing_end() */
	bool done, holds;           /* undone; notes are kept for later */
};

/* The store is $XDG_STATE_HOME/mortise/undo. The results of earlier runs that were killed are reported at
 * once. */
int mor_workspace_undoing_begin(struct mor_workspace_undoing *undoing, const char *workspace, const char *name,
				mortise_error *err);
/* Call it when no process of the run is left. */
void mor_workspace_undoing_end(struct mor_workspace_undoing *undoing, bool failed);
/* Adds a line for mor_workspace_undoing_tell(). */
void mor_workspace_undoing_add(struct mor_workspace_undoing *undoing, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints on stderr "undone: 3 files changed, 1 created", and what could not be undone. Call it after the
 * error. */
void mor_workspace_undoing_tell(struct mor_workspace_undoing *undoing);
/* Writes the member "undone" with its numbers. Writes nothing if nothing was to be undone. The argument is a
 * struct mor_workspace_undoing. */
void mor_workspace_undoing_member(const void *arg, struct mor_writer *w);
void mor_workspace_undoing_fini(struct mor_workspace_undoing *undoing);

#endif
