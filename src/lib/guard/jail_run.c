/* SPDX-License-Identifier: Apache-2.0 */
/* See jail_run.h. Plan and guardian are the same as for a plugin. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "guard/env.h"
#include "guard/jail_run.h"
#include "guard/jail_tell.h"
#include "guard/sandbox.h"
#include "loop/loop.h"
#include "proc/proc.h"
#include "program/helper.h"
#include "undo/scratch.h"

/* One run under way. */
struct jail_run {
	const mortise_jail_options *opt;
	struct mor_loop *loop; /* wakes us; NULL: nothing does */
	struct mor_jail_outcome *ret;
	mortise_error *err;
	struct mor_policy policy;
	char **argv, **env; /* owned */
	pid_t pid;          /* of mortise-jail */
	int socket, plan;
	char scratch[64]; /* mortise-jail removes it */
	struct mor_jail_tale tale;
};

static void run_fini(struct jail_run *run)
{
	mor_fd_close(&run->socket);
	mor_fd_close(&run->plan);
	mor_jail_tale_fini(&run->tale);
	mor_policy_fini(&run->policy);
	mor_program_argv_free(run->argv);
	mor_texts_free(run->env);
}

/* ---- what is asked for ---- */

static int read_policy(struct jail_run *run)
{
	const char *const *pair = run->opt->policy;
	mortise_error why = { 0 };
	int r = 0;

	for (; r == 0 && pair && *pair; pair++) {
		const char *equals = strchr(*pair, '=');
		char key[40];

		if (!equals || equals - *pair >= (ptrdiff_t)sizeof(key))
			return mor_fail(run->err, MORTISE_EINVAL, "policy \"%.60s\": write it as key=value",
					*pair);
		memcpy(key, *pair, (size_t)(equals - *pair));
		key[equals - *pair] = '\0';
		r = mor_policy_set(&run->policy, key, equals + 1, &why);
	}
	if (r == 0)
		r = mor_policy_finish(&run->policy, true, &why);
	if (r < 0)
		return mor_fail(run->err, r == MORTISE_EMANIFEST ? MORTISE_EINVAL : r, "%s", why.text);
	if (mor_sandbox_protect_user(&run->policy) < 0)
		return mor_fail_memory(run->err);
	run->policy.learn = run->opt->flags & MORTISE_JAIL_LEARN;
	if (run->policy.learn &&
	    (run->policy.level == MOR_LEVEL_T1 || run->policy.on_denial != MOR_ON_DENIAL_DENY))
		return mor_fail(run->err, MORTISE_EINVAL,
				"a program is watched at level t0 and with on_denial=deny only");
	if (run->policy.learn)
		run->policy.level = MOR_LEVEL_T0;
	run->policy.source = run->tale.source;
	run->policy.landlock_abi_cap = run->opt->landlock_abi_cap;
	return 0;
}

/* An interpreter needs its script, so it may read it. */
static int grant_script(struct jail_run *run)
{
	size_t at = mor_manifest_script((const char *const *)run->argv);
	char real[PATH_MAX];

	if (!at || !realpath(run->argv[at], real))
		return 0;
	return mor_policy_set(&run->policy, "read", real, run->err);
}

/* The directory to run in: ours if it is inside the workspace, so that relative arguments keep
 * their meaning. */
static const char *directory(const struct jail_run *run, char here[PATH_MAX])
{
	const char *workspace = run->policy.workspace;
	size_t len = workspace ? strlen(workspace) : 0;

	if (!workspace || !getcwd(here, PATH_MAX))
		return NULL;
	if (strncmp(here, workspace, len) == 0 && (here[len] == '/' || here[len] == '\0' || len == 1))
		return here;
	return workspace;
}

/* The program's path as seen from the directory where it runs: a relative one counts from our directory. */
static const char *program(const struct jail_run *run, char whole[PATH_MAX])
{
	const char *name = run->opt->argv[0], *dir;
	char here[PATH_MAX];

	if (!name || name[0] == '/' || !strchr(name, '/'))
		return name;
	dir = directory(run, here);
	if (!dir || dir == here ||
	    snprintf(whole, PATH_MAX, "%s/%s", here, name + (strncmp(name, "./", 2) == 0 ? 2 : 0)) >= PATH_MAX)
		return name;
	return whole;
}

static int resolve_as(struct jail_run *run, const char *const *argv)
{
	struct mor_command command = { .argv = argv, .no_shims = true };
	struct mor_exec_failure failure = { 0 };
	int r = mor_program_resolve(&command, &run->argv, &failure);

	if (r == 0)
		r = mor_exec_foresee(&command, run->argv[0], &failure);
	return r < 0 ? mor_fail(run->err, r, "%s", failure.text) : grant_script(run);
}

static int resolve_program(struct jail_run *run)
{
	char whole[PATH_MAX];
	const char **argv;
	size_t count = 0;
	int r;

	while (run->opt->argv[count])
		count++;
	argv = mor_alloc((count + 1) * sizeof(*argv));
	if (!argv)
		return mor_fail_memory(run->err);
	memcpy(argv, run->opt->argv, (count + 1) * sizeof(*argv));
	argv[0] = program(run, whole);
	r = resolve_as(run, argv);
	mor_free(argv);
	return r;
}

