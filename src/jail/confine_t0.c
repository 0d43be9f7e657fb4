/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Level t0, and what t1 shares with it. Two Landlock domains, one inside the other. L1 also binds the
 * guardian: so even a broker that was tricked cannot go beyond it. L2 allows the plugin itself only to
 * execute its entry, because all other file access is done for it.
 */
#include "jail/confine_t0.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "jail/entry.h"
#include "jail/filter/filter.h"
#include "jail/group.h"
#include "jail/identity.h"

enum { CLEANED_AT_ONCE = 1000 }; /* files: some milliseconds */

struct mor_t0 mor_t0 = { .scratch = MOR_SCRATCH_INIT,
			 .broker = MOR_BROKER_INIT,
			 .undo = MOR_UNDO_INIT,
			 .quota = MOR_QUOTA_INIT,
			 .lock = { .fd = -1 },
			 .tmpfs = -1,
			 .all = -1,
			 .listen = -1 };

static int failed(struct mor_setup_failure *failure, int error, const char *what)
{
	return mor_setup_fail(failure, MOR_AT_CONFINE, -error, "%s", what);
}

/* ---- what the kernel must have ---- */

static int check_kernel(const struct mor_plan *plan, struct mor_setup_failure *failure)
{
	uint32_t notify = SECCOMP_RET_USER_NOTIF;

	mor_t0.abi = mor_landlock_abi(plan->level.landlock_abi_cap);
	if (mor_t0.abi < MOR_LANDLOCK_FLOOR)
		return mor_setup_fail(
			failure, MOR_AT_CONFINE, ENOSYS,
			"the kernel has no Landlock ABI %d (Linux 5.19 with CONFIG_SECURITY_LANDLOCK, and "
			"landlock in lsm=)",
			MOR_LANDLOCK_FLOOR);
	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &notify) < 0)
		return mor_setup_fail(failure, MOR_AT_CONFINE, errno,
				      "the kernel has no seccomp user notification (CONFIG_SECCOMP_FILTER)");
	/* There is no such process: EBADF where the call is not refused. */
	if ((plan->listen || plan->level.flags & MOR_JAIL_PLACES) && syscall(SYS_pidfd_getfd, -1, -1, 0) < 0 &&
	    errno != EBADF)
		return mor_setup_fail(failure, MOR_AT_CONFINE, errno,
				      "%s needs pidfd_getfd, which is refused here; see mortise doctor",
				      plan->listen ? "a plugin that listens" : "network = [...]");
	return 0;
}

/* ---- scratch ---- */

/* Sets NAME=value in the plan's environment; `force` false: only if it is not set. */
static int set_env(struct mor_plan *plan, const char *name, const char *value, bool force)
{
	size_t len = strlen(name), size = len + strlen(value) + 2, at = 0;
	char *text = mor_alloc(size), **env;

	if (!text)
		return -ENOMEM;
	snprintf(text, size, "%s=%s", name, value);
	while (at < plan->envc && (strncmp(plan->env[at], name, len) != 0 || plan->env[at][len] != '='))
		at++;
	if (at < plan->envc) {
		if (force)
			plan->env[at] = text;
		else
			mor_free(text);
		return 0;
	}
	env = mor_alloc((plan->envc + 2) * sizeof(*env));
	if (!env) {
		mor_free(text);
		return -ENOMEM;
	}
	memcpy(env, plan->env, plan->envc * sizeof(*env));
	env[plan->envc++] = text;
	env[plan->envc] = NULL;
	plan->env = env;
	return 0;
}

/* git 2.47 and newer look behind each commit for what is to be tidied up, in a session of their own,
 * which cannot be had here: "fatal: setsid failed". So they do it in the commit's. Settings that it
 * was given stay. */
static int keep_git_here(struct mor_plan *plan)
{
	size_t before = plan->envc;
	int status = 0;

	if (plan->level.flags & MOR_JAIL_COMMITS)
		status = set_env(plan, "GIT_CONFIG_COUNT", "1", false);
	if (status < 0 || plan->envc == before)
		return status;
	status = set_env(plan, "GIT_CONFIG_KEY_0", "gc.autoDetach", true);
	return status < 0 ? status : set_env(plan, "GIT_CONFIG_VALUE_0", "false", true);
}

