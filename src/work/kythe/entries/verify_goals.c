/* SPDX-License-Identifier: Apache-2.0 */
/* Reads goals from comments. One function per rule of the grammar. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "kythe/entries/verify_inside.h"

static bool is_sign(const struct reader *r, char sign)
{
	return r->token.kind == TOKEN_SIGN && r->token.sign == sign;
}

static int complain_here(struct reader *r, const char *what)
{
	return mor_goal_complain(r, r->token.line, r->token.column, what);
}

/* ---- anchors ---- */

static int set_atom(struct reader *r, struct mor_slice text, struct expr *ret)
{
	ret->kind = EXPR_ATOM;
	ret->atom = mor_graph_text(r->v->graph, text);
	return ret->atom ? 0 : MORTISE_ENOMEM;
}

static int know_file(struct reader *r)
{
	if (r->node)
		return 0;
	r->node = mor_graph_find_file(r->v->graph, r->text);
	return r->node ? 0 :
			 complain_here(r,
				       "no file node in the stream has this text (/kythe/text): was the stream "
				       "made from this source?");
}

static void place_of(const struct reader *r, const char *at, struct expr *ret)
{
	ret->line = ret->column = 1;
	for (const char *p = r->text.ptr; p < at; p++) {
		ret->column++;
		if (*p == '\n') {
			ret->line++;
			ret->column = 1;
		}
	}
}

static int read_anchor(struct reader *r, struct expr *ret)
{
	const struct token *t = &r->token;
	const char *found;
	uint64_t start, end;
	char number[24];

	if (know_file(r) < 0 || mor_goal_find(r, t, &found) < 0)
		return MORTISE_EINPUT;
	start = (uint64_t)(found - r->text.ptr);
	end = start + t->text.len;
	if (t->sign) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)(t->sign == '^' ? start : end));
		return set_atom(r, mor_slice_of(number), ret);
	}
	ret->atom = mor_graph_find_anchor(r->v->graph, r->node, start, end);
	ret->kind = ret->atom ? EXPR_ATOM : EXPR_NOWHERE;
	place_of(r, found, ret);
	return 0;
}

/* ---- expressions ---- */

static bool names_variable(struct mor_slice word)
{
	return word.ptr[0] >= 'A' && word.ptr[0] <= 'Z';
}

/* `_` alone, or with a name for the reader: each one stands for something else. */
static bool names_anything(struct mor_slice word)
{
	return word.ptr[0] == '_';
}

static int add_variable(struct reader *r, struct mor_slice name, struct expr *ret)
{
	struct mor_verifier *v = r->v;
	struct variable fresh = { .name = mor_strndup(name.ptr, name.len),
				  .file = r->file_number,
				  .line = r->token.line,
				  .column = r->token.column };

	if (!fresh.name || mor_grow(&v->variables, v->variable_count, &v->variable_cap, sizeof(fresh)) < 0) {
		mor_free(fresh.name);
		return MORTISE_ENOMEM;
	}
	ret->kind = EXPR_VARIABLE;
	ret->variable = (uint32_t)v->variable_count;
	v->variables[v->variable_count++] = fresh;
	return 0;
}

static int use_variable(struct reader *r, struct expr *ret)
{
	struct mor_verifier *v = r->v;
	struct mor_slice name = r->token.text;
	size_t i = 0;

	while (i < v->variable_count && !mor_slice_is(name, v->variables[i].name))
		i++;
	if (i == v->variable_count && add_variable(r, name, ret) < 0)
		return MORTISE_ENOMEM;
	v->variables[i].uses++;
	ret->kind = EXPR_VARIABLE;
	ret->variable = (uint32_t)i;
	return 0;
}

/* An expression that is shown, or that has "=", needs a variable, even if it has no name. */
static int remember(struct reader *r, struct expr *expr)
{
	return expr->kind == EXPR_ANY ? add_variable(r, MOR_SLICE("_"), expr) : 0;
}

/* As it is written, on one line. */
static int keep_text(struct expr *expr, const char *from, const char *to)
{
	const char *newline = memchr(from, '\n', (size_t)(to - from));

	to = newline ? newline : to;
	while (to > from && strchr(" \t", to[-1]))
		to--;
	expr->text = mor_strndup(from, (size_t)(to - from));
	return expr->text ? 0 : MORTISE_ENOMEM;
}

static int read_expr(struct reader *r, struct expr *ret, bool *had_equal);

