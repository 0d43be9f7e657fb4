/* SPDX-License-Identifier: Apache-2.0 */
/* What each level does: the steps of confine.h, in the order in which guardian and launcher call them. */
#include "jail/confine.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "jail/confine_t0.h"
#include "jail/confine_t1.h"
#include "jail/filter/filter.h"
#include "jail/guard.h"
#include "jail/hold.h"
#include "jail/view.h"
#include "policy/policy.h"

static bool namespaced, automatic;

static int lock_now(const struct mor_plan *plan, struct mor_setup_failure *failure)
{
	return mor_t0_prepare_shm(plan, failure) < 0 || mor_t0_count_scratch(plan, failure) < 0 ||
			       mor_t0_forge(plan, -1, -1, failure) < 0 ?
		       -1 :
		       mor_t0_lock(failure);
}

int mor_confine_prepare(struct mor_plan *plan, struct mor_setup_failure *failure)
{
	/* The inodes of a view are in no rule of the guardian's own domain: at t0 that domain would also
	 * bind the maker's mounts. */
	if (plan->level.flags & MOR_JAIL_VIEW && plan->level.level == MOR_LEVEL_T0)
		return mor_setup_fail(failure, MOR_AT_CONFINE, EINVAL,
				      "sandbox.view needs level guarded or t1");
	if (plan->level.flags & MOR_JAIL_VIEW)
		plan->level.level = MOR_LEVEL_T1;
	automatic = plan->level.level == MOR_LEVEL_AUTO;
	namespaced = plan->level.level != MOR_LEVEL_T0 && mor_t1_sensible(plan, failure);
	if (!namespaced && plan->level.level == MOR_LEVEL_T1)
		return -1;
	*failure = (struct mor_setup_failure){ 0 };
	plan->level.level = namespaced ? MOR_LEVEL_T1 : MOR_LEVEL_T0;
	if (mor_t0_prepare(plan, failure) < 0)
		return -1;
	if (!namespaced)
		return lock_now(plan, failure);
	/* Our own is a tmpfs with a size. */
	if (plan->scratch && *plan->scratch && mor_t0_count_scratch(plan, failure) < 0)
		return -1;
	return mor_t1_prepare(plan, failure);
}

