/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin may do wrong, one function each. See fault.h. */
#include "plugin.h"

#include "dir.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"

#define FLOOD 5000
#define BIG   (256 << 10) /* over the frame limit that the matrix sets */

/* ---- out ---- */

static void put(const void *bytes, size_t len)
{
	if (mor_fd_write_all(STDOUT_FILENO, bytes, len) < 0)
		_exit(0); /* nobody listens any more */
}

static void put_text(const char *text)
{
	put(text, strlen(text));
}

static void frame_of(const char *body, size_t len, struct mor_buf *out)
{
	mor_enframe(tongue->framing, (struct mor_slice){ body, len }, out);
}

static void send_bytes(const char *body, size_t len)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	frame_of(body, len, &out);
	put(out.data, out.len);
}

static void print_answer(struct mor_buf *out, const char *the_id, const char *result)
{
	if (result == call_result)
		tongue_answer(tongue, mor_slice_of(the_id), "done", out);
	else
		mor_buf_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}", the_id, result);
}

/* The result as JSON, where a fault writes the answer itself. */
static const char *as_json(const char *result)
{
	static char text[160];

	if (result != call_result)
		return result ? result : "null";
	snprintf(text, sizeof(text), "%sdone%s", tongue->head, tongue->tail);
	return text;
}

void answer(const char *the_id, const char *result)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	print_answer(&body, the_id, result);
	send_bytes(body.data, body.len);
}

void send_text(const char *body)
{
	send_bytes(body, strlen(body));
}

void send_format(const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;
	va_list args;

	va_start(args, format);
	mor_buf_vprintf(&body, format, args);
	va_end(args);
	send_bytes(body.data, body.len);
}

/* ---- faults: `result` is what would be the right answer; NULL: nobody has asked ---- */

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

static void crash(const char *result)
{
	(void)result;
	signal(SIGSEGV, SIG_DFL); /* sanitizers have plans of their own */
	raise(SIGSEGV);
}

static void exit_good(const char *result)
{
	(void)result;
	_exit(0);
}

static void exit_bad(const char *result)
{
	static const char line[] = "Error: cannot go on\n";

	(void)result;
	(void)!write(STDERR_FILENO, line, sizeof(line) - 1);
	_exit(3);
}

static void hang(const char *result)
{
	(void)result;
	wait_for_ever();
}

/* Half of what a good answer would be. */
static void half(struct mor_buf *out, const char *result)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	print_answer(&body, id, result ? result : "null");
	frame_of(body.data, body.len, out);
	out->len -= 8;
}

static void drip(const char *result)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	half(&out, result);
	for (size_t i = 0; i < out.len; i++) {
		put(out.data + i, 1);
		usleep(20000);
	}
	wait_for_ever();
}

static void partial(const char *result)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	half(&out, result);
	put(out.data, out.len);
	_exit(0);
}

static void banner(const char *result)
{
	(void)result;
	put_text("Welcome to fault 1.0!\n(c) nobody\n");
}

static void not_object(const char *result)
{
	(void)result;
	send_text("7");
}

static void wrong_version(const char *result)
{
	send_format("{\"jsonrpc\":\"1.0\",\"id\":%s,\"result\":%s}", id, as_json(result));
}

static void neither(const char *result)
{
	(void)result;
	send_format("{\"jsonrpc\":\"2.0\",\"id\":%s}", id);
}

static void both(const char *result)
{
	send_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s,\"error\":{\"code\":1,\"message\":\"x\"}}",
		    id, result ? as_json(result) : "1");
}

static void bad_utf8(const char *result)
{
	(void)result;
	send_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"\xff\xfe\"}", id);
}

static void nul_byte(const char *result)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	(void)result;
	mor_buf_printf(&body, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"a?b\"}", id);
	*strchr(body.data, '?') = '\0';
	send_bytes(body.data, body.len);
}

static void surrogate(const char *result)
{
	(void)result;
	send_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"\\ud800\"}", id);
}

static void byte_order_mark(const char *result)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	mor_buf_text(&body, "\xef\xbb\xbf");
	print_answer(&body, id, result ? result : "null");
	send_bytes(body.data, body.len);
}

