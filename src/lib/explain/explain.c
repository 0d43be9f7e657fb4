/* SPDX-License-Identifier: Apache-2.0 */
/* `mortise explain DIALECT`: one page for people, at most 100 columns wide, made from the table. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "explain/inside.h"

#define COLUMNS 100

/* ---- words ---- */

static void pad_line(struct mor_buf *out, unsigned count)
{
	mor_buf_printf(out, "%*s", (int)count, "");
}

void mor_explain_wrap(struct mor_buf *out, unsigned at, unsigned indent, const char *text)
{
	unsigned column = at;
	bool fresh = true;

	if (at < indent) {
		pad_line(out, indent - at);
		column = indent;
	}
	while (*text) {
		size_t len = strcspn(text, " ");

		if (!fresh && column + 1 + len > COLUMNS) {
			mor_buf_byte(out, '\n');
			pad_line(out, indent);
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

void mor_explain_heading(struct mor_buf *out, const char *title)
{
	mor_buf_printf(out, "\n%s\n", title);
	for (size_t i = 0; i < strlen(title); i++)
		mor_buf_byte(out, '-');
	mor_buf_byte(out, '\n');
}

/* "Label     text", wrapped after the label. */
static void line(struct mor_buf *out, const char *label, const char *text)
{
	if (!text)
		return;
	if (18 + strcspn(text, " ") > COLUMNS) { /* a long address gets the next line alone */
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

/* What embedders call otherwise than people who use the command. */
struct explain_words {
	const char *confine, *strict, *configuration, *timeouts, *sandbox, *config;
	bool example; /* each is a line for a shell */
};
#define FILES "mortise.toml, ~/.config/mortise/plugins/NAME.toml, "
static const struct explain_words settings = {
	.confine = "guarded; sandbox.level=auto confines it",
	.strict = "MORTISE_STRICT accepts nothing that the specification forbids",
	.configuration = "Configuration (" FILES "mortise_plugin_options.set)",
	.timeouts = "METHOD = \"300s\", \"*\" for every call",
	.sandbox = "what it may do when it is confined: docs/guide/sandbox.md",
	.config = "sent when the plugin is initialised, again after each restart",
};
static const struct explain_words options = {
	.confine = "guarded; --confine confines it",
	.strict = "--strict accepts nothing that the specification forbids",
	.configuration = "Configuration (" FILES "--set section.key=value)",
	.timeouts = "METHOD = \"300s\", \"*\" for every call; --timeout METHOD=300s for one run",
	.sandbox = "what it may do when it is confined: 'mortise jail --help', docs/guide/sandbox.md",
	.config = "sent when the plugin is initialised, again after each restart; --config for one run",
	.example = true,
};

static void basics(const struct mor_dialect *d, const struct explain_words *words, struct mor_buf *out)
{
	static const char *const shapes[] = {
		[MOR_SHAPE_SESSION] = "one, many calls",
		[MOR_SHAPE_ONE_CALL] = "one per call: its stdin is closed after the request, its exit awaited",
		[MOR_SHAPE_ONE_RUN] = "one per call: greeting, one call, stop",
	};
	static const char *const environments[] = {
		[MOR_ENVIRON_INHERIT] = "the host's",
		[MOR_ENVIRON_CLEAN] = "a minimal one",
		[MOR_ENVIRON_BARE] = "PATH and NO_COLOR, and what the command adds",
	};
	char flight[48] = "any number of calls", a[32], b[32], text[120];

	if (d->life.max_in_flight)
		snprintf(flight, sizeof(flight), "%u call%s", d->life.max_in_flight,
			 d->life.max_in_flight == 1 ? "" : "s");
	line(out, "Specification", d->spec_url);
	line(out, "Manifest", d->manifest ? d->manifest : "none: mortise.toml, or the command line");
	if (d->link.grpc)
		line(out, "Transport", "gRPC over a unix socket, not a pipe");
	else
		line(out, "Framing", framing_text(d->link.framing));
	for (int i = 0; i < MOR_FRAMINGS; i++)
		if (d->link.reads & 1u << i)
			line(out, "Also read", framing_text((enum mor_framing)i));
	line(out, "Process", shapes[d->life.shape]);
	line(out, "In flight", flight);
	snprintf(text, sizeof(text), "%s from the plugin, %s to it; %s may wait to be written",
		 bytes(d->link.frame_limit, a), d->link.send_limit ? bytes(d->link.send_limit, b) : "the same",
		 bytes(d->link.queue_limit, flight));
	line(out, "Message limit", text);
	line(out, "Environment", environments[d->life.env]);
	line(out, "Sandbox",
	     d->life.confine == MOR_CONFINED ? "confined to the permissions in its manifest" : words->confine);
	line(out, "Strict", words->strict);
}

bool mor_explain_in_force(const struct mor_dialect *dialect, const struct mor_method *method)
{
	size_t len = method->when ? strcspn(method->when, "=") : 0;

	for (const struct mor_quirk *q = dialect->quirks; len && q && q->name; q++)
		if (strlen(q->name) == len && memcmp(q->name, method->when, len) == 0)
			return q->def && strcmp(q->def, method->when + len + 1) == 0;
	return !method->when;
}

/* ---- the wire ---- */

static const struct mor_bit_name wire_rules[] = {
	{ MOR_WIRE_JSONRPC_OPTIONAL,
	  "A message without \"jsonrpc\" is taken with a warning; strict refuses it." },
	{ MOR_WIRE_ERROR_NULL_OK, "\"error\": null beside a result is no error; strict refuses it." },
	{ MOR_WIRE_NULL_ID_FAILS_ONLY_CALL, "An error with id null fails the only call in flight." },
	{ MOR_WIRE_NAN_OK, "NaN and Infinity are taken as numbers." },
	{ MOR_WIRE_ANY_REPLY_ID, "With one call in flight any response is its answer, whatever its id." },
	{ MOR_WIRE_ANY_REF,
	  "A notification that names no call, or an unknown one, is about the running call." },
	{ 0, NULL },
};

static void wire(const struct mor_dialect *d, struct mor_buf *out)
{
	const struct mor_method *bye = mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_BYE, NULL);

	mor_explain_heading(out, "On the wire");
	mor_explain_wrap(
		out, 0, 2,
		"Ids of the host are integers from 1, below 2^31. Batches of the plugin are understood; the "
		"host sends none.");
	for (const struct mor_bit_name *rule = wire_rules; rule->name; rule++)
		if (d->wire & rule->bit)
			mor_explain_wrap(out, 0, 2, rule->name);
	if (bye && bye->settle != MOR_BY_WRITE)
		mor_explain_wrap(out, 0, 2,
				 "The end of its output, or its exit, answers the message that asks it to "
				 "stop.");
	if (d->serve)
		mor_explain_wrap(out, 0, 2,
				 "The plugin greets: it is ready once its own first request was answered.");
	if (d->serve && d->serve->answer_faults)
		mor_explain_wrap(out, 0, 2,
				 "A message that is not JSON-RPC is answered with -32700 or -32600, id null.");
	mor_explain_wrap(out, 0, 2,
			 d->serve && d->serve->noise_is_breach ?
				 "Bytes on its stdout that are not a message end the session." :
				 "Bytes on its stdout that are not a message are skipped and reported as "
				 "noise.");
}

/* ---- time, health, restart ---- */

/* What happens after a time-out if the slot stays taken. All such calls of a dialect share it. */
static void lateness(const struct mor_dialect *d, struct mor_buf *out)
{
	const struct mor_method *m = mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_CALL, NULL);
	const struct mor_timing *timing = m ? mor_timing_of(m) : &mor_timing_none;
	char limit[32];

	if (timing->late != MOR_LATE_DROP || !timing->timeout_ms)
		return;
	mor_buf_printf(out,
		       "\n  A plugin that let a call time out has %s to answer late (that answer is dropped).\n"
		       "  After that it counts as wedged: it is stopped and started again.\n",
		       timing->late_ms ? mor_format_ms(timing->late_ms, limit) : "as long again");
}

/* Special things about a limit: its clock, a total, an acknowledgement, its end, the quirk that adds it. */
static void limit_remarks(const struct mor_dialect *d, const struct mor_method *m, struct mor_buf *text)
{
	static const char *const clocks[] = {
		[MOR_FROM_WRITE] = "",
		[MOR_FROM_SIGN] =
			"since the plugin's last message, not counting pongs (strict: since the request), ",
		[MOR_FROM_PIECE] = "since its last piece, ",
	};
	static const char *const lates[] = {
		[MOR_LATE_DROP] = "",
		[MOR_LATE_CANCEL] = "then it is cancelled on the wire, ",
		[MOR_LATE_KILL] = "then the plugin is killed, ",
		[MOR_LATE_FORGET] = "then it is given up and its slot is free, ",
	};
	const struct mor_timing *timing = mor_timing_of(m);
	char limit[32];

	mor_buf_text(text,
		     m->from == MOR_FROM_PLUGIN ? "since the start of the process, " : clocks[timing->clock]);
	if (timing->max_ms)
		mor_buf_printf(text, "at most %s in all, ", mor_format_ms(timing->max_ms, limit));
	if (timing->ack_ms)
		mor_buf_printf(text, "acknowledged within %s, ", mor_format_ms(timing->ack_ms, limit));
	if (m->role == MOR_ROLE_PING && d->watchdog)
		mor_buf_printf(text, "%u unanswered in a row: the plugin is killed, ", d->watchdog->misses);
	else if (timing->timeout_ms)
		mor_buf_text(text, lates[timing->late]);
	if (!mor_explain_in_force(d, m))
		mor_buf_printf(text, "with %s, ", m->when);
	if (text->len)
		text->len -= 2;
	mor_buf_byte(text, '\0');
}

static void one_limit(const struct mor_dialect *d, const struct mor_method *m, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	uint32_t ms = mor_timing_of(m)->timeout_ms;
	char limit[32], label[80];

	limit_remarks(d, m, &text);
	mor_buf_printf(out, "  %-23s ", mor_explain_label(d, m, label));
	if (text.len > 1) {
		mor_buf_printf(out, "%-9s ", ms ? mor_format_ms(ms, limit) : "none");
		mor_explain_wrap(out, 36, 36, text.data);
	} else {
		mor_buf_printf(out, "%s\n", ms ? mor_format_ms(ms, limit) : "none");
	}
	mor_explain_pass_on(&text, out);
}

static void time_limits(const struct mor_dialect *d, struct mor_buf *out)
{
	char limit[32];

	mor_explain_heading(out, "Time limits");
	for (const struct mor_method *m = d->methods; m->name; m++)
		if (m->from == MOR_FROM_HOST || mor_timing_of(m)->timeout_ms)
			one_limit(d, m, out);
	if (d->conversation && d->conversation->total_ms) {
		mor_buf_printf(out, "  %-24s%-9s ", "a session in all",
			       mor_format_ms(d->conversation->total_ms, limit));
		mor_explain_wrap(
			out, 36, 36,
			"since the answer that opened it; announced 30 s before its end, then the plugin is "
			"killed");
	}
	lateness(d, out);
}

/* The parts that apply, joined by commas. */
static void asked_when(const struct mor_health *h, struct mor_buf *out)
{
	char text[200], every[32];
	size_t used = 0;

	if (h->first)
		used += (size_t)snprintf(text, sizeof(text), "before the first call, ");
	if (h->after_timeout)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "after a time-out, ");
	if (h->every_ms)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "every %s while idle, ",
					 mor_format_ms(h->every_ms, every));
	text[used - 2] = '\0';
	line(out, "Asked", text);
}

/* Decided by the word in the answer, or by the answer alone. */
static void verdicts(const struct mor_health *h, struct mor_buf *out)
{
	char text[160];

	if (!h->at) {
		line(out, "Good", "any answer");
		line(out, "Bad", "silence, a crash: the plugin is marked unhealthy");
		return;
	}
	snprintf(text, sizeof(text), "%s: %s", h->at, h->good ? h->good : "");
	line(out, "Good", text);
	snprintf(text, sizeof(text), "%s, and any value not listed here: a warning",
		 h->fair ? h->fair : "none");
	line(out, "Fair", text);
	snprintf(text, sizeof(text), "%s%ssilence, a crash: the plugin is marked unhealthy",
		 h->bad ? h->bad : "", h->bad ? ", " : "");
	line(out, "Bad", text);
}

static void show_watchdog(const struct mor_watchdog *w, struct mor_buf *out)
{
	char text[160], every[32];

	snprintf(text, sizeof(text), "every %s%s", mor_format_ms(w->every_ms, every),
		 w->beside_calls ? ", also while it works" : " while idle");
	line(out, "Asked", text);
	line(out, "Good", "any answer");
	snprintf(text, sizeof(text), "%u unanswered in a row, a crash: the plugin is killed", w->misses);
	line(out, "Bad", text);
	if (w->learn)
		line(out, "While it works",
		     "an unanswered one counts only once it has answered one during a call: some plugins "
		     "cannot; any message of it is a sign of life");
}

static void explain_health(const struct mor_dialect *d, struct mor_buf *out)
{
	const struct mor_method *ping = mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_PING, NULL);

	if (!ping || (!d->health && !d->watchdog))
		return;
	mor_explain_heading(out, "Health");
	line(out, "Method", ping->name);
	if (d->health) {
		asked_when(d->health, out);
		verdicts(d->health, out);
	}
	if (d->watchdog)
		show_watchdog(d->watchdog, out);
}

