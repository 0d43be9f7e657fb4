/* SPDX-License-Identifier: Apache-2.0 */
/* Which dialect is it? The tables of the library know. */
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "scribe/scribe.h"
#include "wire/envelope.h"
#include "wire/json.h"

#define LENIENT (MOR_ENV_JSONRPC_OPTIONAL | MOR_ENV_ERROR_NULL_OK | MOR_ENV_NAN | MOR_ENV_RESULT_OPTIONAL)

struct guess {
	enum mor_framing framing;
	const char *from;
	struct mor_slice method;
};

static bool has_method(const struct mor_value *table, const struct guess *guess)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(table, "methods"));

	if (strcmp(mor_json_text(mor_json_get(table, "framing"), ""), mor_framing_name(guess->framing)) != 0)
		return false;
	while (mor_json_next(&it))
		if (mor_slice_eq(mor_json_string(mor_json_get(it.value, "name")), guess->method) &&
		    strcmp(mor_json_text(mor_json_get(it.value, "from"), ""), guess->from) == 0)
			return true;
	return false;
}

static struct mor_doc *describe_dialect(const char *name)
{
	struct mor_doc *doc = NULL;
	char *json = NULL;

	if (mortise_dialect_describe(name, "json", &json, NULL) == 0)
		(void)mor_doc_parse(mor_slice_of(json), 0, 0, &doc, NULL);
	mortise_free(json);
	return doc;
}

static bool speaks(const char *name, const struct guess *guess)
{
	struct mor_doc *doc = describe_dialect(name);
	bool found = doc && has_method(mor_doc_root(doc), guess);

	mor_doc_free(doc);
	return found;
}

const char *mor_scribe_guess(enum mor_framing framing, bool to_plugin, struct mor_slice message)
{
	static char found[32];
	MOR_CLEAN(mor_doc) struct mor_doc *list = NULL;
	struct mor_message m = { 0 };
	struct mor_json_iter it;

	if (mor_envelope_scan(message, LENIENT, 0, &m, NULL) < 0 || !m.method.ptr)
		return "plain";
	list = describe_dialect(NULL);
	it = mor_json_iter(mor_doc_root(list));
	while (list && mor_json_next(&it)) {
		const char *name = mor_json_text(mor_json_get(it.value, "name"), "");

		if (speaks(name, &(struct guess){ framing, to_plugin ? "host" : "plugin", m.method })) {
			mor_text_keep(found, sizeof(found), name, strlen(name));
			return found;
		}
	}
	return "plain";
}
