/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise tap: shows a conversation. Of a file, which somebody else may still be writing; or of a plugin behind
 * our own relay: then stdin and stdout are the wire, and the view is on the terminal itself.
 */
#include "tap/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/list.h"
#include "cli/cli.h"
#include "console/report.h"
#include "console/signals.h"
#include "scribe/carry.h"

struct tap_args {
	const char *output, *filter;
	bool follow, plain;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct tap_args, name)
static const struct mor_option tap_options[] = {
	{ "filter", 0, "METHOD", "show only messages whose method contains METHOD, and their replies",
	  MOR_OPT_TEXT, FIELD(filter), NULL },
	{ "follow", 'f', NULL, "without a terminal: wait for more, until the plugin has ended", MOR_OPT_FLAG,
	  FIELD(follow), NULL },
	{ "plain", 0, NULL, "print lines, on a terminal too", MOR_OPT_FLAG, FIELD(plain), NULL },
	{ "output", 'o', "FILE", "show it in FILE, which may be a terminal (/dev/pts/3)", MOR_OPT_TEXT,
	  FIELD(output), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", tap_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* One run of `mortise tap`. */
struct tapping {
	struct mor_cli *cli;
	struct mor_tap tap;
	int view;                  /* where it is shown; a descriptor of our own */
	struct mor_screen *screen; /* NULL: lines are printed */
	uint64_t printed;          /* rows */
	bool color;
	/* behind a relay: */
	int store;
	struct mor_scribe_relay relay;
	mortise_error error;
};

/* ---- lines ---- */

static void print_rows(struct tapping *run)
{
	const struct tap_args *args = run->cli->args;
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	if (run->printed < run->tap.dropped)
		run->printed = run->tap.dropped;
	for (; run->printed < run->tap.dropped + run->tap.count; run->printed++) {
		const struct mor_tap_row *row = &run->tap.row[run->printed - run->tap.dropped];

		if (!mor_tap_passes(row, args->filter))
			continue;
		if (run->cli->console->json)
			mor_tap_show_json(&run->tap, row, &out);
		else
			mor_tap_show(&run->tap, row, 0, run->color, &out);
		mor_buf_byte(&out, '\n');
	}
	/* A reader that is gone is no reason to end a conversation that passes through here. */
	if (out.len && run->view >= 0 && mor_fd_write_all(run->view, out.data, out.len) < 0)
		mor_fd_close(&run->view);
}

/* Shows what is new. Returns the longest wait, -1: any. */
static int show_new(struct tapping *run)
{
	int r = run->error.code ? 0 : mor_tap_read(&run->tap, &run->error);

	if (r < 0)
		return -1;
	if (run->screen)
		return mor_screen_draw(run->screen);
	print_rows(run);
	return -1;
}

static int open_view(struct tapping *run, const char *path, int fallback, mortise_error *err)
{
	const struct tap_args *args = run->cli->args;
	bool terminal;

	if (path)
		run->view = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC, 0600);
	if (path && run->view < 0 && fallback < 0)
		return mor_fail_errno(err, MORTISE_EINPUT, errno, "%s", path);
	if (run->view < 0)
		run->view = fcntl(fallback, F_DUPFD_CLOEXEC, 3);
	terminal = isatty(run->view);
	run->color = terminal && !getenv("NO_COLOR");
	if (!terminal || args->plain || run->cli->console->json)
		return 0;
	run->screen = mor_screen_new(&run->tap, run->view, run->color, args->filter);
	return run->screen ? 0 : mor_fail_memory(err);
}

static void close_view(struct tapping *run)
{
	run->screen = mor_screen_free(run->screen);
	mor_fd_close(&run->view);
}

/* ---- a file ---- */

static bool wants_more(const struct tapping *run)
{
	const struct tap_args *args = run->cli->args;

	if (run->error.code || mor_signals_count() || run->view < 0)
		return false;
	if (run->screen)
		return !mor_screen_left(run->screen);
	return args->follow && !run->tap.over;
}

/* Signals that end us come only while we wait: none is lost between a look at their count and the wait. */
static void hold_signals(sigset_t *ret_waiting)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, ret_waiting);
	sigaddset(ret_waiting, SIGWINCH); /* the screen reads it from a descriptor */
}

/* Waits for a key, for the file to grow, or for the time to draw. */
static void await_change(struct tapping *run, int inotify, int wait_ms, const sigset_t *waiting)
{
	struct timespec limit = { .tv_nsec = wait_ms * 1000000L };
	struct pollfd fd[2] = { { inotify, POLLIN, 0 },
				{ run->screen ? mor_screen_fd(run->screen) : -1, POLLIN, 0 } };
	char events[4096];

	if (ppoll(fd, 2, wait_ms < 0 ? NULL : &limit, waiting) <= 0)
		return;
	if (fd[0].revents)
		(void)!read(inotify, events, sizeof(events));
	if (fd[1].revents)
		mor_screen_wake(run->screen);
}

