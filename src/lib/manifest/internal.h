/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this room. */
#ifndef MOR_MANIFEST_INTERNAL_H
#define MOR_MANIFEST_INTERNAL_H

#include "manifest/manifest.h"

#define MOR_OWN_MANIFEST "mortise.toml"
/* Origins of settings that were given with the query: errors in them are usage errors. */
#define MOR_ORIGIN_SET     "--set"
#define MOR_ORIGIN_SETTING "setting" /* by an embedder */

/* A foreign manifest as it was read, so that texts can name the place of a member. */
struct mor_source {
	char *shown; /* its name in texts */
	char *text;
	size_t len;
	struct mor_doc *lines; /* TOML: from "section.key" to [line, column]; NULL: the text is JSON */
};

struct mor_load;

/* One foreign format. */
struct mor_format {
	const char *file; /* its name in the plugin's directory */
	bool confines;    /* its specification requires a sandbox, which a file beside it cannot turn off */
	/* NULL: the text is JSON; else converts it to JSON. */
	int (*convert)(const char *file, const char *text, size_t len, struct mor_buf *ret_json,
		       struct mor_buf *ret_lines, mortise_error *err);
	/* false: a file of another program that happens to have this name; it is ignored. NULL: always ours. */
	bool (*is_ours)(const struct mor_value *root);
	/* load->m->doc is filled: checks it and makes settings from it. 0 or a status. */
	int (*read)(struct mor_load *load);
	/* Sets plugin.command from the manifest. 1: found; 0: the user named a file that is not its program. */
	int (*launch)(struct mor_load *load);
	/* Called last, when the command is known. 0 or a status. NULL: nothing to do. */
	int (*finish)(struct mor_load *load);
};
extern const struct mor_format mor_yams_format, mor_sunscreen_format, mor_sunscreen_json_format,
	mor_gassist_format;

/* One load that is in progress. */
struct mor_load {
	const struct mor_manifest_query *query;
	struct mor_manifest *m;
	mortise_error *err;
	const struct mor_format *format; /* of load->m->doc, or NULL */
	struct mor_source source;        /* its text */
	const char *only;                /* the foreign manifest that was named, or NULL: any that is there */
	char *dir;   /* absolute directory of the plugin; NULL: only a command line was given   */
	char *shown; /* the same as the user spelled it, for texts */
	char *file;  /* absolute path of the file that was named, or NULL                       */
	bool unseen; /* a file could not be noted: no memory */
};

/* ---- keys.c: which settings there are ---- */
enum mor_key_type {
	MOR_KEY_TEXT,
	MOR_KEY_TEXTS,   /* array of strings                   */
	MOR_KEY_COMMAND, /* one program, or array of strings   */
	MOR_KEY_DURATION,
	MOR_KEY_BYTES,
	MOR_KEY_UINT,
	MOR_KEY_BOOL,
	MOR_KEY_NETWORK, /* bool, one string or array of strings */
	MOR_KEY_ANY
};
/* 0 with the key's type; or `code` with err that says what is unknown at `origin`, and the nearest name. */
int mor_key_find(const char *origin, int code, const char *section, const char *key, enum mor_key_type *ret,
		 mortise_error *err);
/* The same for a section name. */
int mor_key_section(const char *origin, int code, const char *section, mortise_error *err);
bool mor_key_is_nested(const char *section); /* tables in it become dotted keys: extractor.extract */

/* ---- settings.c ---- */
int mor_setting_add(struct mor_load *load, const char *section, const char *key, const struct mor_value *value,
		    const char *origin);
/* The same with a text; or as a JSON array of texts up to NULL. */
int mor_setting_add_text(struct mor_load *load, const char *section, const char *key, const char *text,
			 const char *origin);
int mor_setting_add_list(struct mor_load *load, const char *section, const char *key, const char *const *list,
			 const char *origin);
void mor_settings_free(struct mor_list *settings);
/* Removes those of this origin. */
void mor_settings_drop(struct mor_list *settings, const char *origin);

/* ---- file.c ---- */
char *mor_manifest_stem(const char *path); /* "dir/plugin.py" -> "plugin" */

/* ---- seen.c: the same two questions about a file of the plugin; the answers are kept in load->m->seen ---- */
int mor_manifest_see(struct mor_load *load, const char *path, const char *shown, char **ret, size_t *ret_len);
bool mor_manifest_sees_file(struct mor_load *load, const char *path);
void mor_manifest_free_seen(struct mor_manifest *manifest);

