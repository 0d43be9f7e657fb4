/* SPDX-License-Identifier: Apache-2.0 */
/* The bot's TOML: see botfile.h. */
#include "botfile/botfile.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/near.h"
#include "base/path.h"
#include "base/text.h"
#include "botfile/inside.h"
#include "manifest/manifest.h"

#define SECTION          "external-plugin-bridge"
#define PLUGINS          SECTION ".plugins"
#define DEFAULT_PRIORITY 100
#define DEFAULT_RESTARTS 3
#define MOST_RESTARTS    64 /* how many deaths a host remembers */

/* ---- texts and lists ---- */

void mor_botfile_plugin_fini(struct mor_botfile_plugin *plugin)
{
	mor_free(plugin->name);
	mor_free(plugin->cwd);
	mor_free(plugin->plugin);
	mor_texts_free(plugin->argv);
	mor_texts_free(plugin->env);
	mor_texts_free(plugin->set);
	*plugin = (struct mor_botfile_plugin){ 0 };
}

static bool same_list(char **a, char **b)
{
	size_t i = 0;

	while (a && b && a[i] && b[i] && strcmp(a[i], b[i]) == 0)
		i++;
	return (!a || !a[i]) && (!b || !b[i]);
}

bool mor_botfile_plugin_same(const struct mor_botfile_plugin *a, const struct mor_botfile_plugin *b)
{
	return mor_botfile_same_text(a->plugin, b->plugin) && same_list(a->argv, b->argv) &&
	       same_list(a->env, b->env) && same_list(a->set, b->set) && a->auto_restart == b->auto_restart;
}

struct mor_botfile *mor_botfile_free(struct mor_botfile *bot)
{
	for (size_t i = 0; bot && i < bot->count; i++)
		mor_botfile_plugin_fini(&bot->plugins[i]);
	if (bot) {
		mor_botfile_network_fini(&bot->network);
		mor_free(bot->plugins);
		mor_texts_free(bot->warnings);
	}
	mor_free(bot);
	return NULL;
}

int mor_botfile_no_memory(const struct mor_botfile_reading *r)
{
	return mor_fail_memory_of(r->err, r->shown);
}

/* Takes `text`; NULL is a failed allocation. */
static int push_text_take(const struct mor_botfile_reading *r, char ***list, char *text)
{
	return mor_texts_push_take(list, text) < 0 ? mor_botfile_no_memory(r) : 0;
}

