/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bad MODE: a plugin (plain dialect, lines framing) with one misbehaviour. README.md is its table, and
 * `bad --list` prints it.
 *
 * In every mode the standard methods are answered properly (see wire.h), unless the mode says that it never
 * gets there; the method "go" is what brings the misbehaviour about, so that a test decides when.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

#define FLOOD        (256 * 1024)
#define BIG          (64L * 1024 * 1024)
#define DEPTH        100000
#define DRIP_NS      (5 * 1000 * 1000)
#define LIFE_SECONDS 1800 /* nobody here outlives a test that forgot it */

typedef void go_fn(struct request *request);

/* ---- misbehaviour of replies ---- */

static void go_big(struct request *request)
{
	static const char tail[] = "\"}\n";
	size_t left = (size_t)param_long(request, "bytes", BIG);
	char block[65536];

	memset(block, 'x', sizeof(block));
	put_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"", request->id);
	for (size_t n; left > 0; left -= n) {
		n = left < sizeof(block) ? left : sizeof(block);
		put(block, n);
	}
	put(tail, sizeof(tail) - 1);
}

static void slowly(const char *text, long pause_ns)
{
	for (; *text; text++) {
		put(text, 1);
		if (pause_ns)
			nanosleep(&(struct timespec){ .tv_nsec = pause_ns }, NULL);
	}
}

static void go_byte_at_a_time(struct request *request)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"slow\":[1,2,3]}}\n",
		 request->id);
	slowly(text, 0);
}

/* Bytes keep coming, a whole line never does. */
static void go_drip(struct request *request)
{
	put_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"", request->id);
	for (;;)
		slowly("drip ", DRIP_NS);
}

static void go_stray_print(struct request *request)
{
	put_format("debug: got \"go\", id %s\n", request->id);
	reply_text(request, "\"noisy\"");
	put_format("debug: answered\n");
}

static void go_partial_line(struct request *request)
{
	put_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"resu", request->id);
	_exit(0);
}

static void go_neither(struct request *request)
{
	put_format("{\"jsonrpc\":\"2.0\",\"id\":%s}\n", request->id);
}

static void go_both(struct request *request)
{
	put_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":1,\"error\":{\"code\":-1,\"message\":\"and "
		   "no\"}}\n",
		   request->id);
}

static void go_bad_utf8(struct request *request)
{
	put_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"\xff\xfe\"}\n", request->id);
}

static void go_deep(struct request *request)
{
	static char open[DEPTH], close[DEPTH];

	memset(open, '[', sizeof(open));
	memset(close, ']', sizeof(close));
	put_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", request->id);
	put(open, sizeof(open));
	put(close, sizeof(close));
	put("}\n", 2);
}

static void go_not_an_object(struct request *request)
{
	put_format("42\n\"text\"\nnull\n");
	reply_text(request, "true");
}

static void go_batch_reply(struct request *request)
{
	put_format("[{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"in a batch\"}]\n", request->id);
}

static void go_crlf(struct request *request)
{
	put_format("\r\n\n{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"crlf\"}\r\n\r\n", request->id);
}

/* ---- misbehaviour of ids ---- */

static void go_duplicate(struct request *request)
{
	reply_text(request, "\"first\"");
	reply_text(request, "\"second\"");
}

static void go_unknown_id(struct request *request)
{
	put_format("{\"jsonrpc\":\"2.0\",\"id\":987654321,\"result\":\"nobody asked\"}\n");
	reply_text(request, "\"right\"");
}

static void go_string_id(struct request *request)
{
	put_format("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":\"wrong\"}\n", request->id);
	reply_text(request, "\"right\"");
}

static void go_null_id_error(struct request *request)
{
	(void)request;
	put_format(
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"parse error\"}}\n");
}

/* The answer comes together with the answer to whatever is asked next. */
static void go_late(struct request *request)
{
	char id[sizeof(request->id)];
	struct request next;

	memcpy(id, request->id, sizeof(id));
	if (!next_request(&next))
		return;
	put_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"late\"}\n", id);
	answer_standard(&next);
}

#define HELD 8

/* Holds eight calls, then answers the last one first, all in one write. */
static void go_reverse(struct request *request)
{
	static char ids[HELD][sizeof(request->id)];
	static int count;
	char text[HELD * 128];
	size_t len = 0;

	memcpy(ids[count++], request->id, sizeof(request->id));
	if (count < HELD)
		return;
	while (count-- > 0)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"was\":%d}}\n", ids[count],
					count);
	count = 0;
	put(text, len);
}

/* ---- the end ---- */

static void die_by(int number)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	say("some line\nlast words at %lld ns\n", t.tv_sec * 1000000000LL + t.tv_nsec);
	raise(number);
}

static void go_crash(struct request *request)
{
	(void)request;
	die_by(SIGSEGV);
}

static void go_crash_idle(struct request *request)
{
	reply_text(request, "\"fine\"");
	die_by(SIGSEGV);
}

static void go_exit_silently(struct request *request)
{
	(void)request;
	_exit(0);
}

static void go_exit_loudly(struct request *request)
{
	(void)request;
	say("Traceback (most recent call last):\nImportError: numpy\n");
	_exit(3);
}