/* ( exp , exp , exp , exp , exp ); the present token is "(" */
static int read_vname(struct reader *r, const char *from, struct expr *ret)
{
	ret->kind = EXPR_VNAME;
	ret->parts = mor_zalloc(MOR_VNAME_PARTS * sizeof(struct expr));
	if (!ret->parts)
		return MORTISE_ENOMEM;
	for (int i = 0; i < MOR_VNAME_PARTS; i++) {
		int status = mor_goal_token(r);

		if (status == 0)
			status = read_expr(r, &ret->parts[i], NULL);
		if (status < 0)
			return status;
		if (ret->parts[i].kind == EXPR_VNAME || ret->parts[i].kind == EXPR_NOWHERE)
			return complain_here(r, "a part of a vname is a text, a variable or _");
		if (!is_sign(r, i + 1 < MOR_VNAME_PARTS ? ',' : ')'))
			return complain_here(r,
					     "vname takes five parts: signature, corpus, root, path, language");
	}
	if (keep_text(ret, from, r->at) < 0)
		return MORTISE_ENOMEM;
	return mor_goal_token(r);
}

/* name(...): only vname(...) can be matched. */
static int read_parts(struct reader *r, const char *from, struct mor_slice name, struct expr *ret)
{
	char excerpt[40], text[120];

	if (mor_slice_is(name, "vname"))
		return read_vname(r, from, ret);
	snprintf(text, sizeof(text), "%s(...) is not supported: only vname(...) is",
		 mor_excerpt(name, excerpt, sizeof(excerpt)));
	return complain_here(r, text);
}

static int read_word(struct reader *r, struct expr *ret)
{
	struct mor_slice word = r->token.text;

	if (names_anything(word)) {
		ret->kind = EXPR_ANY;
		return 0;
	}
	return names_variable(word) ? use_variable(r, ret) : set_atom(r, word, ret);
}

/* An expression without "=". Leaves the next token in r->token. */
static int read_atom(struct reader *r, struct expr *ret)
{
	const char *from = r->line_start + r->token.column - 1;
	struct token first = r->token;
	int status = 0;

	switch (first.kind) {
	case TOKEN_AT:
		status = read_anchor(r, ret);
		break;
	case TOKEN_WORD:
		status = read_word(r, ret);
		break;
	case TOKEN_STRING:
	case TOKEN_NUMBER:
		status = set_atom(r, first.text, ret);
		break;
	case TOKEN_END:
		return mor_goal_complain(r, r->line, 1, "the goal is not finished");
	case TOKEN_SIGN:
		return mor_goal_complain(r, first.line, first.column, "an expression is expected here");
	}
	status = status ? status : keep_text(ret, from, r->at);
	status = status ? status : mor_goal_token(r);
	if (status == 0 && is_sign(r, '(')) {
		mor_expr_fini(ret);
		status = read_parts(r, from, first.text, ret);
	}
	if (status < 0 || !is_sign(r, '?'))
		return status;
	ret->shown = true;
	if (ret->kind == EXPR_VARIABLE)
		r->v->variables[ret->variable].uses++;
	status = remember(r, ret);
	return status < 0 ? status : mor_goal_token(r);
}

/* ---- equalities ---- */

static int copy_expr(const struct expr *from, struct expr *to)
{
	*to = *from;
	to->shown = false; /* once is enough */
	to->parts = NULL;
	to->text = mor_strdup(from->text);
	if (from->parts)
		to->parts = mor_zalloc(MOR_VNAME_PARTS * sizeof(struct expr));
	if (!to->text || (from->parts && !to->parts))
		return MORTISE_ENOMEM;
	for (int i = 0; from->parts && i < MOR_VNAME_PARTS; i++)
		if (copy_expr(&from->parts[i], &to->parts[i]) < 0)
			return MORTISE_ENOMEM;
	return 0;
}

static bool holds_variable(const struct expr *expr, uint32_t variable)
{
	for (int i = 0; expr->kind == EXPR_VNAME && i < MOR_VNAME_PARTS; i++)
		if (expr->parts[i].kind == EXPR_VARIABLE && expr->parts[i].variable == variable)
			return true;
	return false;
}

static int add_goal(struct mor_verifier *v, struct goal *goal)
{
	if (mor_grow(&v->goals, v->goal_count, &v->goal_cap, sizeof(*goal)) < 0)
		return MORTISE_ENOMEM;
	v->goals[v->goal_count++] = *goal;
	return 0;
}

/* The expression after "=" equals `left`, which is used from now on. This makes a goal of its own. */
static int read_equality(struct reader *r, const struct token *first, struct expr *left)
{
	struct goal goal = { .equal = true,
			     .file = r->file_number,
			     .line = first->line,
			     .column = first->column,
			     .group = r->group };
	int status = mor_goal_token(r);

	status = status ? status : read_expr(r, &goal.object, NULL);
	status = status ? status : remember(r, left);
	if (status == 0 && left->kind == EXPR_VARIABLE && holds_variable(&goal.object, left->variable))
		status = mor_goal_complain(r, goal.line, goal.column,
					   "a node cannot be a part of its own vname");
	status = status ? status : copy_expr(left, &goal.subject);
	status = status ? status : add_goal(r->v, &goal);
	if (status < 0)
		mor_goal_fini(&goal);
	return status;
}