/* The watch comes before the first look: nothing that is written in between is lost. */
static int tap_file(struct tapping *run, const char *path, mortise_error *err)
{
	const struct tap_args *args = run->cli->args;
	int fd = open(path, O_RDONLY | O_CLOEXEC), notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), r = 0;
	struct stat st;
	sigset_t waiting;

	hold_signals(&waiting);
	if (fd < 0)
		r = mor_fail_errno(err, errno == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, errno, "%s",
				   path);
	else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		r = mor_fail(err, MORTISE_EINPUT, "%s is not a file", path);
	else if (notify < 0 || inotify_add_watch(notify, path, IN_MODIFY) < 0)
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "watching %s", path);
	mor_tap_init(&run->tap, fd);
	if (r == 0)
		r = open_view(run, args->output, args->output ? -1 : STDOUT_FILENO, err);
	if (r == 0) {
		int wait_ms = show_new(run);

		while (wants_more(run)) {
			await_change(run, notify, wait_ms, &waiting);
			wait_ms = show_new(run);
		}
	}
	close_view(run);
	mor_tap_fini(&run->tap);
	mor_fd_close(&notify);
	mor_fd_close(&fd);
	if (r == 0 && run->error.code) {
		*err = run->error;
		mor_fail_prefix(err, path);
		r = err->code;
	}
	return r < 0 ? r : mor_signals_count() ? mor_signals_exit_code() : 0;
}

/* ---- a plugin behind our relay ---- */

/* Who leaves the view leaves the conversation alone. */
static void see_keys(struct mor_relay_guest *guest)
{
	struct tapping *run = mor_container_of(guest, struct tapping, relay.guest);

	mor_screen_wake(run->screen);
	if (!mor_screen_left(run->screen))
		return;
	close_view(run);
	guest->fd = -1;
}

static void show_passed(struct mor_relay_guest *guest)
{
	struct tapping *run = mor_container_of(guest, struct tapping, relay.guest);

	run->relay.wait_ms = mor_scribe_turn(&run->relay.scribe);
	if (run->view >= 0)
		run->relay.wait_ms = mor_clock_sooner(run->relay.wait_ms, show_new(run));
}

/* Without a terminal, lines on stderr: stdout is the wire. */
static int start_tapping(struct tapping *run, const char *path, const char *const *argv, mortise_error *err)
{
	const struct tap_args *args = run->cli->args;
	const char *dir = getenv("TMPDIR");
	int r;

	run->store = mor_fd_unnamed(dir && *dir ? dir : "/tmp");
	if (run->store < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -run->store, "a place for the conversation");
	mor_tap_init(&run->tap, run->store);
	if ((r = mor_relay_start(path, argv, true, &run->relay.plugin, err)) < 0)
		return r;
	mor_scribe_open(&run->relay.scribe, fcntl(run->store, F_DUPFD_CLOEXEC, 3),
			&(struct mor_scribe_options){ .dialect = run->relay.plugin.dialect,
						      .framing = run->relay.plugin.framing });
	return open_view(run, args->output ? args->output : "/dev/tty", args->output ? -1 : STDERR_FILENO, err);
}

static int tap_plugin(struct tapping *run, const char *path, const char *const *argv, mortise_error *err)
{
	int r = start_tapping(run, path, argv, err), status;

	if (r < 0)
		return r;
	run->relay.guest.fd = run->screen ? mor_screen_fd(run->screen) : -1;
	run->relay.guest.on_ready = see_keys;
	run->relay.guest.on_turn = show_passed;
	status = mor_scribe_relay_carry(&run->relay);
	mor_scribe_relay_fini(&run->relay);
	if (run->view >= 0)
		(void)show_new(run);
	close_view(run);
	mor_tap_fini(&run->tap);
	mor_fd_close(&run->store);
	if (status < 0)
		return mor_fail(err, status, "the plugin was killed: %s", mortise_status_text(status));
	return mor_relay_end_as(status);
}

static int tap_run(struct mor_cli *cli)
{
	struct tapping run = { .cli = cli, .view = -1, .store = -1 };
	mortise_error err = { 0 };
	int r;

	mor_scribe_relay_init(&run.relay);
	if (cli->words.count > 1 || (cli->words.count && cli->words.tail) ||
	    (!cli->words.count && !(cli->words.tail && cli->words.tail[0])))
		r = mor_fail(&err, MORTISE_EINVAL, "name one .talk FILE, or write a command after \"--\"");
	else if (cli->words.count)
		r = tap_file(&run, cli->words.item[0], &err);
	else
		r = tap_plugin(&run, NULL, cli->words.tail, &err);
	return r < 0 ? mor_report_cause(cli->console, &err) : r;
}

const struct mor_cli_command mor_cli_command_tap = {
	.row = MOR_CLI_ROW(tap),
	.usage = "tap [OPTION…] FILE\ntap [OPTION…] -- COMMAND [ARG…]",
	.words = "file",
	.description =
		"One line per message: time, direction, kind, method, id, latency of a reply, size. FILE is a "
		".talk file,\n"
		"which 'mortise record' may be writing in another terminal: new messages appear as they come. "
		"With a\n"
		"command, tap stands between host and plugin as record does, and shows what passes on the "
		"terminal itself\n"
		"(/dev/tty), or in the file of -o; without either, on stderr.\n"
		"Keys: Enter shows a message in full, / filters by method, p pauses, f follows, q quits; "
		"arrows and j k g G\n"
		"move. Where there is no terminal, lines are printed.",
	.examples = "mortise tap session.talk\n"
		    "mortise tap --json session.talk | jq 'select(.latency_ms > 100)'\n"
		    "mortise call echo x=1 -- mortise tap -o echo.log -- examples/echo-plugin.py",
	.options = groups,
	MOR_CLI_ARGS(tap_args),
	.run = tap_run,
};
