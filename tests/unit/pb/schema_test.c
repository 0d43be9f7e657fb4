/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas (src/remote/pb/schema.h) of hands that are not to be trusted, and allocations that fail. What
 * messages become is in tests/pb/test_oracle.py. */
#include "leak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "pb/json.h"

static void put_message(struct mor_buf *out, uint32_t field, struct mor_buf *inside)
{
	mor_pb_put_bytes(out, field, mor_buf_view(inside));
	mor_buf_reset(inside, SIZE_MAX);
}

/* A file with one message "A" that has `count` fields, and a service "S" with a method "Do" that takes it. */
static void make_file(struct mor_buf *out, const char *name, unsigned count)
{
	MOR_CLEAN(mor_buf) struct mor_buf type = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf field = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf method = MOR_BUF_INIT;
	char text[32];

	mor_pb_put_text(out, 1, name);
	mor_pb_put_text(out, 2, "p");
	mor_pb_put_text(out, 12, "proto3");
	mor_pb_put_text(&type, 1, "A");
	for (unsigned i = 1; i <= count; i++) {
		snprintf(text, sizeof(text), "field_%u", i);
		mor_pb_put_text(&field, 1, text);
		mor_pb_put_number(&field, 3, i);
		mor_pb_put_number(&field, 4, 1);
		mor_pb_put_number(&field, 5, MOR_PB_STRING);
		put_message(&type, 2, &field);
	}
	put_message(out, 4, &type);
	mor_pb_put_text(&method, 1, "Do");
	mor_pb_put_text(&method, 2, ".p.A");
	mor_pb_put_text(&method, 3, ".p.A");
	mor_pb_put_text(&type, 1, "S");
	put_message(&type, 2, &method);
	put_message(out, 6, &type);
}

static int load_file(struct mor_buf *file, struct mor_pb_schema **ret, mortise_error *err)
{
	int r;

	*ret = mor_pb_schema_new();
	if (!*ret)
		return MORTISE_ENOMEM;
	r = mor_pb_schema_add_file(*ret, mor_buf_view(file), err);
	return r < 0 ? r : mor_pb_schema_link(*ret, err);
}

static void test_names(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf file = MOR_BUF_INIT;
	MOR_CLEAN(mor_pb_schema) struct mor_pb_schema *schema = NULL;
	const struct mor_pb_method *method;
	const struct mor_pb_type *type;
	mortise_error err = { 0 };

	(void)state;
	make_file(&file, "a.proto", 3);
	assert_int_equal(load_file(&file, &schema, &err), 0);
	type = mor_pb_schema_type(schema, MOR_SLICE("p.A"));
	assert_non_null(type);
	assert_string_equal(mor_pb_type_field(type, 2)->json_name.ptr, "field2");
	assert_non_null(mor_pb_type_named(type, MOR_SLICE("field_3")));
	assert_null(mor_pb_type_field(type, 4));
	assert_int_equal(mor_pb_schema_method(schema, MOR_SLICE("/p.S/Do"), &method, &err), 0);
	assert_ptr_equal(method->input, type);
	assert_int_equal(mor_pb_schema_method(schema, MOR_SLICE("p.S/Doo"), &method, &err),
			 MORTISE_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "did you mean p.S/Do?"));
	assert_int_equal(mor_pb_schema_method(schema, MOR_SLICE("nothing"), &method, &err),
			 MORTISE_EUNSUPPORTED);
}

/* Tiny descriptions of many things do not take more memory than they may. */
static void test_too_large(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf file = MOR_BUF_INIT;
	MOR_CLEAN(mor_pb_schema) struct mor_pb_schema *schema = NULL;
	mortise_error err = { 0 };

	(void)state;
	make_file(&file, "a.proto", 700000);
	assert_int_equal(load_file(&file, &schema, &err), MORTISE_ELIMIT);
	assert_non_null(strstr(err.text, "64 MiB"));
}

