/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON of an Any: {"@type": URL, members of that type}. If we do not know the type, its JSON
 * is kept as text.
 */
#include <string.h>

#include "base/alloc.h"
#include "kythe/unit/proto.h"
#include "kythe/unit/unit.h"
#include "pb/scalar.h"

/* ---- from JSON ---- */

/* {"@type":...,"value":base64} and no other member: the bytes of any type. No type of details has
 * such a field. */
static bool is_bytes(const struct mor_value *object, struct mor_buf *bytes)
{
	struct mor_slice text = mor_json_string(mor_json_get(object, "value"));

	return mor_json_size(object) == 2 && text.ptr && mor_pb_base64(text, bytes) == 0;
}

/* The type of a detail is told from its value by the field that it is in. */
static int read_detail(struct mor_pb_where *where, const struct mor_value *object, struct mor_slice url,
		       unsigned flags, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
	const struct mor_pb_type *type = mor_proto_detail(url);
	uint32_t field = MOR_PROTO_ANY_VALUE;
	int r = 0;

	if (is_bytes(object, &bytes))
		return mor_pb_put_bytes(out, field, mor_buf_view(&bytes));
	mor_buf_reset(&bytes, SIZE_MAX);
	if (type) {
		r = mor_pb_members_from_json(where, type, object, flags, &bytes);
	} else {
		field = MOR_PROTO_ANY_JSON;
		r = mor_json_write(object, false, &bytes) < 0 ? MORTISE_ENOMEM : 0;
	}
	return r < 0 || bytes.len == 0 ? r : mor_pb_put_bytes(out, field, mor_buf_view(&bytes));
}

static int read_any(struct mor_pb_where *where, const struct mor_value *object, unsigned flags,
		    struct mor_buf *out)
{
	const struct mor_value *url = mor_json_get(object, "@type");
	struct mor_slice text = mor_json_string(url);

	if (mor_json_type(object) != MOR_JSON_OBJECT)
		return mor_pb_refuse_type(where, "an object", object);
	if (!url)
		return mor_pb_refuse(where, "\"@type\" is missing");
	if (!text.ptr)
		return mor_pb_refuse_type(where, "a string", url);
	if (text.len && memchr(text.ptr, '\0', text.len))
		return mor_pb_refuse(where, "the text holds a NUL character");
	mor_pb_put_bytes(out, MOR_PROTO_ANY_TYPE, text);
	return read_detail(where, object, text, flags, out);
}

/* ---- to JSON ---- */

/* Bytes that do not fit their claimed type are shown as bytes. In an archive also those that would change,
 * because the unit's digest would change with them. */
static int write_detail(struct mor_slice url, struct mor_slice value, unsigned flags, struct mor_writer *w,
			mortise_error *err)
{
	const struct mor_pb_type *type = mor_proto_detail(url);
	bool exact = false, fits = type && mor_proto_check(type, value, &exact, NULL) == 0;
	int r;

	mor_w_object(w);
	mor_w_pair_slice(w, "@type", url);
	if (fits && (exact || !(flags & MOR_PB_PROTO_NAMES))) {
		r = mor_pb_members_to_json(type, value, flags, w, err);
	} else {
		mor_w_key(w, "value");
		r = mor_pb_scalar_write(w, &mor_proto_any.fields[1], &(struct mor_pb_scalar){ .bytes = value },
					err);
	}
	mor_w_end(w);
	return r;
}

static int write_any(struct mor_slice message, unsigned flags, struct mor_writer *w, mortise_error *err)
{
	struct mor_slice url = MOR_SLICE(""), value = MOR_SLICE(""), json = { 0 };
	struct mor_pb pb = { .left = message };

	while (mor_pb_next(&pb) > 0)
		*(pb.field == MOR_PROTO_ANY_TYPE  ? &url :
		  pb.field == MOR_PROTO_ANY_VALUE ? &value :
						    &json) = pb.bytes;
	if (!json.ptr)
		return write_detail(url, value, flags, w, err);
	mor_w_raw(w, json);
	return 0;
}

const struct mor_pb_own mor_any_own = { read_any, write_any };

void mor_any_json(const struct mor_any *any, struct mor_writer *w)
{
	int r = 0;

	if (any->json.ptr)
		mor_w_raw(w, any->json);
	else
		r = write_detail(mor_slice_of(any->type_url), any->value, 0, w, NULL);
	if (r < 0)
		w->out->status = r;
}
