/* SPDX-License-Identifier: Apache-2.0 */
/* mortise jail: runs any program, confined like a plugin, with our stdin, stdout and stderr. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mortise/jail.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/jail.h"
#include "console/report.h"
#include "console/signals.h"
#include "policy/cgroup.h"
#include "policy/policy.h"
#include "runner/network.h"
#include "workspace/undo.h"

#define FIELD(name) offsetof(struct mor_jail_args, name)
static const struct mor_option jail_options[] = {
	{ "workspace", 'w', "DIR", "directory that it may read", MOR_OPT_TEXT, FIELD(workspace), NULL },
	{ "write", 0, NULL,
	  "it may write there too, except git directories and files that tools run by themselves", MOR_OPT_FLAG,
	  FIELD(write), NULL },
	{ "git", 0, NULL, "with --write: it may commit to git repositories there", MOR_OPT_FLAG, FIELD(git),
	  NULL },
	{ "unprotect", 0, "NAME",
	  "with --write: it may write NAME (.vscode, .envrc, .git ...); may be repeated", MOR_OPT_LIST,
	  FIELD(unprotect), NULL },
	{ "undo", 0, NULL, "undo what it wrote there if it fails", MOR_OPT_FLAG, FIELD(undo), NULL },
	{ "network", 0, "[=HOST:PORT,...]",
	  "it may connect to these places; without a list: use all of the network; may be repeated",
	  MOR_OPT_SOME, FIELD(network), NULL },
	{ "spawn", 0, NULL, "it may start programs, confined like itself", MOR_OPT_FLAG, FIELD(spawn), NULL },
	{ "read", 'r', "PATH", "file or directory that it may read; may be repeated", MOR_OPT_LIST, FIELD(read),
	  NULL },
	{ "plugin-dir", 0, "DIR", "directory that it came from: it may read it", MOR_OPT_TEXT,
	  FIELD(plugin_dir), NULL },
	{ "scratch", 0, "DIR", "its HOME and TMPDIR; default: a new directory that is removed at the end",
	  MOR_OPT_TEXT, FIELD(scratch), NULL },
	{ "limit", 'l', "NAME=VALUE",
	  "memory, cpu, files, file_size, wall, processes, threads or scratch_size; may be repeated",
	  MOR_OPT_LIST, FIELD(limit), NULL },
	{ "level", 0, "LEVEL", "auto (default), t0 or t1", MOR_OPT_TEXT, FIELD(level), "auto|t0|t1" },
	{ "on-denial", 0, "MODE",
	  "what it may not do fails (deny, the default) or kills it (kill, exit status 9)", MOR_OPT_TEXT,
	  FIELD(on_denial), "deny|kill" },
	{ "record-fd", 0, "FD", "write JSON records of denials and of the end to this open descriptor",
	  MOR_OPT_TEXT, FIELD(record), NULL },
	{ "pidns", 0, NULL, "a PID namespace at t0 too, or no start", MOR_OPT_FLAG, FIELD(pidns), NULL },
	{ "env", 'e', "NAME[=VALUE]", "environment variable for it; NAME alone: the value that mortise has",
	  MOR_OPT_LIST, FIELD(env), NULL },
	{ "learn", 0, NULL, "let it read and start anything, note what it needs, and write the smallest policy",
	  MOR_OPT_FLAG, FIELD(learn), NULL },
	{ "audit", 0, NULL, "the same report of what was denied, without allowing it", MOR_OPT_FLAG,
	  FIELD(audit), NULL },
	{ "output", 'o', "FILE", "with --learn, --audit: write the policy to this file, as [sandbox]",
	  MOR_OPT_TEXT, FIELD(output), NULL },
	{ "yes", 0, NULL, "with --learn: do not ask", MOR_OPT_FLAG, FIELD(yes), NULL },
	{ "landlock-abi", 0, "N", "for tests: use no more of Landlock than ABI N", MOR_OPT_UINT,
	  FIELD(landlock_abi), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", jail_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* ---- the policy as the library takes it ---- */

struct pairs {
	struct mor_text_list list; /* we own all strings in it */
	mortise_error *err;
};

