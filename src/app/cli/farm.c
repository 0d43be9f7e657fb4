/* SPDX-License-Identifier: Apache-2.0 */
/* mortise farm: the database and the store of a farm. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/inside.h"
#include "console/report.h"
#include "console/signals.h"
#include "depot/segment.h"
#include "engine/farm.h"
#include "wire/json.h"

#define WATCH_MS     1000
#define DEFAULT_DAYS 30

struct asking {
	struct mor_cli *cli;
	struct mor_farm *farm;
	struct mor_buf answer;
	bool answered;
};

static void farm_warning(const char *text, void *arg)
{
	mor_note(((struct asking *)arg)->cli->console, "warning: %s", text);
}

static void take_answer(const struct mor_farm_reply *reply, void *arg)
{
	struct asking *x = arg;

	mor_buf_reset(&x->answer, SIZE_MAX);
	mor_buf_text(&x->answer, reply->text);
	mor_buf_byte(&x->answer, '\0');
	x->answered = true;
}

/* Runs the farm for `ms`, or until there is an answer (-1). MORTISE_ECANCELED: a signal came. */
static int wait_farm(struct asking *x, int ms, mortise_error *err)
{
	struct pollfd fd = { .fd = mor_farm_fd(x->farm), .events = POLLIN };

	while (!x->answered) {
		int wait = mor_farm_step(x->farm);
		const mortise_error *failure = mor_farm_failure(x->farm);

		if (failure) {
			*err = *failure;
			return failure->code;
		}
		if (x->answered)
			break;
		mor_signals_poll(&fd, mor_clock_sooner(wait, ms));
		if (mor_signals_count())
			return MORTISE_ECANCELED;
		if (ms >= 0)
			break;
	}
	return 0;
}

static int ask_farm(struct asking *x, enum mor_farm_question question, uint64_t number, mortise_error *err)
{
	int r;

	x->answered = false;
	r = mor_farm_ask(x->farm, question, number, take_answer, x);
	if (r == 0)
		r = wait_farm(x, -1, err);
	if (r == 0 && mor_buf_failed(&x->answer))
		r = MORTISE_ENOMEM;
	return r == MORTISE_ENOMEM ? mor_fail_memory(err) : r;
}

/* ---- status ---- */

static const char *shown(const struct mor_value *object, const char *name, char *out, size_t size)
{
	return mor_printable(mor_json_string(mor_json_get(object, name)), out, size);
}

static int64_t counted(const struct mor_value *object, const char *name)
{
	return mor_json_int(mor_json_get(object, name), 0);
}

static void show_runs(struct mor_console *console, const struct mor_value *runs)
{
	struct mor_json_iter it = mor_json_iter(runs);
	char title[60], state[20], owner[60];

	mor_outf(console, "%-10s %-9s %15s %7s %6s %6s %5s %6s  %s\n", "run", "state", "units", "failed",
		 "wait", "leased", "ready", "seen", "input, owner");
	while (mor_json_next(&it))
		mor_outf(console,
			 "%-10.10s %-9s %7" PRId64 "/%-7" PRId64 " %7" PRId64 " %6" PRId64 " %6" PRId64
			 " %5" PRId64 " %5" PRId64 "s  %s, %s%s\n",
			 mor_json_text(mor_json_get(it.value, "run"), ""),
			 shown(it.value, "state", state, sizeof(state)), counted(it.value, "next"),
			 counted(it.value, "units"), counted(it.value, "failed"), counted(it.value, "waiting"),
			 counted(it.value, "leased"), counted(it.value, "ready"), counted(it.value, "seen_s"),
			 shown(it.value, "title", title, sizeof(title)),
			 shown(it.value, "owner", owner, sizeof(owner)),
			 counted(it.value, "poisoned") ? "; has poisoned batches" : "");
}

static void show_workers(struct mor_console *console, const struct mor_value *workers)
{
	struct mor_json_iter it = mor_json_iter(workers);
	char name[80], trouble[400];

	mor_outf(console, "\n%-30s %5s %5s %9s %7s %8s %6s\n", "worker", "jobs", "busy", "units", "failed",
		 "units/s", "seen");
	while (mor_json_next(&it)) {
		mor_outf(console,
			 "%-30s %5" PRId64 " %5" PRId64 " %9" PRId64 " %7" PRId64 " %8.2f %5" PRId64 "s\n",
			 shown(it.value, "worker", name, sizeof(name)), counted(it.value, "jobs"),
			 counted(it.value, "busy"), counted(it.value, "units"), counted(it.value, "failed"),
			 mor_json_double(mor_json_get(it.value, "rate"), 0), counted(it.value, "seen_s"));
		if (*shown(it.value, "trouble", trouble, sizeof(trouble)))
			mor_outf(console, "  in trouble: %s\n", trouble);
	}
}

