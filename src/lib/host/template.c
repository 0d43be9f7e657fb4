/* SPDX-License-Identifier: Apache-2.0 */
/* From a row's template to JSON: words are replaced by values, then "..." members are spread. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "host/plugin.h"
#include "host/template.h"

#define SPREAD "..."

static void put_string(struct mor_buf *out, const char *text)
{
	mor_buf_json_string(out, mor_slice_of(text ? text : ""));
}

/* One ${word}; an unknown one stays, so that the mistake is visible on the wire. */
static bool put_word(mortise_plugin *plugin, struct mor_slice word, const struct mor_template_words *words,
		     struct mor_buf *out)
{
	if (mor_slice_is(word, "params"))
		mor_buf_slice(out, words->params.ptr ? words->params : MOR_SLICE("{}"));
	else if (mor_slice_is(word, "extra"))
		mor_buf_slice(out, words->extra.ptr ? words->extra : MOR_SLICE("{}"));
	else if (mor_slice_is(word, "action"))
		put_string(out, words->action);
	else if (mor_slice_is(word, "id"))
		mor_buf_printf(out, "%lld", (long long)words->id);
	else if (mor_slice_is(word, "config"))
		mor_buf_slice(out, plugin->peer.config.ptr ? plugin->peer.config : MOR_SLICE("{}"));
	else if (mor_slice_is(word, "name"))
		put_string(out, plugin->peer.name);
	else if (mor_slice_is(word, "version"))
		put_string(out, MORTISE_VERSION);
	else if (mor_slice_is(word, "pid"))
		mor_buf_printf(out, "%d", (int)getpid());
	else if (mor_slice_is(word, "time"))
		mor_buf_printf(out, "%lld", (long long)time(NULL));
	else
		return false;
	return true;
}

static int fill_words(mortise_plugin *plugin, const char *template, const struct mor_template_words *words,
		      struct mor_buf *out)
{
	static const struct mor_template_words none = { 0 };

	for (const char *p = template; *p;) {
		const char *end = p[0] == '$' && p[1] == '{' ? strchr(p, '}') : NULL;
		struct mor_slice word = { p + 2, end ? (size_t)(end - p - 2) : 0 };

		if (end && put_word(plugin, word, words ? words : &none, out))
			p = end + 1;
		else
			mor_buf_byte(out, *p++);
	}
	return out->status;
}

/* ---- spreading ---- */

/* Does a later member give this name a value again? */
static bool comes_again(struct mor_json_iter it, struct mor_slice name)
{
	while (mor_json_next(&it)) {
		if (mor_slice_is(it.name, SPREAD) ? mor_json_get_slice(it.value, name) != NULL :
						    mor_slice_eq(it.name, name))
			return true;
	}
	return false;
}

static void put_member(const struct mor_json_iter *behind, struct mor_slice name, const struct mor_value *value,
		       struct mor_writer *w)
{
	if (comes_again(*behind, name))
		return;
	mor_w_key_slice(w, name);
	mor_w_value(w, value);
}

static int spread(struct mor_slice filled, struct mor_buf *out)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_writer w = { .out = out };
	struct mor_json_iter it, inner;
	int r = mor_doc_parse(filled, 0, MOR_JSON_DEPTH_MAX, &doc, NULL);

	if (r < 0)
		return r;
	it = mor_json_iter(mor_doc_root(doc));
	mor_w_object(&w);
	while (mor_json_next(&it)) {
		inner = mor_json_iter(it.value);
		if (!mor_slice_is(it.name, SPREAD))
			put_member(&it, it.name, it.value, &w);
		else
			while (mor_json_next(&inner))
				put_member(&it, inner.name, inner.value, &w);
	}
	mor_w_end(&w);
	return out->status;
}

int mor_template_fill(mortise_plugin *plugin, const char *template, const struct mor_template_words *words,
		      struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf filled = MOR_BUF_INIT;
	int r;

	if (!strstr(template, "\"" SPREAD "\":"))
		return fill_words(plugin, template, words, out);
	r = fill_words(plugin, template, words, &filled);
	return r < 0 ? r : spread(mor_buf_view(&filled), out);
}
