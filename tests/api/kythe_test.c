/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An analyzer as a driver sees it, with real processes: what tests/talk/kythe cannot show. Times are only ever
 * compared from below ("not before"), so that a slow machine cannot fail them. The default grace, 10 s, is
 * tested on the virtual clock (tests/talk/kythe/r13-*); here it is shorter.
 */
#include "api.h"
#include "tmp.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TERM_MS 700
#define BIG     (4 << 20)
#define PATIENT \
	SET("stop.term=700ms", "stop.kill=60s") /* nobody is killed before it has noted what it should */

struct drive {
	struct rig rig;
	char log[TMP_ROOM];
	int analyses, vnames, units; /* units: until the work is over */
	int done, ready;
};

static void driver_event(const mortise_event *event, void *arg)
{
	struct drive *drive = arg;

	rig_event(event, &drive->rig);
	drive->ready += event->type == MORTISE_EVENT_STATE && event->state.now == MORTISE_READY;
	drive->done += event->type == MORTISE_EVENT_NOTE && strcmp(event->note.method, "done") == 0;
}

static void driver_request(mortise_request *request, const char *method, mortise_json params, void *arg)
{
	struct drive *drive = arg;
	mortise_json unit = json("{\"inputs\":[],\"output\":\"/dev/null\"}");
	char *big;

	(void)params;
	if (strcmp(method, "analyze") == 0) {
		if (drive->analyses++ < drive->units)
			assert_int_equal(mortise_request_reply(request, unit, NULL), 0);
		else /* the work is over: it stays unanswered */
			assert_int_equal(mortise_plugin_stop(drive->rig.plugin, MORTISE_STOP_INPUT, NULL), 0);
		return;
	}
	drive->vnames++;
	big = malloc(BIG);
	assert_non_null(big);
	memset(big, 'x', BIG);
	big[0] = big[BIG - 1] = '"';
	assert_int_equal(mortise_request_reply(request, (mortise_json){ big, BIG }, NULL), 0);
	free(big);
}

static void open_drive(struct drive *drive, const char *mode, const char *const *set)
{
	const char *argv[] = { KYTHE_STUB, mode, drive->log, NULL };
	mortise_plugin_options opt = { .size = sizeof(opt),
				       .argv = argv,
				       .name = mode,
				       .dialect = "kythe",
				       .set = set,
				       .on_event = driver_event,
				       .on_request = driver_request,
				       .arg = drive };
	int fd;

	memset(drive, 0, sizeof(*drive));
	tmp_name(drive->log, "kythe");
	fd = mkstemp(drive->log);
	assert_true(fd >= 0);
	close(fd);
	rig_open(&drive->rig);
	drive->rig.plugin = rig_plugin(&drive->rig, &opt);
	assert_int_equal(mortise_plugin_start(drive->rig.plugin, NULL), 0);
}

static void close_drive(struct drive *drive)
{
	rig_close(&drive->rig);
	unlink(drive->log);
}

/* The number behind the first such word in the log; -1: not there (yet). */
static long long noted(const struct drive *drive, const char *word)
{
	FILE *file = fopen(drive->log, "re");
	long long number, found = -1;
	char name[32];

	assert_non_null(file);
	while (found < 0 && fscanf(file, "%31s %lld", name, &number) == 2)
		if (strcmp(name, word) == 0)
			found = number;
	fclose(file);
	return found;
}

static void assert_not_before(long long when, long long from, int ms)
{
	assert_true(when >= 0 && from >= 0);
	if (when < from + ms * 1000000LL)
		fail_msg("came after %lld us, not %d ms", (when - from) / 1000, ms);
}

/* R13 of docs/dialects/kythe.md: it ignores the end of its stdin, and is told to go after the grace. */
static void grace(void **state)
{
	struct drive drive;
	int64_t from;

	(void)state;
	open_drive(&drive, "stubborn", PATIENT);
	rig_until(&drive.rig, &drive.ready, 1, "its greeting");
	from = now_ns();
	assert_int_equal(mortise_plugin_stop(drive.rig.plugin, MORTISE_STOP_INPUT, NULL), 0);
	rig_until_state(&drive.rig, MORTISE_STOPPED);
	assert_true(noted(&drive, "eof") >= 0);
	assert_not_before(noted(&drive, "term"), from, TERM_MS);
	close_drive(&drive);
}

/* One that took so long to read that its stdin was closed over its head, as that of the deaf below, has not met
 * what is looked at here. True: it has. */
static bool reads_in_the_grace(int grace_ms)
{
	struct drive drive;
	char grace[32];
	int64_t from;
	bool met;

	snprintf(grace, sizeof(grace), "stop.term=%dms", grace_ms);
	open_drive(&drive, "slow", SET(grace, "stop.kill=60s"));
	rig_until(&drive.rig, &drive.vnames, 1, "its request");
	from = now_ns();
	assert_int_equal(mortise_plugin_stop(drive.rig.plugin, MORTISE_STOP_INPUT, NULL), 0);
	rig_until_state(&drive.rig, MORTISE_STOPPED);
	met = noted(&drive, "reading") < from + grace_ms * 1000000LL;
	if (met)
		assert_not_before(noted(&drive, "term"), noted(&drive, "reading"), grace_ms);
	close_drive(&drive);
	return met;
}

