/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes on the stdin of a plugin, in each dialect: it ends by itself, and all that it says are whole frames
 * of JSON-RPC. The first byte chooses the dialect. */
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "dialect.h"

static int answer(tenon_call *call)
{
	tenon_stream(call, "%s", tenon_str(call, "text", "?"));
	return tenon_reply(call, TENON("text", tenon_str(call, "text", NULL)), TENON("id", tenon_id(call)),
			   TENON("workspace", tenon_workspace(call)));
}

static int say_text(tenon_call *call)
{
	const tenon_message *message = tenon_message_of(call);

	return tenon_reply_text(call, "%s", message ? message->raw_message : "-");
}

static int ask_back(tenon_call *call)
{
	const char *said = tenon_ask(call, "Yes?");

	return said ? tenon_reply_text(call, "%s", said) : -1;
}

static int refuse_all(tenon_call *call)
{
	return tenon_fail_data(call, tenon_int(call, "number", 0), tenon_str(call, "text", ""), "[1,{}]");
}

/* No path: a fuzzer must not read what it guesses. */
static int extract_bytes(tenon_call *call)
{
	size_t len;

	if (tenon_source_path(call))
		return -1;
	return tenon_source(call, 1000, &len) ? tenon_reply_text(call, "%zu", len) : -1;
}

static const tenon_field fields[] = {
	{ "text", .fallback = "x" },
	{ "number", TENON_FIELD_NUMBER, .fallback = "0.5" },
	{ "whole", .type = TENON_FIELD_INTEGER },
	{ "yes", .type = TENON_FIELD_BOOLEAN },
	{ "list", .type = TENON_FIELD_ARRAY },
	{ "map", .type = TENON_FIELD_OBJECT },
	{ "unit", TENON_FIELD_STRING, .choices = "a|bc|" },
	{ "any", .type = TENON_FIELD_ANY },
	{ 0 },
};
static const tenon_command commands[] = {
	{ "do", answer, "Does", .fields = fields, .aliases = "d 做" },
	{ "app:ask", ask_back, "Asks", .fields = NULL },
	{ "ask", ask_back, "Asks", .fields = NULL },
	{ "no", refuse_all, "Refuses", .fields = NULL },
	{ 0 },
};
static const tenon_method methods[] = { { "say", say_text, NULL }, { 0 } };

static const tenon_plugin plugin = {
	.name = "fuzzed",
	.methods = methods,
	.max_message_bytes = 65536,
	.commands = commands,
	.hooks = commands,
	.extract = extract_bytes,
	.formats = "text/plain",
	.extensions = ".a .b",
	.handler = say_text,
};

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(mor_fd_write_all(fd, data, size) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static void check_message(struct mor_slice body)
{
	struct mor_message message;

	CHECK(mor_envelope_scan(body, 0, 0, &message, NULL) == 0);
	CHECK(message.kind != MOR_MSG_REQUEST);
}

/* All that was said, frame by frame. */
static void check_output(int fd, enum mor_framing framing)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *bytes = size > 0 ? malloc((size_t)size) : NULL;
	struct mor_deframer deframer;
	size_t at = 0;

	CHECK(size >= 0 && (!size || (bytes && pread(fd, bytes, (size_t)size, 0) == size)));
	mor_deframer_init(&deframer, framing, 0, 0);
	while (at < (size_t)size) {
		struct mor_item item;

		CHECK(mor_deframe(&deframer, bytes + at, (size_t)size - at, true, &item) == MOR_ITEM_FRAME);
		check_message(item.body);
		at += item.used;
	}
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The last place: NULL, the first bytes decide. kythe has nothing to route. */
	static const struct tn_dialect *const spoken[] = {
		&tn_yams, &tn_ayiou, &tn_gassist, &tn_sunscreen, &tn_sunscreen_json, &tn_plain, NULL,
	};
	struct tn_session session;
	int out;

	if (size == 0)
		return 0;
	CHECK(tn_session_init(&session, &plugin, spoken[data[0] % 7]) == 0);
	session.in = file_of(data + 1, size - 1);
	session.out = file_of(data, 0);
	out = fcntl(session.out, F_DUPFD_CLOEXEC, 3);
	CHECK(out >= 0);
	CHECK(tn_serve(&session) == 0);
	check_output(out, session.framing);
	tn_session_fini(&session);
	mor_fd_close(&out);
	return 0;
}
