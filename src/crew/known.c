/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that a worker has seen. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "crew/inside.h"

#define KNOWN_LIMIT 8 /* runs whose archives stay open */
#define RULES_LIMIT ((size_t)64 << 20)

static struct known *free_known(struct known *known)
{
	if (!known)
		return NULL;
	for (size_t i = 0; known->kzips && i < known->spec.kzip_count; i++)
		mor_kzip_free(known->kzips[i]);
	mor_free(known->kzips);
	mor_vname_rules_free(known->rules);
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

	mor_crew_analyzer(spec->analyzer, spec->argv, files);
	if (strcmp(files, spec->files) == 0)
		return 0;
	return mor_fail(err, MORTISE_EINPUT, "the analyzer %s is not here, or is another one than the owner's",
			spec->analyzer ? spec->analyzer :
			spec->argv     ? spec->argv[0] :
					 "");
}

static int load_known_rules(const struct crew_worker *worker, struct known *known, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	int r;

	if (!known->spec.vnames[0])
		return 0;
	r = mor_depot_get_text(worker->depot, MOR_DEPOT_SPEC, known->spec.vnames, RULES_LIMIT, &text, err);
	return r < 0 ? r : mor_vname_rules_parse("vnames", mor_buf_view(&text), &known->rules, err);
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
						.confine = spec->confine,
						.unconfined = spec->unconfined };
	if (!worker->opt.confine)
		return;
	known->args.confine = true;
	known->args.unconfined = false;
	if (spec->level && strcmp(spec->level, "guarded") == 0)
		known->args.level = NULL;
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
			 mor_depot_path(worker->depot));
	if (r == 0)
		r = check_analyzer(&known->spec, err);
	if (r == 0)
		r = load_known_rules(worker, known, err);
	if (r == 0) {
		known->kzips = mor_zalloc((known->spec.kzip_count + 1) * sizeof(struct mor_kzip *));
		r = known->kzips ? 0 : mor_fail_memory(err);
	}
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

/* ---- records ---- */

/* Its bytes are checked once. */
static int open_known_kzip(struct crew_worker *worker, struct known *known, size_t number, mortise_error *err)
{
	const struct mor_crew_kzip *kzip = &known->spec.kzips[number];
	MOR_CLEAN_TEXT char *path = mor_depot_name(worker->depot, MOR_DEPOT_KZIP, kzip->digest);
	int fd, r;

	if (known->kzips[number])
		return 0;
	if (!path)
		return mor_fail_memory(err);
	fd = mor_depot_open_file(worker->depot, MOR_DEPOT_KZIP, kzip->digest, err);
	if (fd < 0)
		return fd;
	mor_fd_close(&fd);
	r = mor_kzip_open(path, &(struct mor_kzip_options){ 0 }, &known->kzips[number], err);
	if (r == 0 && mor_kzip_unit_count(known->kzips[number]) != kzip->units)
		r = mor_fail(err, MORTISE_EINPUT, "%s has another number of records than the owner saw", path);
	return r;
}

static const char *ref_digest(uint64_t unit, void *arg)
{
	const struct mor_record_ref *refs = arg;

	return mor_kzip_unit_digest(refs[unit].kzip, refs[unit].number);
}

static int fill_refs(struct crew_worker *worker, struct known *known, const struct mor_farm_batch *batch,
		     struct mor_record_ref *refs, mortise_error *err)
{
	uint64_t first = 0;
	size_t filled = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < known->spec.kzip_count; i++) {
		uint64_t end = first + known->spec.kzips[i].units;

		for (uint64_t unit = batch->first + filled; r == 0 && filled < batch->count && unit < end;
		     unit++) {
			r = open_known_kzip(worker, known, i, err);
			refs[filled++] = (struct mor_record_ref){ known->kzips[i], (size_t)(unit - first) };
		}
		first = end;
	}
	return r < 0 ? r :
	       filled == batch->count ?
		       0 :
		       mor_fail(err, MORTISE_EINPUT, "the batch has units that the run does not have");
}

int mor_known_refs(struct crew_worker *worker, struct known *known, const struct mor_farm_batch *batch,
		   struct mor_record_ref **ret, mortise_error *err)
{
	uint64_t units = mor_crew_spec_units(&known->spec);
	struct mor_record_ref *refs;
	char key[MOR_DIGEST_SIZE];
	int r;

	if (batch->count == 0 || batch->first >= units || batch->count > units - batch->first)
		return mor_fail(err, MORTISE_EINPUT, "the batch has units that the run does not have");
	refs = mor_zalloc(batch->count * sizeof(*refs));
	if (!refs)
		return mor_fail_memory(err);
	r = fill_refs(worker, known, batch, refs, err);
	if (r == 0) {
		mor_crew_key(known->spec.work, 0, batch->count, ref_digest, refs, key);
		if (strcmp(key, batch->key) != 0)
			r = mor_fail(err, MORTISE_EINPUT,
				     "its records are not those that the owner saw: an archive has changed");
	}
	if (r < 0) {
		mor_free(refs);
		return r;
	}
	*ret = refs;
	return 0;
}
