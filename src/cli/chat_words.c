#include "cli/chat_words.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/args.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* One word from *line on; false: a quote is never closed. */
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

int mor_chat_split(const char *line, struct mor_buf *store, const char *ret_words[MOR_CHAT_WORDS],
		   const char *ret_rest[MOR_CHAT_WORDS], size_t *ret_count, mortise_error *err)
{
	size_t count = 0, at = 0, starts[MOR_CHAT_WORDS];

	for (;;) {
		while (is_blank(*line))
			line++;
		if (!*line)
			break;
		if (count == MOR_CHAT_WORDS)
			return mor_fail(err, MORTISE_EINPUT, "more than %d words in one line", MOR_CHAT_WORDS);
		starts[count] = store->len;
		ret_rest[count++] = line;
		if (!take_word(&line, store))
			return mor_fail(err, MORTISE_EINPUT, "a quote is open: %s", ret_rest[count - 1]);
	}
	if (mor_buf_failed(store))
		return mor_fail(err, store->status, "out of memory");
	for (; at < count; at++)
		ret_words[at] = store->data + starts[at];
	*ret_count = count;
	return 0;
}

static int whole_json(const char *text, struct mor_buf *ret_json, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = mor_args_json("arguments", text, ret_json, &doc, err);

	if (r == 0 && mor_json_type(mor_doc_root(doc)) != MOR_JSON_OBJECT)
		return mor_fail(err, MORTISE_EINPUT, "arguments must be KEY=VALUE or a JSON object");
	return r;
}

int mor_chat_arguments(const char *const *words, const char *rest, size_t count, const char *only, struct mor_buf *ret_json,
		       mortise_error *err)
{
	MOR_CLEAN(mor_tree) struct mor_tree tree = { 0 };
	int r = 0;

	if (count && (*words[0] == '{' || *words[0] == '@'))
		return whole_json(rest ? rest : words[0], ret_json, err);
	if (count && rest && only && !mor_args_is_pair(words[0])) {
		struct mor_writer w = { .out = ret_json };

		mor_w_object(&w);
		mor_w_pair(&w, only, count == 1 ? words[0] : rest);
		mor_w_end(&w);
		return ret_json->status;
	}
	for (size_t i = 0; i < count && r == 0; i++)
		r = mor_args_pair(&tree, "argument", words[i], err);
	if (r < 0)
		return r;
	r = mor_tree_write(&tree, ret_json);
	return r < 0 ? mor_fail(err, r, "out of memory") : 0;
}
