/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake of a WebSocket: one request and one response of HTTP/1.1. Their bodies are ignored. */
#include <nettle/base64.h>
#include <nettle/sha1.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "wsock/inside.h"

/* ---- reading ---- */

size_t mor_http_end(struct mor_slice bytes)
{
	const char *end = bytes.len ? memmem(bytes.ptr, bytes.len, "\r\n\r\n", 4) : NULL;

	return end ? (size_t)(end - bytes.ptr) + 4 : 0;
}

/* Takes one line, without its end. */
static struct mor_slice take_line(struct mor_slice *rest)
{
	const char *end = memmem(rest->ptr, rest->len, "\r\n", 2);
	struct mor_slice line = { rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len };

	*rest = mor_slice_from(*rest, end ? line.len + 2 : line.len);
	return line;
}

/* Control bytes would get into texts and comparisons. Nobody sends NUL or a single CR by mistake. */
static bool is_clean(struct mor_slice text)
{
	for (size_t i = 0; i < text.len; i++)
		if (((unsigned char)text.ptr[i] < ' ' && text.ptr[i] != '\t') || text.ptr[i] == 0x7f)
			return false;
	return true;
}

static const char *parse_headers(struct mor_slice rest, struct mor_http *head)
{
	while (rest.len) {
		struct mor_slice line = take_line(&rest), name;
		const char *colon = line.len ? memchr(line.ptr, ':', line.len) : NULL;

		if (!line.len)
			break;
		name = (struct mor_slice){ line.ptr, colon ? (size_t)(colon - line.ptr) : 0 };
		if (!name.len || memchr(name.ptr, ' ', name.len) || memchr(name.ptr, '\t', name.len) ||
		    !is_clean(line))
			return "a header is not NAME: VALUE";
		if (head->count == MOR_HTTP_HEADERS)
			return "it has too many headers";
		head->headers[head->count].name = name;
		head->headers[head->count++].value =
			mor_slice_trim((struct mor_slice){ colon + 1, line.len - name.len - 1 }, " \t");
	}
	return NULL;
}

const char *mor_http_parse_request(struct mor_slice bytes, struct mor_http *ret)
{
	struct mor_slice line = take_line(&bytes), target;
	const char *query;

	*ret = (struct mor_http){ .method = mor_slice_cut(&line, ' ') };
	target = mor_slice_cut(&line, ' ');
	if (!mor_slice_is(line, "HTTP/1.1") || !ret->method.len || !target.len || !is_clean(target))
		return "it is not an HTTP/1.1 request";
	query = memchr(target.ptr, '?', target.len);
	ret->path = (struct mor_slice){ target.ptr, query ? (size_t)(query - target.ptr) : target.len };
	if (query)
		ret->query = (struct mor_slice){ query + 1, target.len - ret->path.len - 1 };
	return parse_headers(bytes, ret);
}

const char *mor_http_parse_response(struct mor_slice bytes, struct mor_http *ret)
{
	struct mor_slice line = take_line(&bytes);
	struct mor_slice version = mor_slice_cut(&line, ' '), code = mor_slice_cut(&line, ' ');
	uint32_t status;

	*ret = (struct mor_http){ 0 };
	if (version.len < 7 || memcmp(version.ptr, "HTTP/1.", 7) != 0 || code.len != 3 ||
	    !mor_parse_u32(code, &status))
		return "its answer is not HTTP";
	ret->status = (int)status;
	return parse_headers(bytes, ret);
}

struct mor_slice mor_http_header(const struct mor_http *head, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < head->count; i++)
		if (head->headers[i].name.len == len && strncasecmp(head->headers[i].name.ptr, name, len) == 0)
			return head->headers[i].value;
	return (struct mor_slice){ 0 };
}

struct mor_slice mor_http_path(const struct mor_http *head)
{
	return head->path;
}

struct mor_slice mor_http_query(const struct mor_http *head)
{
	return head->query;
}

