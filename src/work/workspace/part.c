/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One plugin, one process, one answer. The answer counts only after the process has ended, because what it
 * does after its answer also matters.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "runner/record.h"
#include "runner/show.h"
#include "workspace/place.h"
#include "workspace/workspace.h"

/* ---- settings for its start ---- */

static int add_text(struct mor_workspace_part *p, struct mor_text_list *list, const char *name,
		    const char *value)
{
	char *copy = mor_text_format("%s=%s", name, value);

	if (!copy || mor_text_list_add(&p->owned, copy) < 0) {
		mor_free(copy);
		return MORTISE_ENOMEM;
	}
	return mor_text_list_add(list, copy);
}

/* A plugin with sunscreen-plugin.json may have no access to the workspace. Then it cannot even read it. */
static bool wants_workspace(const struct mor_workspace_part *p)
{
	const struct mor_setting *workspace = mor_manifest_setting(p->manifest, "sandbox", "workspace");

	return !workspace || !workspace->text || *workspace->text;
}

/* The runtime's own variables. plugin.toml plugins get a scratch directory from the jail, in TMPDIR. */
static int prepare_place(struct mor_workspace_part *p, mortise_error *err)
{
	const struct mor_text_list *given = &p->run->args->plugin->env;
	const char *workspace = p->run->workspace;
	int r = 0;

	if (p->json &&
	    (r = mor_workspace_scratch(workspace, p->manifest->name, &p->scratch, &p->scratch_made, err)) < 0)
		return r;
	if (wants_workspace(p))
		r = add_text(p, &p->settings, "sandbox.workspace", workspace);
	if (r == 0 && p->json)
		r = add_text(p, &p->settings, "sandbox.scratch", p->scratch);
	if (r == 0)
		r = add_text(p, &p->env, "SUNSCREEN_WORKSPACE_ROOT", workspace);
	if (r == 0 && p->json)
		r = add_text(p, &p->env, "SUNSCREEN_PLUGIN_SCRATCH", p->scratch);
	for (size_t i = 0; i < given->count && r == 0; i++)
		r = mor_text_list_add(&p->env, given->item[i]);
	return r < 0 ? mor_fail_memory(err) : 0;
}

/* ---- undoing ---- */

static bool is_confined(const struct mor_workspace_part *p)
{
	const struct mor_setting *level = mor_manifest_setting(p->manifest, "sandbox", "level");
	const struct mor_plugin_args *args = p->run->args->plugin;
	const char *text = args->level ? args->level : level && level->text ? level->text : "";
	bool unconfined = args->unconfined;

	if (!unconfined)
		mor_manifest_bool(p->manifest, "sandbox", "unconfined", &unconfined, NULL);
	return !unconfined && strcmp(text, "guarded") != 0;
}

static int prepare_undoing(struct mor_workspace_part *p, mortise_error *err)
{
	int r;

	p->undoing = (struct mor_workspace_undoing){ .console = p->run->console, .without = "use --keep" };
	if (p->run->args->keep || !is_confined(p))
		return 0;
	r = mor_workspace_undoing_begin(&p->undoing, p->run->workspace, p->manifest->name, err);
	if (r == 0 && add_text(p, &p->settings, "sandbox.undo", mortise_undo_store(p->undoing.undo)) < 0)
		r = mor_fail_memory(err);
	return r;
}

static void close_plugin(struct mor_workspace_part *p)
{
	if (p->closed)
		return;
	mortise_plugin_unref(p->plugin);
	mor_runner_close(&p->runner);
	p->closed = true;
}

/* First all processes of the run must be gone. Only then nobody can change files any more. */
static void settle_changes(struct mor_workspace_part *p, bool failed)
{
	struct mor_workspace_run *run = p->run;

	close_plugin(p);
	if (failed && p->begun_ms && !run->args->keep && !is_confined(p))
		mor_workspace_undoing_add(&p->undoing, "not undone: %s ran unconfined, so all its changes stay",
					  p->manifest->name);
	mor_workspace_undoing_end(&p->undoing, failed);
	if (failed && p->undoing.done && p->scratch)
		mor_workspace_drop_scratch(p->scratch, p->scratch_made);
}

