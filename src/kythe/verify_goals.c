/* Reads goals out of comments. One function per rule of the grammar. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "kythe/verify_inside.h"

static bool is_sign(const struct reader *r, char sign)
{
	return r->token.kind == TOKEN_SIGN && r->token.sign == sign;
}

/* ---- anchors ---- */

static int know_file(struct reader *r)
{
	if (r->node)
		return 0;
	r->node = mor_graph_find_file(r->v->graph, r->text);
	if (r->node)
		return 0;
	return mor_goal_complain(r, r->token.line, r->token.column,
			"no file node in the stream has this text (/kythe/text): is it the stream of this very source?");
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
		ret->kind = EXPR_ATOM;
		ret->atom = mor_graph_text(r->v->graph, mor_slice_of(number));
		return ret->atom ? 0 : MORTISE_ENOMEM;
	}
	ret->atom = mor_graph_find_anchor(r->v->graph, r->node, start, end);
	ret->kind = ret->atom ? EXPR_ATOM : EXPR_NOWHERE;
	place_of(r, found, ret);
	return 0;
}

/* ---- expressions ---- */

static bool names_variable(struct mor_slice word)
{
	char c = word.ptr[0] == '_' && word.len > 1 ? word.ptr[1] : word.ptr[0];

	return (c >= 'A' && c <= 'Z') || (word.ptr[0] == '_' && word.len > 1);
}

