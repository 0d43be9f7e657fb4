/* SPDX-License-Identifier: Apache-2.0 */
/* A process starts, ends, breaks, is stopped. Every function follows the order in supervise.h. */
#include <signal.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "host/client.h"
#include "host/denial.h"
#include "host/diagnosis.h"
#include "host/embedder.h"
#include "host/greet.h"
#include "host/receive.h"
#include "host/request.h"
#include "host/shape.h"
#include "host/state.h"
#include "host/supervise.h"
#include "host/view_queue.h"

/* A closed pipe is nearly always the first sign of an exit, which is reported a moment later. */
#define BROKEN_MS 100

/* ---- starting ---- */

static void on_started(void *arg, int pid)
{
	mortise_plugin *plugin = arg;

	MOR_HOLD(plugin);
	plugin->life.pid = pid;
	if (plugin->now.state != MORTISE_STARTING)
		return;
	mor_state_set(plugin, MORTISE_GREETING, "started");
	if (plugin->now.state == MORTISE_GREETING && plugin->life.link)
		mor_greet_begin(plugin);
}

void mor_supervise_ready(mortise_plugin *plugin)
{
	plugin->life.was_ready = true;
	mor_health_started(plugin);
	mor_state_set(plugin, MORTISE_READY, "ready");
	if (plugin->now.state == MORTISE_READY)
		mor_call_pump(plugin);
}

/* ---- the end ---- */

static struct mor_violation violation_of(const mortise_plugin *plugin, const struct mor_link_end *how)
{
	return (struct mor_violation){ .plugin = plugin->peer.name,
				       .syscall = how->syscall,
				       .path = how->path,
				       .rule = how->rule,
				       .source = plugin->guarded.policy.source,
				       .row = how->forbidden };
}

/* The two ends that are not a crash: it never ran, or its jail ended it. true: described. */
static bool describe_refusal(const mortise_plugin *plugin, const struct mor_link_end *how, mortise_error *error)
{
	struct mor_violation what = violation_of(plugin, how);
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (how->start_code) {
		mor_fail(error, how->start_code, "%s: %s", plugin->peer.name, how->text);
		error->os_errno = how->os_errno;
		return true;
	}
	if (!how->violation)
		return false;
	if (mor_violation_text(&what, &text) < 0 || mor_buf_byte(&text, '\0') < 0)
		mor_fail(error, MORTISE_EVIOLATION, "%s: broke the rules of its sandbox (%s)",
			 plugin->peer.name, how->syscall);
	else
		mor_fail(error, MORTISE_EVIOLATION, "%s", text.data);
	return true;
}

/* A plugin that calls and is served. It is wanted until it is stopped: one that dies comes back, busy or not.
 * But where we have closed its stdin, whether it comes back is the embedder's decision: unless_client(). */
static bool is_client(const mortise_plugin *plugin)
{
	return plugin->peer.dialect->serve;
}

/* A limit that it has reached. For processor time the kernel sends its own signal, and where that did not end
 * it the guardian tells. Other limits only the plugin sees, so after a bad end they are listed. SIGKILL means
 * that it reached none of them. */
static void describe_limits(const mortise_plugin *plugin, const struct mor_link_end *how, char *out,
			    size_t size)
{
	MOR_CLEAN(mor_buf) struct mor_buf set = MOR_BUF_INIT;

	if (how->clean || !how->known || mor_policy_limits_set(&plugin->guarded.policy, &set) < 0 || !set.len)
		return;
	if (how->by_signal && (how->status == SIGXCPU || how->used_up))
		snprintf(out, size, " (it used up its processor time: sandbox.cpu %us)",
			 plugin->guarded.policy.limits.cpu_s);
	else if (!how->by_signal || how->status != SIGKILL)
		snprintf(out, size, " (its limits: %.*s)", (int)set.len, set.data);
}

