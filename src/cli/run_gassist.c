#include "cli/run_gassist.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/turn.h"

#define FIELD(name) offsetof(struct mor_gassist_args, name)
const struct mor_option mor_gassist_options[] = {
	{ "context", 0, "JSON",
	  "the conversation so far, an array of {role, content}; @FILE is read",
	  MOR_OPT_TEXT, FIELD(context), NULL },
	{ "system-info", 0, "TEXT",
	  "what the plugin may know of this machine; @FILE is read",
	  MOR_OPT_TEXT, FIELD(system_info), NULL },
	{ "session-limit", 0, "DURATION",
	  "how long a conversation may last in all; default 5m, 0: no limit",
	  MOR_OPT_TEXT, FIELD(session_limit), NULL },
	{ 0 },
};

static int add_context(const char *word, struct mor_writer *w, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = mor_args_json("--context", word, &json, &doc, err);

	if (r < 0)
		return r;
	if (mor_json_type(mor_doc_root(doc)) != MOR_JSON_ARRAY)
		return mor_fail(err, MORTISE_EINPUT, "--context must be a JSON array, such as [{\"role\":\"user\",\"content\":\"…\"}]");
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
	r = mor_args_read(word + 1, MOR_ARGS_LIMIT, &text, err);
	if (r < 0)
		return r;
	mor_w_key(w, "system_info");
	mor_w_slice(w, mor_buf_view(&text));
	return 0;
}

int mor_gassist_settings(struct mor_session *session, const struct mor_gassist_args *args, struct mor_buf *ret_extra,
			 mortise_error *err)
{
	struct mor_writer w = { .out = ret_extra };
	uint32_t ms;
	int r = 0;

	if (args->session_limit && !mor_parse_duration_ms(mor_slice_of(args->session_limit), &ms))
		return mor_fail(err, MORTISE_EINVAL, "--session-limit \"%s\": expected a duration such as 5m or 90s, or 0", args->session_limit);
	if (args->session_limit)
		r = mor_session_set(session, "limits.session=", args->session_limit, err);
	if (r < 0 || (!args->context && !args->system_info))
		return r;
	mor_w_object(&w);
	if (args->context)
		r = add_context(args->context, &w, err);
	if (r == 0 && args->system_info)
		r = add_system_info(args->system_info, &w, err);
	mor_w_end(&w);
	if (r == 0 && mor_buf_failed(ret_extra))
		r = mor_fail(err, ret_extra->status, "out of memory");
	return r;
}