static void deep(const char *result)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	(void)result;
	mor_buf_printf(&body, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", id);
	for (int i = 0; i < 20000; i++)
		mor_buf_byte(&body, '[');
	for (int i = 0; i < 20000; i++)
		mor_buf_byte(&body, ']');
	mor_buf_byte(&body, '}');
	send_bytes(body.data, body.len);
}

static void twice_a_key(const char *result)
{
	send_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"id\":%s,\"result\":%s}", id, id, as_json(result));
}

static void huge_number(const char *result)
{
	(void)result;
	send_format(
		"{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"a\":1e400,\"b\":-0,\"c\":123456789012345678901234567890,\"d\":1e}}",
		id);
}

static void too_big(const char *result)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	(void)result;
	mor_buf_printf(&body, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"", id);
	for (int i = 0; i < BIG; i++)
		mor_buf_byte(&body, 'x');
	mor_buf_text(&body, "\"}");
	send_bytes(body.data, body.len);
}

static void flood(const char *result)
{
	(void)result;
	for (int i = 0; i < FLOOD; i++)
		send_text(
			"{\"jsonrpc\":\"2.0\",\"method\":\"log\",\"params\":{\"level\":\"info\",\"message\":\"and "
			"so on\"}}");
}

static void endless_flood(const char *result)
{
	for (;;)
		flood(result);
}

static void twice(const char *result)
{
	answer(id, result ? result : "null");
}

static void unknown_id(const char *result)
{
	answer("987654321", result ? result : "null");
}

static void string_id(const char *result)
{
	char text[72];

	snprintf(text, sizeof(text), "\"%s\"", id);
	answer(text, result ? result : "null");
}

static void null_id_error(const char *result)
{
	(void)result;
	send_text(
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"not understood\"}}");
}

/* 2^53 + 1 and 2^63 - 1 */
static void large_ids(const char *result)
{
	answer("9007199254740993", result ? result : "null");
	answer("9223372036854775807", result ? result : "null");
}

/* The host waits for the first only as yet, if at all. */
static void early(const char *result)
{
	char other[24];

	for (long i = 4; i < 7; i++) {
		snprintf(other, sizeof(other), "%ld", strtol(id, NULL, 10) + i);
		answer(other, result ? result : "null");
	}
}

static void late(const char *result)
{
	const char *ms = getenv(LATE_VARIABLE);

	(void)result;
	/* far from every limit: a busy machine may stop the host for a while */
	usleep((ms ? (useconds_t)strtoul(ms, NULL, 10) : 1600) * 1000);
}

static void asks(const char *result)
{
	(void)result;
	send_text("{\"jsonrpc\":\"2.0\",\"id\":\"q1\",\"method\":\"no.such.method\",\"params\":{}}");
	send_text("{\"jsonrpc\":\"2.0\",\"method\":\"no.such.note\",\"params\":{}}");
}

static void in_a_batch(const char *result)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	mor_buf_byte(&body, '[');
	print_answer(&body, id, result ? result : "null");
	mor_buf_byte(&body, ']');
	send_bytes(body.data, body.len);
}

static void stderr_flood(const char *result)
{
	char line[1024];

	(void)result;
	memset(line, 'e', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	for (int i = 0; i < 4096; i++)
		if (mor_fd_write_all(STDERR_FILENO, line, sizeof(line)) < 0)
			return;
}

static void close_stdin(const char *result)
{
	(void)result;
	close(STDIN_FILENO);
	open("/dev/null", O_RDONLY | O_CLOEXEC); /* the number stays taken */
}

static void close_stdin_and_linger(const char *result)
{
	close_stdin(result);
	wait_for_ever();
}

static void close_stdout(const char *result)
{
	(void)result;
	close(STDOUT_FILENO);
	wait_for_ever();
}

static void grandchild(const char *result)
{
	(void)result;
	if (fork() == 0) {
		setsid();
		wait_for_ever();
	}
	_exit(4);
}

static void stop_itself(const char *result)
{
	(void)result;
	raise(SIGSTOP);
	wait_for_ever();
}

/* By its guardian it is ended for that, unless the fault is the guardian's own; but never may it succeed. */
static void forbidden(const char *result)
{
	static const char told[] = "fault: escaped\n";

	(void)result;
	if (open("/etc/shadow", O_RDONLY | O_CLOEXEC) >= 0)
		(void)!write(STDERR_FILENO, told, sizeof(told) - 1);
}

static void use_memory(const char *result)
{
	char *memory = malloc((size_t)1 << 30);

	(void)result;
	if (!memory)
		abort();
	memset(memory, 1, (size_t)1 << 30);
	free(memory);
}

static void use_cpu(const char *result)
{
	(void)result;
	for (volatile unsigned long i = 0;; i++)
		;
}

static void use_files(const char *result)
{
	(void)result;
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		;
	abort();
}

static void linger(const char *result)
{
	(void)result;
	signal(SIGTERM, SIG_IGN);
	wait_for_ever();
}

/* What the host waits for, framed: of an analyzer that is no answer. */
static void print_right(struct mor_buf *out, const char *result)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	if (tongue->asks)
		mor_buf_text(&body, "{\"jsonrpc\":\"2.0\",\"method\":\"done\",\"params\":{}}");
	else
		print_answer(&body, id, result);
	frame_of(body.data, body.len, out);
}

