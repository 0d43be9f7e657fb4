/* SPDX-License-Identifier: Apache-2.0 */
#include "service/described.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "pb/json.h"
#include "pb/pb.h"
#include "pb/schema.h"

/* The fields of grpc.reflection.v1, which are those of v1alpha. */
enum { ASK_FILE = 3, ASK_SYMBOL = 4, ASK_SERVICES = 7 };
enum { TOLD_FILES = 4, TOLD_SERVICES = 6, TOLD_ERROR = 7 };

enum reflecting { LISTING, SYMBOLS, FILES, KNOWN };

struct mor_described {
	struct mor_pb_schema *schema;
	enum reflecting state;
	struct mor_buf services; /* names that were listed, one after the other, each with its NUL */
	size_t at;               /* of the one that is asked for next */
	size_t bytes, answers;
	bool loaded;
};

struct mor_described *mor_described_new(void)
{
	struct mor_described *described = mor_zalloc(sizeof(*described));

	if (!described)
		return NULL;
	described->schema = mor_pb_schema_new();
	if (!described->schema)
		return mor_described_free(described);
	return described;
}

struct mor_described *mor_described_free(struct mor_described *described)
{
	if (described) {
		mor_pb_schema_free(described->schema);
		mor_buf_fini(&described->services);
	}
	mor_free(described);
	return NULL;
}

static int finish_schema(struct mor_described *described, mortise_error *err)
{
	int r = mor_pb_schema_link(described->schema, err);

	described->loaded = r == 0;
	described->state = KNOWN;
	return r;
}

int mor_described_load(struct mor_described *described, struct mor_slice set, mortise_error *err)
{
	int r = mor_pb_schema_add_set(described->schema, set, err);

	return r < 0 ? r : finish_schema(described, err);
}

/* ---- reflection ---- */

/* Everybody who has reflection has these, and nobody calls them. */
static bool is_skipped(const char *service)
{
	return strncmp(service, "grpc.reflection.", 16) == 0;
}

/* True if there is one more to ask for. */
static bool ask_symbol(struct mor_described *described, struct mor_buf *out)
{
	while (described->at < described->services.len) {
		const char *name = described->services.data + described->at;

		described->at += strlen(name) + 1;
		if (is_skipped(name))
			continue;
		mor_pb_put_text(out, ASK_SYMBOL, name);
		return true;
	}
	return false;
}

int mor_described_ask(struct mor_described *described, struct mor_buf *out, mortise_error *err)
{
	struct mor_slice missing;
	bool asked = described->state == LISTING;

	if (asked)
		mor_pb_put_bytes(out, ASK_SERVICES, MOR_SLICE("*"));
	if (described->state == SYMBOLS) {
		asked = ask_symbol(described, out);
		described->state = asked ? SYMBOLS : FILES;
	}
	if (described->state == FILES) {
		asked = mor_pb_schema_missing(described->schema, &missing);
		if (!asked)
			return finish_schema(described, err);
		mor_pb_put_bytes(out, ASK_FILE, missing);
	}
	return mor_buf_failed(out) ? mor_fail_memory(err) : asked;
}

/* The next field of an answer. 1, 0 at the end, or a status. */
static int next_field(struct mor_pb *pb, mortise_error *err)
{
	int r = mor_pb_next(pb);

	return r < 0 ? mor_fail(err, MORTISE_EPROTO, "its reflection answers what is not a protocol buffer") :
		       r;
}

static int hear_services(struct mor_described *described, struct mor_slice list, mortise_error *err)
{
	struct mor_pb pb = { .left = list };
	int r;

	while ((r = next_field(&pb, err)) > 0) {
		struct mor_pb inner = { .left = pb.bytes };

		if (pb.field != 1 || pb.wire != MOR_PB_BYTES)
			continue;
		while ((r = next_field(&inner, err)) > 0)
			if (inner.field == 1 && inner.wire == MOR_PB_BYTES && inner.bytes.len &&
			    !memchr(inner.bytes.ptr, '\0', inner.bytes.len)) {
				mor_buf_slice(&described->services, inner.bytes);
				mor_buf_byte(&described->services, '\0');
			}
		if (r < 0)
			return r;
	}
	described->state = SYMBOLS;
	return r < 0 ? r : mor_buf_failed(&described->services) ? mor_fail_memory(err) : 0;
}

static int hear_files(struct mor_described *described, struct mor_slice list, mortise_error *err)
{
	struct mor_pb pb = { .left = list };
	int r;

	while ((r = next_field(&pb, err)) > 0)
		if (pb.field == 1 && pb.wire == MOR_PB_BYTES &&
		    (r = mor_pb_schema_add_file(described->schema, pb.bytes, err)) < 0)
			return r == MORTISE_EINPUT ?
				       mor_fail(err, MORTISE_EPROTO,
						"its reflection tells what is not a .proto file") :
				       r;
	return r;
}

