/*
 * Which plugin takes which kind of file. All plugins are asked about a kind at the same time, when its first
 * file comes; files of that kind wait until the last answer is there, later ones go straight on.
 */
#include <string.h>

#include "base/text.h"
#include "base/alloc.h"
#include "base/error.h"
#include "cli/extract.h"
#include "cli/output.h"

#define INTERFACE "content_extractor_v1"

static const struct mor_value *abilities(const struct mor_extractor *e)
{
	return mor_json_at(mor_doc_root(e->described), "/capabilities/content_extraction");
}

/* ---- may it be used at all ---- */

/* Real plugins forget to announce it; capabilities say the same. */
static bool has_interface(const struct mor_extractor *e)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(mor_doc_root(e->described), "interfaces"));

	while (mor_json_next(&it))
		if (mor_slice_is(mor_json_string(it.value), INTERFACE))
			return true;
	return abilities(e) != NULL;
}

static void names(const struct mor_value *array, struct mor_buf *out)
{
	struct mor_json_iter it = mor_json_iter(array);
	char shown[100];

	while (mor_json_next(&it)) {
		mor_printable(mor_json_string(it.value), shown, sizeof(shown));
		mor_buf_printf(out, "%s%s", out->len ? ", " : "", shown);
	}
	mor_buf_byte(out, '\0');
}

/* Names what it has: most often the wrong plugin was typed. */
static void refuse(struct mor_extractor *e, mortise_plugin *plugin)
{
	MOR_CLEAN(mor_buf) struct mor_buf has = MOR_BUF_INIT;
	struct mor_extract *x = e->extract;

	names(mor_json_get(mor_doc_root(e->described), "interfaces"), &has);
	mor_fail(&x->fatal, MORTISE_EUNSUPPORTED, "%s: does not offer " INTERFACE ", so it cannot extract; it has %s",
		 mortise_plugin_name(plugin), has.len > 1 && !mor_buf_failed(&has) ? has.data : "no interfaces");
}

/* The first answer of a plugin, whatever it is, tells whether it came through its greeting. */
static void get_to_know(struct mor_extractor *e, const mortise_reply *reply)
{
	struct mor_extract *x = e->extract;
	/* A call that never reached a worker has none. */
	mortise_plugin *plugin = reply->plugin ? reply->plugin : mortise_pool_worker(e->pool, 0);
	char *json = NULL;

	if (e->described || x->fatal.code)
		return;
	if (mortise_plugin_describe(plugin, &json) == 0)
		mor_doc_parse(mor_slice_of(json), MOR_JSON_NAN, 0, &e->described, NULL);
	mortise_free(json);
	if (reply->status == MORTISE_OK || mor_json_size(mor_json_get(mor_doc_root(e->described), "identity"))) {
		if (!has_interface(e))
			refuse(e, plugin);
		return;
	}
	/* Not greeted. Its error is the run's: every file would fail with the same. */
	e->described = mor_doc_free(e->described);
	x->fatal = *reply->error;
	x->fatal_plugin = e->typed;
	if (reply->error_data.text)
		x->fatal_data = mor_strndup(reply->error_data.text, reply->error_data.len);
}

/* ---- one answer ---- */

static bool listed(const struct mor_value *array, const char *word)
{
	struct mor_json_iter it = mor_json_iter(array);

	while (mor_json_next(&it))
		if (mor_slice_is(mor_json_string(it.value), word))
			return true;
	return false;
}

/* Where extractor.supports says nothing: what the manifest says. */
static void by_capabilities(struct mor_supports_answer *answer)
{
	const struct mor_value *can = abilities(answer->extractor);
	const char *extension = answer->kind->extension;
	bool yes;

	answer->confidence = 1.0;
	if (!can) {
		answer->verdict = MOR_SUPPORTS_UNKNOWN;
		return;
	}
	yes = listed(mor_json_get(can, "formats"), answer->kind->mime);
	if (*extension)
		yes = yes || listed(mor_json_get(can, "extensions"), extension) ||
		      listed(mor_json_get(can, "extensions"), extension + 1);
	answer->verdict = yes ? MOR_SUPPORTS_YES : MOR_SUPPORTS_NO;
}

/* Any failure to answer leaves the manifest to decide: -32601 and -32602 as the specification has them, -32603
 * as hand-written plugins answer what they do not know, and silence. */
static void take_answer(struct mor_supports_answer *answer, const mortise_reply *reply)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_slice json = { reply->result.text, reply->result.len };
	const struct mor_value *supported;

	if (reply->status == MORTISE_OK && json.ptr)
		mor_doc_parse(json, MOR_JSON_NAN, 0, &doc, NULL);
	supported = mor_json_get(mor_doc_root(doc), "supported");
	if (mor_json_type(supported) != MOR_JSON_BOOL) {
		by_capabilities(answer);
		return;
	}
	answer->verdict = mor_json_bool(supported, false) ? MOR_SUPPORTS_YES : MOR_SUPPORTS_NO;
	answer->confidence = mor_json_double(mor_json_get(mor_doc_root(doc), "confidence"), 1.0);
}

/* ---- all answers ---- */

