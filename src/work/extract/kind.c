/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which plugin takes which kind of file. When the first file of a kind comes, all plugins of a round
 * (claim.c) are asked at the same time. Files of that kind wait for the last answer. Later files go on at once.
 */
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "console/report.h"
#include "extract/extract.h"

static int ask_one(struct mor_extract_answer *answer, mortise_error *err);
static void ask_round(struct mor_extract_kind *kind);

static const struct mor_value *plugin_abilities(const struct mor_extract_plugin *e)
{
	return mor_json_at(mor_doc_root(e->described), MOR_EXTRACT_ABILITIES);
}

/* The name that the plugin itself lists for this type. */
static const char *own_mime(const struct mor_extract_answer *answer)
{
	return mor_extract_claim_mime(plugin_abilities(answer->extractor), answer->kind);
}

/* ---- can the plugin be used? ---- */

/* Real plugins forget to announce the interface. The capabilities say the same. */
static bool has_interface(const struct mor_extract_plugin *e)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(mor_doc_root(e->described), "interfaces"));

	while (mor_json_next(&it))
		if (mor_slice_is(mor_json_string(it.value), MOR_EXTRACT_INTERFACE))
			return true;
	return plugin_abilities(e) != NULL;
}

static void append_names(const struct mor_value *array, struct mor_buf *out)
{
	struct mor_json_iter it = mor_json_iter(array);
	char shown[100];

	while (mor_json_next(&it)) {
		mor_printable(mor_json_string(it.value), shown, sizeof(shown));
		mor_buf_printf(out, "%s%s", out->len ? ", " : "", shown);
	}
	mor_buf_byte(out, '\0');
}

static bool others_remain(const struct mor_extract *x)
{
	for (size_t i = 0; i < x->extractor_count; i++)
		if (!x->extractors[i].refused)
			return true;
	return false;
}

/* Every file would fail with the same error, so it is reported once. If no plugin is left, the run ends. */
static void refuse_plugin(struct mor_extract_plugin *e, const mortise_error *error, mortise_json data)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_extract *x = e->extract;

	e->refused = true;
	if (!others_remain(x)) {
		x->fatal = *error;
		x->fatal_data = data.text ? mor_strndup(data.text, data.len) : NULL;
		return;
	}
	mor_buf_printf(&text, "%swarning%s: ", mor_style_err(x->console, MOR_STYLE_WARN),
		       mor_style_err_end(x->console));
	mor_report_text(&(struct mor_report){ .error = error, .data = data }, &text);
	mor_buf_text(&text, "; going on without it");
	if (!mor_buf_failed(&text))
		mor_note_slice(x->console, mor_buf_view(&text));
}

/* The text names what the plugin has: most often the user typed the wrong plugin. */
static void refuse_interface(struct mor_extract_plugin *e, mortise_plugin *plugin)
{
	MOR_CLEAN(mor_buf) struct mor_buf has = MOR_BUF_INIT;
	mortise_error error = { 0 };

	append_names(mor_json_get(mor_doc_root(e->described), "interfaces"), &has);
	mor_fail(&error, MORTISE_EUNSUPPORTED,
		 "%s: does not offer " MOR_EXTRACT_INTERFACE ", so it cannot extract; it has %s",
		 mortise_plugin_name(plugin),
		 has.len > 1 && !mor_buf_failed(&has) ? has.data : "no interfaces");
	refuse_plugin(e, &error, (mortise_json){ 0 });
}

void mor_extract_stop_refused(struct mor_extract *x)
{
	for (size_t i = 0; i < x->extractor_count; i++)
		if (x->extractors[i].refused)
			mortise_pool_stop(x->extractors[i].pool, MORTISE_STOP_POLITE, NULL);
}

/* A plugin that has said who it is may still have refused plugin.init. Then it is not ready, and that is its
 * error. A plugin that died or fell silent on this question may still work with a file. */
