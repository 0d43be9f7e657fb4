/* SPDX-License-Identifier: Apache-2.0 */
/* Services that are described at run time (src/remote/service/described.h): reflection of a server that
 * says anything. */
#include "leak.h"

#include <string.h>

#include "base/alloc.h"
#include "pb/pb.h"
#include "service/described.h"

static void described_fini(struct mor_described **described)
{
	*described = mor_described_free(*described);
}

/* An answer with one part: `field` of the answer holds `inner` of it, which holds the bytes. */
static int hear(struct mor_described *described, uint32_t field, uint32_t inner, struct mor_slice bytes,
		mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf part = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf answer = MOR_BUF_INIT;

	mor_pb_put_bytes(&part, inner, bytes);
	mor_pb_put_bytes(&answer, field, mor_buf_view(&part));
	return mor_described_hear(described, mor_buf_view(&answer), err);
}

static int hear_service(struct mor_described *described, const char *name, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf service = MOR_BUF_INIT;

	mor_pb_put_text(&service, 1, name);
	return hear(described, 6, 1, mor_buf_view(&service), err);
}

static int ask(struct mor_described *described, uint32_t *field, char text[100])
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	mortise_error err = { 0 };
	int r = mor_described_ask(described, &out, &err);
	struct mor_pb pb = { .left = mor_buf_view(&out) };

	if (r == 1) {
		assert_int_equal(mor_pb_next(&pb), 1);
		*field = pb.field;
		memcpy(text, pb.bytes.ptr, pb.bytes.len);
		text[pb.bytes.len] = '\0';
	}
	return r;
}

/* A file "NAME" that imports "IMPORT", with a service "S" that has one method "Do", which streams if asked. */
static void make_file(struct mor_buf *out, const char *name, const char *import, bool streams)
{
	MOR_CLEAN(mor_buf) struct mor_buf method = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf part = MOR_BUF_INIT;

	mor_pb_put_text(out, 1, name);
	mor_pb_put_text(out, 3, import);
	mor_pb_put_text(out, 12, "proto3");
	mor_pb_put_text(&part, 1, "M");
	mor_pb_put_bytes(out, 4, mor_buf_view(&part));
	mor_buf_reset(&part, 0);
	mor_pb_put_text(&method, 1, "Do");
	mor_pb_put_text(&method, 2, ".M");
	mor_pb_put_text(&method, 3, ".M");
	mor_pb_put_number(&method, 6, streams);
	mor_pb_put_text(&part, 1, "S");
	mor_pb_put_bytes(&part, 2, mor_buf_view(&method));
	mor_pb_put_bytes(out, 6, mor_buf_view(&part));
}

/* List, symbol, then each file that is imported and not there. */
static void test_questions(void **state)
{
	__attribute__((cleanup(described_fini))) struct mor_described *described = mor_described_new();
	MOR_CLEAN(mor_buf) struct mor_buf file = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf list = MOR_BUF_INIT;
	const struct mor_pb_method *method;
	mortise_error err = { 0 };
	uint32_t field;
	char text[100];

	(void)state;
	assert_int_equal(ask(described, &field, text), 1);
	assert_int_equal(field, 7);
	assert_int_equal(hear_service(described, "S", &err), 0);
	assert_int_equal(ask(described, &field, text), 1);
	assert_true(field == 4 && strcmp(text, "S") == 0);
	make_file(&file, "a.proto", "b.proto", false);
	assert_int_equal(hear(described, 4, 1, mor_buf_view(&file), &err), 0);
	assert_int_equal(ask(described, &field, text), 1);
	assert_true(field == 3 && strcmp(text, "b.proto") == 0);
	mor_buf_reset(&file, 0);
	mor_pb_put_text(&file, 1, "b.proto");
	assert_int_equal(hear(described, 4, 1, mor_buf_view(&file), &err), 0);
	assert_int_equal(ask(described, &field, text), 0);
	assert_int_equal(mor_described_find(described, MOR_SLICE("S/Do"), &method, &err), 0);
	assert_int_equal(mor_described_list(described, &list), 0);
	assert_true(mor_slice_is(mor_buf_view(&list),
				 "{\"services\":[{\"name\":\"S\",\"methods\":[{\"name\":\"Do\",\"input\":\"M\","
				 "\"output\":\"M\"}]}]}"));
}

static void test_streams_are_refused(void **state)
{
	__attribute__((cleanup(described_fini))) struct mor_described *described = mor_described_new();
	MOR_CLEAN(mor_buf) struct mor_buf file = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf set = MOR_BUF_INIT;
	const struct mor_pb_method *method;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_described_find(described, MOR_SLICE("S/Do"), &method, &err), MORTISE_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "grpc.proto"));
	make_file(&file, "a.proto", "", true);
	mor_pb_put_bytes(&set, 1, mor_buf_view(&file));
	assert_int_equal(mor_described_load(described, mor_buf_view(&set), &err), 0);
	assert_int_equal(mor_described_find(described, MOR_SLICE("S/Do"), &method, &err), MORTISE_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "streams"));
}

/* Answers to another question, garbage, an error, an import that nobody has, and answers without end. */
static void test_hostile(void **state)
{
	static const struct {
		uint32_t field, inner;
		const char *bytes;
		int want;
	} cases[] = {
		{ 4, 1, "\xff\xff", MORTISE_EPROTO },
		{ 9, 1, "x", MORTISE_EPROTO },
		{ 6, 1, "\x0a\xff", MORTISE_EPROTO },
		{ 7, 2, "broken", MORTISE_EPROTO },
	};
	mortise_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		__attribute__((cleanup(described_fini))) struct mor_described *described = mor_described_new();

		assert_int_equal(hear(described, cases[i].field, cases[i].inner, mor_slice_of(cases[i].bytes),
				      &err),
				 cases[i].want);
		assert_true(err.text[0]);
	}
}

static void test_without_end(void **state)
{
	__attribute__((cleanup(described_fini))) struct mor_described *described = mor_described_new();
	MOR_CLEAN(mor_buf) struct mor_buf file = MOR_BUF_INIT;
	mortise_error err = { 0 };
	int r = hear_service(described, "S", &err);

	(void)state;
	make_file(&file, "a.proto", "never.proto", false);
	for (unsigned i = 0; r == 0 && i <= MOR_DESCRIBED_ANSWERS; i++)
		r = hear(described, 4, 1, mor_buf_view(&file), &err);
	assert_int_equal(r, MORTISE_ELIMIT);
}

static void test_stdio(void **state)
{
	struct mor_slice bytes;
	bool is_stderr;

	(void)state;
	assert_true(mor_described_stdio(MOR_SLICE("\x08\x02\x12\x02hi"), &is_stderr, &bytes));
	assert_true(is_stderr && mor_slice_is(bytes, "hi"));
	assert_true(mor_described_stdio(MOR_SLICE("\x08\x01"), &is_stderr, &bytes));
	assert_true(!is_stderr && bytes.len == 0);
	assert_false(mor_described_stdio(MOR_SLICE("\x08\x07"), &is_stderr, &bytes));
	assert_false(mor_described_stdio(MOR_SLICE("\x12\x05x"), &is_stderr, &bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_questions), MOR_TEST(test_streams_are_refused),
		MOR_TEST(test_hostile),   MOR_TEST(test_without_end),
		MOR_TEST(test_stdio),
	};

	return mor_run_group("service/described", tests);
}
