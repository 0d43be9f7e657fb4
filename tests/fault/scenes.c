/* SPDX-License-Identifier: Apache-2.0 */
/* What the host commits itself, or the kernel does to it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cell.h"

#define GUARD_S 600 /* SIGALRM then ends us, and the report says so */

/* ---- exec fails ---- */

static void put_program(const struct rig *rig, const char *text, mode_t mode)
{
	char path[FILE_ROOM];
	FILE *file;

	snprintf(path, sizeof(path), "%s/" PROGRAM_FILE, rig->dir);
	file = fopen(path, "we");
	if (!file || fputs(text, file) < 0 || fclose(file) != 0 || chmod(path, mode) < 0)
		abort();
}

static void put_not_executable(struct rig *rig)
{
	put_program(rig, "#!/bin/sh\n", 0644);
}

static void put_no_format(struct rig *rig)
{
	put_program(rig, "\1\2\3 neither a script nor a program\n", 0755);
}

static void put_no_interpreter(struct rig *rig)
{
	put_program(rig, "#!/no/such/interpreter\n", 0755);
}

static void put_right(struct rig *rig)
{
	char path[FILE_ROOM];

	snprintf(path, sizeof(path), "%s/" PROGRAM_FILE, rig->dir);
	unlink(path);
	if (symlink(FAULT_PLUGIN, path) < 0)
		abort();
}

/* clang-format off */
#define PROGRAM(put) { .fault = "nothing", .own_program = true, .begin = put, .end = put_right }
/* clang-format on */
const struct twist without_program = PROGRAM(NULL), not_executable = PROGRAM(put_not_executable),
		   no_format = PROGRAM(put_no_format), no_interpreter = PROGRAM(put_no_interpreter);

/* ---- no descriptors ---- */

static struct rlimit descriptors;

/* Descriptors that are open go on working, whatever their number. */
static void take_descriptors(void)
{
	getrlimit(RLIMIT_NOFILE, &descriptors);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 3, descriptors.rlim_max });
}

static void take_at_start(struct rig *rig)
{
	descriptors = (struct rlimit){ 0 };
	if (rig->opt.phase == AT_START)
		take_descriptors();
}

static void take_later(struct rig *rig)
{
	if (rig->opt.phase != AT_START)
		take_descriptors();
}

static void give_back(struct rig *rig)
{
	if (descriptors.rlim_cur)
		setrlimit(RLIMIT_NOFILE, &descriptors);
	rig->opt.on_commit = NULL;
}

const struct twist no_descriptors = {
	.fault = "nothing", .begin = take_at_start, .commit = take_later, .end = give_back
};

/* ---- the wall clock jumps ---- */

static time_t jump; /* while it is not 0 the time of day is so far off */

/* In place of libc's, for libmortise too. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
	int r = (int)syscall(SYS_clock_gettime, clock, now);

	if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI))
		now->tv_sec += jump;
	return r;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec t;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &t);
	*now = (struct timeval){ t.tv_sec, t.tv_nsec / 1000 };
	return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *ret)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (ret)
		*ret = t.tv_sec;
	return t.tv_sec;
}

#define YEAR (365 * 24 * 3600)

static void jump_ahead(struct rig *rig)
{
	(void)rig;
	jump = YEAR;
}

static void jump_back(struct rig *rig)
{
	(void)rig;
	jump = -YEAR;
}

static void land(struct rig *rig)
{
	(void)rig;
	jump = 0;
}

/* Neither must it be over at once, nor last for ever. */
const struct twist clock_ahead = { .fault = "late", .commit = jump_ahead, .end = land },
		   clock_back = { .fault = "hang", .commit = jump_back, .end = land };

/* ---- interrupted, and short reads ---- */

static void on_alarm(int number)
{
	(void)number;
}

static void be_interrupted(struct rig *rig)
{
	struct sigaction act = { .sa_handler = on_alarm }; /* no SA_RESTART */

	(void)rig;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 700 }, { 0, 700 } }, NULL);
}

static void be_left_alone(struct rig *rig)
{
	(void)rig;
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	signal(SIGALRM, SIG_DFL);
}

const struct twist interrupted = { .fault = "in_pieces", .begin = be_interrupted, .end = be_left_alone };

/* ---- plain ones ---- */

/* Of one that is killed as soon as the plugin runs, before it has said so, nothing more is heard; and nobody
 * waits for the plugin, which dies with it. */
const struct twist guardian_early = { .fault = "none", .helper = FAULT_JAIL, .silent = true },
		   guardian_killed = { .silent = true, .orphan = true };
const struct twist violates = { .confined = true };
const struct twist never_reads = { .fault = "hang", .big = true };

/* ---- the host is killed ---- */

/* As far as the fault. Of one who works once, or asks, the fault comes before its work has ended. */
static bool bring_to_fault(struct rig *rig, struct job *job, enum phase phase)
{
	bool within = phase == AT_START || phase == AT_CALL || (phase == AT_IDLE && rig->tongue->asks) ||
		      rig->tongue->one_shot;

	if (job_start(rig, job, LONG_MS) < 0)
		return fail("refused: %s", job->text);
	if (!within && !rig_until_done(job))
		return fail("does not work");
	if (!within && phase == AT_STOP)
		mortise_plugin_stop(rig->plugin, MORTISE_STOP_POLITE, NULL);
	return rig_until(rig, &rig->committed) || fail("the fault never came");
}

