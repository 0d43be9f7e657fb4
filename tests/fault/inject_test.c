/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault-inject DIALECT [KIND]: whole sessions with a good plugin, in which each call into libc that can fail
 * does so (sweep.h). Then all works again. Whatever was hit: an error or none at once, but no crash; work that
 * was taken ends exactly once; no memory, descriptor or process is left; and the next work is done well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host.h"
#include "inject.h"
#include "sweep.h"

#define JOBS  3
#define TURNS 40 /* while calls keep failing */

struct session {
	struct rig rig;
	mortise_pool *pool;
	struct job jobs[JOBS], last;
	bool taken[JOBS];
};

/* ---- a pool is a rig whose jobs go elsewhere ---- */

static void pool_reply(const mortise_reply *reply, void *arg)
{
	struct job *job = arg;

	if (reply->more)
		return;
	job->finals++;
	job->status = reply->status;
	job->right = reply->status == 0;
	snprintf(job->text, sizeof(job->text), "%s", reply->error ? reply->error->text : "");
}

static int open_pool(struct session *s, const struct tongue *tongue, mortise_error *err)
{
	const char *argv[] = { FAULT_PLUGIN, tongue->name, "none", "start", s->rig.mark, NULL };
	static const char *const set[] = { "restart.first=10ms", "restart.cap=20ms", "restart.intensity=30",
					   NULL };
	mortise_plugin_options opt = {
		.size = sizeof(opt), .argv = argv, .name = "fault", .dialect = tongue->dialect, .set = set
	};
	mortise_pool_options pool = { .size = sizeof(pool), .workers = 2, .retries = 1 };

	return mortise_pool_new(s->rig.host, &opt, &pool, &s->pool, err);
}

static int start(struct session *s, struct job *job)
{
	mortise_call_options opt = {
		.size = sizeof(opt), .timeout_ms = 30000, .on_reply = pool_reply, .arg = job
	};
	const struct tongue *t = s->rig.tongue;
	mortise_error err = { 0 };
	int r;

	if (!s->pool)
		return job_start(&s->rig, job, 30000);
	*job = (struct job){ .rig = &s->rig };
	r = mortise_pool_call(s->pool, t->action, rig_params(), &opt, NULL, &err);
	snprintf(job->text, sizeof(job->text), "%s", err.text);
	return r;
}

/* ---- a session ---- */

static int open_session(struct session *s, const struct tongue *tongue, bool pool)
{
	mortise_error err = { 0 };
	int r = rig_open(&s->rig, tongue, &(struct rig_options){ .fault = "none" }, &err);

	if (r == 0 && pool)
		r = open_pool(s, tongue, &err);
	if (r < 0 && !err.text[0])
		sweep_fail("a failure without a word: %s", mortise_status_name(r));
	return r;
}

static bool all_done(const struct session *s)
{
	for (int i = 0; i < JOBS; i++)
		if (s->taken[i] && !s->jobs[i].finals)
			return false;
	return true;
}

/* As far as it gets while calls fail. */
static void work_hard(struct session *s)
{
	for (int i = 0; i < (s->rig.tongue->asks ? 1 : JOBS); i++) { /* an analyzer has one at a time */
		s->taken[i] = start(s, &s->jobs[i]) == 0;
		if (!s->taken[i] && !s->jobs[i].text[0])
			sweep_fail("work %d was refused without a word", i);
	}
	for (int turn = 0; turn < TURNS && !all_done(s); turn++)
		mortise_host_wait(s->rig.host, 20);
}

/* Everything works again. */
static bool recover(struct session *s)
{
	for (int i = 0; i < JOBS; i++) {
		if (s->taken[i] && !rig_until_done(&s->jobs[i]))
			return sweep_fail("work %d never ended", i);
		if (s->taken[i] && s->jobs[i].status && !s->jobs[i].text[0])
			return sweep_fail("work %d failed without a word", i);
	}
	while (!s->pool && mortise_plugin_state(s->rig.plugin) == MORTISE_DRAINING)
		rig_turn(&s->rig);
	if (start(s, &s->last) < 0)
		return sweep_fail("no work is taken any more: %s", s->last.text);
	if (!rig_until_done(&s->last))
		return sweep_fail("the next work never ended");
	/* An analyzer that was refused its work is about to end, and takes the next with it. */
	if (s->rig.tongue->asks && s->last.status && (start(s, &s->last) < 0 || !rig_until_done(&s->last)))
		return sweep_fail("nor did the one after it");
	return (s->last.status == 0 && s->last.right) || sweep_fail("the next work failed: %s", s->last.text);
}

static bool close_session(struct session *s)
{
	mortise_pool_free(s->pool);
	rig_close(&s->rig);
	for (int i = 0; i < JOBS; i++)
		if (s->jobs[i].finals > 1 || (!s->taken[i] && s->jobs[i].finals))
			return sweep_fail("work %d ended %d times", i, s->jobs[i].finals);
	return true;
}

static void play(const struct tongue *tongue, bool pool, enum inject_kind kind, unsigned n, bool on)
{
	struct session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		abort();
	inject_arm(kind, n, on);
	r = open_session(s, tongue, pool);
	if (r == 0)
		work_hard(s);
	inject_disarm();
	if (r == 0)
		recover(s);
	close_session(s);
	free(s);
}

/* ---- all of them ---- */

struct stage {
	const struct tongue *tongue;
	bool pool;
};

static void run(const void *arg, unsigned kind, unsigned n, bool on)
{
	const struct stage *stage = arg;
	unsigned descriptors = count_descriptors();
	long blocks = inject_blocks();

	play(stage->tongue, stage->pool, (enum inject_kind)kind, n, on);
	if (inject_blocks() != blocks)
		sweep_fail("%ld blocks of memory are left", inject_blocks() - blocks);
	if (count_descriptors() != descriptors)
		sweep_fail("%u descriptors before, %u after", descriptors, count_descriptors());
	if (has_children())
		sweep_fail("left a child");
}

int main(int argc, char **argv)
{
	struct stage stage = { .tongue = argc > 1 ? tongue_find(argv[1]) : NULL };
	struct sweep sweep = { .kinds = INJECT_KINDS_COUNT,
			       .names = inject_names,
			       .count = inject_count,
			       .goes_on = inject_may_go_on,
			       .run = run,
			       .arg = &stage };
	const char *only = argc > 2 ? argv[2] : NULL;
	unsigned number = 0;
	char name[64];
	bool good;

	if (!stage.tongue)
		return 2;
	/* Without it the host asks libc for the user's name. If memory is short then, libc loads its next
	 * source of names, and keeps it for good: blocks that are not ours. */
	setenv("USER", "injected", 0);
	rig_prepare(stage.tongue);
	sweep.name = stage.tongue->name;
	good = sweep_all(&sweep, only, &number);
	if (!stage.tongue->asks) {
		stage.pool = true;
		snprintf(name, sizeof(name), "%s pool", stage.tongue->name);
		sweep.name = name;
		good = sweep_all(&sweep, only, &number) && good;
	}
	printf("1..%u\n", number);
	return !good;
}
