/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins with either manifest: one command, or one hook of several plugins in order. */
#include "workspace/workspace.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "console/args.h"
#include "console/report.h"
#include "console/signals.h"
#include "console/warned.h"
#include "workspace/place.h"

/* ---- output ---- */

/* The plugin's own number if it is one of the nine. The runtime has one number for all errors. */
static int part_exit_code(const struct mor_workspace_part *p)
{
	switch (p->err.code) {
	case MORTISE_EREMOTE:
		if (p->json)
			return 9;
		return p->err.rpc_code >= 1 && p->err.rpc_code <= 9 ? (int)p->err.rpc_code : 1;
	case MORTISE_ECRASHED:
	case MORTISE_EPROTO:
	case MORTISE_ELIMIT:
	case MORTISE_ETIMEOUT:
		return p->json ? 9 : 0;
	default:
		return 0; /* from the table */
	}
}

static struct mor_report part_report(const struct mor_workspace_part *p)
{
	return (struct mor_report){ .error = &p->err,
				    .data = { p->err_data, p->err_data ? strlen(p->err_data) : 0 },
				    .plugin = p->typed,
				    .exit_code = part_exit_code(p),
				    .more = mor_workspace_undoing_member,
				    .more_arg = &p->undoing };
}

/* Members of one part's object. */
static void write_members(const struct mor_workspace_part *p, struct mor_writer *w)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	mor_w_pair_bool(w, "ok", p->err.code == 0);
	mor_w_pair(w, "plugin", p->manifest->name);
	if (p->err.code) {
		struct mor_report report = part_report(p);

		mor_report_members(w, &report);
		return;
	}
	if (p->result && mor_doc_parse(mor_slice_of(p->result), MOR_JSON_NAN, 0, &doc, NULL) == 0 &&
	    mor_json_type(mor_json_get(mor_doc_root(doc), "summary")) == MOR_JSON_STRING)
		mor_w_pair(w, "summary", mor_json_text(mor_json_get(mor_doc_root(doc), "summary"), ""));
	mor_w_pair_raw(w, "files_written", mor_buf_view(&p->files));
	if (p->printed.len)
		mor_w_pair_slice(w, "printed", mor_buf_view(&p->printed));
	mor_w_pair_raw(w, "result", p->result ? mor_slice_of(p->result) : MOR_SLICE("null"));
	mor_w_pair_int(w, "time_ms", p->time_ms);
}

static void print_files(struct mor_console *console, struct mor_slice json)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_json_iter it;
	char shown[4200];

	if (mor_doc_parse(json, 0, 0, &doc, NULL) < 0)
		return;
	it = mor_json_iter(mor_doc_root(doc));
	while (mor_json_next(&it))
		mor_outf(console, "  %s\n", mor_printable(mor_json_string(it.value), shown, sizeof(shown)));
}

static void print_text(const struct mor_workspace_part *p)
{
	struct mor_console *console = p->run->console;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const struct mor_value *summary;
	char shown[2000];

	if (p->result)
		mor_doc_parse(mor_slice_of(p->result), MOR_JSON_NAN, 0, &doc, NULL);
	summary = mor_json_get(mor_doc_root(doc), "summary");
	if (mor_json_type(summary) == MOR_JSON_STRING)
		mor_outf(console, "%s\n", mor_printable(mor_json_string(summary), shown, sizeof(shown)));
	else if (mor_json_type(mor_doc_root(doc)) > MOR_JSON_NULL && p->json)
		mor_out_json(console, mor_slice_of(p->result)); /* any JSON: shown as it is */
	else
		mor_outf(console, "%s ran %s\n", p->manifest->name, p->action);
	print_files(console, mor_buf_view(&p->files));
}

/* ---- a command ---- */