static void test_too_many_files(void **state)
{
	MOR_CLEAN(mor_pb_schema) struct mor_pb_schema *schema = mor_pb_schema_new();
	mortise_error err = { 0 };
	int r = 0;

	(void)state;
	for (unsigned i = 0; r == 0 && i <= MOR_PB_SCHEMA_FILES; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf file = MOR_BUF_INIT;
		char name[32];

		snprintf(name, sizeof(name), "%u.proto", i);
		mor_pb_put_text(&file, 1, name);
		r = mor_pb_schema_add_file(schema, mor_buf_view(&file), &err);
	}
	assert_int_equal(r, MORTISE_ELIMIT);
}

static void test_missing_import(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf file = MOR_BUF_INIT;
	MOR_CLEAN(mor_pb_schema) struct mor_pb_schema *schema = mor_pb_schema_new();
	struct mor_slice missing = { 0 };

	(void)state;
	make_file(&file, "a.proto", 1);
	mor_pb_put_text(&file, 3, "b.proto");
	assert_int_equal(mor_pb_schema_add_file(schema, mor_buf_view(&file), NULL), 0);
	assert_true(mor_pb_schema_missing(schema, &missing));
	assert_true(mor_slice_is(missing, "b.proto"));
	mor_buf_reset(&file, 0);
	mor_pb_put_text(&file, 1, "b.proto");
	assert_int_equal(mor_pb_schema_add_file(schema, mor_buf_view(&file), NULL), 0);
	assert_false(mor_pb_schema_missing(schema, &missing));
}

/* A message of a byte per value is not read into more than it may become. */
static void test_json_limit(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf file = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf message = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf json = { .limit = 4096 };
	MOR_CLEAN(mor_pb_schema) struct mor_pb_schema *schema = NULL;
	mortise_error err = { 0 };
	char big[8192];

	(void)state;
	memset(big, 1, sizeof(big));
	make_file(&file, "a.proto", 1);
	assert_int_equal(load_file(&file, &schema, &err), 0);
	mor_pb_put_bytes(&message, 1, (struct mor_slice){ big, sizeof(big) });
	assert_int_equal(mor_pb_to_json(schema, mor_pb_schema_type(schema, MOR_SLICE("p.A")),
					mor_buf_view(&message), 0, &json, &err),
			 MORTISE_ELIMIT);
	assert_non_null(strstr(err.text, "4096 bytes as JSON"));
}

static int whole_piece(const char *path)
{
	MOR_CLEAN(mor_pb_schema) struct mor_pb_schema *schema = mor_pb_schema_new();
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf wire = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN_TEXT char *bytes = NULL;
	const struct mor_pb_type *type;
	mortise_error err = { 0 };
	size_t len = 0, set;
	int r = mor_fd_read_file(path, 1 << 20, &bytes, &len);

	if (r < 0 || !schema)
		return MORTISE_ENOMEM;
	set = (unsigned char)bytes[0] | (size_t)(unsigned char)bytes[1] << 8;
	r = mor_pb_schema_add_set(schema, (struct mor_slice){ bytes + 4, set }, &err);
	if (r == 0)
		r = mor_pb_schema_link(schema, &err);
	if (r < 0)
		return r;
	type = mor_pb_schema_type(schema, MOR_SLICE("f.M"));
	r = mor_pb_to_json(schema, type, (struct mor_slice){ bytes + 5 + set, len - 5 - set }, 0, &json, &err);
	if (r == 0)
		r = mor_doc_parse(mor_buf_view(&json), 0, 0, &doc, &err);
	if (r == 0)
		r = mor_pb_from_json(schema, type, mor_doc_root(doc), 0, &wire, &err);
	assert_true(r == 0 || r == MORTISE_ENOMEM);
	return r;
}

/* Every allocation fails in turn, with messages that have everything. */
static void test_no_memory(void **state)
{
	static const char *const names[] = { "scalars", "nested", "known" };
	char path[1000];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int r = MORTISE_ENOMEM;

		snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/pb/%s", getenv("MORTISE_SOURCE"), names[i]);
		for (long n = 0; n < 5000 && r != 0; n++) {
			mor_alloc_fail_after(n);
			r = whole_piece(path);
			mor_alloc_fail_after(-1);
		}
		assert_int_equal(r, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_names),          MOR_TEST(test_too_large),  MOR_TEST(test_too_many_files),
		MOR_TEST(test_missing_import), MOR_TEST(test_json_limit), MOR_TEST(test_no_memory),
	};

	return mor_run_group("pb/schema", tests);
}