/* Users see warnings, and the stderr of a plugin.toml plugin. The runtime hides the stderr of the others,
 * except for the last line if they fail. */
static void on_event(const mortise_event *event, void *arg)
{
	struct mor_workspace_part *p = arg;
	struct mor_console *console = p->run->console;
	char shown[2000];

	mor_runner_record_event(p->runner.record, event);
	mor_printable(mor_slice_of(event->text ? event->text : ""), shown, sizeof(shown));
	if (mor_workspace_told(p, event, shown))
		return;
	if (console->verbose || event->type == MORTISE_EVENT_VIOLATION)
		mor_show_event(event, console);
	else if (event->type == MORTISE_EVENT_WARNING)
		mor_note(console, "%swarning%s: %s: %s", mor_style_err(console, MOR_STYLE_WARN),
			 mor_style_err_end(console), p->manifest->name, shown);
	else if (event->type == MORTISE_EVENT_STDERR && !p->json)
		mor_note(console, "%s| %s", p->manifest->name, shown);
}

/* Shows problems in manifest and permissions before anything runs: a misspelt key, a path that does not
 * exist. */
static void tell_warnings(struct mor_workspace_part *p)
{
	struct mor_console *console = p->run->console;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_json_iter it;
	char *text = NULL, shown[600];

	if (mortise_plugin_describe(p->plugin, &text, NULL) == 0)
		(void)mor_doc_parse(mor_slice_of(text), MOR_JSON_NAN, 0, &doc, NULL);
	it = mor_json_iter(mor_json_get(mor_doc_root(doc), "warnings"));
	while (doc && mor_json_next(&it))
		mor_note(console, "%swarning%s: %s", mor_style_err(console, MOR_STYLE_WARN),
			 mor_style_err_end(console),
			 mor_printable(mor_json_string(it.value), shown, sizeof(shown)));
	mortise_free(text);
}

static int open_plugin(struct mor_workspace_part *p, mortise_error *err)
{
	struct mor_workspace_run *run = p->run;
	mortise_plugin_options opt;
	int r;

	p->plugin_args = *run->args->plugin;
	p->plugin_args.env = p->env;
	p->plugin_args.config = (struct mor_text_list){ 0 }; /* --config becomes part of the params */
	if ((r = mor_runner_open(&p->runner, run->console, &p->plugin_args, p->settings.item, err)) < 0)
		return r;
	mor_runner_plugin_options(&p->runner, p->typed, NULL, &opt);
	opt.on_event = on_event;
	opt.arg = p;
	r = mor_runner_plugin_new(&p->runner, &opt, p->resolved, &p->plugin, err);
	if (r == 0 && !p->plugin_args.unconfined) /* that one has been reported */
		tell_warnings(p);
	return r;
}

/* ---- params ---- */

static int write_context(struct mor_workspace_part *p, struct mor_writer *w, mortise_error *err)
{
	const struct mor_value *more = mor_doc_root(p->run->context);
	struct mor_json_iter it = mor_json_iter(more);
	MOR_CLEAN(mor_buf) struct mor_buf idl = MOR_BUF_INIT;
	const char *given = p->run->args->idl;
	/* If --context has one, that one is used. */
	int r = given || !mor_json_get(more, "idl") ? mor_workspace_idl(p->run->workspace, given, &idl, err) :
						      0;

	if (r < 0)
		return r;
	mor_w_object(w);
	mor_w_pair(w, "workspace_root", p->run->workspace);
	if (r > 0)
		mor_w_pair_raw(w, "idl", mor_buf_view(&idl));
	while (more && mor_json_next(&it)) {
		if (mor_slice_is(it.name, "workspace_root") || (r > 0 && mor_slice_is(it.name, "idl")))
			continue;
		mor_w_key_slice(w, it.name);
		mor_w_value(w, it.value);
	}
	mor_w_end(w);
	return 0;
}

