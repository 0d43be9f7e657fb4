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
	if (known->spec.kind)
		known->spec.kind->unload(known);
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
	const struct mor_text_list *programs = &spec->programs;

	mor_crew_spec_files(spec, files);
	if (strcmp(files, spec->files) == 0)
		return 0;
	if (programs->count > 1)
		return mor_fail(err, MORTISE_EINPUT,
				"one of %zu plugins is not here, or is another one than the owner's: %s, …",
				programs->count, programs->item[0]);
	return mor_fail(err, MORTISE_EINPUT, "the %s %s is not here, or is another one than the owner's",
			spec->kind->program,
			programs->count ? programs->item[0] :
			spec->argv      ? spec->argv[0] :
					  "");
}

/* What this worker wants of the plugins of all runs. */
static void confine_known(const struct crew_worker *worker, struct mor_plugin_args *plugin)
{
	if (!worker->opt.confine)
		return;
	plugin->confine = true;
	plugin->unconfined = false;
	if (plugin->level && strcmp(plugin->level, "guarded") == 0)
		plugin->level = NULL;
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
	r = r ? r : check_analyzer(&known->spec, err);
	r = r ? r : known->spec.kind->load(worker, known, err);
	if (r < 0) {
		free_known(known);
		return r;
	}
	confine_known(worker, &known->spec.plugin);
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
		if ((r = load_known(worker, run, &known, err)) < 0)
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
