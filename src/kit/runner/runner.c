/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns command-line options into a host and its plugins. An option with a name in mortise.toml becomes a
 * setting, so that there is only one way to configure the library.
 */
#include "runner/runner.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "console/args.h"
#include "console/report.h"
#include "console/signals.h"
#include "door/door.h"
#include "runner/network.h"
#include "runner/record.h"
#include "runner/show.h"

/* ---- from options to settings ---- */

/* "section." and the rest are joined here. The text lives as long as the runner. */
int mor_runner_set(struct mor_runner *s, const char *section, const char *rest, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	char *setting;

	mor_buf_printf(&text, "%s%s", section, rest);
	setting = mor_buf_detach(&text);
	if (mor_text_list_add_take(&s->owned, setting) < 0 || mor_text_list_add(&s->set, setting) < 0)
		return mor_fail_memory(err);
	return 0;
}

/* --timeout 30s is the call's own; --timeout METHOD=30s is a setting. */
static int take_timeout(struct mor_runner *s, const char *word, mortise_error *err)
{
	const char *equals = strrchr(word, '=');
	uint32_t ms;

	if (!mor_parse_duration_ms(mor_slice_of(equals ? equals + 1 : word), &ms) || ms == 0 || equals == word)
		return mor_fail(err, MORTISE_EINVAL,
				"--timeout \"%s\": expected [METHOD=]DURATION, such as 500ms, 30s or 5m", word);
	if (equals)
		return mor_runner_set(s, "timeouts.", word, err);
	s->timeout_ms = ms;
	return 0;
}

static int take_network(struct mor_runner *s, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf value = MOR_BUF_INIT;
	int r = mor_network_value(&s->args->network, &value, err);

	if (r < 0 || !s->args->network.count)
		return r;
	return mor_buf_byte(&value, '\0') < 0 ? mor_fail_memory(err) :
						mor_runner_set(s, "sandbox.network=", value.data, err);
}

/* --unconfined is always accepted and always warns: a person who reads the log later must see it. */
static int take_sandbox(struct mor_runner *s, mortise_error *err)
{
	const struct mor_plugin_args *args = s->args;
	int r = 0;

	if (args->unconfined) {
		mor_note(s->console,
			 "%swarning%s: --unconfined: no permission of the plugin is enforced; it may do "
			 "whatever you may",
			 mor_style_err(s->console, MOR_STYLE_WARN), mor_style_err_end(s->console));
		r = mor_runner_set(s, "sandbox.", "unconfined=true", err);
	}
	if (args->confine && !args->level)
		r = r < 0 ? r : mor_runner_set(s, "sandbox.", "level=auto", err);
	if (args->level)
		r = r < 0 ? r : mor_runner_set(s, "sandbox.level=", args->level, err);
	if (args->on_denial)
		r = r < 0 ? r : mor_runner_set(s, "sandbox.on_denial=", args->on_denial, err);
	if (args->pidns)
		r = r < 0 ? r : mor_runner_set(s, "sandbox.", "pidns=true", err);
	return r < 0 ? r : take_network(s, err);
}

/* --set comes first, then the options that stand for a setting, so that --timeout wins over --set. */
static int take_settings(struct mor_runner *s, mortise_error *err)
{
	const struct mor_plugin_args *args = s->args;
	/* as it was typed: relative to our directory, and not to the plugin's as in its mortise.toml */
	MOR_CLEAN_TEXT char *proto = args->proto ? mor_path_absolute(args->proto) : NULL;
	int r = 0;

	for (size_t i = 0; i < args->set.count && r == 0; i++) {
		const char *dot = strchr(args->set.item[i], '.'), *equals = strchr(args->set.item[i], '=');

		if (!dot || !equals || equals < dot || dot == args->set.item[i])
			return mor_fail(err, MORTISE_EINVAL, "--set \"%s\": expected SECTION.KEY=VALUE",
					args->set.item[i]);
		r = mor_text_list_add(&s->set, args->set.item[i]);
	}
	if (r < 0 || (args->proto && !proto))
		return mor_fail_memory(err);
	if (args->framing)
		r = mor_runner_set(s, "plugin.framing=", args->framing, err);
	if (r == 0 && proto)
		r = mor_runner_set(s, "grpc.proto=", proto, err);
	for (size_t i = 0; i < args->timeout.count && r == 0; i++)
		r = take_timeout(s, args->timeout.item[i], err);
	return r < 0 ? r : take_sandbox(s, err);
}