static bool is_greeted(const struct mor_extract_plugin *e, mortise_plugin *plugin, const mortise_reply *reply)
{
	if (reply->status == MORTISE_OK)
		return true;
	return mor_json_size(mor_json_get(mor_doc_root(e->described), "identity")) &&
	       (mortise_plugin_state(plugin) == MORTISE_READY || reply->status == MORTISE_ECRASHED ||
		reply->status == MORTISE_ETIMEOUT);
}

/* The first answer of a plugin, good or bad, shows whether its greeting worked. */
static void get_to_know(struct mor_extract_plugin *e, const mortise_reply *reply)
{
	struct mor_extract *x = e->extract;
	mortise_plugin *plugin = reply->plugin; /* NULL: no worker finished its greeting */
	char *json = NULL;

	if (e->described || e->refused || x->fatal.code)
		return;
	if (mortise_plugin_describe(plugin, &json, NULL) == 0)
		mor_doc_parse(mor_slice_of(json), MOR_JSON_NAN, 0, &e->described, NULL);
	mortise_free(json);
	if (is_greeted(e, plugin, reply)) {
		if (!has_interface(e))
			refuse_interface(e, plugin);
		return;
	}
	/* No greeting has worked. */
	e->described = mor_doc_free(e->described);
	refuse_plugin(e, reply->error, reply->error_data);
}

/* ---- one answer ---- */

/* If extractor.supports gives no answer, the manifest decides. */
static void judge_by_capabilities(struct mor_extract_answer *answer)
{
	const struct mor_value *can = plugin_abilities(answer->extractor);
	const char *word = own_mime(answer);

	answer->confidence = 1.0;
	if (!can) {
		answer->verdict = MOR_EXTRACT_SUPPORTS_UNKNOWN;
		return;
	}
	answer->mime = word ? word : answer->kind->mime;
	answer->verdict = mor_extract_claim_covers(can, answer->kind) ? MOR_EXTRACT_SUPPORTS_YES :
									MOR_EXTRACT_SUPPORTS_NO;
}

static void tell_no_answer(const struct mor_extract_answer *answer, const mortise_reply *reply)
{
	struct mor_console *console = answer->kind->extract->console;

	if (console->strict)
		mor_note(console,
			 "%swarning%s: %s: extractor.supports gives no answer, but the specification requires "
			 "one: the capabilities of the handshake decide",
			 mor_style_err(console, MOR_STYLE_WARN), mor_style_err_end(console),
			 mortise_plugin_name(reply->plugin));
}

/* After any failure to answer, the manifest decides: -32601 and -32602 as in the specification, -32603 as
 * hand-written plugins answer to unknown questions, and silence. */
static void take_answer(struct mor_extract_answer *answer, const mortise_reply *reply)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_slice json = { reply->result.text, reply->result.len };
	const struct mor_value *supported;

	if (reply->status == MORTISE_OK && json.ptr)
		mor_doc_parse(json, MOR_JSON_NAN, 0, &doc, NULL);
	supported = mor_json_get(mor_doc_root(doc), "supported");
	if (mor_json_type(supported) != MOR_JSON_BOOL) {
		tell_no_answer(answer, reply);
		judge_by_capabilities(answer);
		return;
	}
	answer->verdict = mor_json_bool(supported, false) ? MOR_EXTRACT_SUPPORTS_YES : MOR_EXTRACT_SUPPORTS_NO;
	answer->confidence = mor_json_double(mor_json_get(mor_doc_root(doc), "confidence"), 1.0);
}

/* ---- all answers ---- */

/* A clear yes wins over a guess, then the higher confidence, then the order on the command line. */
static void choose_plugin(struct mor_extract_kind *kind)
{
	const struct mor_extract_answer *best = NULL;

	for (size_t i = 0; i < kind->extract->extractor_count; i++) {
		const struct mor_extract_answer *a = &kind->answers[i];

		if (a->verdict < MOR_EXTRACT_SUPPORTS_UNKNOWN)
			continue;
		if (!best || a->verdict > best->verdict ||
		    (a->verdict == best->verdict && a->confidence > best->confidence))
			best = a;
	}
	kind->best = best;
}

