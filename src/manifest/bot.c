/* The bot's TOML: see bot.h. */
#include "manifest/bot.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/near.h"
#include "base/text.h"
#include "manifest/internal.h"

#define SECTION "external-plugin-bridge"
#define PLUGINS SECTION ".plugins"
#define DEFAULT_PRIORITY 100
#define DEFAULT_RESTARTS 3
#define MOST_RESTARTS 64 /* how many deaths a host remembers */

/* One file under way. */
struct reading {
	const char *shown;
	char *dir; /* absolute */
	struct mor_doc *doc, *lines;
	struct mor_bot *bot;
	mortise_error *err;
};

/* ---- texts and lists ---- */

static void list_free(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		mor_free(list[i]);
	mor_free(list);
}

struct mor_bot *mor_bot_free(struct mor_bot *bot)
{
	for (size_t i = 0; bot && i < bot->count; i++) {
		mor_free(bot->plugins[i].name);
		list_free(bot->plugins[i].argv);
		list_free(bot->plugins[i].env);
		list_free(bot->plugins[i].set);
	}
	if (bot) {
		mor_free(bot->plugins);
		list_free(bot->warnings);
	}
	mor_free(bot);
	return NULL;
}

static int no_memory(const struct reading *r)
{
	return mor_fail(r->err, MORTISE_ENOMEM, "%s: out of memory", r->shown);
}

/* Takes `text`; NULL is a failed allocation. */
static int push(const struct reading *r, char ***list, char *text)
{
	size_t count = 0;
	char **grown;

	while (*list && (*list)[count])
		count++;
	grown = text ? mor_realloc(*list, (count + 2) * sizeof(*grown)) : NULL;
	if (!grown) {
		mor_free(text);
		return no_memory(r);
	}
	grown[count] = text;
	grown[count + 1] = NULL;
	*list = grown;
	return 0;
}

