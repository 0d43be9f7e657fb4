/* SPDX-License-Identifier: Apache-2.0 */
#include "base/url.h"

#include <stdio.h>

#include "base/text.h"

static const char *take_scheme(const char **at, struct mor_url *url)
{
	url->tls = strncmp(*at, "wss://", 6) == 0;
	if (!url->tls && strncmp(*at, "ws://", 5) != 0)
		return "must begin with ws:// or wss://";
	*at += url->tls ? 6 : 5;
	return NULL;
}

/* Characters of a name or an address; none that could end a header or begin something else. */
static bool is_host(struct mor_slice host, bool brackets)
{
	for (size_t i = 0; i < host.len; i++) {
		char c = host.ptr[i];

		if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
		    !strchr(brackets ? ":.%" : "-._", c))
			return false;
	}
	return host.len > 0 && host.len < MOR_URL_HOST;
}

/* HOST, HOST:PORT, [ADDRESS], [ADDRESS]:PORT */
static const char *take_authority(struct mor_slice text, struct mor_url *url)
{
	bool brackets = text.len && *text.ptr == '[';
	const char *end = text.len ? memchr(text.ptr, brackets ? ']' : ':', text.len) : NULL;
	struct mor_slice host = { text.ptr + brackets,
				  (size_t)((end ? end : text.ptr + text.len) - text.ptr) - brackets },
			 rest;
	uint32_t port = url->tls ? 443 : 80;

	if (memchr(text.ptr, '@', text.len))
		return "has a name or password before the host: use access_token";
	if ((brackets && !end) || !is_host(host, brackets))
		return "names no host";
	rest.ptr = host.ptr + host.len + brackets;
	rest.len = (size_t)(text.ptr + text.len - rest.ptr);
	if (rest.len && *rest.ptr != ':')
		return "has something between the host and its port";
	if (rest.len && (!mor_parse_u32((struct mor_slice){ rest.ptr + 1, rest.len - 1 }, &port) || port < 1 ||
			 port > 65535))
		return "has a port that is not valid: write a number from 1 to 65535 after the colon";
	memcpy(url->host, host.ptr, host.len);
	url->host[host.len] = '\0';
	url->port = (uint16_t)port;
	return NULL;
}

/* The target becomes part of a request line: visible ASCII only. */
static const char *take_target(const char *text, struct mor_url *url)
{
	for (const char *c = text; *c; c++) {
		if (*c == '#')
			return "has a part after #, which a WebSocket cannot have";
		if (*c <= ' ' || *c > '~')
			return "has blanks or other characters in its path that must be written as %XX";
	}
	if (strlen(text) + 2 > sizeof(url->target))
		return "is too long";
	snprintf(url->target, sizeof(url->target), "%s%.*s", *text == '/' ? "" : "/", MOR_URL_TARGET - 2, text);
	return NULL;
}

const char *mor_url_parse(const char *text, struct mor_url *ret)
{
	const char *at = text, *wrong = take_scheme(&at, ret);
	size_t len = strcspn(at, "/?#");

	if (!wrong)
		wrong = take_authority((struct mor_slice){ at, len }, ret);
	return wrong ? wrong : take_target(at + len, ret);
}

const char *mor_url_authority(const struct mor_url *url, char out[MOR_URL_AUTHORITY])
{
	bool brackets = strchr(url->host, ':');

	snprintf(out, MOR_URL_AUTHORITY, "%s%s%s:%u", brackets ? "[" : "", url->host, brackets ? "]" : "",
		 url->port);
	return out;
}

const char *mor_url_show(const struct mor_url *url, char out[MOR_URL_SHOWN])
{
	char authority[MOR_URL_AUTHORITY];

	snprintf(out, MOR_URL_SHOWN, "%s://%s%.*s", url->tls ? "wss" : "ws", mor_url_authority(url, authority),
		 (int)strcspn(url->target, "?"), url->target);
	return out;
}