/* A byte at a time. */
static void in_pieces(const char *result)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	if (!result)
		return;
	print_right(&out, result);
	for (size_t i = 0; i < out.len; i++)
		put(out.data + i, 1);
}

/* The plugin's answer, and after it a word to the test that it has been written. */
static void aloud(const char *result)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	char path[FILE_ROOM];
	int fd;

	print_right(&out, result);
	put(out.data, out.len);
	snprintf(path, sizeof(path), "%s/" ALOUD_FILE, dirname(strdupa(mark)));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	(void)!write(fd, "!", 1);
	close(fd);
}

/* Somebody of it has left its session, and neither listens to SIGTERM. */
static void tree(const char *result)
{
	(void)result;
	signal(SIGTERM, SIG_IGN);
	if (fork() == 0)
		setsid();
	wait_for_ever();
}

static void kill_guardian(const char *result)
{
	(void)result;
	kill(getppid(), SIGKILL);
	wait_for_ever();
}

static void nothing(const char *result)
{
	(void)result;
}

const struct fault faults[] = {
	{ "none", NULL, false },
	{ "crash", crash, true },
	{ "exit_0", exit_good, true },
	{ "exit_3", exit_bad, true },
	{ "hang", hang, true },
	{ "drip", drip, true },
	{ "partial", partial, true },
	{ "banner", banner, false },
	{ "not_object", not_object, false },
	{ "wrong_version", wrong_version, true },
	{ "neither", neither, true },
	{ "both", both, true },
	{ "bad_utf8", bad_utf8, true },
	{ "nul", nul_byte, true },
	{ "surrogate", surrogate, true },
	{ "bom", byte_order_mark, true },
	{ "deep", deep, true },
	{ "twice_a_key", twice_a_key, true },
	{ "huge_number", huge_number, true },
	{ "too_big", too_big, true },
	{ "flood", flood, false },
	{ "endless_flood", endless_flood, true },
	{ "duplicate", twice, false },
	{ "unknown_id", unknown_id, false },
	{ "string_id", string_id, true },
	{ "null_id", null_id_error, true },
	{ "large_ids", large_ids, false },
	{ "early", early, false },
	{ "late", late, false },
	{ "asks", asks, false },
	{ "batch", in_a_batch, true },
	{ "stderr_flood", stderr_flood, false },
	{ "never_reads", hang, true },
	{ "closes_stdin", close_stdin, false },
	{ "deaf", close_stdin_and_linger, true },
	{ "closes_stdout", close_stdout, true },
	{ "grandchild", grandchild, true },
	{ "stops_itself", stop_itself, true },
	{ "nothing", nothing, false },
	{ "in_pieces", in_pieces, true },
	{ "aloud", aloud, true },
	{ "tree", tree, true },
	{ "guardian_killed", kill_guardian, true },
	{ "violation", forbidden, false },
	{ "memory", use_memory, true },
	{ "cpu", use_cpu, true },
	{ "files", use_files, true },
	{ "lingers", linger, true },
};
const size_t fault_count = sizeof(faults) / sizeof(faults[0]);
