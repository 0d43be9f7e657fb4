/* SPDX-License-Identifier: Apache-2.0 */
/* sunscreen and sunscreen-json: commands and hooks in a workspace (docs/dialects/sunscreen.md). */
#include <string.h>

#include "dialect.h"

#define CODE_FAILED 1

static bool sunscreen_fits(const tenon_plugin *plugin)
{
	return plugin->commands || plugin->hooks;
}

/* ---- Answers ---- */

void tenon_wrote(tenon_call *call, const char *path)
{
	if (call->files.len > 0)
		mor_buf_byte(&call->files, ',');
	mor_buf_json_string(&call->files, mor_slice_of(path));
}

static void put_files(struct mor_writer *w, const tenon_call *call, const struct mor_value *own)
{
	struct mor_json_iter it = mor_json_iter(own);

	mor_w_key(w, "files_written");
	mor_w_array(w);
	if (call->files.len > 0)
		mor_w_raw(w, mor_buf_view(&call->files));
	while (mor_json_type(own) == MOR_JSON_ARRAY && mor_json_next(&it))
		mor_w_value(w, it.value);
	mor_w_end(w);
}

/* A text is the summary. An object goes through. */
static int run_result(tenon_call *call, struct mor_slice json)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf summary = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	struct mor_writer w = { .out = &result };
	const struct mor_value *value;

	if (mor_doc_parse(json, 0, 0, &doc, NULL) < 0)
		return -1;
	value = mor_doc_root(doc);
	mor_json_write(mor_json_type(value) == MOR_JSON_OBJECT ? mor_json_get(value, "summary") : value, false,
		       &summary);
	mor_w_object(&w);
	put_files(&w, call, mor_json_get(value, "files_written"));
	mor_w_key(&w, "summary");
	tn_put_pieced(&w, call, mor_buf_view(&summary));
	if (mor_json_type(value) > MOR_JSON_NULL && mor_json_type(value) < MOR_JSON_OBJECT &&
	    mor_json_type(value) != MOR_JSON_STRING)
		mor_w_pair_raw(&w, "result", json);
	tn_put_members(&w, value, "files_written summary");
	mor_w_end(&w);
	return mor_buf_failed(&result) || mor_buf_failed(&call->files) ?
		       -1 :
		       tn_shape_rpc.result(call, mor_buf_view(&result));
}

static int run_error(tenon_call *call, const struct tn_fault *fault)
{
	return tn_shape_rpc.error(call, fault);
}

static const struct tn_shape shape_run = { run_result, run_error, CODE_FAILED };

/* ---- Names: KIND:NAME, and a bare name is of the dialect's usual kind ---- */

struct mor_slice tn_sunscreen_kind(const char *name, const char *usual)
{
	const char *colon = strchr(name, ':');

	return colon ? (struct mor_slice){ name, (size_t)(colon - name) } : mor_slice_of(usual);
}

const char *tn_sunscreen_bare(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon ? colon + 1 : name;
}

/* `kind` absent: any. */
static const tenon_command *find_of_kind(const tenon_command *table, struct mor_slice kind, const char *name,
					 const char *usual)
{
	for (const tenon_command *command = table; command && command->name; command++)
		if (strcmp(tn_sunscreen_bare(command->name), name) == 0 &&
		    (!kind.ptr || mor_slice_eq(tn_sunscreen_kind(command->name, usual), kind)))
			return command;
	return NULL;
}

static void run_function(tenon_call *call, const tenon_command *command, const char *name,
			 const struct tn_words *words)
{
	if (!command) {
		tn_refuse_name(call, "command", mor_slice_of(name));
		return;
	}
	if (!tn_ensure_started(call) || !tn_take_words(call, command->fields, words))
		return;
	call->shape = &shape_run;
	tn_call_function(call, command->name, command->fn);
}

