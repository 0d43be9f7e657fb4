/* SPDX-License-Identifier: Apache-2.0 */
/* See protect.h. The lists come with the plan (policy/protect.c). */
#include "jail/protect.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "jail/fold.h"
#include "jail/paths.h"

/* ---- making ---- */

static int add(struct mor_protects *protects, const char *text, enum mor_protect_why why)
{
	struct mor_protect protect = { .len = strlen(text), .why = (uint8_t)why };

	for (size_t i = 0; i < protects->count; i++)
		if (protects->list[i].why == why && strcmp(protects->list[i].text, text) == 0)
			return 0;
	if (mor_grow(&protects->list, protects->count, &protects->room, sizeof(*protects->list)) < 0)
		return -ENOMEM;
	protect.text = mor_strndup(text, protect.len);
	if (!protect.text)
		return -ENOMEM;
	protects->list[protects->count++] = protect;
	return 0;
}

int mor_protect_path(struct mor_protects *protects, const char *path, enum mor_protect_why why)
{
	char name[PATH_MAX], parent[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int status = mor_paths_canonical(path, name);

	if (status == 0)
		status = add(protects, name, why);
	if (status < 0 || slash == path || (size_t)(slash - path) >= sizeof(parent))
		return status;
	/* A link of that name must not be replaced either: so the name below its real parent is protected
	 * too. */
	memcpy(parent, path, (size_t)(slash - path));
	parent[slash - path] = 0;
	status = mor_paths_canonical(parent, name);
	if (status == 0 && strlen(name) + strlen(slash) < sizeof(name)) {
		memcpy(name + strlen(name), slash, strlen(slash) + 1);
		status = add(protects, name, why);
	}
	return status;
}

int mor_protect_name(struct mor_protects *protects, const char *name, enum mor_protect_why why)
{
	protects->repositories = protects->repositories || why == MOR_PROTECT_GIT;
	return add(protects, name, why);
}

void mor_protect_fini(struct mor_protects *protects)
{
	for (size_t i = 0; i < protects->count; i++)
		mor_free(protects->list[i].text);
	mor_free(protects->list);
	*protects = (struct mor_protects){ 0 };
}

/* ---- comparing ---- */

/* `part` lies in `name`, so what precedes it is its directory. */
static bool is_part(const char *name, const char *part, size_t len, const char *text, size_t text_len)
{
	if (len == text_len && memcmp(part, text, len) == 0)
		return true;
	return mor_fold_alike(part, len, text, text_len) && mor_fold_in(name, (size_t)(part - name) - 1);
}

/* Part by part, from `at` on. *rest: what follows those of the text. */
static enum mor_place compare_parts(const char *name, const char *at, const char *text, const char **rest)
{
	for (;; at++, text++) {
		size_t len = strcspn(at, "/"), text_len = strcspn(text, "/");

		if (!is_part(name, at, len, text, text_len))
			return MOR_PLACE_APART;
		at += len;
		text += text_len;
		*rest = *at ? at + 1 : at;
		if (!*text)
			return MOR_PLACE_WITHIN;
		if (!*at)
			return MOR_PLACE_ABOVE;
	}
}

enum mor_place mor_protect_compare(const char *name, size_t root, const char *path)
{
	const char *rest;

	if (!name[root] || strncmp(path, name, root) != 0 || path[root] != '/' || !path[root + 1])
		return MOR_PLACE_APART;
	return compare_parts(name, name + root + 1, path + root + 1, &rest);
}

/* ---- judging ---- */

enum { GRANTED = -1 }; /* beside enum mor_protect_why */

static int judge_git(const struct mor_protects *protects, const char *name, const char *rest,
		     enum mor_write_kind kind)
{
	if (protects->commits && mor_repository_commits(name, rest, kind))
		return GRANTED;
	return mor_repository_runs(rest) ? MOR_PROTECT_GIT_RUNS : MOR_PROTECT_GIT;
}

/* The text against the parts of the name from `at` on. */
static int judge_at(const struct mor_protects *protects, const struct mor_protect *protect, const char *name,
		    const char *at, const char *text, enum mor_write_kind kind)
{
	const char *rest;
	enum mor_place place = compare_parts(name, at, text, &rest);

	if (place == MOR_PLACE_ABOVE)
		return mor_protect_replaces(kind) ? MOR_PROTECT_BELOW : MOR_PROTECT_NOT;
	if (place == MOR_PLACE_APART)
		return MOR_PROTECT_NOT;
	return protect->why == MOR_PROTECT_GIT ? judge_git(protects, name, rest, kind) : protect->why;
}

static int judge_one(const struct mor_protects *protects, const struct mor_protect *protect, const char *name,
		     size_t root, enum mor_write_kind kind)
{
	int why = MOR_PROTECT_NOT;

	if (mor_protect_is_path(protect)) {
		if (protect->len <= root + 1 || strncmp(protect->text, name, root) != 0 ||
		    protect->text[root] != '/')
			return MOR_PROTECT_NOT;
		return judge_at(protects, protect, name, name + root + 1, protect->text + root + 1, kind);
	}
	for (const char *at = name + root + 1; why == MOR_PROTECT_NOT && *at; at += *at == '/') {
		why = judge_at(protects, protect, name, at, protect->text, kind);
		at += strcspn(at, "/");
	}
	return why;
}

/* Paths first. Then git, which may grant: a branch may be called like a file that tools run. */
static int turn_of(const struct mor_protect *protect)
{
	if (protect->why == MOR_PROTECT_GIT)
		return 1;
	return mor_protect_is_path(protect) ? 0 : 2;
}

enum mor_protect_why mor_protect_find(const struct mor_protects *protects, const char *name, size_t root,
				      bool anywhere, enum mor_write_kind kind)
{
	if (!name[root])
		return MOR_PROTECT_NOT;
	for (int turn = 0; turn <= 2; turn++)
		for (size_t i = 0; i < protects->count; i++) {
			const struct mor_protect *protect = &protects->list[i];
			int why;

			if (turn_of(protect) != turn || (!anywhere && !mor_protect_is_path(protect)))
				continue;
			why = judge_one(protects, protect, name, root, kind);
			if (why != MOR_PROTECT_NOT)
				return why == GRANTED ? MOR_PROTECT_NOT : (enum mor_protect_why)why;
		}
	return anywhere && protects->repositories ? mor_repository_find(name, root, kind) : MOR_PROTECT_NOT;
}
