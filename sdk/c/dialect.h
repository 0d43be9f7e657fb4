/* SPDX-License-Identifier: Apache-2.0 */
/* One dialect is one table: what it reads, which methods the library answers, what a manifest of
 * it looks like. */
#ifndef TENON_DIALECT_H
#define TENON_DIALECT_H

#include "call.h"
#include "session.h"

/* What the watcher does with a message while a call runs. */
enum tn_quick {
	TN_QUICK_KEEP, /* later */
	TN_QUICK_DONE, /* answered */
	TN_QUICK_ACK,  /* acknowledged; the rest later */
	TN_QUICK_STOP  /* the running call is cancelled; the answer later */
};

struct tn_route {
	const char *method;
	void (*serve)(tenon_call *call, struct tn_turn *turn);
	/* NULL: KEEP. Runs on the watcher's thread: no code of the author, no state but what is atomic. */
	enum tn_quick (*quick)(struct tn_session *s, const struct mor_message *message);
};

struct tn_dialect {
	const char *name;
	enum mor_framing framing;
	size_t limit;                             /* bytes of a message; 0: 256 MiB */
	bool (*fits)(const tenon_plugin *plugin); /* has what it needs */
	const struct tn_route *routes;            /* ends with a zeroed row */
	/* methods and commands by their name on the wire; NULL: methods only. */
	const struct tn_shape *by_name;
	bool needs_init; /* the author's own methods answer -32003 before the dialect's init */
	/* NULL: pieces stand in front of the answer's text, progress and log go to stderr. */
	void (*stream)(tenon_call *call, const char *text);
	void (*progress)(tenon_call *call, double fraction, const char *text);
	void (*log)(tenon_call *call, const char *level, const char *text);
	/* Sends the question. NULL: the dialect has no conversations. */
	void (*ask)(tenon_call *call, const char *question);
	void (*resumed)(tenon_call *call); /* a conversation goes on with another message; may be NULL */
	void (*manifest)(const tenon_plugin *plugin, const char *program, struct mor_buf *out);
	/* A line whose method is this one is of this dialect; NULL-terminated. A name that ends with a dot is a
	 * beginning. */
	const char *const *known_by;
};

extern const struct tn_dialect tn_yams, tn_ayiou, tn_gassist, tn_sunscreen, tn_sunscreen_json, tn_kythe,
	tn_plain;

/* What comes over gRPC, for sunscreen and sunscreen-json (sunscreen_grpc.c): not in tn_dialects. */
extern const struct tn_dialect tn_sunscreen_grpc, tn_sunscreen_json_grpc;

extern const struct tn_dialect *const tn_dialects[]; /* ends with NULL */
const struct tn_dialect *tn_dialect_by_name(const char *name);
bool tn_dialect_has(const tenon_plugin *plugin, const struct tn_dialect *dialect);
/* By `wanted` (may be NULL), by the declaration; NULL: the first bytes decide. */
const struct tn_dialect *tn_dialect_choose(const tenon_plugin *plugin, const char *wanted);
/* By the first bytes. False: more are needed. */
bool tn_dialect_guess(struct tn_session *s);

/* ---- sunscreen.c, for its form over gRPC ---- */

/* A bare name is of the kind `usual`. */
void tn_sunscreen_run(tenon_call *call, const char *usual);
void tn_sunscreen_hook(tenon_call *call, struct tn_turn *turn);
struct mor_slice tn_sunscreen_kind(const char *name, const char *usual);
const char *tn_sunscreen_bare(const char *name);

/* ---- fields.c: parameters ---- */

/* Checks the parameters of a command, adds its fallbacks, and gives them to the call. `given`: an object, or an
 * array (by position), or NULL. False: refused with TENON_EPARAMS. */
bool tn_take_fields(tenon_call *call, const tenon_field *fields, const struct mor_value *given);
/* The same from words: positional, then by name from an object (NULL: none). `rest`: the last text takes what
 * is left of the line. */
struct tn_words {
	const struct mor_value *args, *flags; /* sunscreen */
	bool dashes;                          /* sunscreen-json: --NAME VALUE among args */
	const char *line;                     /* ayiou */
};
bool tn_take_words(tenon_call *call, const tenon_field *fields, const struct tn_words *words);
/* {"type":"object","properties":{...},"required":[...]} without the braces around. */
void tn_put_schema(struct mor_writer *w, const tenon_field *fields);

/* The author's own; NULL: none. */
const tenon_method *tn_find_method(const tenon_plugin *plugin, struct mor_slice name);
const tenon_command *tn_find_command(const tenon_command *table, struct mor_slice name);
/* Texts with blanks between them. */
bool tn_next_word(const char **list, struct mor_slice *ret);
bool tn_has_word(const char *list, struct mor_slice word);
/* An array of the words. */
void tn_put_words(struct mor_writer *w, const char *key, const char *list);
/* Optional text: nothing is written for NULL. */
void tn_put_known(struct mor_writer *w, const char *key, const char *text);
/* Writes the members of an object that are not among `but` (blanks between them). */
void tn_put_members(struct mor_writer *w, const struct mor_value *object, const char *but);
/* One line of TOML: key = "text". */
void tn_toml_pair(struct mor_buf *out, const char *key, const char *text);
/* mortise.toml, for dialects without a manifest of their own. */
void tn_own_manifest(const tenon_plugin *plugin, const char *dialect, const char *program, struct mor_buf *out);

#endif