static void describe_end(const mortise_plugin *plugin, const struct mor_link_end *how, mortise_error *error)
{
	bool asked = plugin->now.state == MORTISE_DRAINING &&
		     mor_drain_leads_to(plugin->life.drain) == MORTISE_STOPPED;
	const char *when =
		plugin->calls.in_flight || plugin->now.state != MORTISE_READY ? " before it answered" : "";
	char last[MOR_DIAGNOSIS_SIZE], cut[224] = "", work[80] = "", limits[160] = "";

	if (describe_refusal(plugin, how, error))
		return;
	if (plugin->life.work.handed_out) {
		snprintf(work, sizeof(work), " while \"%s\" was under way", plugin->life.work.row->name);
		when = work;
	} else if (plugin->now.state == MORTISE_GREETING && is_client(plugin)) {
		when = " before it greeted";
	}
	if (plugin->life.held.len)
		when = " after it had answered";
	if (mor_kept_is_set(&plugin->life.truncated))
		snprintf(cut, sizeof(cut), "; %s", mor_kept_text(&plugin->life.truncated));
	if (!asked)
		describe_limits(plugin, how, limits, sizeof(limits));
	mor_fail(error, asked ? MORTISE_ECLOSED : MORTISE_ECRASHED, "%s: %s%s%s%s%s", plugin->peer.name,
		 how->text, limits, asked ? ", as it was told to" : when, cut,
		 mor_diagnosis_last_words(plugin, last));
}

static enum mortise_state unless_client(const mortise_plugin *plugin, enum mortise_state after)
{
	return after == MORTISE_BACKOFF && is_client(plugin) ? MORTISE_STOPPED : after;
}

/* The plugin's next state. `failure` is what the embedder is told if it is not started again. */
static enum mortise_state next_state(mortise_plugin *plugin, const struct mor_link_end *how,
				     mortise_error *failure)
{
	bool busy = plugin->calls.in_flight || !mor_list_empty(&plugin->calls.queue) || is_client(plugin);
	int64_t lived = mor_loop_now_ms(plugin->host->loop) - plugin->now.state_ms;
	enum mortise_state next;

	if (mor_client_left(plugin, how))
		return mor_client_after_leaving(plugin, failure);
	plugin->ends.clean_exits = 0;
	if (plugin->now.state == MORTISE_DRAINING && plugin->life.drain == MOR_DRAIN_LEFT)
		return unless_client(plugin, mor_supervise_after_death(plugin, failure));
	if (plugin->now.state == MORTISE_DRAINING) {
		if (plugin->life.drain == MOR_DRAIN_GIVEN_UP && plugin->ends.failure.code)
			mor_supervise_blamed(plugin, failure);
		return mor_drain_leads_to(plugin->life.drain);
	}
	if (plugin->now.state == MORTISE_READY && lived >= (int64_t)plugin->is.restart.cap_ms)
		plugin->ends.backoff_step = 0;
	/* It died while it worked: the program that gives out the work counts that, and the plugin starts again
	 * soon. */
	if (plugin->life.work.handed_out) {
		plugin->life.restart_ms = (int32_t)plugin->is.restart.first_ms;
		return plugin->guarded.flags & MORTISE_NO_RESTART ? MORTISE_STOPPED : MORTISE_BACKOFF;
	}
	next = mor_supervise_after_death(plugin, failure);
	if (next == MORTISE_BACKOFF && plugin->now.state == MORTISE_READY && !busy)
		next = MORTISE_STOPPED; /* nobody waits: it starts again with the next call */
	return next;
}

void mor_supervise_drop_link(mortise_plugin *plugin)
{
	mor_timer_stop(&plugin->ends.ladder);
	mor_timer_stop(&plugin->ends.broken_timer);
	mor_timer_stop(&plugin->ends.hello_timer);
	plugin->life.end_seen = true;
	plugin->life.pid = 0;
	plugin->life.written = plugin->life.link->written;
	plugin->life.link->ops->free(plugin->life.link);
	plugin->life.link = NULL;
	mor_request_drop_all(plugin);
}

/* The record of a violation, for machines: the data of every call that it ended. Empty without a violation. */
static void write_record(const mortise_plugin *plugin, const struct mor_link_end *how, struct mor_buf *out)
{
	struct mor_violation what = violation_of(plugin, how);

	if (how->violation && mor_violation_json(&what, out) < 0)
		mor_buf_fini(out);
}

