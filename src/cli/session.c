/*
 * From the options of the command line to a host and its plugins. Options that have a name in mortise.toml
 * become settings, so that there is one way in which the library is configured, not two.
 */
#include "cli/session.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/network.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/watch.h"

#define FIELD(name) offsetof(struct mor_plugin_args, name)
const struct mor_option mor_plugin_option_table[] = {
	{ "dialect", 'd', "DIALECT",
	  "protocol to speak; default: the manifest's, else plain",
	  MOR_OPT_TEXT, FIELD(dialect), NULL },
	{ "framing", 0, "FRAMING",
	  "how messages are cut: lines, headers, be32 or decimal",
	  MOR_OPT_TEXT, FIELD(framing), "lines|headers|be32|decimal" },
	{ "config", 'c', "CONFIG",
	  "what the plugin is initialised with: FILE, JSON or KEY=VALUE; may be repeated",
	  MOR_OPT_LIST, FIELD(config), NULL },
	{ "set", 's', "SECTION.KEY=VALUE", "any setting of mortise.toml", MOR_OPT_LIST, FIELD(set), NULL },
	{ "env", 'e', "NAME[=VALUE]",
	  "environment variable for the plugin; NAME alone passes ours on",
	  MOR_OPT_LIST, FIELD(env), NULL },
	{ "clean-env", 0, NULL, "start it with a minimal environment", MOR_OPT_FLAG, FIELD(clean_env), NULL },
	{ "inherit-env", 0, NULL, "start it with our environment", MOR_OPT_FLAG, FIELD(inherit_env), NULL },
	{ "timeout", 't', "[METHOD=]DURATION",
	  "time limit of the call, or of one METHOD: 500ms, 30s, 5m",
	  MOR_OPT_LIST, FIELD(timeout), NULL },
	{ "confine", 0, NULL,
	  "confine it: files, network and programs only as [sandbox] permits",
	  MOR_OPT_FLAG, FIELD(confine), NULL },
	{ "level", 0, "LEVEL",
	  "how: auto, t0, t1, or guarded (not at all)",
	  MOR_OPT_TEXT, FIELD(level), "auto|t0|t1|guarded" },
	{ "pidns", 0, NULL, "run it in a PID namespace of its own, whatever the level", MOR_OPT_FLAG, FIELD(pidns), NULL },
	{ "unconfined", 0, NULL,
	  "enforce none of its permissions; warns every time",
	  MOR_OPT_FLAG, FIELD(unconfined), NULL },
	{ "strict", 0, NULL, "hold the plugin to the letter of its protocol", MOR_OPT_FLAG, FIELD(strict), NULL },
	{ "show-wire", 0, NULL,
	  "show each message on stderr: > to the plugin, < from it",
	  MOR_OPT_FLAG, FIELD(show_wire), NULL },
	{ 0 },
};

/* ---- what the options amount to ---- */

/* "section." and the rest of the text are put together here and live as long as the session. */
int mor_session_set(struct mor_session *s, const char *section, const char *rest, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	char *setting;

	mor_buf_printf(&text, "%s%s", section, rest);
	setting = mor_buf_detach(&text);
	if (!setting || mor_opt_list_add(&s->owned, setting) < 0) {
		mor_free(setting);
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	}
	return mor_opt_list_add(&s->set, setting) < 0 ? mor_fail(err, MORTISE_ENOMEM, "out of memory") : 0;
}

/* --timeout 30s is the call's own; --timeout METHOD=30s is a setting. */
static int take_timeout(struct mor_session *s, const char *word, mortise_error *err)
{
	const char *equals = strrchr(word, '=');
	uint32_t ms;

	if (!mor_parse_duration_ms(mor_slice_of(equals ? equals + 1 : word), &ms) || ms == 0 || equals == word)
		return mor_fail(err, MORTISE_EINVAL, "--timeout \"%s\": expected [METHOD=]DURATION, such as 500ms, 30s or 5m",
				word);
	if (equals)
		return mor_session_set(s, "timeouts.", word, err);
	s->timeout_ms = ms;
	return 0;
}