static void show_slowest(struct mor_console *console, const struct mor_value *slowest)
{
	struct mor_json_iter it = mor_json_iter(slowest);
	char name[80];

	if (mor_json_size(slowest))
		mor_outf(console, "\n%-30s %6s %7s  %s\n", "slowest batches", "time", "claims", "worker");
	while (mor_json_next(&it))
		mor_outf(console, "%-10.10s %9" PRId64 " +%-8" PRId64 " %5" PRId64 "s %7" PRId64 "  %s\n",
			 mor_json_text(mor_json_get(it.value, "run"), ""), counted(it.value, "first"),
			 counted(it.value, "count"), counted(it.value, "seconds"), counted(it.value, "claims"),
			 shown(it.value, "worker", name, sizeof(name)));
}

static void show_slow_units(struct mor_console *console, const struct mor_value *units)
{
	struct mor_json_iter it = mor_json_iter(units);
	char name[200], worker[80];

	if (mor_json_size(units))
		mor_outf(console, "\n%-10s %9s %8s  %s\n", "slow units", "unit", "time", "name, worker");
	while (mor_json_next(&it))
		mor_outf(console, "%-10.10s %9" PRId64 " %7.1fs  %s, %s\n",
			 mor_json_text(mor_json_get(it.value, "run"), ""), counted(it.value, "unit"),
			 mor_json_double(mor_json_get(it.value, "seconds"), 0),
			 shown(it.value, "name", name, sizeof(name)),
			 shown(it.value, "worker", worker, sizeof(worker)));
}

static void show_failed_units(struct mor_console *console, const struct mor_value *units,
			      const struct mor_value *runs)
{
	struct mor_json_iter it = mor_json_iter(units), run = mor_json_iter(runs);
	int64_t more = -(int64_t)mor_json_size(units);
	char name[200], why[200];

	if (!mor_json_size(units))
		return;
	mor_outf(console, "\n%-10s %11s  %s\n", "failed", "unit", "name: why");
	while (mor_json_next(&it))
		mor_outf(console, "%-10.10s %11" PRId64 "  %s: %s\n",
			 mor_json_text(mor_json_get(it.value, "run"), ""), counted(it.value, "unit"),
			 shown(it.value, "name", name, sizeof(name)), shown(it.value, "why", why, sizeof(why)));
	while (mor_json_next(&run))
		more += counted(run.value, "failed");
	if (more > 0)
		mor_outf(console, "and %" PRId64 " more: the owner names all, and so does its --report\n",
			 more);
}

static int show_status(struct asking *x, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_slice json = { x->answer.data, strlen(x->answer.data) };
	struct mor_console *console = x->cli->console;
	const struct mor_value *root;
	int r;

	if (console->json) {
		mor_out_json(console, json);
		return 0;
	}
	if ((r = mor_doc_parse(json, 0, 0, &doc, err)) < 0)
		return r;
	root = mor_doc_root(doc);
	show_runs(console, mor_json_get(root, "runs"));
	show_workers(console, mor_json_get(root, "workers"));
	show_slowest(console, mor_json_get(root, "slowest"));
	show_slow_units(console, mor_json_get(root, "slow_units"));
	show_failed_units(console, mor_json_get(root, "failed_units"), mor_json_get(root, "runs"));
	return 0;
}

static int run_status(struct asking *x, mortise_error *err)
{
	const struct farm_args *args = x->cli->args;
	int r = ask_farm(x, MOR_FARM_STATUS, 0, err);

	if (r == 0)
		r = show_status(x, err);
	while (r == 0 && args->watch && !mor_out_broken(x->cli->console)) {
		mor_out_flush(x->cli->console);
		x->answered = false;
		r = wait_farm(x, WATCH_MS, err);
		if (r == 0)
			r = ask_farm(x, MOR_FARM_STATUS, 0, err);
		if (r == 0 && x->cli->console->out_terminal)
			mor_out_text(x->cli->console, "\033[H\033[J"); /* to the corner, and clears the rest */
		if (r == 0)
			r = show_status(x, err);
	}
	return r;
}

/* ---- the others ---- */

static int run_init(struct asking *x, mortise_error *err)
{
	const struct farm_args *args = x->cli->args;
	struct mor_depot *depot = NULL;
	int r = args->store ? mor_depot_open(args->store, MOR_DEPOT_OWN, &depot, err) : 0;

	mor_depot_free(depot);
	if (r == 0)
		r = ask_farm(x, MOR_FARM_INIT, 0, err);
	if (r == 0 && x->cli->console->json)
		mor_out_json(x->cli->console, mor_slice_of("{\"ok\":true}"));
	else if (r == 0)
		mor_note(x->cli->console,
			 "the farm is ready; its roles are mortise_farm_owner and mortise_farm_worker");
	return r;
}

/* The answer is a JSON object already. */
static void show_counts(struct asking *x)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_slice json = { x->answer.data, strlen(x->answer.data) };
	const struct mor_value *root;

	if (x->cli->console->json) {
		mor_out_json(x->cli->console, json);
		return;
	}
	mor_doc_parse(json, 0, 0, &doc, NULL);
	root = mor_doc_root(doc);
	if (mor_json_get(root, "batches"))
		mor_note(x->cli->console, "%" PRId64 " %s again", counted(root, "batches"),
			 counted(root, "batches") == 1 ? "batch waits" : "batches wait");
	else
		mor_note(x->cli->console, "forgot %" PRId64 " %s and %" PRId64 " %s", counted(root, "runs"),
			 counted(root, "runs") == 1 ? "run" : "runs", counted(root, "workers"),
			 counted(root, "workers") == 1 ? "worker" : "workers");
}