/* Variables with the value "${scratch}" stand for the directory: the host cannot know it before it is made. */
static int name_scratch(struct mor_plan *plan, const char *path)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < plan->envc; i++) {
		const char *equals = strchr(plan->env[i], '=');
		char name[64];

		if (!equals || strcmp(equals + 1, "${scratch}") != 0 ||
		    (size_t)(equals - plan->env[i]) >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(equals - plan->env[i]), plan->env[i]);
		status = set_env(plan, name, path, true);
	}
	return status;
}

/* A directory that was named, or a new one below /tmp. */
static int prepare_scratch(struct mor_plan *plan, struct mor_setup_failure *failure)
{
	bool ours = plan->scratch && !*plan->scratch;
	const char *path = plan->scratch;
	int status = 0;

	if (!plan->scratch)
		return 0;
	if (ours) {
		mor_scratch_sweep(MOR_SCRATCH_PARENT);
		status = mor_scratch_make(&mor_t0.scratch, MOR_SCRATCH_PARENT);
		path = mor_t0.scratch.path;
	}
	if (status == 0)
		status = mor_paths_add(&mor_t0.paths, path,
				       MOR_MAY_READ | MOR_MAY_WRITE |
					       (plan->level.flags & MOR_JAIL_RUN_MADE ? MOR_MAY_EXECUTE : 0u),
				       MOR_PATH_SCRATCH);
	if (status == 0)
		status = set_env(plan, "HOME", path, ours);
	if (status == 0)
		status = set_env(plan, "TMPDIR", path, ours);
	if (status == 0)
		status = name_scratch(plan, path);
	return status < 0 ? failed(failure, status, "cannot make a scratch directory below /tmp") : 0;
}