static void pairs_fini(struct pairs *pairs)
{
	mor_text_list_free_texts(&pairs->list);
}

static int add_pair(struct pairs *pairs, const char *key, const char *value)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	char *pair;

	mor_buf_printf(&text, "%s=%s", key, value);
	pair = mor_buf_detach(&text);
	if (pair && mor_text_list_add(&pairs->list, pair) == 0)
		return 0;
	mor_free(pair);
	return mor_fail_memory(pairs->err);
}

/* Paths are relative to the directory where the user types them. A path that does not exist is a mistake of
 * the user. */
static int add_path(struct pairs *pairs, const char *option, const char *key, const char *path)
{
	char real[PATH_MAX];

	if (!path)
		return 0;
	if (!realpath(path, real))
		return mor_fail_errno(pairs->err, MORTISE_ENOTFOUND, errno, "--%s %s", option, path);
	return add_pair(pairs, key, real);
}

static int add_flag(struct pairs *pairs, const char *key, bool on)
{
	return on ? add_pair(pairs, key, "true") : 0;
}

static int add_network(struct pairs *pairs, const struct mor_text_list *words)
{
	MOR_CLEAN(mor_buf) struct mor_buf value = MOR_BUF_INIT;
	int r = mor_network_value(words, &value, pairs->err);

	if (r < 0 || !words->count)
		return r;
	return mor_buf_byte(&value, '\0') < 0 ? mor_fail_memory(pairs->err) :
						add_pair(pairs, "network", value.data);
}

static int add_limit(struct pairs *pairs, const char *word)
{
	const char *equals = strchr(word, '=');
	const struct mor_policy_key *key = mor_policy_keys;
	struct mor_slice name = { word, equals ? (size_t)(equals - word) : strlen(word) };

	while (key->name && !((key->flags & MOR_POLICY_LIMIT) && mor_slice_is(name, key->name)))
		key++;
	if (!equals || !key->name)
		return mor_fail(pairs->err, MORTISE_EINVAL,
				"--limit \"%s\": expected NAME=VALUE with memory, cpu, files, file_size, wall, "
				"processes, threads or scratch_size",
				word);
	return add_pair(pairs, key->name, equals + 1);
}

static int make_policy(const struct mor_jail_args *args, struct pairs *pairs)
{
	int r;

	if (args->write && !args->workspace)
		return mor_fail(pairs->err, MORTISE_EINVAL, "--write needs --workspace DIR");
	if ((args->git || args->unprotect.count) && !args->write)
		return mor_fail(pairs->err, MORTISE_EINVAL, "--%s needs --workspace DIR and --write",
				args->git ? "git" : "unprotect");
	if (args->undo && !args->write)
		return mor_fail(pairs->err, MORTISE_EINVAL, "--undo needs --workspace DIR and --write");
	if ((r = add_pair(pairs, "level", args->level ? args->level : "auto")) < 0 ||
	    (args->on_denial && (r = add_pair(pairs, "on_denial", args->on_denial)) < 0) ||
	    (r = add_path(pairs, "workspace", "workspace", args->workspace)) < 0 ||
	    (r = add_path(pairs, "plugin-dir", "plugin_dir", args->plugin_dir)) < 0 ||
	    (r = add_path(pairs, "scratch", "scratch", args->scratch)) < 0 ||
	    (r = add_flag(pairs, "workspace_write", args->write)) < 0 ||
	    (r = add_flag(pairs, "git", args->git)) < 0 || (r = add_network(pairs, &args->network)) < 0 ||
	    (r = add_flag(pairs, "spawn", args->spawn)) < 0 || (r = add_flag(pairs, "pidns", args->pidns)) < 0)
		return r;
	for (size_t i = 0; r == 0 && i < args->read.count; i++)
		r = add_path(pairs, "read", "read", args->read.item[i]);
	for (size_t i = 0; r == 0 && i < args->unprotect.count; i++)
		r = add_pair(pairs, "unprotect", args->unprotect.item[i]);
	for (size_t i = 0; r == 0 && i < args->limit.count; i++)
		r = add_limit(pairs, args->limit.item[i]);
	return r;
}

