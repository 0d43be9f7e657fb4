/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the user's words into JSON. Every error here is of kind "input" and says where the word came from:
 * an argument, --config, a file, stdin. The plugin never gets a part of an argument.
 */
#include "console/args.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "manifest/manifest.h"

#define BASE64_MARK "base64:"

/* ---- files ---- */

/* Not restarted after a signal: a user who presses Ctrl-C while we read stdin wants to stop. */
static int read_stdin(size_t limit, struct mor_buf *out, mortise_error *err)
{
	for (;;) {
		ssize_t n;

		if (mor_buf_reserve(out, 65536))
			return mor_fail_memory(err);
		n = read(STDIN_FILENO, out->data + out->len, 65536);
		if (n < 0 && errno == EINTR)
			return mor_fail(err, MORTISE_ECANCELED, "interrupted while reading stdin");
		if (n < 0)
			return mor_fail_errno(err, MORTISE_EINPUT, errno, "stdin");
		if (n == 0)
			return 0;
		out->len += (size_t)n;
		if (out->len > limit)
			return mor_fail(err, MORTISE_EINPUT, "stdin: more than %zu bytes", limit);
	}
}

int mor_args_read(const char *path, size_t limit, struct mor_buf *out, mortise_error *err)
{
	char *data = NULL, shown[32];
	size_t len = 0;
	int r;

	if (strcmp(path, "-") == 0)
		return read_stdin(limit, out, err);
	r = mor_fd_read_file(path, limit, &data, &len);
	if (r == -ENOENT || r == -ENOTDIR)
		return mor_fail(err, MORTISE_ENOTFOUND, "%s: no such file", path);
	if (r == -EISDIR)
		return mor_fail(err, MORTISE_EINPUT, "%s: is a directory, not a file", path);
	if (r == -EFBIG)
		return mor_fail(err, MORTISE_EINPUT, "%s: larger than %s", path,
				mor_format_bytes(limit, shown));
	if (r == -EINVAL)
		return mor_fail(err, MORTISE_EINPUT, "%s: not a regular file", path);
	if (r == -ENOMEM)
		return mor_fail_memory(err);
	if (r < 0)
		return mor_fail_errno(err, MORTISE_EINPUT, -r, "%s", path);
	/* The block is passed on without a copy: contents may be large. */
	mor_buf_fini(out);
	*out = (struct mor_buf){ .data = data, .len = len, .cap = len };
	return 0;
}

/* ---- key=value ---- */

/* Returns the length of the key. Few characters are allowed on purpose: "{...", "@file" and paths with "="
 * must never look like a pair. */
static size_t key_length(const char *word)
{
	size_t i = 0;

	for (;; i++) {
		if (word[i] == '\\' && word[i + 1])
			i++;
		else if (!isalnum((unsigned char)word[i]) && !strchr("_-.$", word[i] ? word[i] : '='))
			return i;
	}
}

bool mor_args_is_pair(const char *word)
{
	size_t key = key_length(word);

	return key && (word[key] == '=' || (word[key] == ':' && word[key + 1] == '='));
}

/* key=@FILE and key=@base64:FILE */
static int file_to_json(const char *what, const char *path, struct mor_buf *out, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
	bool base64 = strncmp(path, BASE64_MARK, strlen(BASE64_MARK)) == 0;
	int r;

	if (base64)
		path += strlen(BASE64_MARK);
	if ((r = mor_args_read(path, MOR_ARGS_LIMIT, &bytes, err)) < 0)
		return r;
	if (base64) {
		mor_buf_byte(out, '"');
		mor_base64_encode(mor_buf_view(&bytes), out);
		return mor_buf_byte(out, '"');
	}
	if (!mor_utf8_valid(mor_buf_view(&bytes)))
		return mor_fail(err, MORTISE_EINPUT,
				"%s: %s is not UTF-8 text; send its bytes with KEY=@base64:%s", what, path,
				path);
	return mor_buf_json_string(out, mor_buf_view(&bytes));
}

/* Objects and arrays need ":=". With "=", a text that begins with a bracket stays a text. */
static bool is_json_scalar(struct mor_slice text)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	enum mor_json_type type;

	if (mor_doc_parse(text, 0, 0, &doc, NULL) < 0)
		return false;
	type = mor_json_type(mor_doc_root(doc));
	return type != MOR_JSON_OBJECT && type != MOR_JSON_ARRAY;
}

static int value_to_json(const char *what, const char *value, struct mor_buf *out, mortise_error *err)
{
	struct mor_slice text = mor_slice_of(value);

	if (*value == '@')
		return file_to_json(what, value + 1, out, err);
	if (is_json_scalar(text))
		return mor_buf_slice(out, text);
	if (!mor_utf8_valid(text))
		return mor_fail(err, MORTISE_EINPUT, "%s: the value is not UTF-8 text", what);
	return mor_buf_json_string(out, text);
}