static int use_variable(struct reader *r, struct expr *ret)
{
	struct mor_verifier *v = r->v;
	struct mor_slice name = r->token.text;
	size_t i = 0;

	while (i < v->variable_count && !mor_slice_is(name, v->variables[i].name))
		i++;
	if (i == v->variable_count) {
		struct variable fresh = { .name = mor_strndup(name.ptr, name.len), .file = r->file_number,
					  .line = r->token.line, .column = r->token.column };

		if (!fresh.name || mor_grow(&v->variables, i, &v->variable_cap, sizeof(fresh)) < 0) {
			mor_free(fresh.name);
			return MORTISE_ENOMEM;
		}
		v->variables[v->variable_count++] = fresh;
	}
	v->variables[i].uses++;
	ret->kind = EXPR_VARIABLE;
	ret->variable = (uint32_t)i;
	return 0;
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

static int read_expr(struct reader *r, struct expr *ret);

/* ( exp , exp , exp , exp , exp ) */
static int read_vname(struct reader *r, const char *from, struct expr *ret)
{
	ret->kind = EXPR_VNAME;
	ret->parts = mor_zalloc(MOR_VNAME_PARTS * sizeof(struct expr));
	if (!ret->parts)
		return MORTISE_ENOMEM;
	for (int i = 0; i < MOR_VNAME_PARTS; i++) {
		int status = mor_goal_token(r);

		if (status == 0)
			status = read_expr(r, &ret->parts[i]);
		if (status < 0)
			return status;
		if (ret->parts[i].kind == EXPR_VNAME || ret->parts[i].kind == EXPR_NOWHERE)
			return mor_goal_complain(r, r->token.line, r->token.column, "a part of a vname is a text, a variable or _");
		if (!is_sign(r, i + 1 < MOR_VNAME_PARTS ? ',' : ')'))
			return mor_goal_complain(r, r->token.line, r->token.column,
					"vname takes five parts: signature, corpus, root, path, language");
	}
	if (keep_text(ret, from, r->at) < 0)
		return MORTISE_ENOMEM;
	return mor_goal_token(r);
}

static int read_word(struct reader *r, struct expr *ret, bool *was_vname)
{
	struct mor_slice word = r->token.text;

	*was_vname = false;
	if (mor_slice_is(word, "_")) {
		ret->kind = EXPR_ANY;
		return 0;
	}
	if (names_variable(word))
		return use_variable(r, ret);
	if (mor_slice_is(word, "vname") && r->at < r->end && *r->at == '(') {
		int status = mor_goal_token(r);

		*was_vname = true;
		return status < 0 ? status : read_vname(r, word.ptr, ret);
	}
	ret->kind = EXPR_ATOM;
	ret->atom = mor_graph_text(r->v->graph, word);
	return ret->atom ? 0 : MORTISE_ENOMEM;
}

/* Leaves the token behind the expression in r->token. */
static int read_expr(struct reader *r, struct expr *ret)
{
	const char *from = r->line_start + r->token.column - 1;
	bool was_vname = false;
	int status = 0;

	switch (r->token.kind) {
	case TOKEN_AT: status = read_anchor(r, ret); break;
	case TOKEN_WORD: status = read_word(r, ret, &was_vname); break;
	case TOKEN_STRING:
	case TOKEN_NUMBER:
		ret->kind = EXPR_ATOM;
		ret->atom = mor_graph_text(r->v->graph, r->token.text);
		status = ret->atom ? 0 : MORTISE_ENOMEM;
		break;
	case TOKEN_END: return mor_goal_complain(r, r->line, 1, "the goal is not finished");
	case TOKEN_SIGN: return mor_goal_complain(r, r->token.line, r->token.column, "an expression is expected here");
	}
	if (status == 0 && !was_vname) {
		status = keep_text(ret, from, r->at);
		status = status < 0 ? status : mor_goal_token(r);
	}
	if (status == 0 && is_sign(r, '?')) {
		ret->shown = true;
		status = mor_goal_token(r);
	}
	return status;
}

/* ---- goals ---- */

/* A name as written -> a name as entries spell it: /kythe/edge/ or /kythe/ before it, a % stays in front. */
static int set_label(struct reader *r, struct goal *goal, struct mor_slice word, struct mor_slice ordinal, bool edge)
{
	MOR_CLEAN(mor_buf) struct mor_buf full = MOR_BUF_INIT, written = MOR_BUF_INIT;
	struct mor_slice rest = word;

	if (rest.len && rest.ptr[0] == '%') {
		mor_buf_byte(&full, '%');
		rest = (struct mor_slice){ rest.ptr + 1, rest.len - 1 };
	}
	if (!rest.len || rest.ptr[0] != '/')
		mor_buf_text(&full, edge ? "/kythe/edge/" : "/kythe/");
	mor_buf_slice(&full, rest);
	mor_buf_printf(&written, "%.*s", (int)word.len, word.ptr);
	if (ordinal.len) {
		mor_buf_printf(&full, ".%.*s", (int)ordinal.len, ordinal.ptr);
		mor_buf_printf(&written, ".%.*s", (int)ordinal.len, ordinal.ptr);
	}
	goal->label_text = mor_buf_detach(&written);
	goal->label = mor_buf_failed(&full) ? 0 : mor_graph_text(r->v->graph, mor_buf_view(&full));
	return goal->label && goal->label_text ? 0 : MORTISE_ENOMEM;
}

static int read_edge(struct reader *r, struct goal *goal)
{
	struct mor_slice word = r->token.text, ordinal = { 0 };
	int status = mor_goal_token(r);

	if (status == 0 && is_sign(r, '.')) {
		status = mor_goal_token(r);
		if (status == 0 && r->token.kind != TOKEN_NUMBER)
			return mor_goal_complain(r, r->token.line, r->token.column, "a number must follow the edge's dot: param.0");
		ordinal = r->token.text;
		status = status < 0 ? status : mor_goal_token(r);
	}
	if (status == 0)
		status = set_label(r, goal, word, ordinal, true);
	return status < 0 ? status : read_expr(r, &goal->object);
}

static int read_fact(struct reader *r, struct goal *goal)
{
	int status = mor_goal_token(r);

	goal->fact = true;
	if (status < 0)
		return status;
	if (r->token.kind != TOKEN_WORD)
		return mor_goal_complain(r, r->token.line, r->token.column, "a fact's name must follow the dot: F.node/kind");
	status = set_label(r, goal, r->token.text, (struct mor_slice){ 0 }, false);
	if (status == 0)
		status = mor_goal_token(r);
	return status < 0 ? status : read_expr(r, &goal->object);
}

static int read_rest(struct reader *r, struct goal *goal)
{
	if (is_sign(r, '.'))
		return read_fact(r, goal);
	if (is_sign(r, '=')) {
		int status = mor_goal_token(r);

		goal->equal = true;
		return status < 0 ? status : read_expr(r, &goal->object);
	}
	if (r->token.kind == TOKEN_WORD)
		return read_edge(r, goal);
	if (r->token.kind == TOKEN_END)
		return mor_goal_complain(r, goal->line, goal->column, "the goal is not finished");
	return mor_goal_complain(r, r->token.line, r->token.column, "an edge, .fact or = is expected here");
}

static int read_goal(struct reader *r, uint32_t group)
{
	struct mor_verifier *v = r->v;
	struct goal goal = { .file = r->file_number, .line = r->token.line, .column = r->token.column, .group = group };
	int status = read_expr(r, &goal.subject);

	if (status == 0)
		status = read_rest(r, &goal);
	if (status == 0)
		status = mor_grow(&v->goals, v->goal_count, &v->goal_cap, sizeof(goal));
	if (status < 0) {
		mor_goal_fini(&goal);
		return status;
	}
	v->goals[v->goal_count++] = goal;
	return 0;
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

/* "{" or "!{" is the next token. */
static int read_group(struct reader *r)
{
	struct token opening = r->token;
	bool negated = is_sign(r, '!');
	uint32_t group;
	int status = negated ? mor_goal_token(r) : 0;

	if (status == 0 && !is_sign(r, '{'))
		return mor_goal_complain(r, opening.line, opening.column, "! must be followed by {");
	if (status == 0)
		status = open_group(r, negated, &group);
	if (status == 0)
		status = mor_goal_token(r);
	while (status == 0 && !is_sign(r, '}')) {
		if (r->token.kind == TOKEN_END)
			return mor_goal_complain(r, opening.line, opening.column, "this { is never closed");
		status = read_goal(r, group);
	}
	return status < 0 ? status : mor_goal_token(r);
}

static int read_all(struct reader *r)
{
	int status = mor_goal_token(r);

	while (status == 0 && r->token.kind != TOKEN_END)
		status = is_sign(r, '{') || is_sign(r, '!') ? read_group(r) : read_goal(r, 0);
	return status;
}

static int add_file(struct mor_verifier *v, const char *file)
{
	char **bigger = mor_realloc(v->files, (v->file_count + 1) * sizeof(char *));

	if (!bigger)
		return MORTISE_ENOMEM;
	v->files = bigger;
	v->files[v->file_count] = mor_strdup(file);
	return v->files[v->file_count] ? (int)v->file_count++ : MORTISE_ENOMEM;
}

int mor_verifier_add(struct mor_verifier *verifier, const char *file, struct mor_slice text, mortise_error *err)
{
	struct reader reader = { .v = verifier, .file = file, .text = text, .rest = text.ptr, .err = err };
	int status = add_file(verifier, file);

	if (status >= 0) {
		reader.file_number = (uint32_t)status;
		/* Tokens point into it, so it must not move: all strings of a file are shorter than the file. */
		status = mor_buf_reserve(&reader.scratch, text.len + 1);
	}
	if (status == 0)
		status = read_all(&reader);
	mor_buf_fini(&reader.scratch);
	if (status == MORTISE_ENOMEM)
		mor_fail(err, MORTISE_ENOMEM, "%s: out of memory", file);
	return status;
}
