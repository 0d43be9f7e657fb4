/* SPDX-License-Identifier: Apache-2.0 */
/* One sum over everything that somebody has agreed to. */
#include <string.h>

#include "base/alloc.h"
#include "store/inside.h"
#include "store/permissions.h"

/* Without memory it is "", which fits nothing. */
void mor_store_seal(const char *name, const char *version, const struct mor_value *entry,
		    char ret_hex[MOR_DIGEST_SIZE])
{
	static const char *const members[] = { "directory", "digest", "dialect" };
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_json_iter allowed = mor_json_iter(mor_json_at(entry, "/approved/allow"));
	struct mor_writer w = { .out = &text };

	mor_w_object(&w);
	mor_w_pair(&w, "name", name);
	mor_w_pair(&w, "version", version);
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		mor_w_pair(&w, members[i], mor_json_text(mor_json_get(entry, members[i]), NULL));
	mor_w_pair_bool(&w, "confine", mor_json_bool(mor_json_get(entry, "confine"), false));
	mor_w_key(&w, "permissions");
	mor_permissions_canonical(mor_json_get(entry, "permissions"), &w);
	mor_w_pair_array(&w, "allow");
	while (mor_json_next(&allowed))
		mor_w_string(&w, mor_json_text(allowed.value, ""));
	mor_w_end(&w);
	mor_w_end(&w);
	ret_hex[0] = '\0';
	if (!mor_buf_failed(&text))
		mor_digest_of(text.data, text.len, ret_hex);
}

bool mor_store_seal_fits(const char *name, const struct mor_value *entry)
{
	const char *seal = mor_json_text(mor_json_at(entry, "/approved/seal"), "");
	char now[MOR_DIGEST_SIZE];

	if (mor_json_type(mor_json_get(entry, "permissions")) != MOR_JSON_OBJECT)
		return false;
	mor_store_seal(name, mor_json_text(mor_json_get(entry, "version"), ""), entry, now);
	return *seal && strcmp(seal, now) == 0;
}