/* No --config is not the same as {}: without it, only the configuration files decide. */
static int take_config(struct mor_runner *s, mortise_error *err)
{
	MOR_CLEAN(mor_tree) struct mor_tree tree = { 0 };
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	int r = 0;

	if (s->args->config.count == 0)
		return 0;
	for (size_t i = 0; i < s->args->config.count && r == 0; i++)
		r = mor_args_config(&tree, s->args->config.item[i], err);
	if (r < 0)
		return r;
	mor_tree_write(&tree, &json);
	s->config = mor_buf_detach(&json);
	return s->config ? 0 : mor_fail_memory(err);
}

/* Checked before a host exists, so that a typing mistake costs nothing. */
static int check_env(const struct mor_plugin_args *args, mortise_error *err)
{
	if (args->clean_env && args->inherit_env)
		return mor_fail(err, MORTISE_EINVAL, "--clean-env and --inherit-env cannot be used together");
	for (size_t i = 0; i < args->env.count; i++)
		if (*args->env.item[i] == '=' || *args->env.item[i] == '\0')
			return mor_fail(err, MORTISE_EINVAL, "--env \"%s\": expected NAME or NAME=VALUE",
					args->env.item[i]);
	if (args->confine && args->level && strcmp(args->level, "guarded") == 0)
		return mor_fail(err, MORTISE_EINVAL, "--confine and --level guarded cannot be used together");
	if (args->dialect && !mor_runner_dialect_exists(args->dialect))
		return mor_runner_dialect_unknown(args->dialect, err);
	return 0;
}

/* ---- life ---- */

static void on_event(const mortise_event *event, void *arg)
{
	struct mor_runner *runner = arg;

	mor_runner_record_event(runner->record, event);
	mor_show_event(event, runner->console);
}

int mor_runner_open(struct mor_runner *runner, struct mor_console *console, const struct mor_plugin_args *args,
		    const char *const *defaults, mortise_error *err)
{
	mortise_host_options opt = {
		.size = sizeof(opt), .on_event = on_event, .arg = runner, .flags = MORTISE_COMMAND_WORDS
	};
	const char *spin = getenv("MORTISE_SPIN");
	int r;

	if (spin && spin[0] == '0')
		opt.flags |= MORTISE_NO_SPIN;

	*runner = (struct mor_runner){ .console = console, .args = args };
	console->strict = args->strict;
	r = check_env(args, err);
	for (; r == 0 && defaults && *defaults; defaults++)
		r = mor_runner_set(runner, "", *defaults, err);
	if (r < 0 || (r = take_settings(runner, err)) < 0 || (r = take_config(runner, err)) < 0 ||
	    (r = mortise_host_new(&opt, &runner->host, err)) < 0)
		return r;
	if (args->record) {
		r = mor_runner_record_open(console, args->record, args->show_wire, &runner->record, err);
		if (r < 0)
			return r;
		mortise_host_set_tap(runner->host, mor_runner_record_frame, runner->record, NULL);
	} else if (args->show_wire)
		mortise_host_set_tap(runner->host, mor_show_frame, console, NULL);
	mor_signals_host(runner->host);
	return 0;
}

/* Works also after mor_runner_open() has failed, or was never called. */
void mor_runner_close(struct mor_runner *runner)
{
	mor_signals_host(NULL);
	runner->host = mortise_host_free(runner->host);
	mor_runner_record_close(runner->record);
	mor_text_list_free_texts(&runner->owned);
	mor_free(runner->set.item);
	mor_free(runner->config);
}

