/* SPDX-License-Identifier: Apache-2.0 */
#include "converse/words.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "console/args.h"
#include "converse/functions.h"

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

/* "KEY=VALUE" where the manifest wants a text: then 5 and true are texts. NULL: anything else. */
static const char *text_value(const char *word, const struct mor_value *function)
{
	size_t len = strcspn(word, "=");

	if (word[len] != '=' || len == 0 || word[len - 1] == ':' || word[len + 1] == '@')
		return NULL;
	return mor_converse_function_wants_text(function, (struct mor_slice){ word, len }) ? word + len + 1 :
											     NULL;
}

static int add_pair(struct mor_tree *tree, const char *word, const struct mor_value *function,
		    mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	const char *text = text_value(word, function);
	int r;

	if (!text && !mor_args_is_pair(word) && function)
		return mor_converse_function_refuse(function, err, "\"%s\" is not KEY=VALUE", word);
	if (!text)
		return mor_args_pair(tree, "argument", word, err);
	mor_buf_json_string(&json, mor_slice_of(text));
	r = mor_buf_failed(&json) ? json.status :
				    mor_tree_set(tree, (struct mor_slice){ word, (size_t)(text - word) - 1 },
						 mor_buf_view(&json));
	return r < 0 ? mor_fail_memory(err) : 0;
}

static int pairs(const char *const *words, size_t count, const struct mor_value *function,
		 struct mor_buf *ret_json, mortise_error *err)
{
	MOR_CLEAN(mor_tree) struct mor_tree tree = { 0 };
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = add_pair(&tree, words[i], function, err);
	if (r < 0)
		return r;
	r = mor_tree_write(&tree, ret_json);
	return r < 0 ? mor_fail_memory(err) : 0;
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
	MOR_CLEAN(mor_buf) struct mor_buf pair = MOR_BUF_INIT;

	if (mor_converse_function_wants_text(function, mor_slice_of(parameter)))
		return mor_converse_text_argument(parameter, text, ret_json, err);
	mor_buf_printf(&pair, "%s=%s", parameter, text);
	mor_buf_byte(&pair, '\0');
	if (mor_buf_failed(&pair))
		return mor_fail_memory(err);
	return pairs((const char *const[]){ pair.data }, 1, function, ret_json, err);
}

static int check(const struct mor_value *function, struct mor_buf *json, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = function ? mor_doc_parse(mor_buf_view(json), MOR_JSON_NAN, 0, &doc, err) : 0;

	return r < 0 || !function ? r : mor_converse_function_check(function, mor_doc_root(doc), err);
}

int mor_converse_arguments(const char *const *words, const char *rest, size_t count,
			   const struct mor_value *function, struct mor_buf *ret_json, mortise_error *err)
{
	const char *parameter = function ? mor_converse_function_text_parameter(function) : NULL;
	bool quoted = rest && (*rest == '\'' || *rest == '"'); /* quoted as for a shell */
	int r;

	if (count && (*words[0] == '{' || *words[0] == '@'))
		r = whole_json(rest && !quoted ? rest : words[0], ret_json, err);
	else if (count && rest && parameter && !mor_args_is_pair(words[0]))
		r = lone_value(parameter, count == 1 ? words[0] : rest, function, ret_json, err);
	else
		r = pairs(words, count, function, ret_json, err);
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
	mor_w_key(&w, "context");
	mor_w_array(&w);
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