/* ---- config.c ---- */
/* Merges `over` into the object in *config. deep: objects in both are merged; else the later one wins. */
int mor_config_merge(char **config, const struct mor_value *over, bool deep);

/* ---- policy_map.c: what other manifests permit, as settings of [sandbox] ---- */
/* [permissions] of plugin.toml: workspace_write, network, declared_paths. MORTISE_EMANIFEST. */
int mor_manifest_map_permissions(struct mor_load *load, const struct mor_value *permissions);
/* "capabilities" of sunscreen-plugin.json: network, filesystem. Its real plugins start programs, so spawn is
 * allowed. */
int mor_manifest_map_capabilities(struct mor_load *load, const struct mor_value *capabilities);

/* ---- own.c, set.c ---- */
enum mor_own_use { MOR_OWN_ALWAYS, MOR_OWN_IF_NAMED /* its command is load->file, or it has none */ };
/* One of our TOML files. 1: used, 0: there is no such file, or it belongs to another program. */
int mor_own_load(struct mor_load *load, const char *path, const char *shown, enum mor_own_use use);
int mor_set_apply(struct mor_load *load, const char *text);

/* ---- source.c: foreign manifests ---- */
/* The manifest in load->dir, of any format. 1: read; 0: none. */
int mor_source_load(struct mor_load *load);
bool mor_source_is_manifest(const char *name);   /* the name of a foreign format's file */
int mor_source_no_memory(struct mor_load *load); /* "FILE: out of memory" */
void mor_source_fini(struct mor_source *source);

/* ---- where.c: places in it, and errors with the place. Pointers are JSON pointers, in TOML too. ---- */
#define MOR_WHERE 400
/* "FILE:LINE:COLUMN" of the member, or of the nearest existing parent. */
const char *mor_where(const struct mor_source *source, const char *pointer, char out[MOR_WHERE]);
/* "FILE:LINE": the origin of a setting. */
const char *mor_where_line(const struct mor_source *source, const char *pointer, char out[MOR_WHERE]);
/* "FILE:LINE:COLUMN: KEY WHAT" into load->err; returns `code`. */
int mor_where_status(struct mor_load *load, int code, const char *pointer, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
#define mor_where_fail(load, ...) mor_where_status(load, MORTISE_EMANIFEST, __VA_ARGS__)
/* The same as a warning. 0 or a status. */
int mor_where_warn(struct mor_load *load, const char *pointer, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

struct mor_expected {
	const char *at, *wanted; /* a JSON pointer, and its name in texts. at NULL ends the list */
	unsigned types;          /* 1 << enum mor_json_type                                          */
	bool required;
	bool texts; /* elements or members must be strings                              */
};
#define MOR_IS(type) (1u << MOR_JSON_##type)
/* The root is an object whose members are as expected. */
int mor_expect(struct mor_load *load, const struct mor_expected *expected);
/* Members of the object at `pointer` that are not in "a|b|c": refused, or reported as warnings. */
int mor_expect_keys(struct mor_load *load, const char *pointer, const char *known, bool refuse);
/* Adds a setting with its line in the source. Missing or empty values add none. */
int mor_source_setting(struct mor_load *load, const char *section, const char *key, const char *pointer);
/* The same for plugin.name, version and description, which are called so in the object at `parent`. */
int mor_source_identity(struct mor_load *load, const char *parent);
bool mor_manifest_holds_texts(const struct mor_value *list); /* nothing else is in the list or object */
/* Collects the actions of the manifest: begin, add, end. Errors are kept in the writer's buffer. */
struct mor_action {
	const char *kind, *name; /* a command is typed as KIND:NAME, a function as NAME */
	const char *description; /* or NULL */
};
void mor_action_add(struct mor_writer *w, const struct mor_action *action);
/* Moves the finished array to load->m->actions. */
int mor_actions_keep(struct mor_load *load, const struct mor_buf *json);
/* Is it [A-Za-z0-9][A-Za-z0-9._+-]*? Names and versions become parts of paths. */
bool mor_manifest_is_plain_name(struct mor_slice name);
/* Checks that the string at `pointer` is such a name, or MORTISE_EMANIFEST. */
int mor_expect_plain_name(struct mor_load *load, const char *pointer);
/* Of both manifests of Sunscreen: "stdio-jsonrpc", which is meant if none is named, or "grpc". Sets
 * plugin.transport and plugin.dialect, which is `sunscreen` over gRPC. */
int mor_expect_transport(struct mor_load *load, const char *pointer, const char *dialect);

#endif