static void restart(const struct mor_dialect *d, struct mor_buf *out)
{
	const struct mor_method *bye = mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_BYE, NULL);
	char a[32], b[32], text[200];

	mor_explain_heading(out, "Stop and restart");
	if (bye && bye->settle == MOR_BY_WRITE) {
		snprintf(text, sizeof(text), "%s; then stdin is closed", bye->name);
		line(out, "First", text);
	} else if (bye) {
		snprintf(text, sizeof(text), "%s, its answer (%s); then stdin is closed", bye->name,
			 mor_format_ms(d->life.stop.bye_ms, a));
		line(out, "First", text);
	} else {
		line(out, "First", "stdin is closed");
	}
	snprintf(text, sizeof(text), "SIGTERM %s after the stop began, SIGKILL %s after that",
		 mor_format_ms(d->life.stop.term_ms, a), mor_format_ms(d->life.stop.kill_ms, b));
	line(out, "Then", text);
	if (d->life.stop.hold)
		line(out, "Held",
		     "these times hold in every stop, also after a fault of the plugin and after the host's "
		     "own death; only a second Ctrl-C is faster");
	if (d->life.restart.clean) {
		snprintf(text, sizeof(text),
			 "with nothing under way: started again at once; the %uth in a row without work is the "
			 "last",
			 d->life.restart.clean);
		line(out, "After exit 0", text);
	}
	if (d->life.shape != MOR_SHAPE_SESSION) {
		line(out, "After a crash", "nothing: every call has its own process");
		return;
	}
	snprintf(text, sizeof(text), "after %s, doubling up to %s", mor_format_ms(d->life.restart.first_ms, a),
		 mor_format_ms(d->life.restart.cap_ms, b));
	line(out, "After a crash", text);
	snprintf(text, sizeof(text), "more than %u crashes in %s: it stays down", d->life.restart.intensity,
		 mor_format_ms(d->life.restart.period_ms, a));
	line(out, "Given up", text);
}

