/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier itself: made, asked, freed. */
#include "base/alloc.h"
#include "kythe/entries/verify_inside.h"

int mor_verifier_new(struct mor_graph *graph, const struct mor_verify_options *opt, struct mor_verifier **ret,
		     mortise_error *err)
{
	struct mor_verifier *v = mor_zalloc(sizeof(*v));
	int r = 0;

	if (!v)
		return MORTISE_ENOMEM;
	v->graph = graph;
	v->opt = opt ? *opt : (struct mor_verify_options){ 0 };
	if (!v->opt.steps)
		v->opt.steps = 100u * 1000 * 1000;
	v->groups = mor_zalloc(sizeof(struct group));
	v->group_count = v->group_cap = 1;
	if (v->opt.regex)
		r = mor_line_pattern_new(v->opt.regex, &v->pattern, err);
	if (!v->groups)
		r = MORTISE_ENOMEM;
	if (r == 0)
		*ret = v;
	else
		mor_verifier_free(v);
	return r;
}

void mor_expr_fini(struct expr *expr)
{
	for (int i = 0; expr->parts && i < MOR_VNAME_PARTS; i++)
		mor_expr_fini(&expr->parts[i]);
	mor_free(expr->parts);
	mor_free(expr->text);
	*expr = (struct expr){ 0 };
}

void mor_goal_fini(struct goal *goal)
{
	mor_expr_fini(&goal->subject);
	mor_expr_fini(&goal->object);
	mor_expr_fini(&goal->ordinal);
	mor_free(goal->ordinals);
	mor_free(goal->label_text);
}

void mor_goal_print(const struct goal *goal, struct mor_buf *out)
{
	if (goal->equal)
		mor_buf_printf(out, "%s = %s", goal->subject.text, goal->object.text);
	else
		mor_buf_printf(out, "%s%s%s%s %s", goal->subject.text, goal->fact ? "." : " ", goal->label_text,
			       goal->open ? goal->ordinal.text : "", goal->object.text);
}

size_t mor_verifier_goals(const struct mor_verifier *verifier)
{
	return verifier->goal_count;
}

struct mor_verifier *mor_verifier_free(struct mor_verifier *v)
{
	if (!v)
		return NULL;
	for (size_t i = 0; i < v->goal_count; i++)
		mor_goal_fini(&v->goals[i]);
	for (size_t i = 0; i < v->variable_count; i++)
		mor_free(v->variables[i].name);
	mor_free(v->goals);
	mor_free(v->variables);
	mor_free(v->groups);
	mor_texts_free(v->files);
	mor_line_pattern_free(v->pattern);
	return mor_free(v);
}