int mor_runner_resolve(const struct mor_plugin_args *args, const char *path, const char *const *argv,
		       struct mor_resolved **ret, mortise_error *err)
{
	mortise_plugin_options opt = {
		.path = path, .argv = argv, .dialect = args->dialect, .set = args->set.item
	};

	return mor_resolved_new(&opt, MOR_RESOLVED_MORE, ret, err);
}

#define NO_NETWORK "sandbox.network=false"

/* Otherwise the user has decided. */
static bool may_lack_network(const struct mor_runner *s, const char *path)
{
	return path && !s->args->unconfined && !s->args->network.count;
}

/* Only `mortise run` asks the user. With other commands the user has not seen what the plugin could send. */
static bool lacks_network(const struct mor_runner *s, const char *path, const struct mor_resolved *resolved)
{
	if (!may_lack_network(s, path) || !mor_network_withheld(resolved))
		return false;
	mor_note(s->console,
		 "%swarning%s: %s asks for the network, but nobody has granted it: it runs without "
		 "network ('mortise run' can grant it)",
		 mor_style_err(s->console, MOR_STYLE_WARN), mor_style_err_end(s->console), path);
	return true;
}

void mor_runner_plugin_options(struct mor_runner *runner, const char *path, const char *const *argv,
			       mortise_plugin_options *ret)
{
	const struct mor_plugin_args *args = runner->args;

	*ret = (mortise_plugin_options){
		.size = sizeof(*ret),
		.path = path,
		.argv = argv,
		.dialect = args->dialect,
		.env = args->env.item,
		.set = runner->set.item,
		.config = { runner->config, runner->config ? strlen(runner->config) : 0 },
		.on_event = on_event,
		.arg = runner,
		.flags = (args->strict ? MORTISE_STRICT : 0) | (args->clean_env ? MORTISE_CLEAN_ENV : 0) |
			 (args->inherit_env ? MORTISE_INHERIT_ENV : 0),
	};
}

int mor_runner_plugin_new(struct mor_runner *runner, const mortise_plugin_options *opt,
			  struct mor_resolved *resolved, mortise_plugin **ret, mortise_error *err)
{
	struct mor_resolved *own = NULL;
	int r = resolved ? mor_resolved_more(resolved, opt, err) : mor_resolved_new(opt, 0, &own, err);

	resolved = own ? own : resolved;
	if (r < 0 || !resolved)
		return r;
	if (lacks_network(runner, opt->path, resolved))
		r = mor_manifest_set(resolved->manifest, NO_NETWORK, err);
	if (r == 0)
		r = mor_door_plugin(resolved, runner->host, opt, ret, err);
	mor_resolved_unref(own);
	return r;
}

void mor_runner_pool_options(struct mor_runner *runner, const char *path, const char *const *argv,
			     const struct mor_resolved *resolved, mortise_plugin_options *ret)
{
	struct mor_resolved *own = NULL;

	/* Files that cannot be read are no error here: the pool will report them. */
	if (!resolved && may_lack_network(runner, path))
		(void)mor_runner_resolve(runner->args, path, NULL, &own, NULL);
	resolved = own ? own : resolved;
	if (resolved && lacks_network(runner, path, resolved))
		(void)mor_text_list_add(&runner->set, NO_NETWORK);
	mor_resolved_unref(own);
	mor_runner_plugin_options(runner, path, argv, ret);
}

/* A signal between the check of the count and the wait is not lost: its handler has made the host's
 * descriptor readable. */
int mor_runner_run(struct mor_runner *runner, mor_done_fn *done, void *arg)
{
	while (!done(arg)) {
		if (mor_signals_count() > 0)
			return MORTISE_ECANCELED;
		mortise_host_wait(runner->host, -1);
	}
	return 0;
}

