/* `mortise explain DIALECT`: one page to read, at most 100 columns wide, all of it from the table. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "dialect/internal.h"

#define COLUMNS 100

/* ---- words ---- */

static void pad(struct mor_buf *out, unsigned count)
{
	mor_buf_printf(out, "%*s", (int)count, "");
}

void mor_explain_wrap(struct mor_buf *out, unsigned at, unsigned indent, const char *text)
{
	unsigned column = at;
	bool fresh = true;

	if (at < indent) {
		pad(out, indent - at);
		column = indent;
	}
	while (*text) {
		size_t len = strcspn(text, " ");

		if (!fresh && column + 1 + len > COLUMNS) {
			mor_buf_byte(out, '\n');
			pad(out, indent);
			column = indent;
			fresh = true;
		}
		if (!fresh) {
			mor_buf_byte(out, ' ');
			column++;
		}
		mor_buf_append(out, text, len);
		column += (unsigned)len;
		fresh = false;
		text += len;
		text += strspn(text, " ");
	}
	mor_buf_byte(out, '\n');
}

static void heading(struct mor_buf *out, const char *title)
{
	mor_buf_printf(out, "\n%s\n", title);
	for (size_t i = 0; i < strlen(title); i++)
		mor_buf_byte(out, '-');
	mor_buf_byte(out, '\n');
}

/* "Label     text", wrapped behind the label. */
static void line(struct mor_buf *out, const char *label, const char *text)
{
	if (!text)
		return;
	if (18 + strcspn(text, " ") > COLUMNS) { /* a long address has the next line for itself */
		mor_buf_printf(out, "  %s\n", label);
		mor_explain_wrap(out, 0, 4, text);
		return;
	}
	mor_buf_printf(out, "  %-16s", label);
	mor_explain_wrap(out, 18, 18, text);
}

static const char *bytes(size_t count, char out[32])
{
	return count ? mor_format_bytes(count, out) : "no limit";
}

/* ---- the parts ---- */

static const char *framing_text(enum mor_framing framing)
{
	static const char *const texts[] = {
		[MOR_FRAMING_LINES] = "lines: one JSON text per line, UTF-8",
		[MOR_FRAMING_DECIMAL] = "decimal: length in digits, newline, body",
		[MOR_FRAMING_BE32] = "be32: length in 4 bytes, big-endian, body",
		[MOR_FRAMING_HEADERS] = "headers: Content-Length, blank line, body",
	};

	return texts[framing];
}

static void basics(const struct mor_dialect *d, struct mor_buf *out)
{
	static const char *const shapes[] = {
		[MOR_SHAPE_SESSION] = "one, many calls",
		[MOR_SHAPE_ONE_CALL] = "one per call: its stdin is closed after the request, its exit awaited",
		[MOR_SHAPE_ONE_RUN] = "one per call: greeting, one call, stop",
	};
	static const char *const environments[] = {
		[MOR_ENV_INHERIT] = "the host's",
		[MOR_ENV_CLEAN] = "a minimal one",
		[MOR_ENV_BARE] = "PATH and NO_COLOR, and what the command adds",
	};
	char flight[48] = "any number of calls", a[32], b[32], text[120];

	if (d->max_in_flight)
		snprintf(flight, sizeof(flight), "%u call%s", d->max_in_flight, d->max_in_flight == 1 ? "" : "s");
	line(out, "Specification", d->spec_url);
	line(out, "Manifest", d->manifest ? d->manifest : "none: mortise.toml, or the command line");
	line(out, "Framing", framing_text(d->framing));
	for (int i = 0; i < MOR_FRAMINGS; i++)
		if (d->reads & 1u << i)
			line(out, "Also read", framing_text((enum mor_framing)i));
	line(out, "Process", shapes[d->shape]);
	line(out, "In flight", flight);
	snprintf(text, sizeof(text), "%s from the plugin, %s to it; %s may wait to be written",
		 bytes(d->frame_limit, a), d->send_limit ? bytes(d->send_limit, b) : "the same",
		 bytes(d->queue_limit, flight));
	line(out, "Message limit", text);
	line(out, "Environment", environments[d->env]);
	line(out, "Sandbox", d->confine == MOR_CONFINED ? "confined to the permissions in its manifest" : "guarded; --confine confines it");
}

/* ---- the session, drawn ---- */

#define LANE 60 /* between the two life lines */

static void lane(struct mor_buf *out, const char *text)
{
	mor_buf_printf(out, "   |  %-*.*s|\n", LANE - 2, LANE - 2, text);
}

static void arrow(struct mor_buf *out, bool to_plugin)
{
	char dashes[LANE + 1];

	memset(dashes, '-', LANE);
	dashes[LANE] = '\0';
	dashes[to_plugin ? LANE - 1 : 0] = to_plugin ? '>' : '<';
	mor_buf_printf(out, "   |%s|\n", dashes);
}

