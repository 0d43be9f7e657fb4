/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked: each verb is a function of the schema (schema.c). */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/pg_own.h"
#include "engine/schema.h"

#define FARM    "mortise_farm."
#define LOCK_MS 5000

static struct pg_ask *new_ask(const char *sql, pg_read_fn *read, mor_farm_reply_fn *fn, void *arg)
{
	struct pg_ask *ask = mor_zalloc(sizeof(*ask));

	if (ask)
		*ask = (struct pg_ask){ .sql = sql, .read = read, .fn = fn, .arg = arg };
	return ask;
}

static void add_text(struct pg_ask *ask, const char *text)
{
	if (ask)
		ask->params[ask->count++] = mor_strdup(text);
}

static void add_number(struct pg_ask *ask, uint64_t number)
{
	if (ask)
		ask->params[ask->count++] = mor_text_format("%" PRIu64, number);
}

/* Takes the buffer. */
static void add_buffer_take(struct pg_ask *ask, struct mor_buf *buffer)
{
	if (ask)
		ask->params[ask->count++] = mor_buf_detach(buffer);
	mor_buf_fini(buffer);
}

/* ---- rows ---- */

static uint64_t number_at(const PGresult *result, int row, int column)
{
	uint64_t number = 0;

	mor_parse_u64(mor_slice_of(PQgetvalue(result, row, column)), &number);
	return number;
}

/* What is no digest stays empty: it comes from a database that others can write to. */
static void digest_at(const PGresult *result, int row, int column, char ret[MOR_DIGEST_SIZE])
{
	const char *text = PQgetvalue(result, row, column);

	if (mor_digest_valid(text))
		memcpy(ret, text, MOR_DIGEST_SIZE);
}

static void read_yes(const PGresult *result, struct mor_farm_reply *reply)
{
	reply->claimed = PQntuples(result) > 0 && PQgetvalue(result, 0, 0)[0] == 't';
}

static void read_text(const PGresult *result, struct mor_farm_reply *reply)
{
	if (PQntuples(result) > 0)
		reply->text = PQgetvalue(result, 0, 0);
}

static void read_claim(const PGresult *result, struct mor_farm_reply *reply)
{
	if (PQntuples(result) == 0)
		return;
	digest_at(result, 0, 0, reply->run);
	reply->batch.first = number_at(result, 0, 1);
	reply->batch.count = (uint32_t)number_at(result, 0, 2);
	digest_at(result, 0, 3, reply->batch.key);
	reply->lease_ms = (uint32_t)number_at(result, 0, 4);
	reply->claimed = reply->run[0] && reply->batch.key[0];
}

static void read_ended(const PGresult *result, struct mor_farm_reply *reply)
{
	int rows = PQntuples(result);

	for (int i = 0; i < rows && reply->count < MOR_FARM_GROUP; i++) {
		struct mor_farm_ended *ended = &reply->ended[reply->count++];

		ended->batch.first = number_at(result, i, 0);
		ended->batch.count = (uint32_t)number_at(result, i, 1);
		digest_at(result, i, 2, ended->batch.key);
		ended->state = number_at(result, i, 3) == MOR_FARM_DONE ? MOR_FARM_DONE : MOR_FARM_POISONED;
		ended->claims = (uint32_t)number_at(result, i, 4);
		digest_at(result, i, 5, ended->segment);
		ended->took_ms = (uint32_t)number_at(result, i, 6);
	}
}

/* ---- greetings ---- */

enum { GREET_HELLO, GREET_OWN, GREETINGS };

static unsigned greetings_of(const struct mor_farm *pg)
{
	return pg->bare ? 0 : pg->run.run[0] ? GREETINGS : GREET_OWN;
}

bool mor_pg_greeting_is_due(const struct mor_farm *pg)
{
	return pg->greeting < greetings_of(pg);
}

struct pg_ask *mor_pg_greeting(struct mor_farm *pg, unsigned number)
{
	struct pg_ask *ask;

	if (number >= greetings_of(pg))
		return NULL;
	if (number == GREET_HELLO)
		return new_ask("select " FARM "hello()", NULL, NULL, NULL);
	ask = new_ask("select " FARM "own($1, $2, $3, $4, $5)", NULL, NULL, NULL);
	add_text(ask, pg->run.run);
	add_text(ask, pg->run.title);
	add_text(ask, pg->run.owner);
	add_number(ask, pg->run.units);
	add_number(ask, pg->run.lease_ms);
	return ask;
}

/* Our own session before may hold the lock until the server has seen its end, and so may an owner that was
 * killed a moment ago. */
