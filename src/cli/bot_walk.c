/* An event's way through the plugins. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/bot.h"

static void walk_free(struct mor_bot_walk *walk)
{
	mor_list_remove(&walk->node);
	for (size_t i = 0; i < walk->run->count; i++)
		mor_list_remove(&walk->visits[i].job.node);
	mor_onebot_event_fini(&walk->event);
	mor_free(walk);
}

void mor_walk_free_all(struct mor_bot_run *run)
{
	MOR_LIST_EACH(node, after, &run->walks)
		walk_free(mor_container_of(node, struct mor_bot_walk, node));
}

static struct mor_visit *visit_of(const struct mor_job *job)
{
	return mor_container_of(job, struct mor_visit, job);
}

static void ask(struct mor_bot_walk *walk, struct mor_seat *seat, enum mor_job_kind kind)
{
	struct mor_job *job = &walk->visits[seat->index].job;

	job->kind = kind;
	walk->open++;
	mor_seat_queue(seat, job, false);
}

/* Goes on as far as it can without an answer. A walk that nothing is under way for any more is over. */
static void step(struct mor_bot_walk *walk)
{
	struct mor_bot_run *run = walk->run;

	for (; walk->turn < run->count; walk->turn++) {
		struct mor_visit *visit = &walk->visits[walk->turn];

		if (visit->state == MOR_VISIT_MATCHED && !run->stopping) {
			visit->state = MOR_VISIT_HANDLING;
			ask(walk, &run->seats[walk->turn], MOR_JOB_HANDLE);
		}
		if (visit->state == MOR_VISIT_ASKED || visit->state == MOR_VISIT_HANDLING)
			return;
	}
	if (walk->open == 0)
		walk_free(walk);
}

/* May this plugin be asked at all? */
static bool is_asked(struct mor_seat *seat, const struct mor_bot_walk *walk)
{
	if (seat->dead || mor_seat_hides(seat, mor_buf_view(&walk->event.text)))
		return false;
	if (seat->waiting < MOR_BOT_QUEUE)
		return true;
	mor_bot_tell(seat->run, seat, "overloaded", walk->number, "%u events wait for it already: this one passes it by",
		     seat->waiting);
	return false;
}

int mor_walk_begin(struct mor_bot_run *run, struct mor_onebot_event *event, mortise_error *err)
{
	struct mor_bot_walk *walk = mor_zalloc(sizeof(*walk) + run->count * sizeof(walk->visits[0]));

	if (!walk)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	walk->run = run;
	walk->number = run->line;
	walk->event = *event;
	*event = (struct mor_onebot_event){ 0 };
	mor_list_append(&run->walks, &walk->node);
	for (size_t i = 0; i < run->count; i++) {
		struct mor_job *job = &walk->visits[i].job;

		mor_list_init(&job->node);
		job->seat = &run->seats[i];
		job->walk = walk;
	}
	for (size_t i = 0; i < run->count; i++) {
		if (is_asked(&run->seats[i], walk))
			ask(walk, &run->seats[i], MOR_JOB_MATCHES);
		else
			walk->visits[i].state = MOR_VISIT_OVER;
	}
	step(walk);
	return 0;
}

/* One line says which plugin failed on which event, whatever the reason. */
static void tell_failure(const struct mor_job *job, const mortise_reply *reply)
{
	static const char *const what[] = { [MOR_JOB_MATCHES] = "matches", [MOR_JOB_HANDLE] = "handle", [MOR_JOB_CONNECT] = "bot_connect" };
	struct mor_seat *seat = job->seat;

	if (seat->run->stopping)
		return;
	mor_bot_tell(seat->run, seat, mortise_status_kind(reply->status), job->walk ? job->walk->number : 0, "%s: %s",
		     what[job->kind], reply->error->text);
}

void mor_walk_job_done(struct mor_job *job, const mortise_reply *reply)
{
	struct mor_bot_walk *walk = job->walk;
	struct mor_visit *visit;

	if (reply && reply->status < 0)
		tell_failure(job, reply);
	if (!walk)
		return;
	visit = visit_of(job);
	visit->state = MOR_VISIT_OVER;
	walk->open--;
	if (reply && reply->status == 0 && job->kind == MOR_JOB_MATCHES && mor_bot_matches(reply->result))
		visit->state = MOR_VISIT_MATCHED;
	if (reply && reply->status == 0 && job->kind == MOR_JOB_HANDLE && mor_bot_act(job->seat, walk, reply->result))
		walk->turn = walk->run->count; /* blocked: the plugins behind were asked, and that is all */
	step(walk);
}