/* ---- the run ---- */

/* One of `mortise jail`. */
struct jail_call {
	struct mor_cli *cli;
	int record_fd;               /* -1: none */
	struct mor_learner *learner; /* NULL: nothing is learnt */
	struct mor_buf end;          /* the last record */
	struct mor_buf records;      /* those that wait for the reader of record_fd */
};

/* The first signal asks the program to end, the second kills it. */
static enum mortise_jail_order on_wakeup(void *arg)
{
	(void)arg;
	switch (mor_signals_count()) {
	case 0:
		return MORTISE_JAIL_GO_ON;
	case 1:
		return MORTISE_JAIL_TERM;
	default:
		return MORTISE_JAIL_KILL;
	}
}

/* ---- records ---- */

/* After a signal nobody waits longer than this for a reader. */
enum { READER_MS = 1000 };

static bool is_ready(int fd, bool wait)
{
	struct pollfd out = { .fd = fd, .events = POLLOUT };

	if (!wait)
		return poll(&out, 1, 0) > 0;
	return mor_signals_poll(&out, -1) > 0 || poll(&out, 1, READER_MS) > 0;
}

/* In pieces that a pipe that is ready takes without waiting. A reader that does not read must not hold up the
 * program's limits or our signals: so while it runs, what is not taken stays. */
static void put_records(struct jail_call *call, bool wait)
{
	size_t at = 0, len = mor_buf_failed(&call->records) ? 0 : call->records.len;

	while (call->record_fd >= 0 && at < len && is_ready(call->record_fd, wait)) {
		size_t piece = len - at < PIPE_BUF ? len - at : PIPE_BUF;
		ssize_t n = mor_fd_write_nosignal(call->record_fd, call->records.data + at, piece);

		if (n > 0)
			at += (size_t)n;
		else if (n != -EINTR && n != -EAGAIN)
			call->record_fd = -1;
	}
	mor_buf_consume(&call->records, at);
}

/* The last one is kept for --json. A user who asked for the records and does not read them any more has lost
 * them: that is no reason to stop. */
static void on_record(mortise_json record, void *arg)
{
	struct jail_call *call = arg;

	if (call->learner)
		mor_learner_take(call->learner, record);
	mor_buf_reset(&call->end, SIZE_MAX);
	mor_buf_append(&call->end, record.text, record.len);
	mor_buf_byte(&call->end, '\n');
	if (call->record_fd < 0 || mor_buf_failed(&call->end))
		return;
	mor_buf_slice(&call->records, mor_buf_view(&call->end));
	put_records(call, false);
}

/* Without --spawn the directories of other programs do not exist at t1, and a shell says only "not found". */
enum { SHELL_FOUND_NO_PROGRAM = 127, NO_JAIL = 125 };

static void note_end(struct mor_cli *cli, const char *name, const mortise_jail_result *result)
{
	const struct mor_jail_args *args = cli->args;

	if (result->denied_text[0])
		mor_note(cli->console, "denied: %s", result->denied_text);
	if (result->timed_out)
		mor_note(cli->console, "timeout: %s: it was stopped because its wall time was over", name);
	else if (result->limits[0])
		mor_note(cli->console, "limit: %s reached its limit of %s", name, result->limits);
	else if (cli->console->verbose && result->level[0] && !result->rule[0])
		mor_note(cli->console, "%s: ended with %d at level %s", name, result->exit_code, result->level);
	if (result->exit_code == SHELL_FOUND_NO_PROGRAM && result->level[0] && !args->spawn)
		mor_note(cli->console, "note: %s cannot start other programs: add --spawn to allow it", name);
}

/* stdout belongs to the program, so we write to stderr. */
static int report(struct jail_call *call, const char *name, const mortise_jail_result *result, int r,
		  const mortise_error *err)
{
	struct mor_console *console = call->cli->console;

	note_end(call->cli, name, result);
	if (r == MORTISE_EINVAL)
		return mor_report_usage(console, err);
	if (r < 0 && !result->level[0])
		return mor_report_fail(console,
				       &(struct mor_report){ .error = err, .exit_code = result->exit_code });
	if (r < 0)
		mor_report_line(console, &(struct mor_report){ .error = err });
	return result->exit_code;
}