/* atom, or atom = expression. had_equal (may be NULL) says which. */
static int read_expr(struct reader *r, struct expr *ret, bool *had_equal)
{
	struct token first = r->token;
	int status = read_atom(r, ret);
	bool equal = status == 0 && is_sign(r, '=');

	if (had_equal)
		*had_equal = equal;
	return equal ? read_equality(r, &first, ret) : status;
}

/* ---- goals ---- */

/* Turns a written name into the name in entries: adds /kythe/edge/ or /kythe/; a % or # stays in front. If
 * an ordinal is open (present but empty), only its dot is added. */
static int set_label(struct reader *r, struct goal *goal, struct mor_slice word, struct mor_slice ordinal,
		     bool edge)
{
	MOR_CLEAN(mor_buf) struct mor_buf full = MOR_BUF_INIT, written = MOR_BUF_INIT;
	struct mor_slice rest = word;

	if (rest.len && (rest.ptr[0] == '%' || rest.ptr[0] == '#')) {
		mor_buf_byte(&full, rest.ptr[0]);
		rest = (struct mor_slice){ rest.ptr + 1, rest.len - 1 };
	}
	if (!rest.len || rest.ptr[0] != '/')
		mor_buf_text(&full, edge ? "/kythe/edge/" : "/kythe/");
	mor_buf_slice(&full, rest);
	mor_buf_slice(&written, word);
	if (ordinal.ptr) {
		mor_buf_printf(&full, ".%.*s", (int)ordinal.len, ordinal.ptr);
		mor_buf_printf(&written, ".%.*s", (int)ordinal.len, ordinal.ptr);
	}
	goal->label_text = mor_buf_detach(&written);
	goal->label = mor_buf_failed(&full) ? 0 : mor_graph_text(r->v->graph, mor_buf_view(&full));
	return goal->label && goal->label_text ? 0 : MORTISE_ENOMEM;
}

/* All labels in the graph that fit an edge with this ordinal. */
static int list_ordinals(struct reader *r, struct goal *goal)
{
	struct mor_graph *graph = r->v->graph;
	struct mor_slice prefix = mor_graph_slice(graph, goal->label);
	size_t cap = 0;

	for (mor_atom at = mor_graph_next_text(graph, 0, prefix); at;
	     at = mor_graph_next_text(graph, at, prefix)) {
		struct mor_slice whole = mor_graph_slice(graph, at);
		struct mor_slice number = { whole.ptr + prefix.len, whole.len - prefix.len };
		uint64_t ignored;

		if (!mor_parse_u64(number, &ignored))
			continue;
		if (mor_grow(&goal->ordinals, goal->ordinal_count, &cap, sizeof(*goal->ordinals)) < 0)
			return MORTISE_ENOMEM;
		goal->ordinals[goal->ordinal_count].number = mor_graph_text(graph, number);
		goal->ordinals[goal->ordinal_count].label = at;
		if (!goal->ordinals[goal->ordinal_count++].number)
			return MORTISE_ENOMEM;
	}
	return 0;
}

/* After the dot: a number, or a variable or _ for any number. */
static int read_ordinal(struct reader *r, struct goal *goal, struct mor_slice word)
{
	struct token t = r->token;
	uint64_t number;
	int status;

	if ((t.kind == TOKEN_NUMBER || t.kind == TOKEN_STRING) && mor_parse_u64(t.text, &number)) {
		status = set_label(r, goal, word, t.text, true);
		return status < 0 ? status : mor_goal_token(r);
	}
	if (t.kind != TOKEN_WORD || (!names_variable(t.text) && !names_anything(t.text)))
		return mor_goal_complain(r, t.line, t.column,
					 "a number, or a variable, must follow the edge's dot: param.0, "
					 "param.N");
	goal->open = true;
	status = set_label(r, goal, word, MOR_SLICE(""), true);
	if (status == 0)
		status = read_atom(r, &goal->ordinal);
	return status < 0 ? status : list_ordinals(r, goal);
}

static int read_edge(struct reader *r, struct goal *goal)
{
	struct mor_slice word = r->token.text;
	int status = mor_goal_token(r);

	if (status == 0 && is_sign(r, '.')) {
		status = mor_goal_token(r);
		status = status < 0 ? status : read_ordinal(r, goal, word);
	} else if (status == 0) {
		status = set_label(r, goal, word, (struct mor_slice){ 0 }, true);
	}
	return status < 0 ? status : read_expr(r, &goal->object, NULL);
}

