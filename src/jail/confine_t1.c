/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Level t1: t0's broker, filter and L2, in separate namespaces with a small file tree (root.c). What no rule
 * names does not exist there, not even for stat. Protected paths are read-only mounts.
 *
 * The guardian stays outside: it must see what exists on the host, to tell an attempt from a mistake. But it
 * opens and changes only what it has found in the plugin's own tree, where the kernel enforces read-only
 * mounts. And it is under L1 as at t0 (within.c says how). So a wrong decision of the broker alone is not
 * enough: two other layers check too.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/path.h"
#include "jail/checked.h"
#include "jail/confine_t0.h"
#include "jail/confine_t1.h"
#include "jail/root.h"
#include "jail/view.h"

static const struct {
	unsigned flag;
	const char *name, *limit;
} kinds[] = {
	{ CLONE_NEWUSER, "user", "user.max_user_namespaces and AppArmor" },
	{ CLONE_NEWNS, "mount", "user.max_mnt_namespaces" },
	{ CLONE_NEWPID, "PID", "user.max_pid_namespaces" },
	{ CLONE_NEWIPC, "IPC", "user.max_ipc_namespaces" },
	{ CLONE_NEWUTS, "UTS", "user.max_uts_namespaces" },
	{ CLONE_NEWNET, "network", "user.max_net_namespaces" },
};

unsigned mor_t1_namespaces(const struct mor_plan *plan)
{
	unsigned all = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;

	return plan->level.flags & MOR_JAIL_NETWORK ? all : all | CLONE_NEWNET;
}

/* ---- is it possible ---- */

/* In a child that ends at once. */
static bool can_clone(unsigned namespaces)
{
	long pid = syscall(SYS_clone, (unsigned long)namespaces, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(0);
	while (pid > 0 && waitpid((pid_t)pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return pid > 0;
}

/* One by one, to name the first that is refused; all together may also be too many. */
int mor_t1_refused(unsigned namespaces, int error, struct mor_setup_failure *failure)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (namespaces & kinds[i].flag && !can_clone(CLONE_NEWUSER | kinds[i].flag))
			return mor_setup_fail(failure, MOR_AT_NAMESPACE, error,
					      "the kernel refuses %s namespaces; see %s", kinds[i].name,
					      kinds[i].limit);
	return mor_setup_fail(failure, MOR_AT_NAMESPACE, error,
			      "the kernel refuses new namespaces; see user.max_*_namespaces");
}

bool mor_t1_sensible(const struct mor_plan *plan, struct mor_setup_failure *failure)
{
	struct stat root, st;

	if (stat("/", &root) < 0)
		return true;
	for (const struct mor_plan_op *op = NULL; (op = mor_plan_next(plan, MOR_OP_PATH, op));) {
		const struct mor_op_path *rule = mor_plan_payload(op);

		if (stat(rule->path, &st) == 0 && st.st_dev == root.st_dev && st.st_ino == root.st_ino) {
			mor_setup_fail(failure, MOR_AT_CONFINE, EINVAL,
				       "a rule on / leaves nothing for level t1 to hide");
			return false;
		}
	}
	return true;
}

/* ---- the steps ---- */

static int refused_step(struct mor_setup_failure *failure, int status, const char *step)
{
	return mor_setup_fail(failure, MOR_AT_NAMESPACE, -status, "level t1: the kernel refuses %s", step);
}

/* The launcher comes from outside the tree: it must be told its working directory. */
int mor_t1_prepare(struct mor_plan *plan, struct mor_setup_failure *failure)
{
	char here[PATH_MAX];

	mor_t0.broker.apart = true;
	if (mor_paths_make_up(&mor_t0.paths, "/dev/shm", MOR_MAY_READ | MOR_MAY_WRITE, NULL) < 0)
		return mor_setup_fail(failure, MOR_AT_CONFINE, ENOMEM, "no memory");
	mor_paths_sort(&mor_t0.paths);
	if (plan->cwd)
		return 0;
	plan->cwd = mor_strdup(getcwd(here, sizeof(here)) ? here : "/");
	return plan->cwd ? 0 : mor_setup_fail(failure, MOR_AT_CONFINE, ENOMEM, "no memory");
}

/* The loopback device stays down: nobody may use it. */
int mor_t1_init(struct mor_plan *plan, struct mor_setup_failure *failure)
{
	static const char name[] = "plugin";
	const char *step = "";
	int status;

	if (mor_view_split(plan, failure) < 0)
		return -1;
	if (sethostname(name, sizeof(name) - 1) < 0)
		return mor_setup_fail(failure, MOR_AT_NAMESPACE, errno,
				      "level t1: the host name cannot be set");
	status = mor_root_make(&mor_t0.paths, plan, &step);
	if (status == -ESTALE)
		return mor_setup_fail(failure, MOR_AT_CHANGED, ESTALE, "%s", step);
	return status < 0 ? refused_step(failure, status, step) : 0;
}

int mor_t1_take_scratch(const struct mor_plan *plan, pid_t keeper)
{
	char path[PATH_MAX + 32];
	int fd;

	if (!plan->scratch || *plan->scratch || !plan->level.scratch_bytes)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)keeper, mor_t0.scratch.path);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	mor_t0.tmpfs = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	mor_t0_show_scratch_take(fd);
	return fd < 0 ? -1 : 0;
}

/* The handle in the new tree of what a rule means, if that is in the copy of an installed plugin. -1: errno. */
static int show_copy(struct mor_path_rule *rule, pid_t keeper)
{
	char path[PATH_MAX + 32];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)keeper, rule->path);
	if ((fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return -1;
	if (fstat(fd, &st) < 0) {
		close(fd);
		return -1;
	}
	close(rule->fd);
	rule->fd = fd;
	rule->device = st.st_dev;
	rule->inode = st.st_ino;
	return 0;
}

int mor_t1_take_checked(const struct mor_plan *plan, pid_t keeper)
{
	size_t len = plan->checked ? strlen(plan->checked) : 0;

	if (!plan->checked || !mor_checked_size(plan))
		return 0;
	for (size_t i = 0; i < mor_t0.paths.count; i++) {
		struct mor_path_rule *rule = &mor_t0.paths.rules[i];

		if (mor_path_is_within(rule->path, plan->checked, len) && rule->fd >= 0 &&
		    show_copy(rule, keeper) < 0)
			return -1;
	}
	return 0;
}

int mor_t1_leave(struct mor_setup_failure *failure)
{
	const char *step = "";
	int status = mor_root_leave(&step);

	return status < 0 ? refused_step(failure, status, step) : 0;
}
