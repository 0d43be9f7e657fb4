/* SPDX-License-Identifier: Apache-2.0 */
/* The path of an event through the plugins. */

#include "base/alloc.h"
#include "base/error.h"
#include "dispatch/bot.h"

static void walk_free(struct mor_bot_walk *walk)
{
	mor_list_remove(&walk->node);
	for (size_t i = 0; i < walk->count; i++) {
		mor_list_remove(&walk->visits[i].job.node);
		mor_list_remove(&walk->visits[i].asked);
	}
	mor_onebot_event_fini(&walk->event);
	mor_free(walk);
}

void mor_bot_walk_free_all(struct mor_bot_run *run)
{
	MOR_LIST_EACH(node, after, &run->walks)
		walk_free(mor_container_of(node, struct mor_bot_walk, node));
}

static struct mor_bot_visit *visit_of(const struct mor_bot_job *job)
{
	return mor_container_of(job, struct mor_bot_visit, job);
}

/* The place of a visit's plugin in the order of plugins. */
static size_t place_of(const struct mor_bot_visit *visit)
{
	return (size_t)(visit - visit->job.walk->visits);
}

static void ask_visit(struct mor_bot_visit *visit, enum mor_bot_job_kind kind)
{
	visit->job.kind = kind;
	visit->job.walk->open++;
	mor_bot_seat_queue(visit->job.seat, &visit->job, false);
}

/* ---- turns ---- */

/* Matched visits wait at the plugin in the order of their events. They use the job's list node, which is in
 * no queue then. */
static void match_visit(struct mor_bot_visit *visit)
{
	struct mor_list *all = &visit->job.seat->matched, *before = all->prev;

	while (before != all &&
	       mor_container_of(before, struct mor_bot_job, node)->walk->number > visit->job.walk->number)
		before = before->prev;
	mor_list_prepend(before, &visit->job.node);
	visit->state = MOR_BOT_VISIT_MATCHED;
}

static void unmatch_visit(struct mor_bot_visit *visit, enum mor_bot_visit_state state)
{
	mor_list_remove(&visit->job.node);
	visit->state = state;
}

/* May the plugin still match an earlier event? One that may have several calls at once answers in any order. */
static bool is_undecided(const struct mor_bot_seat *seat, uint64_t number)
{
	return !mor_list_empty(&seat->asked) &&
	       mor_container_of(seat->asked.next, struct mor_bot_visit, asked)->job.walk->number < number;
}

/* Hands over the visits whose turn has come. A visit waits if an earlier event may still come first. */
static void serve_seat(struct mor_bot_seat *seat)
{
	while (!mor_list_empty(&seat->matched) && !seat->run->stopping && !seat->dead) {
		struct mor_bot_visit *visit =
			visit_of(mor_container_of(seat->matched.next, struct mor_bot_job, node));

		if (visit->job.walk->turn != place_of(visit) || is_undecided(seat, visit->job.walk->number))
			return;
		unmatch_visit(visit, MOR_BOT_VISIT_HANDLING);
		ask_visit(visit, MOR_BOT_JOB_HANDLE);
	}
}

/* Goes on as far as possible without an answer. A walk with no running job is over. */
static void step_walk(struct mor_bot_walk *walk)
{
	for (; walk->turn < walk->count; walk->turn++) {
		struct mor_bot_visit *visit = &walk->visits[walk->turn];

		if (visit->state == MOR_BOT_VISIT_MATCHED)
			serve_seat(visit->job.seat);
		if (visit->state != MOR_BOT_VISIT_OVER)
			return;
	}
	if (walk->open == 0)
		walk_free(walk);
}

/* The plugins after it were asked, but they will not handle the event. */
static void block_walk(struct mor_bot_walk *walk)
{
	size_t next = walk->turn + 1;

	walk->turn = walk->count;
	for (; next < walk->count; next++) {
		mor_list_remove(&walk->visits[next].asked);
		if (walk->visits[next].state == MOR_BOT_VISIT_MATCHED)
			unmatch_visit(&walk->visits[next], MOR_BOT_VISIT_OVER);
		serve_seat(walk->visits[next].job.seat);
	}
}

void mor_bot_walk_seat_died(struct mor_bot_seat *seat)
{
	while (!mor_list_empty(&seat->matched)) {
		struct mor_bot_job *job = mor_container_of(seat->matched.next, struct mor_bot_job, node);

		unmatch_visit(visit_of(job), MOR_BOT_VISIT_OVER);
		step_walk(job->walk);
	}
}

/* ---- beginning ---- */

/* May this plugin be asked? */
static bool is_asked(struct mor_bot_seat *seat, const struct mor_bot_walk *walk)
{
	if (!seat->body || seat->dead || mor_bot_seat_hides(seat, mor_buf_view(&walk->event.text)))
		return false;
	if (seat->waiting < MOR_BOT_QUEUE)
		return true;
	mor_bot_tell(seat->run, seat, "overloaded", walk->number,
		     "%u events wait for it already: it does not get this one", seat->waiting);
	return false;
}

int mor_bot_walk_begin_take(struct mor_bot_run *run, struct mor_onebot_event *event, mortise_error *err)
{
	struct mor_bot_walk *walk = mor_zalloc(sizeof(*walk) + run->count * sizeof(walk->visits[0]));

	if (!walk)
		return mor_fail_memory(err);
	walk->run = run;
	walk->count = run->count;
	walk->number = run->line;
	walk->event = *event;
	*event = (struct mor_onebot_event){ 0 };
	mor_list_append(&run->walks, &walk->node);
	for (size_t i = 0; i < run->count; i++) {
		struct mor_bot_job *job = &walk->visits[i].job;

		mor_list_init(&job->node);
		mor_list_init(&walk->visits[i].asked);
		job->seat = run->seats[i];
		job->walk = walk;
		if (is_asked(run->seats[i], walk)) {
			mor_list_append(&run->seats[i]->asked, &walk->visits[i].asked);
			ask_visit(&walk->visits[i], MOR_BOT_JOB_MATCHES);
		} else {
			walk->visits[i].state = MOR_BOT_VISIT_OVER;
		}
	}
	step_walk(walk);
	return 0;
}

/* ---- answers ---- */

void mor_bot_walk_job_done(struct mor_bot_job *job, const mortise_reply *reply)
{
	struct mor_bot_walk *walk = job->walk;
	struct mor_bot_seat *seat = job->seat;
	struct mor_bot_visit *visit;

	if (reply && reply->status < 0 && !seat->run->stopping)
		mor_bot_tell_failure(job, reply);
	if (!walk) {
		mor_bot_job_free(job);
		return;
	}
	visit = visit_of(job);
	visit->state = MOR_BOT_VISIT_OVER;
	mor_list_remove(&visit->asked);
	walk->open--;
	if (reply && reply->status == 0 && job->kind == MOR_BOT_JOB_HANDLE &&
	    mor_bot_act(seat, walk, reply->result))
		block_walk(walk);
	/* The event was blocked meanwhile, or the plugin is gone. Then nobody waits for the answer. */
	if (reply && reply->status == 0 && job->kind == MOR_BOT_JOB_MATCHES && mor_bot_matches(reply->result) &&
	    walk->turn <= place_of(visit) && !seat->dead)
		match_visit(visit);
	step_walk(walk);
	serve_seat(seat); /* later events may have waited for this answer */
}