/* All words as typed: the runtime parses no flags. */
static void write_words(const struct mor_workspace_part *p, struct mor_writer *w)
{
	const struct mor_workspace_args *args = p->run->args;

	mor_w_array(w);
	for (size_t i = 2; !args->hook && i < args->word_count; i++)
		mor_w_string(w, args->words[i]);
	for (const char *const *word = args->tail; word && *word; word++)
		mor_w_string(w, *word);
	mor_w_end(w);
}

static int write_run(struct mor_workspace_part *p, struct mor_writer *w, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf config = MOR_BUF_INIT;
	int r = mor_workspace_config(p->run->workspace, &p->run->args->plugin->config, &config, err);

	if (r < 0)
		return r;
	mor_w_key(w, "args");
	mor_workspace_words_write_args(&p->run->words, w);
	mor_w_key(w, "flags");
	mor_workspace_words_write_flags(&p->run->words, w);
	if (p->grpc) {
		mor_w_key(w, "words");
		write_words(p, w);
	}
	mor_w_pair(w, "workspace_root", p->run->workspace);
	mor_w_pair_raw(w, "config", mor_buf_view(&config));
	return 0;
}

static int write_params(struct mor_workspace_part *p, struct mor_buf *out, mortise_error *err)
{
	struct mor_writer w = { .out = out };
	int r = 0;

	mor_w_object(&w);
	if (p->json && !p->grpc) {
		mor_w_key(&w, "args");
		write_words(p, &w);
		mor_w_pair(&w, "scratch", p->scratch);
		mor_w_pair(&w, "workspace", p->run->workspace);
	} else if (p->run->args->hook) {
		mor_w_key(&w, "context");
		r = write_context(p, &w, err);
	} else {
		r = write_run(p, &w, err);
	}
	mor_w_end(&w);
	return r < 0 ? r : out->status < 0 ? mor_fail_memory(err) : 0;
}

/* ---- the call ---- */

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct mor_workspace_part *p = arg;

	p->call = NULL;
	mor_workspace_end_line(p);
	p->time_ms = mor_clock_ms() - p->begun_ms;
	if (reply->status < 0)
		p->err = *reply->error;
	if (reply->status < 0 && reply->error_data.text)
		p->err_data = mor_strndup(reply->error_data.text, reply->error_data.len);
	else if (reply->result.text && !(p->result = mor_strndup(reply->result.text, reply->result.len)))
		mor_fail_memory(&p->err);
}

static bool call_is_settled(void *arg)
{
	return !((struct mor_workspace_part *)arg)->call;
}

static int call_plugin(struct mor_workspace_part *p, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	mortise_call_options opt = {
		.size = sizeof(opt), .timeout_ms = p->runner.timeout_ms, .on_reply = on_reply, .arg = p
	};
	int r = write_params(p, &params, err);

	if (r < 0)
		return r;
	p->begun_ms = mor_clock_ms();
	r = mortise_call_start(p->plugin, p->action, (mortise_json){ params.data, params.len }, &opt, &p->call,
			       err);
	if (r < 0)
		return r;
	r = mor_runner_run(&p->runner, call_is_settled, p);
	if (p->call)
		mortise_call_cancel(p->call, NULL);
	mor_runner_stop_plugin(&p->runner, p->plugin);
	if (r < 0)
		return mor_fail(err, r, "interrupted");
	/* What the plugin did after its answer: a violation cancels the answer. A plugin in state FAILED starts
	 * nothing, it only gives the reason. */
	if (p->err.code == 0 && mortise_plugin_state(p->plugin) == MORTISE_FAILED)
		mortise_call_start(p->plugin, p->action, (mortise_json){ 0 }, NULL, NULL, &p->err);
	return 0;
}

/* ---- what was written ---- */

static bool may_write(const struct mor_workspace_part *p)
{
	const struct mor_plugin_args *args = p->run->args->plugin;
	bool writes = false;

	mor_manifest_bool(p->manifest, "sandbox", "workspace_write", &writes, NULL);
	return writes || args->unconfined || (args->level && strcmp(args->level, "guarded") == 0);
}