static int pushf(const struct reading *r, char ***list, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int pushf(const struct reading *r, char ***list, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	va_list args;

	va_start(args, format);
	mor_buf_vprintf(&text, format, args);
	va_end(args);
	return push(r, list, mor_buf_detach(&text));
}

/* ---- where something stands ---- */

struct place {
	unsigned line, column;
	char shown[256]; /* "FILE:LINE:COLUMN: KEY" */
};

/* `under` and `key` may be NULL. A key that is missing is looked for where it should stand. */
static struct place place_of(const struct reading *r, const char *path, const char *under, const char *key)
{
	MOR_CLEAN(mor_buf) struct mor_buf name = MOR_BUF_INIT;
	const struct mor_value *at = NULL;
	struct place place = { 0 };
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
	snprintf(place.shown, sizeof(place.shown), "%.100s:%u:%u: %.*s", r->shown, place.line, place.column, (int)name.len,
		 name.data ? name.data : "");
	return place;
}

/* ---- keys ---- */

#define IS(type) (1u << MOR_JSON_##type)

struct key {
	const char *name;
	unsigned types;
	const char *wanted;
};

static const struct key bridge_keys[] = {
	{ "enabled", IS(BOOL), "true or false" },
	{ "plugins", IS(OBJECT), "a table of plugins: [" PLUGINS ".NAME]" },
	{ 0 },
};
static const struct key plugin_keys[] = {
	{ "command", IS(STRING), "a string: the program, without its arguments" },
	{ "args", IS(ARRAY), "an array of strings" },
	{ "cwd", IS(STRING), "a string: a directory" },
	{ "env", IS(OBJECT), "a table of strings" },
	{ "auto_restart", IS(BOOL), "true or false" },
	{ "max_restarts", IS(NUMBER), "a whole number from 0 to 64" },
	{ "priority", IS(NUMBER), "a whole number; smaller is earlier" },
	{ "timeout", IS(STRING) | IS(NUMBER) | IS(OBJECT), "a duration such as \"60s\", or { handle = \"60s\", matches = \"5s\" }" },
	{ "prefilter", IS(BOOL), "true or false" },
	{ 0 },
};

/* Ignored by the real bridge, so it cannot be wrong to have one; but it may be a slip. */
static int warn_unknown(struct reading *r, const struct key *keys, const char *under, const char *name)
{
	struct place place = place_of(r, under ? PLUGINS : SECTION, under, name);
	struct mor_nearest near = { .word = name };

	for (; keys->name; keys++)
		mor_nearest_offer(&near, keys->name);
	if (mor_nearest_best(&near))
		return pushf(r, &r->bot->warnings, "%s is not known and ignored: did you mean \"%s\"?", place.shown,
			     mor_nearest_best(&near));
	return pushf(r, &r->bot->warnings, "%s is not known and ignored", place.shown);
}

static int wrong(const struct reading *r, const char *under, const char *key, const char *wanted)
{
	struct place place = place_of(r, under ? PLUGINS : SECTION, under, key);

	return mor_fail(r->err, MORTISE_EMANIFEST, "%s must be %s", place.shown, wanted);
}

/* Every member is known and of its type. */
static int check_keys(struct reading *r, const struct key *keys, const struct mor_value *table, const char *under)
{
	struct mor_json_iter it = mor_json_iter(table);
	int status = 0;

	while (status == 0 && mor_json_next(&it)) {
		const struct key *key = keys;

		while (key->name && !mor_slice_is(it.name, key->name))
			key++;
		if (!key->name)
			status = warn_unknown(r, keys, under, it.name.ptr);
		else if (!(key->types & (1u << mor_json_type(it.value))))
			status = wrong(r, under, key->name, key->wanted);
	}
	return status;
}

static const char *wanted_of(const char *name)
{
	const struct key *key = plugin_keys;

	while (strcmp(key->name, name) != 0)
		key++;
	return key->wanted;
}

/* A string that can be a word of a command line. NULL: it is none. */
static const char *word(const struct mor_value *value)
{
	struct mor_slice text = mor_json_string(value);

	return text.ptr && !memchr(text.ptr, '\0', text.len) ? text.ptr : NULL;
}

/* ---- one plugin ---- */

/* A relative command is relative to where it will run, as for execvp() after chdir(). */
static int read_command(const struct reading *r, const struct mor_value *table, const char *cwd, struct mor_bot_plugin *plugin)
{
	const char *command = word(mor_json_get(table, "command"));
	struct mor_json_iter it = mor_json_iter(mor_json_get(table, "args"));
	int status;

	if (!mor_json_get(table, "command"))
		return mor_fail(r->err, MORTISE_EMANIFEST, "%s is missing: name the program to run",
				place_of(r, PLUGINS, plugin->name, "command").shown);
	if (!command || !*command)
		return wrong(r, plugin->name, "command", wanted_of("command"));
	status = push(r, &plugin->argv, strchr(command, '/') ? mor_path_join(cwd, command) : mor_strdup(command));
	while (status == 0 && mor_json_next(&it)) {
		if (!word(it.value))
			return wrong(r, plugin->name, "args", wanted_of("args"));
		status = push(r, &plugin->argv, mor_strdup(word(it.value)));
	}
	return status;
}

static int read_env(const struct reading *r, const struct mor_value *table, struct mor_bot_plugin *plugin)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(table, "env"));
	int status = 0;

	while (status == 0 && mor_json_next(&it)) {
		if (!word(it.value) || !it.name.len || memchr(it.name.ptr, '=', it.name.len))
			return wrong(r, plugin->name, "env", "a table from names to strings: { NAME = \"value\" }");
		status = pushf(r, &plugin->env, "%s=%s", it.name.ptr, word(it.value));
	}
	return status;
}

/* Settings take text, and judge it once more; here it is judged because here is the line. */
static int push_timeout(const struct reading *r, struct mor_bot_plugin *plugin, const char *method, const struct mor_value *value)
{
	struct mor_slice text = mor_json_type(value) == MOR_JSON_NUMBER ? mor_json_raw(value) : mor_json_string(value);
	uint32_t ms;

	if (!text.ptr || !mor_parse_duration_ms(text, &ms) || ms == 0)
		return wrong(r, plugin->name, "timeout", wanted_of("timeout"));
	return pushf(r, &plugin->set, "timeouts.%s=%ums", method, ms);
}

