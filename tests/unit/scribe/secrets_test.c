/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets by their names, in JSON and in other text. */
#include "leak.h"

#include "base/alloc.h"
#include "scribe/secrets.h"

static void assert_json(struct mor_secrets *secrets, const char *json, const char *wanted)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	assert_int_equal(mor_secrets_json(secrets, mor_slice_of(json), &out), 0);
	assert_int_equal(mor_buf_byte(&out, '\0'), 0);
	assert_string_equal(out.data, wanted);
}

static void assert_text(const char *text, const char *wanted)
{
	struct mor_secrets secrets = { 0 };
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	assert_int_equal(mor_secrets_text(&secrets, mor_slice_of(text), &out), 0);
	assert_int_equal(mor_buf_byte(&out, '\0'), 0);
	assert_string_equal(out.data, wanted);
	mor_secrets_fini(&secrets);
}

/* The same value has the same name everywhere; another one has another. */
static void values_have_names(void **state)
{
	struct mor_secrets secrets = { 0 };

	(void)state;
	assert_json(&secrets, "{\"token\":\"a\",\"x\":1}", "{\"token\":$secret_token_1,\"x\":1}");
	assert_json(&secrets, "{\"access_token\":\"a\"}", "{\"access_token\":$secret_token_1}");
	assert_json(&secrets, "{\"Api-Key\":\"b\"}", "{\"Api-Key\":$secret_api_key_2}");
	assert_json(&secrets, "{\"password\":{\"a\":[\"}\"]},\"b\":2}",
		    "{\"password\":$secret_password_3,\"b\":2}");
	assert_json(&secrets, "{\"\\u0074oken\":\"a\"}", "{\"\\u0074oken\":$secret_token_1}");
	mor_secrets_fini(&secrets);
}

static void harmless_values_stay(void **state)
{
	struct mor_secrets secrets = { 0 };

	(void)state;
	assert_json(&secrets, "{\"token\":null,\"secret\":\"\",\"pass\":true}",
		    "{\"token\":null,\"secret\":\"\",\"pass\":true}");
	assert_json(&secrets, "{\"tokens_used\":5,\"a\":\"token\"}", "{\"tokens_used\":5,\"a\":\"token\"}");
	mor_secrets_fini(&secrets);
}

static void names_of_the_user(void **state)
{
	static const char *const more[] = { "pin", NULL }, *const keep[] = { "token", NULL };
	struct mor_secrets secrets = { .more = more, .keep = keep };

	(void)state;
	assert_json(&secrets, "{\"pin\":7,\"token\":\"a\"}", "{\"pin\":$secret_pin_1,\"token\":\"a\"}");
	mor_secrets_fini(&secrets);
}

static void other_text(void **state)
{
	(void)state;
	assert_text("token=abc is wrong", "token=*** is wrong");
	assert_text("Authorization: Bearer abc\nnext", "Authorization: ***\nnext");
	assert_text("{\"password\": \"abc\", half", "{\"password\": \"***\", half");
	assert_text("a token of thanks", "a token of thanks");
	assert_text("token=", "token=");
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(values_have_names), MOR_TEST(harmless_values_stay),
					    MOR_TEST(names_of_the_user), MOR_TEST(other_text) };

	return mor_run_group("scribe/secrets", tests);
}
