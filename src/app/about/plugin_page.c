/* SPDX-License-Identifier: Apache-2.0 */
/* Absent things are left out, differences are marked. Every value comes from a plugin or a file, so it is made
 * printable first. */
#include <string.h>

#include "about/about.h"
#include "about/columns_inside.h"
#include "base/alloc.h"
#include "base/text.h"

/* ---- values as one printable line ---- */

static void put_value(struct mor_console *out, const char *before, const struct mor_value *value)
{
	char text[600];

	mor_outf(out, "%s%s", before, mor_printable_value(value, text, sizeof(text)));
}

static void put_name(struct mor_console *out, const char *before, struct mor_slice name)
{
	char text[200];

	mor_outf(out, "%s%s", before, mor_printable(name, text, sizeof(text)));
}

static void put_styled(struct mor_console *out, enum mor_style style, const char *text)
{
	mor_outf(out, "%s%s%s", mor_style(out, style), text, mor_style_end(out));
}

/* What it does, if that is said, and the end of the line. */
static void end_line(struct mor_console *out, const struct mor_value *doc)
{
	if (mor_json_string(doc).len)
		put_value(out, ": ", doc);
	mor_out_text(out, "\n");
}

/* Empty lists and objects are shown no more than null is. */
static bool absent(const struct mor_value *value)
{
	enum mor_json_type type = mor_json_type(value);

	return type == MOR_JSON_MISSING || type == MOR_JSON_NULL ||
	       ((type == MOR_JSON_OBJECT || type == MOR_JSON_ARRAY) && mor_json_size(value) == 0);
}

/* ---- rows: a label, and what belongs to it ---- */

static void begin_row(struct mor_console *out, const char *label)
{
	put_styled(out, MOR_STYLE_LABEL, label);
	mor_outf(out, "%*s", 14 - (int)strlen(label), "");
}

static void text_row(struct mor_console *out, const char *label, const char *text)
{
	begin_row(out, label);
	mor_outf(out, "%s\n", text);
}

/* Of what stands in the lines below. */
static void title_row(struct mor_console *out, const char *label)
{
	put_styled(out, MOR_STYLE_LABEL, label);
	mor_out_text(out, "\n");
}

static void value_row(struct mor_console *out, const char *label, const struct mor_value *value)
{
	if (absent(value))
		return;
	begin_row(out, label);
	put_value(out, "", value);
	mor_out_text(out, "\n");
}

/* Elements of an array, joined. */
static void list_row(struct mor_console *out, const char *label, const struct mor_value *array,
		     const char *separator)
{
	struct mor_json_iter it = mor_json_iter(array);
	const char *before = "";

	if (absent(array))
		return;
	begin_row(out, label);
	for (; mor_json_next(&it); before = separator)
		put_value(out, before, it.value);
	mor_out_text(out, "\n");
}

/* ---- tables ---- */

/* Values compare as JSON, so 1 and 1.0 are the same, and members may come in any order. */
static const char *verdict(const struct mor_value *given, const struct mor_value *applied)
{
	if (!given)
		return "* added by the plugin";
	if (!applied)
		return "* not applied";
	return mor_json_equal(given, applied) ? "" : "* differs";
}

static void add_config(struct libscols_table *table, struct mor_slice name, const struct mor_value *given,
		       const struct mor_value *applied)
{
	char key[200], left[300], right[300];

	mor_columns_add(table, (const char *const[]){
				       mor_printable(name, key, sizeof(key)),
				       given ? mor_printable_value(given, left, sizeof(left)) : "-",
				       applied ? mor_printable_value(applied, right, sizeof(right)) : "-",
				       verdict(given, applied) });
}