static int make_env(struct jail_run *run)
{
	char here[PATH_MAX];
	bool hidden =
		mor_sandbox_hides_modules(&run->policy, (const char *const *)run->argv, directory(run, here));

	run->env = mor_env_jail(hidden, run->opt->env);
	return run->env ? 0 : mor_fail_memory(run->err);
}

static int make_plan(struct jail_run *run)
{
	MOR_CLEAN(mor_buf) struct mor_buf plan = MOR_BUF_INIT;
	char here[PATH_MAX];
	struct mor_plan_command command = {
		.argv = (const char *const *)run->argv,
		.env = (const char *const *)run->env,
		.cwd = directory(run, here),
		.host = (int)getpid(),
	};
	int r = mor_plan_make(&plan, &command, &run->policy);

	if (r < 0)
		return mor_fail_memory(run->err);
	run->plan = mor_plan_memfd(&plan);
	return run->plan < 0 ?
		       mor_fail_errno(run->err, MORTISE_ESYSTEM, -run->plan, "the plan for mortise-jail") :
		       0;
}

/* ---- starting the guardian ---- */

static int start_run(struct jail_run *run)
{
	char fault[MOR_PROGRAM_FAULT], hint[MOR_HELPER_HINT] = "";
	const char *helper = mor_helper_find(run->opt->helper, fault);
	int pair[2], r;

	if (fault[0])
		return mor_fail(run->err, MORTISE_EJAIL, "%s, the helper that sets up the jail: %s", helper,
				fault);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return mor_fail_errno(run->err, MORTISE_ESYSTEM, errno, "a socket to mortise-jail");
	run->socket = pair[0];
	/* dup2() onto itself would leave close-on-exec set, and one descriptor could overwrite the other. So
	 * both are first moved above 3 and 4. */
	r = -mor_fd_lift(&run->plan, MOR_GUARD_FD + 1);
	if (!r)
		r = -mor_fd_lift(&pair[1], MOR_GUARD_FD + 1);
	if (!r)
		/* A session of its own, with the program in it: only we get ^C from our terminal, and pass it
		 * on as an order. */
		r = mor_proc_spawn_helper(helper, true, NULL, run->plan, pair[1], &run->pid);
	mor_fd_close(&pair[1]);
	mor_fd_close(&run->plan);
	if (!r)
		return 0;
	if (r == ENOENT)
		mor_helper_missing(run->opt->helper, hint);
	mor_fail(run->err, MORTISE_EJAIL, "%s, the helper that sets up the jail: %s%s", helper,
		 strerrordesc_np(r), hint);
	if (run->err)
		run->err->os_errno = r;
	return MORTISE_EJAIL;
}

/* ---- waiting for its end ---- */

static void order(struct jail_run *run, enum mor_order_kind kind)
{
	struct mor_guard_order message = { .kind = kind };

	/* If this fails, it is ending already and its record is on the way. */
	(void)send(run->socket, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void woken(struct jail_run *run)
{
	enum mortise_jail_order what;

	assert(run->loop);            /* nothing else can have woken us */
	mor_loop_dispatch(run->loop); /* takes the wake-up off the descriptor */
	what = run->opt->on_wakeup ? run->opt->on_wakeup(run->opt->arg) : MORTISE_JAIL_GO_ON;
	if (what == MORTISE_JAIL_KILL)
		order(run, MOR_GUARD_KILL);
	else if (what == MORTISE_JAIL_TERM)
		order(run, MOR_GUARD_TERM);
}

/* The next record. 1, 0 at the end, or -errno. */
static int receive_record(struct jail_run *run, struct mor_record *record)
{
	struct pollfd fds[2] = { { .fd = run->socket, .events = POLLIN }, { .fd = -1, .events = POLLIN } };
	ssize_t n;

	if (run->loop)
		fds[1].fd = mor_loop_fd(run->loop);
	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents)
			woken(run);
		if (!fds[0].revents)
			continue;
		memset(record, 0, sizeof(*record)); /* it may be shorter */
		n = recv(run->socket, record, sizeof(*record), MSG_DONTWAIT);
		if (n >= 0)
			return n > 0;
		if (errno != EAGAIN && errno != EINTR)
			return errno == ECONNRESET ? 0 : -errno;
	}
}

/* An error that only exec could find. The text is the same as for a plugin's start. */
static int exec_failed(struct jail_run *run, const struct mor_record *record)
{
	const struct mor_command command = { .argv = (const char *const *)run->argv };
	struct mor_exec_failure failure = { 0 };
	int r = mor_exec_diagnose(&command, run->argv[0], record->error, &failure);

	return mor_fail(run->err, r, "%s", failure.text);
}

