/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The .talk format: a conversation between host and plugin as a text file. It is a test, a recording
 * and a fuzz seed at once.
 *
 *	talk 1 yams framing=lines        first line: format version, dialect, options
 *	# a comment
 *	> {"jsonrpc":"2.0","id":$a,"method":"x"}     host to plugin
 *	< {"jsonrpc":"2.0","id":$a,"result":{...}}   plugin to host
 *	>b \x00\x01                     raw bytes with C escapes; <b likewise. One blank, then the bytes
 *	2 a line on the plugin's stderr
 *	~ 30000ms                        that much time passes
 *	! event key=value ...            an event the host must report (values compare as text; "..." any)
 *	* call METHOD JSON [key=value]   the embedder acts (test driver only): see tests/talk/README.md
 *	* greets                         the plugin's greeting, which is written once for all scripts: see below
 *	* greeted                        the same with `* start` before it and `* state ready` behind it
 *	>. <.                            the host closes stdin; the plugin closes stdout
 *	>s TERM                          the host sends the plugin a signal
 *	= exit 0                         the plugin ends; or = signal KILL
 *
 * JSON compares as values. A bare $name stands where a value stands: it binds at first sight and must
 * equal after. `...` as the last member or element means "and anything more"; as a value, anything. A name
 * in quotes ("$x") is a plain string. Blank lines are skipped; lines may end in CRLF.
 */
#ifndef MOR_TALK_TALK_H
#define MOR_TALK_TALK_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"

enum mor_talk_step_kind {
	MOR_TALK_SEND,        /* >   host to plugin                                                    */
	MOR_TALK_RECEIVE,     /* <   plugin to host                                                    */
	MOR_TALK_SEND_RAW,    /* >b  */
	MOR_TALK_RECEIVE_RAW, /* <b  */
	MOR_TALK_STDERR,      /* 2   */
	MOR_TALK_WAIT,        /* ~   ms                                                                */
	MOR_TALK_EVENT,       /* !   text                                                              */
	MOR_TALK_ACT,         /* *   text                                                              */
	MOR_TALK_SEND_END,    /* >.  */
	MOR_TALK_RECEIVE_END, /* <.  */
	MOR_TALK_SIGNAL,      /* >s  signal: the host sends it                                         */
	MOR_TALK_EXIT         /* =   code, or signal                                                   */
};

struct mor_talk_step {
	enum mor_talk_step_kind kind;
	unsigned line;         /* in the file, from 1                                                */
	struct mor_slice text; /* the text after the mark (raw kinds: unescaped bytes) */
	uint32_t ms;
	int exit_code, signal; /* EXIT: one of them is set; the other is -1. SIGNAL: the second */
};

struct mor_talk {
	char *dialect;
	char *framing; /* or NULL */
	struct mor_talk_step *steps;
	size_t count;
	char *memory; /* the memory behind the steps' slices */
};

/* 0, MORTISE_ENOMEM or MORTISE_EMANIFEST with "line N: ...". */
int mor_talk_parse(struct mor_slice text, struct mor_talk *ret, mortise_error *err);
void mor_talk_fini(struct mor_talk *talk);
/* One line of a script, except its first, without its newline. 1: *ret is a step, whose text lies in `line`
 * (raw bytes are unescaped in place); 0: blank or a comment; or as mor_talk_parse(). */
int mor_talk_parse_line(char *line, size_t len, unsigned number, struct mor_talk_step *ret, mortise_error *err);

/* The line of the first `* greets` or `* greeted`; 0: no such line, and no greeting is needed. */
unsigned mor_talk_greeted_at(const struct mor_talk *talk);
/* Replaces every `* greets` and `* greeted` by the steps of `greeting`, a script of the same dialect. They
 * get the line number of the replaced step. `greeting` must live as long as `talk`. 0, MORTISE_ENOMEM or
 * MORTISE_EMANIFEST; then `talk` is unchanged. */
