/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo.h: undoing the changes of a confined program.
 */
#ifndef MORTISE_UNDO_H
#define MORTISE_UNDO_H

#include <mortise/mortise.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One run of one program, or of a plugin and its restarts. Give mortise_undo_store() as the setting or
 * policy "undo" (sandbox.undo=...) and let it run. When none of its processes is left, undo its changes, or
 * free to keep them. Its guardian saves each file before the first change and keeps it in the store. A
 * change that cannot be saved is refused to the program (EDQUOT: more than 1 GiB of files, or 100,000
 * changes). If this process is killed, the guardian undoes. */
typedef struct mortise_undo mortise_undo;

/* One line for people: what was undone ("undone: 3 files changed, 1 created"), what stays and why, or the
 * result of earlier runs in this workspace that were killed. */
typedef void mortise_undo_note_fn(const char *text, void *arg) MORTISE_NOEXCEPT;

typedef struct mortise_undo_options {
	size_t size;
	const char *directory; /* absolute: where stores are kept, for this user only; it is made if needed */
	const char *workspace; /* absolute: only changes below it are undone */
	const char *name;      /* name of the run; NULL: "a plugin" */
	/* or NULL; called only inside mortise_undo_new() and mortise_undo_run() */
	mortise_undo_note_fn *on_note;
	void *arg;
} mortise_undo_options;

typedef struct mortise_undo_result {
	size_t size;      /* set by the caller: sizeof(mortise_undo_result) */
	uint32_t changed; /* names that were changed, made and removed, and are now as before */
	uint32_t created, removed;
	/* names that stay as they are, usually because somebody else has changed them since */
	uint32_t left;
	uint32_t refused; /* 1: a change of the program was refused because it could not be saved */
	uint32_t reserved;
} mortise_undo_result;

/* Also handles stores of this workspace that were left behind; on_note reports the result. MORTISE_ESYSTEM:
 * the store cannot be made. Any thread. */
MORTISE_API int mortise_undo_new(const mortise_undo_options *opt, mortise_undo **ret, mortise_error *err);
MORTISE_API const char *mortise_undo_store(const mortise_undo *undo); /* borrowed */
/* Call it once, when no process of the program runs any more. MORTISE_ESYSTEM: nothing was undone.
 * MORTISE_ETHREAD: in a forked child. */
MORTISE_API int mortise_undo_run(mortise_undo *undo, mortise_undo_result *ret, mortise_error *err);
/* Removes the store, unless undoing has failed: then the next run in that workspace tries again. Changes
 * that were not undone stay. In a forked child it frees only memory. NULL is fine. Returns NULL. */
MORTISE_API mortise_undo *mortise_undo_free(mortise_undo *undo);

#ifdef __cplusplus
}
#endif
#endif
