/* SPDX-License-Identifier: Apache-2.0 */
#include "leak.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

static void text_is_one_line(void **state)
{
	mortise_error err;

	(void)state;
	assert_int_equal(mor_fail(&err, MORTISE_ETIMEOUT, "a\nb\r\nc\td\x1b[0m\n"), MORTISE_ETIMEOUT);
	assert_string_equal(err.text, "a b  c d [0m");
	mor_fail(&err, MORTISE_EREMOTE,
		 "C1 \xc2\x9b"
		 "2J \x9b"
		 "2J, order \xe2\x80\xae"
		 "cod, \xe2\x81\xa6"
		 "in, \xc3\x9b");
	assert_string_equal(err.text, "C1  2J  2J, order  cod,  in, \xc3\x9b");
	mor_fail(&err, MORTISE_EREMOTE,
		 "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb"); /* a joiner steers nothing */
	assert_string_equal(err.text, "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb");
	assert_int_equal(mor_fail(&err, MORTISE_ETIMEOUT, "x"), MORTISE_ETIMEOUT);
	assert_int_equal(err.code, MORTISE_ETIMEOUT);
	assert_int_equal(err.rpc_code, -32002);
	assert_int_equal(err.os_errno, 0);
	assert_int_equal(mor_fail(NULL, MORTISE_EPROTO, "nobody listens"), MORTISE_EPROTO);
}

/* Every length around the edge, with a three-byte character across it. */
static void text_is_cut_between_characters(void **state)
{
	char fill[600];
	mortise_error err;

	(void)state;
	memset(fill, 'x', sizeof(fill));
	for (int n = 480; n < 510; n++) {
		mor_fail(&err, MORTISE_EPROTO, "%.*s\xe2\x82\xac\xe2\x82\xac tail", n, fill);
		assert_true(strlen(err.text) <= sizeof(err.text) - 1);
		assert_true(strlen(err.text) >= sizeof(err.text) - 4 || n < 490);
		assert_true(mor_utf8_valid(mor_slice_of(err.text)));
	}
	mor_fail(&err, MORTISE_EPROTO, "%.*s", 600, fill);
	assert_int_equal(strlen(err.text), 495);
	/* Far over: cut twice, in the scratch space and in the error. */
	mor_fail(&err, MORTISE_EPROTO, "%.*s%.*s\xf0\x9f\x98\x80", 600, fill, 389, fill);
	assert_true(mor_utf8_valid(mor_slice_of(err.text)));
}

static void errno_is_kept_and_told(void **state)
{
	mortise_error err;

	(void)state;
	assert_int_equal(mor_fail_errno(&err, MORTISE_ESYSTEM, ENOENT, "open %s", "x"), MORTISE_ESYSTEM);
	assert_string_equal(err.text, "open x: No such file or directory");
	assert_int_equal(err.os_errno, ENOENT);
	assert_int_equal(err.rpc_code, -32603);
	mor_fail_errno(&err, MORTISE_ESYSTEM, 99999, "odd");
	assert_string_equal(err.text, "odd: unknown error");
}

static void prefix_and_own_text_as_argument(void **state)
{
	mortise_error err;

	(void)state;
	mor_fail(&err, MORTISE_EPROTO, "bad");
	assert_int_equal(mor_fail_prefix(&err, "greeter"), MORTISE_EPROTO);
	assert_string_equal(err.text, "greeter: bad");
	mor_fail(&err, MORTISE_ECRASHED, "again: %s", err.text);
	assert_string_equal(err.text, "again: greeter: bad");
	assert_int_equal(mor_fail_prefix(NULL, "x"), MORTISE_ESYSTEM);
	assert_int_equal(mor_fail(&err, MORTISE_EPROTO, "%s", ""), MORTISE_EPROTO);
	assert_string_equal(err.text, "");
}

static void every_status_has_a_row(void **state)
{
	static const int all[] = {
#define ROW(name, value, kind, text, rpc, exit_code) value,
		MORTISE_ERRORS(ROW)
#undef ROW
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_string_not_equal(mortise_status_text(all[i]), "unknown");
		assert_string_not_equal(mortise_status_kind(all[i]), "unknown");
		assert_int_not_equal(mortise_status_exit_code(all[i]), 0);
	}
	assert_string_equal(mortise_status_name(MORTISE_EJAIL), "EJAIL");
	assert_string_equal(mortise_status_kind(MORTISE_EVIOLATION), "sandbox_violation");
	assert_int_equal(mortise_status_exit_code(MORTISE_EJAIL), 125);
	assert_int_equal(mortise_status_exit_code(0), 0);
	assert_string_equal(mortise_status_text(0), "ok");
}

static void strange_statuses_are_unknown(void **state)
{
	static const int strange[] = { 1, -22, -1000, INT32_MAX, INT32_MIN };

	(void)state;
	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		assert_string_equal(mortise_status_text(strange[i]), "unknown");
		assert_string_equal(mortise_status_name(strange[i]), "unknown");
		assert_int_equal(mortise_status_exit_code(strange[i]), 1);
	}
	assert_string_equal(mortise_version(), MORTISE_VERSION);
	mortise_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(text_is_one_line),       MOR_TEST(text_is_cut_between_characters),
		MOR_TEST(errno_is_kept_and_told), MOR_TEST(prefix_and_own_text_as_argument),
		MOR_TEST(every_status_has_a_row), MOR_TEST(strange_statuses_are_unknown),
	};

	return mor_run_group("base/error", tests);
}
