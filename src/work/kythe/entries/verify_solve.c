/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meets the goals, or says which one cannot be met. Goals that share variables form an island. Islands do
 * not affect each other, so each is searched alone: depth first, its goals in the order they were written,
 * with candidates from the graph's sorted tables. Goals in !{ } come last: what the others found must not
 * meet them.
 */

#include "base/alloc.h"
#include "base/error.h"
#include "kythe/entries/verify_inside.h"

#define NOBODY ((mor_atom)-1) /* an expression that equals no node or text */

struct frame { /* one goal of the search: what is left to try */
	struct mor_triples left;
	mor_atom subject, object; /* if they were known at the start; else 0 */
	size_t ordinal;           /* of an edge with an open ordinal: the next to try */
	bool tried;               /* an equality has only one way */
	size_t trail;
};

struct search {
	struct mor_verifier *v;
	const uint32_t *goals; /* numbers of the goals that must be met */
	size_t goal_count;
	struct frame *frames;
	uint32_t *trail; /* variables that were bound, in that order */
	size_t trail_len;
	uint64_t steps;
	size_t deepest;     /* the largest number of goals met at once so far, plus one */
	struct mor_buf why; /* the goal that stopped it there */
	uint32_t stuck;
};

static void unbind_to(struct search *s, size_t mark)
{
	while (s->trail_len > mark)
		s->v->variables[s->trail[--s->trail_len]].value = 0;
}

/* ---- expressions against the graph ---- */

/* 0: not known yet. */
static mor_atom value_of(const struct mor_verifier *v, const struct expr *expr)
{
	mor_atom part[MOR_VNAME_PARTS], node;

	switch (expr->kind) {
	case EXPR_ANY:
		return 0;
	case EXPR_ATOM:
		return expr->atom;
	case EXPR_VARIABLE:
		return v->variables[expr->variable].value;
	case EXPR_NOWHERE:
		return NOBODY;
	case EXPR_VNAME:
		break;
	}
	for (int i = 0; i < MOR_VNAME_PARTS; i++) {
		part[i] = value_of(v, &expr->parts[i]);
		if (!part[i])
			return 0;
	}
	node = mor_graph_find_node(v->graph, part);
	return node ? node : NOBODY;
}

static bool fits_atom(struct search *s, const struct expr *expr, mor_atom atom)
{
	struct mor_verifier *v = s->v;
	mor_atom known = expr->kind == EXPR_VNAME ? 0 : value_of(v, expr);

	if (expr->kind == EXPR_ANY)
		return true;
	if (known)
		return known == atom;
	if (expr->kind == EXPR_VARIABLE) {
		v->variables[expr->variable].value = atom;
		s->trail[s->trail_len++] = expr->variable;
		return true;
	}
	if (!mor_graph_is_node(v->graph, atom))
		return false;
	for (int i = 0; i < MOR_VNAME_PARTS; i++)
		if (!fits_atom(s, &expr->parts[i], mor_graph_part(v->graph, atom, (enum mor_vname_part)i)))
			return false;
	return true;
}

static bool equals(struct search *s, const struct goal *goal)
{
	mor_atom left = value_of(s->v, &goal->subject), right = value_of(s->v, &goal->object);

	if (left == NOBODY || right == NOBODY)
		return false;
	if (left)
		return fits_atom(s, &goal->object, left);
	/* two unknowns that no other goal uses may be equal */
	return !right || fits_atom(s, &goal->subject, right);
}

/* ---- search ---- */

static void enter_depth(struct search *s, size_t depth)
{
	const struct goal *goal = &s->v->goals[s->goals[depth]];
	struct frame *frame = &s->frames[depth];

	*frame = (struct frame){ .trail = s->trail_len };
	if (goal->equal)
		return;
	frame->subject = value_of(s->v, &goal->subject);
	frame->object = value_of(s->v, &goal->object);
	if (!goal->open && frame->subject != NOBODY && frame->object != NOBODY)
		frame->left = mor_graph_ask(s->v->graph, frame->subject, goal->label, frame->object);
}

/* For an edge with an open ordinal: the edges with its next ordinal. */
static bool next_ordinal(struct search *s, const struct goal *goal, struct frame *frame)
{
	if (frame->ordinal >= goal->ordinal_count || frame->subject == NOBODY || frame->object == NOBODY)
		return false;
	s->steps++;
	frame->left = mor_graph_ask(s->v->graph, frame->subject, goal->ordinals[frame->ordinal++].label,
				    frame->object);
	return true;
}

static bool fits_triple(struct search *s, const struct goal *goal, const struct frame *frame,
			const struct mor_triple *triple)
{
	return fits_atom(s, &goal->subject, triple->subject) && fits_atom(s, &goal->object, triple->object) &&
	       (!goal->open || fits_atom(s, &goal->ordinal, goal->ordinals[frame->ordinal - 1].number));
}