/* A program can print lines like ours, but not as the last line of all. */
static void print_record(const struct jail_call *call, const mortise_jail_result *result)
{
	if (call->cli->console->json && result->level[0] && call->end.len)
		mor_note_slice(call->cli->console, (struct mor_slice){ call->end.data, call->end.len - 1 });
}

/* The store is made last, when everything else is known to be right. */
static int begin_undoing(struct mor_cli *cli, const char *name, struct mor_workspace_undoing *undoing,
			 struct pairs *pairs)
{
	const struct mor_jail_args *args = cli->args;
	char real[PATH_MAX];
	int r;

	if (!args->undo)
		return 0;
	if (!realpath(args->workspace, real))
		return mor_fail_errno(pairs->err, MORTISE_ENOTFOUND, errno, "--workspace %s", args->workspace);
	*undoing =
		(struct mor_workspace_undoing){ .console = cli->console, .without = "run it without --undo" };
	r = mor_workspace_undoing_begin(undoing, real, name, pairs->err);
	return r < 0 ? r : add_pair(pairs, "undo", mortise_undo_store(undoing->undo));
}

/* What was asked for and cannot hold here is told before it starts. */
static void warn_loose(struct mor_cli *cli, const struct mor_jail_args *args)
{
	struct mor_policy asked = { .level = MOR_LEVEL_AUTO, .spawn = args->spawn, .learn = args->learn };
	struct mor_cgroups found;
	const char *text;

	/* one that is no size or time is refused soon, and then nothing starts */
	for (const char *const *limit = args->limit.item; limit && *limit; limit++) {
		if (strncmp(*limit, "memory=", 7) == 0)
			mor_parse_bytes(mor_slice_of(*limit + 7), &asked.limits.memory_bytes);
		if (strncmp(*limit, "cpu=", 4) == 0)
			mor_parse_duration_ms(mor_slice_of(*limit + 4), &asked.limits.cpu_s);
	}
	if (!mor_cgroup_wanted(&asked))
		return;
	mor_cgroup_find_own(&found);
	for (size_t i = 0; (text = mor_cgroup_loose(&asked, mor_cgroup_held(&found), i)); i++)
		mor_note(cli->console, "warning: %s", text);
}

/* The descriptor must be open, and not become the program's: that could write records of its own. */
static int open_record(const char *text, int *ret, mortise_error *err)
{
	uint32_t fd;

	*ret = -1;
	if (!text)
		return 0;
	if (!mor_parse_u32(mor_slice_of(text), &fd) || fd > INT_MAX || fcntl((int)fd, F_GETFD) < 0)
		return mor_fail(err, MORTISE_EINVAL, "--record-fd %s: there is no such open descriptor", text);
	if (fd < 3)
		return mor_fail(err, MORTISE_EINVAL,
				"--record-fd %s: the program has this one too; use 3 or more", text);
	*ret = (int)fd;
	return 0;
}

/* Only of a program that has run. That the policy cannot be written is our failure, not the program's. */
static int tell_learnt(struct jail_call *call, const mortise_jail_result *result, int exit_code)
{
	mortise_error err = { 0 };

	if (!call->learner || !result->level[0] || mor_learner_tell(call->cli, call->learner, &err) == 0)
		return exit_code;
	mor_report_line(call->cli->console, &(struct mor_report){ .error = &err });
	return NO_JAIL;
}