static int read_timeout(const struct reading *r, const struct mor_value *table, struct mor_bot_plugin *plugin)
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
			return wrong(r, plugin->name, "timeout", "a table whose keys are handle, matches, lifecycle or metadata");
		status = push_timeout(r, plugin, it.name.ptr, it.value);
	}
	return status;
}

static int read_numbers(const struct reading *r, const struct mor_value *table, struct mor_bot_plugin *plugin)
{
	const struct mor_value *restarts = mor_json_get(table, "max_restarts"), *priority = mor_json_get(table, "priority");
	int64_t most = restarts ? mor_json_int(restarts, -1) : DEFAULT_RESTARTS;

	if (most < 0 || most > MOST_RESTARTS)
		return wrong(r, plugin->name, "max_restarts", wanted_of("max_restarts"));
	if (priority && !mor_json_is_int(priority))
		return wrong(r, plugin->name, "priority", wanted_of("priority"));
	plugin->priority = mor_json_int(priority, DEFAULT_PRIORITY);
	plugin->auto_restart = mor_json_bool(mor_json_get(table, "auto_restart"), false);
	plugin->prefilter = mor_json_bool(mor_json_get(table, "prefilter"), false);
	return pushf(r, &plugin->set, "restart.intensity=%lld", (long long)most);
}

static int push_cwd(const struct reading *r, const char *cwd, struct mor_bot_plugin *plugin)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;

	mor_buf_text(&json, "plugin.cwd:=");
	mor_buf_json_string(&json, mor_slice_of(cwd));
	return push(r, &plugin->set, mor_buf_detach(&json));
}

static int read_plugin(struct reading *r, struct mor_slice name, const struct mor_value *table)
{
	struct mor_bot_plugin *plugin = &r->bot->plugins[r->bot->count++];
	const struct mor_value *cwd = mor_json_get(table, "cwd");
	MOR_CLEAN_TEXT char *dir = NULL;
	struct place place;
	int status;

	plugin->name = mor_strndup(name.ptr, name.len);
	if (!plugin->name)
		return no_memory(r);
	place = place_of(r, PLUGINS, plugin->name, NULL);
	plugin->line = place.line;
	plugin->column = place.column;
	if (!name.len || mor_json_type(table) != MOR_JSON_OBJECT)
		return mor_fail(r->err, MORTISE_EMANIFEST, "%s must be a table with a name: [" PLUGINS ".NAME]", place.shown);
	status = check_keys(r, plugin_keys, table, plugin->name);
	if (status < 0)
		return status;
	if (cwd && !word(cwd))
		return wrong(r, plugin->name, "cwd", wanted_of("cwd"));
	dir = cwd && *word(cwd) ? mor_path_join(r->dir, word(cwd)) : mor_strdup(r->dir);
	if (!dir)
		return no_memory(r);
	if ((status = read_command(r, table, dir, plugin)) < 0 || (status = read_env(r, table, plugin)) < 0 ||
	    (status = push_cwd(r, dir, plugin)) < 0 || (status = read_timeout(r, table, plugin)) < 0 ||
	    (status = read_numbers(r, table, plugin)) < 0)
		return status;
	return plugin->auto_restart ? 0 : pushf(r, &plugin->set, "restart.enabled=false");
}

/* ---- the section ---- */

/* Two in one place cannot be, so the order does not depend on how the sort works. */
static int compare(const void *a, const void *b)
{
	const struct mor_bot_plugin *one = a, *other = b;

	if (one->priority != other->priority)
		return one->priority < other->priority ? -1 : 1;
	if (one->line != other->line)
		return one->line < other->line ? -1 : 1;
	return one->column < other->column ? -1 : 1;
}

