/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of a call and configuration, from the command line to one JSON object.
 *
 *	key=value     a JSON scalar if it parses, else a string        key=@FILE         a file's text
 *	key:=JSON     any JSON                                         key=@base64:FILE  a file's bytes
 *	a.b=1         a member of the object a ("\." is a plain dot)   key:=@FILE        JSON from a file
 *
 * FILE "-" is stdin.
 */
#ifndef MOR_CONSOLE_ARGS_H
#define MOR_CONSOLE_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"
#include "wire/json.h"

/* A JSON object that grows member by member; a later value of the same key wins, objects are merged. */
struct mor_tree {
	char *name;      /* NULL at the root */
	size_t name_len; /* it may hold a NUL */
	char *json;      /* a leaf's value; NULL: an object */
	struct mor_tree **kids;
	size_t count;
};

void mor_tree_fini(struct mor_tree *tree);
bool mor_tree_empty(const struct mor_tree *tree);
/* Merges every member of `object` into the tree. 0 or MORTISE_ENOMEM. */
int mor_tree_merge(struct mor_tree *tree, const struct mor_value *object);
/* `path` is a dotted key, `json` one JSON text. */
int mor_tree_set(struct mor_tree *tree, struct mor_slice path, struct mor_slice json);
int mor_tree_write(const struct mor_tree *tree, struct mor_buf *out);

/* Is it "key=..." or "key:=..."? A key has letters, digits, "_", "-", ".", "$", or any character after
 * a backslash. */
bool mor_args_is_pair(const char *word);
/* Adds one pair to the tree. MORTISE_EINPUT with a text that says what is wrong. `what` names the place in
 * that text: "argument" or "--config". */
int mor_args_pair(struct mor_tree *tree, const char *what, const char *word, mortise_error *err);

/* A JSON text, "@FILE" or "-". Fails with MORTISE_EINPUT, MORTISE_ENOTFOUND. */
int mor_args_json(const char *what, const char *word, struct mor_buf *ret_json, struct mor_doc **ret_doc,
		  mortise_error *err);
/* --config FILE | JSON | key=value into the tree. A FILE that ends in .toml is TOML. */
int mor_args_config(struct mor_tree *tree, const char *word, mortise_error *err);

/* A whole file, or stdin for "-", up to MOR_ARGS_LIMIT. */
#define MOR_ARGS_LIMIT ((size_t)190 << 20)
int mor_args_read(const char *path, size_t limit, struct mor_buf *out, mortise_error *err);

#endif