/* Calls of the embedder that will fail: none if the violation came after the last answer. */
static uint64_t calls_under_way(const mortise_plugin *plugin)
{
	const struct mor_list *const lists[] = { &plugin->calls.flight, &plugin->calls.writing,
						 &plugin->calls.queue };
	uint64_t count = 0;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (const struct mor_list *node = lists[i]->next; node != lists[i]; node = node->next) {
			const mortise_call *call = mor_container_of(node, mortise_call, node);

			count += call->purpose == MOR_FOR_USER && call->state != MOR_CALL_LATE;
		}
	return count;
}

/* Before everything that follows from it: the change of state, and the calls that fail. */
static void tell_violation(mortise_plugin *plugin, const mortise_error *error, const struct mor_buf *record)
{
	mortise_event event = { .type = MORTISE_EVENT_VIOLATION,
				.text = error->text,
				.violation = { .action = MORTISE_VIOLATION_KILLED,
					       .failed_calls = calls_under_way(plugin),
					       .record = { record->data, record->len } } };

	if (record->len)
		mor_event_full(plugin, &event);
}

/* What ends with a process, besides its calls. */
struct news {
	bool unhealthy, session_over;
};

static struct news note_process_end(mortise_plugin *plugin, const char *unhealthy)
{
	return (struct news){ mor_health_ended(plugin, unhealthy), mor_keep_ended(plugin) };
}

static void tell_news(mortise_plugin *plugin, const struct news *news, const char *why)
{
	if (news->unhealthy)
		mor_health_tell_ended(plugin, why);
	if (news->session_over)
		mor_keep_tell_ended(plugin, why);
}

static void on_end(void *arg, const struct mor_link_end *how)
{
	MOR_CLEAN(mor_buf) struct mor_buf record = MOR_BUF_INIT;
	mortise_plugin *plugin = arg;
	enum mortise_state next;
	struct mor_list taken, views;
	mortise_error error, failure;
	bool draining, left;
	struct news news;

	MOR_HOLD(plugin);
	plugin->now.counters.cpu_us += how->cpu_us;
	/* The link may know a last line that had no time to come as an event. It is printable already. */
	if (how->last_stderr[0])
		mor_heard_last_stderr(plugin, how->last_stderr);
	describe_end(plugin, how, &error);
	mor_denial_sum_up(plugin, how->denied);
	write_record(plugin, how, &record);
	tell_violation(plugin, &error, &record);
	if (plugin->gone)
		return;
	draining = plugin->now.state == MORTISE_DRAINING;
	left = mor_client_left(plugin, how);
	if (!mor_shape_is_session(plugin) && !how->violation && !how->start_code &&
	    !(draining && plugin->life.drain == MOR_DRAIN_GIVEN_UP)) {
		mor_shape_end(plugin, how, &error);
		return;
	}
	failure = error;
	/* A plugin that cannot be started, or broke its sandbox, would do so again. Not so after a lack of
	 * resources, or if somebody has killed its guardian. */
	if (how->violation ||
	    (how->start_code && !draining && error.code != MORTISE_ECRASHED && !mor_error_is_lack(&error)))
		next = MORTISE_FAILED;
	else
		next = next_state(plugin, how, &failure);
	/* During a stop the cause was reported when it began. */
	if (!draining || next != mor_drain_leads_to(plugin->life.drain) || how->violation)
		mor_supervise_blame(plugin, &failure, mor_buf_view(&record));
	mor_supervise_drop_link(plugin);
	if (!draining && !left) {
		mor_plugin_keep_error(plugin, &error);
		plugin->life.cause = error.code;
	}
	/* Calls queued while a wedged plugin ended were not meant for it. */
	mor_call_take(plugin, &taken, !draining || next != MORTISE_BACKOFF);
	mor_plugin_view_take(plugin, &views);
	news = note_process_end(plugin, left || (draining && next == MORTISE_STOPPED) ? NULL : error.text);
	mor_supervise_settle_down(plugin, next, &failure);
	tell_news(plugin, &news, error.text);
	mor_call_fail_taken(plugin, &taken,
			    &(struct mor_verdict){ .status = error.code,
						   .error = &error,
						   .error_data = mor_buf_view(&record) });
	mor_plugin_view_fail_taken(plugin, &views, &error);
}

