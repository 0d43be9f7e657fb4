/* SPDX-License-Identifier: Apache-2.0 */
/* yams: content extractors and methods of their own (docs/dialects/yams.md). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "dialect.h"

#define EXTRACTION_FAILED (-32000)

static bool yams_fits(const tenon_plugin *plugin)
{
	return plugin->extract || plugin->interfaces;
}

/* ---- Who it is ---- */

static void put_capabilities(struct mor_writer *w, const tenon_plugin *plugin)
{
	mor_w_key(w, "capabilities");
	mor_w_object(w);
	if (plugin->extract) {
		mor_w_key(w, "content_extraction");
		mor_w_object(w);
		tn_put_words(w, "formats", plugin->formats);
		tn_put_words(w, "extensions", plugin->extensions);
		mor_w_end(w);
	}
	mor_w_end(w);
}

/* The specification allows letters, digits and underscores. */
static void put_name(struct mor_writer *w, const char *name)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	for (; name && *name; name++)
		mor_buf_byte(&text, isalnum((unsigned char)*name) ? *name : '_');
	mor_w_key(w, "name");
	mor_w_slice(w, mor_buf_view(&text));
}

static void put_identity(struct mor_writer *w, const tenon_plugin *plugin)
{
	const char *further = plugin->interfaces;
	struct mor_slice each;

	put_name(w, plugin->name);
	mor_w_pair(w, "version", plugin->version ? plugin->version : "0.0.0");
	tn_put_known(w, "description", plugin->description);
	tn_put_known(w, "author", plugin->author);
	mor_w_key(w, "interfaces");
	mor_w_array(w);
	if (plugin->extract)
		mor_w_string(w, "content_extractor_v1");
	while (tn_next_word(&further, &each))
		mor_w_slice(w, each);
	mor_w_end(w);
	put_capabilities(w, plugin);
}

static void serve_manifest(tenon_call *call, struct tn_turn *turn)
{
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	struct mor_writer w = { .out = &result };

	(void)turn;
	mor_w_object(&w);
	put_identity(&w, call->plugin);
	mor_w_end(&w);
	tenon_reply_json(call, result.data, result.len);
}

static void yams_manifest(const tenon_plugin *plugin, const char *program, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf binary = MOR_BUF_INIT;
	struct mor_writer w = { .out = out };

	mor_buf_printf(&binary, "${plugin_dir}/%s", program);
	mor_buf_byte(&binary, '\0');
	mor_w_object(&w);
	put_identity(&w, plugin);
	mor_w_pair(&w, "transport", "external");
	mor_w_key(&w, "entry");
	mor_w_object(&w);
	mor_w_key(&w, "binary");
	mor_w_object(&w);
	mor_w_pair(&w, "linux", binary.data);
	mor_w_end(&w);
	mor_w_end(&w);
	mor_w_end(&w);
}

/* ---- Life ---- */

/* The specification wraps the settings in "config", real hosts send them bare, ours sends both. */
static void serve_init(tenon_call *call, struct tn_turn *turn)
{
	MOR_CLEAN(mor_buf) struct mor_buf applied = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	struct mor_writer w = { .out = &result };
	const struct mor_value *params = tn_call_sent(call), *config = mor_json_get(params, "config");

	(void)turn;
	if (config && mor_json_type(config) != MOR_JSON_OBJECT && mor_json_type(config) != MOR_JSON_NULL) {
		tn_refuse(call, TENON_EPARAMS, "config: an object is expected",
			  MOR_SLICE("{\"reason\":\"InvalidConfig\",\"config_key\":\"config\"}"));
		return;
	}
	if (mor_json_type(params) == MOR_JSON_ARRAY) {
		tn_refuse(call, TENON_EPARAMS, "params: an object is expected", (struct mor_slice){ 0 });
		return;
	}
	tn_stop(call->session); /* it may come again: then all begins anew */
	if (tn_start(call, mor_json_type(config) == MOR_JSON_OBJECT ? config : params, &applied) < 0)
		return;
	mor_w_object(&w);
	mor_w_pair(&w, "status", "initialized");
	if (applied.len > 0)
		mor_w_pair_raw(&w, "config_applied", mor_buf_view(&applied));
	mor_w_end(&w);
	tenon_reply_json(call, result.data, result.len);
}

