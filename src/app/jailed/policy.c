/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "jailed/inside.h"
#include "policy/policy.h"
#include "runner/network.h"

int mor_jailed_policy_add(struct mor_text_list *policy, const char *key, const char *value, mortise_error *err)
{
	char *pair = mor_text_format("%s=%s", key, value);

	if (pair && mor_text_list_add(policy, pair) == 0)
		return 0;
	mor_free(pair);
	return mor_fail_memory(err);
}

static int add_path(struct mor_text_list *policy, const char *option, const char *key, const char *path,
		    mortise_error *err)
{
	char real[PATH_MAX];

	if (!realpath(path, real))
		return mor_fail_errno(err, MORTISE_ENOTFOUND, errno, "--%s %s", option, path);
	return mor_jailed_policy_add(policy, key, real, err);
}

static int add_network(struct mor_text_list *policy, const struct mor_text_list *words, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf value = MOR_BUF_INIT;
	int r = mor_network_value(words, &value, err);

	if (r < 0 || !words->count)
		return r;
	return mor_buf_byte(&value, '\0') < 0 ? mor_fail_memory(err) :
						mor_jailed_policy_add(policy, "network", value.data, err);
}

static int add_limit(struct mor_text_list *policy, const char *word, mortise_error *err)
{
	const char *equals = strchr(word, '=');
	const struct mor_policy_key *key = mor_policy_keys;
	struct mor_slice name = { word, equals ? (size_t)(equals - word) : strlen(word) };

	while (key->name && !((key->flags & MOR_POLICY_LIMIT) && mor_slice_is(name, key->name)))
		key++;
	if (!equals || !key->name)
		return mor_fail(err, MORTISE_EINVAL,
				"--limit \"%s\": expected NAME=VALUE with memory, cpu, files, file_size, wall, "
				"processes, threads or scratch_size",
				word);
	return mor_jailed_policy_add(policy, key->name, equals + 1, err);
}

static int check_plan(const struct mor_jailed_plan *plan, mortise_error *err)
{
	const char *odd = plan->git ? "git" : plan->unprotect.count ? "unprotect" : plan->undo ? "undo" : NULL;

	if (plan->write && !plan->workspace)
		return mor_fail(err, MORTISE_EINVAL, "--write needs --workspace DIR");
	if (odd && !plan->write)
		return mor_fail(err, MORTISE_EINVAL, "--%s needs --workspace DIR and --write", odd);
	return 0;
}

int mor_jailed_policy(const struct mor_jailed_plan *plan, struct mor_text_list *ret, mortise_error *err)
{
	const struct {
		const char *key, *value;
	} texts[] = {
		{ "level", plan->level ? plan->level : "auto" },    { "on_denial", plan->on_denial },
		{ "workspace_write", plan->write ? "true" : NULL }, { "git", plan->git ? "true" : NULL },
		{ "spawn", plan->spawn ? "true" : NULL },           { "pidns", plan->pidns ? "true" : NULL }
	};
	const struct {
		const char *option, *key, *path;
	} paths[] = { { "workspace", "workspace", plan->workspace },
		      { "plugin-dir", "plugin_dir", plan->plugin_dir },
		      { "scratch", "scratch", plan->scratch } };
	int r = check_plan(plan, err);

	for (size_t i = 0; r == 0 && i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].value)
			r = mor_jailed_policy_add(ret, texts[i].key, texts[i].value, err);
	for (size_t i = 0; r == 0 && i < sizeof(paths) / sizeof(*paths); i++)
		if (paths[i].path)
			r = add_path(ret, paths[i].option, paths[i].key, paths[i].path, err);
	if (r == 0)
		r = add_network(ret, &plan->network, err);
	for (size_t i = 0; r == 0 && i < plan->read.count; i++)
		r = add_path(ret, "read", "read", plan->read.item[i], err);
	for (size_t i = 0; r == 0 && i < plan->unprotect.count; i++)
		r = mor_jailed_policy_add(ret, "unprotect", plan->unprotect.item[i], err);
	for (size_t i = 0; r == 0 && i < plan->limit.count; i++)
		r = add_limit(ret, plan->limit.item[i], err);
	return r;
}