/* A service that is listed and then not described is left out; a file that is missing is told at the end. */
static int hear_error(struct mor_described *described, struct mor_slice told, mortise_error *err)
{
	struct mor_pb pb = { .left = told };
	char shown[200] = "";

	if (described->state == SYMBOLS)
		return 0;
	while (mor_pb_next(&pb) > 0)
		if (pb.field == 2 && pb.wire == MOR_PB_BYTES)
			mor_excerpt(pb.bytes, shown, sizeof(shown));
	return mor_fail(err, MORTISE_EPROTO, "its reflection fails: \"%s\"", shown);
}

int mor_described_hear(struct mor_described *described, struct mor_slice message, mortise_error *err)
{
	struct mor_pb pb = { .left = message };
	bool told = false;
	int r;

	described->bytes += message.len;
	if (described->bytes > MOR_DESCRIBED_BYTES || ++described->answers > MOR_DESCRIBED_ANSWERS)
		return mor_fail(err, MORTISE_ELIMIT,
				"its reflection says more than %zu MiB, or in more than %d answers",
				MOR_DESCRIBED_BYTES >> 20, MOR_DESCRIBED_ANSWERS);
	while ((r = next_field(&pb, err)) > 0) {
		if (pb.wire != MOR_PB_BYTES || pb.field < TOLD_FILES)
			continue;
		told = true;
		if (pb.field == TOLD_SERVICES && described->state == LISTING)
			r = hear_services(described, pb.bytes, err);
		else if (pb.field == TOLD_FILES && described->state != LISTING)
			r = hear_files(described, pb.bytes, err);
		else if (pb.field == TOLD_ERROR)
			r = hear_error(described, pb.bytes, err);
		else
			told = false;
		if (r < 0)
			return r;
	}
	return r < 0 || told ? r : mor_fail(err, MORTISE_EPROTO, "its reflection answers something else");
}

/* ---- using it ---- */

static void write_method(struct mor_writer *w, const struct mor_pb_method *method)
{
	mor_w_object(w);
	mor_w_pair(w, "name", method->name.ptr);
	mor_w_pair(w, "input", method->input_name.ptr);
	mor_w_pair(w, "output", method->output_name.ptr);
	if (method->client_streams || method->server_streams)
		mor_w_pair(w, "streams",
			   !method->server_streams ? "client" :
			   method->client_streams  ? "both" :
						     "server");
	mor_w_end(w);
}

int mor_described_list(const struct mor_described *described, struct mor_buf *out)
{
	const struct mor_pb_service *service =
		described->loaded ? mor_pb_schema_services(described->schema) : NULL;
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	mor_w_pair_array(&w, "services");
	for (; service; service = service->next) {
		if (is_skipped(service->name.ptr))
			continue;
		mor_w_object(&w);
		mor_w_pair(&w, "name", service->name.ptr);
		mor_w_pair_array(&w, "methods");
		for (size_t i = 0; i < service->count; i++)
			write_method(&w, &service->methods[i]);
		mor_w_end(&w);
		mor_w_end(&w);
	}
	mor_w_end(&w);
	mor_w_end(&w);
	return mor_buf_failed(out) ? MORTISE_ENOMEM : 0;
}

int mor_described_find(const struct mor_described *described, struct mor_slice method,
		       const struct mor_pb_method **ret, mortise_error *err)
{
	char shown[100];
	int r;

	mor_excerpt(method, shown, sizeof(shown));
	if (!described->loaded)
		return mor_fail(err, MORTISE_EUNSUPPORTED,
				"nobody describes \"%s\": the plugin has no reflection, so grpc.proto, a "
				"descriptor set, is needed; protoc --include_imports -o FILE.desc makes one",
				shown);
	r = mor_pb_schema_method(described->schema, method, ret, err);
	if (r == 0 && ((*ret)->client_streams || (*ret)->server_streams))
		return mor_fail(err, MORTISE_EUNSUPPORTED,
				"\"%s\" streams: only methods with one message each way can be called", shown);
	return r;
}

int mor_described_encode(const struct mor_described *described, const struct mor_pb_method *method,
			 const struct mor_value *params, struct mor_buf *out, mortise_error *err)
{
	return params ? mor_pb_from_json(described->schema, method->input, params, 0, out, err) : 0;
}

int mor_described_decode(const struct mor_described *described, const struct mor_pb_method *method,
			 struct mor_slice message, struct mor_buf *out, mortise_error *err)
{
	return mor_pb_to_json(described->schema, method->output, message, 0, out, err);
}

/* ---- go-plugin's stdio ---- */

bool mor_described_stdio(struct mor_slice message, bool *ret_is_stderr, struct mor_slice *ret_bytes)
{
	struct mor_pb pb = { .left = message };
	uint64_t channel = 0;
	int r;

	*ret_bytes = (struct mor_slice){ "", 0 };
	while ((r = mor_pb_next(&pb)) > 0) {
		if (pb.field == 1 && pb.wire == MOR_PB_VARINT)
			channel = pb.number;
		if (pb.field == 2 && pb.wire == MOR_PB_BYTES)
			*ret_bytes = pb.bytes;
	}
	*ret_is_stderr = channel == 2;
	return r == 0 && (channel == 1 || channel == 2);
}
