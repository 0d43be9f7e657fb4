/* SPDX-License-Identifier: Apache-2.0 */
/* mortise call: one method of one plugin, its result on stdout. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "console/report.h"
#include "console/signals.h"
#include "console/warned.h"
#include "runner/record.h"
#include "runner/runner.h"
#include "runner/show.h"
#include "session/session.h"

struct call_args {
	bool notify, raw, pages, unchecked;
	struct mor_plugin_args plugin;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct call_args, name)
static const struct mor_option call_options[] = {
	{ "pages", 0, NULL, "ask for the following pages too; one JSON line per page", MOR_OPT_FLAG,
	  FIELD(pages), NULL },
	{ "notify", 0, NULL, "send a notification: do not wait for an answer", MOR_OPT_FLAG, FIELD(notify),
	  NULL },
	{ "raw", 0, NULL, "METHOD is the name on the wire, not an action of the dialect", MOR_OPT_FLAG,
	  FIELD(raw), NULL },
	{ "unchecked", 0, NULL, "send the arguments even if the method does not take them", MOR_OPT_FLAG,
	  FIELD(unchecked), NULL },
	MOR_OPTION_RECORD(FIELD(plugin.record)),
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", call_options, 0 },
	{ "Options for the plugin:", mor_plugin_option_table, FIELD(plugin) },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* One run of the command. With --pages it makes several calls, one after the other, to one process. */
struct call_command {
	struct mor_cli *cli;
	const struct call_args *args;
	const char *typed; /* the plugin: a path or @SESSION, or NULL */
	const char *method;
	struct mor_resolved *resolved; /* the plugin; NULL: a session's, or it cannot be read */
	mortise_error unresolved;      /* why it cannot; its code is 0 otherwise */
	struct mor_runner runner;
	mortise_plugin *plugin;
	struct mor_doc *about;           /* of the session */
	struct mor_session_call session; /* its name is set if the plugin is "@NAME": then there is no plugin */
	mortise_call *call;              /* NULL once it is settled */
	struct mor_cli_arguments words;  /* what it is called with */
	int64_t begun_ms;
	int exit_code;
	bool cancelled;       /* we cancelled it: no report when it ends */
	struct mor_buf asked; /* the page of each call, one per line, as in mortise_reply.next */
	size_t next;          /* length of the last line, a page not asked for yet; 0: no further page */
};

/* ---- arguments ---- */

static const struct mor_value *session_about(const struct call_command *run, const char *pointer)
{
	return mor_json_at(mor_doc_root(run->about), pointer);
}

/* What the method takes is asked before anything runs. A session's keeper knows what its plugin offers. What is
 * wrong with a plugin's files is said after what is wrong with the words. */
static int find_signature(struct call_command *run, const char *const *argv, struct mor_signature *ret,
			  mortise_error *err)
{
	int r;

	if (!mor_session_is_meant(run->typed)) {
		r = mor_runner_resolve(&run->args->plugin, run->typed, argv, &run->resolved, &run->unresolved);
		if (r == 0 && !run->args->raw)
			*ret = mor_signature_find(run->resolved, run->method);
		return 0;
	}
	r = mor_session_about(run->typed + 1, &run->about, err);
	if (r < 0 || run->args->raw)
		return r;
	*ret = mor_signature_pick(mor_json_text(session_about(run, "/dialect"), ""),
				  session_about(run, "/about/actions"), run->method);
	return 0;
}

/* ---- answers ---- */

static const char *plugin_name(const struct call_command *run)
{
	return run->session.name ? run->session.plugin : mortise_plugin_name(run->plugin);
}

static void print_result(struct call_command *run, struct mor_slice result, bool more)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	if (!result.ptr)
		result = MOR_SLICE("null");
	if (!run->cli->console->json) {
		if (run->args->pages || more)
			mor_out_json_line(run->cli->console, result);
		else
			mor_out_json(run->cli->console, result);
		return;
	}
	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	if (more)
		mor_w_pair_bool(&w, "more", true);
	mor_w_pair_raw(&w, "result", result);
	mor_w_pair(&w, "plugin", plugin_name(run));
	mor_w_pair_int(&w, "time_ms", mor_clock_ms() - run->begun_ms);
	mor_warned_write(run->cli->console, &w);
	mor_w_end(&w);
	if (run->args->pages || more)
		mor_out_json_line(run->cli->console, mor_buf_view(&json));
	else
		mor_out_json(run->cli->console, mor_buf_view(&json));
}

/* A plugin whose pages form a circle must not keep us busy for ever: no page is asked for twice. */
static bool was_asked(struct call_command *run, struct mor_slice next)
{
	struct mor_slice rest = mor_buf_view(&run->asked);

	while (rest.len)
		if (mor_slice_eq(mor_slice_cut(&rest, '\n'), next))
			return true;
	return false;
}