static void show_codes(const struct mor_dialect *d, struct mor_buf *out)
{
	if (!d->codes)
		return;
	mor_explain_heading(out, "Error codes");
	for (const struct mor_code *c = d->codes; c->name; c++) {
		mor_buf_printf(out, "  %6lld  %-20s  ", (long long)c->code, c->name);
		mor_explain_wrap(out, 32, 32, c->doc);
	}
	if (d->recoverable)
		mor_buf_printf(out, "\n  %s in an error's data: true means that trying again may help.\n",
			       d->recoverable);
}

/* The keys are those of manifest/keys.c, which this room may not include. */
static void configuration(const struct mor_dialect *d, const struct explain_words *words, struct mor_buf *out)
{
	mor_explain_heading(out, words->configuration);
	line(out, "[plugin]", "name, dialect, command, args, cwd, framing, transport, version, description");
	line(out, "[env]", "NAME = \"value\": variables for the plugin");
	line(out, "[timeouts]", words->timeouts);
	line(out, "[restart]", "enabled, first, cap, intensity, period, clean");
	line(out, "[cancel]", "method, member, grace (calls that nobody waits for any longer)");
	line(out, "[stop]", "bye, term, kill");
	line(out, "[health]", "every");
	line(out, "[grpc]",
	     "start, cookie_key, cookie_value, versions, proto; with plugin.transport = \"grpc\"");
	line(out, "[limits]",
	     d->conversation ? "in_flight, frame, send, queue, depth, session" :
			       "in_flight, frame, send, queue, depth");
	line(out, "[sandbox]", words->sandbox);
	if (mor_explain_sends_config(d))
		line(out, "[config]", words->config);
	if (!d->quirks)
		return;
	line(out, "[quirks]", "how this plugin differs:");
	for (const struct mor_quirk *q = d->quirks; q->name; q++) {
		mor_buf_printf(out, "    %s = %s (default %s)\n", q->name, q->one_of ? q->one_of : "...",
			       q->def ? q->def : "none");
		mor_explain_wrap(out, 0, 6, q->doc);
	}
}

