/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every manifest and configuration format -> one struct: who the plugin is, what to run, how. Nothing is
 * executed here. Errors name file, line, column, key and remedy.
 *
 * Where settings come from, later wins: the foreign manifest (yams-plugin.json, plugin.toml,
 * sunscreen-plugin.json, manifest.json: the first that is there), mortise.toml beside it (or in place of one),
 * ~/.config/mortise/plugins/NAME.toml, --set section.key=value (and the options of the command line that are
 * spelled as such). Sections: plugin env timeouts restart cancel stop health grpc limits sandbox quirks config.
 * keys.c has the table of them.
 */
#ifndef MOR_MANIFEST_MANIFEST_H
#define MOR_MANIFEST_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/list.h"
#include "wire/json.h"

#define MOR_MANIFEST_LIMIT (1024 * 1024) /* bytes of any one file */

struct mor_manifest_query {
	const char *path;           /* directory or file, or NULL                                            */
	const char *const *argv;    /* the command line where there is no path; with one: more arguments     */
	const char *name, *dialect; /* or NULL */
	/* the name under which it is installed, in place of its directory's; or NULL */
	const char *installed;
	const char *const *set; /* "section.key=value", NULL-terminated, or NULL */
	const char *const *env; /* "NAME=VALUE" or "NAME", NULL-terminated, or NULL                      */
	mortise_json config;    /* over [config] */
	/* true: config, env and --set config.* come later, with mor_manifest_more() */
	bool more;
	bool embedded;           /* texts name settings, not options of the command                       */
	const char *config_home; /* NULL: $XDG_CONFIG_HOME or ~/.config. Tests set it.                    */
};

struct mor_setting {
	struct mor_list node;
	const char *section, *key;
	const char *json;   /* the value as JSON text */
	const char *text;   /* a string's content, or NULL */
	const char *origin; /* "mortise.toml:7", "--set", "setting" */
};

/* A file below the plugin's directory that had a say in what is run and how: whether it was there, and what was
 * read. Code that compares the files later must find the same ones (src/lib/guard/vetting.c). */
struct mor_manifest_seen {
	char *path; /* below `dir` */
	bool there;
	char sha256[MOR_DIGEST_SIZE]; /* of what was read; "": it was only looked for */
};

struct mor_manifest {
	char *name; /* never NULL                                                                    */
	/* set by a manifest, a setting or the caller; false: taken from its file, directory or command */
	bool named;
	bool embedded; /* as in the query */
	char *version; /* or NULL */
	char *description;
	char *dialect; /* never NULL: "plain" by default */
	char *framing; /* or NULL: the dialect's */
	char **argv;   /* what to run: argv[0] may still need an interpreter (proc finds it) */
	char **env;    /* additions, NAME=VALUE                                                         */
	char *cwd;     /* or NULL: ours                                                                 */
	char *dir;     /* absolute directory of the plugin; NULL: only a command line was given */
	char *file;    /* the foreign manifest's path, or NULL                                          */
	/* of that file's bytes, if it is one that permissions can be granted to; or NULL */
	char *sha256;
	struct mor_doc *doc; /* the foreign manifest, or NULL                                             */
	/* what the manifest says it offers, the same shape for every format: an array of
	 * {"name","kind","description","parameters"}; name is what one types ("search", "scaffold:indexer",
	 * "hook:after_build"), kind is function, scaffold, app or hook, parameters (functions only) is
	 * {"properties":{},"required":[]}, passthrough (true, or absent) says that it takes what a user
	 * types. Or NULL */
	struct mor_doc *actions;
	bool more_actions; /* the plugin finds more functions while it runs (G-Assist: mcp) */
	char **env_front;  /* NAME=DIR: put before the inherited value of NAME; `env` wins over it */
	char **make_dirs;  /* absolute; must exist before the start; mor_manifest_prepare() makes them */
	bool confine;      /* the user who installed it wants it confined; its own files cannot change that */
	/* JSON object: [config], then mortise_plugin_options.config over it, then --set; or NULL */
	char *config;
	struct mor_list settings; /* of mor_setting, in order: search from the end */
	struct mor_list warnings; /* of mor_warning                                                       */
	struct mor_manifest_seen *seen; /* of an installed plugin */
	size_t seen_count, seen_cap;
};