static int take_record(struct jail_run *run, const struct mor_record *record, bool *ret_done)
{
	int text = (int)strnlen(record->text, sizeof(record->text));

	*ret_done = record->kind != MOR_RECORD_STARTED && record->kind != MOR_RECORD_DENIED;
	switch (record->kind) {
	case MOR_RECORD_DENIED:
		mor_jail_tell_denied(&run->tale, record);
		return 0;
	case MOR_RECORD_STARTED:
		mor_text_keep(run->ret->level, sizeof(run->ret->level), mor_level_name(record->level), 12);
		mor_text_keep(run->ret->rung, sizeof(run->ret->rung), mor_rung_name(record->rung), 12);
		mor_text_keep(run->scratch, sizeof(run->scratch), record->text, sizeof(record->text));
		return 0;
	case MOR_RECORD_EXITED:
		return mor_jail_tell_exited(&run->tale, record, run->err);
	case MOR_RECORD_EXEC_FAILED:
		return exec_failed(run, record);
	case MOR_RECORD_SETUP_FAILED:
		return mor_fail_errno(run->err, MORTISE_EJAIL, record->error, "%.*s", text, record->text);
	default:
		return mor_fail(run->err, MORTISE_EJAIL,
				"mortise-jail sent a record that this library does not know");
	}
}

/* mortise-jail has ended without a last word. */
static int lost(struct jail_run *run, int status)
{
	if (!WIFSIGNALED(status))
		return mor_fail(run->err, MORTISE_EJAIL, "mortise-jail ended without reporting how %s ended",
				run->tale.name);
	if (WTERMSIG(status) == SIGSYS)
		return mor_fail(run->err, MORTISE_EJAIL, "%s: " MOR_GUARD_FILTERED, run->tale.name);
	return mor_fail(run->err, MORTISE_EJAIL,
			"mortise-jail was killed by signal %d, and ended without reporting how %s ended",
			WTERMSIG(status), run->tale.name);
}

/* When the socket ends, the guardian is ending too: it holds the only other end. */
static int wait_for_end(struct jail_run *run)
{
	struct mor_record record = { 0 };
	int r = 0, got, status = 0;
	bool done = false;

	do {
		if ((got = receive_record(run, &record)) < 0)
			r = mor_fail_errno(run->err, MORTISE_ESYSTEM, -got, "the socket of mortise-jail");
		else if (got > 0)
			r = take_record(run, &record, &done);
	} while (got > 0 && !done && r == 0);
	mor_fd_close(&run->socket); /* the guardian then kills what is left */
	while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (got == 0)
		r = lost(run, status);
	/* else it has removed it, or left that to a process of its own */
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		mor_scratch_drop(run->scratch);
	return r;
}

static int run_it(const mortise_jail_options *opt, struct mor_loop *loop, struct mor_jail_outcome *ret,
		  mortise_error *err)
{
	__attribute__((cleanup(run_fini))) struct jail_run run = {

		.opt = opt,
		.loop = loop,
		.ret = ret,
		.err = err,
		.socket = -1,
		.plan = -1,
		.policy = MOR_POLICY_INIT
	};
	int r;

	run.tale = (struct mor_jail_tale){ .name = opt->name ? opt->name : mor_base_name(opt->argv[0]),
					   .source = opt->flags & MORTISE_JAIL_COMMAND_WORDS ?
							     MOR_POLICY_OF_COMMAND :
							     MOR_POLICY_OF_PAIRS,
					   .opt = opt,
					   .ret = ret };
	if ((r = read_policy(&run)) == 0 && (r = resolve_program(&run)) == 0 && (r = make_env(&run)) == 0 &&
	    (r = mor_policy_look_up(&run.policy, err)) == 0 && (r = make_plan(&run)) == 0 &&
	    (r = start_run(&run)) == 0)
		r = wait_for_end(&run);
	mor_jail_tell_end(&run.tale, r, err);
	return r;
}

/* The result and the room for its texts are one block, so that one mortise_free() frees both. */
struct jail_answer {
	mortise_jail_result shown;
	struct mor_jail_outcome own;
};

static void show_answer(struct jail_answer *answer)
{
	const struct mor_jail_outcome *own = &answer->own;

	answer->shown = (mortise_jail_result){
		.exit_code = own->exit_code,
		.signal = own->signal,
		.timed_out = own->timed_out,
		.level = own->level,
		.syscall = own->syscall,
		.path = own->path,
		.rule = own->rule,
		.rung = own->rung,
		.limits = own->limits,
		.denied_text = own->denied_text,
		.denied = own->denied,
	};
}

int mor_jail_run(const mortise_jail_options *opt, struct mor_loop *loop, mortise_jail_result **ret_result,
		 mortise_error *err)
{
	struct jail_answer *answer = mor_zalloc(sizeof(*answer));
	int r;

	if (!answer)
		return mor_fail_memory(err);
	answer->own.exit_code = MOR_TALE_EXIT_NO_JAIL;
	r = run_it(opt, loop, &answer->own, err);
	show_answer(answer);
	*ret_result = &answer->shown;
	return r;
}
