/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the session for `mortise explain`: two life lines, and the messages between them in the order of a
 * real session, not of the table. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "explain/inside.h"

#define LANE 60 /* between the two life lines */

static void lane(struct mor_buf *out, const char *text)
{
	mor_buf_printf(out, "   |  %-*.*s|\n", LANE - 2, LANE - 2, text);
}

static void message(struct mor_buf *out, const char *text, bool to_plugin)
{
	char dashes[LANE + 1];

	lane(out, text);
	memset(dashes, '-', LANE);
	dashes[LANE] = '\0';
	dashes[to_plugin ? LANE - 1 : 0] = to_plugin ? '>' : '<';
	mor_buf_printf(out, "   |%s|\n", dashes);
}

/* ---- one message and its answer ---- */

/* The members an answer may have, as many as fit: a reminder. The full list is below. */
static void draw_answer(const struct mor_method *m, const char *remark, struct mor_buf *out)
{
	char names[LANE] = "";
	size_t used = 0, room = sizeof(names) - strlen(remark);

	for (const struct mor_field *f = m->result; f && f->name && used + strlen(f->name) + 4 < room; f++)
		if (strcmp(f->name, "*") != 0)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
						 f->name);
	if (!used)
		used = (size_t)snprintf(names, sizeof(names), "result");
	snprintf(names + used, sizeof(names) - used, "%s", remark);
	message(out, names, m->from == MOR_FROM_PLUGIN);
}

static void draw_named(const struct mor_dialect *d, enum mor_side from, enum mor_role role, const char *before,
		       const char *after, struct mor_buf *out)
{
	const struct mor_method *m = NULL;
	char text[LANE];

	while ((m = mor_dialect_role(d, from, role, m))) {
		if (!mor_explain_in_force(d, m))
			continue;
		snprintf(text, sizeof(text), "%s%s%s", before, mor_explain_name(d, m), after);
		message(out, text, m->from == MOR_FROM_HOST);
	}
}

/* What notifications add to a call, drawn once per dialect: pieces, then its end. */
static void draw_notes(const struct mor_dialect *d, const struct mor_method *m, bool again, struct mor_buf *out)
{
	bool first = m->settle == MOR_BY_FIRST;

	if (again) {
		lane(out, "and so on, as above");
		return;
	}
	draw_named(d, MOR_FROM_PLUGIN, MOR_ROLE_PIECE, "", "  any number of them", out);
	if (first)
		draw_answer(m, "", out);
	draw_named(d, MOR_FROM_PLUGIN, MOR_ROLE_DONE, first ? "or " : "", "  ends it", out);
	draw_named(d, MOR_FROM_PLUGIN, MOR_ROLE_FAIL, "or ", "  ends it: failed", out);
}

static void draw_end(const struct mor_dialect *d, const struct mor_method *m, bool again, struct mor_buf *out)
{
	char remark[48] = "", limit[32];

	if (m->settle == MOR_BY_WRITE)
		return;
	if (m->settle == MOR_BY_REPLY)
		draw_answer(m, "", out);
	if (m->settle == MOR_BY_NOTE) {
		if (mor_timing_of(m)->ack_ms)
			snprintf(remark, sizeof(remark), "  within %s",
				 mor_format_ms(mor_timing_of(m)->ack_ms, limit));
		draw_answer(m, remark, out);
	}
	if (m->settle != MOR_BY_REPLY)
		draw_notes(d, m, again, out);
}

static void draw_begin(const struct mor_dialect *d, const struct mor_method *m, const char *remark,
		       struct mor_buf *out)
{
	char limit[32], label[80], text[LANE];

	snprintf(text, sizeof(text), "%.40s%s%s%s%s", mor_explain_label(d, m, label), remark ? "  " : "",
		 remark ? remark : "", mor_timing_of(m)->timeout_ms ? "  within " : "",
		 mor_timing_of(m)->timeout_ms ? mor_format_ms(mor_timing_of(m)->timeout_ms, limit) : "");
	message(out, text, m->from == MOR_FROM_HOST);
}

/* All rows of a role on one side; returns their number. */
static unsigned draw_role(const struct mor_dialect *d, enum mor_side from, enum mor_role role,
			  const char *remark, bool again, struct mor_buf *out)
{
	const struct mor_method *m = NULL;
	unsigned count = 0;

	while ((m = mor_dialect_role(d, from, role, m))) {
		if (!mor_explain_in_force(d, m))
			continue;
		draw_begin(d, m, remark, out);
		draw_end(d, m, again || (count && m->settle != MOR_BY_REPLY), out);
		count++;
	}
	return count;
}

/* ---- the phases ---- */

bool mor_explain_sends_config(const struct mor_dialect *d)
{
	const struct mor_method *m = mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_INIT, NULL);

	return m && (!m->template || strstr(m->template, "${config}"));
}

static void greeting(const struct mor_dialect *d, struct mor_buf *out)
{
	lane(out, "starts the process");
	draw_role(d, MOR_FROM_PLUGIN, MOR_ROLE_HELLO, NULL, false, out);
	draw_role(d, MOR_FROM_HOST, MOR_ROLE_HELLO, NULL, false, out);
	draw_role(d, MOR_FROM_HOST, MOR_ROLE_INIT, mor_explain_sends_config(d) ? "configuration" : NULL, false,
		  out);
	if (d->health && d->health->first)
		draw_role(d, MOR_FROM_HOST, MOR_ROLE_PING, "before the first call", false, out);
}