static const char *text_param(tenon_call *call, const char *key)
{
	const char *text = mor_json_text(mor_json_get(tn_call_sent(call), key), NULL);

	if (!text)
		tn_refuse_text(call, TENON_EPARAMS, "%s: is missing", key);
	return text;
}

/* ---- sunscreen ---- */

static void put_kind(struct mor_writer *w, const tenon_command *table, struct mor_slice kind, const char *usual)
{
	mor_w_key_slice(w, kind);
	mor_w_object(w);
	for (const tenon_command *command = table; command && command->name; command++)
		if (mor_slice_eq(tn_sunscreen_kind(command->name, usual), kind))
			mor_w_pair(w, tn_sunscreen_bare(command->name), command->doc ? command->doc : "");
	mor_w_end(w);
}

/* Whether an earlier row has this kind. */
static bool kind_seen(const tenon_command *table, const tenon_command *row, const char *usual)
{
	for (const tenon_command *command = table; command != row; command++)
		if (mor_slice_eq(tn_sunscreen_kind(command->name, usual), tn_sunscreen_kind(row->name, usual)))
			return true;
	return false;
}

static void serve_commands(tenon_call *call, struct tn_turn *turn)
{
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	struct mor_writer w = { .out = &result };
	const tenon_command *table = call->plugin->commands;

	(void)turn;
	mor_w_object(&w);
	for (const tenon_command *command = table; command && command->name; command++)
		if (!kind_seen(table, command, "scaffold"))
			put_kind(&w, table, tn_sunscreen_kind(command->name, "scaffold"), "scaffold");
	if (call->plugin->hooks)
		put_kind(&w, call->plugin->hooks, MOR_SLICE("hook"), "hook");
	mor_w_end(&w);
	tenon_reply_json(call, result.data, result.len);
}

static void serve_run(tenon_call *call, struct tn_turn *turn)
{
	const struct mor_value *params = tn_call_sent(call);
	const char *name = text_param(call, "command"), *colon = name ? strchr(name, ':') : NULL;
	struct mor_slice kind = { colon ? name : NULL, colon ? (size_t)(colon - name) : 0 };

	(void)turn;
	if (name)
		run_function(call,
			     find_of_kind(call->plugin->commands, kind, tn_sunscreen_bare(name), "scaffold"),
			     name,
			     &(struct tn_words){ .args = mor_json_get(params, "args"),
						 .flags = mor_json_get(params, "flags") });
}

void tn_sunscreen_hook(tenon_call *call, struct tn_turn *turn)
{
	const char *name = text_param(call, "name");

	(void)turn;
	if (name)
		run_function(call,
			     find_of_kind(call->plugin->hooks, (struct mor_slice){ 0 }, tn_sunscreen_bare(name),
					  "hook"),
			     name, &(struct tn_words){ .flags = mor_json_get(tn_call_sent(call), "context") });
}

static void toml_kind(struct mor_buf *out, const tenon_command *table, const char *kind)
{
	if (!table)
		return;
	mor_buf_printf(out, "\n[commands.%s]\n", kind);
	for (const tenon_command *command = table; command->name; command++)
		if (mor_slice_is(tn_sunscreen_kind(command->name, kind), kind))
			tn_toml_pair(out, tn_sunscreen_bare(command->name), command->doc);
}

static void toml_manifest(const tenon_plugin *plugin, const char *program, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf entry = MOR_BUF_INIT;

	mor_buf_printf(&entry, "./%s", program);
	mor_buf_byte(&entry, '\0');
	mor_buf_text(out, "[plugin]\n");
	tn_toml_pair(out, "name", plugin->name);
	tn_toml_pair(out, "version", plugin->version ? plugin->version : "0.0.0");
	tn_toml_pair(out, "description", plugin->description);
	tn_toml_pair(out, "entry", entry.data);
	mor_buf_text(out, "\n[permissions]\nworkspace_write = true\nnetwork = false\ndeclared_paths = []\n");
	toml_kind(out, plugin->commands, "scaffold");
	toml_kind(out, plugin->hooks, "hook");
}