/* --unconfined is never refused, and never silent: whoever reads the log later must see it. */
static int take_sandbox(struct mor_session *s, mortise_error *err)
{
	const struct mor_plugin_args *args = s->args;
	int r = 0;

	if (args->unconfined) {
		mor_note(s->cli, "%swarning%s: --unconfined: nothing of the plugin's permissions is enforced; it may do whatever "
			 "you may", mor_style_err(s->cli, MOR_STYLE_WARN), mor_style_err_end(s->cli));
		r = mor_session_set(s, "sandbox.", "unconfined=true", err);
	}
	if (args->confine && !args->level)
		r = r < 0 ? r : mor_session_set(s, "sandbox.", "level=auto", err);
	if (args->level)
		r = r < 0 ? r : mor_session_set(s, "sandbox.level=", args->level, err);
	if (args->pidns)
		r = r < 0 ? r : mor_session_set(s, "sandbox.", "pidns=true", err);
	return r;
}

/* --set first, the options that stand for a setting after it: who types --timeout beside --set means it. */
static int take_settings(struct mor_session *s, mortise_error *err)
{
	const struct mor_plugin_args *args = s->args;
	int r = 0;

	for (size_t i = 0; i < args->set.count && r == 0; i++) {
		const char *dot = strchr(args->set.item[i], '.'), *equals = strchr(args->set.item[i], '=');

		if (!dot || !equals || equals < dot || dot == args->set.item[i])
			return mor_fail(err, MORTISE_EINVAL, "--set \"%s\": expected SECTION.KEY=VALUE", args->set.item[i]);
		r = mor_opt_list_add(&s->set, args->set.item[i]);
	}
	if (r < 0)
		return mor_fail(err, r, "out of memory");
	if (args->framing)
		r = mor_session_set(s, "plugin.framing=", args->framing, err);
	for (size_t i = 0; i < args->timeout.count && r == 0; i++)
		r = take_timeout(s, args->timeout.item[i], err);
	return r < 0 ? r : take_sandbox(s, err);
}

/* Nothing given is not the same as {}: then the configuration files alone decide. */
static int take_config(struct mor_session *s, mortise_error *err)
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
	return s->config ? 0 : mor_fail(err, MORTISE_ENOMEM, "out of memory");
}

/* Judged before a host exists, so that a slip of the pen costs nothing. */
static int check_env(const struct mor_plugin_args *args, mortise_error *err)
{
	if (args->clean_env && args->inherit_env)
		return mor_fail(err, MORTISE_EINVAL, "--clean-env and --inherit-env exclude each other");
	for (size_t i = 0; i < args->env.count; i++)
		if (*args->env.item[i] == '=' || *args->env.item[i] == '\0')
			return mor_fail(err, MORTISE_EINVAL, "--env \"%s\": expected NAME or NAME=VALUE", args->env.item[i]);
	if (args->confine && args->level && strcmp(args->level, "guarded") == 0)
		return mor_fail(err, MORTISE_EINVAL, "--confine and --level guarded exclude each other");
	if (args->dialect && !mor_dialect_exists(args->dialect))
		return mor_dialect_unknown(args->dialect, err);
	return 0;
}

/* ---- life ---- */

int mor_session_open(struct mor_session *session, struct mor_cli *cli, const struct mor_plugin_args *args,
		     const char *const *defaults, mortise_error *err)
{
	mortise_host_options opt = { .size = sizeof(opt), .on_event = mor_watch_event, .arg = cli };
	int r;

	*session = (struct mor_session){ .cli = cli, .args = args };
	cli->strict = args->strict;
	r = check_env(args, err);
	for (; r == 0 && defaults && *defaults; defaults++)
		r = mor_session_set(session, "", *defaults, err);
	if (r == 0)
		r = take_settings(session, err);
	if (r == 0)
		r = take_config(session, err);
	if (r == 0)
		r = mortise_host_new(&opt, &session->host, err);
	if (r < 0)
		return r;
	if (args->show_wire)
		mortise_host_set_tap(session->host, mor_watch_frame, cli);
	mor_signals_host(session->host);
	return 0;
}

/* Also after mor_session_open() has failed, and on a session that was never opened. */
void mor_session_close(struct mor_session *session)
{
	mor_signals_host(NULL);
	session->host = mortise_host_free(session->host);
	for (size_t i = 0; i < session->owned.count; i++)
		mor_free((char *)session->owned.item[i]);
	mor_free(session->owned.item);
	mor_free(session->set.item);
	mor_free(session->config);
}

