/* SPDX-License-Identifier: Apache-2.0 */
/* A handshake is taken or refused; what is taken stays within the bytes that came, and what we answer is
 * a head again. */
#include "fuzz.h"

#include "base/alloc.h"
#include "wsock/inside.h"

static void check_slice(struct mor_slice part, struct mor_slice whole)
{
	CHECK(!part.ptr || (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len));
}

static void check_headers(const struct mor_http *http, struct mor_slice head)
{
	CHECK(http->count <= MOR_HTTP_HEADERS);
	for (size_t i = 0; i < http->count; i++) {
		check_slice(http->headers[i].name, head);
		check_slice(http->headers[i].value, head);
		CHECK(http->headers[i].name.len > 0);
	}
}

static void check_request(struct mor_slice head)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_http http, answer;
	const char *wrong = NULL;

	if (mor_http_parse_request(head, &http))
		return;
	check_headers(&http, head);
	check_slice(http.path, head);
	check_slice(http.query, head);
	if (mor_http_check_request(&http, &wrong)) {
		CHECK(wrong);
		return;
	}
	CHECK(mor_http_write_response(&http, &out) == 0 && mor_http_end(mor_buf_view(&out)) == out.len);
	CHECK(!mor_http_parse_response(mor_buf_view(&out), &answer) && answer.status == 101);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mor_slice bytes = { (const char *)data, size }, head = { bytes.ptr, mor_http_end(bytes) };
	struct mor_http http;

	if (!head.len)
		head = bytes;
	check_request(head);
	if (!mor_http_parse_response(head, &http)) {
		check_headers(&http, head);
		(void)mor_http_check_response(&http, "dGhlIHNhbXBsZSBub25jZQ==");
	}
	return 0;
}
