/* SPDX-License-Identifier: Apache-2.0 */
#include "converse/once.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "console/args.h"
#include "console/console.h"
#include "converse/functions.h"
#include "converse/turn.h"
#include "converse/words.h"

static int add_context(const char *word, struct mor_writer *w, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = mor_args_json("--context", word, &json, &doc, err);

	if (r < 0)
		return r;
	if (mor_json_type(mor_doc_root(doc)) != MOR_JSON_ARRAY)
		return mor_fail(
			err, MORTISE_EINPUT,
			"--context must be a JSON array, such as [{\"role\":\"user\",\"content\":\"…\"}]");
	mor_w_pair_raw(w, "context", mor_buf_view(&json));
	return 0;
}

static int add_system_info(const char *word, struct mor_writer *w, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	int r;

	if (*word != '@') {
		mor_w_pair(w, "system_info", word);
		return 0;
	}
	if ((r = mor_args_read(word + 1, MOR_ARGS_LIMIT, &text, err)) < 0)
		return r;
	mor_w_pair_slice(w, "system_info", mor_buf_view(&text));
	return 0;
}

int mor_converse_prepare(struct mor_runner *runner, const struct mor_converse_extra *args,
			 struct mor_buf *ret_extra, mortise_error *err)
{
	struct mor_writer w = { .out = ret_extra };
	uint32_t ms;
	int r = 0;

	if (args->session_limit && !mor_parse_duration_ms(mor_slice_of(args->session_limit), &ms))
		return mor_fail(err, MORTISE_EINVAL,
				"--session-limit \"%s\": expected a duration such as 5m or 90s, or 0",
				args->session_limit);
	if (args->session_limit)
		r = mor_runner_set(runner, "limits.session=", args->session_limit, err);
	if (r < 0 || (!args->context && !args->system_info))
		return r;
	mor_w_object(&w);
	if (args->context)
		r = add_context(args->context, &w, err);
	if (r == 0 && args->system_info)
		r = add_system_info(args->system_info, &w, err);
	mor_w_end(&w);
	if (r == 0 && mor_buf_failed(ret_extra))
		r = mor_fail_memory(err);
	return r;
}

/* ---- the function ---- */

struct function_run {
	struct mor_runner runner;
	struct mor_converse_turn turn;
	struct mor_doc *about;
	struct mor_buf extra, arguments;
	struct mor_buf named; /* name_plugin() */
};

/* What a user types after another command to name the same plugin: "PLUGIN", "-d gassist PLUGIN", or
 * "-d gassist -- COMMAND…". */
static int name_plugin(const struct mor_converse_once *once, struct mor_buf *out, mortise_error *err)
{
	if (once->plugin->dialect)
		mor_buf_printf(out, "-d %s ", once->plugin->dialect);
	mor_buf_text(out, once->command ? "--" : once->named);
	for (const char *const *word = once->command; word && *word; word++)
		mor_buf_printf(out, " %s", *word);
	mor_buf_byte(out, '\0');
	return mor_buf_failed(out) ? mor_fail_memory(err) : 0;
}

/* A name that the manifest does not list is refused before anything runs, unless the plugin may have more
 * functions. */
static int find_function(struct function_run *f, const char *name, const struct mor_value **ret,
			 mortise_error *err)
{
	struct mor_nearest near = { .word = name };
	const struct mor_value *about;
	char *json = NULL;
	const char *best;
	int r = mortise_plugin_describe(f->turn.plugin, &json, NULL);

	r = r ? r : mor_doc_parse(mor_slice_of(json), MOR_JSON_NAN, 0, &f->about, NULL);
	mortise_free(json);
	if (r < 0)
		return mor_fail(err, r, "%s: %s", mortise_plugin_name(f->turn.plugin), mortise_status_text(r));
	about = mor_doc_root(f->about);
	*ret = mor_converse_function_find(about, name);
	if (*ret || mor_converse_functions_open(about))
		return 0;
	mor_converse_functions_offer(about, &near);
	best = mor_nearest_best(&near);
	return mor_fail(err, MORTISE_EINPUT, "%s has no function \"%s\"%s%s%s ('mortise info %s' lists them)",
			mortise_plugin_name(f->turn.plugin), name, best ? ": did you mean \"" : "",
			best ? best : "", best ? "\"?" : "", f->named.data);
}

/* KEY=VALUE, also after "--"; or a text alone, if the manifest has only one parameter. */
static int take_arguments(struct function_run *f, const struct mor_converse_once *once, mortise_error *err)
{
	const struct mor_value *function = NULL;
	const char **all;
	size_t count = once->word_count, more = 0;
	int r = find_function(f, once->function, &function, err);

	if (r < 0)
		return r;

	while (once->tail && once->tail[more])
		more++;
	all = mor_zalloc((count + more + 1) * sizeof(*all));
	if (!all)
		return mor_fail_memory(err);
	memcpy(all, once->words, count * sizeof(*all));
	if (more)
		memcpy(all + count, once->tail, more * sizeof(*all));
	r = mor_converse_arguments(all, count + more == 1 ? all[0] : NULL, count + more, function,
				   &f->arguments, err);
	mor_free(all);
	return r;
}

static int open_plugin(struct mor_console *console, const struct mor_converse_once *once,
		       struct function_run *f, mortise_error *err)
{
	mortise_plugin_options opt;
	int r = mor_runner_open(&f->runner, console, once->plugin, NULL, err);

	r = r ? r : mor_converse_prepare(&f->runner, &once->extra, &f->extra, err);
	if (r < 0)
		return r;
	mor_runner_plugin_options(&f->runner, once->typed, once->command, &opt);
	opt.flags |= MORTISE_NO_RESTART; /* one call is wanted, no second try after its error */
	f->turn = (struct mor_converse_turn){ .runner = &f->runner,
					      .typed = once->typed,
					      .extra = { f->extra.len ? f->extra.data : NULL, f->extra.len } };
	return mor_runner_plugin_new(&f->runner, &opt, once->resolved, &f->turn.plugin, err);
}

int mor_converse_once(struct mor_console *console, const struct mor_converse_once *once, int *exit_code,
		      mortise_error *err)
{
	struct function_run f = { 0 };
	int r = name_plugin(once, &f.named, err);

	if (r == 0 && !once->function)
		r = mor_fail(err, MORTISE_EINVAL, "name the FUNCTION to run ('mortise info %s' lists them)",
			     f.named.data);
	r = r ? r : open_plugin(console, once, &f, err);
	r = r ? r : take_arguments(&f, once, err);
	if (r == 0) {
		r = mor_converse_turn_run(&f.turn, once->function,
					  (mortise_json){ f.arguments.data, f.arguments.len }, err);
		mor_runner_stop_plugin(&f.runner, f.turn.plugin);
		*exit_code = f.turn.exit_code;
	}
	if (r == 0 && f.turn.keep && !console->json)
		mor_note(console, "(the plugin waits for input: 'mortise chat %s' holds a conversation)",
			 f.named.data);
	mortise_plugin_unref(f.turn.plugin);
	mor_runner_close(&f.runner);
	mor_doc_free(f.about);
	mor_buf_fini(&f.extra);
	mor_buf_fini(&f.arguments);
	mor_buf_fini(&f.named);
	return r;
}