/* The next way to meet the goal at this depth. */
static bool advance(struct search *s, size_t depth)
{
	const struct goal *goal = &s->v->goals[s->goals[depth]];
	struct frame *frame = &s->frames[depth];

	if (goal->equal) {
		bool again = frame->tried;

		frame->tried = true;
		s->steps++;
		unbind_to(s, frame->trail);
		return !again && equals(s, goal);
	}
	do {
		while (frame->left.at < frame->left.end) {
			const struct mor_triple *triple = frame->left.at++;

			s->steps++;
			unbind_to(s, frame->trail);
			if (fits_triple(s, goal, frame, triple))
				return true;
		}
	} while (next_ordinal(s, goal, frame));
	return false;
}

/* An equality of two unknowns was skipped. One of them may be known now, and make others known. */
static bool equalities_hold(struct search *s)
{
	size_t known;

	do {
		known = s->trail_len;
		for (size_t i = 0; i < s->goal_count; i++) {
			const struct goal *goal = &s->v->goals[s->goals[i]];

			if (goal->equal && !equals(s, goal))
				return false;
		}
	} while (s->trail_len > known);
	return true;
}

static void explain(struct search *s, size_t depth);
typedef bool accept_fn(struct search *s, void *arg);

/* 1: met, variables are bound; 0: cannot be met; MORTISE_ELIMIT. */
static int solve_search(struct search *s, accept_fn *accept, void *arg)
{
	size_t depth = 0, base = s->trail_len;

	if (s->goal_count == 0)
		return !accept || accept(s, arg);
	enter_depth(s, 0);
	for (;;) {
		if (s->steps > s->v->opt.steps)
			return MORTISE_ELIMIT;
		if (advance(s, depth)) {
			if (depth + 1 < s->goal_count)
				enter_depth(s, ++depth);
			else if (equalities_hold(s) && (!accept || accept(s, arg)))
				return 1;
			continue;
		}
		unbind_to(s, s->frames[depth].trail);
		if (accept && depth + 1 > s->deepest)
			explain(s, depth);
		if (depth-- == 0)
			break;
	}
	unbind_to(s, base);
	return 0;
}

/* ---- why not ---- */

static void describe_variables(const struct search *s, const struct goal *goal, struct mor_buf *out)
{
	const struct expr *sides[] = { &goal->subject, &goal->object };

	for (int i = 0; i < 2; i++) {
		mor_atom value = sides[i]->kind == EXPR_VARIABLE ? value_of(s->v, sides[i]) : 0;

		if (!value)
			continue;
		mor_buf_printf(out, "; %s is ", sides[i]->text);
		mor_graph_print(s->v->graph, value, out);
	}
}

static void describe_neighbours(const struct search *s, mor_atom subject, struct mor_buf *out)
{
	struct mor_triple near[5];
	size_t count = mor_graph_about(s->v->graph, subject, near, 5);

	mor_buf_text(out, count ? "; what it has: " : "; the graph says nothing about it");
	for (size_t i = 0; i < count && i < 4; i++) {
		struct mor_slice label = mor_graph_slice(s->v->graph, near[i].label);

		mor_buf_printf(out, "%s%.*s ", i ? ", " : "", (int)label.len, label.ptr);
		mor_graph_print(s->v->graph, near[i].object, out);
	}
	if (count > 4)
		mor_buf_text(out, ", ...");
}

static const struct expr *nowhere_in(const struct goal *goal)
{
	return goal->subject.kind == EXPR_NOWHERE ? &goal->subject :
	       goal->object.kind == EXPR_NOWHERE  ? &goal->object :
						    NULL;
}

static void explain(struct search *s, size_t depth)
{
	const struct goal *goal = &s->v->goals[s->goals[depth]];
	const struct expr *missing = nowhere_in(goal);
	mor_atom subject = value_of(s->v, &goal->subject);

	s->deepest = depth + 1;
	s->stuck = s->goals[depth];
	mor_buf_reset(&s->why, 4096);
	mor_buf_text(&s->why, "not met: ");
	mor_goal_print(goal, &s->why);
	if (missing) {
		mor_buf_printf(&s->why, "; there is no anchor for %s, at line %u, column %u", missing->text,
			       missing->line, missing->column);
		return;
	}
	describe_variables(s, goal, &s->why);
	if (subject && subject != NOBODY && mor_graph_is_node(s->v->graph, subject))
		describe_neighbours(s, subject, &s->why);
}

/* ---- islands ---- */

struct island {
	uint32_t *goals, *negated; /* numbers of goals */
	size_t goal_count, negated_count;
};

/* variables and negated groups -> islands, by union-find; a goal without variables is its own island */
struct map {
	uint32_t *parent;
	size_t variables, count;
};