/* Shows the given configuration beside what the plugin says it applied. */
static void show_config(struct mor_console *out, const struct mor_value *given, const struct mor_value *applied)
{
	static const char *const titles[] = { "KEY", "GIVEN", "APPLIED", "" };
	struct mor_json_iter it = mor_json_iter(given);
	struct libscols_table *table;

	if (absent(given) && absent(applied))
		return;
	if (absent(applied))
		text_row(out, "config", "(the plugin does not say what it applied)");
	else
		title_row(out, "config");
	table = mor_columns_new(titles, absent(applied) ? 2 : 4);
	while (mor_json_next(&it))
		add_config(table, it.name, it.value, mor_json_get_slice(applied, it.name));
	it = mor_json_iter(applied);
	while (mor_json_next(&it))
		if (!mor_json_get_slice(given, it.name))
			add_config(table, it.name, NULL, it.value);
	mor_columns_print(out, table);
}

/* The limits in force: dialect, files and command line together. */
static void show_timeouts(struct mor_console *out, const struct mor_value *object)
{
	static const char *const titles[] = { "METHOD", "LIMIT" };
	struct mor_json_iter it = mor_json_iter(object);
	struct libscols_table *table;

	if (absent(object))
		return;
	title_row(out, "time limits");
	table = mor_columns_new(titles, 2);
	while (mor_json_next(&it)) {
		char name[200], limit[32];
		int64_t ms = mor_json_int(it.value, 0);

		mor_columns_add(table,
				(const char *const[]){ mor_printable(it.name, name, sizeof(name)),
						       ms > 0 ? mor_format_ms((uint64_t)ms, limit) : "none" });
	}
	mor_columns_print(out, table);
}

/* ---- the parts of the page ---- */

static void show_identity(struct mor_console *out, const struct mor_value *d)
{
	mor_out_text(out, mor_style(out, MOR_STYLE_TITLE));
	put_value(out, "", mor_json_get(d, "name"));
	mor_out_text(out, mor_style_end(out));
	if (!absent(mor_json_get(d, "version")))
		put_value(out, " ", mor_json_get(d, "version"));
	mor_out_text(out, "\n");
	value_row(out, "description", mor_json_get(d, "description"));
	value_row(out, "author", mor_json_at(d, "/identity/author"));
	value_row(out, "dialect", mor_json_get(d, "dialect"));
	if (strcmp(mor_json_text(mor_json_get(d, "transport"), "stdio"), "stdio") != 0)
		value_row(out, "transport", mor_json_get(d, "transport"));
	value_row(out, "manifest", mor_json_get(d, "manifest"));
	list_row(out, "command", mor_json_get(d, "command"), " ");
	value_row(out, "directory", mor_json_get(d, "cwd"));
	list_row(out, "interfaces", mor_json_get(d, "interfaces"), ", ");
}

/* One row per capability, its members below. */
static void show_capabilities(struct mor_console *out, const struct mor_value *object)
{
	struct mor_json_iter it = mor_json_iter(object);

	if (mor_json_type(object) == MOR_JSON_ARRAY)
		return list_row(out, "capabilities", object, ", ");
	if (absent(object))
		return;
	title_row(out, "capabilities");
	while (mor_json_next(&it)) {
		struct mor_json_iter member = mor_json_iter(it.value);
		bool members = mor_json_type(it.value) == MOR_JSON_OBJECT;

		put_name(out, "  ", it.name);
		if (!members)
			put_value(out, ": ", it.value);
		mor_out_text(out, "\n");
		while (members && mor_json_next(&member)) {
			put_name(out, "    ", member.name);
			put_value(out, ": ", member.value);
			mor_out_text(out, "\n");
		}
	}
}

/* "    volume (number, required): the volume to set" */
static void show_parameters(struct mor_console *out, const struct mor_value *schema)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(schema, "properties"));

	while (mor_json_next(&it)) {
		struct mor_json_iter required = mor_json_iter(mor_json_get(schema, "required"));
		const struct mor_value *type = mor_json_get(it.value, "type");
		bool must = false;

		while (mor_json_next(&required))
			must = must || mor_slice_eq(mor_json_string(required.value), it.name);
		put_name(out, "    ", it.name);
		if (absent(type))
			mor_out_text(out, " (any");
		else
			put_value(out, " (", type);
		mor_out_text(out, must ? ", required)" : ")");
		end_line(out, mor_json_get(it.value, "description"));
	}
}

