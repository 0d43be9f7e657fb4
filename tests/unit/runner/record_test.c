/* SPDX-License-Identifier: Apache-2.0 */
/* --record FILE: what stands in the file, and what happens to a file in which nothing would. */
#include "heard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runner/record.h"
#include "top.h"

static struct mor_runner_record *record;
static mortise_error err;

static int open_record(const char *name)
{
	record = NULL;
	err = (mortise_error){ 0 };
	return mor_runner_record_open(&console, at(name), false, &record, &err);
}

static void say(enum mortise_tap_direction direction, const char *body)
{
	mor_runner_record_frame(&(mortise_tap_frame){ .direction = direction, .body = { body, strlen(body) } },
				record);
}

static const char *content_of(const char *name)
{
	static char text[4000];
	int fd = open(at(name), O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void test_a_conversation(void **state)
{
	const char *text;

	(void)state;
	assert_int_equal(open_record("a.talk"), 0);
	mor_runner_record_begin(record, "plain", "line");
	mor_runner_record_begin(record, "yams", "line"); /* it has begun */
	say(MORTISE_TO_PLUGIN, "{\"id\":1,\"method\":\"m\"}");
	mor_runner_record_event(record, &(mortise_event){ .type = MORTISE_EVENT_STDERR, .text = "boo" });
	mor_runner_record_event(record, &(mortise_event){ .type = MORTISE_EVENT_NOISE, .text = "zzz" });
	mor_runner_record_event(record, &(mortise_event){ .type = MORTISE_EVENT_LOG, .text = "nobody" });
	say(MORTISE_FROM_PLUGIN, "{\"id\":1,\"result\":5}");
	mor_runner_record_event(record, &(mortise_event){ .type = MORTISE_EVENT_STATE,
							  .text = "not yet",
							  .state = { MORTISE_DRAINING, MORTISE_READY, 0 } });
	mor_runner_record_event(record, &(mortise_event){ .type = MORTISE_EVENT_STATE,
							  .text = "status 0",
							  .state = { MORTISE_STOPPED, MORTISE_DRAINING, 0 } });
	mor_runner_record_close(record);
	text = content_of("a.talk");
	assert_non_null(strstr(text, "plain"));
	assert_non_null(strstr(text, "> {\"id\":1,\"method\":\"m\"}\n"));
	assert_non_null(strstr(text, "< {\"id\":1,\"result\":5}\n"));
	assert_non_null(strstr(text, "boo"));
	assert_non_null(strstr(text, "not a message"));
	assert_non_null(strstr(text, "status 0"));
	assert_null(strstr(text, "nobody"));
	assert_null(strstr(text, "not yet"));
	assert_string_equal(heard_err(), "");
}

static void test_nobody_else_can_read_it(void **state)
{
	struct stat info;

	(void)state;
	assert_int_equal(open_record("mode.talk"), 0);
	mor_runner_record_begin(record, "plain", "line");
	mor_runner_record_close(record);
	assert_int_equal(stat(at("mode.talk"), &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
}

/* A command that never got to a plugin. */
static void test_a_file_in_which_nothing_stands_is_removed(void **state)
{
	(void)state;
	assert_int_equal(open_record("none.talk"), 0);
	mor_runner_record_event(record, &(mortise_event){ .type = MORTISE_EVENT_STATE,
							  .state = { MORTISE_FAILED, MORTISE_STARTING, 0 } });
	assert_non_null(content_of("none.talk"));
	mor_runner_record_close(record);
	assert_null(content_of("none.talk"));
	mor_runner_record_close(NULL);
	mor_runner_record_event(NULL, &(mortise_event){ .type = MORTISE_EVENT_STDERR, .text = "x" });
}

static void test_a_file_that_is_there_stays(void **state)
{
	(void)state;
	assert_int_equal(open_record("a.talk"), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "remove it, or choose another name"));
	assert_non_null(strstr(content_of("a.talk"), "status 0"));
	assert_true(open_record("no/such/place.talk") < 0);
	assert_null(record);
}

static void record_past_a_limit(void)
{
	const char *said, *end;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 10, 10 }), 0);
	assert_int_equal(open_record("large.talk"), 0);
	mor_runner_record_begin(record, "plain", "line");
	for (int i = 0; i < 3; i++)
		say(MORTISE_TO_PLUGIN, "{}");
	mor_runner_record_close(record);
	said = heard_err();
	end = strstr(said, "large.talk: File too large: the recording ends here\n");
	assert_non_null(end);
	assert_string_equal(strchr(end, '\n'), "\n"); /* once */
}

/* The talk goes on. */
static void test_a_file_that_cannot_be_written(void **state)
{
	(void)state;
	leak_in_fork(record_past_a_limit);
}

static void test_no_memory(void **state)
{
	(void)state;
	for (long n = 0, r = MORTISE_ENOMEM; r == MORTISE_ENOMEM; n++) {
		mor_alloc_fail_after(n);
		r = open_record("memory.talk");
		mor_alloc_fail_after(-1);
		assert_int_equal(err.code, r);
		assert_true(r == MORTISE_ENOMEM || (r == 0 && n > 1));
		mor_runner_record_close(record);
		assert_null(content_of("memory.talk"));
	}
}

static int make_top(void **state)
{
	(void)state;
	return top_make("record");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HEARD_TEST(test_a_conversation),
		HEARD_TEST(test_nobody_else_can_read_it),
		HEARD_TEST(test_a_file_in_which_nothing_stands_is_removed),
		HEARD_TEST(test_a_file_that_is_there_stays),
		HEARD_TEST(test_a_file_that_cannot_be_written),
		HEARD_TEST(test_no_memory),
	};

	return mor_run_group_in("runner/record", tests, make_top, top_drop);
}
