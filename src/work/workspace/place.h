/* SPDX-License-Identifier: Apache-2.0 */
/* The workspace of a Sunscreen plugin: its place, its configuration, its IDL, and the files written in it. */
#ifndef MOR_WORKSPACE_PLACE_H
#define MOR_WORKSPACE_PLACE_H

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/textlist.h"

#define MOR_SUNSCREEN_YML "sunscreen.yml"

/* Returns `given` as an absolute path without links. NULL: the nearest directory upwards with a
 * sunscreen.yml. mor_free(). MORTISE_ENOTFOUND. */
int mor_workspace_find(const char *given, char **ret, mortise_error *err);
/* A JSON object: the files and pairs of --config, else the workspace's sunscreen.yml, else {}. */
int mor_workspace_config(const char *workspace, const struct mor_text_list *given, struct mor_buf *out,
			 mortise_error *err);
/* The IDL as JSON: `given`, else the one .json file in target/idl. 1: there is one; 0: no such file,
 * or several. */
int mor_workspace_idl(const char *workspace, const char *given, struct mor_buf *out, mortise_error *err);
/* Makes WORKSPACE/.sunscreen/plugins/NAME if it does not exist; follows no links. mor_free(). *ret_made: how
 * many of the three directories are new. */
int mor_workspace_scratch(const char *workspace, const char *name, char **ret, unsigned *ret_made,
			  mortise_error *err);
/* Removes the innermost `made` directories again, if they are empty. */
void mor_workspace_drop_scratch(const char *scratch, unsigned made);

/* Checks one entry of files_written and makes it relative to the workspace, without "." and "..". It must be
 * a regular file really inside. MORTISE_EPROTO with what is wrong. */
int mor_workspace_file(const char *workspace, struct mor_slice claimed, struct mor_buf *out,
		       mortise_error *err);

#endif
