/* SPDX-License-Identifier: Apache-2.0 */
/* See network.h. */
#include "policy/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff }; /* ::ffff:0:0/96 */

/* ---- words ---- */

/* Letters, digits, "-", "_" and single dots: what the file /etc/hosts can hold, too. */
static bool is_name(struct mor_slice host)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	bool dot = true;

	for (size_t i = 0; i < host.len; i++) {
		if (!host.ptr[i] || !strchr(plain, host.ptr[i]) || (dot && host.ptr[i] == '.'))
			return false;
		dot = host.ptr[i] == '.';
	}
	return host.len > 0 && host.len <= 253 && !dot;
}

/* "1.2.3" and "0x7f.1" are numbers for the C library's look-up of names, but no address for us. */
static bool looks_like_number(struct mor_slice host)
{
	size_t last = host.len;

	while (last > 0 && host.ptr[last - 1] != '.')
		last--;
	return host.ptr[last] >= '0' && host.ptr[last] <= '9';
}

static bool parse_address(struct mor_slice host, struct mor_net_place *ret)
{
	char text[INET6_ADDRSTRLEN];
	bool six = host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';

	if (six)
		host = (struct mor_slice){ host.ptr + 1, host.len - 2 };
	if (host.len >= sizeof(text))
		return false;
	memcpy(text, host.ptr, host.len);
	text[host.len] = 0;
	memcpy(ret->address, mapped, sizeof(mapped));
	return six ? inet_pton(AF_INET6, text, ret->address) == 1 :
		     inet_pton(AF_INET, text, ret->address + 12) == 1;
}

/* What follows the last colon: inside an address in brackets there are more. */
static bool split_port(struct mor_slice text, struct mor_slice *host, uint16_t *port)
{
	size_t colon = text.len;
	uint32_t number;

	while (colon > 0 && text.ptr[colon - 1] != ':')
		colon--;
	if (colon < 2 || !mor_parse_u32((struct mor_slice){ text.ptr + colon, text.len - colon }, &number) ||
	    number == 0 || number > UINT16_MAX)
		return false;
	*host = (struct mor_slice){ text.ptr, colon - 1 };
	*port = (uint16_t)number;
	return true;
}

bool mor_net_parse(struct mor_slice text, struct mor_net_word *ret)
{
	struct mor_slice host;

	*ret = (struct mor_net_word){ .host = MOR_NET_ADDRESS };
	if (!split_port(text, &host, &ret->place.port))
		return false;
	if (mor_slice_is(host, "*")) {
		ret->host = MOR_NET_ANY;
		ret->place.any = 1;
		return true;
	}
	if (parse_address(host, &ret->place))
		return true;
	memset(ret->place.address, 0, sizeof(ret->place.address));
	ret->host = MOR_NET_NAME;
	ret->name = host;
	return is_name(host) && !looks_like_number(host);
}

const char *mor_net_text(const struct mor_net_place *place, char out[MOR_NET_TEXT])
{
	bool four = memcmp(place->address, mapped, sizeof(mapped)) == 0;
	char address[INET6_ADDRSTRLEN] = "*";

	if (!place->any &&
	    !inet_ntop(four ? AF_INET : AF_INET6, place->address + (four ? 12 : 0), address, sizeof(address)))
		address[0] = 0;
	snprintf(out, MOR_NET_TEXT, four || place->any ? "%s:%u" : "[%s]:%u", address, place->port);
	return out;
}

/* ---- addresses ---- */

bool mor_net_place(const void *address, size_t size, struct mor_net_place *ret)
{
	struct sockaddr_in four;
	struct sockaddr_in6 six;
	sa_family_t family;

	*ret = (struct mor_net_place){ 0 };
	if (size < sizeof(family))
		return false;
	memcpy(&family, address, sizeof(family));
	if (family == AF_INET && size >= sizeof(four)) {
		memcpy(&four, address, sizeof(four));
		memcpy(ret->address, mapped, sizeof(mapped));
		memcpy(ret->address + 12, &four.sin_addr, 4);
		ret->port = ntohs(four.sin_port);
		return true;
	}
	if (family != AF_INET6 || size < offsetof(struct sockaddr_in6, sin6_scope_id))
		return false;
	memcpy(&six, address, offsetof(struct sockaddr_in6, sin6_scope_id));
	memcpy(ret->address, &six.sin6_addr, 16);
	ret->port = ntohs(six.sin6_port);
	return true;
}

