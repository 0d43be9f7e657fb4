/* SPDX-License-Identifier: Apache-2.0 */
/* [config]: objects merged one over the other. There is no tree to edit, so each step writes the text again. */
#include "base/alloc.h"
#include "manifest/internal.h"

static void write_merged(const struct mor_value *under, const struct mor_value *over, bool deep,
			 struct mor_writer *w)
{
	struct mor_json_iter it = mor_json_iter(under);

	mor_w_object(w);
	while (mor_json_next(&it)) {
		const struct mor_value *other = mor_json_get_slice(over, it.name);

		mor_w_key_slice(w, it.name);
		if (deep && mor_json_type(other) == MOR_JSON_OBJECT &&
		    mor_json_type(it.value) == MOR_JSON_OBJECT)
			write_merged(it.value, other, deep, w);
		else
			mor_w_value(w, other ? other : it.value);
	}
	it = mor_json_iter(over);
	while (mor_json_next(&it)) {
		if (mor_json_get_slice(under, it.name))
			continue;
		mor_w_key_slice(w, it.name);
		mor_w_value(w, it.value);
	}
	mor_w_end(w);
}

int mor_config_merge(char **config, const struct mor_value *over, bool deep)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf merged = MOR_BUF_INIT;
	struct mor_writer w = { .out = &merged };
	char *text;
	int r = mor_doc_parse(mor_slice_of(*config ? *config : "{}"), 0, 0, &doc, NULL);

	if (r < 0)
		return r;
	write_merged(mor_doc_root(doc), over, deep, &w);
	text = mor_buf_detach(&merged);
	if (!text)
		return merged.status;
	mor_free(*config);
	*config = text;
	return 0;
}