/* ---- stopping ---- */

/* unhealthy: the reason; NULL: it is only stopped. */
static void stop_process(mortise_plugin *plugin, enum mor_rung rung, enum mor_drain drain, const char *why,
			 const char *unhealthy)
{
	struct news news;
	mortise_error error;

	mor_fail(&error, MORTISE_ECLOSED, "%s: %s", plugin->peer.name, why);
	if (!plugin->life.link) {
		mor_timer_stop(&plugin->ends.restart_timer);
		if (plugin->now.state != MORTISE_STOPPED)
			mor_supervise_settle_down(plugin, MORTISE_STOPPED, &error);
		return;
	}
	if (plugin->now.state != MORTISE_DRAINING || drain == MOR_DRAIN_ASKED)
		plugin->life.drain = drain;
	if (rung == MOR_RUNG_TERM && plugin->is.stop.hold)
		rung = MOR_RUNG_INPUT;
	if (plugin->now.state == MORTISE_DRAINING) {
		if (rung > plugin->life.rung)
			mor_ladder_climb(plugin, rung);
		return;
	}
	mor_timer_stop(&plugin->ends.broken_timer);
	news = note_process_end(plugin, unhealthy);
	plugin->life.ladder_ms = mor_loop_now_ms(plugin->host->loop);
	mor_state_set(plugin, MORTISE_DRAINING, why);
	tell_news(plugin, &news, why);
	if (plugin->now.state == MORTISE_DRAINING && plugin->life.rung == MOR_RUNG_NONE)
		mor_ladder_climb(plugin, rung);
	if (!mor_drain_lets_wait(plugin->life.drain))
		mor_call_fail_queued(plugin, &(struct mor_verdict){ .status = error.code, .error = &error });
}

void mor_supervise_stop(mortise_plugin *plugin, enum mor_rung rung, enum mor_drain drain, const char *why)
{
	stop_process(plugin, rung, drain, why, NULL);
}

int mortise_plugin_stop(mortise_plugin *plugin, enum mortise_stop how, mortise_error *err)
{
	static const enum mor_rung rungs[] = { [MORTISE_STOP_POLITE] = MOR_RUNG_BYE,
					       [MORTISE_STOP_INPUT] = MOR_RUNG_INPUT,
					       [MORTISE_STOP_NOW] = MOR_RUNG_KILL };
	int r = mor_plugin_check(plugin, err);
	mortise_error error;

	if (r < 0)
		return r;
	if ((unsigned)how > MORTISE_STOP_NOW)
		return mor_fail(err, MORTISE_EINVAL, "%s: %d is no way to stop", plugin->peer.name, (int)how);
	MOR_HOLD(plugin);
	mor_fail(&error, MORTISE_ECLOSED, "%s: stopped", plugin->peer.name);
	mor_supervise_blame(plugin, &error, (struct mor_slice){ 0 });
	mor_supervise_stop(plugin, rungs[how], MOR_DRAIN_ASKED, "stopped");
	return 0;
}