static int jail_program(struct jail_call *call, const char *name, struct pairs *pairs)
{
	static const mortise_jail_result not_run = {
		.exit_code = NO_JAIL, .level = "", .rule = "", .limits = "", .denied_text = ""
	};
	const struct mor_jail_args *args = call->cli->args;
	const mortise_jail_result *result;
	mortise_jail_result *ran = NULL;
	__attribute__((cleanup(mor_workspace_undoing_fini))) struct mor_workspace_undoing undoing = { 0 };
	mortise_jail_options opt = { .size = sizeof(opt),
				     .name = name,
				     .argv = call->cli->words.tail,
				     .env = args->env.item,
				     .landlock_abi_cap = args->landlock_abi,
				     .flags = MORTISE_JAIL_COMMAND_WORDS |
					      (args->learn ? MORTISE_JAIL_LEARN : 0),
				     .on_wakeup = on_wakeup,
				     .on_record = on_record,
				     .arg = call };
	int r = begin_undoing(call->cli, name, &undoing, pairs);

	if (r == 0)
		/* needed for its wake-up: a signal ends the wait through it */
		r = mortise_host_new(NULL, &opt.host, pairs->err);
	if (r == 0) {
		opt.policy = pairs->list.item;
		warn_loose(call->cli, args);
		mor_signals_host(opt.host);
		r = mortise_jail_run(&opt, &ran, pairs->err);
		mor_signals_host(NULL);
		mortise_host_free(opt.host);
	}
	result = ran ? ran : &not_run;
	mor_workspace_undoing_end(&undoing, r < 0 || result->exit_code || result->timed_out);
	r = report(call, name, result, r, pairs->err);
	mor_workspace_undoing_tell(&undoing);
	r = tell_learnt(call, result, r);
	print_record(call, result);
	put_records(call, true);
	mortise_free(ran);
	return r;
}

static int jail_run(struct mor_cli *cli)
{
	const struct mor_jail_args *args = cli->args;
	mortise_error err = { 0 };
	__attribute__((cleanup(pairs_fini))) struct pairs pairs = { .err = &err };
	struct mor_learner learner;
	struct jail_call call = { .cli = cli };
	int exit_code;

	if (cli->words.count || !cli->words.tail || !cli->words.tail[0]) {
		mor_fail(&err, MORTISE_EINVAL,
			 "write the program after \"--\": mortise jail [OPTION...] -- PROGRAM [ARG...]");
		return mor_report_usage(cli->console, &err);
	}
	if (open_record(args->record, &call.record_fd, &err) < 0 || make_policy(args, &pairs) < 0 ||
	    mor_learner_begin(cli, &learner, &err) < 0)
		return err.code == MORTISE_EINVAL ? mor_report_usage(cli->console, &err) :
						    mor_report_error(cli->console, &err);
	call.learner = args->learn || args->audit ? &learner : NULL;
	exit_code = jail_program(&call, mor_base_name(cli->words.tail[0]), &pairs);
	mor_learn_fini(&learner.learn);
	mor_buf_fini(&call.end);
	mor_buf_fini(&call.records);
	return exit_code;
}

const struct mor_cli_command mor_cli_command_jail = {
	.row = MOR_CLI_ROW(jail),
	.usage = "jail [OPTION…] -- PROGRAM [ARG…]",
	.words = "file",
	.description =
		"PROGRAM may read the system's libraries and what the options name, nothing else. It has no "
		"network and\n"
		"cannot start programs unless an option allows it. What it tries beyond that fails, and one "
		"line at the\n"
		"end says what it was and which option would allow it. What no honest program tries kills it, "
		"and with\n"
		"--on-denial=kill so does everything else: exit status 9.\n"
		"Otherwise our exit status is the program's; 124: its wall limit was over; 125: the jail could "
		"not be set\n"
		"up, or the line is wrong; 126, 127: the program cannot be run, or was not found.",
	.examples = "mortise jail --workspace . -- python3 report.py\n"
		    "mortise jail -w . --write --limit cpu=30s --limit memory=1GiB -- ./indexer\n"
		    "mortise jail -w . --write --undo -- ./indexer\n"
		    "mortise jail --network=api.example.com:443 --read ~/.config/tool -- ./tool\n"
		    "mortise jail --learn --yes -w . -o policy.toml -- make test",
	.options = groups,
	.args_size = sizeof(struct mor_jail_args),
	.common = FIELD(common),
	.own_exit = NO_JAIL, /* nothing was run: no status that the program could have */
	.run = jail_run,
};
