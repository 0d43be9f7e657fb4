/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places that a confined program may connect to: network = ["api.example.com:443", "127.0.0.1:8080",
 * "*:443"]. The library reads the words and looks up the names (reach.c); mortise-jail compares addresses. Both
 * have this file; it uses nothing but the C library's conversions.
 */
#ifndef MOR_POLICY_NETWORK_H
#define MOR_POLICY_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/* An IPv4 address is kept in its IPv6 form (::ffff:192.0.2.1): so each address has one form only. */
struct mor_net_place {
	uint8_t address[16];
	uint16_t port; /* as numbers are here, not as on the wire */
	uint16_t any;  /* every public address; `address` means nothing */
};

enum mor_net_host { MOR_NET_NAME, MOR_NET_ADDRESS, MOR_NET_ANY };
/* One word of the list. NAME: the place has only a port. */
struct mor_net_word {
	enum mor_net_host host;
	struct mor_slice name; /* points into the text */
	struct mor_net_place place;
};
#define MOR_NET_WANTED \
	"true, false, or a list of HOST:PORT, such as api.example.com:443, 127.0.0.1:8080, [::1]:8080 or *:443"
/* "HOST:PORT"; an IPv6 address in brackets. false: not such a text. */
bool mor_net_parse(struct mor_slice text, struct mor_net_word *ret);

/* "192.0.2.1:443", "[2001:db8::1]:443" */
enum { MOR_NET_TEXT = 64 };
const char *mor_net_text(const struct mor_net_place *place, char out[MOR_NET_TEXT]);

/* From a socket address of `size` bytes. false: neither IPv4 nor IPv6, or too short. */
bool mor_net_place(const void *address, size_t size, struct mor_net_place *ret);
/* Is it an address of the internet that belongs to no machine or network around here? Loopback, "any", private,
 * shared, link-local (the cloud's metadata service), multicast, reserved ones and all IPv6 forms of them are
 * not. */
bool mor_net_is_public(const uint8_t address[16]);
bool mor_net_allows(const struct mor_net_place *places, size_t count, const struct mor_net_place *to);
/* Is it 127.0.0.1 or ::1, and only the other one in the list? For curl 8 "localhost" is both, whatever
 * /etc/hosts says, and it tries them in turn. */
bool mor_net_allows_twin(const struct mor_net_place *places, size_t count, const struct mor_net_place *to);

#endif
