/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a unit. Kythe's document and its code differ. We follow the code (kcd/kythe/units.go), as real
 * archives do: required inputs by digest and path without duplicates, sources and environment by name,
 * details by type, every text ended by a NUL. has_compile_errors and the details of inputs are left out.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/error.h"
#include "kythe/unit/unit_order.h"

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

static int add_detail(struct sha256_ctx *sha, const struct mor_any *any, mortise_error *err)
{
	if (any->json.ptr)
		return mor_fail(err, MORTISE_EUNSUPPORTED, "its details have the unknown type \"%s\"",
				any->type_url);
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
	for (size_t i = 0; i < order->input_count; i++) {
		add_vname(sha, "RI\n", &order->inputs[i]->vname);
		add_texts(sha, "IN\n",
			  (const char *const[]){ order->inputs[i]->path, order->inputs[i]->digest }, 2);
	}
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
		return mor_fail_memory(err);
	mor_digest_begin(&sha);
	r = add_unit(&sha, unit, &order, err);
	if (r == 0)
		mor_digest_end(&sha, ret_hex);
	return r;
}
