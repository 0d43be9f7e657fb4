/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a plan. Both sides have this file; the library needs it for its tests. The plan comes from the
 * program that started us and is sealed. Still we trust no size in it: a damaged plan must be refused, not
 * started.
 */
#include "policy/plan.h"

#include <stdlib.h>
#include <string.h>

#include "policy/network.h"

static size_t padded(uint32_t size)
{
	return ((size_t)size + 7) & ~(size_t)7;
}

/* The operation at `at`, if it is complete. */
static const struct mor_plan_op *op_at(const char *at, const char *end)
{
	const struct mor_plan_op *op = (const void *)at;

	if ((size_t)(end - at) < sizeof(*op) || (size_t)(end - at) - sizeof(*op) < padded(op->size))
		return NULL;
	return op;
}

static const char *behind_op(const struct mor_plan_op *op)
{
	return (const char *)(op + 1) + padded(op->size);
}

static bool is_text(const struct mor_plan_op *op, size_t from)
{
	const char *text = mor_plan_payload(op);

	return op->size > from && text[op->size - 1] == '\0';
}

static size_t count_texts(const struct mor_plan_op *op)
{
	const char *text = mor_plan_payload(op);
	size_t count = 0;

	for (uint32_t i = 0; i < op->size; i++)
		count += text[i] == '\0';
	return count;
}

static char **list_of(struct mor_plan_op *op, size_t *ret_count)
{
	size_t count = count_texts(op);
	char **list = calloc(count + 1, sizeof(*list)), *text = (char *)(op + 1);

	for (size_t i = 0; list && i < count; i++) {
		list[i] = text;
		text += strlen(text) + 1;
	}
	*ret_count = count;
	return list;
}

static enum mor_plan_fault read_list(struct mor_plan_op *op, char ***ret, size_t *ret_count)
{
	if (*ret || (op->size && !is_text(op, 0)))
		return MOR_PLAN_DAMAGED;
	*ret = list_of(op, ret_count);
	return *ret ? MOR_PLAN_OK : MOR_PLAN_NO_MEMORY;
}

static enum mor_plan_fault read_fixed(const struct mor_plan_op *op, void *into, size_t size)
{
	if (op->size != size)
		return MOR_PLAN_DAMAGED;
	memcpy(into, mor_plan_payload(op), size);
	return MOR_PLAN_OK;
}

static enum mor_plan_fault read_text(struct mor_plan_op *op, char **ret)
{
	if (!is_text(op, 0))
		return MOR_PLAN_DAMAGED;
	if (ret)
		*ret = (char *)(op + 1);
	return MOR_PLAN_OK;
}

static enum mor_plan_fault read_places(const struct mor_plan_op *op, struct mor_plan *plan)
{
	if (plan->places || op->size == 0 || op->size % sizeof(*plan->places))
		return MOR_PLAN_DAMAGED;
	plan->places = mor_plan_payload(op);
	plan->place_count = op->size / sizeof(*plan->places);
	return MOR_PLAN_OK;
}

static enum mor_plan_fault read_protect(const struct mor_plan_op *op)
{
	const struct mor_op_protect *protect = mor_plan_payload(op);
	bool known = is_text(op, sizeof(*protect)) && protect->why > MOR_PROTECT_NOT &&
		     protect->why <= MOR_PROTECT_BELOW;

	return known ? MOR_PLAN_OK : MOR_PLAN_DAMAGED;
}

static enum mor_plan_fault read_file(const struct mor_plan_op *op)
{
	const struct mor_op_file *file = mor_plan_payload(op);
	size_t len;

	if (!is_text(op, sizeof(*file)))
		return MOR_PLAN_DAMAGED;
	len = strlen(file->path) + 1;
	return !(file->flags & MOR_OP_FILE_LINK) || is_text(op, sizeof(*file) + len) ? MOR_PLAN_OK :
										       MOR_PLAN_DAMAGED;
}

static enum mor_plan_fault read_op(struct mor_plan_op *op, struct mor_plan *plan)
{
	switch (op->kind) {
	case MOR_OP_LEVEL:
		return read_fixed(op, &plan->level, sizeof(plan->level));
	case MOR_OP_HOST:
		return read_fixed(op, &plan->host, sizeof(plan->host));
	case MOR_OP_GRACE:
		return read_fixed(op, &plan->grace, sizeof(plan->grace));
	case MOR_OP_WALL:
		return read_fixed(op, &plan->wall_ms, sizeof(plan->wall_ms));
	case MOR_OP_ARGV:
		return read_list(op, &plan->argv, &plan->argc);
	case MOR_OP_ENV:
		return read_list(op, &plan->env, &plan->envc);
	case MOR_OP_CWD:
		return read_text(op, &plan->cwd);
	case MOR_OP_SCRATCH:
		return read_text(op, &plan->scratch);
	case MOR_OP_UNDO:
		return read_text(op, &plan->undo);
	case MOR_OP_HOSTS:
		return read_text(op, &plan->hosts);
	case MOR_OP_CHECKED:
		return read_text(op, &plan->checked);
	case MOR_OP_LISTEN:
		return read_text(op, &plan->listen);
	case MOR_OP_FILE:
		return read_file(op);
	case MOR_OP_NETWORK:
		return read_places(op, plan);
	case MOR_OP_PROTECT:
		return read_protect(op);
	case MOR_OP_GROUP:
		return is_text(op, sizeof(struct mor_op_group)) ? MOR_PLAN_OK : MOR_PLAN_DAMAGED;
	case MOR_OP_LIMIT:
		return op->size == sizeof(struct mor_op_limit) ? MOR_PLAN_OK : MOR_PLAN_DAMAGED;
	case MOR_OP_PATH:
		return is_text(op, sizeof(struct mor_op_path)) ? MOR_PLAN_OK : MOR_PLAN_DAMAGED;
	default:
		return MOR_PLAN_UNKNOWN_OP;
	}
}

enum mor_plan_fault mor_plan_read(void *bytes, size_t size, struct mor_plan *ret)
{
	const struct mor_plan_head *head = bytes;
	char *at = (char *)bytes + sizeof(*head), *end = (char *)bytes + size;
	enum mor_plan_fault fault = MOR_PLAN_OK;

	memset(ret, 0, sizeof(*ret));
	if (size < sizeof(*head) || head->magic != MOR_PLAN_MAGIC)
		return MOR_PLAN_NOT_ONE;
	if (head->version != MOR_PLAN_VERSION)
		return MOR_PLAN_OTHER_VERSION;
	ret->ops = (const void *)at;
	ret->end = (const void *)end;
	for (uint32_t i = 0; i < head->count && !fault; i++) {
		struct mor_plan_op *op = (struct mor_plan_op *)op_at(at, end);

		fault = op ? read_op(op, ret) : MOR_PLAN_DAMAGED;
		if (op)
			at = (char *)behind_op(op);
	}
	if (!fault && (at != end || !ret->argv || !ret->argc || !ret->env || ret->host < 1))
		return MOR_PLAN_DAMAGED;
	return fault;
}

void mor_plan_fini(struct mor_plan *plan)
{
	free(plan->argv);
	free(plan->env);
	plan->argv = plan->env = NULL;
}

const struct mor_plan_op *mor_plan_next(const struct mor_plan *plan, enum mor_plan_kind kind,
					const struct mor_plan_op *after)
{
	const struct mor_plan_op *op = after ? (const void *)behind_op(after) : plan->ops;

	for (; op < plan->end; op = (const void *)behind_op(op)) {
		if (op->kind == (uint32_t)kind)
			return op;
	}
	return NULL;
}