static void note_page(struct call_command *run, struct mor_slice next)
{
	mortise_error err = { 0 };

	if (!next.ptr)
		return;
	if (was_asked(run, next)) {
		mor_fail(&err, MORTISE_EPROTO,
			 "%s: %s says that there is more, but its next page is one that was read already: %.*s",
			 plugin_name(run), run->method, (int)next.len, next.ptr);
		run->exit_code = mor_report_error(run->cli->console, &err);
		return;
	}
	mor_buf_slice(&run->asked, next);
	mor_buf_byte(&run->asked, '\n');
	run->next = next.len;
}

/* The answer is printed piece by piece, so that the user sees a long answer while it arrives. */
static void on_reply(const mortise_reply *reply, void *arg)
{
	struct call_command *run = arg;
	struct mor_slice result = { reply->result.text, reply->result.len };

	if (!reply->more)
		run->call = NULL;
	if (reply->status < 0) {
		if (!run->cancelled)
			run->exit_code = mor_runner_report(&run->runner, run->cli->typed, reply);
		return;
	}
	if (!run->args->notify || run->cli->console->json)
		print_result(run, result, reply->more);
	if (!reply->more)
		note_page(run, (struct mor_slice){ reply->next.text, reply->next.len });
}

/* ---- the run ---- */

/* Nobody reads our output any more, so the rest of the answer is useless. */
static bool call_settled(void *arg)
{
	struct call_command *run = arg;

	return !run->call || mor_out_broken(run->cli->console);
}

static uint64_t call_flags(const struct call_command *run)
{
	return (run->args->notify ? MORTISE_NOTIFY : 0) | (run->args->raw ? MORTISE_RAW : 0) |
	       (run->args->pages ? MORTISE_PAGES : 0);
}

static int call_session(struct call_command *run, mortise_json params, mortise_error *err)
{
	run->session.method = run->method;
	run->session.params = params;
	run->session.timeout_ms = run->runner.timeout_ms;
	run->session.flags = call_flags(run);
	if (run->runner.record) {
		run->session.on_frame = mor_runner_record_frame;
		run->session.frame_arg = run->runner.record;
	} else if (run->args->plugin.show_wire) {
		run->session.on_frame = mor_show_frame;
		run->session.frame_arg = run->cli->console;
	}
	run->session.on_reply = on_reply;
	run->session.arg = run;
	return mor_session_call(run->cli->console, &run->session, err);
}

/* on_reply has reported any error of the call itself. An error here is our own. */
static int call_once(struct call_command *run, mortise_error *err)
{
	mortise_call_options opt = {
		.size = sizeof(opt),
		.timeout_ms = run->runner.timeout_ms,
		.flags = call_flags(run),
		.on_reply = on_reply,
		.arg = run,
	};
	mortise_json params = { run->words.json.len ? run->words.json.data : NULL, run->words.json.len };
	int r;

	run->begun_ms = mor_clock_ms();
	if (run->session.name)
		return call_session(run, params, err);
	if ((r = mortise_call_start(run->plugin, run->method, params, &opt, &run->call, err)) < 0)
		return r;
	r = mor_runner_run(&run->runner, call_settled, run);
	if (run->call) {
		run->cancelled = true;
		mortise_call_cancel(run->call, NULL);
	}
	return r < 0 ? mor_fail(err, r, "interrupted") : 0;
}

/* The other params of the caller stay unchanged. */
static int next_page(struct call_command *run, mortise_error *err)
{
	struct mor_slice next = { run->asked.data + run->asked.len - 1 - run->next, run->next };
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = mor_buf_failed(&run->asked) ? run->asked.status : mor_doc_parse(next, 0, 0, &doc, err);

	run->next = 0;
	if (r == 0)
		r = mor_tree_merge(&run->words.params, mor_doc_root(doc));
	mor_buf_reset(&run->words.json, SIZE_MAX);
	if (r == 0)
		r = mor_tree_write(&run->words.params, &run->words.json);
	return r < 0 ? mor_fail_memory(err) : call_once(run, err);
}

static int call_and_stop(struct call_command *run, mortise_error *err)
{
	int r = call_once(run, err);

	while (r == 0 && run->next && !mor_out_broken(run->cli->console))
		r = next_page(run, err);
	if (run->plugin)
		mor_runner_stop_plugin(&run->runner, run->plugin);
	return r;
}

/* What its start has fixed. */
static bool is_fixed(const struct mor_plugin_args *args)
{
	return args->dialect || args->framing || args->set.count || args->config.count || args->env.count ||
	       args->network.count || args->clean_env || args->inherit_env || args->strict || args->confine ||
	       args->unconfined || args->pidns || args->level || args->on_denial;
}

static int record_session(struct call_command *run, mortise_error *err)
{
	const struct mor_plugin_args *args = &run->args->plugin;
	int r = mor_runner_record_open(run->cli->console, args->record, args->show_wire, &run->runner.record,
				       err);

	if (r == 0)
		mor_runner_record_begin(run->runner.record, mor_json_text(session_about(run, "/dialect"), NULL),
					mor_json_text(session_about(run, "/about/framing"), NULL));
	return r;
}

