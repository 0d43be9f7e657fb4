/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault-guard LEVEL [KIND]: whole sessions in which the guardian's system calls fail (guard_inject.h), at its
 * start, while it watches and when it ends. Whatever was hit: the host hears of it in words, or of nothing;
 * work that was taken ends exactly once; a confined plugin never gets what it may not have; nothing lives on;
 * and the next work is done well. Of calls that it makes often, some are tried each time;
 * MORTISE_INJECT_STRIDE=1 tries all.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <mortise/view.h>

#include "guard_inject.h"
#include "host.h"
#include "sweep.h"

#define GUARD_S 600

static const char *const names[] = {
#define X(name, error) #name,
	GUARD_KINDS(X)
#undef X
};

static const int errors[] = {
#define X(name, error) error,
	GUARD_KINDS(X)
#undef X
};

static struct guard_plan *plan;

static const struct level {
	const char *name;
	bool confined, view;
	const char *set[3];
} levels[] = {
	{ "guarded", false, false, { NULL } },
	{ "pidns", false, false, { "sandbox.pidns=true" } },
	{ "view", false, true, { "sandbox.view=true" } },
	{ "t0", true, false, { NULL } },
	{ "t0-pidns", true, false, { "sandbox.pidns=true" } },
	{ "t1", true, false, { "sandbox.level=t1" } },
	{ "t1-view", true, true, { "sandbox.level=t1", "sandbox.view=true" } },
};

/* ---- what is to fail ---- */

/* Where guardians of this process look. */
static void map_plan(const char *dir)
{
	char path[FILE_ROOM];
	int fd;

	snprintf(path, sizeof(path), "%s/" INJECT_FILE, dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*plan)) < 0 ||
	    (plan = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
		abort();
	close(fd);
}

static void unmap_plan(const char *dir)
{
	char path[FILE_ROOM];

	munmap(plan, sizeof(*plan));
	snprintf(path, sizeof(path), "%s/" INJECT_FILE, dir);
	unlink(path);
}

static unsigned counts[GUARD_KINDS_COUNT]; /* of the last session in which nothing failed */

static unsigned count(unsigned kind)
{
	return counts[kind];
}

static bool goes_on(unsigned kind)
{
	return errors[kind] != EINTR;
}

/* ---- a session ---- */

static void on_view(mortise_plugin *plugin, int status, const mortise_error *error, void *arg)
{
	(void)plugin;
	*(bool *)arg = true;
	if (status < 0 && !(error && error->text[0]))
		sweep_fail("a view refused without a word: %s", mortise_status_name(status));
}

/* Shows it a directory, if it gets so far as to run. */
static void change_view(struct rig *rig)
{
	char stage[FILE_ROOM];
	bool done = false;
	mortise_view view = { .size = sizeof(view), .stage = stage };

	snprintf(stage, sizeof(stage), "%s/stage", rig->dir);
	if (mortise_plugin_start(rig->plugin, NULL) < 0)
		return;
	while (mortise_plugin_state(rig->plugin) == MORTISE_STARTING)
		rig_turn(rig);
	if (mortise_plugin_set_view(rig->plugin, &view, on_view, &done, NULL) == 0 && !rig_until(rig, &done))
		sweep_fail("a view is never answered");
}

static bool is_down(const struct rig *rig)
{
	int state = mortise_plugin_state(rig->plugin);

	return state == MORTISE_STOPPED || state == MORTISE_FAILED;
}

static void work(struct rig *rig, const struct level *level, struct job *job)
{
	if (level->view)
		change_view(rig);
	if (job_start(rig, job, 30000) == 0 && !rig_until_done(job))
		sweep_fail("work never ended");
	if (job->status && !job->text[0])
		sweep_fail("work failed without a word: %s", mortise_status_name(job->status));
	if (job->finals > 1)
		sweep_fail("work ended %d times", job->finals);
}

/* Up the ladder, for which its guardian is needed. */
static void stop(struct rig *rig)
{
	time_t end = time(NULL) + GUARD_S;

	mortise_plugin_stop(rig->plugin, MORTISE_STOP_POLITE, NULL);
	while (!is_down(rig) && time(NULL) < end)
		rig_turn(rig);
	if (!is_down(rig))
		sweep_fail("does not stop");
}