static int push_format(const struct mor_botfile_reading *r, char ***list, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int push_format(const struct mor_botfile_reading *r, char ***list, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	va_list args;

	va_start(args, format);
	mor_buf_vprintf(&text, format, args);
	va_end(args);
	return push_text_take(r, list, mor_buf_detach(&text));
}

/* ---- where something stands ---- */

struct mor_botfile_place mor_botfile_place(const struct mor_botfile_reading *r, const char *path,
					   const char *under, const char *key)
{
	MOR_CLEAN(mor_buf) struct mor_buf name = MOR_BUF_INIT;
	const struct mor_value *at = NULL;
	struct mor_botfile_place place = { 0 };
	size_t known;

	mor_buf_printf(&name, "%s%s%s", path, under ? "." : "", under ? under : "");
	known = name.len;
	mor_buf_printf(&name, "%s%s", key ? "." : "", key ? key : "");
	if (!mor_buf_failed(&name)) {
		at = mor_json_get_slice(mor_doc_root(r->lines), mor_buf_view(&name));
		if (!at)
			at = mor_json_get_slice(mor_doc_root(r->lines), (struct mor_slice){ name.data, known });
	}
	place.line = (unsigned)mor_json_int(mor_json_at(at, "/0"), 1);
	place.column = (unsigned)mor_json_int(mor_json_at(at, "/1"), 1);
	snprintf(place.shown, sizeof(place.shown), "%.100s:%u:%u: %.*s", r->shown, place.line, place.column,
		 (int)name.len, name.data ? name.data : "");
	return place;
}

/* ---- keys ---- */

static const struct mor_botfile_key bridge_keys[] = {
	{ "enabled", MOR_BOTFILE_IS(BOOL), "true or false" },
	{ "plugins", MOR_BOTFILE_IS(OBJECT), "a table of plugins: [" PLUGINS ".NAME]" },
	{ 0 },
};
static const struct mor_botfile_key plugin_keys[] = {
	{ "command", MOR_BOTFILE_IS(STRING), "a string: the program, without its arguments" },
	{ "plugin", MOR_BOTFILE_IS(STRING), "a string: the name of an installed plugin, or NAME@VERSION" },
	{ "args", MOR_BOTFILE_IS(ARRAY), "an array of strings" },
	{ "cwd", MOR_BOTFILE_IS(STRING), "a string: a directory" },
	{ "env", MOR_BOTFILE_IS(OBJECT), "a table of strings" },
	{ "auto_restart", MOR_BOTFILE_IS(BOOL), "true or false" },
	{ "max_restarts", MOR_BOTFILE_IS(NUMBER), "a whole number from 0 to 64" },
	{ "priority", MOR_BOTFILE_IS(NUMBER), "a whole number; smaller is earlier" },
	{ "timeout", MOR_BOTFILE_IS(STRING) | MOR_BOTFILE_IS(NUMBER) | MOR_BOTFILE_IS(OBJECT),
	  "a duration such as \"60s\", or { handle = \"60s\", matches = \"5s\" }" },
	{ "prefilter", MOR_BOTFILE_IS(BOOL), "true or false" },
	{ "enabled", MOR_BOTFILE_IS(BOOL), "true or false" },
	{ 0 },
};

/* The real bridge ignores unknown keys, so they are no error. But one may be a typing mistake. */
static int warn_unknown(struct mor_botfile_reading *r, const struct mor_botfile_key *keys, const char *path,
			const char *under, const char *name)
{
	struct mor_botfile_place place = mor_botfile_place(r, path, under, name);
	struct mor_nearest near = { .word = name };

	for (; keys->name; keys++)
		mor_nearest_offer(&near, keys->name);
	if (mor_nearest_best(&near))
		return push_format(r, &r->bot->warnings, "%s is not known and ignored: did you mean \"%s\"?",
				   place.shown, mor_nearest_best(&near));
	return push_format(r, &r->bot->warnings, "%s is not known and ignored", place.shown);
}

int mor_botfile_wrong(const struct mor_botfile_reading *r, const char *path, const char *under, const char *key,
		      const char *wanted)
{
	return mor_fail(r->err, MORTISE_EMANIFEST, "%s must be %s",
			mor_botfile_place(r, path, under, key).shown, wanted);
}

static int wrong_key(const struct mor_botfile_reading *r, const char *under, const char *key,
		     const char *wanted)
{
	return mor_botfile_wrong(r, PLUGINS, under, key, wanted);
}

int mor_botfile_check_keys(struct mor_botfile_reading *r, const struct mor_botfile_key *keys,
			   const struct mor_value *table, const char *path, const char *under)
{
	struct mor_json_iter it = mor_json_iter(table);
	int status = 0;

	while (status == 0 && mor_json_next(&it)) {
		const struct mor_botfile_key *key = keys;

		while (key->name && !mor_slice_is(it.name, key->name))
			key++;
		if (!key->name)
			status = warn_unknown(r, keys, path, under, it.name.ptr);
		else if (!(key->types & (1u << mor_json_type(it.value))))
			status = mor_botfile_wrong(r, path, under, key->name, key->wanted);
	}
	return status;
}

static const char *wanted_of(const char *name)
{
	const struct mor_botfile_key *key = plugin_keys;

	while (strcmp(key->name, name) != 0)
		key++;
	return key->wanted;
}

const char *mor_botfile_word(const struct mor_value *value)
{
	struct mor_slice text = mor_json_string(value);

	return text.ptr && !memchr(text.ptr, '\0', text.len) ? text.ptr : NULL;
}

/* ---- one plugin ---- */

/* Unknown keys are only warnings, and an error would hide them. So a similar key is named here. */
static int no_command(const struct mor_botfile_reading *r, const struct mor_value *table, const char *plugin)
{
	struct mor_json_iter it = mor_json_iter(table);
	struct mor_nearest near = { .word = "command" };
	const char *slip;

	while (mor_json_next(&it))
		mor_nearest_offer(&near, it.name.ptr);
	slip = mor_nearest_best(&near);
	return mor_fail(r->err, MORTISE_EMANIFEST, "%s is missing: name the program to run%s%s%s",
			mor_botfile_place(r, PLUGINS, plugin, "command").shown, slip ? " (there is \"" : "",
			slip ? slip : "", slip ? "\", which is not known)" : "");
}

/* The name of an installed plugin: who looks into the store checks it. */
static int read_installed(const struct mor_botfile_reading *r, const struct mor_value *table,
			  struct mor_botfile_plugin *plugin)
{
	const char *word = mor_botfile_word(mor_json_get(table, "plugin"));

	if (mor_json_get(table, "command"))
		return wrong_key(r, plugin->name, "plugin",
				 "without command: an installed plugin brings its own command");
	if (!word || !*word)
		return wrong_key(r, plugin->name, "plugin", wanted_of("plugin"));
	plugin->plugin = mor_strdup(word);
	return plugin->plugin ? 0 : mor_botfile_no_memory(r);
}

/* A relative command is relative to its cwd, as for execvp() after chdir(). */
static int read_program(const struct mor_botfile_reading *r, const struct mor_value *table,
			struct mor_botfile_plugin *plugin)
{
	const char *command = mor_botfile_word(mor_json_get(table, "command"));

	if (!mor_json_get(table, "command"))
		return no_command(r, table, plugin->name);
	if (!command || !*command)
		return wrong_key(r, plugin->name, "command", wanted_of("command"));
	return push_text_take(r, &plugin->argv,
			      strchr(command, '/') ? mor_path_join(plugin->cwd, command) : mor_strdup(command));
}

static int read_command(const struct mor_botfile_reading *r, const struct mor_value *table,
			struct mor_botfile_plugin *plugin)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(table, "args"));
	int status = mor_json_get(table, "plugin") ? read_installed(r, table, plugin) :
						     read_program(r, table, plugin);

	while (status == 0 && mor_json_next(&it)) {
		if (!mor_botfile_word(it.value))
			return wrong_key(r, plugin->name, "args", wanted_of("args"));
		status = push_text_take(r, &plugin->argv, mor_strdup(mor_botfile_word(it.value)));
	}
	return status;
}

