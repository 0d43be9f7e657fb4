/* SPDX-License-Identifier: Apache-2.0 */
/* mortise record: a relay that writes down what passes. */
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/list.h"
#include "cli/cli.h"
#include "console/report.h"
#include "relay/relay.h"
#include "runner/runner.h"
#include "scribe/carry.h"

struct record_args {
	const char *output, *dialect, *framing;
	bool force;
	struct mor_text_list secret, keep;
	uint64_t limit;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct record_args, name)
static const struct mor_option record_options[] = {
	{ "output", 'o', "FILE", "write the conversation to FILE; %p in it becomes a process id", MOR_OPT_TEXT,
	  FIELD(output), NULL },
	{ "force", 0, NULL, "replace FILE if it is there", MOR_OPT_FLAG, FIELD(force), NULL },
	{ "dialect", 'd', "DIALECT", "protocol; default: the manifest's, else as the first message shows",
	  MOR_OPT_TEXT, FIELD(dialect), NULL },
	{ "framing", 0, "FRAMING", "framing of messages; default: found from the first message", MOR_OPT_TEXT,
	  FIELD(framing), "lines|headers|be32|decimal" },
	{ "secret", 0, "NAME", "members of this name are secret too; may be repeated", MOR_OPT_LIST,
	  FIELD(secret), NULL },
	{ "keep", 0, "NAME", "members of this name are not secret; may be repeated", MOR_OPT_LIST, FIELD(keep),
	  NULL },
	{ "limit", 0, "SIZE", "leave out messages larger than SIZE; default: 16M", MOR_OPT_BYTES, FIELD(limit),
	  NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", record_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* One run of `mortise record`. */
struct recording {
	struct mor_cli *cli;
	char *path;
	struct mor_scribe_relay relay;
	bool armed; /* the timer (relay.guest.fd) runs: it will write */
	bool told;
};

/* ---- what passes ---- */

/* A full disk is no reason to end the conversation. */
static void tell_failure(struct recording *run)
{
	if (!run->relay.scribe.failed || run->told)
		return;
	run->told = true;
	mor_note(run->cli->console, "warning: %s: %s: the recording ends here; the conversation goes on",
		 run->path, strerrordesc_np(run->relay.scribe.failed));
}

/* A wait with a time limit would start a timer of the kernel for each message: this one is started once per
 * millisecond. Without it, the wait has its limit. */
static bool arm_timer(struct recording *run, int ms)
{
	struct itimerspec when = { .it_value.tv_nsec = ms * 1000000L };

	return run->relay.guest.fd >= 0 && timerfd_settime(run->relay.guest.fd, 0, &when, NULL) == 0;
}

static void write_down(struct mor_relay_guest *guest)
{
	struct recording *run = mor_container_of(guest, struct recording, relay.guest);
	int wait;

	if (run->armed && run->relay.scribe.text.len < MOR_SCRIBE_FULL)
		return;
	wait = mor_scribe_turn(&run->relay.scribe);
	if (wait >= 0 && !run->armed)
		run->armed = arm_timer(run, wait);
	run->relay.wait_ms = run->armed ? -1 : wait;
	tell_failure(run);
}

static void write_in_time(struct mor_relay_guest *guest)
{
	struct recording *run = mor_container_of(guest, struct recording, relay.guest);
	uint64_t count;

	if (read(guest->fd, &count, sizeof(count)) < 0)
		return;
	run->armed = false;
	mor_scribe_flush(&run->relay.scribe);
}

/* ---- the report ---- */

static void report_recording(struct recording *run)
{
	struct mor_console *console = run->cli->console;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_writer w = { .out = &text };
	uint64_t to_plugin = run->relay.scribe.side[0].messages, to_host = run->relay.scribe.side[1].messages;

	if (console->json) {
		mor_w_object(&w);
		mor_w_pair(&w, "file", run->path);
		mor_w_pair_int(&w, "messages_to_plugin", (int64_t)to_plugin);
		mor_w_pair_int(&w, "messages_to_host", (int64_t)to_host);
		mor_w_pair_bool(&w, "complete", !run->relay.scribe.failed);
		mor_w_end(&w);
	} else if (console->verbose) {
		mor_buf_printf(&text, "record: %llu messages to the plugin, %llu from it, in %s",
			       (unsigned long long)to_plugin, (unsigned long long)to_host, run->path);
	} else {
		return;
	}
	mor_note_slice(console, mor_buf_view(&text));
}

/* ---- the run ---- */

static int check_args(struct mor_cli *cli, mortise_error *err)
{
	const struct record_args *args = cli->args;

	if (cli->words.count)
		return mor_fail(err, MORTISE_EINVAL, "record takes one PLUGIN; \"%s\" is one word too many",
				cli->words.item[0]);
	if (!args->output)
		return mor_fail(err, MORTISE_EINVAL, "name the file to write: -o FILE");
	if (args->dialect && !mor_runner_dialect_exists(args->dialect))
		return mor_runner_dialect_unknown(args->dialect, err);
	return 0;
}

/* The file comes first: a plugin that has been started would see the failure. */
static int start_recording(struct recording *run, const char *path, const char *const *argv, mortise_error *err)
{
	const struct record_args *args = run->cli->args;
	struct mor_scribe_options opt = { .dialect = args->dialect,
					  .framing = mor_framing_by_name(args->framing),
					  .limit = args->limit,
					  .secrets = args->secret.item,
					  .keep = args->keep.item };
	int fd, r;

	run->path = mor_scribe_path(args->output);
	if (!run->path)
		return mor_fail_memory(err);
	if ((fd = mor_scribe_create(run->path, args->force, "to replace it, add --force", err)) < 0)
		return fd;
	if ((r = mor_relay_start(path, argv, true, &run->relay.plugin, err)) < 0) {
		mor_fd_close(&fd);
		unlink(run->path);
		return r;
	}
	if (!opt.dialect)
		opt.dialect = run->relay.plugin.dialect;
	if (opt.framing < 0)
		opt.framing = run->relay.plugin.framing;
	mor_scribe_open(&run->relay.scribe, fd, &opt);
	return 0;
}

/* Nobody would know why nothing happens. */
static void tell_waiting(const struct recording *run)
{
	if (isatty(STDIN_FILENO))
		mor_note(run->cli->console,
			 "record: the plugin runs and waits for messages on stdin, which is this terminal; a "
			 "host should start this command instead of the plugin (Ctrl-D ends it; 'mortise call "
			 "--record FILE' calls the plugin and records)");
}

static int finish_recording(struct recording *run, mortise_error *err)
{
	int status;

	tell_waiting(run);
	run->relay.wait_ms = -1;
	run->relay.guest.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	run->relay.guest.on_ready = write_in_time;
	run->relay.guest.on_turn = write_down;
	status = mor_scribe_relay_carry(&run->relay);
	mor_fd_close(&run->relay.guest.fd);
	mor_scribe_flush(&run->relay.scribe);
	tell_failure(run);
	report_recording(run);
	mor_scribe_relay_fini(&run->relay);
	if (status < 0)
		mor_fail(err, status, "the plugin was killed: %s",
			 status == MORTISE_ENOMEM ? mortise_status_text(status) : "poll() failed");
	return status;
}

static int record_run(struct mor_cli *cli)
{
	struct recording run = { .cli = cli };
	const char *const *argv = NULL;
	const char *path = NULL;
	mortise_error err = { 0 };
	int r = mor_cli_target_bare(cli, &path, &argv, &err);

	mor_scribe_relay_init(&run.relay);
	if (r == 0)
		r = check_args(cli, &err);
	if (r == MORTISE_EINVAL)
		return mor_report_usage(cli->console, &err);
	if (r == 0)
		r = start_recording(&run, path, argv, &err);
	if (r == 0)
		r = finish_recording(&run, &err);
	mor_free(run.path);
	return r < 0 ? mor_report_error(cli->console, &err) : mor_relay_end_as(r);
}

const struct mor_cli_command mor_cli_command_record = {
	.row = MOR_CLI_ROW(record),
	.usage = "record -o FILE [OPTION…] PLUGIN\nrecord -o FILE [OPTION…] -- COMMAND [ARG…]",
	.words = "file",
	.description =
		"Give a host this command line instead of the plugin's. Everything passes through here, "
		"unchanged: stdin\n"
		"to the plugin, its stdout and stderr, closed ends, signals, the exit status. What passes is "
		"written to\n"
		"FILE as it goes, as a .talk file: a text that people can read and 'mortise replay' can play. "
		"Values of\n"
		"members that are called token, password, api_key and the like are left out (mortise-record(1) "
		"has the list).",
	.examples = "mortise call echo x=1 -- mortise record -o echo.talk -- examples/echo-plugin.py\n"
		    "mortise record -o 'session-%p.talk' --secret pin -- ./my-plugin\n"
		    "mortise replay echo.talk examples/echo-plugin.py",
	.options = groups,
	MOR_CLI_ARGS(record_args),
	.run = record_run,
};
