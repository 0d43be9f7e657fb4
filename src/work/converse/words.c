/* SPDX-License-Identifier: Apache-2.0 */
#include "converse/words.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "console/args.h"
#include "converse/functions.h"
#include "runner/signature.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Takes one word from *line; false: a quote is not closed. */
static bool take_word(const char **line, struct mor_buf *store)
{
	const char *p = *line;
	char quote = '\0';

	for (; *p && (quote || !is_blank(*p)); p++) {
		if (quote ? *p == quote : *p == '\'' || *p == '"')
			quote = quote ? '\0' : *p;
		else if (*p == '\\' && p[1] && quote != '\'')
			mor_buf_byte(store, *++p);
		else
			mor_buf_byte(store, *p);
	}
	mor_buf_byte(store, '\0');
	*line = p;
	return !quote;
}

int mor_converse_split(const char *line, struct mor_buf *store, const char *ret_words[MOR_CONVERSE_WORDS],
		       const char *ret_rest[MOR_CONVERSE_WORDS], size_t *ret_count, mortise_error *err)
{
	size_t count = 0, at = 0, starts[MOR_CONVERSE_WORDS];

	for (;;) {
		while (is_blank(*line))
			line++;
		if (!*line)
			break;
		if (count == MOR_CONVERSE_WORDS)
			return mor_fail(err, MORTISE_EINPUT, "more than %d words in one line",
					MOR_CONVERSE_WORDS);
		starts[count] = store->len;
		ret_rest[count++] = line;
		if (!take_word(&line, store))
			return mor_fail(err, MORTISE_EINPUT, "a quote is not closed: %s", ret_rest[count - 1]);
	}
	if (mor_buf_failed(store))
		return mor_fail_memory(err);
	for (; at < count; at++)
		ret_words[at] = store->data + starts[at];
	*ret_count = count;
	return 0;
}

static int whole_json(const char *text, struct mor_buf *ret_json, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = mor_args_json("argument", text, ret_json, &doc, err);

	if (r == 0 && mor_json_type(mor_doc_root(doc)) != MOR_JSON_OBJECT)
		return mor_fail(err, MORTISE_EINPUT, "arguments must be KEY=VALUE or a JSON object");
	return r;
}

static int words_to_json(const char *const *words, size_t count, const struct mor_value *function,
			 struct mor_buf *ret_json, mortise_error *err)
{
	MOR_CLEAN(mor_tree) struct mor_tree tree = { 0 };
	int r = mor_signature_take(&tree, MOR_DECLARED(function), words, count, err);

	if (r < 0)
		return r;
	return mor_tree_write(&tree, ret_json) < 0 ? mor_fail_memory(err) : 0;
}

int mor_converse_text_argument(const char *parameter, const char *text, struct mor_buf *ret_json,
			       mortise_error *err)
{
	struct mor_writer w = { .out = ret_json };

	mor_w_object(&w);
	mor_w_pair(&w, parameter, text);
	mor_w_end(&w);
	return mor_buf_failed(ret_json) ? mor_fail_memory(err) : 0;
}

/* A parameter that is not a text takes the word like KEY=VALUE does: "5" is a number. */
static int lone_value(const char *parameter, const char *text, const struct mor_value *function,
		      struct mor_buf *ret_json, mortise_error *err)
{
	MOR_CLEAN_TEXT char *pair = NULL;

	if (mor_signature_wants_text(MOR_DECLARED(function), mor_slice_of(parameter)))
		return mor_converse_text_argument(parameter, text, ret_json, err);
	pair = mor_text_format("%s=%s", parameter, text);
	return pair ? words_to_json((const char *const[]){ pair }, 1, function, ret_json, err) :
		      mor_fail_memory(err);
}

/* KEY=VALUE, or --KEY where the function has it: a text may begin with "--" too. */
static bool is_named(const struct mor_value *function, const char *word)
{
	return mor_args_is_pair(word) ||
	       (strncmp(word, "--", 2) == 0 && mor_signature_knows(MOR_DECLARED(function), word));
}

static int check(const struct mor_value *function, struct mor_buf *json, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = function ? mor_doc_parse(mor_buf_view(json), MOR_JSON_NAN, 0, &doc, err) : 0;

	return r < 0 || !function ? r : mor_signature_check(MOR_DECLARED(function), mor_doc_root(doc), err);
}

int mor_converse_arguments(const char *const *words, const char *rest, size_t count,
			   const struct mor_value *function, struct mor_buf *ret_json, mortise_error *err)
{
	const char *parameter = function ? mor_converse_function_text_parameter(function) : NULL;
	bool quoted = rest && (*rest == '\'' || *rest == '"'); /* quoted as for a shell */
	int r;

	if (count && (*words[0] == '{' || *words[0] == '@'))
		r = whole_json(rest && !quoted ? rest : words[0], ret_json, err);
	else if (count && rest && parameter && !is_named(function, words[0]))
		r = lone_value(parameter, count == 1 ? words[0] : rest, function, ret_json, err);
	else
		r = words_to_json(words, count, function, ret_json, err);
	return r < 0 ? r : check(function, ret_json, err);
}

int mor_converse_context(mortise_json extra, const char *text, struct mor_buf *ret, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_writer w = { .out = ret };
	struct mor_json_iter it;
	int r = mor_doc_parse(extra.text ? (struct mor_slice){ extra.text, extra.len } : MOR_SLICE("{}"), 0, 0,
			      &doc, err);

	if (r < 0)
		return r;
	mor_w_object(&w);
	if (mor_json_get(mor_doc_root(doc), "system_info"))
		mor_w_pair(&w, "system_info",
			   mor_json_text(mor_json_get(mor_doc_root(doc), "system_info"), ""));
	mor_w_pair_array(&w, "context");
	it = mor_json_iter(mor_json_get(mor_doc_root(doc), "context"));
	while (mor_json_next(&it))
		mor_w_value(&w, it.value);
	mor_w_object(&w);
	mor_w_pair(&w, "role", "user");
	mor_w_pair(&w, "content", text);
	mor_w_end(&w);
	mor_w_end(&w);
	mor_w_end(&w);
	return mor_buf_failed(ret) ? mor_fail_memory(err) : 0;
}