/* Libraries that print where they listen make their socket in TMPDIR. */
static int prepare_listening(struct mor_plan *plan, struct mor_setup_failure *failure)
{
	int status = 0;

	if (!plan->listen)
		return 0;
	mor_t0.listen = open(plan->listen, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (mor_t0.listen < 0)
		status = -errno;
	if (status == 0)
		status = set_env(plan, "TMPDIR", plan->listen, true);
	return status < 0 ? failed(failure, status, "cannot give it a place to listen") : 0;
}

int mor_t0_count_scratch(const struct mor_plan *plan, struct mor_setup_failure *failure)
{
	const char *path = plan->scratch && *plan->scratch ? plan->scratch : mor_t0.scratch.path;
	int status;

	if (!plan->scratch || !plan->level.scratch_bytes)
		return 0;
	status = mor_quota_begin(&mor_t0.quota, path, plan->level.scratch_bytes);
	mor_t0.paths.quota = &mor_t0.quota;
	return status < 0 ? failed(failure, status, "the scratch directory cannot be counted") : 0;
}

void mor_t0_show_scratch_take(int fd)
{
	for (size_t i = 0; fd >= 0 && i < mor_t0.paths.count; i++) {
		struct mor_path_rule *rule = &mor_t0.paths.rules[i];

		if (rule->origin != MOR_PATH_SCRATCH)
			continue;
		mor_fd_close(&rule->fd);
		rule->fd = fd;
		return;
	}
	mor_fd_close(&fd);
}

/* ---- rules ---- */

static int add_asked(const struct mor_plan *plan)
{
	int status = 0;

	for (const struct mor_plan_op *op = NULL; status == 0 && (op = mor_plan_next(plan, MOR_OP_PATH, op));) {
		const struct mor_op_path *rule = mor_plan_payload(op);

		status = mor_paths_add(&mor_t0.paths, rule->path, rule->access,
				       rule->flags & MOR_OP_PATH_WORKSPACE ? MOR_PATH_WORKSPACE :
									     MOR_PATH_ASKED);
	}
	return status;
}

static int add_protected(const struct mor_plan *plan)
{
	struct mor_protects *protects = &mor_t0.paths.protects;
	int status = 0;

	protects->commits = plan->level.flags & MOR_JAIL_COMMITS;
	protects->lenient = plan->level.flags & MOR_JAIL_LENIENT;
	for (const struct mor_plan_op *op = NULL;
	     status == 0 && (op = mor_plan_next(plan, MOR_OP_PROTECT, op));) {
		const struct mor_op_protect *what = mor_plan_payload(op);

		status = what->text[0] == '/' ?
				 mor_protect_path(protects, what->text, (enum mor_protect_why)what->why) :
				 mor_protect_name(protects, what->text, (enum mor_protect_why)what->why);
	}
	return status;
}

/* The store may be inside the workspace, if that is a home directory: then it is protected. */
static int prepare_undo(const struct mor_plan *plan)
{
	int status = plan->undo ? mor_undo_begin(&mor_t0.undo, plan->undo) : 0;

	if (status == 0 && mor_undo_covers(plan->undo ? &mor_t0.undo : NULL, plan->undo))
		status = mor_protect_path(&mor_t0.paths.protects, plan->undo, MOR_PROTECT_UNDO);
	return status;
}

int mor_t0_prepare(struct mor_plan *plan, struct mor_setup_failure *failure)
{
	unsigned flags = plan->level.flags;
	int status;

	if (check_kernel(plan, failure) < 0)
		return -1;
	mor_t0.paths.quiet_tmp = flags & MOR_JAIL_QUIET_TMP;
	mor_t0.paths.learning = flags & MOR_JAIL_LEARN;
	mor_t0.paths.quiet_software = flags & (MOR_JAIL_VIEW | MOR_JAIL_SPAWN);
	status = mor_paths_add_defaults(&mor_t0.paths, flags & MOR_JAIL_NETWORK, flags & MOR_JAIL_SPAWN);
	if (status == 0)
		status = add_asked(plan);
	if (status == 0)
		status = add_protected(plan);
	if (status < 0)
		return failed(failure, status, "cannot take up the rules on files");
	if ((status = prepare_undo(plan)) < 0)
		return failed(failure, status, "what is needed to undo its changes cannot be kept");
	if (prepare_scratch(plan, failure) < 0 || prepare_listening(plan, failure) < 0)
		return -1;
	/* PWD: shells would search for it in the parents */
	if ((plan->cwd && set_env(plan, "PWD", plan->cwd, false) < 0) || keep_git_here(plan) < 0)
		return failed(failure, -ENOMEM, "cannot set its environment");
	if ((status = mor_identity_make_up(&mor_t0.paths, plan)) < 0)
		return failed(failure, status, "cannot make up who it is");
	status = plan->hosts ? mor_paths_add_hosts(&mor_t0.paths, plan->hosts) : 0;
	if (status < 0)
		return failed(failure, status, "cannot make up its /etc/hosts");
	if (mor_launch_resolve(plan, &mor_t0.paths, failure) < 0)
		return -1;
	mor_paths_sort(&mor_t0.paths);
	status = mor_broker_init(&mor_t0.broker, &mor_t0.paths, &plan->level);
	mor_t0.broker.undo = plan->undo ? &mor_t0.undo : NULL;
	mor_t0.broker.scratch = plan->scratch && !*plan->scratch ? mor_t0.scratch.path : plan->scratch;
	mor_t0.broker.net.listen = plan->listen;
	if (plan->level.flags & MOR_JAIL_PLACES) {
		mor_t0.broker.net.places = plan->places;
		mor_t0.broker.net.count = plan->place_count;
		mor_t0.broker.net.dial = &mor_t0.dial;
	}
	if (status == 0 && mor_t0.paths.learning) {
		mor_t0.all = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		status = mor_t0.all < 0 ? -errno : 0;
	}
	return status < 0 ? failed(failure, status, "/proc must be mounted") : 0;
}

/* In the scratch directory that is removed at the end. A named one stays, so there is another one then. */
int mor_t0_prepare_shm(const struct mor_plan *plan, struct mor_setup_failure *failure)
{
	int status = 0;

	if (!plan->scratch)
		return 0;
	if (mor_t0.scratch.dir < 0) {
		status = mor_scratch_make(&mor_t0.scratch, MOR_SCRATCH_PARENT);
		if (status == 0)
			status = mor_paths_add(&mor_t0.paths, mor_t0.scratch.path, MOR_MAY_READ | MOR_MAY_WRITE,
					       MOR_PATH_SCRATCH);
		mor_paths_sort(&mor_t0.paths);
	}
	if (status < 0)
		return failed(failure, status, "cannot make a directory for /dev/shm below /tmp");
	snprintf(mor_t0.broker.shm, sizeof(mor_t0.broker.shm), "%.50s/.shm", mor_t0.scratch.path);
	return 0;
}

/* ---- L1 ---- */

/* While learning. Writing is the workspace's, whether it was asked for or not. */
static int allow_all(const struct mor_landlock *lock, unsigned access)
{
	int status = mor_landlock_allow(lock, mor_t0.all, true, access);

	for (size_t i = 0; status == 0 && i < mor_t0.paths.count; i++)
		if (mor_t0.paths.rules[i].origin == MOR_PATH_WORKSPACE && access & MOR_MAY_READ)
			status = mor_landlock_allow(lock, mor_t0.paths.rules[i].fd, true,
						    access | MOR_MAY_WRITE);
	return status;
}

/* All of /proc: the numbers of later processes are not known yet. Landlock's rule for tracing protects the
 * secret files of other processes there. */
static int allow_guardian(const struct mor_landlock *lock, int proc, int shm)
{
	int status = mor_paths_allow(&mor_t0.paths, lock, MOR_MAY_READ | MOR_MAY_WRITE | MOR_MAY_EXECUTE);

	if (status == 0 && mor_t0.all >= 0)
		status = allow_all(lock, MOR_MAY_READ | MOR_MAY_EXECUTE);
	if (status == 0)
		status = mor_landlock_allow(lock, mor_t0.broker.proc, true, MOR_MAY_READ);
	if (status == 0 && proc >= 0)
		status = mor_landlock_allow(lock, proc, true, MOR_MAY_READ);
	if (status == 0 && shm >= 0)
		status = mor_landlock_allow(lock, shm, true, MOR_MAY_READ | MOR_MAY_WRITE);
	if (status == 0 && mor_t0.listen >= 0)
		status = mor_landlock_allow_socket(lock, mor_t0.listen);
	if (status == 0 && mor_t0.scratch.parent >= 0)
		status = mor_landlock_allow_rmdir(lock, mor_t0.scratch.parent);
	for (unsigned i = 0; status == 0 && mor_groups_parent(i) >= 0; i++)
		status = mor_landlock_allow_rmdir(lock, mor_groups_parent(i));
	return status;
}

/* At t1 without a signal scope: the first process of the namespaces is outside the domain, and we must be
 * able to end it. */
int mor_t0_forge(const struct mor_plan *plan, int proc, int shm, struct mor_setup_failure *failure)
{
	int status;

	mor_fd_close(&mor_t0.lock.fd); /* left from a t1 that failed */
	status = mor_landlock_begin(&mor_t0.lock, mor_t0.abi, plan->level.flags & MOR_JAIL_NETWORK, proc < 0);
	if (status == 0)
		status = allow_guardian(&mor_t0.lock, proc, shm);
	for (size_t i = 0; status == 0 && i < mor_t0.broker.net.count; i++)
		status = mor_landlock_allow_port(&mor_t0.lock, mor_t0.broker.net.places[i].port);
	return status < 0 ? failed(failure, status, "Landlock refuses the guardian's own rules") : 0;
}

int mor_t0_lock(struct mor_setup_failure *failure)
{
	int status = mor_landlock_enforce(&mor_t0.lock);

	mor_paths_close(&mor_t0.paths, true);
	mor_t0.broker.locked = status == 0;
	return status < 0 ? failed(failure, status, "Landlock refuses the guardian's own rules") : 0;
}

/* ---- the launcher ---- */

/* The first one that is held and cannot be dropped, or -1. To drop is enough where we may: then nobody needs to
 * ask which are held (41 calls). */
static int drop_bounding(void)
{
	for (int cap = 0;; cap++) {
		int held = prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0 ? 0 : prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		if (held > 0)
			return cap;
		if (held < 0) /* there are no more */
			return -1;
	}
}

int mor_t0_drop_capabilities(bool for_good, struct mor_setup_failure *failure)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	/* execve gives root what is in this set, even with no_new_privs. Others get nothing. */
	if (for_good && (!getuid() || !geteuid())) {
		int cap = drop_bounding();

		if (cap >= 0)
			return mor_setup_fail(failure, MOR_AT_PRIVILEGES, EPERM, "cannot drop capability %d",
					      cap);
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &head, none) < 0)
		return mor_setup_fail(failure, MOR_AT_PRIVILEGES, errno, "cannot drop capabilities");
	return 0;
}