static int run_command(struct mor_workspace_run *run, int *ret_exit, mortise_error *err)
{
	struct mor_console *console = run->console;
	__attribute__((cleanup(mor_workspace_part_fini))) struct mor_workspace_part p = {
		.run = run,
		.typed = run->plugins->item[0],
		.resolved = run->resolved[0],
		.manifest = run->resolved[0]->manifest,
	};
	int r;

	if (run->args->idl || run->args->context || run->args->keep_going)
		return mor_fail(err, MORTISE_EINVAL, "--idl, --context and --keep-going are for --hook");
	p.action = run->args->words[1];
	r = mor_workspace_words_add(&run->words, run->args->words + 2, err);
	r = r ? r : mor_workspace_words_add(&run->words, run->args->tail, err);
	r = r ? r : mor_workspace_part_run(&p, err);
	if (r < 0 && p.err.code == 0)
		return r;
	if (p.err.code) {
		struct mor_report report = part_report(&p);

		*ret_exit = mor_report_fail(console, &report);
	} else if (console->json) {
		MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
		struct mor_writer w = { .out = &json };

		mor_w_object(&w);
		write_members(&p, &w);
		mor_w_pair(&w, "command", p.action);
		mor_warned_write(console, &w);
		mor_w_end(&w);
		mor_out_json(console, mor_buf_view(&json));
	} else {
		print_text(&p);
	}
	return 0;
}

/* ---- a hook of several plugins ---- */

struct hooks {
	struct mor_workspace_run *run;
	struct mor_writer *w; /* reports, with --json */
	int exit_code;
};

static bool manifest_offers(const struct mor_manifest *m, const char *action)
{
	struct mor_json_iter it = mor_json_iter(mor_doc_root(m->actions));
	size_t count = 0;

	while (m->actions && mor_json_next(&it)) {
		if (mor_slice_is(mor_json_string(mor_json_get(it.value, "name")), action))
			return true;
		count++;
	}
	return count == 0; /* it lists no hooks, so we call it and let it answer */
}

/* Every failure of one plugin ends up in p->err. Only a signal ends the whole run. */
static void run_hook_of(struct hooks *hooks, size_t at, const char *action)
{
	struct mor_console *console = hooks->run->console;
	__attribute__((cleanup(mor_workspace_part_fini))) struct mor_workspace_part p = {
		.run = hooks->run,
		.typed = hooks->run->plugins->item[at],
		.resolved = hooks->run->resolved[at],
		.manifest = hooks->run->resolved[at]->manifest,
		.action = action
	};
	mortise_error err = { 0 };
	int r = mor_workspace_part_run(&p, &err);

	if (mor_signals_count())
		return;
	if (r < 0 && p.err.code == 0)
		p.err = err;
	if (console->json) {
		mor_w_object(hooks->w);
		write_members(&p, hooks->w);
		mor_warned_write(console, hooks->w);
		mor_w_end(hooks->w);
	}
	if (p.err.code) {
		struct mor_report report = part_report(&p);

		mor_report_line(console, &report);
		if (!hooks->exit_code)
			hooks->exit_code =
				report.exit_code ? report.exit_code : mortise_status_exit_code(p.err.code);
	} else if (!console->json) {
		print_text(&p);
	}
}

/* The first plugin's manifest has been read already. */
static int resolve_plugins(struct mor_workspace_run *run, mortise_error *err)
{
	int r = 0;

	for (size_t i = 0; i < run->plugins->count && r == 0; i++) {
		const char *dialect;

		if (!run->resolved[i])
			r = mor_runner_resolve(run->args->plugin, run->plugins->item[i], NULL,
					       &run->resolved[i], err);
		dialect = r == 0 ? run->resolved[i]->manifest->dialect : "";
		if (r == 0 && strcmp(dialect, "sunscreen") != 0 && strcmp(dialect, "sunscreen-json") != 0)
			r = mor_fail(err, MORTISE_EINVAL, "%s speaks %s, which has no such hooks",
				     run->plugins->item[i], dialect);
	}
	return r;
}