/* The real bridge is off unless it is turned on. Whoever runs this command has asked for it, so only a plain "no" is one. */
static int check_enabled(struct reading *r, const struct mor_value *bridge)
{
	const struct mor_value *enabled = mor_json_get(bridge, "enabled");
	struct place place = place_of(r, SECTION, NULL, "enabled");

	if (!enabled)
		return pushf(r, &r->bot->warnings, "%s is missing and taken as true here; Ayiou itself takes it as false: write "
			     "enabled = true", place.shown);
	if (!mor_json_bool(enabled, true))
		return mor_fail(r->err, MORTISE_EMANIFEST, "%s is false, so no plugin is to run: write enabled = true", place.shown);
	return 0;
}

static int read_bridge(struct reading *r)
{
	const struct mor_value *bridge = mor_json_get(mor_doc_root(r->doc), SECTION);
	const struct mor_value *plugins = mor_json_get(bridge, "plugins");
	struct mor_json_iter it = mor_json_iter(plugins);
	int status;

	if (mor_json_type(bridge) != MOR_JSON_OBJECT)
		return mor_fail(r->err, MORTISE_EMANIFEST, "%s:1:1: [" SECTION "] is missing: write it with its plugins, "
				"[" PLUGINS ".NAME] command = \"…\"", r->shown);
	status = check_keys(r, bridge_keys, bridge, NULL);
	if (status == 0)
		status = check_enabled(r, bridge);
	if (status < 0)
		return status;
	if (mor_json_size(plugins) == 0)
		return mor_fail(r->err, MORTISE_EMANIFEST, "%s names no plugin: add [" PLUGINS ".NAME] with a command",
				place_of(r, SECTION, NULL, NULL).shown);
	r->bot->plugins = mor_zalloc(mor_json_size(plugins) * sizeof(*r->bot->plugins));
	if (!r->bot->plugins)
		return no_memory(r);
	while (status == 0 && mor_json_next(&it))
		status = read_plugin(r, it.name, it.value);
	if (status == 0)
		qsort(r->bot->plugins, r->bot->count, sizeof(*r->bot->plugins), compare);
	return status;
}

/* ---- the file ---- */

static int parse(struct reading *r, const char *text, size_t len)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT, lines = MOR_BUF_INIT;
	bool bom = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
	mortise_error why;
	int status = mor_toml_to_json(r->shown, bom ? text + 3 : text, bom ? len - 3 : len, &json, &lines, r->err);

	if (status < 0)
		return status;
	status = mor_doc_parse(mor_buf_view(&json), 0, 0, &r->doc, &why);
	if (status == 0)
		status = mor_doc_parse(mor_buf_view(&lines), 0, 0, &r->lines, &why);
	if (status == MORTISE_EPROTO) /* text that TOML allows and JSON does not */
		status = MORTISE_EMANIFEST;
	return status < 0 ? mor_fail(r->err, status, "%s: %s", r->shown, why.text) : 0;
}

static int read_file(struct reading *r)
{
	MOR_CLEAN_TEXT char *absolute = mor_path_absolute(r->shown);
	MOR_CLEAN_TEXT char *text = NULL;
	size_t len;
	int status;

	if (!absolute)
		return no_memory(r);
	len = (size_t)(strrchr(absolute, '/') - absolute);
	r->dir = mor_strndup(absolute, len ? len : 1);
	if (!r->dir)
		return no_memory(r);
	status = mor_path_read(absolute, r->shown, &text, &len, r->err);
	if (status == 0)
		return mor_fail(r->err, MORTISE_ENOTFOUND, "%s: no such file: name the bot's TOML file", r->shown);
	return status < 0 ? status : parse(r, text, len);
}

int mor_bot_load(const char *path, struct mor_bot **ret, mortise_error *err)
{
	struct reading r = { .shown = path, .err = err };
	int status;

	r.bot = mor_zalloc(sizeof(*r.bot));
	if (!r.bot)
		return no_memory(&r);
	status = read_file(&r);
	if (status == 0)
		status = read_bridge(&r);
	mor_free(r.dir);
	mor_doc_free(r.doc);
	mor_doc_free(r.lines);
	if (status == 0)
		*ret = r.bot;
	else
		mor_bot_free(r.bot);
	return status;
}