unsigned mor_t0_network(const struct mor_plan *plan)
{
	if (plan->level.flags & MOR_JAIL_NETWORK)
		return MOR_FILTER_NETWORK;
	return plan->level.flags & MOR_JAIL_PLACES ? MOR_FILTER_PLACES : MOR_FILTER_PLAIN;
}

static int enter_domain(const struct mor_plan *plan)
{
	struct mor_landlock lock;
	int status = mor_landlock_begin(&lock, mor_t0.abi, plan->level.flags & MOR_JAIL_NETWORK, true);

	if (status < 0)
		return status;
	status = mor_paths_allow(&mor_t0.paths, &lock, MOR_MAY_EXECUTE);
	if (status == 0 && mor_t0.all >= 0)
		status = allow_all(&lock, MOR_MAY_EXECUTE);
	if (status < 0) {
		mor_fd_close(&lock.fd);
		return status;
	}
	return mor_landlock_enforce(&lock);
}

int mor_t0_enter(const struct mor_plan *plan, int channel, struct mor_setup_failure *failure)
{
	unsigned variant = mor_t0_network(plan) +
			   (plan->level.flags & (MOR_JAIL_SPAWN | MOR_JAIL_LEARN) ? MOR_FILTER_SPAWN : 0);
	int listener, status;

	if (mor_t0_drop_capabilities(true, failure) < 0)
		return -1;
	if ((status = enter_domain(plan)) < 0)
		return failed(failure, status, "Landlock refuses the plugin's rules");
	if ((listener = mor_filter_load(variant)) < 0)
		return failed(failure, listener,
			      "seccomp refuses the filter: it needs user notification with "
			      "WAIT_KILLABLE_RECV (Linux 5.19), and no listener above us");
	status = mor_send_fd(channel, listener);
	close(listener);
	return status < 0 ? failed(failure, status, "cannot hand the listener to the guardian") : 0;
}

