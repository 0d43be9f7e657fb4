/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/arguments.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "session/session.h"

/* These words can only be JSON. Any other word must be KEY=VALUE. */
static bool is_whole_json(const char *word)
{
	return *word && (strchr("{[@", *word) || strcmp(word, "-") == 0);
}

/* The JSON is sent as it was typed, unless KEY=VALUE words are added to it. */
static int take_whole(struct mor_cli_arguments *args, const char *word, bool keys_follow, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	enum mor_json_type type;
	int r = mor_args_json("argument", word, &args->json, &doc, err);

	if (r < 0)
		return r;
	type = mor_json_type(mor_doc_root(doc));
	if (type != MOR_JSON_OBJECT && type != MOR_JSON_ARRAY)
		return mor_fail(err, MORTISE_EINPUT, "arguments must be a JSON object or array, not %s",
				mor_json_type_name(type));
	if (!keys_follow && !args->merged)
		return 0;
	if (type == MOR_JSON_ARRAY)
		return mor_fail(err, MORTISE_EINPUT, "an array of arguments cannot be joined with %s",
				keys_follow ? "KEY=VALUE" : "--pages");
	return mor_tree_merge(&args->params, mor_doc_root(doc));
}

#define EXPECTED "expected KEY=VALUE or a JSON object"

/* The user may have meant the earlier words differently, so the error shows how they were read. */
static int no_argument(const struct mor_cli_arguments *args, const char *word, mortise_error *err)
{
	char shown[100], plugin[100], method[100];

	mor_excerpt(mor_slice_of(word), shown, sizeof(shown));
	mor_excerpt(mor_slice_of(args->method), method, sizeof(method));
	if (!args->cli->typed)
		return mor_fail(err, MORTISE_EINPUT,
				"argument \"%s\": " EXPECTED
				" (the plugin is the command after \"--\", METHOD is \"%s\")",
				shown, method);
	return mor_fail(err, MORTISE_EINPUT,
			"argument \"%s\": " EXPECTED " (PLUGIN is \"%s\", METHOD is \"%s\")", shown,
			mor_excerpt(mor_slice_of(args->cli->typed), plugin, sizeof(plugin)), method);
}

/* --KEY belongs to the method unless it looks like one of our options misspelt, and like none of its
 * parameters. */
static int check_method_options(const struct mor_cli_arguments *args, struct mor_signature signature,
				mortise_error *err)
{
	const struct mor_words *words = &args->cli->words;

	for (size_t i = 0; i < words->count; i++)
		if (strncmp(words->item[i], "--", 2) == 0 && !mor_signature_knows(signature, words->item[i]) &&
		    mor_options_nearest(args->cli->command->options, words->item[i]))
			return mor_options_refuse(args->cli->command->options, words->item[i], err);
	return 0;
}

/* Neither KEY=VALUE nor --KEY nor the value after it. */
static bool is_stray(const char **words, size_t first, size_t at)
{
	bool after = at > first && strncmp(words[at - 1], "--", 2) == 0 && !strchr(words[at - 1], '=');

	return !after && !mor_args_is_pair(words[at]) && strncmp(words[at], "--", 2) != 0;
}

/* No arguments means no "params" at all, not {}: some methods take no params. */
static int take_arguments(struct mor_cli_arguments *args, struct mor_signature signature, mortise_error *err)
{
	const struct mor_words *words = &args->cli->words;
	size_t i = 0;
	int r = 0;

	if (words->count && is_whole_json(words->item[0])) {
		r = take_whole(args, words->item[0], words->count > 1, err);
		i = 1;
	}
	if (r == 0)
		r = check_method_options(args, signature, err);
	for (size_t k = i; !mor_signature_known(signature) && k < words->count && r == 0; k++)
		if (is_stray(words->item, i, k))
			return no_argument(args, words->item[k], err);
	if (r == 0)
		r = mor_signature_take(&args->params, signature, words->item + i, words->count - i, err);
	if (r < 0 || mor_tree_empty(&args->params))
		return r;
	mor_buf_reset(&args->json, SIZE_MAX);
	r = mor_tree_write(&args->params, &args->json);
	return r < 0 ? mor_fail_memory(err) : 0;
}

/* An array has no names that could be checked. */
static int check_arguments(const struct mor_cli_arguments *args, struct mor_signature signature,
			   mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = 0;

	if (!mor_signature_known(signature) || args->unchecked)
		return 0;
	if (args->json.len)
		r = mor_doc_parse(mor_buf_view(&args->json), MOR_JSON_NAN, 0, &doc, err);
	if (r < 0 || mor_json_type(mor_doc_root(doc)) == MOR_JSON_ARRAY)
		return r;
	return mor_signature_check(signature, mor_doc_root(doc), err);
}

int mor_cli_arguments_take(struct mor_cli_arguments *args, struct mor_signature signature, mortise_error *err)
{
	int r = take_arguments(args, signature, err);

	return r < 0 ? r : check_arguments(args, signature, err);
}

int mor_cli_arguments_begin(struct mor_cli_arguments *args, struct mor_cli *cli, const char **ret_path,
			    const char *const **ret_argv, mortise_error *err)
{
	struct mor_words *words = &cli->words;
	int r;

	args->cli = cli;
	/* Before METHOD, every option is ours. */
	for (size_t i = 0; i < words->count && i < (words->tail ? 1 : 2); i++)
		if (strncmp(words->item[i], "--", 2) == 0)
			return mor_options_refuse(cli->command->options, words->item[i], err);
	r = mor_cli_target_word(cli, ret_path, ret_argv, err);
	if (r == 0 && *ret_path && !mor_session_is_meant(*ret_path))
		r = mor_cli_named(cli, ret_path, err);
	if (r < 0 || words->count == 0)
		return r;
	args->method = words->item[0];
	if (!*args->method)
		return mor_fail(err, MORTISE_EINVAL, "METHOD is empty");
	memmove(words->item, words->item + 1, words->count * sizeof(*words->item));
	words->count--;
	return 0;
}

void mor_cli_arguments_fini(struct mor_cli_arguments *args)
{
	mor_tree_fini(&args->params);
	mor_buf_fini(&args->json);
}
