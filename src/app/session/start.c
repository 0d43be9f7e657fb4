/* SPDX-License-Identifier: Apache-2.0 */
/* `mortise session start`: a child becomes the keeper, and the command waits for its first word. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "console/report.h"
#include "console/signals.h"
#include "runner/answer.h"
#include "session/inside.h"

/* ---- the keeper's process ---- */

/* A session of its own: no terminal can end it, and no group of the shell's holds it. Descriptors of the
 * program that called the command are not ours to keep open. */
static void become_keeper(struct mor_console *console, const struct mor_session_start *start, int starter)
{
	if (starter != STDERR_FILENO + 1 && dup3(starter, STDERR_FILENO + 1, O_CLOEXEC) < 0)
		_exit(1);
	close_range(STDERR_FILENO + 2, ~0U, 0);
	setsid();
	_exit(mor_session_keep(console, start, STDERR_FILENO + 1));
}

static void report_start(struct mor_console *console, const struct mor_session_start *start,
			 const struct mor_value *word)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	const char *plugin = mor_json_text(mor_json_get(word, "plugin"), "");
	char shown[100];

	if (!console->json) {
		mor_outf(console, "session %s: %s runs; mortise call @%s METHOD …\n", start->name,
			 mor_printable(mor_slice_of(plugin), shown, sizeof(shown)), start->name);
		return;
	}
	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	mor_w_pair(&w, "session", start->name);
	mor_w_pair(&w, "plugin", plugin);
	mor_w_end(&w);
	mor_out_json(console, mor_buf_view(&json));
}

static int take_word(struct mor_console *console, const struct mor_session_start *start, struct mor_slice text,
		     mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = mor_doc_parse(text, 0, 0, &doc, err);

	if (r < 0)
		return r;
	if (!mor_json_bool(mor_json_get(mor_doc_root(doc), "ok"), false)) {
		mor_session_read_error(mor_json_get(mor_doc_root(doc), "error"), err);
		return err->code;
	}
	report_start(console, start, mor_doc_root(doc));
	return 0;
}

/* The keeper is our child until it is ready. A signal that we get ends it too, and its plugin with it. */
static int wait_for_keeper(struct mor_console *console, const struct mor_session_start *start, int fd,
			   pid_t child, mortise_error *err)
{
	struct mor_session_wire wire;
	struct mor_slice text;
	int r, status;

	mor_session_wire_open_take(&wire, fd);
	r = mor_session_wire_wait(&wire, -1, &text);
	if (r == 0)
		r = take_word(console, start, text, err);
	else if (r == MORTISE_ECANCELED)
		mor_fail(err, r, "interrupted");
	else
		mor_fail(err, r, "session %s: its keeper ended before the plugin was ready", start->name);
	mor_session_wire_close(&wire);
	if (r == 0)
		return 0;
	if (r == MORTISE_ECANCELED)
		kill(child, SIGTERM);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return r;
}

static int start_keeper(struct mor_console *console, const struct mor_session_start *start, mortise_error *err)
{
	int pair[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "socketpair");
	mor_out_flush(console);
	child = fork();
	if (child == 0)
		become_keeper(console, start, pair[1]);
	mor_fd_close(&pair[1]);
	if (child < 0) {
		mor_fd_close(&pair[0]);
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "session %s: its keeper", start->name);
	}
	return wait_for_keeper(console, start, pair[0], child, err);
}

int mor_session_start(struct mor_console *console, const struct mor_session_start *start)
{
	mortise_error err = { 0 };

	if (mor_session_name_check(start->name, &err) == 0 &&
	    mor_runner_answers_check(&start->answers, &err) == 0 &&
	    mor_session_clear_dead(console, start->name, &err) == 0 && start_keeper(console, start, &err) == 0)
		return 0;
	if (mor_signals_count())
		return mor_report_interrupted(console, mor_signals_exit_code());
	return mor_report_cause(console, &err);
}
