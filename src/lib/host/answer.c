/* SPDX-License-Identifier: Apache-2.0 */
/* Judges an answer by the rules of its row: success or failure? Also mortise_call_sync(). */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/apart.h"
#include "base/error.h"
#include "base/options.h"
#include "host/embedder.h"
#include "host/shape.h"
#include "wire/envelope.h"

struct judgement {
	mortise_call *call;
	struct mor_findings findings; /* only under STRICT */
};

static void on_finding(const struct mor_finding *finding, void *arg)
{
	struct judgement *j = arg;
	mortise_plugin *plugin = j->call->plugin;

	if (plugin->peer.strict)
		mor_findings_add(&j->findings, finding);
	else if (finding->fatal)
		mor_event_printf(plugin, MORTISE_EVENT_WARNING, "answer to \"%s\": %s", j->call->name,
				 finding->text);
}

bool mor_says_failure(const char *ok, const struct mor_value *value)
{
	if (!ok)
		return false;
	return *ok == '!' ? mor_json_bool(mor_json_at(value, ok + 1), false) :
			    !mor_json_bool(mor_json_at(value, ok), true);
}

/* "success": false, "ok": false, or an error text where the row says that this means failure. */
static bool says_failure(const struct mor_method *row, const struct mor_value *result,
			 const struct mor_value **ret_why)
{
	const struct mor_outcome *says = mor_outcome_of(row);
	const struct mor_value *why = says->why ? mor_json_at(result, says->why) : NULL;
	bool failed = mor_says_failure(says->ok, result);

	*ret_why = why;
	if (says->why_fails && mor_json_type(why) > MOR_JSON_NULL)
		failed = failed || mor_json_type(why) != MOR_JSON_BOOL || mor_json_bool(why, false);
	return failed;
}

static int fail_as_said(mortise_call *call, const struct mor_value *why, mortise_error *error)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (mor_json_type(why) == MOR_JSON_STRING)
		mor_buf_slice(&text, mor_json_string(why));
	else if (mor_json_type(why) > MOR_JSON_NULL)
		mor_json_write(why, false, &text);
	if (text.len)
		return mor_fail(error, MORTISE_EREMOTE, "%s: %.*s", call->plugin->peer.name, (int)text.len,
				text.data);
	return mor_fail(error, MORTISE_EREMOTE, "%s: the answer to \"%s\" says that it did not succeed",
			call->plugin->peer.name, call->name);
}

/* True: no rule needs the result, so it is not parsed. */
static bool says_nothing(const mortise_call *call)
{
	const struct mor_outcome *says = call->method->outcome;
	bool judged = (says && (says->ok || says->why)) || call->method->result;

	if ((says && says->keep) || (call->flags & MORTISE_PAGES))
		return false;
	return !judged || (call->flags & MORTISE_RAW);
}

/* ---- pages ---- */

/* "opts.offset" and 7 -> {"opts":{"offset":7}} */
static void write_nested(struct mor_writer *w, const char *path, const struct mor_value *value)
{
	const char *dot = strchr(path, '.');
	struct mor_slice key = { path, dot ? (size_t)(dot - path) : strlen(path) };

	mor_w_object(w);
	mor_w_key_slice(w, key);
	if (dot)
		write_nested(w, dot + 1, value);
	else
		mor_w_value(w, value);
	mor_w_end(w);
}

static void find_next_page(const mortise_call *call, const struct mor_value *result, struct mor_buf *out)
{
	const struct mor_page *page = mor_outcome_of(call->method)->page;
	const struct mor_value *next = page ? mor_json_at(result, page->next) : NULL;

	if (!next || mor_json_type(next) == MOR_JSON_NULL ||
	    (page->more && !mor_json_bool(mor_json_at(result, page->more), false)))
		return;
	write_nested(&(struct mor_writer){ .out = out }, page->param, next);
}

/* 0, or the failure in error. */
static int judge_result(mortise_call *call, struct mor_slice result, struct mor_verdict *verdict,
			struct mor_buf *next, mortise_error *error)
{
	const struct mor_method *row = call->method;
	struct judgement judgement = { .call = call };
	const struct mor_value *why;
	bool raw = call->flags & MORTISE_RAW;
	struct mor_doc *doc = NULL;
	int r;

