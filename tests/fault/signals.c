/* SPDX-License-Identifier: Apache-2.0 */
/* The command, told to go by a signal: 128 + its number, nothing left. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cell.h"

#define GUARD_S 600
#define WORDS   40

struct command {
	const char *words[WORDS];
	size_t count;
	char dir[DIR_ROOM], mark[FILE_ROOM], archive[FILE_ROOM], source[FILE_ROOM], bye[32];
	pid_t pid;
	FILE *said;      /* its stderr */
	bool ended_well; /* as if nobody had told it to go */
};

static void add(struct command *command, const char *word)
{
	if (command->count < WORDS - 1)
		command->words[command->count++] = word;
}

#define ADD(command, ...) \
	for (const char *const *word = (const char *const[]){ __VA_ARGS__, NULL }; *word; word++) \
	add(command, *word)

/* ---- the command line ---- */

/* One record for an analyzer. */
static bool make_archive(struct command *command)
{
	char *words[] = {
		MORTISE, "kzip", "create", "-o", command->archive, "--source", command->source, NULL
	};
	FILE *file = fopen(command->source, "we");
	int status = -1;
	pid_t pid;

	if (!file || fputs("int a;\n", file) < 0 || fclose(file) != 0)
		return fail("%s: %s", command->source, strerror(errno));
	if (posix_spawn(&pid, MORTISE, NULL, NULL, words, environ) != 0 || waitpid(pid, &status, 0) != pid ||
	    status != 0)
		return fail("no kzip could be made");
	return true;
}

static bool write_words(struct command *command, const struct cell *cell, bool twice)
{
	const struct tongue *tongue = cell->tongue;

	ADD(command, MORTISE, tongue->asks ? "index" : "call", "-v");
	if (strcmp(tongue->dialect, "plain") == 0)
		ADD(command, "--framing", mor_framing_name(tongue->framing));
	if (tongue->one_shot)
		ADD(command, "--level", "guarded");
	if (twice)
		ADD(command, "--set", "stop.bye=1000s", "--set", "stop.term=1000s", "--set", "stop.kill=1000s");
	else
		ADD(command, "--set", command->bye, "--set", "stop.term=50ms", "--set", "stop.kill=50ms");
	if (tongue->asks)
		ADD(command, "-j1", "--view", "directory", "-o", "/dev/null", command->archive);
	else
		ADD(command, "--dialect", tongue->dialect, tongue->action, rig_params().text);
	ADD(command, "--", FAULT_PLUGIN, tongue->name, cell->phase == AT_STOP ? "lingers" : "hang",
	    phase_names[cell->phase], command->mark);
	return !tongue->asks || make_archive(command);
}

/* ---- running it ---- */

/* As from a terminal: under nohup, or in the background of a script, some are ignored, and the
 * command keeps it so. */
static bool start(struct command *command)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t all;
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail("%s", strerror(errno));
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	r = posix_spawn(&command->pid, MORTISE, &actions, &attr, (char *const *)(uintptr_t)command->words,
			environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	command->said = fdopen(ends[0], "re");
	return r == 0 || fail("%s", strerror(r));
}

static bool wait_for_line(struct command *command, const char *text)
{
	char line[4096], last[256] = "nothing";

	while (fgets(line, sizeof(line), command->said)) {
		if (strstr(line, text))
			return true;
		snprintf(last, sizeof(last), "%.200s", line);
	}
	return fail("ended before it said \"%s\"; its last line: %s", text, last);
}

/* Nobody has touched the disposition of SIGALRM: the guard ends a worker that waits for ever. */
static int wait_for_all(struct command *command)
{
	char line[4096];
	int status, its = -1;
	pid_t pid;

	while (fgets(line, sizeof(line), command->said)) /* or it might wait for us */
		;
	while ((pid = wait(&status)) > 0)
		if (pid == command->pid)
			its = status;
	return its;
}

static bool play_command(struct command *command, const struct cell *cell, int number, bool twice)
{
	int status;
	bool good = write_words(command, cell, twice) && start(command);

	if (!good)
		return false;
	good = wait_for_line(command, "fault: now");
	kill(command->pid, number);
	if (good && twice && cell->phase != AT_STOP)
		good = wait_for_line(command, "-> draining");
	if (twice) /* another one, as two of the same may arrive as one */
		kill(command->pid, SIGTERM);
	status = wait_for_all(command);
	command->ended_well = status == 0;
	/* Of two that wait, the handler of the later one may run first. */
	if (good && !(WIFEXITED(status) &&
		      (WEXITSTATUS(status) == 128 + number || (twice && WEXITSTATUS(status) == 128 + SIGTERM))))
		good = fail("exit status %d (%#x) in place of %d", WEXITSTATUS(status), (unsigned)status,
			    128 + number);
	return good && (is_gone(command->mark) || fail("something of it lives on"));
}

/* bye_ms: until the plugin is told to go by a signal, and soon killed. ret_late: it had ended
 * before ours came. */
static bool play_once(const struct cell *cell, int number, bool twice, unsigned bye_ms, bool *ret_late)
{
	struct command command = { 0 };
	bool good;

	snprintf(command.bye, sizeof(command.bye), "stop.bye=%ums", bye_ms);
	fault_dir(command.dir, (int)getpid());
	snprintf(command.mark, sizeof(command.mark), "%s/" MARK_FILE, command.dir);
	snprintf(command.archive, sizeof(command.archive), "%s/in.kzip", command.dir);
	snprintf(command.source, sizeof(command.source), "%s/a.c", command.dir);
	rig_sweep(command.dir);
	mkdir(command.dir, 0700);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	alarm(GUARD_S);
	good = play_command(&command, cell, number, twice);
	*ret_late = !good && command.ended_well;
	alarm(0);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	if (command.said)
		fclose(command.said);
	unlink(command.archive);
	unlink(command.source);
	rig_sweep(command.dir);
	return good;
}

/* At the stop the signal must come before the plugin is killed, for which a busy machine may need longer. */
static bool play(const struct cell *cell, int number, bool twice)
{
	unsigned bye_ms = cell->phase == AT_STOP ? SHORT_MS : 50;
	bool good, late;

	while (!(good = play_once(cell, number, twice, bye_ms, &late)) && late && cell->phase == AT_STOP &&
	       bye_ms < SHORT_MOST) {
		forgive();
		bye_ms *= 4;
	}
	return good;
}

static bool play_int(const struct cell *cell)
{
	return play(cell, SIGINT, false);
}

static bool play_term(const struct cell *cell)
{
	return play(cell, SIGTERM, false);
}

static bool play_hup(const struct cell *cell)
{
	return play(cell, SIGHUP, false);
}

static bool play_twice(const struct cell *cell)
{
	return play(cell, SIGINT, true);
}

const struct twist signal_int = { .play = play_int }, signal_term = { .play = play_term },
		   signal_hup = { .play = play_hup }, signal_twice = { .play = play_twice };
