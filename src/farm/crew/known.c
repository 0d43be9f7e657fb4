/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that a worker has seen. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "crew/inside.h"

#define KNOWN_LIMIT 8 /* runs whose archives stay open */

static struct known *free_known(struct known *known)
{
	if (!known)
		return NULL;
	if (known->kind)
		known->kind->unload(known);
	mor_crew_spec_fini(&known->spec);
	mor_free(known);
	return NULL;
}

void mor_known_free_all(struct crew_worker *worker)
{
	for (size_t i = 0; i < worker->known_count; i++)
		free_known(worker->known[i]);
	mor_free(worker->known);
}

void mor_known_release(struct known *known)
{
	known->users--;
	known->used_ms = mor_clock_ms();
}

static void forget_oldest(struct crew_worker *worker)
{
	size_t oldest = SIZE_MAX;

	for (size_t i = 0; i < worker->known_count; i++)
		if (!worker->known[i]->users &&
		    (oldest == SIZE_MAX || worker->known[i]->used_ms < worker->known[oldest]->used_ms))
			oldest = i;
	if (worker->known_count < KNOWN_LIMIT || oldest == SIZE_MAX)
		return;
	free_known(worker->known[oldest]);
	worker->known[oldest] = worker->known[--worker->known_count];
}

/* The same program must run on all machines. */
static int check_analyzer(const struct mor_crew_spec *spec, mortise_error *err)
{
	char files[MOR_DIGEST_SIZE];

	mor_crew_spec_files(spec, files);
	if (strcmp(files, spec->files) == 0)
		return 0;
	if (spec->plugins.count > 1)
		return mor_fail(err, MORTISE_EINPUT,
				"one of %zu plugins is not here, or is another one than the owner's: %s, …",
				spec->plugins.count, spec->plugins.item[0]);
	return mor_fail(err, MORTISE_EINPUT, "the %s %s is not here, or is another one than the owner's",
			strcmp(spec->command, "index") == 0 ? "analyzer" : "plugin",
			spec->plugins.count ? spec->plugins.item[0] :
			spec->analyzer      ? spec->analyzer :
			spec->argv          ? spec->argv[0] :
					      "");
}

static void fill_args(const struct crew_worker *worker, struct known *known)
{
	const struct mor_crew_spec *spec = &known->spec;

	known->args = (struct mor_plugin_args){ .set = spec->set,
						.config = spec->config,
						.timeout = spec->timeout,
						.network = spec->network,
						.level = spec->level,
						.on_denial = spec->on_denial,
						.dialect = spec->dialect,
						.strict = spec->strict,
						.confine = spec->confine,
						.unconfined = spec->unconfined };
	if (!worker->opt.confine)
		return;
	known->args.confine = true;
	known->args.unconfined = false;
	if (spec->level && strcmp(spec->level, "guarded") == 0)
		known->args.level = NULL;
}

static const struct crew_kind *const kinds[] = { &mor_crew_index, &mor_crew_extract };

static int find_kind(struct known *known, mortise_error *err)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(known->spec.command, kinds[i]->command) == 0)
			known->kind = kinds[i];
	return known->kind ? 0 : mor_fail(err, MORTISE_EINPUT, "it needs another version of mortise");
}

static int load_known(struct crew_worker *worker, const char *run, struct known **ret, mortise_error *err)
{
	struct known *known = mor_zalloc(sizeof(*known));
	int r;

	if (!known)
		return mor_fail_memory(err);
	memcpy(known->run, run, sizeof(known->run));
	r = mor_crew_spec_get(worker->depot, run, &known->spec, err);
	if (r == MORTISE_ENOTFOUND)
		mor_fail(err, r, "the store %s does not have this run: is it the owner's store?",
			 worker->opt.store);
	if (r == 0)
		r = check_analyzer(&known->spec, err);
	if (r == 0)
		r = find_kind(known, err);
	if (r == 0)
		r = known->kind->load(worker, known, err);
	if (r < 0) {
		free_known(known);
		return r;
	}
	fill_args(worker, known);
	*ret = known;
	return 0;
}

int mor_known_get(struct crew_worker *worker, const char *run, struct known **ret, mortise_error *err)
{
	struct known *known = NULL;
	int r;

	for (size_t i = 0; i < worker->known_count; i++)
		if (strcmp(worker->known[i]->run, run) == 0)
			known = worker->known[i];
	if (!known) {
		r = load_known(worker, run, &known, err);
		if (r < 0)
			return r;
		forget_oldest(worker);
		if (mor_grow(&worker->known, worker->known_count, &worker->known_cap, sizeof(known)) < 0) {
			free_known(known);
			return mor_fail_memory(err);
		}
		worker->known[worker->known_count++] = known;
	}
	known->users++;
	*ret = known;
	return 0;
}