/* A clear yes beats a guess; then confidence; then the order of the command line. */
static void choose(struct mor_kind *kind)
{
	const struct mor_supports_answer *best = NULL;

	for (size_t i = 0; i < kind->extract->extractor_count; i++) {
		const struct mor_supports_answer *a = &kind->answers[i];

		if (a->verdict < MOR_SUPPORTS_UNKNOWN)
			continue;
		if (!best || a->verdict > best->verdict ||
		    (a->verdict == best->verdict && a->confidence > best->confidence))
			best = a;
	}
	kind->best = best ? best->extractor : NULL;
}

/* With one plugin its formats are worth telling; with several the line would be endless. */
static void nobody(struct mor_job *job)
{
	MOR_CLEAN(mor_buf) struct mor_buf formats = MOR_BUF_INIT;
	struct mor_extract *x = job->extract;

	if (x->extractor_count == 1)
		names(mor_json_get(abilities(&x->extractors[0]), "formats"), &formats);
	mor_job_fail(job, MORTISE_EUNSUPPORTED, "%s %s (extension \"%s\")%s%.300s",
		     x->extractor_count == 1 ? "the plugin does not support" : "none of the plugins supports", job->mime,
		     job->extension, formats.len > 1 ? "; it supports " : "", formats.len > 1 ? formats.data : "");
}

static void deliver(struct mor_job *job, struct mor_kind *kind)
{
	if (kind->best) {
		mor_job_send(job, kind->best);
		return;
	}
	nobody(job);
	mor_job_settle(job);
}

/* A fatal error leaves the waiting jobs where they are: the run is over. */
static void on_supports(const mortise_reply *reply, void *arg)
{
	struct mor_supports_answer *answer = arg;
	struct mor_kind *kind = answer->kind;

	if (reply->more || kind->extract->stopping)
		return;
	get_to_know(answer->extractor, reply);
	if (kind->extract->fatal.code)
		return;
	take_answer(answer, reply);
	if (--kind->pending)
		return;
	choose(kind);
	while (kind->waiting) {
		struct mor_job *job = kind->waiting;

		kind->waiting = job->next;
		deliver(job, kind);
	}
}

/* ---- questions ---- */

static int ask(struct mor_kind *kind, struct mor_buf *params, mortise_error *err)
{
	struct mor_extract *x = kind->extract;
	int r = 0;

	for (size_t i = 0; i < x->extractor_count && r == 0; i++) {
		struct mor_supports_answer *answer = &kind->answers[i];
		mortise_call_options opt = { .size = sizeof(opt), .on_reply = on_supports, .arg = answer };

		answer->kind = kind;
		answer->extractor = &x->extractors[i];
		r = mortise_pool_call(answer->extractor->pool, "extractor.supports",
				      (mortise_json){ params->data, params->len }, &opt, err);
		kind->pending += r == 0;
	}
	return r;
}

static void ask_all(struct mor_kind *kind)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_writer w = { .out = &params };
	mortise_error err = { 0 };

	/* Both, always: real plugins answer -32602 when one is missing. */
	mor_w_object(&w);
	mor_w_pair(&w, "mime_type", kind->mime);
	mor_w_pair(&w, "extension", kind->extension);
	mor_w_end(&w);
	if (mor_buf_failed(&params))
		mor_fail(&kind->extract->fatal, MORTISE_ENOMEM, "out of memory");
	else if (ask(kind, &params, &err) < 0)
		kind->extract->fatal = err;
}

static struct mor_kind *new_kind(struct mor_job *job)
{
	struct mor_extract *x = job->extract;
	struct mor_kind *kind = mor_zalloc(sizeof(*kind) + x->extractor_count * sizeof(kind->answers[0]));

	if (!kind)
		return NULL;
	kind->extract = x;
	kind->mime = mor_strdup(job->mime);
	kind->extension = mor_strdup(job->extension);
	kind->next = x->kinds;
	x->kinds = kind;
	if (!kind->mime || !kind->extension)
		return NULL;
	ask_all(kind);
	return kind;
}

/* One that ran out of memory while it was made has no names and is never found again. */
static bool is_kind(const struct mor_kind *kind, const struct mor_job *job)
{
	return kind->mime && kind->extension && strcmp(kind->mime, job->mime) == 0 &&
	       strcmp(kind->extension, job->extension) == 0;
}

void mor_kind_route(struct mor_job *job)
{
	struct mor_kind *kind = job->extract->kinds;

	while (kind && !is_kind(kind, job))
		kind = kind->next;
	if (!kind)
		kind = new_kind(job);
	if (!kind) {
		mor_job_fail(job, MORTISE_ENOMEM, "out of memory");
	} else if (kind->pending) {
		struct mor_job **last = &kind->waiting;

		while (*last)
			last = &(*last)->next;
		*last = job;
	} else if (!job->extract->fatal.code) {
		deliver(job, kind);
	}
}

void mor_kinds_free(struct mor_extract *x)
{
	while (x->kinds) {
		struct mor_kind *kind = x->kinds;

		x->kinds = kind->next;
		mor_free(kind->mime);
		mor_free(kind->extension);
		mor_free(kind);
	}
}