static int run_retry(struct asking *x, mortise_error *err)
{
	int r = ask_farm(x, MOR_FARM_RETRY, 0, err);

	if (r == 0)
		show_counts(x);
	return r;
}

static int keep_manifest(struct mor_depot_keep *keep, const char *path, mortise_error *err)
{
	struct mor_segment_list list = { 0 };
	int r = mor_segment_list_read(path, &list, err);

	if (r == 0)
		return mor_fail(err, MORTISE_EINPUT, "--keep %s: it is no manifest", path);
	for (size_t i = 0; r > 0 && i < list.count; i++) {
		if (mor_grow(&keep->digests, keep->count, &keep->cap, MOR_DIGEST_SIZE) < 0)
			r = mor_fail_memory(err);
		else
			memcpy(keep->digests[keep->count++], list.parts[i].segment, MOR_DIGEST_SIZE);
	}
	mor_segment_list_fini(&list);
	return r < 0 ? r : 0;
}

/* One object: what the farm forgot, and what was removed from the store. */
static int join_swept(struct mor_buf *answer, const struct mor_depot_swept *swept, mortise_error *err)
{
	char *end = strrchr(answer->data, '}');

	if (!end)
		return mor_fail(err, MORTISE_EINPUT, "the farm's answer is no object");
	answer->len = (size_t)(end - answer->data);
	mor_buf_printf(answer, ",\"files\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", swept->files, swept->bytes);
	mor_buf_byte(answer, '\0');
	return mor_buf_failed(answer) ? mor_fail_memory(err) : 0;
}

/* What the farm forgot is told before a store that cannot be swept is. */
static int sweep_store(struct asking *x, struct mor_depot *depot, unsigned days, struct mor_depot_keep *keep,
		       mortise_error *err)
{
	struct mor_depot_swept swept = { 0 };
	char bytes[32];
	int r;

	if (!x->cli->console->json)
		show_counts(x);
	r = mor_depot_sweep(depot, days, keep, &swept, err);
	if (r == 0 && x->cli->console->json) {
		r = join_swept(&x->answer, &swept, err);
		if (r == 0)
			show_counts(x);
	} else if (r == 0) {
		mor_note(x->cli->console, "removed %" PRIu64 " %s from the store, %s", swept.files,
			 swept.files == 1 ? "file" : "files", mor_format_bytes(swept.bytes, bytes));
	}
	return r;
}

static int run_gc(struct asking *x, mortise_error *err)
{
	const struct farm_args *args = x->cli->args;
	unsigned days = args->days.given ? args->days.value : DEFAULT_DAYS;
	struct mor_depot_keep keep = { 0 };
	struct mor_depot *depot = NULL;
	int r = args->store ? mor_depot_open(args->store, MOR_DEPOT_WORK, &depot, err) : 0;

	for (size_t i = 0; r == 0 && i < args->keep.count; i++)
		r = keep_manifest(&keep, args->keep.item[i], err);
	if (r == 0)
		r = ask_farm(x, MOR_FARM_GC, days, err);
	if (r == 0 && depot)
		r = sweep_store(x, depot, days, &keep, err);
	else if (r == 0)
		show_counts(x);
	mor_depot_free(depot);
	mor_free(keep.digests);
	return r;
}

static const struct {
	const char *name;
	int (*run)(struct asking *x, mortise_error *err);
} verbs[] = {
	{ "init", run_init },
	{ "status", run_status },
	{ "retry", run_retry },
	{ "gc", run_gc },
};

int mor_cli_farm(struct mor_cli *cli)
{
	struct asking x = { .cli = cli };
	const char *word = cli->words.count ? cli->words.item[0] : "";
	mortise_error err = { 0 };
	size_t verb = 0;
	int r;

	while (verb < sizeof(verbs) / sizeof(*verbs) && strcmp(word, verbs[verb].name) != 0)
		verb++;
	if (verb == sizeof(verbs) / sizeof(*verbs))
		r = mor_fail(&err, MORTISE_EINVAL, "say what to do: farm init, status, retry or gc");
	else if (cli->words.count != 2)
		r = mor_fail(&err, MORTISE_EINVAL, "name the farm, such as postgres://host/database");
	else
		r = mor_farm_open(&(struct mor_farm_options){ .url = cli->words.item[1],
							      .bare = verb == 0,
							      .on_warning = farm_warning,
							      .arg = &x },
				  &x.farm, &err);
	if (r == MORTISE_EINVAL)
		return mor_report_usage(cli->console, &err);
	if (r == 0)
		r = verbs[verb].run(&x, &err);
	mor_farm_free(x.farm);
	mor_buf_fini(&x.answer);
	if (r == MORTISE_ECANCELED)
		return mor_signals_exit_code();
	return r < 0 ? mor_report_error(cli->console, &err) : 0;
}
