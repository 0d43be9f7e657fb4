/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise probe: which protocol does this program speak? Each try is one confined process without network,
 * which gets one message in one framing. The first try sends nothing: an analyzer greets by itself, and a
 * program that prints a banner shows it.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "check/own.h"
#include "console/signals.h"

#define PROBE_MS  2000
#define LISTEN_MS 1000
#define ASK       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"

/* Servers of other protocols on JSON-RPC: mortise has no dialect for them, but plain drives them. */
struct other_protocol {
	const char *kind, *what;
	const char *const *next;
};
#define HELLO_MCP \
	"{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"mortise\"," \
	"\"version\":\"0\"}}"
#define HELLO_LSP "{\"processId\":null,\"rootUri\":null,\"capabilities\":{}}"

static const char *const next_mcp[] = { ("mortise call @s initialize '" HELLO_MCP "'"),
					"mortise call @s --notify notifications/initialized",
					"mortise call @s tools/list",
					"mortise call @s tools/call name=TOOL arguments:='{}'", NULL };
static const char *const next_lsp[] = { ("mortise call @s initialize '" HELLO_LSP "'"),
					"mortise call @s --notify initialized '{}'",
					"mortise call @s --notify textDocument/didOpen @open.json",
					"mortise call @s textDocument/hover @place.json", NULL };
static const struct other_protocol mcp = { "mcp", "a server of the Model Context Protocol (MCP)", next_mcp },
				   lsp = { "lsp", "a language server (LSP)", next_lsp };

/* In this order: a dialect that would also answer an unknown method comes before plain. */
static const struct probe_try {
	const char *dialect; /* whose table has the framing */
	const char *framing; /* NULL: the dialect's */
	const char *request; /* NULL: nothing is sent */
	const char *method;  /* a result of this method is the dialect's; NULL: any answer is */
	const char *needs;   /* member that the result must have */
	const struct other_protocol *other;
} tries[] = {
	{ "kythe", NULL, NULL, NULL, NULL, NULL },
	{ "yams", NULL, ASK "\"handshake.manifest\"}", "handshake.manifest", "interfaces", NULL },
	{ "ayiou", NULL, ASK "\"metadata\",\"params\":{}}", "metadata", "version", NULL },
	{ "sunscreen", NULL, ASK "\"commands\"}", "commands", "scaffold", NULL },
	{ "gassist", NULL,
	  ASK "\"initialize\",\"params\":{\"protocol_version\":\"2.0\",\"engine_version\":\"1.0.0\","
	      "\"capabilities\":[\"streaming\"]}}",
	  "initialize", "name", NULL },
	{ "plain", "lines", ASK "\"initialize\",\"params\":" HELLO_MCP "}", "initialize", "protocolVersion",
	  &mcp },
	{ "plain", "headers", ASK "\"initialize\",\"params\":" HELLO_LSP "}", "initialize", "capabilities",
	  &lsp },
	{ "plain", "lines", ASK "\"mortise.probe\"}", NULL, NULL, NULL },
	{ "plain", "headers", ASK "\"mortise.probe\"}", NULL, NULL, NULL },
	{ "plain", "be32", ASK "\"mortise.probe\"}", NULL, NULL, NULL },
	{ "plain", "decimal", ASK "\"mortise.probe\"}", NULL, NULL, NULL },
};
#define ALL_FRAMINGS ((1u << MOR_FRAMINGS) - 1)

struct probing {
	struct mor_check_run run;
	struct mor_check_options opt;
	struct mor_manifest *manifest;
	struct mor_check_found *found;
};

/* ---- one try ---- */

/* What the try waits for; a server may log something first. NULL: it has not come. */
static const struct mor_check_message *answer_to(const struct probe_try *try, const struct mor_check_session *s)
{
	for (size_t i = 0; s->message && i < s->messages; i++)
		if (!try->request || mor_check_is_response(&s->message[i]))
			return &s->message[i];
	return NULL;
}

/* Is it our own request that comes back? */
static bool is_echo(const struct probe_try *try, const struct mor_check_session *s)
{
	MOR_CLEAN(mor_doc) struct mor_doc *sent = NULL;

	return try->request && s->message && s->messages &&
	       mor_doc_parse(mor_slice_of(try->request), 0, 0, &sent, NULL) == 0 &&
	       mor_json_equal(mor_doc_root(sent), s->message[0].root);
}