/* A clear yes needs no further round. */
static bool is_settled(const struct mor_extract_kind *kind)
{
	return kind->round >= MOR_EXTRACT_ROUNDS ||
	       (kind->best && kind->best->verdict == MOR_EXTRACT_SUPPORTS_YES);
}

static void end_questions(struct mor_extract_kind *kind)
{
	if (kind->extract->console->verbose && !kind->extract->fatal.code)
		mor_extract_claim_tell(kind);
}

/* With one plugin we list its formats; with several the line would be too long. */
static void fail_untaken(struct mor_extract_job *job)
{
	MOR_CLEAN(mor_buf) struct mor_buf formats = MOR_BUF_INIT;
	struct mor_extract *x = job->extract;

	if (x->extractor_count == 1)
		append_names(mor_json_get(plugin_abilities(&x->extractors[0]), "formats"), &formats);
	mor_extract_job_fail(job, MORTISE_EUNSUPPORTED, "%s %s (extension \"%s\")%s%.300s",
			     x->extractor_count == 1 ?
				     "the plugin does not support" :
			     x->args->picked ?
				     "no plugin that is installed, or in a trusted directory, supports" :
				     "none of the plugins supports",
			     job->mime, job->extension, formats.len > 1 ? "; it supports " : "",
			     formats.len > 1 ? formats.data : "");
}

static void deliver_job(struct mor_extract_job *job, struct mor_extract_kind *kind)
{
	char *mime = mor_strdup(kind->best ? kind->best->mime : kind->mime);

	mor_free(job->mime);
	job->mime = mime;
	if (mime && kind->best) {
		mor_extract_job_send(job, kind->best->extractor);
		return;
	}
	if (mime)
		fail_untaken(job);
	else
		mor_extract_job_fail(job, MORTISE_ENOMEM, "%s", mortise_status_text(MORTISE_ENOMEM));
	mor_extract_job_settle(job);
}

/* A "no" to the YAMS name of the type is not final if the plugin lists the type under another name. */
static bool ask_again(struct mor_extract_answer *answer)
{
	const char *word = answer->verdict == MOR_EXTRACT_SUPPORTS_NO ? own_mime(answer) : NULL;
	mortise_error err = { 0 };

	if (!word || strcasecmp(word, answer->mime) == 0)
		return false;
	answer->mime = word;
	return ask_one(answer, &err) == 0;
}

/* After a fatal error the waiting jobs stay: the run is over. */
static void on_supports(const mortise_reply *reply, void *arg)
{
	struct mor_extract_answer *answer = arg;
	struct mor_extract_kind *kind = answer->kind;

	if (reply->more || kind->extract->stopping)
		return;
	get_to_know(answer->extractor, reply);
	if (kind->extract->fatal.code)
		return;
	answer->verdict = MOR_EXTRACT_SUPPORTS_NO;
	if (!answer->extractor->refused) {
		take_answer(answer, reply);
		if (ask_again(answer))
			return;
	}
	if (--kind->pending)
		return;
	choose_plugin(kind);
	if (!is_settled(kind) && !kind->extract->fatal.code) {
		ask_round(kind);
		if (kind->pending)
			return;
		choose_plugin(kind);
	}
	end_questions(kind);
	while (kind->waiting) {
		struct mor_extract_job *job = kind->waiting;

		kind->waiting = job->next;
		deliver_job(job, kind);
	}
}

/* ---- questions ---- */

