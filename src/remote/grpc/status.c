/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of gRPC, and their relatives in HTTP/2, HTTP and Mortise. The names and values are those of the
 * public documents "gRPC over HTTP2" and "HTTP to gRPC Status Code Mapping". */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "grpc/inside.h"

/* A number that a plugin answers is its own error, except for those that say more to a caller. */
static const struct {
	const char *name;
	int code;
} statuses[MOR_GRPC_STATUSES] = {
	[MOR_GRPC_OK] = { "OK", 0 },
	[MOR_GRPC_CANCELLED] = { "CANCELLED", MORTISE_EREMOTE },
	[MOR_GRPC_UNKNOWN] = { "UNKNOWN", MORTISE_EREMOTE },
	[MOR_GRPC_INVALID_ARGUMENT] = { "INVALID_ARGUMENT", MORTISE_EREMOTE },
	[MOR_GRPC_DEADLINE_EXCEEDED] = { "DEADLINE_EXCEEDED", MORTISE_ETIMEOUT },
	[MOR_GRPC_NOT_FOUND] = { "NOT_FOUND", MORTISE_EREMOTE },
	[MOR_GRPC_ALREADY_EXISTS] = { "ALREADY_EXISTS", MORTISE_EREMOTE },
	[MOR_GRPC_PERMISSION_DENIED] = { "PERMISSION_DENIED", MORTISE_EREMOTE },
	[MOR_GRPC_RESOURCE_EXHAUSTED] = { "RESOURCE_EXHAUSTED", MORTISE_EREMOTE },
	[MOR_GRPC_FAILED_PRECONDITION] = { "FAILED_PRECONDITION", MORTISE_EREMOTE },
	[MOR_GRPC_ABORTED] = { "ABORTED", MORTISE_EREMOTE },
	[MOR_GRPC_OUT_OF_RANGE] = { "OUT_OF_RANGE", MORTISE_EREMOTE },
	[MOR_GRPC_UNIMPLEMENTED] = { "UNIMPLEMENTED", MORTISE_EUNSUPPORTED },
	[MOR_GRPC_INTERNAL] = { "INTERNAL", MORTISE_EREMOTE },
	[MOR_GRPC_UNAVAILABLE] = { "UNAVAILABLE", MORTISE_EREMOTE },
	[MOR_GRPC_DATA_LOSS] = { "DATA_LOSS", MORTISE_EREMOTE },
	[MOR_GRPC_UNAUTHENTICATED] = { "UNAUTHENTICATED", MORTISE_EREMOTE },
};

struct pair {
	uint32_t number;
	unsigned status;
};
static const struct pair https[] = {
	{ 400, MOR_GRPC_INTERNAL },      { 401, MOR_GRPC_UNAUTHENTICATED }, { 403, MOR_GRPC_PERMISSION_DENIED },
	{ 404, MOR_GRPC_UNIMPLEMENTED }, { 429, MOR_GRPC_UNAVAILABLE },     { 502, MOR_GRPC_UNAVAILABLE },
	{ 503, MOR_GRPC_UNAVAILABLE },   { 504, MOR_GRPC_UNAVAILABLE },     { 0, MOR_GRPC_UNKNOWN },
};
/* RFC 9113, section 7: REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM, INADEQUATE_SECURITY. */
static const struct pair resets[] = {
	{ 7, MOR_GRPC_UNAVAILABLE },        { 8, MOR_GRPC_CANCELLED }, { 11, MOR_GRPC_RESOURCE_EXHAUSTED },
	{ 12, MOR_GRPC_PERMISSION_DENIED }, { 0, MOR_GRPC_INTERNAL },
};

/* The last row is for all others. */
static unsigned status_of(const struct pair *row, uint32_t number)
{
	while (row->number && row->number != number)
		row++;
	return row->status;
}

unsigned mor_grpc_status_of_http(unsigned http_status)
{
	return status_of(https, http_status);
}

unsigned mor_grpc_status_of_reset(uint32_t error)
{
	return status_of(resets, error);
}

const char *mor_grpc_status_name(unsigned status, char out[32])
{
	if (status < MOR_GRPC_STATUSES)
		return statuses[status].name;
	snprintf(out, 32, "status %u", status);
	return out;
}

int mor_grpc_status_code(unsigned status)
{
	return status < MOR_GRPC_STATUSES ? statuses[status].code : MORTISE_EREMOTE;
}

size_t mor_grpc_unescape(struct mor_slice text, char *out, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < text.len && len < size; i++) {
		int high = -1, low = -1;

		if (text.ptr[i] == '%' && text.len - i > 2) {
			high = mor_hex_value(text.ptr[i + 1]);
			low = mor_hex_value(text.ptr[i + 2]);
		}
		if (high >= 0 && low >= 0) {
			out[len++] = (char)(high * 16 + low);
			i += 2;
		} else {
			out[len++] = text.ptr[i];
		}
	}
	return len;
}

const char *mor_grpc_timeout(uint32_t ms, char out[16])
{
	if (ms <= 99999999)
		snprintf(out, 16, "%" PRIu32 "m", ms);
	else
		snprintf(out, 16, "%" PRIu32 "S", ms / 1000 + (ms % 1000 != 0));
	return out;
}
