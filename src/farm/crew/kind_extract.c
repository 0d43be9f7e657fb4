/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of mortise extract: units are files, the inputs of a run are lists of them (crew/files.h). */
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/sum.h"
#include "console/warned.h"
#include "content/content.h"
#include "crew/files.h"
#include "crew/inside.h"
#include "extract/extract.h"

/* How a file ended; its bytes are in the slot's writer. */
struct slot_file {
	uint64_t at, bytes, sum;
	int code;
	char *why;
};

/* A batch of files. */
struct slot_extract {
	struct mor_extract *run;
	struct mor_console console; /* its warnings belong into rows of this run alone */
	struct mor_extract_args args;
	const char **names;
	struct mor_extract_given *given;
	char **places; /* ours */
	struct slot_file *files;
	bool stopped;
};

static struct slot_extract *extract_of(const struct worker_slot *slot)
{
	return slot->own;
}

/* ---- the run ---- */

#define AT(name) offsetof(struct mor_crew_extract_spec, name)
static const struct mor_crew_member extract_members[] = {
	{ "source", AT(source) }, { "picked", AT(picked) },   { "metadata", AT(metadata) },
	{ "json", AT(json) },     { "options", AT(options) }, { 0 },
};

static int check_source(const void *own, mortise_error *err)
{
	const char *source = ((const struct mor_crew_extract_spec *)own)->source;

	if (source && (strcmp(source, "bytes") == 0 || strcmp(source, "path") == 0))
		return 0;
	return mor_fail(err, MORTISE_EINPUT, "its source is neither bytes nor path");
}

/* Of files: one for each input, read when it is needed. */
static struct mor_crew_files *lists_of(const struct known *known)
{
	return known->own;
}

static int load_extract(struct crew_worker *worker, struct known *known, mortise_error *err)
{
	(void)worker;
	known->own = mor_zalloc((known->spec.input_count + 1) * sizeof(struct mor_crew_files));
	return known->own ? 0 : mor_fail_memory(err);
}

static void unload_extract(struct known *known)
{
	for (size_t i = 0; known->own && i < known->spec.input_count; i++)
		mor_crew_files_fini(&lists_of(known)[i]);
	mor_free(known->own);
}

/* ---- files ---- */

static int find_file(struct worker_slot *slot, uint64_t unit, const struct mor_crew_file **ret,
		     mortise_error *err)
{
	const struct mor_crew_spec *spec = &slot->known->spec;
	struct mor_crew_files *lists = lists_of(slot->known);
	uint64_t first = 0;
	size_t i = 0;
	int r = 0;

	while (i < spec->input_count && unit - first >= spec->inputs[i].units)
		first += spec->inputs[i++].units;
	if (i == spec->input_count)
		return mor_fail(err, MORTISE_EINPUT, "the batch has units that the run does not have");
	if (!lists[i].files)
		r = mor_crew_files_get(slot->worker->depot, spec->inputs[i].digest, &lists[i], err);
	if (r == 0 && lists[i].count != spec->inputs[i].units)
		r = mor_fail(err, MORTISE_EINPUT, "a list has another number of files than the owner saw");
	if (r == 0)
		*ret = &lists[i].files[unit - first];
	return r;
}

