/* SPDX-License-Identifier: Apache-2.0 */
/* tenon_run(): the process around a session. The wire moves, signals are caught, options are answered. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer_inside.h"
#include "base/fd.h"
#include "dialect.h"
#include "private_wire.h"
#include "session.h"

#define ARGUMENTS_MAX 4096

/* ---- PROGRAM --manifest [DIALECT], --help ---- */

/* The words that the program was started with. tenon_run() has no argv, so that a main() stays one line. */
static size_t read_arguments(char *block, size_t size)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, block, size - 1);
	mor_fd_close(&fd);
	return n > 0 ? (size_t)n : 0;
}

static const char *next_argument(const char *word, const char *end)
{
	const char *next = word + strlen(word) + 1;

	return next < end ? next : NULL;
}

/* The dialect that was named, or the first that the plugin has. */
static const struct tn_dialect *manifest_dialect(const tenon_plugin *plugin, const char *name)
{
	const struct tn_dialect *dialect = name ? tn_dialect_by_name(name) : tn_dialect_choose(plugin, NULL);

	if (name && dialect && !tn_dialect_has(plugin, dialect) && dialect != &tn_plain)
		return NULL;
	for (const struct tn_dialect *const *at = tn_dialects; !name && !dialect && *at; at++)
		if ((*at)->fits(plugin))
			dialect = *at;
	return dialect;
}

static int print_manifest(const tenon_plugin *plugin, const char *program, const char *name)
{
	const struct tn_dialect *dialect = manifest_dialect(plugin, name);
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf pretty = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const char *slash = strrchr(program, '/');

	if (!dialect) {
		fprintf(stderr, "%s: it has no dialect \"%s\"\n", plugin->name ? plugin->name : program, name);
		return 2;
	}
	dialect->manifest(plugin, slash ? slash + 1 : program, &text);
	if (text.len > 0 && text.data[0] == '{' && mor_doc_parse(mor_buf_view(&text), 0, 0, &doc, NULL) == 0) {
		mor_json_write(mor_doc_root(doc), true, &pretty);
		mor_buf_byte(&pretty, '\n');
	} else {
		mor_buf_slice(&pretty, mor_buf_view(&text));
	}
	return mor_fd_write_all(STDOUT_FILENO, pretty.data, pretty.len) < 0;
}

static int print_help(const tenon_plugin *plugin, const char *program)
{
	const struct tn_dialect *dialect = tn_dialect_choose(plugin, getenv("MORTISE_DIALECT"));
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	mor_buf_printf(&text, "%s %s%s%s\n", plugin->name ? plugin->name : program,
		       plugin->version ? plugin->version : "", plugin->description ? ": " : "",
		       plugin->description ? plugin->description : "");
	mor_buf_printf(&text, "A plugin (%s): a host starts it, and they speak over its stdin and stdout.\n\n",
		       dialect ? dialect->name : "the first message of the host decides the protocol");
	mor_buf_text(&text, "  --manifest [DIALECT]  print its manifest\n  --help                print this\n");
	mor_buf_printf(&text, "\nTry: mortise info -- %s\n", program);
	return mor_fd_write_all(STDOUT_FILENO, text.data, text.len) < 0;
}

/* The author may have options of their own: only what begins like one of ours must be one. */
static int refuse_option(const tenon_plugin *plugin, const char *option)
{
	if (strncmp(option, "--man", 5) != 0 && strncmp(option, "--hel", 5) != 0)
		return -1;
	fprintf(stderr, "%s: unknown option %s: there are --manifest [DIALECT] and --help\n",
		plugin->name ? plugin->name : "plugin", option);
	return 2;
}

int tn_answer_option(const tenon_plugin *plugin)
{
	char block[ARGUMENTS_MAX] = { 0 };
	const char *end = block + read_arguments(block, sizeof(block));
	const char *option = end > block ? next_argument(block, end) : NULL;

	if (!option)
		return -1;
	if (strcmp(option, "--manifest") == 0)
		return print_manifest(plugin, block, next_argument(option, end));
	return strcmp(option, "--help") == 0 ? print_help(plugin, block) : refuse_option(plugin, option);
}

/* ---- Signals ---- */

static struct tn_session *_Atomic signalled;

static void on_term(int number)
{
	struct tn_session *s = atomic_load(&signalled);
	int kept = errno;

	(void)number;
	if (s)
		tn_request_stop(s);
	errno = kept;
}

static void on_pipe(int number)
{
	(void)number; /* a handler, since what is ignored stays ignored in children */
}

static void catch_signal(int number, void (*handler)(int))
{
	struct sigaction old, action = { .sa_handler = handler };

	sigemptyset(&action.sa_mask);
	if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		sigaction(number, &action, NULL);
}

/* ---- Serving ---- */

static void tell_terminal(const tenon_plugin *plugin)
{
	if (isatty(STDIN_FILENO))
		fprintf(stderr,
			"%s: waits for a host on its stdin. Start one: mortise call PROGRAM METHOD (or: "
			"PROGRAM --manifest)\n",
			plugin->name ? plugin->name : "plugin");
}

int tn_serve_signals(struct tn_session *session)
{
	int r;

	session->interrupt = SIGTERM;
	atomic_store(&signalled, session);
	catch_signal(SIGTERM, on_term);
	catch_signal(SIGPIPE, on_pipe);
	r = tn_serve(session);
	atomic_store(&signalled, NULL);
	return r;
}

static int serve_wire(const tenon_plugin *plugin, const struct tn_dialect *dialect)
{
	struct tn_session session;
	int r;

	if (tn_session_init(&session, plugin, dialect) < 0) {
		fprintf(stderr, "%s: %s\n", plugin->name, strerror(errno));
		return 1;
	}
	r = tn_private_wire(&session.in, &session.out);
	if (r < 0) {
		tn_say(&session, "stdin or stdout: %s", strerror(-r));
		r = 1;
	} else {
		r = tn_serve_signals(&session);
	}
	tn_session_fini(&session);
	return r;
}

int tenon_run(const tenon_plugin *plugin)
{
	int status = tn_answer_option(plugin);
	const struct tn_dialect *dialect;

	if (status >= 0)
		return status;
	if (getenv("MORTISE_GRPC_SOCKET")) {
		fprintf(stderr,
			"%s: the host wants gRPC: call tenon_grpc_run() and link with tenon-grpc, or use the "
			"transport stdio\n",
			plugin->name ? plugin->name : "plugin");
		return 1;
	}
	dialect = tn_dialect_choose(plugin, getenv("MORTISE_DIALECT"));
	tell_terminal(plugin);
	if (dialect == &tn_kythe)
		return tn_run_analyses(plugin);
	return serve_wire(plugin, dialect);
}