static int prepare_session(struct call_command *run, mortise_error *err)
{
	const struct mor_plugin_args *args = &run->args->plugin;

	run->session.name = run->typed + 1;
	run->runner.console = run->cli->console;
	run->runner.args = args;
	if (is_fixed(args))
		return mor_fail(err, MORTISE_EINVAL,
				"settings of %s were fixed when its session started; only --timeout, "
				"--show-wire, --record and the options of the call can be given here",
				run->typed);
	for (size_t i = 0; i < args->timeout.count; i++)
		if (!mor_parse_duration_ms(mor_slice_of(args->timeout.item[i]), &run->runner.timeout_ms))
			return mor_fail(err, MORTISE_EINVAL,
					"--timeout \"%s\": expected a duration, such as 500ms, 30s or 5m",
					args->timeout.item[i]);
	return args->record ? record_session(run, err) : 0;
}

/* All words are checked before anything runs. NO_RESTART: the user wants one call. If the plugin dies of it,
 * a restart after the error would be of no use. */
static int prepare_call(struct call_command *run, mortise_error *err)
{
	struct mor_signature signature = { 0 };
	mortise_plugin_options opt;
	const char *const *argv = NULL;
	int r;

	run->words.merged = run->args->pages;
	run->words.unchecked = run->args->unchecked;
	if ((r = mor_cli_arguments_begin(&run->words, run->cli, &run->typed, &argv, err)) < 0)
		return r;
	run->method = run->words.method;
	if (!run->method)
		return mor_fail(err, MORTISE_EINVAL, "name the METHOD to call");
	if ((r = find_signature(run, argv, &signature, err)) < 0 ||
	    (r = mor_cli_arguments_take(&run->words, signature, err)) < 0)
		return r;
	if (mor_session_is_meant(run->typed))
		return prepare_session(run, err);
	if ((r = mor_runner_open(&run->runner, run->cli->console, &run->args->plugin, NULL, err)) < 0)
		return r;
	if (!run->resolved) {
		*err = run->unresolved;
		return err->code;
	}
	if ((r = mor_runner_cap_greeting(&run->runner, run->resolved, err)) < 0)
		return r;
	mor_runner_plugin_options(&run->runner, run->typed, argv, &opt);
	opt.flags |= MORTISE_NO_RESTART;
	return mor_runner_plugin_new(&run->runner, &opt, run->resolved, &run->plugin, err);
}

static int call_run(struct mor_cli *cli)
{
	struct call_command run = { .cli = cli, .args = cli->args };
	mortise_error err = { 0 };
	int r = prepare_call(&run, &err);

	if (r == 0)
		r = call_and_stop(&run, &err);
	if (mor_signals_count())
		run.exit_code = mor_report_interrupted(cli->console, mor_signals_exit_code());
	else if (r < 0)
		run.exit_code = mor_report_cause(cli->console, &err);
	mortise_plugin_unref(run.plugin);
	mor_runner_close(&run.runner);
	mor_resolved_unref(run.resolved);
	mor_doc_free(run.about);
	mor_cli_arguments_fini(&run.words);
	mor_buf_fini(&run.asked);
	return run.exit_code;
}

const struct mor_cli_command mor_cli_command_call = {
	.row = MOR_CLI_ROW(call),
	.usage = "call PLUGIN METHOD [JSON | KEY=VALUE… | --KEY=VALUE… | VALUE…] [OPTION…]\n"
		 "call @SESSION METHOD [JSON | KEY=VALUE…] [OPTION…]\n"
		 "call METHOD [JSON | KEY=VALUE…] [OPTION…] -- COMMAND ARG…",
	.words = "plugin",
	.description =
		"Starts the plugin, greets it as its protocol says, calls METHOD, prints the result as JSON "
		"and\n"
		"stops the plugin politely. PLUGIN is a path, or the NAME[@RANGE] of an installed plugin "
		"(mortise\ninstall). @SESSION is a plugin that runs already (mortise session). "
		"Arguments:\n"
		"  JSON              an object or array; @FILE and - (stdin) are read\n"
		"  KEY=VALUE         VALUE is a JSON scalar if it parses as one, else a string\n"
		"  KEY:=JSON         any JSON; KEY:=@FILE reads it\n"
		"  KEY=@FILE         a file's text; KEY=@base64:FILE its bytes\n"
		"  A.B=VALUE         a member of the object A\n"
		"  --KEY=VALUE       the same as KEY=VALUE, after METHOD; also --KEY VALUE, and --KEY for "
		"true\n"
		"  VALUE             the next parameter, where the manifest or the protocol's table lists "
		"them\n"
		"Parameters that are listed there are checked before the plugin starts. Options of this "
		"command win over\nparameters of the same name: write those as KEY=VALUE.",
	.examples = "mortise call build/plugins/elf-text extractor.supports mime_type=application/x-executable "
		    "extension=.elf\n"
		    "mortise call build/plugins/elf-text extractor.extract source.type=bytes "
		    "source.data=@base64:/bin/true\n"
		    "mortise call add numbers:=[1,2] -- examples/echo-plugin.py",
	.options = groups,
	.loose = true,
	MOR_CLI_ARGS(call_args),
	.run = call_run,
};