/* A file that was not copied into the store must be the owner's here, too. */
static int check_place(const struct mor_crew_file *file, mortise_error *err)
{
	int fd = open(file->place, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char digest[MOR_DIGEST_SIZE] = "";
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		mor_content_hash_fd(fd, (uint64_t)st.st_size, digest, file->place, NULL);
	mor_fd_close(&fd);
	if (strcmp(digest, file->digest) == 0)
		return 0;
	return mor_fail(err, MORTISE_EINPUT, "%s is not here, or has other bytes than the owner saw",
			file->place);
}

static int check_stored(struct worker_slot *slot, const struct mor_crew_file *file, mortise_error *err)
{
	int fd = mor_depot_open_file(slot->worker->depot, MOR_DEPOT_FILE, file->digest, err);

	if (fd < 0)
		return fd;
	mor_fd_close(&fd);
	return 0;
}

static int take_file(struct worker_slot *slot, uint32_t number, mortise_error *err)
{
	struct slot_extract *x = slot->own;
	const struct mor_crew_file *file = NULL;
	int r = find_file(slot, slot->batch.first + number, &file, err);

	if (!file)
		return r;
	x->names[number] = file->name;
	x->given[number] = (struct mor_extract_given){ .place = file->place,
						       .mime = file->mime,
						       .extension = file->extension,
						       .code = file->code,
						       .why = file->why };
	if (file->code)
		return 0;
	if (*file->place)
		return check_place(file, err);
	x->places[number] = mor_depot_name(slot->worker->depot, MOR_DEPOT_FILE, file->digest);
	x->given[number].place = x->places[number];
	return x->places[number] ? check_stored(slot, file, err) : mor_fail_memory(err);
}

struct keyed {
	struct worker_slot *slot;
	char digest[MOR_DIGEST_SIZE];
};

static const char *file_digest(uint64_t unit, void *arg)
{
	struct keyed *keyed = arg;
	const struct mor_crew_file *file = NULL;

	if (find_file(keyed->slot, unit, &file, NULL) < 0)
		return "";
	mor_crew_file_digest(file, keyed->digest);
	return keyed->digest;
}

static int take_files(struct worker_slot *slot, mortise_error *err)
{
	struct slot_extract *x = slot->own;
	struct keyed keyed = { .slot = slot };
	uint32_t count = slot->batch.count;
	char key[MOR_DIGEST_SIZE];
	int r = 0;

	if (count == 0 || count > mor_crew_spec_units(&slot->known->spec))
		return mor_fail(err, MORTISE_EINPUT, "the batch has units that the run does not have");
	x->names = mor_zalloc((count + 1) * sizeof(*x->names));
	x->given = mor_zalloc(count * sizeof(*x->given));
	x->places = mor_zalloc(count * sizeof(*x->places));
	x->files = mor_zalloc(count * sizeof(*x->files));
	if (!x->names || !x->given || !x->places || !x->files)
		return mor_fail_memory(err);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = take_file(slot, i, err);
	if (r < 0)
		return r;
	mor_crew_key(slot->known->spec.work, slot->batch.first, count, file_digest, &keyed, key);
	return strcmp(key, slot->batch.key) == 0 ?
		       0 :
		       mor_fail(err, MORTISE_EINPUT, "its files are not those that the owner saw");
}

/* ---- rows ---- */

/* Of a file that failed, what its error has beside the text. The owner makes its line and its row of it. */
static void write_failure(struct worker_slot *slot, const struct mor_extract_job *job, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	mor_w_pair_int(&w, "os_errno", job->err.os_errno);
	mor_w_pair_int(&w, "rpc_code", job->err.rpc_code);
	if (job->err_data)
		mor_w_pair(&w, "data", job->err_data);
	mor_warned_write(&extract_of(slot)->console, &w);
	mor_w_end(&w);
}

static void keep_row(struct mor_extract_job *job, size_t number, void *arg)
{
	MOR_CLEAN(mor_buf) struct mor_buf failure = MOR_BUF_INIT;
	struct worker_slot *slot = arg;
	struct slot_extract *x = slot->own;
	struct slot_file *file = &x->files[number];
	struct mor_slice row = mor_buf_view(&job->row);

	if (job->err.code) {
		write_failure(slot, job, &failure);
		row = mor_buf_view(&failure);
		file->code = job->err.code;
		file->why = mor_strdup(job->err.text);
		/* what the owner saw fail will always fail; the rest may do better in a later run */
		slot->failed += !x->given[number].code;
	}
	mor_slot_ended(slot, number, x->names[number]);
	file->bytes = row.len;
	file->sum = mor_sum(row.ptr, row.len, 0);
	/* a store that is full is told when the batch has ended */
	if (!slot->broken.code)
		mor_segment_writer_put(slot->writer, row.ptr, row.len, &slot->broken);
	if (!slot->broken.code)
		mor_segment_writer_end(slot->writer, true, &file->at, &slot->broken);
}

/* ---- the batch ---- */

static void close_extract(struct slot_extract *x)
{
	x->run = mor_extract_free(x->run);
	mor_text_list_free_texts(&x->console.warned);
}

static void drop_extract(struct worker_slot *slot)
{
	close_extract(slot->own);
	mor_free(slot->own);
	slot->own = NULL;
}

static void fill_extract_args(struct worker_slot *slot)
{
	const struct mor_crew_spec *spec = &slot->known->spec;
	const struct mor_crew_extract_spec *own = spec->own;

	extract_of(slot)->args = (struct mor_extract_args){ .plugins = spec->programs,
							    .picked = own->picked,
							    .command = spec->argv,
							    .options = own->options,
							    .jobs = 1,
							    .retries = spec->retries,
							    .source = own->source,
							    .max_size = SIZE_MAX,
							    .metadata = own->metadata,
							    .json = own->json,
							    .plugin = &spec->plugin,
							    .settled = keep_row,
							    .arg = slot };
}

static int open_extract(struct worker_slot *slot, mortise_error *err)
{
	struct slot_extract *x = slot->own;
	int r;

	x->console = *slot->worker->opt.console;
	x->console.json = x->args.json;
	x->console.warned = (struct mor_text_list){ 0 };
	r = mor_extract_new(&x->console, &x->args, &x->run, err);
	return r < 0 ? r : mor_slot_watch(slot, mor_extract_host(x->run), err);
}

static int begin_extract(struct worker_slot *slot, mortise_error *err)
{
	struct slot_extract *x = slot->own ? slot->own : (slot->own = mor_zalloc(sizeof(*x)));
	int r = x ? take_files(slot, err) : mor_fail_memory(err);

	if (r < 0)
		return r;
	x->stopped = false;
	if (!x->run)
		fill_extract_args(slot);
	x->args.files = x->names;
	x->args.file_count = slot->batch.count;
	x->args.given = x->given;
	if (!x->run)
		return open_extract(slot, err);
	mor_extract_again(x->run);
	return 0;
}

static int step_extract(struct worker_slot *slot)
{
	if (slot->own && extract_of(slot)->run)
		mor_extract_step(extract_of(slot)->run);
	return -1;
}

static bool extract_finished(const struct worker_slot *slot)
{
	const mortise_error *failure;

	return extract_of(slot)->stopped || mor_extract_over(extract_of(slot)->run, &failure);
}

static const mortise_error *extract_failure(const struct worker_slot *slot)
{
	const mortise_error *failure;

	mor_extract_over(extract_of(slot)->run, &failure);
	return failure;
}

static void stop_extract(struct worker_slot *slot, bool now)
{
	(void)now;
	extract_of(slot)->stopped = true;
}

static void tell_file(struct worker_slot *slot, size_t number, struct mor_segment_unit *unit)
{
	const struct slot_file *file = &extract_of(slot)->files[number];

	unit->bytes = file->bytes;
	unit->sum = file->sum;
	unit->attempts = 1;
	unit->code = file->code;
	unit->name = mor_slice_of(extract_of(slot)->names[number]);
	unit->why = mor_slice_of(file->why ? file->why : "");
	unit->at = file->at;
}

/* Plugins in the middle of something, or that cannot be used, are of no use for the next batch. */
static bool end_extract(struct worker_slot *slot)
{
	struct slot_extract *x = slot->own;
	const mortise_error *failure = NULL;

	if (!x)
		return false;
	if (!x->run || x->stopped || !mor_extract_over(x->run, &failure) || failure)
		close_extract(x);
	for (uint32_t i = 0; i < slot->batch.count; i++) {
		if (x->places)
			mor_free(x->places[i]);
		if (x->files)
			mor_free(x->files[i].why);
	}
	mor_free(x->places);
	mor_free(x->files);
	mor_free(x->names);
	mor_free(x->given);
	x->places = NULL;
	x->files = NULL;
	x->names = NULL;
	x->given = NULL;
	if (!x->run)
		drop_extract(slot);
	return slot->own;
}

const struct mor_crew_kind mor_crew_kind_extract = {
	.command = "extract",
	.program = "plugin",
	.programs = "plugins",
	.own_size = sizeof(struct mor_crew_extract_spec),
	.members = extract_members,
	.check = check_source,
	.load = load_extract,
	.unload = unload_extract,
	.begin = begin_extract,
	.step = step_extract,
	.finished = extract_finished,
	.failure = extract_failure,
	.stop = stop_extract,
	.unit = tell_file,
	.end = end_extract,
	.drop = drop_extract,
};