/* The members an answer may have, as many as fit the lane: a reminder, not the list (that is below). */
static void draw_answer(const struct mor_method *m, struct mor_buf *out)
{
	char names[LANE] = "";
	size_t used = 0;

	for (const struct mor_field *f = m->result; f && f->name && used + strlen(f->name) + 4 < sizeof(names); f++)
		if (strcmp(f->name, "*") != 0)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", f->name);
	lane(out, used ? names : "result");
	arrow(out, m->from == MOR_FROM_PLUGIN);
}

/* One message, and its answer where one comes. Messages of the plugin are drawn the other way. */
static void draw(const struct mor_dialect *d, const struct mor_method *m, const char *remark, struct mor_buf *out)
{
	char limit[32], text[LANE];
	bool to_plugin = m->from == MOR_FROM_HOST;

	snprintf(text, sizeof(text), "%s%s%s%s%s", mor_explain_name(d, m),
		 remark ? "  " : "", remark ? remark : "", m->timeout_ms ? "  within " : "",
		 m->timeout_ms ? mor_format_ms(m->timeout_ms, limit) : "");
	lane(out, text);
	arrow(out, to_plugin);
	if (m->settle != MOR_BY_WRITE)
		draw_answer(m, out);
}

static void draw_role(const struct mor_dialect *d, enum mor_role role, const char *remark, struct mor_buf *out)
{
	const struct mor_method *m = NULL;

	while ((m = mor_dialect_role(d, role, m)))
		draw(d, m, remark, out);
}

/* In the order of a real session, whatever the order of the table. */
static void session(const struct mor_dialect *d, struct mor_buf *out)
{
	char text[LANE + 24], a[32];

	heading(out, "A session");
	mor_buf_printf(out, "  host%*splugin\n", LANE - 4, "");
	lane(out, "starts the process");
	draw_role(d, MOR_ROLE_HELLO, NULL, out);
	draw_role(d, MOR_ROLE_INIT, "configuration", out);
	if (d->health.flags & MOR_HEALTH_FIRST)
		draw_role(d, MOR_ROLE_PING, "before the first call", out);
	draw_role(d, MOR_ROLE_CALL, NULL, out);
	if (d->wire & MOR_WIRE_PLUGIN_GREETS) {
		draw_role(d, MOR_ROLE_SERVE, NULL, out);
		draw_role(d, MOR_ROLE_LOG, NULL, out);
		draw_role(d, MOR_ROLE_DONE, NULL, out);
	}
	lane(out, "stop");
	draw_role(d, MOR_ROLE_BYE, NULL, out);
	lane(out, "closes stdin");
	snprintf(text, sizeof(text), "SIGTERM %s after the stop began", mor_format_ms(d->stop.term_ms, a));
	lane(out, text);
	snprintf(text, sizeof(text), "SIGKILL %s after that", mor_format_ms(d->stop.kill_ms, a));
	lane(out, text);
}

/* ---- time, health, restart ---- */

/* What happens after a time-out; all calls of a dialect share it, so the first one speaks for them. */
static void lateness(const struct mor_dialect *d, struct mor_buf *out)
{
	const struct mor_method *m = mor_dialect_role(d, MOR_ROLE_CALL, NULL);
	char limit[32];

	if (!m || m->late != MOR_LATE_DROP)
		return;
	mor_buf_printf(out, "\n  A plugin that let a call time out has %s to answer late (that answer is dropped).\n"
		       "  After that it counts as wedged: it is stopped and started again.\n",
		       m->late_ms ? mor_format_ms(m->late_ms, limit) : "as long again");
}

static void time_limits(const struct mor_dialect *d, struct mor_buf *out)
{
	char limit[32];

	heading(out, "Time limits");
	for (const struct mor_method *m = d->methods; m->name; m++)
		if (m->from == MOR_FROM_HOST || m->role == MOR_ROLE_HELLO)
			mor_buf_printf(out, "  %-24s%s%s\n", mor_explain_name(d, m),
				       m->timeout_ms ? mor_format_ms(m->timeout_ms, limit) : "none",
				       m->from == MOR_FROM_HOST ? "" : " from the start of the process");
	lateness(d, out);
}

/* The parts that apply, joined by commas; the first may be missing, so a leading comma is cut. */
static void health_times(const struct mor_health *h, struct mor_buf *out)
{
	char text[200], every[32];

	snprintf(text, sizeof(text), "%s%s%s%s%s", h->flags & MOR_HEALTH_FIRST ? "before the first call" : "",
		 h->flags & MOR_HEALTH_LATE ? ", after a time-out" : "",
		 h->flags & (MOR_HEALTH_IDLE | MOR_HEALTH_BUSY) ? ", every " : "",
		 h->flags & (MOR_HEALTH_IDLE | MOR_HEALTH_BUSY) ? mor_format_ms(h->every_ms, every) : "",
		 h->flags & MOR_HEALTH_BUSY ? "" : h->flags & MOR_HEALTH_IDLE ? " while idle" : "");
	line(out, "Asked", text[0] == ',' ? text + 2 : text);
}