int mor_confine_fall_back(struct mor_plan *plan, struct mor_setup_failure *failure)
{
	if (!automatic)
		return -1;
	*failure = (struct mor_setup_failure){ 0 };
	namespaced = false;
	mor_t0.broker.apart = false;
	mor_paths_forget(&mor_t0.paths, MOR_PATH_PRIVATE);
	plan->level.level = MOR_LEVEL_T0;
	mor_t0_show_scratch_take(mor_t0.scratch.dir < 0 ?
					 -1 :
					 openat(mor_t0.scratch.dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
	return lock_now(plan, failure);
}

unsigned mor_confine_namespaces(const struct mor_plan *plan)
{
	return namespaced ? mor_t1_namespaces(plan) : 0;
}

int mor_confine_refused(unsigned namespaces, int error, struct mor_setup_failure *failure)
{
	return mor_t1_refused(namespaces, error, failure);
}

int mor_confine_hold(struct mor_setup_failure *failure)
{
	return mor_hold_protected(&mor_t0.paths, failure);
}

int mor_confine_take_scratch(const struct mor_plan *plan, pid_t keeper)
{
	return mor_t1_take_scratch(plan, keeper) < 0 ? -1 : mor_t1_take_checked(plan, keeper);
}

/* What a view shows is in no rule that could be made now. */
int mor_confine_forge(const struct mor_plan *plan, int proc, int shm, struct mor_setup_failure *failure)
{
	return plan->level.flags & MOR_JAIL_VIEW ? 0 : mor_t0_forge(plan, proc, shm, failure);
}

int mor_confine_lock(const struct mor_plan *plan, struct mor_setup_failure *failure)
{
	return plan->level.flags & MOR_JAIL_VIEW ? 0 : mor_t0_lock(failure);
}

int mor_confine_init(struct mor_plan *plan, struct mor_setup_failure *failure)
{
	return mor_t1_init(plan, failure);
}

int mor_confine_leave(struct mor_setup_failure *failure)
{
	return mor_t1_leave(failure);
}

int mor_confine_guard(struct mor_setup_failure *failure)
{
	/* A broker must not give away root's power over permissions. The launcher has its own copy of the
	 * handles. */
	mor_paths_close(&mor_t0.paths, false);
	return mor_t0_drop_capabilities(false, failure);
}

int mor_confine_enter(const struct mor_plan *plan, int channel, struct mor_setup_failure *failure)
{
	return mor_t0_enter(plan, channel, failure);
}

/* A call of ours that our own filter does not know: our fault, or somebody has taken us over. */
static void on_trapped(int number, siginfo_t *info, void *context)
{
	struct mor_setup_failure failure = { 0 };

	(void)number;
	(void)context;
	mor_setup_fail(&failure, MOR_AT_CONFINE, ENOSYS,
		       "mortise-jail called %s, which is not in its own filter (guardian.c)",
		       mor_filter_trapped(info));
	mor_record_lost(&failure);
}

/* Both threads must be able to hear SIGSYS: the second one inherits it. */
static void hear_trapped(void)
{
	struct sigaction act = { .sa_sigaction = on_trapped, .sa_flags = SA_SIGINFO };
	sigset_t trapped;

	if (!mor_filter_traps())
		return;
	sigemptyset(&trapped);
	sigaddset(&trapped, SIGSYS);
	sigaction(SIGSYS, &act, NULL);
	sigprocmask(SIG_UNBLOCK, &trapped, NULL);
}

int mor_confine_adopt(const struct mor_plan *plan, int listener, pid_t init, struct mor_setup_failure *failure)
{
	int status;

	mor_t0.broker.who.init = init;
	hear_trapped();
	if ((status = mor_broker_take_listener(&mor_t0.broker, listener)) < 0)
		return mor_setup_fail(failure, MOR_AT_CONFINE, -status, "the broker cannot be started");
	if ((status = mor_filter_load_guardian(mor_t0_network(plan))) < 0)
		return mor_setup_fail(failure, MOR_AT_CONFINE, -status,
				      "seccomp refuses the guardian's filter");
	mor_broker_begin(&mor_t0.broker);
	return 0;
}

int mor_confine_fd(void)
{
	return mor_t0.broker.worker.told;
}

int mor_confine_ended(struct mor_record *violation)
{
	return mor_broker_ended(&mor_t0.broker, violation);
}

int mor_confine_sigsys(struct mor_record *violation)
{
	violation->violated = 1;
	violation->forbidden = MOR_FORBID_FOREIGN;
	snprintf(violation->syscall, sizeof(violation->syscall), MOR_SYSCALL_FOREIGN);
	snprintf(violation->rule, sizeof(violation->rule), "%s", mor_forbidden_rows[MOR_FORBID_FOREIGN].rule);
	snprintf(violation->text, sizeof(violation->text), "%s: %s", violation->syscall, violation->rule);
	violation->path[0] = 0;
	return 1;
}

const char *mor_confine_scratch(void)
{
	return mor_t0.scratch.dir >= 0 ? mor_t0.scratch.path : "";
}

int mor_confine_quota_fd(void)
{
	return mor_t0.quota.timer;
}

bool mor_confine_too_full(void)
{
	const struct mor_broker *broker = &mor_t0.broker;
	struct mor_quota_users users = { broker->proc, broker->who.main,
					 broker->spawn ? broker->who.session : 0 };

	return mor_quota_count(&mor_t0.quota, &users);
}

bool mor_confine_was_full(void)
{
	return atomic_load(&mor_t0.quota.met);
}

bool mor_confine_was_crowded(void)
{
	return mor_t0.broker.limits.threads_met;
}

int mor_confine_watch_fd(void)
{
	return mor_t0.undo.watch;
}

void mor_confine_hear(void)
{
	mor_undo_hear(&mor_t0.undo);
}

int mor_confine_view(const struct mor_view_texts *grants)
{
	int status = 0;

	pthread_mutex_lock(&mor_t0.broker.worker.gate); /* no question is judged meanwhile */
	mor_paths_forget(&mor_t0.paths, MOR_PATH_VIEW);
	mor_t0.broker.plain = 0; /* its device number may belong to another now */
	for (const char *grant = NULL; status == 0 && (grant = mor_view_next(grants, grant));)
		status = mor_paths_add_view(&mor_t0.paths, grant + 1,
					    grant[0] == MOR_GRANT_WRITE ? MOR_MAY_READ | MOR_MAY_WRITE :
									  MOR_MAY_READ);
	pthread_mutex_unlock(&mor_t0.broker.worker.gate);
	return status;
}

struct mor_denied *mor_confine_denied(void)
{
	return &mor_t0.broker.denied;
}

bool mor_confine_was_full_of_processes(void)
{
	return mor_t0.broker.limits.processes_met;
}

void mor_confine_end(bool alone, struct mor_record *last)
{
	mor_t0_end(alone, last);
}

void mor_confine_clean(void)
{
	mor_t0_clean();
}