/* The actions of the plugin, under the names that users type. */
static void show_actions(struct mor_console *out, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);

	if (!absent(list))
		title_row(out, "actions");
	while (mor_json_next(&it)) {
		put_value(out, "  ", mor_json_get(it.value, "name"));
		end_line(out, mor_json_get(it.value, "description"));
		show_parameters(out, mor_json_get(it.value, "parameters"));
	}
}

/* "  weather (天气): what it does". Offers from the manifest are already listed as actions. */
static void show_commands(struct mor_console *out, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);

	if (mor_json_type(list) != MOR_JSON_ARRAY || absent(list))
		return;
	title_row(out, "commands");
	while (mor_json_next(&it)) {
		struct mor_json_iter alias = mor_json_iter(mor_json_get(it.value, "aliases"));
		const char *before = " (";

		if (absent(mor_json_get(it.value, "name")))
			continue;
		put_value(out, "  ", mor_json_get(it.value, "name"));
		for (; mor_json_next(&alias); before = ", ")
			put_value(out, before, alias.value);
		mor_out_text(out, *before == ',' ? ")" : "");
		end_line(out, mor_json_get(it.value, "description"));
	}
}

/* The methods of a gRPC plugin, as they are called. */
static void show_service(struct mor_console *out, const struct mor_value *service)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(service, "methods"));
	const char *name = mor_json_text(mor_json_get(service, "name"), "");

	while (mor_json_next(&it)) {
		const char *streams = mor_json_text(mor_json_get(it.value, "streams"), NULL);

		mor_outf(out, "  %s/%s (%s) -> %s%s%s%s\n", name,
			 mor_json_text(mor_json_get(it.value, "name"), ""),
			 mor_json_text(mor_json_get(it.value, "input"), ""),
			 mor_json_text(mor_json_get(it.value, "output"), ""), streams ? "; streams (" : "",
			 streams ? streams : "", streams ? "): cannot be called" : "");
	}
}

static void show_services(struct mor_console *out, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);

	if (mor_json_type(list) != MOR_JSON_ARRAY)
		return;
	if (absent(list))
		text_row(out, "methods", "not known: it has no reflection; --proto FILE.desc describes them");
	else
		title_row(out, "methods");
	while (mor_json_next(&it))
		show_service(out, it.value);
}

static void show_state(struct mor_console *out, const struct mor_value *d)
{
	long long pid = mor_json_int(mor_json_get(d, "pid"), 0);
	const char *name = mor_json_text(mor_json_get(d, "state"), "unknown");

	begin_row(out, "state");
	put_styled(out, strcmp(name, "failed") == 0 ? MOR_STYLE_BAD : MOR_STYLE_GOOD, name);
	if (pid > 0)
		mor_outf(out, " (process %lld)", pid);
	mor_out_text(out, "\n");
	value_row(out, "last error", mor_json_get(d, "last_error"));
}

/* All other members of the answer. */
static void put_health_result(struct mor_console *out, const char *result)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_json_iter it;
	const char *before = " (";

	if (mor_doc_parse(mor_slice_of(result), MOR_JSON_NAN, 0, &doc, NULL) < 0 ||
	    mor_json_type(mor_doc_root(doc)) != MOR_JSON_OBJECT)
		return;
	it = mor_json_iter(mor_doc_root(doc));
	while (mor_json_next(&it)) {
		if (mor_slice_is(it.name, "status"))
			continue;
		put_name(out, before, it.name);
		put_value(out, ": ", it.value);
		before = ", ";
	}
	mor_out_text(out, *before == ',' ? ")" : "");
}