int mor_talk_greet(struct mor_talk *talk, const struct mor_talk *greeting, mortise_error *err);

/* Bindings of $names to JSON texts, for one run of a script. */
struct mor_talk_vars {
	struct mor_talk_var *first;
};
void mor_talk_vars_fini(struct mor_talk_vars *vars);
/* The text bound to a name, or {NULL,0}. */
struct mor_slice mor_talk_var_get(const struct mor_talk_vars *vars, struct mor_slice name);
int mor_talk_var_set(struct mor_talk_vars *vars, struct mor_slice name, struct mor_slice json);

/* The id and the method of a message or pattern, as they stand there: 1, "a", $name. "": it has none, or one
 * that is too long. */
struct mor_talk_head {
	char id[64], method[128];
	bool error; /* it has an error that is not null */
};
void mor_talk_look(struct mor_slice pattern, struct mor_talk_head *ret);
/* Calls fn for each $name in the pattern. */
void mor_talk_each_name(struct mor_slice pattern, void (*fn)(void *arg, struct mor_slice name), void *arg);
/* 0, or MORTISE_EPROTO if the pattern is not JSON with names and dots in it. */
int mor_talk_check(struct mor_slice pattern, mortise_error *err);
/* Does `actual` (JSON) match `pattern`? Binds free names. 0, MORTISE_EPROTO with the JSON pointer of the
 * first difference in err ("/params/x: expected 1, got 2"), or MORTISE_ENOMEM. A failure binds nothing. */
int mor_talk_match(struct mor_slice pattern, struct mor_slice actual, struct mor_talk_vars *vars,
		   mortise_error *err);
/* The same with more to say. */
struct mor_talk_compare {
	/* JSON pointers of values that do not matter; "*" stands for any one name; NULL-terminated, or NULL */
	const char *const *ignored;
	/* or NULL: told every difference, not only the first. Texts; {NULL, 0}: it is missing */
	void (*on_difference)(void *arg, struct mor_slice pointer, struct mor_slice expected,
			      struct mor_slice actual);
	void *arg;
};
int mor_talk_match_with(struct mor_slice pattern, struct mor_slice actual, struct mor_talk_vars *vars,
			const struct mor_talk_compare *how, mortise_error *err);
/* The pattern as JSON text with every bound name replaced. An unbound name or `...` is an error
 * (MORTISE_EPROTO; nothing is appended then). */
int mor_talk_fill(struct mor_slice pattern, const struct mor_talk_vars *vars, struct mor_buf *out,
		  mortise_error *err);
/* Writes one step of a script as a line. Raw bytes are escaped; in the others newlines become blanks. */
int mor_talk_write(struct mor_buf *out, enum mor_talk_step_kind kind, struct mor_slice text);

/* format.c: a script in its canonical form (docs/reference/talk.md). Comments and single blank lines stay. 0,
 * MORTISE_ENOMEM or MORTISE_EMANIFEST with "line N: ...". */
int mor_talk_format(struct mor_slice text, struct mor_buf *out, mortise_error *err);
int mor_talk_write_step(struct mor_buf *out, const struct mor_talk_step *step); /* one line of it */

/* diff.c: compares two scripts by what is on the wire: messages, raw bytes, closed ends, signals, the exit.
 * Comments, times, stderr and the embedder's lines do not count. */
struct mor_talk_diff_options {
	bool ids;                   /* ids of messages count too; else `ignored` must have "/id" */
	const char *const *ignored; /* as in struct mor_talk_compare */
	/* a hunk's line: one of both or both; with both, what differs in them follows */
	void (*on_change)(void *arg, const struct mor_talk_step *a, const struct mor_talk_step *b);
	void (*on_difference)(void *arg, struct mor_slice pointer, struct mor_slice a, struct mor_slice b);
	void *arg;
};
/* The number of changes, or MORTISE_ENOMEM. */
int mor_talk_diff(const struct mor_talk *a, const struct mor_talk *b, const struct mor_talk_diff_options *opt);

#endif
