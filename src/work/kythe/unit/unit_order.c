/* SPDX-License-Identifier: Apache-2.0 */
#include "kythe/unit/unit_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static int by_digest_and_path(const void *a, const void *b)
{
	const struct mor_input *x = *(const struct mor_input *const *)a,
			       *y = *(const struct mor_input *const *)b;
	int order = strcmp(x->digest, y->digest);

	if (order == 0)
		order = strcmp(x->path, y->path);
	/* qsort() is not stable; of duplicates the first one stays. */
	return order ? order : (x > y) - (x < y);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_name(const void *a, const void *b)
{
	const struct mor_unit_env *x = *(const struct mor_unit_env *const *)a,
				  *y = *(const struct mor_unit_env *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x > y) - (x < y);
}

static int by_type(const void *a, const void *b)
{
	const struct mor_any *x = *(const struct mor_any *const *)a, *y = *(const struct mor_any *const *)b;
	int order = strcmp(x->type_url, y->type_url);

	return order ? order : (x > y) - (x < y);
}

/* Most writers leave them in this order already. */
static void sort_inputs(const struct mor_input **inputs, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (by_digest_and_path(&inputs[i - 1], &inputs[i]) > 0) {
			qsort(inputs, count, sizeof(*inputs), by_digest_and_path);
			return;
		}
}

static size_t drop_doubles(const struct mor_input **inputs, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (kept == 0 || strcmp(inputs[kept - 1]->digest, inputs[i]->digest) != 0 ||
		    strcmp(inputs[kept - 1]->path, inputs[i]->path) != 0)
			inputs[kept++] = inputs[i];
	return kept;
}

void mor_unit_order_fini(struct mor_unit_order *order)
{
	mor_free(order->inputs);
	mor_free(order->sources);
	mor_free(order->env);
	mor_free(order->details);
}

int mor_unit_order(const struct mor_unit *unit, struct mor_unit_order *ret)
{
	ret->inputs = mor_alloc(unit->input_count * sizeof(*ret->inputs));
	ret->sources = mor_alloc(unit->source_count * sizeof(*ret->sources));
	ret->env = mor_alloc(unit->env_count * sizeof(*ret->env));
	ret->details = mor_alloc(unit->detail_count * sizeof(*ret->details));
	if (!ret->inputs || !ret->sources || !ret->env || !ret->details)
		return MORTISE_ENOMEM;
	for (size_t i = 0; i < unit->input_count; i++)
		ret->inputs[i] = &unit->inputs[i];
	for (size_t i = 0; i < unit->source_count; i++)
		ret->sources[i] = unit->sources[i];
	for (size_t i = 0; i < unit->env_count; i++)
		ret->env[i] = &unit->env[i];
	for (size_t i = 0; i < unit->detail_count; i++)
		ret->details[i] = &unit->details[i];
	sort_inputs(ret->inputs, unit->input_count);
	qsort(ret->sources, unit->source_count, sizeof(*ret->sources), by_text);
	qsort(ret->env, unit->env_count, sizeof(*ret->env), by_name);
	qsort(ret->details, unit->detail_count, sizeof(*ret->details), by_type);
	ret->input_count = drop_doubles(ret->inputs, unit->input_count);
	return 0;
}

void mor_ordered_unit_fini(struct mor_ordered_unit *ordered)
{
	mor_free(ordered->unit.inputs);
	mor_free(ordered->unit.env);
	mor_free(ordered->unit.details);
	mor_unit_order_fini(&ordered->order);
}

int mor_ordered_unit(const struct mor_unit *from, struct mor_ordered_unit *to)
{
	struct mor_unit *unit = &to->unit;
	int r;

	*to = (struct mor_ordered_unit){ .unit = *from };
	unit->memory = NULL;
	unit->inputs = mor_alloc(from->input_count * sizeof(*unit->inputs));
	unit->env = mor_alloc(from->env_count * sizeof(*unit->env));
	unit->details = mor_alloc(from->detail_count * sizeof(*unit->details));
	if (!unit->inputs || !unit->env || !unit->details)
		return MORTISE_ENOMEM;
	if ((r = mor_unit_order(from, &to->order)) < 0)
		return r;
	unit->input_count = to->order.input_count;
	unit->sources = to->order.sources;
	for (size_t i = 0; i < unit->input_count; i++)
		unit->inputs[i] = *to->order.inputs[i];
	for (size_t i = 0; i < unit->env_count; i++)
		unit->env[i] = *to->order.env[i];
	for (size_t i = 0; i < unit->detail_count; i++)
		unit->details[i] = *to->order.details[i];
	return 0;
}