struct mor_warning {
	struct mor_list node;
	char *text;
};

/* 0; MORTISE_ENOTFOUND (no such path); MORTISE_EMANIFEST (also a directory without a manifest: the text
 * lists the names that were searched); MORTISE_EVIOLATION (a path that must be inside the plugin's directory
 * is not); MORTISE_EINVAL (neither path nor argv; a bad --set, --env or config). */
int mor_manifest_load(const struct mor_manifest_query *query, struct mor_manifest **ret, mortise_error *err);
/* For one that was loaded with `more`: what a caller can say only when it knows what the files say. Config and
 * env of the query are added. Its `set` takes the place of the earlier one, of which it must repeat plugin.*
 * and env.*. No file is read. MORTISE_EINVAL. */
int mor_manifest_more(struct mor_manifest *manifest, const struct mor_manifest_query *query,
		      mortise_error *err);
/* One more "section.key=value", which wins over all others. Not for plugin, env and config. MORTISE_EINVAL. */
int mor_manifest_set(struct mor_manifest *manifest, const char *setting, mortise_error *err);
struct mor_manifest *mor_manifest_free(struct mor_manifest *manifest);
/* Call it before a start: makes the directories in make_dirs, for this user only. 0 or MORTISE_ESYSTEM. */
int mor_manifest_prepare(const struct mor_manifest *manifest, mortise_error *err);

/* For what reads a plugin's pipes itself: MORTISE_ETRANSPORT if the plugin speaks gRPC. `who`:
 * "mortise check". */
int mor_manifest_need_stdio(const struct mor_manifest *manifest, const char *who, mortise_error *err);

/* Adds to the warnings. 0 or MORTISE_ENOMEM. */
int mor_manifest_warn(struct mor_manifest *manifest, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The index of the script in `python3 -u x.py`; 0: argv[0] is not an interpreter, or there is no script. */
size_t mor_manifest_script(const char *const *argv);

/* The winning value, or NULL. */
const struct mor_setting *mor_manifest_setting(const struct mor_manifest *manifest, const char *section,
					       const char *key);
/* "dir/mortise.toml:7": it came with the plugin, like its manifest. */
bool mor_setting_came_along(const struct mor_setting *setting);
/* Given by the caller (the query's `set`), so an error in it is the caller's, not a file's. */
bool mor_setting_was_given(const struct mor_setting *setting);
/* With a type: 1 found, 0 absent, MORTISE_EMANIFEST with the origin and what was expected. Durations: "30s",
 * "500ms" or a number of seconds. */
int mor_manifest_duration(const struct mor_manifest *m, const char *section, const char *key, uint32_t *ret_ms,
			  mortise_error *err);
int mor_manifest_bytes(const struct mor_manifest *m, const char *section, const char *key, size_t *ret,
		       mortise_error *err);
int mor_manifest_uint(const struct mor_manifest *m, const char *section, const char *key, uint32_t *ret,
		      mortise_error *err);
int mor_manifest_bool(const struct mor_manifest *m, const char *section, const char *key, bool *ret,
		      mortise_error *err);
/* A string's content; NULL: absent or not a string. The memory belongs to the manifest. */
const char *mor_manifest_text(const struct mor_manifest *m, const char *section, const char *key);

/* The whole file, of at most MOR_MANIFEST_LIMIT bytes, or MORTISE_EMANIFEST. 1: read, 0: there is no such
 * file. */
int mor_manifest_read_file(const char *path, const char *shown, char **ret, size_t *ret_len,
			   mortise_error *err);
/* TOML text -> JSON text. Errors: MORTISE_EMANIFEST "FILE:LINE:COLUMN: what". `ret_lines`, if not NULL, gets
 * a JSON object from "section.key" to [line, column]. The C++ behind it catches all exceptions. */
int mor_toml_to_json(const char *file, const char *text, size_t len, struct mor_buf *ret_json,
		     struct mor_buf *ret_lines, mortise_error *err);

#endif