/* Only `mortise run` asks; whoever else starts such a plugin has not been told what it could send. */
static void withhold_network(struct mor_session *s, const char *path)
{
	if (s->args->unconfined || !mor_network_withheld(path, s->args->dialect, s->set.item))
		return;
	if (mor_opt_list_add(&s->set, "sandbox.network=false") == 0)
		mor_note(s->cli, "%swarning%s: %s asks for the network, and nobody has granted it: it goes without ('mortise run' asks)",
			 mor_style_err(s->cli, MOR_STYLE_WARN), mor_style_err_end(s->cli), path);
}

void mor_session_plugin_options(struct mor_session *session, const char *path, const char *const *argv,
				mortise_plugin_options *ret)
{
	const struct mor_plugin_args *args = session->args;

	withhold_network(session, path);
	*ret = (mortise_plugin_options){
		.size = sizeof(*ret),
		.path = path,
		.argv = argv,
		.dialect = args->dialect,
		.env = args->env.item,
		.set = session->set.item,
		.config = { session->config, session->config ? strlen(session->config) : 0 },
		.on_event = mor_watch_event,
		.arg = session->cli,
		.flags = (args->strict ? MORTISE_STRICT : 0) | (args->clean_env ? MORTISE_CLEAN_ENV : 0) |
			 (args->inherit_env ? MORTISE_INHERIT_ENV : 0),
	};
}

/* A signal between the look at the count and the wait is not lost: its handler has made the host's
 * descriptor readable. */
int mor_session_run(struct mor_session *session, mor_done_fn *done, void *arg)
{
	while (!done(arg)) {
		if (mor_signals_count() > 0)
			return MORTISE_ECANCELED;
		mortise_host_wait(session->host, -1);
	}
	return 0;
}

/* Where nothing runs and nothing is about to. */
static bool at_rest(mortise_plugin *plugin)
{
	int state = mortise_plugin_state(plugin);

	return state == MORTISE_STOPPED || state == MORTISE_FAILED;
}

/* No time limit of our own: the ladder ends in SIGKILL. A signal that came before counts as the first, so
 * that ^C during a call does not kill at once. */
void mor_session_stop_plugin(struct mor_session *session, mortise_plugin *plugin)
{
	int seen = mor_signals_count();

	mortise_plugin_stop(plugin, MORTISE_STOP_POLITE);
	while (!at_rest(plugin)) {
		if (mor_signals_count() > seen) {
			seen = mor_signals_count();
			mortise_plugin_stop(plugin, MORTISE_STOP_NOW);
		}
		mortise_host_wait(session->host, -1);
	}
}

static bool pool_at_rest(mortise_pool *pool)
{
	mortise_plugin *worker;

	for (uint32_t i = 0; (worker = mortise_pool_worker(pool, i)); i++)
		if (!at_rest(worker))
			return false;
	return true;
}

void mor_session_stop_pool(struct mor_session *session, mortise_pool *pool)
{
	int seen = mor_signals_count();

	mortise_pool_stop(pool, MORTISE_STOP_POLITE);
	while (!pool_at_rest(pool)) {
		if (mor_signals_count() > seen) {
			seen = mor_signals_count();
			mortise_pool_stop(pool, MORTISE_STOP_NOW);
		}
		mortise_host_wait(session->host, -1);
	}
}

/* ---- which plugin ---- */

/* With a command after "--" all words are the command's own: there is no PLUGIN among them. */
int mor_session_target(struct mor_cli *cli, const char **ret_path, const char *const **ret_argv, mortise_error *err)
{
	struct mor_words *words = &cli->words;

	if (words->tail) {
		if (!words->tail[0])
			return mor_fail(err, MORTISE_EINVAL, "after \"--\" a command is expected");
		*ret_path = NULL;
		*ret_argv = words->tail;
		return 0;
	}
	if (words->count == 0)
		return mor_fail(err, MORTISE_EINVAL, "name a PLUGIN: a directory, a file, or a command after \"--\"");
	*ret_path = words->item[0];
	*ret_argv = NULL;
	memmove(words->item, words->item + 1, words->count * sizeof(*words->item));
	words->count--;
	return 0;
}