int mortise_plugin_stop_sync(mortise_plugin *plugin, int timeout_ms, mortise_error *err)
{
	int r = mor_plugin_check(plugin, err);
	bool late = false;
	struct mor_loop *loop;
	int64_t until;
	uint64_t life;

	if (r < 0 || (r = mor_host_check_idle(plugin->host, err)) < 0)
		return r;
	MOR_HOLD(plugin);
	loop = plugin->host->loop;
	life = plugin->now.lives;
	until = mor_clock_ms() + timeout_ms;
	/* We run the loop ourselves: a wake-up of another thread is kept for its owner. */
	mor_loop_hold(loop, true);
	(void)mortise_plugin_stop(plugin, MORTISE_STOP_POLITE, NULL);
	/* A callback may start it again: that is another process, and not ours to stop. */
	while (r >= 0 && !plugin->gone && plugin->now.lives == life && plugin->now.state != MORTISE_STOPPED &&
	       plugin->now.state != MORTISE_FAILED) {
		bool limited = timeout_ms >= 0 && !late;
		int64_t left = limited ? until - mor_clock_ms() : -1;

		if (!limited || left > 0) {
			r = mor_loop_wait(loop, (int)left);
		} else {
			late = true;
			(void)mortise_plugin_stop(plugin, MORTISE_STOP_NOW, NULL);
		}
	}
	mor_loop_hold(loop, false);
	if (r < 0)
		return mor_fail(err, r, "%s: the event loop failed", plugin->peer.name);
	return !late ? 0 :
		       mor_fail(err, MORTISE_ETIMEOUT, "%s: did not end within %d ms and was killed",
				plugin->peer.name, timeout_ms);
}

/* ---- when it goes wrong ---- */

/* The drain reason that leads to this state, after an error. */
static enum mor_drain drain_for(enum mortise_state after)
{
	return after == MORTISE_FAILED  ? MOR_DRAIN_GIVEN_UP :
	       after == MORTISE_BACKOFF ? MOR_DRAIN_RESTART :
					  MOR_DRAIN_BROKEN;
}

/* `busy`: somebody waits for it. */
static enum mor_drain drain_after_breach(mortise_plugin *plugin, bool busy, mortise_error *failure)
{
	enum mor_drain drain = MOR_DRAIN_BROKEN;

	/* A plugin that breaks the rules in its greeting would do so again. */
	if (is_client(plugin) && plugin->now.state == MORTISE_GREETING)
		return MOR_DRAIN_GIVEN_UP;
	if (!plugin->life.work.handed_out)
		drain = drain_for(unless_client(plugin, mor_supervise_after_death(plugin, failure)));
	if (drain == MOR_DRAIN_RESTART && !busy && plugin->now.state == MORTISE_READY)
		return MOR_DRAIN_BROKEN;
	return drain == MOR_DRAIN_BROKEN && plugin->life.spent ? MOR_DRAIN_SPENT : drain;
}

static void fail_and_stop(mortise_plugin *plugin, const mortise_error *error, enum mor_rung rung,
			  bool queued_too)
{
	/* A plugin that we kill for a time-out was busy, although its call is settled by now. */
	bool busy = plugin->calls.in_flight || !mor_list_empty(&plugin->calls.queue) || rung == MOR_RUNG_KILL;
	mortise_error failure = *error;
	enum mor_drain drain;
	struct mor_list taken;

	if (!plugin->life.link || plugin->now.state == MORTISE_DRAINING) {
		mor_supervise_stop(plugin, rung, plugin->life.drain, error->text);
		return;
	}
	mor_plugin_keep_error(plugin, error);
	plugin->life.cause = error->code;
	drain = drain_after_breach(plugin, busy, &failure);
	mor_supervise_blame(plugin, &failure, (struct mor_slice){ 0 });
	/* Waiting calls were never meant for a process that has had its call. */
	mor_call_take(plugin, &taken, queued_too && drain != MOR_DRAIN_SPENT);
	stop_process(plugin, rung, drain, error->text, error->text);
	mor_call_fail_taken(plugin, &taken, &(struct mor_verdict){ .status = error->code, .error = error });
}

void mor_supervise_breach(mortise_plugin *plugin, const mortise_error *error, enum mor_rung rung)
{
	MOR_HOLD(plugin);
	plugin->life.deaf = true;
	fail_and_stop(plugin, error, rung, true);
}

void mor_supervise_wedged(mortise_plugin *plugin, const char *why)
{
	mortise_error error;

	MOR_HOLD(plugin);
	mor_fail(&error, MORTISE_ECRASHED, "%s: wedged (%s): it is stopped and started again",
		 plugin->peer.name, why);
	mor_event(plugin, MORTISE_EVENT_WARNING, error.text);
	/* Waiting calls can wait for the next process. What a pool gave it, another worker may take sooner. */
	fail_and_stop(plugin, &error, MOR_RUNG_TERM, plugin->seat.pool != NULL);
}