static int explain_text(const struct mor_dialect *dialect, const struct explain_words *words,
			struct mor_buf *out)
{
	size_t len = strlen(dialect->name) + 2 + strlen(dialect->title);

	mor_buf_printf(out, "%s: %s\n", dialect->name, dialect->title);
	for (size_t i = 0; i < len; i++)
		mor_buf_byte(out, '=');
	mor_buf_byte(out, '\n');
	mor_explain_wrap(out, 0, 0, dialect->doc);
	mor_buf_byte(out, '\n');
	basics(dialect, words, out);
	mor_explain_session(dialect, out);
	wire(dialect, out);
	mor_explain_heading(out, "Methods");
	mor_explain_methods(dialect, out);
	time_limits(dialect, out);
	explain_health(dialect, out);
	restart(dialect, out);
	show_codes(dialect, out);
	configuration(dialect, words, out);
	if (words->example && dialect->example) {
		mor_explain_heading(out, "Example");
		mor_buf_printf(out, "  %s\n", dialect->example);
	}
	return out->status;
}

int mor_explain_text(const struct mor_dialect *dialect, struct mor_buf *out)
{
	return explain_text(dialect, &settings, out);
}

int mor_explain_command(const struct mor_dialect *dialect, struct mor_buf *out)
{
	return explain_text(dialect, &options, out);
}
