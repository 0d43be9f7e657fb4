/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <mortise/jail.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "console/report.h"
#include "console/signals.h"
#include "jailed/inside.h"
#include "policy/cgroup.h"
#include "policy/policy.h"
#include "workspace/undo.h"

struct jailed_run {
	struct mor_console *console;
	const struct mor_jailed_plan *plan;
	const char *name;
	struct mor_text_list policy;
	int record_fd;               /* -1: nobody wants the records */
	struct mor_learner *learner; /* NULL: nothing is learnt */
	struct mor_buf end;          /* the last record */
	struct mor_buf records;      /* those that wait for the reader of record_fd */
};

/* The first signal asks the program to end, the second kills it. */
static enum mortise_jail_order on_wakeup(void *arg)
{
	(void)arg;
	switch (mor_signals_count()) {
	case 0:
		return MORTISE_JAIL_GO_ON;
	case 1:
		return MORTISE_JAIL_TERM;
	default:
		return MORTISE_JAIL_KILL;
	}
}

/* ---- records ---- */

/* After a signal nobody waits longer than this for a reader. */
enum { READER_MS = 1000 };

static bool is_ready(int fd, bool wait)
{
	struct pollfd out = { .fd = fd, .events = POLLOUT };

	if (!wait)
		return poll(&out, 1, 0) > 0;
	return mor_signals_poll(&out, -1) > 0 || poll(&out, 1, READER_MS) > 0;
}

/* In pieces that a pipe that is ready takes without waiting. A reader that does not read must not hold up the
 * program's limits or our signals: so while it runs, what is not taken stays. */
static void put_records(struct jailed_run *run, bool wait)
{
	size_t at = 0, len = mor_buf_failed(&run->records) ? 0 : run->records.len;

	while (run->record_fd >= 0 && at < len && is_ready(run->record_fd, wait)) {
		size_t piece = len - at < PIPE_BUF ? len - at : PIPE_BUF;
		ssize_t n = mor_fd_write_nosignal(run->record_fd, run->records.data + at, piece);

		if (n > 0)
			at += (size_t)n;
		else if (n != -EINTR && n != -EAGAIN)
			run->record_fd = -1;
	}
	mor_buf_consume(&run->records, at);
}

/* The last one is kept for --json. A user who asked for the records and does not read them any more has lost
 * them: that is no reason to stop. */
static void on_record(mortise_json record, void *arg)
{
	struct jailed_run *run = arg;

	if (run->learner)
		mor_learner_collect(run->learner, record);
	mor_buf_reset(&run->end, SIZE_MAX);
	mor_buf_append(&run->end, record.text, record.len);
	mor_buf_byte(&run->end, '\n');
	if (run->record_fd < 0 || mor_buf_failed(&run->end))
		return;
	mor_buf_slice(&run->records, mor_buf_view(&run->end));
	put_records(run, false);
}

/* ---- the end ---- */

/* Without --spawn the directories of other programs do not exist at t1, and a shell says only "not found". */
enum { SHELL_FOUND_NO_PROGRAM = 127 };

static void note_end(const struct jailed_run *run, const mortise_jail_result *result)
{
	if (result->denied_text[0])
		mor_note(run->console, "denied: %s", result->denied_text);
	if (result->timed_out)
		mor_note(run->console, "timeout: %s: it was stopped because its wall time was over", run->name);
	else if (result->limits[0])
		mor_note(run->console, "limit: %s reached its limit of %s", run->name, result->limits);
	else if (run->console->verbose && result->level[0] && !result->rule[0])
		mor_note(run->console, "%s: ended with %d at level %s", run->name, result->exit_code,
			 result->level);
	if (result->exit_code == SHELL_FOUND_NO_PROGRAM && result->level[0] && !run->plan->spawn)
		mor_note(run->console, "note: %s cannot start other programs: add --spawn to allow it",
			 run->name);
}

/* stdout belongs to the program, so we write to stderr. */
static int report_end(const struct jailed_run *run, const mortise_jail_result *result, int r,
		      const mortise_error *err)
{
	note_end(run, result);
	if (r == MORTISE_EINVAL)
		return mor_report_usage(run->console, err);
	if (r < 0 && !result->level[0])
		return mor_report_fail(run->console,
				       &(struct mor_report){ .error = err, .exit_code = result->exit_code });
	if (r < 0)
		mor_report_line(run->console, &(struct mor_report){ .error = err });
	return result->exit_code;
}

/* Only of a program that has run. That the policy cannot be written is our failure, not the program's. */
static int tell_learnt(struct jailed_run *run, const mortise_jail_result *result, int exit_code)
{
	mortise_error err = { 0 };

	if (!run->learner || !result->level[0] ||
	    mor_learner_tell(run->console, run->plan, run->learner, &err) == 0)
		return exit_code;
	mor_report_line(run->console, &(struct mor_report){ .error = &err });
	return MOR_JAILED_NOT_RUN;
}

/* ---- the run ---- */