/* The IANA's lists of special addresses, of both families. */
static const struct {
	uint8_t bits, start[4];
} not_public4[] = {
	{ 8, { 0 } },
	{ 8, { 10 } },
	{ 10, { 100, 64 } },
	{ 8, { 127 } },
	{ 16, { 169, 254 } },
	{ 12, { 172, 16 } },
	{ 24, { 192, 0, 0 } },
	{ 24, { 192, 0, 2 } },
	{ 24, { 192, 88, 99 } },
	{ 16, { 192, 168 } },
	{ 15, { 198, 18 } },
	{ 24, { 198, 51, 100 } },
	{ 24, { 203, 0, 113 } },
	{ 4, { 224 } },
	{ 4, { 240 } },
};
static const struct {
	uint8_t bits, start[4];
} not_public6[] = {
	{ 23, { 0x20, 0x01 } },             /* for protocols: Teredo, ORCHID, benchmarks */
	{ 32, { 0x20, 0x01, 0x0d, 0xb8 } }, /* for documentation */
	{ 20, { 0x3f, 0xff } },             /* the same */
};

/* An IPv6 address that a router or this machine turns into an IPv4 one: by these first bytes,
 * and where in it. */
static const struct {
	uint8_t length, at, start[12];
} carriers[] = {
	{ 12, 12, { [10] = 0xff, [11] = 0xff } }, /* ::ffff:1.2.3.4, the mapped form */
	{ 12, 12, { 0x00, 0x64, 0xff, 0x9b } },   /* 64:ff9b::1.2.3.4, NAT64 */
	{ 2, 2, { 0x20, 0x02 } },                 /* 2002:0102:0304::, 6to4 */
};

static bool begins_with(const uint8_t *address, const uint8_t *start, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(address, start, whole) != 0)
		return false;
	return !rest || ((address[whole] ^ start[whole]) >> (8 - rest)) == 0;
}

static bool is_public4(const uint8_t address[4])
{
	for (size_t i = 0; i < sizeof(not_public4) / sizeof(*not_public4); i++)
		if (begins_with(address, not_public4[i].start, not_public4[i].bits))
			return false;
	return true;
}

/* ISATAP: the second half is 0:5efe:1.2.3.4 or 200:5efe:1.2.3.4, in any network. */
static bool is_tunnel(const uint8_t address[16])
{
	return (address[8] & ~2) == 0 && address[9] == 0 && address[10] == 0x5e && address[11] == 0xfe;
}

bool mor_net_is_public(const uint8_t address[16])
{
	for (size_t i = 0; i < sizeof(carriers) / sizeof(*carriers); i++)
		if (memcmp(address, carriers[i].start, carriers[i].length) == 0)
			return is_public4(address + carriers[i].at);
	if (address[0] >> 5 != 1) /* 2000::/3 is all that is given out */
		return false;
	for (size_t i = 0; i < sizeof(not_public6) / sizeof(*not_public6); i++)
		if (begins_with(address, not_public6[i].start, not_public6[i].bits))
			return false;
	return !is_tunnel(address) || is_public4(address + 12);
}

bool mor_net_allows(const struct mor_net_place *places, size_t count, const struct mor_net_place *to)
{
	for (size_t i = 0; i < count; i++) {
		if (places[i].port != to->port)
			continue;
		if (places[i].any ? mor_net_is_public(to->address) :
				    memcmp(places[i].address, to->address, sizeof(to->address)) == 0)
			return true;
	}
	return false;
}

bool mor_net_allows_twin(const struct mor_net_place *places, size_t count, const struct mor_net_place *to)
{
	static const uint8_t loops[2][16] = { { [10] = 0xff, 0xff, 127, 0, 0, 1 }, { [15] = 1 } };
	struct mor_net_place twin = *to;

	for (size_t i = 0; i < 2; i++) {
		if (memcmp(to->address, loops[i], sizeof(to->address)) != 0)
			continue;
		memcpy(twin.address, loops[1 - i], sizeof(twin.address));
		return mor_net_allows(places, count, &twin);
	}
	return false;
}