static void be_host(const struct cell *cell, int told)
{
	static const char *const soon[] = { "stop.bye=60s", "stop.term=30ms", "stop.kill=30ms", NULL };
	/* Whose process ends with its call is told to stop before its fault is seen. */
	static const char *const late[] = { "stop.bye=60s", "stop.term=10s", "stop.kill=30ms", NULL };
	struct rig_options opt = { .fault = "tree",
				   .phase = cell->phase,
				   .set = cell->tongue->one_shot && cell->phase == AT_STOP ? late : soon };
	struct rig rig;
	struct job job;

	if (rig_open(&rig, cell->tongue, &opt, NULL) < 0 || !bring_to_fault(&rig, &job, cell->phase) ||
	    write(told, "!", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* A process that loses its parent becomes our child: without children, nobody is left. */
static bool host_dies(const struct cell *cell)
{
	int told[2];
	char byte, dir[DIR_ROOM];
	pid_t pid;
	bool good;

	if (pipe2(told, O_CLOEXEC) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || (pid = fork()) < 0)
		return fail("%s", strerror(errno));
	if (pid == 0)
		be_host(cell, told[1]);
	close(told[1]);
	good = read(told[0], &byte, 1) == 1 || fail("the host has failed");
	close(told[0]);
	kill(pid, SIGKILL);
	alarm(GUARD_S);
	while (wait(NULL) > 0)
		;
	alarm(0);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	fault_dir(dir, (int)pid);
	rig_sweep(dir);
	return good;
}

/* And the next host has a plugin that works. */
static bool play_host_killed(const struct cell *cell)
{
	struct rig rig;
	bool good = host_dies(cell);

	good = good && (rig_open(&rig, cell->tongue, &(struct rig_options){ .fault = "none" }, NULL) == 0 ||
			fail("not opened"));
	good = good && end_well(&rig, cell->row);
	if (good)
		rig_close(&rig);
	return good;
}

const struct twist host_killed = { .play = play_host_killed };

/* ---- two beside each other ---- */

#define TURNS 50 /* from when an answer lies in the pipe until its callback, at the most */

/* The other answers, says so on another way, and from then on it is the host's turn. Where the end of a process
 * is awaited as well, that may take longer: then it is enough that it is not forgotten. */
static bool answer_beside(struct rig *other, struct job *job, int aloud)
{
	unsigned turns = 0;
	char byte;

	if (job_start(other, job, LONG_MS) < 0)
		return fail("refused: %s", job->text);
	while (read(aloud, &byte, 1) != 1 && !job->finals)
		rig_turn(other);
	while (!job->finals && (turns < TURNS || other->tongue->one_shot)) {
		rig_turn(other);
		turns++;
	}
	return job->finals || fail("an answer that was there was not told in %u turns", turns);
}

static bool play_both(struct rig *flood, struct rig *other, const struct cell *cell, int aloud)
{
	struct job flooding, job;

	if (!other->tongue->one_shot && mortise_plugin_start(other->plugin, NULL) < 0)
		return fail("not started");
	if (!other->tongue->one_shot && !rig_until_state(other, MORTISE_READY))
		return fail("does not get ready");
	if (!bring_to_fault(flood, &flooding, cell->phase) || !answer_beside(other, &job, aloud) ||
	    !judge(&job, cell->row, OK))
		return false;
	/* Of what the flood would do to its own call there are other rows. */
	mortise_plugin_stop(flood->plugin, MORTISE_STOP_NOW, NULL);
	if (!rig_until_state(flood, MORTISE_STOPPED))
		return fail("the flood does not stop");
	return (is_gone(flood->mark) || fail("the flood lives on")) && end_well(other, cell->row);
}

static bool play_neighbour(const struct cell *cell)
{
	static const char *const patient[] = { "stop.bye=60s", "stop.term=60s", "limits.session=60s", NULL };
	struct rig_options floods = { .fault = "endless_flood", .phase = cell->phase, .set = patient };
	struct rig flood, other;
	mortise_error err = { 0 };
	char path[FILE_ROOM];
	int aloud;
	bool good;

	good = rig_open(&flood, cell->tongue, &floods, &err) == 0 || fail("%s", err.text);
	snprintf(path, sizeof(path), "%s/" ALOUD_FILE, flood.dir);
	if (mkfifo(path, 0600) < 0 || (aloud = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0)
		abort();
	if (good &&
	    rig_open(&other, cell->tongue,
		     &(struct rig_options){ .fault = "aloud", .phase = AT_CALL, .beside = &flood }, &err) < 0)
		good = fail("%s", err.text);
	good = good && play_both(&flood, &other, cell, aloud);
	close(aloud);
	rig_close(&other);
	rig_close(&flood);
	return good;
}

const struct twist neighbour = { .play = play_neighbour };