	/* Only where the next page begins must be whole. */
	r = (call->flags & MORTISE_PAGES ? mor_doc_parse :
					   mor_doc_outline)(result, MOR_JSON_NAN,
							    call->plugin->is.link_options.max_depth, &doc,
							    error);
	if (r < 0)
		return r;
	verdict->keep = mor_keep_asked(row, mor_doc_root(doc));
	if (raw)
		r = 0;
	else if (says_failure(row, mor_doc_root(doc), &why))
		r = fail_as_said(call, why, error);
	else if (row->result)
		mor_validate(row->result, mor_doc_root(doc), on_finding, &judgement);
	if (call->flags & MORTISE_PAGES)
		find_next_page(call, mor_doc_root(doc), next);
	mor_doc_free(doc);
	if (judgement.findings.count)
		r = mor_fail(error, MORTISE_EPROTO, "%s: answer to \"%s\": %s", call->plugin->peer.name,
			     call->name, mor_findings_text(&judgement.findings));
	return r;
}

MOR_APART static void settle_error(mortise_call *call, const struct mor_message *message)
{
	mortise_plugin *plugin = call->plugin;
	struct mor_rpc_error remote;
	struct mor_verdict verdict = { .status = MORTISE_EREMOTE };
	mortise_error error;
	const char *name;

	mor_envelope_error(message->error, &remote);
	name = mor_dialect_code_name(plugin->peer.dialect, remote.code);
	/* The embedder knows which method it called, but not those of the greeting. */
	mor_fail(&error, MORTISE_EREMOTE, "%s: %s%s%s%s (code %lld%s%s)", plugin->peer.name,
		 call->purpose == MOR_FOR_GREETING ? "refused \"" : "",
		 call->purpose == MOR_FOR_GREETING ? call->name : "",
		 call->purpose == MOR_FOR_GREETING ? "\": " : "",
		 remote.text[0] ? remote.text : "error without a message", (long long)remote.code,
		 name ? ", " : "", name ? name : "");
	/* The plugin sent our request back, we refused that as a method that we do not have, and now the
	 * refusal came back. */
	if (plugin->life.echoed == call->id && remote.code == -32601)
		verdict.status = mor_fail(&error, MORTISE_EPROTO,
					  "%s: it sends each message back as it came (\"%s\"): an echo, not a "
					  "plugin; look at its command",
					  plugin->peer.name, call->name);
	error.rpc_code = remote.code;
	verdict.error = &error;
	verdict.error_data = remote.data;
	mor_call_settle(call, &verdict, false);
}

MOR_APART static void settle_judged(mortise_call *call, struct mor_slice result)
{
	MOR_CLEAN(mor_buf) struct mor_buf next = MOR_BUF_INIT;
	struct mor_verdict verdict = { .result = result };
	mortise_error error;

	call->in_hand = true; /* the callback of a warning may release the plugin */
	verdict.status = judge_result(call, result, &verdict, &next, &error);
	if (mor_buf_failed(&next)) /* without it the result would look like the last page */
		verdict.status = mor_fail_memory(&error);
	verdict.next = mor_buf_view(&next);
	if (verdict.status < 0) {
		verdict.keep = false;
		verdict.error = &error;
		verdict.result = (struct mor_slice){ 0 };
		/* The result itself reports the failure: it becomes the error's data. */
		verdict.said = verdict.status == MORTISE_EREMOTE;
		if (verdict.said)
			verdict.error_data = result;
	}
	mor_call_settle(call, &verdict, false);
}

/* True: the response should only acknowledge, but already says how the call ended. */
MOR_APART static bool is_whole_answer(const mortise_call *call, struct mor_slice result)
{
	const char *ok = mor_outcome_of(call->method)->ok;
	struct mor_doc *doc = NULL;
	bool whole;

	if (!ok || mor_doc_parse(result, MOR_JSON_NAN, call->plugin->is.link_options.max_depth, &doc, NULL) < 0)
		return false;
	whole = mor_json_at(mor_doc_root(doc), ok + (*ok == '!'));
	mor_doc_free(doc);
	return whole;
}

void mor_call_answer(mortise_call *call, const struct mor_message *message)
{
	mortise_plugin *plugin = call->plugin;

	if (call->state == MOR_CALL_LATE && call->no_slot) {
		mor_health_late(call);
	} else if (call->state == MOR_CALL_LATE) {
		plugin->now.counters.dropped++;
		call->in_hand = true;
		mor_event_printf(plugin, MORTISE_EVENT_DROPPED, "late answer to \"%s\" (id %lld)", call->name,
				 (long long)call->id);
		mor_call_release(call);
	} else if (!mor_shape_is_session(plugin) && call->state != MOR_CALL_TAKEN &&
		   mor_shape_hold(call, message)) {
		return;
	} else if (message->kind == MOR_MSG_ERROR) {
		settle_error(call, message);
	} else if (call->method->settle == MOR_BY_NOTE && !(call->flags & MORTISE_RAW) &&
		   !is_whole_answer(call, message->result)) {
		call->acked = true;
	} else if (says_nothing(call)) {
		mor_call_settle(call, &(struct mor_verdict){ .result = message->result }, false);
	} else {
		settle_judged(call, message->result);
	}
}

