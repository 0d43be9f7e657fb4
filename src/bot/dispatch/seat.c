/* SPDX-License-Identifier: Apache-2.0 */
/* One plugin of a bot: what waits for it, what it gets, and whether it still runs. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "dispatch/bot.h"

#define MATCHES_MS 2000 /* used if describe does not say */

/* ---- life ---- */

struct mor_bot_seat *mor_bot_seat_new(struct mor_bot_run *run, const char *name)
{
	struct mor_bot_seat *seat = mor_zalloc(sizeof(*seat));

	if (!seat)
		return NULL;
	seat->run = run;
	mor_list_init(&seat->queue);
	mor_list_init(&seat->asked);
	mor_list_init(&seat->matched);
	mor_list_init(&seat->connect.node);
	seat->connect.seat = seat;
	seat->connect.kind = MOR_BOT_JOB_CONNECT;
	seat->matches_ms = MATCHES_MS;
	seat->most = 1;
	seat->name = mor_strdup(name);
	seat->label = mor_strdup(name);
	if (seat->name && seat->label)
		return seat;
	mor_bot_seat_free(seat);
	return NULL;
}

struct mor_bot_seat *mor_bot_seat_find(const struct mor_bot_run *run, const char *name)
{
	for (size_t i = 0; i < run->count; i++)
		if (strcmp(run->seats[i]->name, name) == 0)
			return run->seats[i];
	return NULL;
}

void mor_bot_job_free(struct mor_bot_job *job)
{
	if (job->kind != MOR_BOT_JOB_RESULT)
		return;
	mor_free(job->params);
	mor_free(job);
}

/* The events are gone by now. What still waits are jobs on their own. */
void mor_bot_seat_free(struct mor_bot_seat *seat)
{
	struct mor_list *node;

	if (!seat)
		return;
	while ((node = mor_list_pop(&seat->queue)))
		mor_bot_job_free(mor_container_of(node, struct mor_bot_job, node));
	mor_texts_free(seat->commands);
	mor_free(seat->name);
	mor_free(seat->label);
	mor_free(seat);
}

bool mor_bot_seat_is_idle(const struct mor_bot_seat *seat)
{
	return !seat->waiting && !seat->given && mor_list_empty(&seat->matched);
}

/* ---- what the plugin says about itself ---- */

/* A command may be written "weather" or "/weather", in the metadata and by users. */
static struct mor_slice without_sign(struct mor_slice text)
{
	if (text.len && *text.ptr == '/')
		return (struct mor_slice){ text.ptr + 1, text.len - 1 };
	return text;
}

bool mor_bot_seat_hides(const struct mor_bot_seat *seat, struct mor_slice text)
{
	text = without_sign(text);
	if (!seat->body->config.prefilter || !seat->commands)
		return false;
	for (char **command = seat->commands; *command; command++) {
		struct mor_slice name = without_sign(mor_slice_of(*command));

		if (text.len >= name.len && memcmp(text.ptr, name.ptr, name.len) == 0)
			return false;
	}
	return true;
}

/* Without memory there are fewer. */
static void add_command(struct mor_bot_seat *seat, const struct mor_value *value)
{
	struct mor_slice name = mor_json_string(value);

	if (name.len)
		(void)mor_texts_push_take(&seat->commands, mor_strndup(name.ptr, name.len));
}

static void learn_commands(struct mor_bot_seat *seat, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);

	seat->commands = mor_texts_free(seat->commands);
	while (mor_json_next(&it)) {
		struct mor_json_iter alias = mor_json_iter(mor_json_get(it.value, "aliases"));

		add_command(seat, mor_json_get(it.value, "name"));
		while (mor_json_next(&alias))
			add_command(seat, alias.value);
	}
}

/* Shows metadata.name, and the key beside it if it differs, because files and the host's texts use the key. */
static void learn_name(struct mor_bot_seat *seat, const char *name)
{
	bool differs = name && *name && strcmp(name, seat->name) != 0;
	char *text = differs ? mor_text_format("%s (%s)", name, seat->name) : NULL;

	if (!text)
		return;
	mor_free(seat->label);
	seat->label = text;
}

