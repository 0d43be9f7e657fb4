/*
 * The name of a unit. Kythe's document and its code differ; this follows the code (kcd/kythe/units.go), as real archives
 * do: required inputs by digest and path without doubles, sources and environment by name, details by type, every text
 * closed by a NUL. has_compile_errors and the details of inputs do not count.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kythe/digest.h"
#include "kythe/unit.h"
#include "kythe/unit_order.h"

static int by_digest_and_path(const void *a, const void *b)
{
	const struct mor_input *x = *(const struct mor_input *const *)a, *y = *(const struct mor_input *const *)b;
	int order = strcmp(x->digest, y->digest);

	if (order == 0)
		order = strcmp(x->path, y->path);
	/* qsort() is not stable; of doubles the first one stays. */
	return order ? order : (x > y) - (x < y);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_name(const void *a, const void *b)
{
	const struct mor_unit_env *x = *(const struct mor_unit_env *const *)a, *y = *(const struct mor_unit_env *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x > y) - (x < y);
}

static int by_type(const void *a, const void *b)
{
	const struct mor_any *x = *(const struct mor_any *const *)a, *y = *(const struct mor_any *const *)b;
	int order = strcmp(x->type_url, y->type_url);

	return order ? order : (x > y) - (x < y);
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
	qsort(ret->inputs, unit->input_count, sizeof(*ret->inputs), by_digest_and_path);
	qsort(ret->sources, unit->source_count, sizeof(*ret->sources), by_text);
	qsort(ret->env, unit->env_count, sizeof(*ret->env), by_name);
	qsort(ret->details, unit->detail_count, sizeof(*ret->details), by_type);
	ret->input_count = drop_doubles(ret->inputs, unit->input_count);
	return 0;
}

static void add_text(struct sha256_ctx *sha, const char *text)
{
	mor_digest_add(sha, text, strlen(text) + 1);
}

static void add_tag(struct sha256_ctx *sha, const char *tag)
{
	mor_digest_add(sha, tag, strlen(tag));
}

static void add_vname(struct sha256_ctx *sha, const char *tag, const struct mor_vname *vname)
{
	add_tag(sha, tag);
	add_text(sha, vname->signature);
	add_text(sha, vname->corpus);
	add_text(sha, vname->root);
	add_text(sha, vname->path);
	add_text(sha, vname->language);
}

static void add_texts(struct sha256_ctx *sha, const char *tag, const char *const *texts, size_t count)
{
	add_tag(sha, tag);
	for (size_t i = 0; i < count; i++)
		add_text(sha, texts[i]);
}

static void add_input(struct sha256_ctx *sha, const struct mor_input *input)
{
	add_vname(sha, "RI\n", &input->vname);
	add_texts(sha, "IN\n", (const char *const[]){ input->path, input->digest }, 2);
}

static int add_detail(struct sha256_ctx *sha, const struct mor_any *any, mortise_error *err)
{
	if (any->json.ptr)
		return mor_fail(err, MORTISE_EUNSUPPORTED, "the details of the type \"%s\" are unknown here", any->type_url);
	add_tag(sha, "DET\n");
	add_text(sha, any->type_url);
	mor_digest_add(sha, any->value.ptr, any->value.len);
	mor_digest_add(sha, "", 1);
	return 0;
}

static int add_unit(struct sha256_ctx *sha, const struct mor_unit *unit, const struct mor_unit_order *order,
		    mortise_error *err)
{
	int r = 0;

	add_vname(sha, "CU\n", &unit->vname);
	for (size_t i = 0; i < order->input_count; i++)
		add_input(sha, order->inputs[i]);
	add_texts(sha, "ARG\n", unit->arguments, unit->argument_count);
	add_texts(sha, "OUT\n", &unit->output_key, 1);
	add_texts(sha, "SRC\n", order->sources, unit->source_count);
	add_texts(sha, "CWD\n", &unit->working_directory, 1);
	add_texts(sha, "CTX\n", &unit->entry_context, 1);
	for (size_t i = 0; i < unit->env_count; i++)
		add_texts(sha, "ENV\n", (const char *const[]){ order->env[i]->name, order->env[i]->value }, 2);
	for (size_t i = 0; r == 0 && i < unit->detail_count; i++)
		r = add_detail(sha, order->details[i], err);
	return r;
}

int mor_unit_digest(const struct mor_unit *unit, char ret_hex[65], mortise_error *err)
{
	MOR_CLEAN(mor_unit_order) struct mor_unit_order order = { 0 };
	struct sha256_ctx sha;
	int r = mor_unit_order(unit, &order);

	if (r < 0)
		return mor_fail(err, r, "out of memory");
	mor_digest_begin(&sha);
	r = add_unit(&sha, unit, &order, err);
	if (r == 0)
		mor_digest_end(&sha, ret_hex);
	return r;
}