/* ---- synchronously ---- */

struct sync {
	mortise_reply_fn *on_piece;
	void *arg;
	bool done;
	int status;
	char *text;
	size_t at, len; /* the result is this part of `text`, if it is the buffer of its message; else 0 */
	mortise_error error;
};

/* The result of a large message is not copied: the message's own buffer is handed over, and moved to its
 * beginning when the dispatch is over. */
static bool take_block(struct sync *sync, const mortise_reply *reply, mortise_json text)
{
	struct mor_link *link = reply->plugin->life.link;

	sync->text = mor_link_take_block(link, (struct mor_slice){ text.text, text.len });
	if (!sync->text)
		return false;
	sync->at = (size_t)(text.text - sync->text);
	sync->len = text.len;
	return true;
}

/* The rest of the buffer is given back. */
static void trim_block(struct sync *sync)
{
	char *shorter;

	memmove(sync->text, sync->text + sync->at, sync->len);
	sync->text[sync->len] = '\0';
	shorter = mor_realloc(sync->text, sync->len + 1);
	if (shorter)
		sync->text = shorter;
}

static void on_sync_reply(const mortise_reply *reply, void *arg)
{
	struct sync *sync = arg;
	mortise_json text = reply->status == MORTISE_OK ? reply->result : reply->error_data;

	if (reply->more) {
		if (sync->on_piece)
			sync->on_piece(reply, sync->arg);
		return;
	}
	sync->done = true;
	sync->status = reply->status;
	if (reply->error)
		sync->error = *reply->error;
	if (text.len >= MOR_LARGE && take_block(sync, reply, text))
		return;
	if (text.text && !(sync->text = mor_strndup(text.text, text.len)))
		sync->status = mor_fail_memory(&sync->error);
}

bool mor_call_lends(const mortise_call *call)
{
	return call->on_reply == on_sync_reply || ((call->flags & MORTISE_LENT) && call->on_reply);
}

/* A call that could not be waited for: the embedder gets its params back all the same. If it still needs
 * them, because it waits, it fails. */
static void return_params(mortise_plugin *plugin, mortise_call *call, const mortise_error *error)
{
	if (call->lent.ptr)
		mor_call_fail(call, error);
	if (plugin->life.link && plugin->life.link->ops->disown)
		plugin->life.link->ops->disown(plugin->life.link);
}

static int run_until_done(mortise_host *host, mortise_call *call, struct sync *sync)
{
	int r = 0;

	while (!sync->done && r >= 0)
		r = mor_loop_wait(host->loop, -1);
	if (sync->done)
		return sync->status;
	call->on_reply = NULL; /* the loop failed: a late reply must not write to our stack */
	return mor_fail(&sync->error, r, "the event loop failed");
}

int mortise_call_sync(mortise_plugin *plugin, const char *action, mortise_json params,
		      const mortise_call_options *given, char **ret_result, mortise_error *err)
{
	struct sync sync; /* not cleared: its error alone is half a kilobyte */
	mortise_call_options opt;
	mortise_call *call = NULL;
	int r = mor_plugin_check(plugin, err);

	if (r < 0 || (r = mor_host_check_idle(plugin->host, err)) < 0 ||
	    (r = mor_import_call_options(given, &opt, err)) < 0)
		return r;
	sync.text = NULL;
	sync.len = 0;
	sync.done = false;
	sync.on_piece = opt.on_reply;
	sync.arg = opt.arg;
	opt.on_reply = on_sync_reply;
	opt.arg = &sync;
	MOR_HOLD(plugin);
	/* We run the loop ourselves: nobody needs to be woken for what is posted now. */
	mor_loop_hold(plugin->host->loop, true);
	r = mor_call_start(plugin, action, params, &opt, &call, err);
	if (r == 0) {
		r = run_until_done(plugin->host, call, &sync);
		if (!sync.done)
			return_params(plugin, call, &sync.error);
		if (r < 0 && err)
			*err = sync.error;
	} else if (r == MORTISE_EREMOTE &&
		   plugin->ends.failure.data.len) { /* the error of its greeting, whose data was kept */
		sync.text = mor_strndup(plugin->ends.failure.data.data, plugin->ends.failure.data.len);
	}
	mor_loop_hold(plugin->host->loop, false);
	if (sync.len)
		trim_block(&sync);
	if (ret_result && (r == 0 || r == MORTISE_EREMOTE))
		*ret_result = sync.text;
	else
		mor_free(sync.text);
	return r;
}