static uint32_t root_of(struct map *map, uint32_t i)
{
	while (map->parent[i] != i)
		i = map->parent[i] = map->parent[map->parent[i]];
	return i;
}

static void join_expr(struct map *map, const struct expr *expr, uint32_t with)
{
	if (expr->kind == EXPR_VARIABLE)
		map->parent[root_of(map, expr->variable)] = root_of(map, with);
	for (int i = 0; expr->kind == EXPR_VNAME && i < MOR_VNAME_PARTS; i++)
		join_expr(map, &expr->parts[i], with);
}

static bool is_negated(const struct mor_verifier *v, const struct goal *goal)
{
	return v->groups[goal->group].negated;
}

/* Slots: one per variable, one per goal, one per group. */
static uint32_t slot_of(const struct mor_verifier *v, uint32_t goal)
{
	const struct goal *g = &v->goals[goal];

	return (uint32_t)(v->variable_count + (is_negated(v, g) ? v->goal_count + g->group : goal));
}

static int map_islands(const struct mor_verifier *v, struct map *ret)
{
	ret->count = v->variable_count + v->goal_count + v->group_count;
	ret->parent = mor_alloc(ret->count * sizeof(uint32_t));
	if (!ret->parent)
		return MORTISE_ENOMEM;
	for (size_t i = 0; i < ret->count; i++)
		ret->parent[i] = (uint32_t)i;
	for (uint32_t i = 0; i < v->goal_count; i++) {
		join_expr(ret, &v->goals[i].subject, slot_of(v, i));
		join_expr(ret, &v->goals[i].object, slot_of(v, i));
		join_expr(ret, &v->goals[i].ordinal, slot_of(v, i));
	}
	return 0;
}

static bool known_from_the_start(const struct expr *expr)
{
	for (int i = 0; expr->kind == EXPR_VNAME && i < MOR_VNAME_PARTS; i++)
		if (expr->parts[i].kind != EXPR_ATOM)
			return false;
	return expr->kind == EXPR_ATOM || expr->kind == EXPR_VNAME || expr->kind == EXPR_NOWHERE;
}

/* Equalities between unknowns come last, when other goals have found their values. */
static bool comes_last(const struct goal *goal)
{
	return goal->equal && !known_from_the_start(&goal->subject) && !known_from_the_start(&goal->object);
}

static void fill_island(const struct mor_verifier *v, struct map *map, uint32_t root, struct island *ret)
{
	ret->goal_count = ret->negated_count = 0;
	for (int last = 0; last < 2; last++)
		for (uint32_t i = 0; i < v->goal_count; i++) {
			const struct goal *goal = &v->goals[i];

			if (root_of(map, slot_of(v, i)) != root || comes_last(goal) != last)
				continue;
			if (is_negated(v, goal))
				ret->negated[ret->negated_count++] = i;
			else
				ret->goals[ret->goal_count++] = i;
		}
}

/* ---- negated groups ---- */

struct denial {
	const struct island *island;
	uint32_t *goals; /* room for the goals of one group */
	struct frame *frames;
	int status;
};

static int group_is_met(struct search *s, struct denial *denial, uint32_t group)
{
	struct search inner = { .v = s->v,
				.goals = denial->goals,
				.frames = denial->frames,
				.trail = s->trail,
				.trail_len = s->trail_len,
				.steps = s->steps };
	int r;

	for (size_t i = 0; i < denial->island->negated_count; i++)
		if (s->v->goals[denial->island->negated[i]].group == group)
			denial->goals[inner.goal_count++] = denial->island->negated[i];
	r = solve_search(&inner, NULL, NULL);
	unbind_to(&inner, s->trail_len);
	s->steps = inner.steps;
	return r;
}

/* The result of the goals outside is accepted if no negated group can be met with it. */
static bool nothing_denied(struct search *s, void *arg)
{
	struct denial *denial = arg;
	uint32_t before = 0;

	for (size_t i = 0; i < denial->island->negated_count; i++) {
		uint32_t number = denial->island->negated[i];
		uint32_t group = s->v->goals[number].group;
		int r = group == before ? 0 : group_is_met(s, denial, group);

		before = group;
		if (r < 0) {
			denial->status = r;
			return true; /* ends the search */
		}
		if (r == 1) {
			s->deepest = s->goal_count + 1;
			s->stuck = number;
			mor_buf_reset(&s->why, 4096);
			mor_buf_text(&s->why, "met, but must not be: the goals in !{ }, the first of them ");
			mor_goal_print(&s->v->goals[number], &s->why);
			return false;
		}
	}
	return true;
}

/* ---- the whole ---- */

struct solving {
	struct mor_verifier *v;
	mor_verify_fn *tell;
	void *arg;
	struct island island;
	struct search search;
	struct denial denial;
	bool failed;
};