static const char *keep_pointer(const struct mor_dialect *d)
{
	for (const struct mor_method *m = d->methods; m->name; m++)
		if (mor_outcome_of(m)->keep)
			return mor_outcome_of(m)->keep;
	return NULL;
}

static void conversation(const struct mor_dialect *d, struct mor_buf *out)
{
	char text[LANE];

	if (!mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_INPUT, NULL))
		return;
	if (keep_pointer(d)) {
		snprintf(text, sizeof(text), "while %s is true:", keep_pointer(d));
		lane(out, text);
	}
	draw_role(d, MOR_FROM_HOST, MOR_ROLE_INPUT, NULL, true, out);
}

/* How often the plugin is asked for its health; 0: never, or only on special occasions. */
static uint32_t asked_ms(const struct mor_dialect *d)
{
	return d->watchdog ? d->watchdog->every_ms : d->health ? d->health->every_ms : 0;
}

static void at_any_time(const struct mor_dialect *d, struct mor_buf *out)
{
	static const enum mor_role roles[] = { MOR_ROLE_LOG, MOR_ROLE_NOTE, MOR_ROLE_CANCEL };
	char text[LANE], every[32];
	bool any = false;

	if (asked_ms(d) && mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_PING, NULL)) {
		snprintf(text, sizeof(text), "every %s%s:", mor_format_ms(asked_ms(d), every),
			 d->watchdog && d->watchdog->beside_calls ? "" : " while idle");
		lane(out, text);
		draw_role(d, MOR_FROM_HOST, MOR_ROLE_PING, NULL, false, out);
	}
	for (size_t i = 0; i < 2 * sizeof(roles) / sizeof(*roles); i++) {
		enum mor_side from = i % 2 ? MOR_FROM_PLUGIN : MOR_FROM_HOST;
		const struct mor_method *m = mor_dialect_role(d, from, roles[i / 2], NULL);

		if (!m || strcmp(m->name, "*") == 0)
			continue;
		if (!any)
			lane(out, "at any time:");
		any = true;
		draw_named(d, from, roles[i / 2], "", "", out);
	}
}

static void stop(const struct mor_dialect *d, struct mor_buf *out)
{
	char text[LANE + 24], a[32];

	lane(out, "stop");
	draw_role(d, MOR_FROM_HOST, MOR_ROLE_BYE, NULL, false, out);
	lane(out, "closes stdin");
	snprintf(text, sizeof(text), "SIGTERM %s after the stop began", mor_format_ms(d->life.stop.term_ms, a));
	lane(out, text);
	snprintf(text, sizeof(text), "SIGKILL %s after that", mor_format_ms(d->life.stop.kill_ms, a));
	lane(out, text);
}

/* ---- the three shapes ---- */

static void begin_drawing(const char *title, struct mor_buf *out)
{
	mor_explain_heading(out, title);
	mor_buf_printf(out, "  host%*splugin\n", LANE - 4, "");
}

static void draw_session(const struct mor_dialect *d, struct mor_buf *out)
{
	begin_drawing("A session", out);
	greeting(d, out);
	draw_role(d, MOR_FROM_HOST, MOR_ROLE_CALL, NULL, false, out);
	conversation(d, out);
	/* If the plugin asks for work, this is drawn with the message that ends the work. */
	draw_role(d, MOR_FROM_PLUGIN, MOR_ROLE_TAKE, NULL, false, out);
	draw_role(d, MOR_FROM_PLUGIN, MOR_ROLE_SERVE, NULL, false, out);
	draw_named(d, MOR_FROM_PLUGIN, MOR_ROLE_FINISH, "", "", out);
	at_any_time(d, out);
	stop(d, out);
}

/* The first row stands for all: a process gets only one of them. */
static void draw_one(const struct mor_dialect *d, bool exit_awaited, struct mor_buf *out)
{
	const struct mor_method *m = mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_CALL, NULL), *other = m;
	char text[LANE];

	begin_drawing("A call, in its own process", out);
	greeting(d, out);
	draw_begin(d, m, NULL, out);
	while ((other = mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_CALL, other))) {
		snprintf(text, sizeof(text), "(or %s)", mor_explain_name(d, other));
		lane(out, text);
	}
	if (exit_awaited)
		lane(out, "closes stdin");
	draw_end(d, m, false, out);
	if (!exit_awaited) {
		stop(d, out);
		return;
	}
	lane(out, "the plugin exits: with status 0 the answer counts");
}

void mor_explain_session(const struct mor_dialect *dialect, struct mor_buf *out)
{
	if (dialect->life.shape == MOR_SHAPE_SESSION ||
	    !mor_dialect_role(dialect, MOR_FROM_HOST, MOR_ROLE_CALL, NULL))
		draw_session(dialect, out);
	else
		draw_one(dialect, dialect->life.shape == MOR_SHAPE_ONE_CALL, out);
}
