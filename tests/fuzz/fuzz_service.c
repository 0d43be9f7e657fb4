/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer of a Sunscreen plugin over gRPC, or a message of its stream. Byte 0 of the input picks the method;
 * the rest is the message. What is accepted is one JSON text; what is refused has a reason, and a failure that
 * the plugin tells has its code.
 */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "service/service.h"

static void check_json(const struct mor_buf *text)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	CHECK(mor_doc_parse(mor_buf_view(text), 0, 0, &doc, NULL) == 0);
}

/* A note is JSON, a result is a part of the message. */
static void hear(struct mor_slice message)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	const char *method = NULL;
	struct mor_slice result = { 0 };
	mortise_error err = { 0 };
	int r = mor_service_find(MOR_SLICE("run"))->stream->hear(message, &method, &params, &result, &err);

	CHECK(r >= 0 || (r == MORTISE_EPROTO && err.text[0]));
	if (r == MOR_SERVICE_NOTE)
		check_json(&params);
	if (r == MOR_SERVICE_RESULT)
		CHECK(result.ptr >= message.ptr && result.ptr + result.len <= message.ptr + message.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const methods[] = { "initialize", "commands", "run", "hook", "shutdown" };
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf more = MOR_BUF_INIT;
	mortise_error err = { 0 };
	int r;

	if (size < 1)
		return 0;
	hear((struct mor_slice){ (const char *)data + 1, size - 1 });
	(void)mor_service_is_serving((struct mor_slice){ (const char *)data + 1, size - 1 });
	r = mor_service_find(mor_slice_of(methods[data[0] % 5]))
		    ->answer((struct mor_slice){ (const char *)data + 1, size - 1 }, &result, &more, &err);
	CHECK(r == 0 || r == MORTISE_EPROTO || r == MORTISE_EREMOTE);
	CHECK(r == 0 || (err.code == r && err.text[0] && !strchr(err.text, '\n')));
	if (r == 0)
		check_json(&result);
	if (more.len)
		check_json(&more);
	return 0;
}
