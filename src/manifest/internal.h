/* Between the files of this room. */
#ifndef MOR_MANIFEST_INTERNAL_H
#define MOR_MANIFEST_INTERNAL_H

#include "manifest/manifest.h"

#define MOR_YAMS_MANIFEST "yams-plugin.json"
#define MOR_OWN_MANIFEST "mortise.toml"
#define MOR_FROM_SET "--set" /* origin of what the command line set: its faults are usage errors */

/* One load under way. */
struct mor_load {
	const struct mor_manifest_query *query;
	struct mor_manifest *m;
	mortise_error *err;
	char *dir;   /* absolute directory of the plugin; NULL: only a command line was given   */
	char *shown; /* the same as the user spelled it, for texts                              */
	char *file;  /* absolute path of the file that was named, or NULL                       */
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
	MOR_KEY_ANY
};
/* 0 with the key's type; or `code` with err saying what is unknown at `origin` and what may be meant. */
int mor_key_find(const char *origin, int code, const char *section, const char *key, enum mor_key_type *ret,
		 mortise_error *err);
/* The same for a section by itself. */
int mor_key_section(const char *origin, int code, const char *section, mortise_error *err);
bool mor_key_is_nested(const char *section); /* tables inside are dotted keys: extractor.extract */

/* ---- settings.c ---- */
int mor_setting_add(struct mor_load *load, const char *section, const char *key, const struct mor_value *value,
		    const char *origin);
/* The same with a text; as a JSON array of texts up to NULL. */
int mor_setting_add_text(struct mor_load *load, const char *section, const char *key, const char *text,
			 const char *origin);
int mor_setting_add_list(struct mor_load *load, const char *section, const char *key, const char *const *list,
			 const char *origin);
void mor_settings_free(struct mor_list *settings);

/* ---- path.c ---- */
char *mor_path_join(const char *dir, const char *name); /* an absolute name stays as it is */
char *mor_path_absolute(const char *path);              /* against our own directory       */
char *mor_path_stem(const char *path);                  /* "dir/plugin.py" -> "plugin"     */
bool mor_path_is_file(const char *path);
bool mor_path_same(const char *a, const char *b);
/* The whole file, or MORTISE_EMANIFEST. 1: read, 0: there is none. */
int mor_path_read(const char *path, const char *shown, char **ret, size_t *ret_len, mortise_error *err);

/* ---- config.c ---- */
/* Lays `over` onto the object in *config. deep: objects in both are merged; else the later one wins. */
int mor_config_merge(char **config, const struct mor_value *over, bool deep);

/* ---- policy_map.c: what other manifests permit, as settings of [sandbox] ---- */
/* [permissions] of plugin.toml: workspace_write, network, declared_paths. `lines` maps "permissions.KEY" to its line,
 * or is NULL. `file` is what texts call it. MORTISE_EMANIFEST. */
int mor_map_permissions(struct mor_load *load, const char *file, const struct mor_value *permissions,
			const struct mor_value *lines);
/* "capabilities" of sunscreen-plugin.json: network, filesystem. Its real plugins start programs, so spawn is granted. */
int mor_map_capabilities(struct mor_load *load, const char *file, const struct mor_value *capabilities);

/* ---- own.c, set.c, yams.c ---- */
enum mor_own_use { MOR_OWN_ALWAYS, MOR_OWN_IF_NAMED /* its command is load->file, or it has none */ };
/* One of our TOML files. 1: used, 0: there is none, or it is about another program. */
int mor_own_load(struct mor_load *load, const char *path, const char *shown, enum mor_own_use use);
int mor_set_apply(struct mor_load *load, const char *text);
/* yams-plugin.json: who the plugin is. 1: there is one, 0: none. */
int mor_yams_load(struct mor_load *load);
/* What it says to run, as plugin.command. 1: found; 0: a file was named that is something else. */
int mor_yams_launch(struct mor_load *load);

#endif
