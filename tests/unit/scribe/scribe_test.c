/* SPDX-License-Identifier: Apache-2.0 */
/* What a scribe writes for what it is told. Times are left out: they are real. */
#include "leak.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "scribe/scribe.h"

struct written {
	struct mor_scribe scribe;
	int copy; /* of the descriptor that the scribe closes */
};

static void begin(struct written *w, const struct mor_scribe_options *opt)
{
	int fd = memfd_create("talk", MFD_CLOEXEC);

	assert_true(fd >= 0);
	w->copy = dup(fd);
	assert_true(w->copy >= 0);
	mor_scribe_open(&w->scribe, fd, opt);
}

/* Closes the scribe. The lines without times and without the first comment. */
static void assert_written(struct written *w, const char *wanted)
{
	char text[4096] = "", kept[4096] = "";
	ssize_t n;

	mor_scribe_close(&w->scribe);
	n = pread(w->copy, text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	for (char *line = text, *end; *line; line = end) {
		end = strchr(line, '\n');
		assert_non_null(end);
		end++;
		if (*line != '~' && strncmp(line, "# recorded", 10) != 0)
			strncat(kept, line, (size_t)(end - line));
	}
	assert_string_equal(kept, wanted);
	mor_fd_close(&w->copy);
}

static void bytes_and_ends(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &(struct mor_scribe_options){ .framing = -1 });
	mor_scribe_bytes(&w.scribe, false, MOR_SLICE("Ready.\n"));
	mor_scribe_bytes(&w.scribe, true, MOR_SLICE("{\"jsonrpc\":\"2.0\",\"id\":1,"));
	mor_scribe_bytes(&w.scribe, true, MOR_SLICE("\"method\":\"x\"}\n"));
	mor_scribe_bytes(&w.scribe, false, MOR_SLICE("{\"id\":1,\"result\":{\"token\":5}}\n"));
	mor_scribe_bytes(&w.scribe, true, (struct mor_slice){ 0 });
	mor_scribe_bytes(&w.scribe, false, (struct mor_slice){ 0 });
	mor_scribe_exit(&w.scribe, W_EXITCODE(3, 0));
	assert_int_equal(w.scribe.side[0].messages, 1);
	assert_written(&w, "talk 1 plain framing=lines\n"
			   "<b Ready.\\n\n"
			   "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n"
			   "< {\"id\":1,\"result\":{\"token\":$secret_token_1}}\n"
			   ">.\n<.\n= exit 3\n");
}

static void messages_without_framing(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &(struct mor_scribe_options){ .dialect = "yams", .framing = MOR_FRAMING_LINES, .limit = 20 });
	mor_scribe_message(&w.scribe, true, MOR_SLICE("{\"id\":1}"));
	mor_scribe_message(&w.scribe, false, MOR_SLICE("{\"id\":1,\"result\":\"too long\"}"));
	mor_scribe_message(&w.scribe, false, MOR_SLICE("{broken"));
	mor_scribe_comment(&w.scribe, "the end", "token=abc\x1b");
	assert_written(&w, "talk 1 yams framing=lines\n"
			   "> {\"id\":1}\n"
			   "# left out: a message of 28 bytes\n< ...\n"
			   "<b {broken\n"
			   "# the end: token=***\n");
}

static void lines_of_stderr(void **state)
{
	struct written w;

	(void)state;
	begin(&w, &(struct mor_scribe_options){ .dialect = "plain", .framing = -1 });
	mor_scribe_stderr(&w.scribe, MOR_SLICE("one\r\ntw"));
	mor_scribe_stderr(&w.scribe, MOR_SLICE("o\npassword: x\nrest\x1b[1m"));
	mor_scribe_stderr(&w.scribe, (struct mor_slice){ 0 });
	mor_scribe_signal(&w.scribe, 15);
	mor_scribe_exit(&w.scribe, W_EXITCODE(0, 9));
	assert_written(&w,
		       "talk 1 plain\n2 one\n2 two\n2 password: ***\n2 rest\\x1b[1m\n>s TERM\n= signal KILL\n");
}

/* A file that cannot be written ends the recording, and nothing else. */
static void a_full_disk(void **state)
{
	struct mor_scribe scribe;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	mor_scribe_open(&scribe, fd,
			&(struct mor_scribe_options){ .dialect = "plain", .framing = MOR_FRAMING_LINES });
	mor_scribe_message(&scribe, true, MOR_SLICE("{}"));
	mor_scribe_flush(&scribe);
	assert_int_equal(scribe.failed, ENOSPC);
	assert_int_equal(scribe.fd, -1);
	mor_scribe_message(&scribe, true, MOR_SLICE("{}"));
	mor_scribe_close(&scribe);
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(bytes_and_ends), MOR_TEST(messages_without_framing),
					    MOR_TEST(lines_of_stderr), MOR_TEST(a_full_disk) };

	return mor_run_group("scribe/scribe", tests);
}
