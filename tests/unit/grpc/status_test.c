/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts of gRPC. */
#include "leak.h"

#include <string.h>

#include "grpc/inside.h"

static void test_names(void **state)
{
	char out[32];

	(void)state;
	assert_string_equal(mor_grpc_status_name(0, out), "OK");
	assert_string_equal(mor_grpc_status_name(16, out), "UNAUTHENTICATED");
	assert_string_equal(mor_grpc_status_name(17, out), "status 17");
	assert_string_equal(mor_grpc_status_name(UINT32_MAX, out), "status 4294967295");
	for (unsigned status = 0; status < MOR_GRPC_STATUSES; status++)
		assert_non_null(mor_grpc_status_name(status, out));
}

static void test_codes(void **state)
{
	(void)state;
	assert_int_equal(mor_grpc_status_code(MOR_GRPC_OK), 0);
	assert_int_equal(mor_grpc_status_code(MOR_GRPC_DEADLINE_EXCEEDED), MORTISE_ETIMEOUT);
	assert_int_equal(mor_grpc_status_code(MOR_GRPC_UNIMPLEMENTED), MORTISE_EUNSUPPORTED);
	assert_int_equal(mor_grpc_status_code(MOR_GRPC_INVALID_ARGUMENT), MORTISE_EREMOTE);
	assert_int_equal(mor_grpc_status_code(99), MORTISE_EREMOTE);
	assert_int_equal(mor_grpc_status_of_http(404), MOR_GRPC_UNIMPLEMENTED);
	assert_int_equal(mor_grpc_status_of_http(503), MOR_GRPC_UNAVAILABLE);
	assert_int_equal(mor_grpc_status_of_http(418), MOR_GRPC_UNKNOWN);
	assert_int_equal(mor_grpc_status_of_reset(8), MOR_GRPC_CANCELLED);
	assert_int_equal(mor_grpc_status_of_reset(0), MOR_GRPC_INTERNAL);
}

static void expect_unescaped(const char *text, const char *wanted)
{
	char out[32];
	size_t len = mor_grpc_unescape(mor_slice_of(text), out, sizeof(out));

	if (!mor_slice_is((struct mor_slice){ out, len }, wanted))
		fail_msg("%s: %.*s, not %s", text, (int)len, out, wanted);
}

static void test_unescape(void **state)
{
	(void)state;
	expect_unescaped("no such file", "no such file");
	expect_unescaped("a%20b%2Cc%2c", "a b,c,");
	expect_unescaped("%e4%bd%a0", "你");
	expect_unescaped("100%", "100%");
	expect_unescaped("%4", "%4");
	expect_unescaped("%zz%41", "%zzA");
	expect_unescaped("", "");
	expect_unescaped("0123456789012345678901234567890123456789", "01234567890123456789012345678901");
}

static void test_timeout(void **state)
{
	char out[16];

	(void)state;
	assert_string_equal(mor_grpc_timeout(1, out), "1m");
	assert_string_equal(mor_grpc_timeout(99999999, out), "99999999m");
	assert_string_equal(mor_grpc_timeout(100000000, out), "100000S");
	assert_string_equal(mor_grpc_timeout(100000001, out), "100001S"); /* never too early */
	assert_string_equal(mor_grpc_timeout(UINT32_MAX, out), "4294968S");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_names),
		MOR_TEST(test_codes),
		MOR_TEST(test_unescape),
		MOR_TEST(test_timeout),
	};

	return mor_run_group("grpc/status", tests);
}
