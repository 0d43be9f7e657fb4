/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of WebSockets: ws://HOST[:PORT][/PATH][?QUERY], or wss:// for TLS. */
#ifndef MOR_BASE_URL_H
#define MOR_BASE_URL_H

#include <stdbool.h>
#include <stdint.h>

#define MOR_URL_HOST   254
#define MOR_URL_TARGET 2048

struct mor_url {
	bool tls;
	char host[MOR_URL_HOST];     /* without the brackets of an IPv6 address */
	uint16_t port;               /* default: 80, with TLS 443 */
	char target[MOR_URL_TARGET]; /* path and query; at least "/"            */
};

/* NULL, or what is wrong: "must begin with ws:// or wss://". */
const char *mor_url_parse(const char *text, struct mor_url *ret);
/* "wss://host:443/path" for people. The query may hold a token, so it is left out. */
#define MOR_URL_SHOWN (MOR_URL_HOST + MOR_URL_TARGET + 24)
const char *mor_url_show(const struct mor_url *url, char out[MOR_URL_SHOWN]);
/* Host and port as in a header and in texts: "[::1]:443". */
#define MOR_URL_AUTHORITY (MOR_URL_HOST + 16)
const char *mor_url_authority(const struct mor_url *url, char out[MOR_URL_AUTHORITY]);

#endif