/* Is the word in a list such as "keep-alive, Upgrade"? Ignores case. */
static bool lists(struct mor_slice value, const char *word)
{
	size_t len = strlen(word);

	while (value.len) {
		struct mor_slice one = mor_slice_trim(mor_slice_cut(&value, ','), " \t");

		if (one.len == len && strncasecmp(one.ptr, word, len) == 0)
			return true;
	}
	return false;
}

/* ---- the handshake ---- */

void mor_http_accept(struct mor_slice key, char ret[MOR_WS_ACCEPT])
{
	static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	struct sha1_ctx sha1;
	uint8_t digest[SHA1_DIGEST_SIZE];

	sha1_init(&sha1);
	sha1_update(&sha1, key.len, (const uint8_t *)key.ptr);
	sha1_update(&sha1, sizeof(magic) - 1, (const uint8_t *)magic);
	sha1_digest(&sha1, sizeof(digest), digest);
	base64_encode_raw(ret, sizeof(digest), digest);
	ret[MOR_WS_ACCEPT - 1] = '\0';
}

int mor_http_write_request(const struct mor_url *url, const char *token, const char *key, struct mor_buf *out)
{
	char authority[MOR_URL_AUTHORITY];

	mor_buf_printf(out,
		       "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: "
		       "Upgrade\r\nSec-WebSocket-Key: %s\r\n"
		       "Sec-WebSocket-Version: 13\r\nUser-Agent: mortise/" MORTISE_VERSION "\r\n",
		       url->target, mor_url_authority(url, authority), key);
	if (token)
		mor_buf_printf(out, "Authorization: Bearer %s\r\n", token);
	return mor_buf_text(out, "\r\n");
}

const char *mor_http_check_response(const struct mor_http *head, const char *key)
{
	char accept[MOR_WS_ACCEPT];

	if (head->status == 401 || head->status == 403)
		return "it refuses the access token";
	if (head->status == 404)
		return "it has no such path";
	if (head->status >= 300 && head->status < 400)
		return "it answers with a redirect, which is not followed";
	if (head->status != 101)
		return "it answers as a web server, not as a WebSocket";
	mor_http_accept(mor_slice_of(key), accept);
	if (!lists(mor_http_header(head, "Upgrade"), "websocket") ||
	    !lists(mor_http_header(head, "Connection"), "Upgrade") ||
	    !mor_slice_is(mor_http_header(head, "Sec-WebSocket-Accept"), accept))
		return "its handshake is not that of a WebSocket";
	if (mor_http_header(head, "Sec-WebSocket-Extensions").len ||
	    mor_http_header(head, "Sec-WebSocket-Protocol").len)
		return "it uses an extension that nobody has asked for";
	return NULL;
}

int mor_http_check_request(const struct mor_http *head, const char **ret_wrong)
{
	*ret_wrong = "it is not a WebSocket handshake";
	if (!mor_slice_is(head->method, "GET"))
		return 405;
	if (!lists(mor_http_header(head, "Upgrade"), "websocket") ||
	    !lists(mor_http_header(head, "Connection"), "Upgrade"))
		return 426;
	if (!mor_slice_is(mor_http_header(head, "Sec-WebSocket-Version"), "13"))
		return 426;
	if (mor_http_header(head, "Sec-WebSocket-Key").len != MOR_WS_KEY - 1)
		return 400;
	*ret_wrong = NULL;
	return 0;
}

int mor_http_write_response(const struct mor_http *head, struct mor_buf *out)
{
	char accept[MOR_WS_ACCEPT];

	mor_http_accept(mor_http_header(head, "Sec-WebSocket-Key"), accept);
	return mor_buf_printf(out,
			      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
			      "Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
			      accept);
}

int mor_http_write_refusal(int status, struct mor_buf *out)
{
	const char *more = status == 401 ? "WWW-Authenticate: Bearer\r\n" :
			   status == 426 ? "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" :
					   "";

	return mor_buf_printf(out, "HTTP/1.1 %d Refused\r\n%sConnection: close\r\nContent-Length: 0\r\n\r\n",
			      status, more);
}
