/* SPDX-License-Identifier: Apache-2.0 */
/* Goals as the parser makes them and the solver uses them. Only for verify_*.c. */
#ifndef MOR_KYTHE_ENTRIES_VERIFY_INSIDE_H
#define MOR_KYTHE_ENTRIES_VERIFY_INSIDE_H

#include "kythe/entries/verify.h"

enum expr_kind {
	EXPR_ANY,  /* _                                                               */
	EXPR_ATOM, /* a text, a number, an anchor                                      */
	EXPR_VARIABLE,
	EXPR_VNAME,
	EXPR_NOWHERE /* an anchor that is not in the graph: equal to nothing */
};

struct expr {
	enum expr_kind kind;
	bool shown; /* "?" stands behind it */
	mor_atom atom;
	uint32_t variable;
	struct expr *parts;    /* of a VNAME: MOR_VNAME_PARTS of them, owned */
	uint32_t line, column; /* NOWHERE: the place in the source of the text that should be an anchor */
	char *text;            /* as written, owned */
};

/* One possible label of an edge with an open ordinal: /kythe/edge/param.3, and "3". */
struct ordinal {
	mor_atom label, number;
};

struct goal {
	bool equal; /* subject = object; no label */
	bool fact;  /* subject.label object */
	bool open;  /* edge.ORDINAL, which is a variable or _; no label of its own */
	struct expr subject, object, ordinal;
	struct ordinal *ordinals; /* of an open one: all labels in the graph, owned */
	size_t ordinal_count;
	mor_atom label;
	char *label_text; /* as written, owned */
	uint32_t file, line, column;
	uint32_t group; /* 0: it is in no group */
};

struct variable {
	char *name;
	uint32_t uses;               /* "?" counts as a second use, because it is on purpose */
	uint32_t file, line, column; /* its first place */
	mor_atom value;              /* 0: free */
};

struct group {
	bool negated;
};

struct mor_verifier {
	struct mor_graph *graph;
	struct mor_verify_options opt;
	char **files; /* NULL-terminated */
	uint32_t file_count;
	struct goal *goals;
	size_t goal_count, goal_cap;
	struct variable *variables;
	size_t variable_count, variable_cap;
	struct group *groups; /* [0] holds all goals outside braces */
	size_t group_count, group_cap;
	struct line_pattern *pattern; /* opt.regex; NULL: prefixes */
};

/* ---- lines (verify_line.c) ---- */

/* The goals of a line; ptr NULL: it has none, so it is code. */
struct mor_slice mor_goal_line(const struct mor_verifier *v, const char *line, const char *end);
int mor_line_pattern_new(const char *regex, struct line_pattern **ret, mortise_error *err);
struct line_pattern *mor_line_pattern_free(struct line_pattern *pattern); /* NULL is fine; returns NULL */

/* ---- tokens (verify_lex.c) ---- */

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_STRING, TOKEN_NUMBER, TOKEN_AT, TOKEN_SIGN };

struct token {
	enum token_kind kind;
	char sign;             /* of SIGN, and of AT: 0, '^' or '$' */
	struct mor_slice text; /* as written; of AT: the text that is searched for */
	uint32_t line, column;
	/* of AT */
	uint64_t match, target; /* which occurrence, on which line; each 0: not given */
	bool has_match;
};

struct reader {
	struct mor_verifier *v;
	const char *file;
	uint32_t file_number;
	struct mor_slice text;
	const char *at, *end; /* the rest of the line of goals */
	const char *line_start;
	const char *rest; /* the next line */
	uint32_t line;
	uint32_t group;         /* of the goals that are being read */
	mor_atom node;          /* the file's node; 0: not searched yet */
	struct token token;     /* the present token */
	struct mor_buf scratch; /* of strings with escapes */
	mortise_error *err;
};

int mor_goal_complain(struct reader *r, uint32_t line, uint32_t column, const char *what); /* MORTISE_EINPUT */
int mor_goal_token(struct reader *r); /* the next one into r->token */
/* The place of the anchor's text, for r->token of kind AT. */
int mor_goal_find(struct reader *r, const struct token *t, const char **ret);

/* ---- goals ---- */

/* "@foo defines/binding F" into out. */
void mor_goal_print(const struct goal *goal, struct mor_buf *out);
void mor_goal_fini(struct goal *goal);
void mor_expr_fini(struct expr *expr);

#endif
