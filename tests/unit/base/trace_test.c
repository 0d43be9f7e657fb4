/* SPDX-License-Identifier: Apache-2.0 */
#include "leak.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/trace.h"

static unsigned mask_of(const char *text)
{
	if (text)
		setenv("MORTISE_TRACE", text, 1);
	else
		unsetenv("MORTISE_TRACE");
	mor_trace_init();
	return mor_trace_mask;
}

static void words_make_the_mask(void **state)
{
	(void)state;
	assert_int_equal(mask_of(NULL), 0);
	assert_int_equal(mask_of(""), 0);
	assert_int_equal(mask_of("wire,proc"), MOR_TRACE_WIRE | MOR_TRACE_PROC);
	assert_int_equal(mask_of("all,-loop"), MOR_TRACE_WIRE | MOR_TRACE_PROC | MOR_TRACE_HOST);
	assert_int_equal(mask_of("-wire,host,,nonsense,"), MOR_TRACE_HOST);
	assert_int_equal(mask_of("-all"), 0);
}

static void one_line_goes_to_stderr(void **state)
{
	char got[2048] = "", big[2000];
	int ends[2], saved = fcntl(2, F_DUPFD_CLOEXEC, 3);
	ssize_t n;

	(void)state;
	memset(big, 'x', sizeof(big));
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	dup2(ends[1], 2);
	mask_of("wire");
	mor_trace(MOR_TRACE_WIRE, "seen %d", 42);
	mor_trace(MOR_TRACE_HOST, "not seen");
	mor_trace(MOR_TRACE_WIRE, "%.*s", (int)sizeof(big), big);
	dup2(saved, 2);
	n = read(ends[0], got, sizeof(got) - 1);
	mor_fd_close(&ends[0]);
	mor_fd_close(&ends[1]);
	mor_fd_close(&saved);
	mask_of(NULL);
	assert_true(n > 0);
	assert_non_null(strstr(got, " wire: seen 42\n"));
	assert_null(strstr(got, "not seen"));
	assert_int_equal(got[n - 1], '\n');
}

static void clock_does_not_go_back(void **state)
{
	int64_t a = mor_clock_ns(), b = mor_clock_ns();

	(void)state;
	assert_true(b >= a);
	assert_true(mor_clock_ms() >= a / 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(words_make_the_mask),
		MOR_TEST(one_line_goes_to_stderr),
		MOR_TEST(clock_does_not_go_back),
	};

	return mor_run_group("base/trace", tests);
}
