/*
 * Level t1: t0's broker, filter and L2, in namespaces of their own with a small file tree (root.c). What no rule names is
 * not there, not even for stat; protected paths are read-only mounts.
 *
 * The guardian stays outside: it must see what exists on the host, to tell an attempt from a mistake. It does not stand
 * under a Landlock domain of its own here, since it could then neither look into the plugin (which is not below that
 * domain) nor let its child mount. In place of that the broker acts only on what it has found in the plugin's own tree:
 * there the kernel keeps read-only what must not be written, whatever the broker thinks.
 */
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/confine_t0.h"
#include "jail/confine_t1.h"
#include "jail/filter/filter.h"
#include "jail/guard.h"
#include "jail/policy.h"
#include "jail/root.h"

static const struct {
	unsigned flag;
	const char *name, *limit;
} kinds[] = {
	{ CLONE_NEWUSER, "user", "user.max_user_namespaces and AppArmor" },
	{ CLONE_NEWNS, "mount", "user.max_mnt_namespaces" }, { CLONE_NEWPID, "PID", "user.max_pid_namespaces" },
	{ CLONE_NEWIPC, "IPC", "user.max_ipc_namespaces" }, { CLONE_NEWUTS, "UTS", "user.max_uts_namespaces" },
	{ CLONE_NEWNET, "network", "user.max_net_namespaces" },
};

unsigned mor_t1_namespaces(const struct mor_plan *plan)
{
	unsigned all = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;

	return plan->level.flags & MOR_JAIL_NETWORK ? all : all | CLONE_NEWNET;
}

/* ---- whether it can be ---- */

/* The child shares `failure` with us, and nothing else. */
static _Noreturn void try_tree(uid_t uid, gid_t gid, struct mor_setup_failure *failure)
{
	const char *step = "";
	int status;

	if (mor_map_users(uid, gid, failure) == 0) {
		status = mor_root_try(&step);
		if (status < 0)
			mor_setup_fail(failure, MOR_AT_NAMESPACE, -status, "the kernel refuses %s", step);
	}
	_exit(0);
}

/* 0: the child has run, and *failure says whether it came through. Else the errno of the clone. */
static int try_clone(unsigned namespaces, struct mor_setup_failure *failure)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	long pid = syscall(SYS_clone, (unsigned long)namespaces, NULL, NULL, NULL, NULL);
	int status = 0, r;

	if (pid < 0)
		return errno;
	if (pid == 0 && failure)
		try_tree(uid, gid, failure);
	if (pid == 0)
		_exit(0);
	do
		r = waitpid((pid_t)pid, &status, __WALL);
	while (r < 0 && errno == EINTR);
	if (failure && (r < 0 || status != 0) && !failure->step)
		mor_setup_fail(failure, MOR_AT_NAMESPACE, EIO, "a process in new namespaces was killed");
	return 0;
}

/* One by one, to name the first that is refused; all together may be too many as well. */
static int name_refused(unsigned namespaces, int error, struct mor_setup_failure *failure)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (namespaces & kinds[i].flag && try_clone(CLONE_NEWUSER | kinds[i].flag, NULL) != 0)
			return mor_setup_fail(failure, MOR_AT_NAMESPACE, error, "the kernel refuses %s namespaces; see %s",
					      kinds[i].name, kinds[i].limit);
	return mor_setup_fail(failure, MOR_AT_NAMESPACE, error, "the kernel refuses new namespaces; see user.max_*_namespaces");
}

/* A rule on the whole tree leaves nothing to make small. */
static bool opens_all(const struct mor_plan *plan)
{
	struct stat root, st;

	if (stat("/", &root) < 0)
		return false;
	for (const struct mor_plan_op *op = NULL; (op = mor_plan_next(plan, MOR_OP_PATH, op));) {
		const struct mor_op_path *rule = mor_plan_payload(op);

		if (stat(rule->path, &st) == 0 && st.st_dev == root.st_dev && st.st_ino == root.st_ino)
			return true;
	}
	return false;
}

/* By doing it in a child. 0, or -1 with the reason. */
static int try_all(const struct mor_plan *plan, struct mor_setup_failure *failure)
{
	unsigned namespaces = mor_t1_namespaces(plan);
	struct mor_setup_failure *shared;
	int error;

	if (opens_all(plan))
		return mor_setup_fail(failure, MOR_AT_CONFINE, EINVAL, "a rule on / leaves nothing for level t1 to hide");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return mor_setup_fail(failure, MOR_AT_NAMESPACE, errno, "no memory");
	error = try_clone(namespaces, shared);
	if (error)
		name_refused(namespaces, error, shared);
	*failure = *shared;
	munmap(shared, sizeof(*shared));
	return failure->step ? -1 : 0;
}

int mor_t1_prepare(struct mor_plan *plan, struct mor_setup_failure *failure)
{
	struct mor_setup_failure why = { 0 };

	if (try_all(plan, &why) < 0) {
		if (plan->level.level == MOR_LEVEL_T1) {
			*failure = why;
			return -1;
		}
		plan->level.level = MOR_LEVEL_T0;
		return 0;
	}
	plan->level.level = MOR_LEVEL_T1;
	if (mor_t0_prepare(plan, failure) < 0)
		return -1;
	mor_t0.broker.apart = true;
	return 0;
}

/* ---- the steps ---- */

/* The loopback device stays down: nobody may use it. */
int mor_t1_init(struct mor_plan *plan, struct mor_setup_failure *failure)
{
	static const char name[] = "plugin";
	const char *step = "";
	int status = mor_root_enter(&mor_t0.paths, plan, &step);

	/* They point into the host's tree. Those for the launcher's lock stay until its execve. */
	mor_paths_close(&mor_t0.paths, true);
	if (status < 0)
		return mor_setup_fail(failure, MOR_AT_NAMESPACE, -status, "level t1: the kernel refuses %s", step);
	if (sethostname(name, sizeof(name) - 1) < 0)
		return mor_setup_fail(failure, MOR_AT_NAMESPACE, errno, "level t1: the host name cannot be set");
	/* We stay on as the plugin's neighbour, and hold the host's files open. Its execve makes the plugin itself open again. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return mor_setup_fail(failure, MOR_AT_PRIVILEGES, errno, "PR_SET_DUMPABLE refused");
	return 0;
}

int mor_t1_enter(const struct mor_plan *plan, int channel, struct mor_setup_failure *failure)
{
	return mor_t0_enter(plan, channel, failure);
}
