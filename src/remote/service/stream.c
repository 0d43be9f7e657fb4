/* SPDX-License-Identifier: Apache-2.0 */
/* mortise.sunscreen.v1.Stream, a command that says how far it is; and grpc.health.v1.Health. The fields are
 * those of sdk/proto/sunscreen_stream.proto and of gRPC's public health.proto. */
#include <endian.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "service/inside.h"

enum { FROM_HOST_RUN = 1, FROM_HOST_CANCEL = 2 };
enum { FROM_PLUGIN_PROGRESS = 1, FROM_PLUGIN_LOG = 2, FROM_PLUGIN_PIECE = 3, FROM_PLUGIN_RESULT = 4 };
enum { PROGRESS_FRACTION = 1, PROGRESS_TEXT = 2 };
enum { LOG_LEVEL = 1, LOG_TEXT = 2 };
enum { PIECE_TEXT = 1 };

static int begin_run(struct mor_slice message, struct mor_buf *out)
{
	return mor_pb_put_bytes(out, FROM_HOST_RUN, message);
}

/* What a note holds. */
struct told {
	struct mor_slice text, level;
	double fraction; /* NaN: not known */
};

/* A number beyond 0 to 1 would only make a strange bar. */
static int take_fraction(const struct mor_pb *pb, double *ret, mortise_error *err)
{
	uint64_t bits;

	if (pb->wire != MOR_PB_FIXED64)
		return mor_service_refuse("a fraction has another type", err);
	memcpy(&bits, pb->bytes.ptr, sizeof(bits));
	bits = le64toh(bits);
	memcpy(ret, &bits, sizeof(*ret));
	if (!isfinite(*ret))
		*ret = NAN;
	else if (*ret < 0 || *ret > 1)
		*ret = *ret < 0 ? 0 : 1;
	return 0;
}

static int read_told(struct mor_slice bytes, uint32_t kind, struct told *ret, mortise_error *err)
{
	static const uint32_t texts[] = { [FROM_PLUGIN_PROGRESS] = PROGRESS_TEXT,
					  [FROM_PLUGIN_LOG] = LOG_TEXT,
					  [FROM_PLUGIN_PIECE] = PIECE_TEXT };
	struct mor_pb pb = { .left = bytes };
	int r;

	*ret = (struct told){ .text = MOR_SLICE(""), .level = MOR_SLICE("info"), .fraction = NAN };
	while ((r = mor_service_next(&pb, err)) > 0) {
		if ((r = mor_service_text(&pb, texts[kind], &ret->text, err)) < 0)
			return r;
		if (kind == FROM_PLUGIN_LOG && (r = mor_service_text(&pb, LOG_LEVEL, &ret->level, err)) < 0)
			return r;
		if (kind == FROM_PLUGIN_PROGRESS && pb.field == PROGRESS_FRACTION &&
		    (r = take_fraction(&pb, &ret->fraction, err)) < 0)
			return r;
	}
	return r;
}

static void write_told(const struct told *told, uint32_t kind, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	if (kind == FROM_PLUGIN_LOG) {
		mor_w_pair_slice(&w, "level", told->level);
	}
	if (kind == FROM_PLUGIN_PROGRESS && !isnan(told->fraction)) {
		mor_w_key(&w, "fraction");
		mor_w_double(&w, told->fraction);
	}
	mor_w_pair_slice(&w, "text", told->text);
	mor_w_end(&w);
}

/* Of a oneof the last one counts. */
static int hear_run(struct mor_slice message, const char **ret_method, struct mor_buf *ret_params,
		    struct mor_slice *ret_result, mortise_error *err)
{
	static const char *const methods[] = {
		[FROM_PLUGIN_PROGRESS] = "progress", [FROM_PLUGIN_LOG] = "log", [FROM_PLUGIN_PIECE] = "piece"
	};
	struct mor_pb pb = { .left = message };
	struct mor_slice body = { 0 };
	struct told told;
	uint32_t kind = 0;
	int r;

	while ((r = mor_service_next(&pb, err)) > 0) {
		if (pb.field < FROM_PLUGIN_PROGRESS || pb.field > FROM_PLUGIN_RESULT)
			continue;
		if (pb.wire != MOR_PB_BYTES)
			return mor_service_refuse("a message has another type", err);
		kind = pb.field;
		body = pb.bytes;
	}
	if (r < 0 || !kind)
		return r < 0 ? r : MOR_SERVICE_NOTHING;
	if (kind == FROM_PLUGIN_RESULT) {
		*ret_result = body;
		return MOR_SERVICE_RESULT;
	}
	if ((r = read_told(body, kind, &told, err)) < 0)
		return r;
	*ret_method = methods[kind];
	write_told(&told, kind, ret_params);
	return mor_buf_failed(ret_params) ? mor_fail_memory(err) : MOR_SERVICE_NOTE;
}

const struct mor_service_stream mor_service_run_stream = {
	.path = "/mortise.sunscreen.v1.Stream/RunCommandStream",
	.begin = begin_run,
	.cancel = { "\x12\0", 2 }, /* FROM_HOST_CANCEL, with nothing in it */
	.hear = hear_run,
};

/* ---- health ---- */

enum { HEALTH_SERVICE = 1 };
enum { HEALTH_STATUS = 1, HEALTH_SERVING = 1 };

int mor_service_ask_health(const char *service, struct mor_buf *out)
{
	return mor_pb_put_text(out, HEALTH_SERVICE, service);
}

bool mor_service_is_serving(struct mor_slice answer)
{
	struct mor_pb pb = { .left = answer };
	bool serving = false;
	int r;

	while ((r = mor_pb_next(&pb)) > 0)
		if (pb.field == HEALTH_STATUS)
			serving = pb.wire == MOR_PB_VARINT && pb.number == HEALTH_SERVING;
	return r == 0 && serving;
}
