/* SPDX-License-Identifier: Apache-2.0 */
#include "resolved/resolved.h"

#include "base/alloc.h"
#include "base/error.h"
#include "guard/vetting.h"

static struct mor_manifest_query query_of(const mortise_plugin_options *opt)
{
	return (struct mor_manifest_query){
		.path = opt->path,
		.argv = opt->argv,
		.name = opt->name,
		.dialect = opt->dialect,
		.set = opt->set,
		.env = opt->env,
		.config = opt->config,
	};
}

int mor_resolved_new(const mortise_plugin_options *opt, unsigned flags, struct mor_resolved **ret,
		     mortise_error *err)
{
	struct mor_manifest_query query = query_of(opt);
	struct mor_resolved *resolved = mor_zalloc(sizeof(*resolved));
	int r;

	if (!resolved)
		return mor_fail_memory(err);
	resolved->refs = 1;
	r = mor_vetting_find(opt->path, &resolved->vetting, &resolved->granted_network, err);
	query.more = flags & MOR_RESOLVED_MORE;
	query.embedded = flags & MOR_RESOLVED_EMBEDDED;
	query.installed = resolved->vetting ? resolved->vetting->name : NULL;
	if (r == 0)
		r = mor_manifest_load(&query, &resolved->manifest, err);
	if (r < 0) {
		mor_resolved_unref(resolved);
		return r;
	}
	resolved->manifest->confine = resolved->vetting && resolved->vetting->confine;
	resolved->dialect = mor_dialect_find(resolved->manifest->dialect);
	*ret = resolved;
	return 0;
}

int mor_resolved_more(struct mor_resolved *resolved, const mortise_plugin_options *opt, mortise_error *err)
{
	struct mor_manifest_query query = query_of(opt);

	return mor_manifest_more(resolved->manifest, &query, err);
}

struct mor_resolved *mor_resolved_ref(struct mor_resolved *resolved)
{
	resolved->refs++;
	return resolved;
}

struct mor_resolved *mor_resolved_unref(struct mor_resolved *resolved)
{
	if (!resolved || --resolved->refs)
		return NULL;
	mor_vetting_free(resolved->vetting);
	mor_manifest_free(resolved->manifest);
	mor_free(resolved);
	return NULL;
}