/* Resident, from the second number of statm; 0 where there is no /proc. */
static int64_t memory_mb(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long long pages = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*s %lld", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE) >> 20;
}

/* From either thread. */
static void put_health(const struct tn_session *s, bool busy, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	mor_w_pair(&w, "status", "ok");
	mor_w_pair_bool(&w, "started", atomic_load(&s->started));
	mor_w_pair_bool(&w, "busy", busy);
	mor_w_pair_int(&w, "uptime_sec", (mor_clock_ms() - s->born_ms) / 1000);
	mor_w_pair_int(&w, "memory_mb", memory_mb());
	mor_w_end(&w);
}

static void serve_health(tenon_call *call, struct tn_turn *turn)
{
	MOR_CLEAN(mor_buf) struct mor_buf health = MOR_BUF_INIT;

	(void)turn;
	put_health(call->session, false, &health);
	tenon_reply_json(call, health.data, health.len);
}

static enum tn_quick quick_health(struct tn_session *s, const struct mor_message *message)
{
	MOR_CLEAN(mor_buf) struct mor_buf health = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	if (message->kind != MOR_MSG_REQUEST)
		return TN_QUICK_DONE;
	put_health(s, true, &health);
	if (!mor_buf_failed(&health) && mor_write_result(&out, message->id, mor_buf_view(&health)) == 0)
		tn_send(s, mor_buf_view(&out));
	return TN_QUICK_DONE;
}

/* The process goes on until its input ends: hosts wait for that, and may start anew with plugin.init. */
static void serve_shutdown(tenon_call *call, struct tn_turn *turn)
{
	(void)turn;
	tn_stop(call->session);
	tenon_reply_null(call);
}

static enum tn_quick quick_shutdown(struct tn_session *s, const struct mor_message *message)
{
	(void)s;
	(void)message;
	return TN_QUICK_STOP;
}

/* ---- Extraction ---- */

static bool has_word_nocase(const char *list, struct mor_slice word, bool dotless)
{
	struct mor_slice each;

	while (tn_next_word(&list, &each)) {
		size_t skip = dotless && each.ptr[0] == '.';

		if (each.len - skip == word.len && strncasecmp(each.ptr + skip, word.ptr, word.len) == 0)
			return true;
	}
	return false;
}

/* Either is enough. Hosts ask libmagic for the type, which knows few formats: a note is "text/plain" for it. */
static double confidence(const tenon_plugin *plugin, struct mor_slice type, struct mor_slice extension)
{
	bool dotless = extension.len > 0 && extension.ptr[0] != '.';

	if (type.len > 0 && has_word_nocase(plugin->formats, type, false))
		return 1.0;
	if (extension.len > 0 && has_word_nocase(plugin->extensions, extension, dotless))
		return 0.8;
	return 0.0;
}

static bool text_or_none(const struct mor_value *value)
{
	return mor_json_type(value) <= MOR_JSON_NULL || mor_json_type(value) == MOR_JSON_STRING;
}

/* Null counts as absent, empty text as "not known": hosts send both. */
static void serve_supports(tenon_call *call, struct tn_turn *turn)
{
	const struct mor_value *type = mor_json_get(tn_call_sent(call), "mime_type"),
			       *extension = mor_json_get(tn_call_sent(call), "extension");
	double sure;

	(void)turn;
	call->writer.out = &call->built;
	if (!call->plugin->extract)
		tn_refuse_name(call, "method", MOR_SLICE("extractor.supports"));
	else if (!text_or_none(type) || !text_or_none(extension))
		tn_refuse(call, TENON_EPARAMS, "mime_type and extension: a string is expected",
			  (struct mor_slice){ 0 });
	else if (mor_json_type(type) <= MOR_JSON_NULL && mor_json_type(extension) <= MOR_JSON_NULL)
		tn_refuse(call, TENON_EPARAMS, "mime_type or extension: at least one must be given",
			  (struct mor_slice){ 0 });
	else {
		sure = confidence(call->plugin, mor_json_string(type), mor_json_string(extension));
		tenon_reply(call, TENON_ON("supported", sure > 0), TENON("confidence", sure),
			    TENON("method", call->plugin->name));
	}
}

