/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the words of `network` to addresses. It is the library that looks up names, before the start: a confined
 * program has no name service, and finds the same addresses in a /etc/hosts that is made up for it.
 */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "policy/policy.h"

struct looking {
	struct mor_policy *policy;
	struct mor_buf places, hosts;
	mortise_error *err;
};

static int add_place(struct looking *look, const struct mor_net_place *place)
{
	return mor_buf_append(&look->places, place, sizeof(*place)) < 0 ? mor_fail_memory(look->err) : 0;
}

/* Each line once: a name may be in the list with several ports. */
static void add_host(struct looking *look, const struct mor_net_place *place, const char *name)
{
	char text[MOR_NET_TEXT], line[MOR_NET_TEXT + 260];
	struct mor_buf *hosts = &look->hosts;
	const char *at = text;
	size_t len;

	mor_net_text(place, text);
	*strrchr(text, ':') = 0;
	if (text[0] == '[') {
		at++;
		text[strlen(text) - 1] = 0;
	}
	len = (size_t)snprintf(line, sizeof(line), "\n%s\t%s\n", at, name);
	/* The line before ends with the newline that this one begins with. */
	if (hosts->len && memmem(hosts->data, hosts->len, line, len))
		return;
	if (!hosts->len)
		mor_buf_byte(hosts, '\n');
	mor_buf_append(hosts, line + 1, len - 1);
}

/* The owner of a name decides where it leads. So a name may lead to the networks around us, where people trust
 * each other more, only if the address itself is in the list as well. */
static bool may_lead_to(const struct looking *look, const char *name, const struct mor_net_place *to)
{
	if (mor_net_is_public(to->address) || strcmp(name, "localhost") == 0)
		return true;
	for (char **text = look->policy->network.to; *text; text++) {
		struct mor_net_word word;

		if (mor_net_parse(mor_slice_of(*text), &word) && word.host == MOR_NET_ADDRESS &&
		    mor_net_allows(&word.place, 1, to))
			return true;
	}
	return false;
}

static int refuse_all(struct looking *look, const char *name, const struct mor_net_place *to)
{
	char text[MOR_NET_TEXT];

	mor_net_text(to, text);
	return mor_fail(
		look->err, MORTISE_EJAIL,
		"network: %s leads to %s, which is not a public address: if that is meant, add \"%s\" to the "
		"list",
		name, text, text);
}

static int take_addresses(struct looking *look, const char *name, uint16_t port, const struct addrinfo *found)
{
	struct mor_net_place to = { 0 };
	size_t taken = 0;
	int r = 0;

	for (; r == 0 && found; found = found->ai_next) {
		if (!mor_net_place(found->ai_addr, found->ai_addrlen, &to))
			continue;
		to.port = port;
		if (!may_lead_to(look, name, &to))
			continue;
		r = add_place(look, &to);
		add_host(look, &to, name);
		taken++;
	}
	return r == 0 && taken == 0 ? refuse_all(look, name, &to) : r;
}

static bool names(const char *text, const char *name, struct mor_net_word *word)
{
	return mor_net_parse(mor_slice_of(text), word) && word->host == MOR_NET_NAME &&
	       mor_slice_is(word->name, name);
}

/* For all words with this name at once: a second answer could have other addresses. */
static int look_up(struct looking *look, char **words, const char *name)
{
	struct addrinfo wanted = { .ai_socktype = SOCK_STREAM }, *found = NULL;
	int status = getaddrinfo(name, NULL, &wanted, &found), r = 0;
	struct mor_net_word word;

	if (status)
		return mor_fail(look->err, MORTISE_EJAIL, "network: %s: %s; it is looked up before the start",
				name, gai_strerror(status));
	for (; r == 0 && *words; words++)
		if (names(*words, name, &word))
			r = take_addresses(look, name, word.place.port, found);
	freeaddrinfo(found);
	return r;
}

static int take_word(struct looking *look, char **words)
{
	struct mor_net_word word;
	char name[256];

	if (!mor_net_parse(mor_slice_of(*words), &word)) /* checked when it was set */
		return mor_fail(look->err, MORTISE_EINVAL, "network: \"%.60s\" is no HOST:PORT", *words);
	if (word.host != MOR_NET_NAME)
		return add_place(look, &word.place);
	memcpy(name, word.name.ptr, word.name.len); /* at most 253 */
	name[word.name.len] = 0;
	for (char **before = look->policy->network.to; before < words; before++)
		if (names(*before, name, &word))
			return 0;
	return look_up(look, words, name);
}

/* Programs that say "localhost" mean 127.0.0.1 or ::1, whichever is in the list. */
static void add_localhost(struct looking *look)
{
	const struct mor_net_place *places = (const void *)look->places.data;
	static const char *const loops[] = { "127.0.0.1:1", "[::1]:1" };
	struct mor_net_word loop;

	for (size_t k = 0; k < 2 && mor_net_parse(mor_slice_of(loops[k]), &loop); k++) {
		for (size_t i = 0; i < look->places.len / sizeof(*places); i++) {
			loop.place.port = places[i].port;
			if (!mor_net_allows(&places[i], 1, &loop.place))
				continue;
			add_host(look, &loop.place, "localhost");
			break;
		}
	}
}

static int keep(struct looking *look)
{
	struct mor_network *network = &look->policy->network;

	add_localhost(look);
	if (look->places.status || look->hosts.status)
		return mor_fail_memory(look->err);
	network->count = look->places.len / sizeof(*network->places);
	network->places = (struct mor_net_place *)mor_buf_detach(&look->places);
	mor_buf_consume(&look->hosts, look->hosts.len > 0); /* see add_host() */
	network->hosts = mor_buf_detach(&look->hosts);
	return network->places && network->hosts ? 0 : mor_fail_memory(look->err);
}

int mor_policy_look_up(struct mor_policy *policy, mortise_error *err)
{
	struct looking look = { .policy = policy, .places = MOR_BUF_INIT, .hosts = MOR_BUF_INIT, .err = err };
	int r = 0;

	if (!policy->network.to || !policy->network.to[0] || policy->network.places ||
	    !mor_policy_confined(policy))
		return 0;
	for (char **words = policy->network.to; r == 0 && *words; words++)
		r = take_word(&look, words);
	if (r == 0)
		r = keep(&look);
	mor_buf_fini(&look.places);
	mor_buf_fini(&look.hosts);
	return r;
}