/* All manifests are read before the first hook runs, so that a typing mistake costs nothing. */
static int run_hooks(struct hooks *hooks, const char *action, mortise_error *err)
{
	struct mor_workspace_run *run = hooks->run;
	const struct mor_text_list *plugins = run->plugins;
	size_t with = 0;
	int r = resolve_plugins(run, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < plugins->count; i++)
		with += manifest_offers(run->resolved[i]->manifest, action);
	if (with == 0)
		return mor_fail(err, MORTISE_EUNSUPPORTED, "no plugin here has the hook %s", run->args->hook);
	for (size_t i = 0; i < plugins->count && !mor_signals_count(); i++) {
		if (hooks->exit_code && !run->args->keep_going)
			mor_note(run->console,
				 "%s: not run, because an earlier plugin failed (--keep-going runs it)",
				 plugins->item[i]);
		else if (manifest_offers(run->resolved[i]->manifest, action))
			run_hook_of(hooks, i, action);
		else
			mor_note(run->console, "%s: has no hook %s", plugins->item[i], run->args->hook);
	}
	return 0;
}

static int run_hook(struct mor_workspace_run *run, int *ret_exit, mortise_error *err)
{
	struct mor_console *console = run->console;
	MOR_CLEAN_TEXT char *action = mor_text_format("hook:%s", run->args->hook);
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	struct hooks hooks = { .run = run, .w = &w };
	int r;

	if (!action)
		return mor_fail_memory(err);
	mor_w_object(&w);
	mor_w_pair(&w, "hook", run->args->hook);
	mor_w_pair_array(&w, "reports");
	r = run_hooks(&hooks, action, err);
	mor_w_end(&w);
	mor_w_pair_bool(&w, "ok", hooks.exit_code == 0);
	mor_w_pair_int(&w, "exit_code", hooks.exit_code);
	mor_w_end(&w);
	if (r < 0)
		return r;
	if (console->json)
		mor_out_json(console, mor_buf_view(&json));
	*ret_exit = hooks.exit_code;
	return 0;
}

static int read_context(struct mor_workspace_run *run, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	int r;

	if (!run->args->context)
		return 0;
	r = mor_args_json("--context", run->args->context, &text, &run->context, err);
	if (r == 0 && mor_json_type(mor_doc_root(run->context)) != MOR_JSON_OBJECT)
		r = mor_fail(err, MORTISE_EINPUT, "--context: expected a JSON object, got %s",
			     mor_json_type_name(mor_json_type(mor_doc_root(run->context))));
	return r;
}

int mor_workspace_run_plugins(struct mor_console *console, const struct mor_workspace_args *args,
			      const struct mor_text_list *plugins, struct mor_resolved *first, int *ret_exit,
			      mortise_error *err)
{
	struct mor_workspace_run run = { .console = console, .args = args, .plugins = plugins };
	int r;

	if (!args->hook && (args->word_count < 2 || strncmp(args->words[1], "--", 2) == 0))
		return mor_fail(err, MORTISE_EINVAL,
				"name the COMMAND to run, such as scaffold:indexer ('mortise info %s' lists "
				"them)",
				plugins->item[0]);
	run.resolved = mor_zalloc(plugins->count * sizeof(struct mor_resolved *));
	if (!run.resolved)
		return mor_fail_memory(err);
	run.resolved[0] = first;
	r = mor_workspace_find(args->workspace, &run.workspace, err);
	r = r ? r : read_context(&run, err);
	if (r == 0 && args->hook && args->unknown)
		r = mor_fail(err, MORTISE_EINVAL, "unknown option %s: hooks take no flags", args->unknown);
	if (r == 0)
		r = args->hook ? run_hook(&run, ret_exit, err) : run_command(&run, ret_exit, err);
	for (size_t i = 1; i < plugins->count; i++)
		mor_resolved_unref(run.resolved[i]);
	mor_free(run.resolved);
	mor_workspace_words_fini(&run.words);
	mor_doc_free(run.context);
	mor_free(run.workspace);
	return r;
}