static void work_again(struct rig *rig, const struct level *level, struct job *job)
{
	if (mortise_plugin_state(rig->plugin) == MORTISE_FAILED)
		mortise_plugin_start(rig->plugin, NULL); /* by name: a fresh chance */
	work(rig, level, job);
}

static void play(const struct level *level, struct rig *rig)
{
	struct job job;

	work(rig, level, &job);
	stop(rig);
	if (!plan->n) /* nothing was to fail */
		memcpy(counts, plan->count, sizeof(counts));
	if (!plan->n && job.status != (level->confined ? MORTISE_EVIOLATION : 0))
		sweep_fail("nothing failed, and it ended with %s: %s", mortise_status_name(job.status),
			   job.text);
	plan->armed = 0;
	work_again(rig, level, &job);
	if (job.status == MORTISE_EVIOLATION) /* it had not come so far before */
		work_again(rig, level, &job);
	if (job.status || !job.right)
		sweep_fail("the next work failed: %s", job.text);
	stop(rig);
	if (rig->escaped)
		sweep_fail("it got what it may not have");
}

/* ---- around it ---- */

static void on_alarm(int number)
{
	(void)number;
}

/* A process that loses its parent becomes our child. One that its guardian could not wait for may
 * need a moment. */
static void wait_for_all(void)
{
	pid_t pid;

	alarm(GUARD_S);
	do
		pid = wait(NULL);
	while (pid > 0);
	if (errno != ECHILD)
		sweep_fail("a process is left");
	alarm(0);
}

static void run(const void *arg, unsigned kind, unsigned n, bool on)
{
	const struct level *level = arg;
	struct rig_options opt = { .fault = level->confined ? "violation" : "nothing",
				   .phase = AT_CALL,
				   .set = level->set,
				   .helper = GUARD_INJECT,
				   .confined = level->confined };
	unsigned before = count_descriptors();
	mortise_error err = { 0 };
	char stage[FILE_ROOM];
	struct rig rig;

	if (rig_open(&rig, tongue_find("plain"), &opt, &err) < 0)
		sweep_fail("%s", err.text);
	snprintf(stage, sizeof(stage), "%s/stage/opt", rig.dir);
	mkdir(dirname(strdupa(stage)), 0700);
	mkdir(stage, 0700);
	map_plan(rig.dir);
	*plan = (struct guard_plan){ .kind = (int)kind, .n = n, .on = on, .armed = 1 };
	play(level, &rig);
	rmdir(stage);
	rmdir(dirname(stage));
	unmap_plan(rig.dir);
	rig_close(&rig);
	wait_for_all();
	if (count_descriptors() != before)
		sweep_fail("%u descriptors before, %u after", before, count_descriptors());
}

/* Tried in a child: who unshares a user namespace stays in it. */
static bool has_namespaces(void)
{
	int status = 1;
	pid_t child = fork();

	if (child == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) < 0);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool needs_namespaces(const char *level)
{
	return strcmp(level, "guarded") != 0 && strcmp(level, "t0") != 0;
}

int main(int argc, char **argv)
{
	struct sweep sweep = { .kinds = GUARD_KINDS_COUNT,
			       .names = names,
			       .count = count,
			       .goes_on = goes_on,
			       .run = run,
			       .most = 4 };
	unsigned number = 0;
	bool good;

	for (size_t i = 0; argc > 1 && i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(levels[i].name, argv[1]) == 0)
			sweep.arg = &levels[i];
	if (!sweep.arg)
		return 2;
	sweep.name = argv[1];
	if (needs_namespaces(argv[1]) && !has_namespaces()) {
		printf("ok 1 - %s # SKIP this machine refuses namespaces\n1..1\n", argv[1]);
		return 0;
	}
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm }, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	rig_prepare(tongue_find("plain"));
	good = sweep_all(&sweep, argc > 2 ? argv[2] : NULL, &number);
	printf("1..%u\n", number);
	return !good;
}