static int read_env(const struct mor_botfile_reading *r, const struct mor_value *table,
		    struct mor_botfile_plugin *plugin)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(table, "env"));
	int status = 0;

	while (status == 0 && mor_json_next(&it)) {
		const char *word = mor_botfile_word(it.value);

		if (!word || !it.name.len || memchr(it.name.ptr, '=', it.name.len))
			return wrong_key(r, plugin->name, "env",
					 "a table from names to strings: { NAME = \"value\" }");
		status = push_format(r, &plugin->env, "%s=%s", it.name.ptr, word);
	}
	return status;
}

/* Settings take text and check it again. We check it here as well, because here we know the line. */
static int push_timeout(const struct mor_botfile_reading *r, struct mor_botfile_plugin *plugin,
			const char *method, const struct mor_value *value)
{
	struct mor_slice text =
		mor_json_type(value) == MOR_JSON_NUMBER ? mor_json_raw(value) : mor_json_string(value);
	uint32_t ms;

	if (!text.ptr || !mor_parse_duration_ms(text, &ms) || ms == 0)
		return wrong_key(r, plugin->name, "timeout", wanted_of("timeout"));
	return push_format(r, &plugin->set, "timeouts.%s=%ums", method, ms);
}

static int read_timeout(const struct mor_botfile_reading *r, const struct mor_value *table,
			struct mor_botfile_plugin *plugin)
{
	const struct mor_value *timeout = mor_json_get(table, "timeout");
	struct mor_json_iter it = mor_json_iter(timeout);
	int status = 0;

	if (!timeout)
		return 0;
	if (mor_json_type(timeout) != MOR_JSON_OBJECT)
		return push_timeout(r, plugin, "handle", timeout);
	while (status == 0 && mor_json_next(&it)) {
		if (!mor_text_in(it.name, "metadata|matches|handle|lifecycle"))
			return wrong_key(r, plugin->name, "timeout",
					 "a table whose keys are handle, matches, lifecycle or metadata");
		status = push_timeout(r, plugin, it.name.ptr, it.value);
	}
	return status;
}