/* After the key, ":" or "=" decides how the value is read. */
int mor_args_pair(struct mor_tree *tree, const char *what, const char *word, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	char shown[200], place[100];
	size_t key = key_length(word);
	bool raw = word[key] == ':';
	int r;

	if (!mor_args_is_pair(word))
		return mor_fail(err, MORTISE_EINPUT, "%s \"%s\": expected KEY=VALUE%s", what,
				mor_excerpt(mor_slice_of(word), shown, sizeof(shown)),
				strcmp(what, "argument") == 0 ? " or a JSON object" : "");
	snprintf(place, sizeof(place), "%.20s \"%.*s\"", what, key < 60 ? (int)key : 60, word);
	if (raw)
		r = mor_args_json(place, word + key + 2, &json, &doc, err);
	else
		r = value_to_json(place, word + key + 1, &json, err);
	if (r < 0)
		return r == MORTISE_ENOMEM ? mor_fail_memory(err) : r;
	r = mor_tree_set(tree, (struct mor_slice){ word, key }, mor_buf_view(&json));
	return r < 0 ? mor_fail(err, r, "%s \"%.*s\": %s", what, (int)key, word, mortise_status_text(r)) : 0;
}

/* ---- whole objects ---- */

/* The text is kept beside the tree: the plugin gets it as it was typed, with the same digits. */
int mor_args_json(const char *what, const char *word, struct mor_buf *ret_json, struct mor_doc **ret_doc,
		  mortise_error *err)
{
	const char *origin = strcmp(word, "-") == 0 ? "stdin" : word + 1;
	bool from_file = *word == '@' || strcmp(word, "-") == 0;
	mortise_error why = { 0 };
	int r;

	if (!from_file)
		r = mor_buf_text(ret_json, word);
	else
		r = mor_args_read(*word == '@' ? word + 1 : word, MOR_ARGS_LIMIT, ret_json, err);
	if (r < 0)
		return r == MORTISE_ENOMEM ? mor_fail_memory(err) : r;
	r = mor_doc_parse(mor_buf_view(ret_json), 0, 0, ret_doc, &why);
	if (r == MORTISE_ENOMEM)
		return mor_fail_memory(err);
	if (r < 0 && from_file)
		return mor_fail(err, MORTISE_EINPUT, "%s: %s is not JSON: %s", what, origin, why.text);
	if (r < 0)
		return mor_fail(err, MORTISE_EINPUT,
				"%s is not JSON: %s; quote it for the shell, as in '{\"key\": 1}'", what,
				why.text);
	return 0;
}

static int config_toml(const char *path, struct mor_buf *json, struct mor_doc **ret_doc, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	int r = mor_args_read(path, MOR_MANIFEST_LIMIT, &text, err);

	if (r < 0)
		return r;
	r = mor_toml_to_json(path, text.data ? text.data : "", text.len, json, NULL, err);
	if (r < 0)
		return r;
	return mor_doc_parse(mor_buf_view(json), MOR_JSON_NAN, 0, ret_doc, err);
}

/* A word that is not JSON and not a pair must be a file. If that file does not exist, the error names all
 * three. */
static int config_file(const char *path, struct mor_buf *json, struct mor_doc **ret_doc, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf word = MOR_BUF_INIT;
	size_t len = strlen(path);
	struct stat info;

	if (len > 5 && strcmp(path + len - 5, ".toml") == 0)
		return config_toml(path, json, ret_doc, err);
	if (strcmp(path, "-") != 0 && stat(path, &info) < 0)
		return mor_fail(err, MORTISE_ENOTFOUND,
				"--config \"%s\" is not a file here, not a JSON object and not KEY=VALUE",
				path);
	mor_buf_printf(&word, "@%s", path);
	mor_buf_byte(&word, '\0');
	if (mor_buf_failed(&word))
		return mor_fail_memory(err);
	return mor_args_json("--config", word.data, json, ret_doc, err);
}

int mor_args_config(struct mor_tree *tree, const char *word, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const char *start = word + strspn(word, " \t\r\n");
	int r;

	if (mor_args_is_pair(word))
		return mor_args_pair(tree, "--config", word, err);
	if (*start == '{' || *start == '[')
		r = mor_args_json("--config", start, &json, &doc, err);
	else
		r = config_file(*word == '@' ? word + 1 : word, &json, &doc, err);
	if (r < 0)
		return r;
	if (mor_json_type(mor_doc_root(doc)) != MOR_JSON_OBJECT)
		return mor_fail(err, MORTISE_EINPUT, "--config: expected a JSON object, got %s",
				mor_json_type_name(mor_json_type(mor_doc_root(doc))));
	r = mor_tree_merge(tree, mor_doc_root(doc));
	return r < 0 ? mor_fail(err, r, "--config: %s", mortise_status_text(r)) : 0;
}