/* Does it give back the params of any method? Then a member of them proves nothing. */
static bool returns_params(const struct probe_try *try, const struct mor_check_message *m)
{
	MOR_CLEAN(mor_doc) struct mor_doc *sent = NULL;
	const struct mor_value *params;

	if (!try->request || mor_doc_parse(mor_slice_of(try->request), 0, 0, &sent, NULL) < 0)
		return false;
	params = mor_json_get(mor_doc_root(sent), "params");
	return params && m->result && mor_json_equal(params, m->result);
}

static bool has_answered(struct mor_check_session *s, void *arg)
{
	return answer_to(arg, s) || is_echo(arg, s);
}

/* The last word about a try. */
static const char *judge_try(const struct probing *p, const struct probe_try *try,
			     const struct mor_check_session *s, bool yes)
{
	if (yes)
		return p->found->answers ? "yes, but its answer has another framing" : "yes";
	if (is_echo(try, s))
		return "it sends back the request itself";
	return answer_to(try, s) ? "not its answer" : "no answer";
}

static void describe_try(struct probing *p, const struct probe_try *try, struct mor_check_session *s, bool yes)
{
	const struct mor_check_message *m = answer_to(try, s);
	MOR_CLEAN(mor_buf) struct mor_buf why = MOR_BUF_INIT;
	char text[160];

	mor_buf_printf(&p->found->how, "%s in %s: ",
		       !try->request ? "listening" :
		       try->other    ? try->other->kind :
				       try->dialect,
		       mor_framing_name(p->run.framing));
	if (!m && s->messages)
		m = &s->message[0];
	if (m && mor_json_write(m->root, false, &why) == 0) {
		mor_buf_printf(&p->found->how, "%s: %s\n", judge_try(p, try, s, yes),
			       mor_printable(mor_buf_view(&why), text, sizeof(text)));
		return;
	}
	mor_check_silence(s, try->request ? p->run.answer_ms : LISTEN_MS, &why);
	if (p->run.seen[MOR_CHECK_NOISE].count)
		mor_buf_printf(&why, "; it printed %s", p->run.seen[MOR_CHECK_NOISE].text);
	mor_buf_printf(&p->found->how, "%.*s\n", (int)why.len, why.data);
}

/* Is this message what a plugin of the dialect says? */
static bool is_dialects(struct probing *p, const struct probe_try *try, const struct mor_check_message *m)
{
	const char *name;

	if (!try->request)
		return strcmp(mor_json_text(m->method, ""), "init") == 0 &&
		       mor_json_at(m->root, "/params/protocol") != NULL;
	if (!try->method)
		return m->result || m->error;
	if (!m->result || !mor_json_get(m->result, try->needs) || returns_params(try, m))
		return false;
	name = mor_json_text(mor_json_at(m->result, try->other ? "/serverInfo/name" : "/name"), "");
	mor_text_keep(p->found->name, sizeof(p->found->name), name, strlen(name));
	return true;
}

static void end_try(struct probing *p, struct mor_check_session *s)
{
	p->run.lingers = true; /* nothing is learnt from its end */
	mor_check_session_close(s);
	for (unsigned i = 0; i < MOR_CHECK_FAULTS; i++)
		mor_free(p->run.seen[i].talk);
	memset(p->run.seen, 0, sizeof(p->run.seen));
}

/* 1: found; 0: not this one; or a status. */
static int try_one(struct probing *p, const struct probe_try *try, mortise_error *err)
{
	int framing = try->framing ? mor_framing_by_name(try->framing) : -1, r;
	const struct mor_check_message *answer;
	struct mor_check_session s;

	memset(p->run.seen, 0, sizeof(p->run.seen));
	p->run.dialect = mor_dialect_find(try->dialect);
	p->run.framing = framing >= 0 ? (enum mor_framing)framing : p->run.dialect->link.framing;
	if ((r = mor_check_session_open(&p->run, &s, err)) < 0)
		return r;
	if (try->request) {
		s.deframer.reads = ALL_FRAMINGS; /* to see whether its answer has another framing */
		mor_check_send(&s, mor_slice_of(try->request));
	}
	mor_check_wait(&s, try->request ? p->run.answer_ms : LISTEN_MS, has_answered, (void *)(uintptr_t)try);
	answer = answer_to(try, &s);
	if (s.exec_failed) {
		r = mor_fail(err, MORTISE_EEXEC, "%s", s.failure);
	} else {
		mor_text_keep(p->found->level, sizeof(p->found->level), mor_proc_level(s.proc), 12);
		r = answer && is_dialects(p, try, answer);
		/* a program that reads one framing and writes another is no plugin of any host */
		if (r > 0 && try->request && s.came >= 0 && s.came != (int)p->run.framing &&
		    !(p->run.dialect->link.reads & (1u << s.came)))
			p->found->answers = mor_framing_name((enum mor_framing)s.came);
		p->found->echoes |= is_echo(try, &s);
		describe_try(p, try, &s, r > 0);
	}
	end_try(p, &s);
	return r;
}

