/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions and messages of a hostile server. The input: four bytes, how long the descriptor set is (least
 * first), the set, one byte that picks a type of the last service's methods, a message. A set and a message are
 * accepted or refused with a reason. What is accepted is one JSON text within its limit, and is read back.
 */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "pb/json.h"

#define JSON_LIMIT ((size_t)1 << 20)

static void check_reason(int r, const mortise_error *err)
{
	CHECK(r == 0 || (err->code == r && err->text[0] && !strchr(err->text, '\n')));
}

static void read_back(const struct mor_pb_schema *schema, const struct mor_pb_type *type,
		      const struct mor_buf *json)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf wire = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf again = { .limit = 2 * JSON_LIMIT };
	mortise_error err = { 0 };
	int r;

	CHECK(mor_doc_parse(mor_buf_view(json), 0, 0, &doc, NULL) == 0);
	/* It may be refused: a required field is missing, or two fields of a hostile set share a name. */
	r = mor_pb_from_json(schema, type, mor_doc_root(doc), 0, &wire, &err);
	check_reason(r, &err);
	if (r == 0)
		check_reason(mor_pb_to_json(schema, type, mor_buf_view(&wire), 0, &again, &err), &err);
}

static void try_message(const struct mor_pb_schema *schema, const struct mor_pb_type *type,
			struct mor_slice message)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = { .limit = JSON_LIMIT };
	mortise_error err = { 0 };
	int r = mor_pb_to_json(schema, type, message, 0, &json, &err);

	CHECK(r == 0 || r == MORTISE_EPROTO || r == MORTISE_ELIMIT);
	check_reason(r, &err);
	CHECK(json.len <= JSON_LIMIT);
	if (r == 0)
		read_back(schema, type, &json);
}

static struct mor_pb_schema *load_set(struct mor_slice set)
{
	struct mor_pb_schema *schema = mor_pb_schema_new();
	mortise_error err = { 0 };
	int r = mor_pb_schema_add_set(schema, set, &err);

	if (r == 0)
		r = mor_pb_schema_link(schema, &err);
	check_reason(r, &err);
	return r == 0 ? schema : mor_pb_schema_free(schema);
}

static const struct mor_pb_type *pick_type(const struct mor_pb_schema *schema, unsigned number)
{
	const struct mor_pb_service *service = mor_pb_schema_services(schema);

	while (service && service->next)
		service = service->next;
	if (!service || service->count == 0)
		return NULL;
	return number & 1 ? service->methods[number / 2 % service->count].input :
			    service->methods[number / 2 % service->count].output;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	MOR_CLEAN(mor_pb_schema) struct mor_pb_schema *schema = NULL;
	const struct mor_pb_type *type;
	size_t len;

	if (size < 5)
		return 0;
	len = data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16;
	if (len > size - 5)
		len = size - 5;
	schema = load_set((struct mor_slice){ (const char *)data + 4, len });
	type = schema ? pick_type(schema, data[4 + len]) : NULL;
	if (type)
		try_message(schema, type, (struct mor_slice){ (const char *)data + 5 + len, size - 5 - len });
	return 0;
}