static int read_numbers(const struct mor_botfile_reading *r, const struct mor_value *table,
			struct mor_botfile_plugin *plugin)
{
	const struct mor_value *restarts = mor_json_get(table, "max_restarts"),
			       *priority = mor_json_get(table, "priority");
	int64_t most = restarts ? mor_json_int(restarts, -1) : DEFAULT_RESTARTS;

	if (most < 0 || most > MOST_RESTARTS)
		return wrong_key(r, plugin->name, "max_restarts", wanted_of("max_restarts"));
	if (priority && !mor_json_is_int(priority))
		return wrong_key(r, plugin->name, "priority", wanted_of("priority"));
	plugin->priority = mor_json_int(priority, DEFAULT_PRIORITY);
	plugin->auto_restart = mor_json_bool(mor_json_get(table, "auto_restart"), false);
	plugin->prefilter = mor_json_bool(mor_json_get(table, "prefilter"), false);
	plugin->enabled = mor_json_bool(mor_json_get(table, "enabled"), true);
	return push_format(r, &plugin->set, "restart.intensity=%lld", (long long)most);
}

/* An installed plugin has a working directory of its own, unless the file names one. */
static int push_cwd(const struct mor_botfile_reading *r, const struct mor_value *table,
		    struct mor_botfile_plugin *plugin)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;

	if (plugin->plugin && !mor_json_get(table, "cwd"))
		return 0;
	mor_buf_text(&json, "plugin.cwd:=");
	mor_buf_json_string(&json, mor_slice_of(plugin->cwd));
	return push_text_take(r, &plugin->set, mor_buf_detach(&json));
}

static int read_plugin(struct mor_botfile_reading *r, struct mor_slice name, const struct mor_value *table)
{
	struct mor_botfile_plugin *plugin = &r->bot->plugins[r->bot->count++];
	const struct mor_value *cwd = mor_json_get(table, "cwd");
	struct mor_botfile_place place;
	int status;

	plugin->name = mor_strndup(name.ptr, name.len);
	if (!plugin->name)
		return mor_botfile_no_memory(r);
	place = mor_botfile_place(r, PLUGINS, plugin->name, NULL);
	plugin->line = place.line;
	plugin->column = place.column;
	if (!name.len || mor_json_type(table) != MOR_JSON_OBJECT)
		return mor_fail(r->err, MORTISE_EMANIFEST, "%s must be a table with a name: [" PLUGINS ".NAME]",
				place.shown);
	if ((status = mor_botfile_check_keys(r, plugin_keys, table, PLUGINS, plugin->name)) < 0)
		return status;
	if (cwd && !mor_botfile_word(cwd))
		return wrong_key(r, plugin->name, "cwd", wanted_of("cwd"));
	plugin->cwd = cwd && *mor_botfile_word(cwd) ? mor_path_join(r->dir, mor_botfile_word(cwd)) :
						      mor_strdup(r->dir);
	if (!plugin->cwd)
		return mor_botfile_no_memory(r);
	if ((status = read_command(r, table, plugin)) < 0 || (status = read_env(r, table, plugin)) < 0 ||
	    (status = push_cwd(r, table, plugin)) < 0 || (status = read_timeout(r, table, plugin)) < 0 ||
	    (status = read_numbers(r, table, plugin)) < 0)
		return status;
	return plugin->auto_restart ? 0 : push_format(r, &plugin->set, "restart.enabled=false");
}

/* ---- the section ---- */

/* Two plugins never have the same place in the file, so the order does not depend on the sort. */
static int compare(const void *a, const void *b)
{
	const struct mor_botfile_plugin *one = a, *other = b;

	if (one->priority != other->priority)
		return one->priority < other->priority ? -1 : 1;
	if (one->line != other->line)
		return one->line < other->line ? -1 : 1;
	return one->column < other->column ? -1 : 1;
}

/* The real bridge is off unless it is turned on. A user of this command wants it on, so only an explicit
 * "false" turns it off. */