/* ---- the manifest ---- */

static void write_command(const struct probing *p, struct mor_buf *out)
{
	mor_buf_byte(out, '[');
	for (char **arg = p->run.argv; arg && *arg; arg++) {
		if (arg != p->run.argv)
			mor_buf_text(out, ", ");
		mor_buf_json_string(out, mor_slice_of(*arg));
	}
	mor_buf_byte(out, ']');
}

/* yams has a manifest of its own that names a command; for the others ours is the smallest that works. */
static void propose(struct probing *p)
{
	struct mor_check_found *found = p->found;
	const char *name = found->name[0] ? found->name : p->manifest->name;

	if (strcmp(found->dialect, "yams") == 0) {
		found->manifest_file = "yams-plugin.json";
		mor_buf_text(&found->manifest, "{\n  \"name\": ");
		mor_buf_json_string(&found->manifest, mor_slice_of(name));
		mor_buf_text(&found->manifest, ",\n  \"transport\": \"external\",\n  \"entry\": { \"cmd\": ");
		write_command(p, &found->manifest);
		mor_buf_text(&found->manifest, " }\n}\n");
		return;
	}
	found->manifest_file = "mortise.toml";
	mor_buf_text(&found->manifest, "[plugin]\nname = ");
	mor_buf_json_string(&found->manifest, mor_slice_of(name));
	mor_buf_printf(&found->manifest, "\ndialect = \"%s\"\n", found->dialect);
	if (strcmp(found->dialect, "plain") == 0 && strcmp(found->framing, "lines") != 0)
		mor_buf_printf(&found->manifest, "framing = \"%s\"\n", found->framing);
	mor_buf_text(&found->manifest, "command = ");
	write_command(p, &found->manifest);
	mor_buf_byte(&found->manifest, '\n');
}

/* ---- all tries ---- */

static void take_kind(struct probing *p, const struct other_protocol *other)
{
	if (!other)
		return;
	p->found->kind = other->kind;
	p->found->what = other->what;
	p->found->next = other->next;
}

static int try_all(struct probing *p, mortise_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(tries) / sizeof(tries[0]); i++) {
		if (mor_signals_count())
			return mor_fail(err, MORTISE_ECANCELED, "interrupted");
		r = try_one(p, &tries[i], err);
		if (r > 0) {
			p->found->dialect = tries[i].dialect;
			p->found->framing = mor_framing_name(p->run.framing);
			take_kind(p, tries[i].other);
			if (!p->found->answers)
				propose(p);
		}
	}
	return r < 0 ? r : 0;
}

int mor_check_probe(const char *path, const char *const *argv, uint32_t answer_ms, struct mor_check_found *ret,
		    mortise_error *err)
{
	const char *set[] = { "sandbox.spawn=true", NULL };
	struct mor_manifest_query query = { .path = path, .argv = argv, .dialect = "plain", .set = set };
	struct probing p = { .found = ret,
			     .run = { .confined = true,
				      .answer_ms = answer_ms ? answer_ms : PROBE_MS,
				      .deadline = mor_clock_ms() + 120000,
				      .scratch = MOR_SCRATCH_INIT } };
	int r = mor_manifest_load(&query, &p.manifest, err);

	if (r == 0) {
		p.opt = (struct mor_check_options){ .path = path, .argv = argv, .manifest = p.manifest };
		p.run.opt = &p.opt;
		p.run.dialect = mor_dialect_find("plain");
		r = mor_check_setup(&p.run, err);
		if (r == 0)
			r = try_all(&p, err);
		mor_check_setup_fini(&p.run);
	}
	mor_manifest_free(p.manifest);
	return r;
}

void mor_check_found_fini(struct mor_check_found *found)
{
	mor_buf_fini(&found->how);
	mor_buf_fini(&found->manifest);
}