static int check_owner(struct mor_farm *pg, const char *owner)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (!*owner)
		return 0;
	if (strcmp(owner, pg->run.owner) == 0)
		return MORTISE_EOVERLOAD;
	if (!pg->met && !pg->lock_ms) {
		pg->lock_ms = mor_clock_ms() + LOCK_MS;
		mor_buf_printf(&text, "another owner works on the same run (%s): waiting %d s for its end",
			       owner, LOCK_MS / 1000);
		if (text.data)
			pg->on_warning(text.data, pg->arg);
	}
	if (!pg->met && mor_clock_ms() < pg->lock_ms)
		return MORTISE_EOVERLOAD;
	return mor_fail(&pg->failure, MORTISE_EINPUT,
			pg->met ? "another owner has taken over this run (%s): this one stops" :
				  "another owner works on the same run (%s)",
			owner);
}

int mor_pg_greeted(struct mor_farm *pg, unsigned number, const PGresult *result)
{
	bool some = result && PQntuples(result) > 0;
	const char *text = some ? PQgetvalue(result, 0, 0) : "";
	uint64_t version = some && number == GREET_HELLO ? number_at(result, 0, 0) : 0;

	if (number == GREET_OWN)
		return check_owner(pg, text);
	if (version == MOR_FARM_SCHEMA)
		return 0;
	return mor_fail(&pg->failure, MORTISE_EINPUT,
			"the schema of this farm has version %" PRIu64 ", and this mortise needs %d: %s",
			version, MOR_FARM_SCHEMA,
			version < MOR_FARM_SCHEMA ? "run mortise farm init with this URL" : "upgrade mortise");
}

/* ---- verbs ---- */

static void add_array(struct pg_ask *ask, const struct mor_farm_batch *batches, size_t count, int which)
{
	struct mor_buf text = MOR_BUF_INIT;

	for (size_t i = 0; i < count; i++) {
		mor_buf_byte(&text, i ? ',' : '{');
		if (which == 0)
			mor_buf_printf(&text, "%" PRIu64, batches[i].first);
		else if (which == 1)
			mor_buf_printf(&text, "%u", batches[i].count);
		else
			mor_buf_text(&text, batches[i].key);
	}
	mor_buf_byte(&text, '}');
	add_buffer_take(ask, &text);
}

int mor_farm_submit(struct mor_farm *farm, const struct mor_farm_batch *batches, size_t count, bool again,
		    mor_farm_reply_fn *fn, void *arg)
{
	struct pg_ask *ask = new_ask("select " FARM "submit($1, $2, $3, $4, $5)", NULL, fn, arg);

	add_text(ask, farm->run.run);
	for (int which = 0; which < 3; which++)
		add_array(ask, batches, count, which);
	add_text(ask, again ? "t" : "f");
	return mor_pg_queue_take(farm, ask);
}

static struct pg_ask *worker_ask(const char *sql, const struct mor_farm_worker *worker, pg_read_fn *read,
				 mor_farm_reply_fn *fn, void *arg)
{
	struct pg_ask *ask = new_ask(sql, read, fn, arg);

	add_text(ask, worker->name);
	add_text(ask, worker->machine);
	add_number(ask, worker->jobs);
	add_number(ask, worker->units);
	add_number(ask, worker->failed);
	return ask;
}

int mor_farm_claim(struct mor_farm *farm, const struct mor_farm_worker *worker, uint64_t ticket,
		   const char *const *refused, mor_farm_reply_fn *fn, void *arg)
{
	struct pg_ask *ask = worker_ask("select * from " FARM "claim($1, $2, $3, $4, $5, $6, $7)", worker,
					read_claim, fn, arg);
	struct mor_buf runs = MOR_BUF_INIT;

	mor_buf_byte(&runs, '{');
	for (size_t i = 0; refused && refused[i]; i++)
		mor_buf_printf(&runs, "%s%s", i ? "," : "", refused[i]);
	mor_buf_byte(&runs, '}');
	add_number(ask, ticket);
	add_buffer_take(ask, &runs);
	return mor_pg_queue_take(farm, ask);
}

int mor_farm_beat(struct mor_farm *farm, const struct mor_farm_worker *worker, const char *run, uint64_t first,
		  uint32_t ms, mor_farm_reply_fn *fn, void *arg)
{
	struct pg_ask *ask =
		worker_ask("select " FARM "beat($1, $2, $3, $4, $5, $6, $7, $8)", worker, read_yes, fn, arg);

	add_text(ask, run);
	add_number(ask, first);
	add_number(ask, ms);
	return mor_pg_queue_take(farm, ask);
}

