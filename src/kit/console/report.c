/* SPDX-License-Identifier: Apache-2.0 */
/* Errors for people and for machines. The plugin's `data` reaches both. */
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "console/report.h"
#include "console/reword.h"
#include "console/warned.h"

#define METHOD_NOT_FOUND (-32601)
#define INVALID_PARAMS   (-32602)

static void append_value(struct mor_buf *out, const struct mor_value *value)
{
	char shown[400];

	mor_buf_text(out, mor_printable_value(value, shown, sizeof(shown)));
}

/* "; reason: X", unless the text says it already. */
static void append_member(struct mor_buf *out, const char *text, const struct mor_value *data, const char *name)
{
	const struct mor_value *value = mor_json_get(data, name);
	const char *content = mor_json_text(value, NULL);
	enum mor_json_type type = mor_json_type(value);

	if (type == MOR_JSON_MISSING || type == MOR_JSON_NULL || (content && strstr(text, content)))
		return;
	mor_buf_printf(out, "; %s: ", name);
	append_value(out, value);
}

/* Tells the user how to provide a missing dependency. */
static void append_remedy(struct mor_buf *out, const struct mor_value *data)
{
	const char *variable = mor_json_text(mor_json_get(data, "env_var"), NULL);
	const char *key = mor_json_text(mor_json_get(data, "config_key"), NULL);
	char shown[128];

	if (variable)
		mor_buf_printf(out, "; if it needs %s, pass it with --env %s",
			       mor_printable(mor_slice_of(variable), shown, sizeof(shown)), shown);
	if (key)
		mor_buf_printf(out, "%s --config %s=VALUE", variable ? ", or" : "; set it with",
			       mor_printable(mor_slice_of(key), shown, sizeof(shown)));
}

/* Sunscreen: the plugin's own advice. */
static void append_next_step(struct mor_buf *out, const struct mor_value *data)
{
	const struct mor_value *step = mor_json_get(data, "next_step");

	if (mor_json_type(step) != MOR_JSON_STRING)
		return;
	mor_buf_text(out, "; try: ");
	append_value(out, step);
}

/* Is there a member that append_data() can print? */
static bool has_known_member(const struct mor_value *data)
{
	static const char *const known[] = { "reason", "details", "env_var", "config_key", "next_step" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (mor_json_get(data, known[i]))
			return true;
	return false;
}

/* A result or notification that says why it failed: the text was taken from it, so it is not printed twice. */
static bool is_source(const struct mor_value *data, const char *text)
{
	static const char *const places[] = { "message", "error", "data" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *said = mor_json_text(mor_json_get(data, places[i]), "");

		if (*said && strstr(text, said))
			return true;
	}
	return false;
}

static void append_data(struct mor_buf *out, const struct mor_report *report)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_slice json = { report->data.text, report->data.len };
	const char *text = report->error->text;

	if (!json.ptr || mor_doc_parse(json, MOR_JSON_NAN, 0, &doc, NULL) < 0 ||
	    mor_json_type(mor_doc_root(doc)) == MOR_JSON_NULL)
		return;
	/* For a violation, the text already says everything that the record holds. */
	if (report->error->code == MORTISE_EVIOLATION || is_source(mor_doc_root(doc), text))
		return;
	if (!has_known_member(mor_doc_root(doc))) {
		mor_buf_text(out, "; data: ");
		append_value(out, mor_doc_root(doc));
		return;
	}
	append_member(out, text, mor_doc_root(doc), "reason");
	append_member(out, text, mor_doc_root(doc), "details");
	append_remedy(out, mor_doc_root(doc));
	append_next_step(out, mor_doc_root(doc));
}

/* A person types options. */
static const struct mor_rewording typed[] = {
	{ "(timeout_ms of the call sets", "", "(--timeout sets", "" },
	{ "; timeouts.", " changes it)", "; --timeout ", "=DURATION changes it)" },
	{ "(plugin.framing=", "", "(--framing ", "" },
	{ "plugin.dialect=", "", "-d ", "" },
	{ "(plugin.dialect, plugin.framing)", "", "(--dialect, --framing)", "" },
	{ "(plugin.dialect)", "", "(--dialect)", "" },
	{ "(plugin.framing)", "", "(--framing)", "" },
};

static void append_error(struct mor_buf *out, const mortise_error *error)
{
	const char *text = *error->text ? error->text : mortise_status_text(error->code);

	if (error->code == MORTISE_ETIMEOUT || error->code == MORTISE_EPROTO)
		mor_reword(text, typed, sizeof(typed) / sizeof(typed[0]), out);
	else
		mor_buf_text(out, text);
}

/* The library's text says which plugin, what happened and why. Here we add what only the command knows: how
 * to pass a variable, and where to find the right method. */
int mor_report_text(const struct mor_report *report, struct mor_buf *out)
{
	const mortise_error *error = report->error;

	if (report->subject)
		mor_buf_printf(out, "%s: ", report->subject);
	append_error(out, error);
	if (report->data.text)
		append_data(out, report);
	if (error->code == MORTISE_EREMOTE && error->rpc_code == METHOD_NOT_FOUND && report->plugin)
		mor_buf_printf(out, "; 'mortise info %s%s%s%s' shows what it offers",
			       report->dialect ? "-d " : "", report->dialect ? report->dialect : "",
			       report->dialect ? " " : "", report->plugin);
	return out->status;
}