static int read_fact(struct reader *r, struct goal *goal)
{
	int status = mor_goal_token(r);

	goal->fact = true;
	if (status < 0)
		return status;
	if (r->token.kind != TOKEN_WORD && r->token.kind != TOKEN_STRING)
		return complain_here(r, "a fact's name must follow the dot: F.node/kind");
	status = set_label(r, goal, r->token.text, (struct mor_slice){ 0 }, false);
	if (status == 0)
		status = mor_goal_token(r);
	return status < 0 ? status : read_expr(r, &goal->object, NULL);
}

static bool names_edge(const struct reader *r)
{
	const struct token *t = &r->token;

	if (t->kind == TOKEN_STRING)
		return true;
	return t->kind == TOKEN_WORD && !names_variable(t->text) && !names_anything(t->text) &&
	       !mor_slice_is(t->text, "vname");
}

static int read_rest(struct reader *r, struct goal *goal)
{
	if (is_sign(r, '.'))
		return read_fact(r, goal);
	if (r->token.kind == TOKEN_WORD || r->token.kind == TOKEN_STRING)
		return read_edge(r, goal);
	if (r->token.kind == TOKEN_END)
		return mor_goal_complain(r, goal->line, goal->column, "the goal is not finished");
	return complain_here(r, "an edge, .fact or = is expected here");
}

/* After "A = B" an edge or a fact of A may follow, as after any subject. If nothing follows, that was the
 * goal. */
static int read_goal(struct reader *r)
{
	struct goal goal = {
		.file = r->file_number, .line = r->token.line, .column = r->token.column, .group = r->group
	};
	bool equal = false;
	int status = read_expr(r, &goal.subject, &equal);

	if (status == 0 && equal && !is_sign(r, '.') && !names_edge(r)) {
		mor_goal_fini(&goal);
		return 0;
	}
	status = status ? status : read_rest(r, &goal);
	status = status ? status : add_goal(r->v, &goal);
	if (status < 0)
		mor_goal_fini(&goal);
	return status;
}

static int open_group(struct reader *r, bool negated, uint32_t *ret)
{
	struct mor_verifier *v = r->v;

	if (mor_grow(&v->groups, v->group_count, &v->group_cap, sizeof(struct group)) < 0)
		return MORTISE_ENOMEM;
	v->groups[v->group_count] = (struct group){ negated };
	*ret = (uint32_t)v->group_count++;
	return 0;
}

/* The goals between the braces, up to the closing one. */
static int read_grouped(struct reader *r, const struct token *opening)
{
	size_t before = r->v->goal_count;
	int status = 0;

	while (status == 0 && !is_sign(r, '}')) {
		if (r->token.kind == TOKEN_END)
			return mor_goal_complain(r, opening->line, opening->column, "this { is never closed");
		if (is_sign(r, '{') || is_sign(r, '!'))
			return complain_here(r, "a group inside a group is not supported");
		status = read_goal(r);
	}
	if (status == 0 && r->v->goal_count == before)
		return mor_goal_complain(r, opening->line, opening->column, "a group without a goal");
	return status;
}

/* "{" or "!{" is the next token. */
static int read_group(struct reader *r)
{
	struct token opening = r->token;
	bool negated = is_sign(r, '!');
	int status = negated ? mor_goal_token(r) : 0;

	if (status == 0 && !is_sign(r, '{'))
		return mor_goal_complain(r, opening.line, opening.column, "! must be followed by {");
	status = status ? status : open_group(r, negated, &r->group);
	status = status ? status : mor_goal_token(r);
	status = status ? status : read_grouped(r, &opening);
	r->group = 0;
	return status < 0 ? status : mor_goal_token(r);
}

int mor_verifier_add(struct mor_verifier *verifier, const char *file, struct mor_slice text, mortise_error *err)
{
	struct reader reader = { .v = verifier, .file = file, .text = text, .rest = text.ptr, .err = err };
	int status = mor_texts_push_take(&verifier->files, mor_strdup(file)) < 0 ? MORTISE_ENOMEM : 0;

	if (status == 0) {
		reader.file_number = verifier->file_count++;
		/* Tokens point into it, so it must not move. It is large enough: all strings of a file are
		 * shorter than the file. */
		status = mor_buf_reserve(&reader.scratch, text.len + 1);
	}
	if (status == 0)
		status = mor_goal_token(&reader);
	while (status == 0 && reader.token.kind != TOKEN_END)
		status = is_sign(&reader, '{') || is_sign(&reader, '!') ? read_group(&reader) :
									  read_goal(&reader);
	mor_buf_fini(&reader.scratch);
	if (status == MORTISE_ENOMEM)
		mor_fail_memory_of(err, file);
	return status;
}
