/* SPDX-License-Identifier: Apache-2.0 */
/* [bot] of the bot's TOML: how it reaches the chat network. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "botfile/inside.h"

#define SECTION         "bot"
#define DEFAULT_API_MS  30000
#define DEFAULT_PING_MS 30000

static const struct mor_botfile_key keys[] = {
	{ "name", MOR_BOTFILE_IS(STRING), "a string" },
	{ "ws_url", MOR_BOTFILE_IS(STRING), "a string: \"ws://HOST:PORT/\", or \"wss://…\"" },
	{ "access_token", MOR_BOTFILE_IS(STRING), "a string" },
	{ "listen", MOR_BOTFILE_IS(STRING), "a string: \"ws://ADDRESS:PORT/\", or \"wss://…\"" },
	{ "ca_file", MOR_BOTFILE_IS(STRING), "a string: a file with certificates (PEM)" },
	{ "cert_file", MOR_BOTFILE_IS(STRING), "a string: a file with a certificate (PEM)" },
	{ "key_file", MOR_BOTFILE_IS(STRING), "a string: a file with the certificate's key (PEM)" },
	{ "api_timeout", MOR_BOTFILE_IS(STRING) | MOR_BOTFILE_IS(NUMBER), "a duration such as \"30s\"" },
	{ "ping", MOR_BOTFILE_IS(STRING) | MOR_BOTFILE_IS(NUMBER), "a duration such as \"30s\"" },
	{ 0 },
};

void mor_botfile_network_fini(struct mor_botfile_network *network)
{
	mor_free(network->name);
	mor_free(network->access_token);
	mor_free(network->connect);
	mor_free(network->listen);
	mor_free(network->ca_file);
	mor_free(network->cert_file);
	mor_free(network->key_file);
	*network = (struct mor_botfile_network){ 0 };
}

bool mor_botfile_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_url(const struct mor_url *a, const struct mor_url *b)
{
	if (!a || !b)
		return a == b;
	return a->tls == b->tls && a->port == b->port && strcmp(a->host, b->host) == 0 &&
	       strcmp(a->target, b->target) == 0;
}

bool mor_botfile_network_same(const struct mor_botfile_network *a, const struct mor_botfile_network *b)
{
	return mor_botfile_same_text(a->name, b->name) &&
	       mor_botfile_same_text(a->access_token, b->access_token) && same_url(a->connect, b->connect) &&
	       same_url(a->listen, b->listen) && mor_botfile_same_text(a->ca_file, b->ca_file) &&
	       mor_botfile_same_text(a->cert_file, b->cert_file) &&
	       mor_botfile_same_text(a->key_file, b->key_file) && a->api_ms == b->api_ms &&
	       a->ping_ms == b->ping_ms;
}

static int wrong_network(const struct mor_botfile_reading *r, const char *key)
{
	const struct mor_botfile_key *known = keys;

	while (strcmp(known->name, key) != 0)
		known++;
	return mor_botfile_wrong(r, SECTION, NULL, key, known->wanted);
}

static int read_text(const struct mor_botfile_reading *r, const struct mor_value *table, const char *key,
		     bool is_path, char **ret)
{
	const struct mor_value *value = mor_json_get(table, key);
	const char *text = mor_botfile_word(value);

	if (!value)
		return 0;
	if (!text || (is_path && !*text))
		return wrong_network(r, key);
	*ret = is_path ? mor_path_join(r->dir, text) : mor_strdup(text);
	return *ret ? 0 : mor_botfile_no_memory(r);
}

/* The token goes into a header: visible ASCII only. An empty token counts as no token. */
static int check_token(const struct mor_botfile_reading *r)
{
	char **token = &r->bot->network.access_token;

	if (*token && !**token)
		mor_free(mor_take(token));
	for (const char *c = *token; c && *c; c++)
		if (*c <= ' ' || *c > '~')
			return mor_botfile_wrong(r, SECTION, NULL, "access_token",
						 "a string of letters, digits and signs without blanks");
	return 0;
}

static int read_url(const struct mor_botfile_reading *r, const struct mor_value *table, const char *key,
		    struct mor_url **ret)
{
	const struct mor_value *value = mor_json_get(table, key);
	const char *text = mor_botfile_word(value), *fault;

	if (!value)
		return 0;
	if (!text)
		return wrong_network(r, key);
	*ret = mor_zalloc(sizeof(**ret));
	if (!*ret)
		return mor_botfile_no_memory(r);
	fault = mor_url_parse(text, *ret);
	return fault ? mor_fail(r->err, MORTISE_EMANIFEST, "%s %s",
				mor_botfile_place(r, SECTION, NULL, key).shown, fault) :
		       0;
}

static int read_duration(const struct mor_botfile_reading *r, const struct mor_value *table, const char *key,
			 uint32_t usual, uint32_t *ret)
{
	const struct mor_value *value = mor_json_get(table, key);
	struct mor_slice text =
		mor_json_type(value) == MOR_JSON_NUMBER ? mor_json_raw(value) : mor_json_string(value);

	*ret = usual;
	if (value && (!text.ptr || !mor_parse_duration_ms(text, ret) || *ret == 0))
		return wrong_network(r, key);
	return 0;
}

/* Checked now, while we know the line, and not when a client connects. */
static int check_listen(const struct mor_botfile_reading *r)
{
	const struct mor_botfile_network *network = &r->bot->network;
	bool tls = network->listen && network->listen->tls;

	if (tls && (!network->cert_file || !network->key_file))
		return mor_fail(r->err, MORTISE_EMANIFEST, "%s is wss, which needs cert_file and key_file",
				mor_botfile_place(r, SECTION, NULL, "listen").shown);
	if (!tls && (network->cert_file || network->key_file))
		return mor_fail(r->err, MORTISE_EMANIFEST, "%s is only for listen = \"wss://…\"",
				mor_botfile_place(r, SECTION, NULL,
						  network->cert_file ? "cert_file" : "key_file")
					.shown);
	if (network->listen && strchr(network->listen->target, '?'))
		return mor_fail(r->err, MORTISE_EMANIFEST, "%s has a part after \"?\": use access_token",
				mor_botfile_place(r, SECTION, NULL, "listen").shown);
	return 0;
}

int mor_botfile_read_network(struct mor_botfile_reading *r)
{
	const struct mor_value *table = mor_json_get(mor_doc_root(r->doc), SECTION);
	struct mor_botfile_network *network = &r->bot->network;
	int s;

	if (table && mor_json_type(table) != MOR_JSON_OBJECT)
		return mor_botfile_wrong(r, SECTION, NULL, NULL, "a table: [" SECTION "]");
	if ((s = mor_botfile_check_keys(r, keys, table, SECTION, NULL)) < 0 ||
	    (s = read_text(r, table, "name", false, &network->name)) < 0 ||
	    (s = read_text(r, table, "access_token", false, &network->access_token)) < 0 ||
	    (s = check_token(r)) < 0 || (s = read_url(r, table, "ws_url", &network->connect)) < 0 ||
	    (s = read_url(r, table, "listen", &network->listen)) < 0 ||
	    (s = read_text(r, table, "ca_file", true, &network->ca_file)) < 0 ||
	    (s = read_text(r, table, "cert_file", true, &network->cert_file)) < 0 ||
	    (s = read_text(r, table, "key_file", true, &network->key_file)) < 0 ||
	    (s = read_duration(r, table, "api_timeout", DEFAULT_API_MS, &network->api_ms)) < 0 ||
	    (s = read_duration(r, table, "ping", DEFAULT_PING_MS, &network->ping_ms)) < 0)
		return s;
	return check_listen(r);
}