static int check_enabled(struct mor_botfile_reading *r, const struct mor_value *bridge)
{
	const struct mor_value *enabled = mor_json_get(bridge, "enabled");
	struct mor_botfile_place place = mor_botfile_place(r, SECTION, NULL, "enabled");

	if (!enabled)
		return push_format(
			r, &r->bot->warnings,
			"%s is missing: here that means true, in Ayiou itself false: write enabled = true",
			place.shown);
	if (!mor_json_bool(enabled, true))
		return mor_fail(r->err, MORTISE_EMANIFEST,
				"%s is false, so no plugin will run: write enabled = true", place.shown);
	return 0;
}

static int read_bridge(struct mor_botfile_reading *r)
{
	const struct mor_value *bridge = mor_json_get(mor_doc_root(r->doc), SECTION);
	const struct mor_value *plugins = mor_json_get(bridge, "plugins");
	struct mor_json_iter it = mor_json_iter(plugins);
	int status;

	if (mor_json_type(bridge) != MOR_JSON_OBJECT)
		return mor_fail(r->err, MORTISE_EMANIFEST,
				"%s:1:1: [" SECTION "] is missing: write it with its plugins, [" PLUGINS
				".NAME] command = \"…\"",
				r->shown);
	status = mor_botfile_check_keys(r, bridge_keys, bridge, SECTION, NULL);
	if (status == 0)
		status = check_enabled(r, bridge);
	if (status < 0)
		return status;
	if (mor_json_size(plugins) == 0)
		return mor_fail(r->err, MORTISE_EMANIFEST,
				"%s names no plugin: add [" PLUGINS ".NAME] with a command",
				mor_botfile_place(r, SECTION, NULL, NULL).shown);
	r->bot->plugins = mor_zalloc(mor_json_size(plugins) * sizeof(*r->bot->plugins));
	if (!r->bot->plugins)
		return mor_botfile_no_memory(r);
	while (status == 0 && mor_json_next(&it))
		status = read_plugin(r, it.name, it.value);
	if (status == 0)
		qsort(r->bot->plugins, r->bot->count, sizeof(*r->bot->plugins), compare);
	return status;
}

/* ---- the file ---- */

static int parse_bot(struct mor_botfile_reading *r, const char *text, size_t len)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT, lines = MOR_BUF_INIT;
	bool bom = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
	mortise_error why;
	int status =
		mor_toml_to_json(r->shown, bom ? text + 3 : text, bom ? len - 3 : len, &json, &lines, r->err);

	if (status < 0)
		return status;
	status = mor_doc_parse(mor_buf_view(&json), 0, 0, &r->doc, &why);
	if (status == 0)
		status = mor_doc_parse(mor_buf_view(&lines), 0, 0, &r->lines, &why);
	if (status == MORTISE_EPROTO) /* text that TOML allows, but JSON does not */
		status = MORTISE_EMANIFEST;
	return status < 0 ? mor_fail(r->err, status, "%s: %s", r->shown, why.text) : 0;
}

static int read_file(struct mor_botfile_reading *r)
{
	MOR_CLEAN_TEXT char *absolute = mor_path_absolute(r->shown);
	MOR_CLEAN_TEXT char *text = NULL;
	size_t len;
	int status;

	if (!absolute)
		return mor_botfile_no_memory(r);
	len = (size_t)(strrchr(absolute, '/') - absolute);
	r->dir = mor_strndup(absolute, len ? len : 1);
	if (!r->dir)
		return mor_botfile_no_memory(r);
	status = mor_manifest_read_file(absolute, r->shown, &text, &len, r->err);
	if (status == 0)
		return mor_fail(r->err, MORTISE_ENOTFOUND, "%s: no such file: name the bot's TOML file",
				r->shown);
	return status < 0 ? status : parse_bot(r, text, len);
}

int mor_botfile_load(const char *path, struct mor_botfile **ret, mortise_error *err)
{
	struct mor_botfile_reading r = { .shown = path, .err = err };
	int status;

	r.bot = mor_zalloc(sizeof(*r.bot));
	if (!r.bot)
		return mor_botfile_no_memory(&r);
	status = read_file(&r);
	if (status == 0)
		status = read_bridge(&r);
	if (status == 0)
		status = mor_botfile_read_network(&r);
	mor_free(r.dir);
	mor_doc_free(r.doc);
	mor_doc_free(r.lines);
	if (status == 0)
		*ret = r.bot;
	else
		mor_botfile_free(r.bot);
	return status;
}