void mor_supervise_refused(mortise_plugin *plugin, const struct mor_verdict *verdict, bool retry)
{
	mortise_error failure = *verdict->error;
	enum mor_drain drain = MOR_DRAIN_GIVEN_UP;
	struct mor_list taken;

	if (retry)
		drain = drain_for(unless_client(plugin, mor_supervise_after_death(plugin, &failure)));
	mor_supervise_blame(plugin, &failure, verdict->error_data);
	plugin->life.cause = verdict->error->code;
	mor_plugin_keep_error(plugin, verdict->error);
	mor_call_take(plugin, &taken, true);
	stop_process(plugin, retry ? MOR_RUNG_TERM : MOR_RUNG_INPUT, drain, verdict->error->text,
		     verdict->error->text);
	mor_call_fail_taken(plugin, &taken, verdict);
}

static void on_broken_timer(struct mor_timer *timer)
{
	mortise_plugin *plugin = mor_container_of(timer, mortise_plugin, ends.broken_timer);
	char last[MOR_DIAGNOSIS_SIZE];
	mortise_error error;

	MOR_HOLD(plugin);
	/* It has stopped running. Its end will come, on a busy machine later than that, and will say why. */
	if (plugin->life.link->ops->is_over && plugin->life.link->ops->is_over(plugin->life.link))
		return;
	mor_fail(&error, MORTISE_ECRASHED, "%s: %s while it still runs%s", plugin->peer.name,
		 plugin->life.broken, mor_diagnosis_last_words(plugin, last));
	/* If clean ends are allowed, a closed stdout may be the beginning of one: the exit will show. */
	if (plugin->is.restart.clean && plugin->life.was_ready && !plugin->life.work.handed_out) {
		mor_supervise_blame(plugin, &error, (struct mor_slice){ 0 });
		mor_supervise_stop(plugin, MOR_RUNG_INPUT, MOR_DRAIN_LEFT, error.text);
		return;
	}
	mor_supervise_breach(plugin, &error, MOR_RUNG_INPUT);
}

static void on_broken(void *arg, const char *what)
{
	mortise_plugin *plugin = arg;

	MOR_HOLD(plugin);
	if (plugin->now.state == MORTISE_DRAINING) {
		if (plugin->life.rung == MOR_RUNG_BYE)
			/* the end of its output counts as an answer */
			mor_ladder_climb(plugin, MOR_RUNG_INPUT);
		return;
	}
	if (plugin->life.spent &&
	    (plugin->life.link->input_broken || plugin->peer.dialect->life.shape == MOR_SHAPE_ONE_CALL)) {
		/* It has its one call. That alone is no failure: the exit decides. What it did not read
		 * counts as written, so that its time runs. */
		mor_call_written(plugin, plugin->life.link->queued);
		return;
	}
	if (!plugin->life.broken)
		mor_plugin_set_timer(plugin, &plugin->ends.broken_timer, BROKEN_MS, on_broken_timer);
	plugin->life.broken = what;
}

/* ---- small link events ---- */

static void on_stderr(void *arg, struct mor_slice line)
{
	mortise_plugin *plugin = arg;
	char text[MOR_STDERR_LINE + 64];

	MOR_HOLD(plugin);
	plugin->now.counters.stderr_bytes += line.len + 1;
	mor_heard_stderr(plugin, line);
	mor_event(plugin, MORTISE_EVENT_STDERR, mor_printable(line, text, sizeof(text)));
}

static void on_written(void *arg, uint64_t total)
{
	MOR_HOLD(arg);
	mor_call_written(arg, total);
}

const struct mor_link_events mor_plugin_link_events = {
	.on_started = on_started,
	.on_message = mor_receive_message,
	.on_fault = mor_receive_fault,
	.on_noise = mor_receive_noise,
	.on_stderr = on_stderr,
	.on_denied = mor_denial_told,
	.on_written = on_written,
	.on_broken = on_broken,
	.on_end = on_end,
	.on_view = mor_plugin_view_answered,
};