static bool is_mistake(const mortise_error *error)
{
	if (error->code == MORTISE_EREMOTE)
		return error->rpc_code == METHOD_NOT_FOUND || error->rpc_code == INVALID_PARAMS;
	return error->code == MORTISE_EINVAL || error->code == MORTISE_EINPUT ||
	       error->code == MORTISE_ENOTFOUND || error->code == MORTISE_EUNSUPPORTED;
}

/* Scripts read the first word. So colour is put around that word, and nothing is printed before it. */
void mor_report_line(struct mor_console *console, const struct mor_report *report)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	const char *kind = mortise_status_kind(report->error->code);

	if (report->error->code == MORTISE_EVIOLATION)
		console->late[0] = '\0';
	console->failed.kind = kind;
	console->failed.mistake = is_mistake(report->error);
	mor_excerpt(mor_slice_of(report->error->text), console->failed.text, sizeof(console->failed.text));
	mor_buf_printf(&text, "%s%s%s: ", mor_style_err(console, MOR_STYLE_BAD), kind,
		       mor_style_err_end(console));
	if (mor_report_text(report, &text) == 0)
		mor_note_slice(console, mor_buf_view(&text));
	else
		mor_note(console, "%s: %s", kind, report->error->text);
}

/* A signal has its own exit code. All others come from the table. */
static int exit_code_of(const struct mor_report *report)
{
	return report->exit_code ? report->exit_code : mortise_status_exit_code(report->error->code);
}

static void write_next_step(struct mor_writer *w, const struct mor_report *report)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const struct mor_value *step;

	if (!report->data.text || mor_doc_parse((struct mor_slice){ report->data.text, report->data.len },
						MOR_JSON_NAN, 0, &doc, NULL) < 0)
		return;
	step = mor_json_get(mor_doc_root(doc), "next_step");
	if (mor_json_type(step) == MOR_JSON_STRING)
		mor_w_pair(w, "next_step", mor_json_text(step, ""));
}

/* `data` is printed completely: a machine may need what the line left out. */
void mor_report_members(struct mor_writer *w, const struct mor_report *report)
{
	const mortise_error *error = report->error;

	mor_w_pair(w, "kind", mortise_status_kind(error->code));
	mor_w_pair(w, "code", mortise_status_name(error->code));
	mor_w_pair(w, "message", error->text);
	mor_w_key(w, "data");
	if (report->data.text)
		mor_w_raw(w, (struct mor_slice){ report->data.text, report->data.len });
	else
		mor_w_null(w);
	write_next_step(w, report);
	mor_w_pair_int(w, "rpc_code", error->rpc_code);
	mor_w_pair_int(w, "exit_code", exit_code_of(report));
	if (report->more)
		report->more(report->more_arg, w);
}

int mor_report_fail(struct mor_console *console, const struct mor_report *given)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	struct mor_report own = *given, *report = &own;

	if (!own.exit_code)
		own.exit_code = console->own_exit;
	mor_report_line(console, report);
	if (console->json) {
		mor_w_object(&w);
		mor_w_pair_bool(&w, "ok", false);
		mor_report_members(&w, report);
		mor_warned_write(console, &w);
		mor_w_end(&w);
		mor_out_json(console, mor_buf_view(&json));
	}
	return exit_code_of(report);
}

int mor_report_error(struct mor_console *console, const mortise_error *error)
{
	return mor_report_fail(console, &(struct mor_report){ .error = error });
}

int mor_report_late(struct mor_console *console, int exit_code)
{
	mortise_error err = { 0 };

	if (!console->late[0])
		return exit_code;
	mor_fail(&err, MORTISE_EVIOLATION, "%s", console->late);
	mor_report_line(console, &(struct mor_report){ .error = &err });
	return mortise_status_exit_code(MORTISE_EVIOLATION);
}

int mor_report_interrupted(struct mor_console *console, int exit_code)
{
	mortise_error err = { 0 };

	mor_fail(&err, MORTISE_ECANCELED, "interrupted by signal %d", exit_code - 128);
	return mor_report_fail(console, &(struct mor_report){ .error = &err, .exit_code = exit_code });
}

int mor_report_usage(struct mor_console *console, const mortise_error *error)
{
	mortise_error full = *error;
	size_t len = strlen(error->text);
	const char *join = len && error->text[len - 1] == '?' ? " See" : "; see";

	if (console->command)
		mor_fail(&full, error->code, "%s%s 'mortise %s --help'", error->text, join, console->command);
	else
		mor_fail(&full, error->code, "%s%s 'mortise --help'", error->text, join);
	return mor_report_error(console, &full);
}

int mor_report_misuse(struct mor_console *console, const char *format, ...)
{
	mortise_error err = { .code = MORTISE_EINVAL };
	va_list args;

	va_start(args, format);
	vsnprintf(err.text, sizeof(err.text), format, args);
	va_end(args);
	return mor_report_usage(console, &err);
}

int mor_report_cause(struct mor_console *console, const mortise_error *error)
{
	return (error->code == MORTISE_EINVAL ? mor_report_usage : mor_report_error)(console, error);
}
