/* Which level does what: the steps of confine.h, in the order in which guardian and launcher call them. */
#include "jail/confine.h"

#include <errno.h>
#include <stdio.h>

#include "jail/confine_t0.h"
#include "jail/confine_t1.h"
#include "jail/filter/filter.h"
#include "jail/policy.h"
#include "jail/view.h"

static bool namespaced;

static int prepare_t0(struct mor_plan *plan, struct mor_setup_failure *failure)
{
	plan->level.level = MOR_LEVEL_T0;
	if (mor_t0_prepare(plan, failure) < 0)
		return -1;
	return mor_t0_lock(plan, failure);
}

int mor_confine_prepare(struct mor_plan *plan, struct mor_setup_failure *failure)
{
	/* The guardian's own domain at t0 (L1) holds for the maker's mounts too, and its rules know inodes that no view has. */
	if (plan->level.flags & MOR_JAIL_VIEW && plan->level.level == MOR_LEVEL_T0)
		return mor_setup_fail(failure, MOR_AT_CONFINE, EINVAL, "sandbox.view needs level guarded or t1");
	if (plan->level.flags & MOR_JAIL_VIEW)
		plan->level.level = MOR_LEVEL_T1;
	if (plan->level.level == MOR_LEVEL_T0)
		return prepare_t0(plan, failure);
	/* It decides what AUTO comes to, and says so in plan->level.level. */
	if (mor_t1_prepare(plan, failure) < 0)
		return -1;
	if (plan->level.level == MOR_LEVEL_T0)
		return prepare_t0(plan, failure);
	namespaced = true;
	return 0;
}

unsigned mor_confine_namespaces(const struct mor_plan *plan)
{
	return namespaced ? mor_t1_namespaces(plan) : 0;
}

int mor_confine_init(struct mor_plan *plan, struct mor_setup_failure *failure)
{
	return namespaced ? mor_t1_init(plan, failure) : 0;
}

int mor_confine_guard(const struct mor_plan *plan, struct mor_setup_failure *failure)
{
	int status;

	if (namespaced)
		return mor_t1_guard(plan, failure);
	/* A broker must not lend root's way past permissions. The launcher has its own copy of the handles. */
	mor_paths_close(&mor_t0.paths, false);
	if (mor_t0_drop_capabilities(false, failure) < 0)
		return -1;
	status = mor_filter_load_guardian();
	return status < 0 ? mor_setup_fail(failure, MOR_AT_CONFINE, -status, "seccomp refuses the guardian's filter") : 0;
}

int mor_confine_enter(const struct mor_plan *plan, int channel, struct mor_setup_failure *failure)
{
	return namespaced ? mor_t1_enter(plan, channel, failure) : mor_t0_enter(plan, channel, failure);
}

int mor_confine_adopt(int listener)
{
	return mor_broker_adopt(&mor_t0.broker, listener) < 0 ? -1 : 0;
}

int mor_confine_fd(void)
{
	return mor_t0.broker.listener;
}

int mor_confine_dispatch(struct mor_record *violation)
{
	return mor_broker_step(&mor_t0.broker, violation);
}

int mor_confine_sigsys(struct mor_record *violation)
{
	violation->violated = 1;
	snprintf(violation->syscall, sizeof(violation->syscall), "foreign ABI");
	snprintf(violation->rule, sizeof(violation->rule), "only the machine's own system calls");
	snprintf(violation->text, sizeof(violation->text), "%s: %s", violation->syscall, violation->rule);
	violation->path[0] = 0;
	return 1;
}

int mor_confine_view(const struct mor_view_texts *grants)
{
	int status = 0;

	mor_paths_forget_view(&mor_t0.paths);
	mor_t0.broker.plain = 0; /* its device may be another's by now */
	for (const char *grant = NULL; status == 0 && (grant = mor_view_next(grants, grant));)
		status = mor_paths_add_view(&mor_t0.paths, grant + 1, grant[0] == MOR_GRANT_WRITE
								      ? MOR_MAY_READ | MOR_MAY_WRITE : MOR_MAY_READ);
	return status;
}

void mor_confine_end(void)
{
	if (namespaced)
		mor_t1_end();
	mor_t0_end();
}