static void health(const struct mor_dialect *d, struct mor_buf *out)
{
	const struct mor_method *ping = mor_dialect_role(d, MOR_ROLE_PING, NULL);
	const struct mor_health *h = &d->health;
	char text[160];

	if (!ping)
		return;
	heading(out, "Health");
	line(out, "Method", ping->name);
	health_times(h, out);
	snprintf(text, sizeof(text), "%s: %s", h->at ? h->at : "any answer", h->good ? h->good : "");
	line(out, "Good", text);
	snprintf(text, sizeof(text), "%s, and any value not listed here: a warning", h->fair ? h->fair : "none");
	line(out, "Fair", text);
	snprintf(text, sizeof(text), "%s, silence, a crash: %s", h->bad ? h->bad : "none",
		 h->flags & MOR_HEALTH_KILL ? "the plugin is killed" : "the plugin is marked unhealthy");
	line(out, "Bad", text);
}

static void restart(const struct mor_dialect *d, struct mor_buf *out)
{
	char a[32], b[32], text[200];

	heading(out, "Stop and restart");
	if (mor_dialect_role(d, MOR_ROLE_BYE, NULL)) {
		snprintf(text, sizeof(text), "%s, its answer (%s); then stdin is closed",
			 mor_dialect_role(d, MOR_ROLE_BYE, NULL)->name, mor_format_ms(d->stop.bye_ms, a));
		line(out, "First", text);
	} else {
		line(out, "First", "stdin is closed");
	}
	snprintf(text, sizeof(text), "SIGTERM %s after the stop began, SIGKILL %s after that",
		 mor_format_ms(d->stop.term_ms, a), mor_format_ms(d->stop.kill_ms, b));
	line(out, "Then", text);
	if (d->stop.hold)
		line(out, "Held", "so long in every stop, also after a fault of the plugin and after the host's own death; only "
				  "a second Ctrl-C is faster");
	if (d->restart.clean) {
		snprintf(text, sizeof(text), "with nothing under way: started again at once; the %uth in a row without work is the last", d->restart.clean);
		line(out, "After exit 0", text);
	}
	if (d->shape != MOR_SHAPE_SESSION) {
		line(out, "After a crash", "nothing: every call has a process of its own");
		return;
	}
	snprintf(text, sizeof(text), "after %s, doubling up to %s", mor_format_ms(d->restart.first_ms, a),
		 mor_format_ms(d->restart.cap_ms, b));
	line(out, "After a crash", text);
	snprintf(text, sizeof(text), "more than %u crashes in %s: it stays down", d->restart.intensity,
		 mor_format_ms(d->restart.period_ms, a));
	line(out, "Given up", text);
}

static void codes(const struct mor_dialect *d, struct mor_buf *out)
{
	if (!d->codes)
		return;
	heading(out, "Error codes");
	for (const struct mor_code *c = d->codes; c->name; c++) {
		mor_buf_printf(out, "  %6lld  %-20s  ", (long long)c->code, c->name);
		mor_explain_wrap(out, 32, 32, c->doc);
	}
	if (d->recoverable)
		mor_buf_printf(out, "\n  %s in an error's data: true means that trying again may help.\n", d->recoverable);
}

/* The keys are those of manifest/keys.c, which this room may not include. */
static void configuration(const struct mor_dialect *d, struct mor_buf *out)
{
	heading(out, "Configuration (mortise.toml, ~/.config/mortise/plugins/NAME.toml, --set section.key=value)");
	line(out, "[plugin]", "name, dialect, command, args, cwd, framing, version, description");
	line(out, "[env]", "NAME = \"value\": variables for the plugin");
	line(out, "[timeouts]", "METHOD = \"300s\", \"*\" for every call; --timeout METHOD=300s for one run");
	line(out, "[restart]", "enabled, first, cap, intensity, period, clean");
	line(out, "[stop]", "bye, term, kill");
	line(out, "[health]", "every");
	line(out, "[limits]", "in_flight, frame, send, queue, depth");
	if (mor_dialect_role(d, MOR_ROLE_INIT, NULL))
		line(out, "[config]", "what initialisation sends, again after each restart; --config for one run");
	if (!d->quirks)
		return;
	line(out, "[quirks]", "how this plugin differs:");
	for (const struct mor_quirk *q = d->quirks; q->name; q++) {
		mor_buf_printf(out, "    %s = %s (default %s)\n", q->name, q->one_of ? q->one_of : "...", q->def ? q->def : "none");
		mor_explain_wrap(out, 0, 6, q->doc);
	}
}

int mor_dialect_explain(const struct mor_dialect *dialect, struct mor_buf *out)
{
	size_t len = strlen(dialect->name) + 2 + strlen(dialect->title);

	mor_buf_printf(out, "%s: %s\n", dialect->name, dialect->title);
	for (size_t i = 0; i < len; i++)
		mor_buf_byte(out, '=');
	mor_buf_byte(out, '\n');
	mor_explain_wrap(out, 0, 0, dialect->doc);
	mor_buf_byte(out, '\n');
	basics(dialect, out);
	session(dialect, out);
	heading(out, "Methods");
	mor_explain_methods(dialect, out);
	time_limits(dialect, out);
	health(dialect, out);
	restart(dialect, out);
	codes(dialect, out);
	configuration(dialect, out);
	if (dialect->example) {
		heading(out, "Example");
		mor_buf_printf(out, "  %s\n", dialect->example);
	}
	return out->status;
}