/* The store is made last, when everything else is known to be right. */
static int begin_undoing(struct jailed_run *run, struct mor_workspace_undoing *undoing, mortise_error *err)
{
	char real[PATH_MAX];
	int r;

	if (!run->plan->undo)
		return 0;
	if (!realpath(run->plan->workspace, real))
		return mor_fail_errno(err, MORTISE_ENOTFOUND, errno, "--workspace %s", run->plan->workspace);
	*undoing =
		(struct mor_workspace_undoing){ .console = run->console, .without = "run it without --undo" };
	r = mor_workspace_undoing_begin(undoing, real, run->name, err);
	return r < 0 ? r : mor_jailed_policy_add(&run->policy, "undo", mortise_undo_store(undoing->undo), err);
}

/* What was asked for and cannot hold here is told before it starts. */
static void warn_loose(struct mor_console *console, const struct mor_jailed_plan *plan)
{
	struct mor_policy asked = { .level = MOR_LEVEL_AUTO, .spawn = plan->spawn, .learn = plan->learn };
	struct mor_cgroups found;
	const char *text;

	/* one that is no size or time is refused soon, and then nothing starts */
	for (const char *const *limit = plan->limit.item; limit && *limit; limit++) {
		if (strncmp(*limit, "memory=", 7) == 0)
			mor_parse_bytes(mor_slice_of(*limit + 7), &asked.limits.memory_bytes);
		if (strncmp(*limit, "cpu=", 4) == 0)
			mor_parse_duration_ms(mor_slice_of(*limit + 4), &asked.limits.cpu_s);
	}
	if (!mor_cgroup_wanted(&asked))
		return;
	mor_cgroup_find_own(&found);
	for (size_t i = 0; (text = mor_cgroup_loose(&asked, mor_cgroup_held(&found), i)); i++)
		mor_note(console, "warning: %s", text);
}

/* The descriptor must be open, and not become the program's: that could write records of its own. */
static int open_record(const char *text, int *ret, mortise_error *err)
{
	uint32_t fd;

	*ret = -1;
	if (!text)
		return 0;
	if (!mor_parse_u32(mor_slice_of(text), &fd) || fd > INT_MAX || fcntl((int)fd, F_GETFD) < 0)
		return mor_fail(err, MORTISE_EINVAL, "--record-fd %s: there is no such open descriptor", text);
	if (fd < 3)
		return mor_fail(err, MORTISE_EINVAL,
				"--record-fd %s: the program has this one too; use 3 or more", text);
	*ret = (int)fd;
	return 0;
}

static int run_confined(struct jailed_run *run, mortise_error *err)
{
	static const mortise_jail_result not_run = {
		.exit_code = MOR_JAILED_NOT_RUN, .level = "", .rule = "", .limits = "", .denied_text = ""
	};
	const struct mor_jailed_plan *plan = run->plan;
	const mortise_jail_result *result;
	mortise_jail_result *ran = NULL;
	__attribute__((cleanup(mor_workspace_undoing_fini))) struct mor_workspace_undoing undoing = { 0 };
	mortise_jail_options opt = { .size = sizeof(opt),
				     .name = run->name,
				     .argv = plan->argv,
				     .env = plan->env.item,
				     .landlock_abi_cap = plan->landlock_abi,
				     .flags = MORTISE_JAIL_COMMAND_WORDS |
					      (plan->learn ? MORTISE_JAIL_LEARN : 0),
				     .on_wakeup = on_wakeup,
				     .on_record = on_record,
				     .arg = run };
	int r = begin_undoing(run, &undoing, err);

	if (r == 0)
		/* needed for its wake-up: a signal ends the wait through it */
		r = mortise_host_new(NULL, &opt.host, err);
	if (r == 0) {
		opt.policy = run->policy.item;
		warn_loose(run->console, plan);
		mor_signals_host(opt.host);
		r = mortise_jail_run(&opt, &ran, err);
		mor_signals_host(NULL);
		mortise_host_free(opt.host);
	}
	result = ran ? ran : &not_run;
	mor_workspace_undoing_end(&undoing, r < 0 || result->exit_code || result->timed_out);
	r = report_end(run, result, r, err);
	mor_workspace_undoing_tell(&undoing);
	r = tell_learnt(run, result, r);
	/* A program can print lines like ours, but not as the last line of all. */
	if (run->console->json && result->level[0] && run->end.len)
		mor_note_slice(run->console, (struct mor_slice){ run->end.data, run->end.len - 1 });
	put_records(run, true);
	mortise_free(ran);
	return r;
}

int mor_jailed_run(struct mor_console *console, const struct mor_jailed_plan *plan)
{
	mortise_error err = { 0 };
	struct mor_learner learner = { 0 };
	struct jailed_run run = { .console = console, .plan = plan, .name = mor_base_name(plan->argv[0]) };
	int exit_code;

	if (open_record(plan->record, &run.record_fd, &err) < 0 ||
	    mor_jailed_policy(plan, &run.policy, &err) < 0 ||
	    mor_learner_begin(console, plan, &learner, &err) < 0) {
		exit_code = mor_report_cause(console, &err);
	} else {
		run.learner = plan->learn || plan->audit ? &learner : NULL;
		exit_code = run_confined(&run, &err);
	}
	mor_text_list_free_texts(&run.policy);
	mor_learn_fini(&learner.learn);
	mor_buf_fini(&run.end);
	mor_buf_fini(&run.records);
	return exit_code;
}