void mor_t0_end(bool alone, struct mor_record *last)
{
	bool over = mor_broker_fini(&mor_t0.broker); /* whatever it was doing in there */

	if (last && over && !last->violated)
		mor_broker_ended(&mor_t0.broker, last);
	if (over && mor_undo_end(mor_t0.broker.undo) == 0 && alone)
		mor_undo_alone(mor_t0.broker.undo);
	if (over)
		mor_undo_fini(&mor_t0.undo);
}

/* A child of ours does it, and keeps our handles until we have ended: nobody waits for it, since the host waits
 * for us alone. If it cannot be made, we do it. */
static void clean_apart(void)
{
	struct pollfd us = { .fd = (int)syscall(SYS_pidfd_open, getpid(), 0), .events = POLLIN };
	pid_t child = us.fd < 0 ? -1 : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (child > 0)
		return;
	if (child == 0) {
		for (int fd = 0; fd <= MOR_GUARD_FD; fd++)
			close(fd); /* somebody may wait for the end of the program's output */
		(void)poll(&us, 1, -1);
	}
	mor_scratch_remove(&mor_t0.scratch);
}

void mor_t0_clean(void)
{
	struct statfs fs;
	bool apart;

	mor_quota_end(&mor_t0.quota);
	/* At t1 it goes with its last handle, which is ours; that takes the longer the more files it has. */
	apart = mor_t0.tmpfs >= 0 && fstatfs(mor_t0.tmpfs, &fs) == 0 &&
		fs.f_files - fs.f_ffree > CLEANED_AT_ONCE;
	if (!mor_scratch_remove_some(&mor_t0.scratch, CLEANED_AT_ONCE) || apart)
		clean_apart();
	mor_paths_fini(&mor_t0.paths);
}