/* True the first time somebody comes along with this file: it then exists. */
static bool first_time(struct request *request)
{
	char file[256];
	int fd;

	param_string(request, "file", file, sizeof(file));
	fd = open(file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	return fd >= 0;
}

static void tell_pid(struct request *request)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", (int)getpid());
	reply_text(request, text);
}

static void go_crash_once(struct request *request)
{
	if (first_time(request))
		die_by(SIGSEGV);
	tell_pid(request);
}

static void go_fail_once(struct request *request)
{
	if (first_time(request))
		reply_error(request, -32050, "try again", "{\"recoverable\":true}");
	else
		tell_pid(request);
}

static void go_fail_for_good(struct request *request)
{
	if (first_time(request))
		reply_error(request, -32051, "do not try again", "{\"recoverable\":false}");
	else
		tell_pid(request);
}

static void go_stop(struct request *request)
{
	(void)request;
	raise(SIGSTOP);
}

static void go_close_stdin(struct request *request)
{
	close(STDIN_FILENO);
	reply_text(request, "\"deaf now\"");
	for (;;)
		pause();
}

static void go_close_stdout(struct request *request)
{
	(void)request;
	close(STDOUT_FILENO);
	for (;;)
		pause();
}

/* Holds the pipes until the reader is gone, then ends: no test leaves it behind. */
static void hold(void)
{
	struct pollfd fd = { .fd = STDOUT_FILENO };

	signal(SIGHUP, SIG_IGN); /* the death of the session's leader brings one */
	poll(&fd, 1, LIFE_SECONDS * 1000);
	_exit(0);
}

static void go_grandchild(struct request *request)
{
	(void)request;
	if (fork() == 0)
		hold();
	_exit(4);
}

static void go_setsid_child(struct request *request)
{
	if (fork() == 0) {
		setsid();
		hold();
	}
	reply_text(request, "\"has a child\"");
}

/* ---- what it asks of the host ---- */

/* Sends the member "send" as a line of its own and answers with the line that comes back. */
static void go_ask(struct request *request)
{
	const char *send;
	size_t len;
	char id[sizeof(request->id)], *line;
	struct request answer = { 0 };

	if (!param(request, "send", &send, &len)) {
		reply_error(request, -32602, "send is missing", "null");
		return;
	}
	memcpy(id, request->id, sizeof(id));
	put(send, len);
	put("\n", 1);
	memcpy(answer.id, id, sizeof(id));
	if (param_long(request, "wait", 1) == 0)
		reply_text(&answer, "\"sent\"");
	else if (next_line(&line, &len))
		reply(&answer, line, len);
}

static void go_flood(struct request *request)
{
	static const char note[] = "{\"jsonrpc\":\"2.0\",\"method\":\"tick\",\"params\":{\"n\":1}}\n";
	char block[64 * sizeof(note)];
	size_t len = 0;

	(void)request;
	for (int i = 0; i < 64; i++, len += sizeof(note) - 1)
		memcpy(block + len, note, sizeof(note) - 1);
	for (;;)
		put(block, len);
}

/* ---- what happens before the first request is read ---- */