static void tell_finding(const struct solving *run, enum mor_verify_kind kind, const struct goal *goal,
			 struct mor_buf *text)
{
	mor_buf_byte(text, '\0');
	run->tell(&(struct mor_verify_finding){ kind, run->v->files[goal->file], goal->line, goal->column,
						mor_buf_failed(text) ? mortise_status_text(MORTISE_ENOMEM) :
								       text->data },
		  run->arg);
}

static void show_expr(const struct solving *run, const struct goal *goal, const struct expr *expr)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	mor_atom value = value_of(run->v, expr);

	for (int i = 0; expr->kind == EXPR_VNAME && i < MOR_VNAME_PARTS; i++)
		show_expr(run, goal, &expr->parts[i]);
	if (!expr->shown)
		return;
	mor_buf_printf(&text, "%s is ", expr->text);
	if (value && value != NOBODY)
		mor_graph_print(run->v->graph, value, &text);
	else
		mor_buf_text(&text, "anything");
	tell_finding(run, MOR_VERIFY_SHOWN, goal, &text);
}

static int solve_island(struct solving *run)
{
	struct search *s = &run->search;
	int r;

	s->goals = run->island.goals;
	s->goal_count = run->island.goal_count;
	s->steps = 0;
	s->deepest = 0;
	run->denial.status = 0;
	r = solve_search(s, nothing_denied, &run->denial);
	if (run->denial.status < 0)
		return run->denial.status;
	for (size_t i = 0; r == 1 && i < run->island.goal_count; i++) {
		const struct goal *goal = &run->v->goals[run->island.goals[i]];

		show_expr(run, goal, &goal->subject);
		show_expr(run, goal, &goal->ordinal);
		show_expr(run, goal, &goal->object);
	}
	if (r == 0) {
		run->failed = true;
		tell_finding(run, MOR_VERIFY_FAILED, &run->v->goals[s->stuck], &s->why);
	}
	return r < 0 ? r : 0;
}

static int solve_islands(struct solving *run)
{
	struct mor_verifier *v = run->v;
	struct map map = { 0 };
	int r = map_islands(v, &map);

	for (uint32_t i = 0; r == 0 && i < v->goal_count; i++) {
		uint32_t root = root_of(&map, slot_of(v, i));
		uint32_t first = 0;

		while (root_of(&map, slot_of(v, first)) != root)
			first++;
		if (first < i)
			continue; /* its first goal is done */
		fill_island(v, &map, root, &run->island);
		r = solve_island(run);
	}
	mor_free(map.parent);
	return r;
}

static int check_singletons(const struct mor_verifier *v, mortise_error *err)
{
	for (size_t i = 0; !v->opt.singletons && i < v->variable_count; i++) {
		const struct variable *var = &v->variables[i];

		if (var->uses == 1 && var->name[0] != '_')
			return mor_fail(
				err, MORTISE_EINPUT,
				"%s:%u:%u: variable %s is used only here: is that a mistake? If not, write _%s "
				"or _",
				v->files[var->file], var->line, var->column, var->name, var->name);
	}
	return 0;
}

static bool make_tables(struct solving *run)
{
	size_t goals = run->v->goal_count + 1;

	run->island.goals = mor_alloc(goals * sizeof(uint32_t));
	run->island.negated = mor_alloc(goals * sizeof(uint32_t));
	run->search.frames = mor_alloc(goals * sizeof(struct frame));
	run->search.trail = mor_alloc((run->v->variable_count + 1) * sizeof(uint32_t));
	run->denial.goals = mor_alloc(goals * sizeof(uint32_t));
	run->denial.frames = mor_alloc(goals * sizeof(struct frame));
	return run->island.goals && run->island.negated && run->search.frames && run->search.trail &&
	       run->denial.goals && run->denial.frames;
}

static void free_tables(struct solving *run)
{
	mor_free(run->island.goals);
	mor_free(run->island.negated);
	mor_free(run->search.frames);
	mor_free(run->search.trail);
	mor_free(run->denial.goals);
	mor_free(run->denial.frames);
	mor_buf_fini(&run->search.why);
}

int mor_verifier_run(struct mor_verifier *verifier, mor_verify_fn *tell_fn, void *arg, mortise_error *err)
{
	struct solving run = { .v = verifier, .tell = tell_fn, .arg = arg, .search.v = verifier };
	int r = check_singletons(verifier, err);

	if (r < 0)
		return r;
	run.denial.island = &run.island;
	r = make_tables(&run) ? solve_islands(&run) : MORTISE_ENOMEM;
	free_tables(&run);
	if (r == MORTISE_ELIMIT)
		return mor_fail(err, r, "gave up after %llu steps: there are too many ways to meet the goals",
				(unsigned long long)verifier->opt.steps);
	if (r < 0)
		return mor_fail_memory(err);
	return run.failed;
}