static int ask_one(struct mor_extract_answer *answer, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_writer w = { .out = &params };
	struct mor_extract_kind *kind = answer->kind;
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = on_supports, .arg = answer };

	/* Always both: real plugins answer -32602 if one is missing. By the specification "" is not an
	 * extension. */
	mor_w_object(&w);
	mor_w_pair(&w, "mime_type", answer->mime);
	if (*kind->extension || !kind->extract->args->plugin->strict)
		mor_w_pair(&w, "extension", kind->extension);
	mor_w_end(&w);
	if (mor_buf_failed(&params))
		return mor_fail_memory(err);
	return mortise_pool_call(answer->extractor->pool, "extractor.supports",
				 (mortise_json){ params.data, params.len }, &opt, NULL, err);
}

static void ask_round(struct mor_extract_kind *kind)
{
	struct mor_extract *x = kind->extract;
	mortise_error err = { 0 };

	kind->round++;
	for (size_t i = 0; i < x->extractor_count && !x->fatal.code; i++) {
		struct mor_extract_answer *answer = &kind->answers[i];

		if (answer->round != kind->round || answer->extractor->refused)
			continue;
		answer->verdict = MOR_EXTRACT_SUPPORTS_ASKED;
		if (ask_one(answer, &err) == 0)
			kind->pending++;
		else
			refuse_plugin(answer->extractor, &err, (mortise_json){ 0 });
	}
}

/* Until the first round that asks somebody. */
static void ask_first(struct mor_extract_kind *kind)
{
	for (size_t i = 0; i < kind->extract->extractor_count; i++) {
		struct mor_extract_answer *answer = &kind->answers[i];

		*answer = (struct mor_extract_answer){ .kind = kind,
						       .extractor = &kind->extract->extractors[i],
						       .verdict = MOR_EXTRACT_SUPPORTS_NO,
						       .mime = kind->mime };
		answer->round = mor_extract_claim_round(answer->extractor, kind);
	}
	while (!kind->pending && kind->round < MOR_EXTRACT_ROUNDS && !kind->extract->fatal.code)
		ask_round(kind);
	if (!kind->pending)
		end_questions(kind);
}

static struct mor_extract_kind *new_kind(struct mor_extract_job *job)
{
	struct mor_extract *x = job->extract;
	struct mor_extract_kind *kind =
		mor_zalloc(sizeof(*kind) + x->extractor_count * sizeof(kind->answers[0]));

	if (!kind)
		return NULL;
	kind->extract = x;
	kind->found = mor_strdup(job->mime);
	kind->mime = mor_extract_claim_normal(job->mime);
	kind->extension = mor_strdup(job->extension);
	kind->next = x->kinds;
	x->kinds = kind;
	if (!kind->found || !kind->mime || !kind->extension)
		return NULL;
	ask_first(kind);
	return kind;
}

/* A kind that ran out of memory while it was made has no names, and is never found again. */
static bool is_kind(const struct mor_extract_kind *kind, const struct mor_extract_job *job)
{
	return kind->found && kind->mime && kind->extension && strcmp(kind->found, job->mime) == 0 &&
	       strcmp(kind->extension, job->extension) == 0;
}

void mor_extract_kind_route(struct mor_extract_job *job)
{
	struct mor_extract_kind *kind = job->extract->kinds;

	while (kind && !is_kind(kind, job))
		kind = kind->next;
	if (!kind)
		kind = new_kind(job);
	if (!kind) {
		mor_extract_job_fail(job, MORTISE_ENOMEM, "%s", mortise_status_text(MORTISE_ENOMEM));
	} else if (kind->pending) {
		struct mor_extract_job **last = &kind->waiting;

		while (*last)
			last = &(*last)->next;
		*last = job;
	} else if (!job->extract->fatal.code) {
		deliver_job(job, kind);
	}
}

void mor_extract_kinds_free(struct mor_extract *x)
{
	while (x->kinds) {
		struct mor_extract_kind *kind = x->kinds;

		x->kinds = kind->next;
		mor_free(kind->found);
		mor_free(kind->mime);
		mor_free(kind->extension);
		mor_free(kind);
	}
}