static void begin_stderr_flood(void)
{
	char line[64];

	memset(line, 'e', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	for (size_t n = 0; n < FLOOD; n += sizeof(line))
		if (write(STDERR_FILENO, line, sizeof(line)) < 0)
			_exit(71);
}

static void begin_never_reads(void)
{
	for (;;)
		pause();
}

static void begin_banner(void)
{
	put_format("Welcome to bad 1.0!\n(c) nobody\n");
}

static void begin_reply(void)
{
	for (int id = 0; id < 4; id++)
		put_format("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":\"too early\"}\n", id);
}

static void begin_ignore_sigterm(void)
{
	signal(SIGTERM, SIG_IGN);
}

static void begin_exit(void)
{
	say("bad configuration\n");
	_exit(5);
}

/* ---- what happens after the end of stdin ---- */

static void end_linger(void)
{
	for (;;)
		pause();
}

static char held_id[64];

static void go_answer_at_eof(struct request *request)
{
	memcpy(held_id, request->id, sizeof(held_id));
}

static void end_answer(void)
{
	struct request request = { 0 };

	memcpy(request.id, held_id, sizeof(request.id));
	if (held_id[0])
		reply_text(&request, "\"at the end\"");
}

static const struct mode {
	const char *name;
	go_fn *go;
	void (*begin)(void), (*end)(void);
	const char *doc;
} modes[] = {
	{ "ok", NULL, NULL, NULL, "nothing wrong" },
	{ "stderr_flood", NULL, begin_stderr_flood, NULL, "256 KiB on stderr before it reads anything" },
	{ "never_reads", NULL, begin_never_reads, NULL, "never reads stdin, never answers" },
	{ "not_json_banner", NULL, begin_banner, NULL, "two lines of text on stdout before the first message" },
	{ "reply_before_request", NULL, begin_reply, NULL, "replies with ids 0 to 3 before it reads anything" },
	{ "exits_at_start", NULL, begin_exit, NULL,
	  "ends with status 5 and a line on stderr before it reads anything" },
	{ "big_result", go_big, NULL, NULL,
	  "go: a result of `bytes` (64 MiB) bytes in one line; over a limit: huge_line" },
	{ "huge_line", go_big, NULL, NULL, "the same, for tests that set a small limit" },
	{ "byte_at_a_time", go_byte_at_a_time, NULL, NULL, "go: one write per byte" },
	{ "drip", go_drip, NULL, NULL, "go: a byte now and then, never a whole line" },
	{ "stray_print", go_stray_print, NULL, NULL, "go: a line of text before and after the reply" },
	{ "partial_line_then_exit", go_partial_line, NULL, NULL, "go: half a reply, then exit 0" },
	{ "neither_result_nor_error", go_neither, NULL, NULL, "go: a reply with the id alone" },
	{ "both_result_and_error", go_both, NULL, NULL, "go: a reply with both" },
	{ "bad_utf8", go_bad_utf8, NULL, NULL, "go: bytes FF FE inside a string" },
	{ "deep_nesting", go_deep, NULL, NULL, "go: a result of 100,000 nested arrays" },
	{ "not_an_object", go_not_an_object, NULL, NULL, "go: valid JSON that is no message, then the reply" },
	{ "batch_reply", go_batch_reply, NULL, NULL, "go: the reply inside an array" },
	{ "crlf", go_crlf, NULL, NULL, "go: CR LF line ends and blank lines" },
	{ "duplicate_reply", go_duplicate, NULL, NULL, "go: two replies with the same id" },
	{ "unknown_id", go_unknown_id, NULL, NULL,
	  "go: a reply to an id that nobody used, then the right one" },
	{ "string_id", go_string_id, NULL, NULL, "go: a reply whose id is a string, then the right one" },
	{ "null_id_error", go_null_id_error, NULL, NULL, "go: an error with id null, no reply" },
	{ "late_reply", go_late, NULL, NULL, "go: answered only together with the next request" },
	{ "reverse_order", go_reverse, NULL, NULL,
	  "go: eight are held, then answered last first in one write" },
	{ "crashes", go_crash, NULL, NULL, "go: SIGSEGV instead of an answer" },
	{ "crashes_idle", go_crash_idle, NULL, NULL, "go: answers, then SIGSEGV" },
	{ "exits_silently", go_exit_silently, NULL, NULL, "go: exit 0 instead of an answer" },
	{ "exits_loudly", go_exit_loudly, NULL, NULL, "go: two lines on stderr and exit 3" },
	{ "crashes_once", go_crash_once, NULL, NULL,
	  "go: SIGSEGV if `file` does not exist yet (it then does), else its pid" },
	{ "fails_once", go_fail_once, NULL, NULL,
	  "go: a recoverable error if `file` does not exist yet, else its pid" },
	{ "fails_for_good", go_fail_for_good, NULL, NULL, "go: the same with recoverable false" },
	{ "hangs", NULL, NULL, NULL, "the standard method hang is never answered; the rest is" },
	{ "stops_itself", go_stop, NULL, NULL, "go: SIGSTOP to itself" },
	{ "closes_stdin", go_close_stdin, NULL, NULL, "go: closes stdin, answers, lives on" },
	{ "closes_stdout_keeps_running", go_close_stdout, NULL, NULL, "go: closes stdout, lives on" },
	{ "grandchild_holds_stdout", go_grandchild, NULL, NULL,
	  "go: exit 4 while a child keeps stdout and stderr open" },
	{ "setsid_child", go_setsid_child, NULL, NULL,
	  "go: leaves a child in a session of its own, with the pipes" },
	{ "asks_host", go_ask, NULL, NULL,
	  "go: sends the JSON in `send` as a line, answers with the line that comes back" },
	{ "flood", go_flood, NULL, NULL, "go: endless valid notifications" },
	{ "ignores_sigterm", NULL, begin_ignore_sigterm, end_linger,
	  "lives on after the end of stdin and after SIGTERM" },
	{ "answers_and_lingers", NULL, NULL, end_linger, "lives on after the end of stdin" },
	{ "answers_at_eof", go_answer_at_eof, NULL, end_answer, "go: answered when stdin ends" },
};

#define MODES (sizeof(modes) / sizeof(modes[0]))

static int list(void)
{
	for (size_t i = 0; i < MODES; i++)
		printf("| `%s` | %s |\n", modes[i].name, modes[i].doc);
	return 0;
}

static int play(const struct mode *mode)
{
	struct request request;

	if (mode->begin)
		mode->begin();
	while (next_request(&request)) {
		if (mode->go && strcmp(request.method, "go") == 0)
			mode->go(&request);
		else if (!answer_standard(&request))
			reply_error(&request, -32601, "no such method", "null");
	}
	if (mode->end)
		mode->end();
	return 0;
}

int main(int argc, char **argv)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	alarm(LIFE_SECONDS);
	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return list();
	for (size_t i = 0; i < MODES; i++)
		if (argc >= 2 && strcmp(modes[i].name, argv[1]) == 0)
			return play(&modes[i]);
	say("usage: bad MODE; bad --list\n");
	return 2;
}