/* The result of our own health question, or what the library knows if we did not ask. */
static void show_health(struct mor_console *out, const struct mor_value *told,
			const struct mor_about_health *asked)
{
	const struct mor_value *known = mor_json_get(told, "healthy");
	bool answered = asked->result || asked->error;
	int healthy = answered                              ? asked->healthy :
		      mor_json_type(known) == MOR_JSON_BOOL ? mor_json_bool(known, false) :
							      -1;

	if (!answered && healthy < 0)
		return;
	begin_row(out, "health");
	if (healthy >= 0)
		put_styled(out, healthy ? MOR_STYLE_GOOD : MOR_STYLE_BAD, healthy ? "healthy" : "not healthy");
	if (*asked->status)
		mor_outf(out, "%s\"%s\"", healthy >= 0 ? ": " : "", asked->status);
	if (!answered && !absent(mor_json_get(told, "reason")))
		put_value(out, ": ", mor_json_get(told, "reason"));
	if (asked->result)
		put_health_result(out, asked->result);
	if (asked->error)
		mor_outf(out, "unknown: %s", asked->error);
	if (answered)
		mor_outf(out, ", answered in %lld ms", (long long)asked->time_ms);
	mor_out_text(out, "\n");
}

/* The level in force, then one line per permission. The first permission repeats the level, so it is left
 * out. */
static void show_confinement(struct mor_console *out, const struct mor_value *told)
{
	const struct mor_value *policy = mor_json_get(told, "policy");
	struct mor_json_iter it = mor_json_iter(mor_json_get(policy, "text"));

	value_row(out, "confinement", mor_json_get(told, "text"));
	if (mor_json_bool(mor_json_get(policy, "unconfined"), false)) {
		mor_outf(out, "%14s", "");
		put_styled(out, MOR_STYLE_WARN, "as asked: --unconfined or sandbox.unconfined");
		mor_out_text(out, "\n");
	}
	for (mor_json_next(&it); mor_json_next(&it);) {
		put_value(out, "              ", it.value);
		mor_out_text(out, "\n");
	}
}

static long long read_count(const struct mor_value *counters, const char *name)
{
	return mor_json_int(mor_json_get(counters, name), 0);
}

/* The few that people look for; --json has all of them. */
static void show_counters(struct mor_console *out, const struct mor_value *c)
{
	if (absent(c))
		return;
	begin_row(out, "counters");
	mor_outf(out, "%lld calls, %lld failed, %lld timed out; %lld restarts; %lld bytes of noise on stdout\n",
		 read_count(c, "calls"), read_count(c, "failed"), read_count(c, "timeouts"),
		 read_count(c, "restarts"), read_count(c, "noise_bytes"));
}

static void show_warnings(struct mor_console *out, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);

	while (mor_json_next(&it)) {
		put_styled(out, MOR_STYLE_WARN, "warning      ");
		put_value(out, " ", it.value);
		mor_out_text(out, "\n");
	}
}

/* Any JSON-RPC program, and nothing beside it says what it offers. */
static bool lists_nothing(const struct mor_value *d)
{
	return strcmp(mor_json_text(mor_json_get(d, "dialect"), ""), "plain") == 0 &&
	       absent(mor_json_get(d, "actions")) && absent(mor_json_get(d, "interfaces"));
}

/* First what the plugin is, then how it works, and the warnings last, where people see them. */
void mor_about_plugin_page(struct mor_console *out, const struct mor_value *d,
			   const struct mor_about_health *asked)
{
	show_identity(out, d);
	show_actions(out, mor_json_get(d, "actions"));
	if (absent(mor_json_get(d, "actions")))
		show_commands(out, mor_json_at(d, "/identity/commands"));
	show_services(out, mor_json_at(d, "/identity/services"));
	if (lists_nothing(d))
		text_row(out, "methods",
			 "not known: plain has no list, and nothing is sent unasked; a program with one "
			 "answers 'mortise call … rpc.discover'");
	show_capabilities(out, mor_json_get(d, "capabilities"));
	show_state(out, d);
	show_health(out, mor_json_get(d, "health"), asked);
	show_confinement(out, mor_json_get(d, "confinement"));
	show_timeouts(out, mor_json_get(d, "timeouts"));
	show_config(out, mor_json_get(d, "config"), mor_json_get(d, "config_applied"));
	show_counters(out, mor_json_get(d, "counters"));
	if (mor_json_string(mor_json_get(d, "last_stderr")).len)
		value_row(out, "last stderr", mor_json_get(d, "last_stderr"));
	show_warnings(out, mor_json_get(d, "warnings"));
}
