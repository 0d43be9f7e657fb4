/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room. */
#ifndef MOR_STARTER_INSIDE_H
#define MOR_STARTER_INSIDE_H

#include "base/slice.h"
#include "starter/starter.h"

/* @NAME@ in a text stands for a value. */
struct mor_starter_value {
	const char *name;
	struct mor_slice text;
};
/* Appends `text` with the values (the list ends without a name) in place. What is no known name stays as it
 * is: "@plugin.command" is Python. Returns 0 or the buffer's status. */
int mor_starter_fill(struct mor_slice text, const struct mor_starter_value *values, struct mor_buf *out);

/* Copies all files below `from` to `into`, which is below the descriptor `root`. */
struct mor_starter_copy {
	const char *from;
	int root;
	const char *into;                       /* "": root itself */
	const struct mor_starter_value *values; /* NULL: the files stay as they are */
	struct mor_text_list *files;            /* gets each path, relative to root; or NULL */
};
/* Executable files stay executable. "dot-NAME" becomes ".NAME", "steps" is left out; without values, hidden and
 * generated files are left out. A missing `from` is an error. */
int mor_starter_copy(const struct mor_starter_copy *copy, mortise_error *err);

#endif