/* The plugin has just become ready: reads what it is, and how many calls it may have at once. */
static void learn_seat(struct mor_bot_seat *seat)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const struct mor_value *root;
	char *json = NULL;
	int64_t most;

	seat->body->fresh = false;
	seat->late = false;
	seat->matches_ms = MATCHES_MS;
	seat->most = 1;
	if (mortise_plugin_describe(seat->body->plugin, &json, NULL) < 0)
		return;
	if (mor_doc_parse(mor_slice_of(json), MOR_JSON_NAN, 0, &doc, NULL) == 0) {
		root = mor_doc_root(doc);
		learn_name(seat, mor_json_text(mor_json_at(root, "/identity/name"), NULL));
		learn_commands(seat, mor_json_at(root, "/identity/commands"));
		seat->wants_results = mor_json_bool(mor_json_at(root, "/identity/results"), false);
		most = mor_json_int(mor_json_get(root, "max_in_flight"), 1);
		seat->most = most > 0 && most < MOR_BOT_QUEUE ? (unsigned)most : MOR_BOT_QUEUE;
		seat->matches_ms = (uint32_t)mor_json_int(mor_json_at(root, "/timeouts/matches"), MATCHES_MS);
	}
	mortise_free(json);
	if (seat->body->arrived)
		mor_bot_tell(seat->run, seat, "reload", 0, "is ready");
	seat->body->arrived = false;
	if (seat->run->self_id)
		mor_bot_seat_connect(seat, true);
}

/* ---- its queue ---- */

void mor_bot_seat_queue(struct mor_bot_seat *seat, struct mor_bot_job *job, bool front)
{
	job->since_ms = mor_clock_ms();
	seat->waiting++;
	if (front)
		mor_list_prepend(&seat->queue, &job->node);
	else
		mor_list_append(&seat->queue, &job->node);
}

static struct mor_bot_job *take_job(struct mor_bot_seat *seat)
{
	struct mor_list *node = mor_list_pop(&seat->queue);

	if (!node)
		return NULL;
	seat->waiting--;
	return mor_container_of(node, struct mor_bot_job, node);
}

/* One entry in the queue is enough: the id is filled in when it goes out. */
void mor_bot_seat_connect(struct mor_bot_seat *seat, bool front)
{
	if (!seat->body || seat->dead || seat->connect_queued)
		return;
	seat->connect_queued = true;
	mor_bot_seat_queue(seat, &seat->connect, front);
}

bool mor_bot_seat_is_behind(const struct mor_bot_seat *seat, int64_t now_ms)
{
	const struct mor_bot_job *oldest;

	if (seat->waiting < MOR_BOT_QUEUE / 2)
		return false;
	oldest = mor_container_of(seat->queue.next, struct mor_bot_job, node);
	return now_ms - oldest->since_ms < (int64_t)seat->matches_ms;
}

void mor_bot_seat_renew(struct mor_bot_seat *seat)
{
	MOR_LIST_EACH(node, after, &seat->queue)
		mor_container_of(node, struct mor_bot_job, node)->since_ms = mor_clock_ms();
}

/* ---- giving ---- */

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct mor_bot_job *job = arg;
	struct mor_bot_seat *seat = job->seat;

	seat->given--;
	/* While its answer is missing, the host keeps the slot. The next job waits with a limit. */
	seat->late = reply->status == MORTISE_ETIMEOUT;
	mor_bot_walk_job_done(job, reply);
}

static int write_params(const struct mor_bot_job *job, struct mor_buf *out)
{
	if (job->kind == MOR_BOT_JOB_CONNECT)
		return mor_buf_printf(out, "{\"self_id\":%s}", job->seat->run->self_id);
	if (job->kind == MOR_BOT_JOB_RESULT)
		return mor_buf_text(out, job->params);
	return job->kind == MOR_BOT_JOB_MATCHES ? mor_onebot_matches(&job->walk->event, out) :
						  mor_onebot_handle(&job->walk->event, out);
}

/* If the plugin still has to answer, an event waits only as long as matches may take. */
static uint32_t job_patience_ms(const struct mor_bot_job *job)
{
	int64_t rest = job->since_ms + job->seat->matches_ms - mor_clock_ms();

	if (!job->seat->late)
		return 0;
	return rest > 1 ? (uint32_t)rest : 1;
}

const char *const mor_bot_job_methods[] = {
	[MOR_BOT_JOB_MATCHES] = "matches",
	[MOR_BOT_JOB_HANDLE] = "handle",
	[MOR_BOT_JOB_CONNECT] = "bot_connect",
	[MOR_BOT_JOB_RESULT] = "action_result",
};