/* What an extraction says, however the plugin spells it: real hosts read `text` and `error`, the specification
 * has `content` and `success`. */
static int extract_result(tenon_call *call, struct mor_slice json)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	struct mor_writer w = { .out = &result }, t = { .out = &text };
	const struct mor_value *object, *own;

	if (mor_doc_parse(json, 0, 0, &doc, NULL) < 0)
		return -1;
	object = mor_doc_root(doc);
	own = mor_json_get(object, "content");
	if (!own)
		own = mor_json_get(object, "text");
	if (mor_json_type(own) == MOR_JSON_STRING)
		mor_buf_json_string(&text, mor_json_string(own));
	else
		mor_buf_slice(&text, json);
	result.limit = call->session->limit;
	mor_w_object(&w);
	mor_w_pair_bool(&w, "success", mor_json_bool(mor_json_get(object, "success"), true));
	mor_w_key(&w, "content");
	{
		MOR_CLEAN(mor_buf) struct mor_buf whole = MOR_BUF_INIT;

		t.out = &whole;
		tn_put_pieced(&t, call, mor_buf_view(&text));
		mor_w_raw(&w, mor_buf_view(&whole));
		mor_w_pair_raw(&w, "text", mor_buf_view(&whole));
	}
	mor_w_key(&w, "error");
	if (mor_json_get(object, "error"))
		mor_w_value(&w, mor_json_get(object, "error"));
	else
		mor_w_null(&w);
	tn_put_members(&w, object, "success content text error");
	mor_w_end(&w);
	if (mor_buf_failed(&result))
		return -1;
	return tn_shape_rpc.result(call, mor_buf_view(&result));
}

static int extract_error(tenon_call *call, const struct tn_fault *fault)
{
	return tn_shape_rpc.error(call, fault);
}

static const struct tn_shape shape_extract = { extract_result, extract_error, EXTRACTION_FAILED };

/* NULL: it is as it should be. */
static const char *wrong_source(const struct mor_value *source)
{
	const char *type = mor_json_text(mor_json_get(source, "type"), "");

	if (mor_json_type(source) != MOR_JSON_OBJECT)
		return "source: an object is required";
	if (strcmp(type, "bytes") == 0)
		return mor_json_type(mor_json_get(source, "data")) == MOR_JSON_STRING ?
			       NULL :
			       "source.data: base64 text is required with type \"bytes\"";
	if (strcmp(type, "path") != 0)
		return "source.type: must be \"path\" or \"bytes\"";
	return *mor_json_text(mor_json_get(source, "path"), "") ?
		       NULL :
		       "source.path: text is required with type \"path\"";
}

static void serve_extract(tenon_call *call, struct tn_turn *turn)
{
	const struct mor_value *params = tn_call_sent(call), *options = mor_json_get(params, "options");
	const char *wrong = wrong_source(mor_json_get(params, "source"));

	(void)turn;
	if (!call->plugin->extract) {
		tn_refuse_name(call, "method", MOR_SLICE("extractor.extract"));
		return;
	}
	if (!tn_ensure_started(call))
		return;
	if (!wrong && mor_json_type(options) > MOR_JSON_NULL && mor_json_type(options) != MOR_JSON_OBJECT)
		wrong = "options: must be an object";
	if (wrong) {
		tn_refuse(call, TENON_EPARAMS, wrong, (struct mor_slice){ 0 });
		return;
	}
	call->shape = &shape_extract;
	tn_call_function(call, "extractor.extract", call->plugin->extract);
}

static const struct tn_route routes[] = {
	{ "handshake.manifest", serve_manifest, NULL },
	{ "plugin.init", serve_init, NULL },
	{ "plugin.health", serve_health, quick_health },
	{ "plugin.shutdown", serve_shutdown, quick_shutdown },
	{ "extractor.supports", serve_supports, NULL },
	{ "extractor.extract", serve_extract, NULL },
	{ 0 },
};

static const char *const yams_methods[] = { "handshake.manifest", "plugin.", NULL };

const struct tn_dialect tn_yams = {
	.name = "yams",
	.framing = MOR_FRAMING_LINES,
	.fits = yams_fits,
	.routes = routes,
	.by_name = &tn_shape_rpc,
	.needs_init = true,
	.manifest = yams_manifest,
	.known_by = yams_methods,
};