static int check_file(struct mor_workspace_part *p, const struct mor_value *claimed, struct mor_writer *w,
		      mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf file = MOR_BUF_INIT;
	int r;

	if (mor_json_type(claimed) != MOR_JSON_STRING)
		return mor_fail(err, MORTISE_EPROTO, "files_written must be an array of strings");
	r = mor_workspace_file(p->run->workspace, mor_json_string(claimed), &file, err);
	if (r == 0)
		mor_w_slice(w, mor_buf_view(&file));
	return r;
}

/* With plugin.toml a false claim is an error, as the specification says. For the runtime a result is any
 * JSON, so there it is only a warning. */
static int check_files(struct mor_workspace_part *p, const struct mor_value *files, mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(files);
	struct mor_writer w = { .out = &p->files };
	bool list = mor_json_type(files) == MOR_JSON_ARRAY;
	int r = 0;

	if (!p->json && files && !list)
		r = mor_fail(err, MORTISE_EPROTO, "files_written must be an array of strings");
	else if (!p->json && mor_json_size(files) && !may_write(p))
		r = mor_fail(err, MORTISE_EPROTO,
			     "claims to have written files, but may not write in the workspace");
	mor_w_array(&w);
	while (r == 0 && list && mor_json_next(&it)) {
		mortise_error why = { 0 };

		r = check_file(p, it.value, &w, &why);
		if (r < 0 && !p->json)
			*err = why;
		else if (r < 0)
			mor_note(p->run->console, "warning: %s: %s", p->manifest->name, why.text);
		r = p->json ? 0 : r;
	}
	mor_w_end(&w);
	return r;
}

static int verify_result(struct mor_workspace_part *p, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = p->result ? mor_doc_parse(mor_slice_of(p->result), MOR_JSON_NAN, 0, &doc, err) : 0;

	r = r ? r : check_files(p, mor_json_get(mor_doc_root(doc), "files_written"), err);
	return r < 0 ? mor_fail_prefix(err, p->manifest->name) : 0;
}

/* ---- one plugin ---- */

static bool has_json_manifest(const struct mor_manifest *m)
{
	return strcmp(m->dialect, "sunscreen-json") == 0 ||
	       (m->file && strcmp(mor_base_name(m->file), "sunscreen-plugin.json") == 0);
}

int mor_workspace_part_run(struct mor_workspace_part *p, mortise_error *err)
{
	const char *transport = mor_manifest_text(p->manifest, "plugin", "transport");
	int r;

	p->grpc = transport && strcmp(transport, "grpc") == 0;
	p->json = has_json_manifest(p->manifest);
	if ((!p->json || p->grpc) && p->run->args->hook && p->run->args->tail)
		return mor_fail(err, MORTISE_EINVAL, "%s: hooks of %s take no arguments: use --context",
				p->typed, p->grpc ? "plugins over gRPC" : "plugin.toml");
	if (p->json && p->run->args->plugin->config.count)
		return mor_fail(err, MORTISE_EINVAL,
				"%s: plugins with sunscreen-plugin.json get no configuration: leave out "
				"--config",
				p->typed);
	r = mor_workspace_approve(p->run, p->resolved, p->run->workspace, err);
	r = r ? r : prepare_place(p, err);
	r = r ? r : prepare_undoing(p, err);
	r = r ? r : open_plugin(p, err);
	r = r ? r : call_plugin(p, err);
	if (r == 0 && p->err.code == 0)
		r = verify_result(p, &p->err);
	settle_changes(p, r < 0 || p->err.code != 0);
	return r;
}

void mor_workspace_part_fini(struct mor_workspace_part *p)
{
	close_plugin(p);
	mor_workspace_undoing_tell(&p->undoing); /* printed after the error */
	mor_workspace_undoing_fini(&p->undoing);
	mor_text_list_free_texts(&p->owned);
	mor_free(p->env.item);
	mor_free(p->settings.item);
	mor_free(p->scratch);
	mor_free(p->result);
	mor_free(p->err_data);
	mor_buf_fini(&p->files);
	mor_buf_fini(&p->printed);
}