static void give_job(struct mor_bot_job *job)
{
	struct mor_bot_seat *seat = job->seat;
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	mortise_call_options opt = {
		.size = sizeof(opt), .queue_ms = job_patience_ms(job), .on_reply = on_reply, .arg = job
	};
	mortise_error err = { 0 };
	int r = write_params(job, &params);

	if (job->kind == MOR_BOT_JOB_CONNECT)
		seat->connect_queued = false;
	if (job->kind == MOR_BOT_JOB_HANDLE)
		/* --timeout without a method; 0: the plugin's own */
		opt.timeout_ms = seat->run->runner.timeout_ms;
	if (r < 0)
		mor_fail_memory(&err);
	else
		r = mortise_call_start(seat->body->plugin, mor_bot_job_methods[job->kind],
				       (mortise_json){ params.data, params.len }, &opt, NULL, &err);
	if (r == 0)
		seat->given++;
	else
		mor_bot_walk_job_done(job, &(mortise_reply){ .status = r, .error = &err });
}

/* ---- looking after it ---- */

/* All waiting events skip the plugin. A dead plugin is reported once. `remedy` says what would help. */
static void bury_seat(struct mor_bot_seat *seat, const char *remedy)
{
	struct mor_bot_job *job;

	mor_bot_tell(seat->run, seat, "dead", 0, "%s; it gets no more events%s", seat->body->why, remedy);
	seat->dead = true;
	while ((job = take_job(seat))) {
		if (job->kind == MOR_BOT_JOB_CONNECT)
			seat->connect_queued = false;
		mor_bot_walk_job_done(job, NULL);
	}
	mor_bot_walk_seat_died(seat);
}

static const char no_restart[] = " (auto_restart = true in the bot's file would start it again)";

/* The new process could not be started. If there is no old one, the plugin has failed. */
static void drop_next(struct mor_bot_seat *seat, const char *remedy)
{
	struct mor_bot_body *next = seat->next, *old = seat->body;

	seat->next = NULL;
	if (old && !seat->dead) {
		mor_bot_tell(seat->run, seat, "reload", 0,
			     "the new process does not start, so the old one goes on: %s", next->why);
		mor_bot_body_retire(next);
		return;
	}
	mor_bot_body_retire(old);
	seat->body = next;
	bury_seat(seat, remedy);
}

/* The new process is ready. We wait for the old one's last answer, so that events are handled in order. */
static void succeed_body(struct mor_bot_seat *seat)
{
	if (seat->given)
		return;
	mor_bot_body_retire(seat->body);
	seat->body = seat->next;
	seat->next = NULL;
	seat->dead = false;
	seat->body->fresh = true;
	seat->body->arrived = seat->run->started;
}

static void tend_next(struct mor_bot_seat *seat)
{
	int state = mortise_plugin_state(seat->next->plugin);

	if (state == MORTISE_READY)
		succeed_body(seat);
	else if (state == MORTISE_FAILED)
		drop_next(seat, "");
	else if (state == MORTISE_STOPPED && !mor_bot_body_revive(seat->next))
		drop_next(seat, seat->next->config.auto_restart ? "" : no_restart);
}

/* The plugin had started, but it stopped without our order: it died while idle, or must not be restarted. */
static void tend_body(struct mor_bot_seat *seat)
{
	int state = mortise_plugin_state(seat->body->plugin);

	if (state == MORTISE_FAILED)
		bury_seat(seat, "");
	else if (state == MORTISE_STOPPED && !mor_bot_body_revive(seat->body))
		bury_seat(seat, seat->body->config.auto_restart ? "" : no_restart);
}

void mor_bot_seat_tend(struct mor_bot_seat *seat)
{
	if (seat->run->stopping)
		return;
	if (seat->next)
		tend_next(seat);
	if (!seat->body || seat->dead)
		return;
	tend_body(seat);
	if (!mor_bot_body_is_ready(seat->body))
		return;
	if (seat->body->fresh)
		learn_seat(seat);
	while (seat->waiting && seat->given < seat->most && !seat->run->out.full &&
	       mor_bot_body_is_ready(seat->body) && !mor_bot_body_is_ready(seat->next))
		give_job(take_job(seat));
}