int mor_farm_commit(struct mor_farm *farm, const struct mor_farm_worker *worker, const char *run,
		    const struct mor_farm_batch *batch, const struct mor_farm_made *made, mor_farm_reply_fn *fn,
		    void *arg)
{
	struct pg_ask *ask = worker_ask("select " FARM "commit_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,"
					" $11, $12, $13, $14)",
					worker, read_yes, fn, arg);

	add_text(ask, run);
	add_number(ask, batch->first);
	add_number(ask, batch->count);
	add_text(ask, batch->key);
	add_text(ask, made->segment);
	add_number(ask, made->took_ms);
	add_number(ask, made->slowest.unit);
	add_text(ask, made->slowest.name);
	add_number(ask, made->slowest.ms);
	return mor_pg_queue_take(farm, ask);
}

int mor_farm_done(struct mor_farm *farm, uint64_t next, uint64_t from, uint64_t failed, mor_farm_reply_fn *fn,
		  void *arg)
{
	struct pg_ask *ask = new_ask("select * from " FARM "done($1, $2, $3, $4, $5)", read_ended, fn, arg);

	add_text(ask, farm->run.run);
	add_number(ask, next);
	add_number(ask, from);
	add_number(ask, failed);
	add_number(ask, MOR_FARM_GROUP);
	return mor_pg_queue_take(farm, ask);
}

int mor_farm_trouble(struct mor_farm *farm, const struct mor_farm_worker *worker, const char *run,
		     const char *text)
{
	struct pg_ask *ask = new_ask("select " FARM "trouble($1, $2, $3)", NULL, NULL, NULL);
	char line[600];

	add_text(ask, worker->name);
	add_text(ask, run);
	add_text(ask, mor_printable(mor_slice_of(text), line, sizeof(line)));
	return mor_pg_queue_take(farm, ask);
}

/* An element of an array of texts. */
static void add_quoted(struct mor_buf *out, const char *text)
{
	mor_buf_byte(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			mor_buf_byte(out, '\\');
		mor_buf_byte(out, *text);
	}
	mor_buf_byte(out, '"');
}

static void add_units(struct pg_ask *ask, const struct mor_farm_unit *units, size_t count, int which)
{
	struct mor_buf text = MOR_BUF_INIT;

	mor_buf_byte(&text, '{');
	for (size_t i = 0; i < count; i++) {
		if (i)
			mor_buf_byte(&text, ',');
		if (which == 0)
			mor_buf_printf(&text, "%" PRIu64, units[i].unit);
		else
			add_quoted(&text, which == 1 ? units[i].name : units[i].why);
	}
	mor_buf_byte(&text, '}');
	add_buffer_take(ask, &text);
}

int mor_farm_failed(struct mor_farm *farm, uint64_t failed, const struct mor_farm_unit *units, size_t count)
{
	struct pg_ask *ask = new_ask("select " FARM "failed($1, $2, $3, $4, $5)", NULL, NULL, NULL);

	add_text(ask, farm->run.run);
	add_number(ask, failed);
	for (int which = 0; which < 3; which++)
		add_units(ask, units, count < MOR_FARM_NAMED ? count : MOR_FARM_NAMED, which);
	return mor_pg_queue_take(farm, ask);
}

int mor_farm_leave(struct mor_farm *farm, const struct mor_farm_worker *worker)
{
	struct pg_ask *ask = new_ask("select " FARM "leave($1)", NULL, NULL, NULL);

	add_text(ask, worker->name);
	return mor_pg_queue_take(farm, ask);
}

int mor_farm_ask(struct mor_farm *farm, enum mor_farm_question question, uint64_t number, mor_farm_reply_fn *fn,
		 void *arg)
{
	static const char *const texts[MOR_FARM_QUESTIONS] = {
		[MOR_FARM_STATUS] = "select " FARM "status($1)",
		[MOR_FARM_RETRY] = "select " FARM "retry($1)",
		[MOR_FARM_GC] = "select " FARM "gc($1)",
		[MOR_FARM_FINISH] = "select " FARM "finish($1)",
	};
	struct pg_ask *ask = question == MOR_FARM_INIT ? new_ask(mor_farm_schema, NULL, fn, arg) :
							 new_ask(texts[question], read_text, fn, arg);

	if (question == MOR_FARM_FINISH)
		add_text(ask, farm->run.run);
	else if (question != MOR_FARM_INIT)
		add_number(ask, number);
	return mor_pg_queue_take(farm, ask);
}