/* Decision 29: the grace begins when stdin is closed, which is after what stood before it was read. */
static void grace_counts_from_the_close(void **state)
{
	int grace_ms = TERM_MS;

	(void)state;
	for (int i = 0; i < 4; i++, grace_ms *= 4)
		if (reads_in_the_grace(grace_ms))
			return;
	leak_skip("it was never met in time");
}

/* The same where it never reads: after as long again as the grace its stdin is closed over its head, and the
 * grace begins. */
static void grace_of_the_deaf(void **state)
{
	struct drive drive;
	int64_t from;

	(void)state;
	open_drive(&drive, "deaf", PATIENT);
	rig_until(&drive.rig, &drive.vnames, 1, "its request");
	from = now_ns();
	assert_int_equal(mortise_plugin_stop(drive.rig.plugin, MORTISE_STOP_INPUT, NULL), 0);
	rig_until_state(&drive.rig, MORTISE_STOPPED);
	assert_not_before(noted(&drive, "term"), from, 2 * TERM_MS);
	close_drive(&drive);
}

/* R8, decision 16: after a corrupt frame its stdout is drained, so that it can get on and exit. */
static void corrupt_and_drained(void **state)
{
	struct drive drive;

	(void)state;
	open_drive(&drive, "flood", NO_SET);
	rig_until_state(&drive.rig, MORTISE_STOPPED);
	/* Why is told from the first step down to the last. */
	for (int i = 0; i < drive.rig.state_count; i++)
		assert_int_equal(drive.rig.codes[i], drive.rig.states[i] == MORTISE_DRAINING ||
								     drive.rig.states[i] == MORTISE_STOPPED ?
							     MORTISE_EPROTO :
							     0);
	assert_true(noted(&drive, "written") >= 0 && noted(&drive, "eof") >= 0);
	assert_int_equal(noted(&drive, "term"), -1);
	close_drive(&drive);
}

/* R18, decision 14: a new process for each unit, until no unit is left. */
static void a_process_per_unit(void **state)
{
	struct drive drive;

	(void)state;
	open_drive(&drive, "units", NO_SET);
	drive.units = 7;
	rig_until_state(&drive.rig, MORTISE_STOPPED);
	assert_int_equal(drive.done, 7);
	assert_int_equal(drive.ready, 8);
	assert_int_equal(drive.analyses, 8);
	assert_false(rig_saw_state(&drive.rig, MORTISE_FAILED));
	for (int i = 0; i < drive.rig.state_count; i++)
		assert_int_equal(drive.rig.codes[i], 0); /* nothing was wrong */
	close_drive(&drive);
}

/* Two Ctrl-C: no grace at all. */
static void stop_now(void **state)
{
	struct drive drive;

	(void)state;
	open_drive(&drive, "stubborn", SET("stop.term=1000s", "stop.kill=1000s"));
	rig_until(&drive.rig, &drive.ready, 1, "its greeting");
	assert_int_equal(mortise_plugin_stop(drive.rig.plugin, MORTISE_STOP_INPUT, NULL), 0);
	assert_int_equal(mortise_plugin_stop(drive.rig.plugin, MORTISE_STOP_NOW, NULL), 0);
	rig_until_state(&drive.rig, MORTISE_STOPPED);
	assert_int_equal(noted(&drive, "term"), -1);
	close_drive(&drive);
}

/* ---- the driver dies ---- */

static _Noreturn void be_driver(struct drive *drive, int tell)
{
	open_drive(drive, "stubborn", PATIENT);
	while (!drive->ready)
		rig_turn(&drive->rig);
	if (write(tell, drive->log, sizeof(drive->log)) != sizeof(drive->log))
		_exit(1);
	for (;;)
		pause();
}

/* R13, R15: the driver is killed with SIGKILL. Its analyzer's stdin ends with it, and the guardian
 * holds the grace. */
static void driver_killed(void **state)
{
	struct drive drive = { 0 };
	struct pollfd analyzer = { .events = POLLIN };
	int ends[2];
	int64_t from;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_driver(&drive, ends[1]);
	close(ends[1]);
	assert_int_equal(read(ends[0], drive.log, sizeof(drive.log)), sizeof(drive.log));
	close(ends[0]);
	analyzer.fd = (int)syscall(SYS_pidfd_open, (pid_t)noted(&drive, "pid"), 0);
	assert_true(analyzer.fd >= 0);
	from = now_ns();
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(poll(&analyzer, 1, GUARD_S * 1000), 1);
	close(analyzer.fd);
	assert_not_before(noted(&drive, "term"), from, TERM_MS);
	assert_true(noted(&drive, "eof") >= 0);
	unlink(drive.log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(grace),
		API_TEST(grace_counts_from_the_close),
		API_TEST(corrupt_and_drained),
		API_TEST(a_process_per_unit),
		API_TEST(stop_now),
		API_TEST(driver_killed),
		API_TEST(grace_of_the_deaf),
	};

	return mor_run_group("api/kythe", tests);
}
