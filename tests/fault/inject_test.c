/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault-inject DIALECT [KIND]: whole sessions with a good plugin, in which each call into libc that can fail does so: the n-th
 * one once, and the n-th and all after it, for every n. Then all works again. Whatever was hit: an error or none at once, but
 * no crash; work that was taken ends exactly once; no memory, descriptor or process is left; and the next work is done well.
 *
 * MORTISE_INJECT_STRIDE=10 takes every tenth n only, beginning at a random one (MORTISE_INJECT_SEED says it again).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host.h"
#include "inject.h"

#define JOBS 3
#define TURNS 40 /* while calls keep failing */
#define DEFAULT_STRIDE 1

static char said[700];

static bool fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!said[0])
		vsnprintf(said, sizeof(said), format, args);
	va_end(args);
	return false;
}

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
	static const char *const set[] = { "restart.first=10ms", "restart.cap=20ms", "restart.intensity=30", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv, .name = "fault", .dialect = tongue->dialect, .set = set };
	mortise_pool_options pool = { .size = sizeof(pool), .workers = 2, .retries = 1 };

	return mortise_pool_new(s->rig.host, &opt, &pool, &s->pool, err);
}

static int start(struct session *s, struct job *job)
{
	mortise_call_options opt = { .size = sizeof(opt), .timeout_ms = 30000, .on_reply = pool_reply, .arg = job };
	const struct tongue *t = s->rig.tongue;
	mortise_error err = { 0 };
	int r;

	if (!s->pool)
		return job_start(&s->rig, job, 30000);
	*job = (struct job){ .rig = &s->rig };
	r = mortise_pool_call(s->pool, t->action, rig_params(), &opt, &err);
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
		fail("a failure without a word: %s", mortise_status_name(r));
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
			fail("work %d was refused without a word", i);
	}
	for (int turn = 0; turn < TURNS && !all_done(s); turn++)
		mortise_host_wait(s->rig.host, 20);
}

/* Everything works again. */
static bool recover(struct session *s)
{
	for (int i = 0; i < JOBS; i++) {
		if (s->taken[i] && !rig_until_done(&s->jobs[i]))
			return fail("work %d never ended", i);
		if (s->taken[i] && s->jobs[i].status && !s->jobs[i].text[0])
			return fail("work %d failed without a word", i);
	}
	while (!s->pool && mortise_plugin_state(s->rig.plugin) == MORTISE_DRAINING)
		rig_turn(&s->rig);
	if (start(s, &s->last) < 0)
		return fail("no work is taken any more: %s", s->last.text);
	if (!rig_until_done(&s->last))
		return fail("the next work never ended");
	/* An analyzer that was refused its work is about to end, and takes the next with it. */
	if (s->rig.tongue->asks && s->last.status && (start(s, &s->last) < 0 || !rig_until_done(&s->last)))
		return fail("nor did the one after it");
	return (s->last.status == 0 && s->last.right) || fail("the next work failed: %s", s->last.text);
}

static bool close_session(struct session *s)
{
	mortise_pool_free(s->pool);
	rig_close(&s->rig);
	for (int i = 0; i < JOBS; i++)
		if (s->jobs[i].finals > 1 || (!s->taken[i] && s->jobs[i].finals))
			return fail("work %d ended %d times", i, s->jobs[i].finals);
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

static bool is_clean(const struct tongue *tongue, bool pool, enum inject_kind kind, unsigned n, bool on)
{
	unsigned descriptors = count_descriptors();
	long blocks = inject_blocks();

	said[0] = '\0';
	play(tongue, pool, kind, n, on);
	if (inject_blocks() != blocks)
		fail("%ld blocks of memory are left", inject_blocks() - blocks);
	if (count_descriptors() != descriptors)
		fail("%u descriptors before, %u after", descriptors, count_descriptors());
	if (has_children())
		fail("left a child");
	return !said[0];
}

/* Every stride-th n, one test for each kind and way. */
static bool run_kind(const struct tongue *tongue, bool pool, enum inject_kind kind, unsigned stride, unsigned from, unsigned *number)
{
	static const char *const ways[] = { "once", "from then on" };
	unsigned total = inject_count(kind);
	bool good = true;

	for (int on = 0; on < 1 + inject_may_go_on(kind); on++) {
		unsigned tried = 0, bad = 0;
		char first[800] = "";

		for (unsigned n = 1 + from % (total < stride ? total : stride); n <= total; n += stride, tried++) {
			if (is_clean(tongue, pool, kind, n, on))
				continue;
			if (!bad++)
				snprintf(first, sizeof(first), "n=%u of %u: %s", n, total, said);
		}
		printf("%sok %u - %s%s: %s %s, %u of %u\n", bad ? "not " : "", ++*number, tongue->name, pool ? " pool" : "",
		       inject_names[kind], ways[on], tried, total);
		if (bad)
			printf("# %u failed; %s\n", bad, first);
		fflush(stdout);
		good = good && !bad;
	}
	return good;
}

static bool run_all(const struct tongue *tongue, bool pool, const char *only, unsigned stride, unsigned from, unsigned *number)
{
	unsigned counts[INJECT_KINDS_COUNT];
	bool good = true;

	/* Twice: what libraries allocate for good, they do the first time. */
	for (int i = 0; i < 2; i++)
		if (!is_clean(tongue, pool, INJECT_malloc, 0, false) && i) {
			printf("not ok %u - %s: nothing fails\n# %s\n", ++*number, tongue->name, said);
			return false;
		}
	for (int kind = 0; kind < INJECT_KINDS_COUNT; kind++)
		counts[kind] = inject_count((enum inject_kind)kind);
	for (int kind = 0; kind < INJECT_KINDS_COUNT; kind++) {
		if (!counts[kind] || (only && strcmp(only, inject_names[kind]) != 0))
			continue;
		is_clean(tongue, pool, (enum inject_kind)kind, 0, false); /* counts once more */
		good = run_kind(tongue, pool, (enum inject_kind)kind, stride, from, number) && good;
	}
	return good;
}

static unsigned number_from(const char *variable, unsigned otherwise)
{
	const char *text = getenv(variable);

	return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	const struct tongue *tongue = argc > 1 ? tongue_find(argv[1]) : NULL;
	unsigned stride = number_from("MORTISE_INJECT_STRIDE", DEFAULT_STRIDE), number = 0;
	unsigned seed = number_from("MORTISE_INJECT_SEED", (unsigned)time(NULL) ^ (unsigned)getpid());
	bool good;

	if (!tongue || !stride)
		return 2;
	rig_prepare(tongue);
	printf("# MORTISE_INJECT_SEED=%u MORTISE_INJECT_STRIDE=%u\n", seed, stride);
	good = run_all(tongue, false, argc > 2 ? argv[2] : NULL, stride, seed, &number);
	if (!tongue->asks)
		good = run_all(tongue, true, argc > 2 ? argv[2] : NULL, stride, seed, &number) && good;
	printf("1..%u\n", number);
	return !good;
}