/* True if nothing runs and nothing will start soon. */
static bool at_rest(mortise_plugin *plugin)
{
	int state = mortise_plugin_state(plugin);

	return state == MORTISE_STOPPED || state == MORTISE_FAILED;
}

static bool pool_at_rest(mortise_pool *pool)
{
	mortise_plugin *worker;

	for (uint32_t i = 0; (worker = mortise_pool_worker(pool, i)); i++)
		if (!at_rest(worker))
			return false;
	return true;
}

/* One of the two. */
struct stopped {
	mortise_plugin *plugin;
	mortise_pool *pool;
};

static void order_stop(const struct stopped *what, enum mortise_stop how)
{
	if (what->pool)
		mortise_pool_stop(what->pool, how, NULL);
	else
		mortise_plugin_stop(what->plugin, how, NULL);
}

/* ms: most plugins end sooner, and a line that is gone at once only disturbs. */
#define QUIET_WAIT_MS 400

/* No time limit of our own: the ladder ends in SIGKILL. A signal that came before counts as the first, so
 * that ^C during a call does not kill at once; a second one does, also where both came before. */
static void stop_and_wait(struct mor_runner *runner, const struct stopped *what)
{
	int seen = mor_signals_count() > 0;
	int64_t left, quiet_until = seen ? mor_clock_ms() + QUIET_WAIT_MS : 0; /* 0: nothing to say */

	order_stop(what, MORTISE_STOP_POLITE);
	while (what->pool ? !pool_at_rest(what->pool) : !at_rest(what->plugin)) {
		if (mor_signals_count() > seen) {
			seen = mor_signals_count();
			quiet_until = 0;
			order_stop(what, MORTISE_STOP_NOW);
		}
		left = quiet_until ? quiet_until - mor_clock_ms() : -1;
		if (quiet_until && left <= 0) {
			/* who has pressed Ctrl-C and sees nothing does not know that a second one helps */
			if (runner->console->err_terminal && !runner->console->json)
				mor_note(runner->console, "waiting for the plugin to end (Ctrl-C again: kill)");
			quiet_until = 0;
			left = -1;
		}
		mortise_host_wait(runner->host, (int)left);
	}
}

void mor_runner_stop_plugin(struct mor_runner *runner, mortise_plugin *plugin)
{
	stop_and_wait(runner, &(struct stopped){ .plugin = plugin });
}

void mor_runner_stop_pool(struct mor_runner *runner, mortise_pool *pool)
{
	stop_and_wait(runner, &(struct stopped){ .pool = pool });
}

/* ---- failures ---- */

int mor_runner_describe(mortise_plugin *plugin, struct mor_doc **ret, mortise_error *err)
{
	char *json = NULL;
	int r = mortise_plugin_describe(plugin, &json, NULL);

	if (r < 0)
		return mor_fail(err, r, "describe: %s", mortise_status_text(r));
	r = mor_doc_parse(mor_slice_of(json), MOR_JSON_NAN, 0, ret, err);
	mortise_free(json);
	return r;
}

/* Does `mortise info` list anything to call? Not for a plugin that says nothing about itself, nor if its
 * greeting was refused. */
static bool is_listed(mortise_plugin *plugin)
{
	static const char *const lists[] = { "/actions", "/interfaces", "/identity/commands" };
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	bool listed = false;

	if (mortise_plugin_state(plugin) == MORTISE_READY && mor_runner_describe(plugin, &doc, NULL) == 0)
		for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
			listed |= mor_json_size(mor_json_at(mor_doc_root(doc), lists[i])) > 0;
	return listed;
}

int mor_runner_report(const struct mor_runner *runner, const char *typed, const mortise_reply *reply)
{
	struct mor_report report = { .error = reply->error,
				     .data = reply->error_data,
				     .dialect = runner->args->dialect };

	if (reply->plugin && is_listed(reply->plugin))
		report.plugin = typed;
	return mor_report_fail(runner->console, &report);
}