static const struct tn_route routes[] = {
	{ "commands", serve_commands, NULL },
	{ "run", serve_run, NULL },
	{ "hook", tn_sunscreen_hook, NULL },
	{ 0 },
};

static const char *const sunscreen_methods[] = { "commands", "run", "hook", NULL };

const struct tn_dialect tn_sunscreen = {
	.name = "sunscreen",
	.framing = MOR_FRAMING_LINES,
	.fits = sunscreen_fits,
	.routes = routes,
	.manifest = toml_manifest,
	.known_by = sunscreen_methods,
};

/* ---- sunscreen-json ---- */

void tn_sunscreen_run(tenon_call *call, const char *usual)
{
	const struct mor_value *params = tn_call_sent(call);
	const char *name = text_param(call, "command");
	struct mor_slice kind = mor_json_string(mor_json_get(params, "kind"));

	if (name)
		run_function(call, find_of_kind(call->plugin->commands, kind, tn_sunscreen_bare(name), usual),
			     name, &(struct tn_words){ .args = mor_json_get(params, "args"), .dashes = true });
}

static void serve_command_run(tenon_call *call, struct tn_turn *turn)
{
	(void)turn;
	tn_sunscreen_run(call, "app");
}

static void serve_hook_run(tenon_call *call, struct tn_turn *turn)
{
	const char *name = text_param(call, "command");

	(void)turn;
	if (name)
		run_function(call,
			     find_of_kind(call->plugin->hooks, (struct mor_slice){ 0 }, tn_sunscreen_bare(name),
					  "hook"),
			     name,
			     &(struct tn_words){ .args = mor_json_get(tn_call_sent(call), "args"),
						 .dashes = true });
}

static void put_json_command(struct mor_writer *w, const tenon_command *command)
{
	mor_w_object(w);
	mor_w_pair(w, "name", tn_sunscreen_bare(command->name));
	mor_w_key(w, "kind");
	mor_w_slice(w, tn_sunscreen_kind(command->name, "app"));
	mor_w_pair(w, "summary", command->doc ? command->doc : "");
	mor_w_end(w);
}

static void json_manifest(const tenon_plugin *plugin, const char *program, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf entry = MOR_BUF_INIT;
	struct mor_writer w = { .out = out };

	mor_buf_printf(&entry, "./%s", program);
	mor_w_object(&w);
	mor_w_pair(&w, "name", plugin->name ? plugin->name : "");
	mor_w_pair(&w, "version", plugin->version ? plugin->version : "0.0.0");
	tn_put_known(&w, "description", plugin->description);
	mor_w_pair(&w, "transport", "stdio-jsonrpc");
	mor_w_key(&w, "entrypoint");
	mor_w_array(&w);
	mor_w_slice(&w, mor_buf_view(&entry));
	mor_w_end(&w);
	mor_w_pair_raw(&w, "capabilities",
		       MOR_SLICE("{\"network\":false,\"filesystem\":[\"workspace\",\"scratch\"]}"));
	mor_w_key(&w, "commands");
	mor_w_array(&w);
	for (const tenon_command *command = plugin->commands; command && command->name; command++)
		put_json_command(&w, command);
	mor_w_end(&w);
	mor_w_key(&w, "hooks");
	mor_w_array(&w);
	for (const tenon_command *hook = plugin->hooks; hook && hook->name; hook++)
		mor_w_string(&w, tn_sunscreen_bare(hook->name));
	mor_w_end(&w);
	mor_w_end(&w);
}

static const struct tn_route json_routes[] = {
	{ "sunscreen.command/run", serve_command_run, NULL },
	{ "sunscreen.hook/run", serve_hook_run, NULL },
	{ 0 },
};

const struct tn_dialect tn_sunscreen_json = {
	.name = "sunscreen-json",
	.framing = MOR_FRAMING_HEADERS,
	.fits = sunscreen_fits,
	.routes = json_routes,
	.manifest = json_manifest,
};
