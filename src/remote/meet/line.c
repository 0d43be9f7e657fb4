/* SPDX-License-Identifier: Apache-2.0 */
/* The line with which a plugin says where it listens. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "meet/meet.h"

enum { CORE, APP, NETWORK, ADDRESS, SPOKEN, CERTIFICATE, MULTIPLEX, PARTS };

/* Cuts at the bars. Returns the number of parts; PARTS + 1: too many. */
static size_t cut_line(struct mor_slice line, struct mor_slice parts[PARTS])
{
	size_t count = 0;

	for (;;) {
		const char *bar = line.len ? memchr(line.ptr, '|', line.len) : NULL;
		size_t len = bar ? (size_t)(bar - line.ptr) : line.len;

		if (count == PARTS)
			return PARTS + 1;
		parts[count++] = (struct mor_slice){ line.ptr, len };
		if (!bar)
			return count;
		line = (struct mor_slice){ bar + 1, line.len - len - 1 };
	}
}

bool mor_meet_is_line(struct mor_slice line)
{
	struct mor_slice parts[PARTS], trimmed = mor_slice_trim(line, " \t\r\n");
	uint32_t core;

	return cut_line(trimmed, parts) > ADDRESS && mor_parse_u32(parts[CORE], &core);
}

static int refuse_line(struct mor_slice line, const char *why, mortise_error *err)
{
	char shown[120];

	return mor_fail(err, MORTISE_EPROTO,
			"its first line on stdout, \"%s\", %s: it must be 1|VERSION|unix|PATH|grpc",
			mor_excerpt(line, shown, sizeof(shown)), why);
}

/* What can be written in such a line, and is not ours to speak. */
static int check_kind(const struct mor_slice *parts, size_t count, mortise_error *err)
{
	char shown[60];

	if (!mor_slice_is(parts[NETWORK], "unix"))
		return mor_fail(err, MORTISE_ETRANSPORT,
				"listens on \"%s\", where others could connect, too: only unix sockets are "
				"used",
				mor_excerpt(parts[NETWORK], shown, sizeof(shown)));
	if (!mor_slice_is(parts[SPOKEN], "grpc"))
		return mor_fail(err, MORTISE_ETRANSPORT, "speaks \"%s\" on its socket: only grpc is spoken",
				mor_excerpt(parts[SPOKEN], shown, sizeof(shown)));
	if (count > CERTIFICATE && parts[CERTIFICATE].len)
		return mor_fail(err, MORTISE_ETRANSPORT,
				"wants TLS on its unix socket, which is private already: turn AutoMTLS off");
	if (count > MULTIPLEX && mor_slice_is(parts[MULTIPLEX], "true"))
		return mor_fail(err, MORTISE_ETRANSPORT,
				"wants to multiplex its connection, which is not supported: turn it off");
	return 0;
}

int mor_meet_read_line(struct mor_slice line, struct mor_meet_line *ret, mortise_error *err)
{
	struct mor_slice trimmed = mor_slice_trim(line, " \t\r\n"), parts[PARTS];
	size_t count;
	uint32_t core, app;
	int r;

	if (line.len > MOR_MEET_LINE)
		return refuse_line(line, "is too long", err);
	count = cut_line(trimmed, parts);
	if (count == 1)
		return refuse_line(line, "does not say where it listens", err);
	if (count <= ADDRESS || count > PARTS || !mor_parse_u32(parts[CORE], &core) ||
	    !mor_parse_u32(parts[APP], &app))
		return refuse_line(line, "is not understood", err);
	if (core != 1)
		return refuse_line(line, "begins with another version than 1", err);
	if (count <= SPOKEN) /* what that means in go-plugin */
		parts[SPOKEN] = MOR_SLICE("netrpc");
	if ((r = check_kind(parts, count, err)) < 0)
		return r;
	if (parts[ADDRESS].len == 0 || parts[ADDRESS].len >= sizeof(ret->path) ||
	    memchr(parts[ADDRESS].ptr, '\0', parts[ADDRESS].len))
		return refuse_line(line, "names a path that is empty or longer than 107 bytes", err);
	ret->app = app;
	memcpy(ret->path, parts[ADDRESS].ptr, parts[ADDRESS].len);
	ret->path[parts[ADDRESS].len] = '\0';
	return 0;
}
