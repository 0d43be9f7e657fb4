/* SPDX-License-Identifier: Apache-2.0 */
/* The table of `mortise doctor`: judges what was found and explains it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "guard/doctor.h"

#define FLOOR_MAJOR    6
#define FLOOR_MINOR    1
#define LANDLOCK_FLOOR 2
#define LANDLOCK_BEST  6 /* ABI 7 only adds records for the audit log */
#define FDS_PER_PLUGIN 5
#define FOUND          160

typedef enum mor_doctor_finding judged;

static judged judge_kernel(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	bool enough = f->kernel_major > FLOOR_MAJOR ||
		      (f->kernel_major == FLOOR_MAJOR && f->kernel_minor >= FLOOR_MINOR);

	(void)remedy;
	snprintf(found, FOUND, "Linux %s", f->kernel);
	return enough ? MOR_FOUND_OK : MOR_FOUND_LIMITED;
}

static judged judge_landlock(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	if (f->landlock == 0) {
		snprintf(found, FOUND, "%s",
			 f->landlock_errno == EOPNOTSUPP ? "switched off" : strerror(f->landlock_errno));
		if (f->landlock_errno == EOPNOTSUPP)
			*remedy = "it is compiled in but off: boot with lsm=landlock,... "
				  "(/sys/kernel/security/lsm has the list)";
		return MOR_FOUND_MISSING;
	}
	snprintf(found, FOUND, "ABI %d", f->landlock);
	if (f->landlock < LANDLOCK_FLOOR)
		return MOR_FOUND_MISSING;
	return f->landlock < LANDLOCK_BEST ? MOR_FOUND_LIMITED : MOR_FOUND_OK;
}

static judged judge_seccomp(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	const struct mor_probe_seccomp *s = &f->seccomp;

	if (s->filter) {
		snprintf(found, FOUND, "refused: %s", strerror(s->filter));
		if (s->filter == EBUSY)
			*remedy =
				"another program around this process (a sandbox, a container manager) already "
				"listens: run outside it";
		return MOR_FOUND_MISSING;
	}
	snprintf(found, FOUND, "works%s%s%s", s->add_fd_send ? "" : ", but passes no descriptors",
		 s->killable ? "" : ", without killable waits", s->sync_wake ? "" : ", without fast wake-up");
	if (!s->add_fd_send)
		return MOR_FOUND_MISSING;
	return s->killable && s->sync_wake ? MOR_FOUND_OK : MOR_FOUND_LIMITED;
}

/* What t1 needs there, and what pidfd_getfd does. docs/guide/containers.md has all of it, tried. */
static const struct container {
	const char *name, *title, *namespaces, *to_get_fds;
} containers[] = {
	{ "docker", "a Docker container",
	  "--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
	  "--security-opt systempaths=unconfined",
	  "docker run --cap-add=SYS_PTRACE" },
	{ "podman", "a Podman container", "--security-opt seccomp=unconfined --security-opt unmask=ALL",
	  "podman run --cap-add=SYS_PTRACE" },
	{ "kubernetes", "a pod of Kubernetes",
	  "securityContext: {seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}, "
	  "procMount: Unmasked}, and hostUsers: false",
	  "securityContext: {capabilities: {add: [SYS_PTRACE]}}" },
	{ "", "a container",
	  "a seccomp profile that allows clone with CLONE_NEW*, unshare and mount, and an "
	  "unmasked /proc",
	  "a seccomp profile that allows pidfd_getfd" },
};

static const struct container *container_of(const struct mor_doctor_facts *f)
{
	const struct container *c = containers;

	while (*c->name && strcmp(c->name, f->container) != 0)
		c++;
	return c;
}

/* The first reason that a person can change. What a container refuses is in its own hands, before what the
 * machine below it says. */
static const char *userns_remedy(const struct mor_doctor_facts *f)
{
	if (f->userns_clone == 0)
		return "sysctl kernel.unprivileged_userns_clone=1";
	if (f->userns_max == 0)
		return "sysctl user.max_user_namespaces=15000";
	if (f->userns_apparmor == 1 && !(*f->container && f->ns.user))
		return "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile with "
		       "\"userns,\" for mortise-jail";
	return container_of(f)->namespaces;
}

/* What t1 misses first; NULL: nothing of it. */
static const char *userns_lack(const struct mor_doctor_facts *f)
{
	if (f->ns.user)
		return "user namespaces are refused";
	if (f->ns.minimal_root)
		return "user namespaces give no rights";
	if (f->ns.proc)
		return "/proc is masked";
	return f->ns.uts ? "a namespace cannot have a host name" : NULL;
}

void mor_doctor_place(const struct mor_doctor_facts *f, bool t1, char out[MOR_DOCTOR_PLACE])
{
	const char *lack = t1 ? NULL : userns_lack(f), *in = container_of(f)->title;

	if (!t1 && !lack)
		lack = "something that t1 needs is refused"; /* its own line says what */
	out[0] = '\0';
	if (*f->container)
		snprintf(out, MOR_DOCTOR_PLACE, "in %s%s%s%s%s", in, lack ? ": " : "", lack ? lack : "",
			 lack ? "; t1 needs " : "", lack ? userns_remedy(f) : "");
	else if (!t1 && userns_lack(f))
		snprintf(out, MOR_DOCTOR_PLACE, "%s; t1 needs %s", lack, userns_remedy(f));
}

static judged judge_namespace(const struct mor_doctor_facts *f, int error, char found[FOUND],
			      const char **remedy)
{
	snprintf(found, FOUND, "%s%s", error ? "refused: " : "works", error ? strerror(error) : "");
	if (error)
		*remedy = userns_remedy(f);
	return error ? MOR_FOUND_MISSING : MOR_FOUND_OK;
}

static judged judge_user(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	return judge_namespace(f, f->ns.user, found, remedy);
}

static judged judge_pid(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	return judge_namespace(f, f->ns.pid, found, remedy);
}

static judged judge_mount(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	return judge_namespace(f, f->ns.mount ? f->ns.mount : f->ns.minimal_root, found, remedy);
}

static judged judge_proc(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	return judge_namespace(f, f->ns.proc, found, remedy);
}

static judged judge_getfd(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	snprintf(found, FOUND, "%s%s", f->getfd ? "refused: " : "works", f->getfd ? strerror(f->getfd) : "");
	if (f->getfd)
		*remedy = container_of(f)->to_get_fds;
	return f->getfd ? MOR_FOUND_LIMITED : MOR_FOUND_OK;
}

static judged judge_net(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	return judge_namespace(f, f->ns.net, found, remedy);
}

static judged judge_ipc(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	return judge_namespace(f, f->ns.ipc ? f->ns.ipc : f->ns.uts, found, remedy);
}

static const char *group_state(const struct mor_cgroups *groups, unsigned controller)
{
	for (size_t i = 0; i < groups->count; i++)
		if (groups->places[i].controllers & controller)
			return groups->places[i].version == 2 ? "version 2" : "version 1";
	return groups->mounted & controller ? "not writable for this user" : "not there";
}

/* Nothing stops working without them. */
static judged judge_cgroup(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	unsigned all = MOR_CGROUP_PIDS | MOR_CGROUP_MEMORY | MOR_CGROUP_CPU;

	snprintf(found, FOUND, "threads (pids): %s; memory: %s; cpu: %s",
		 group_state(&f->groups, MOR_CGROUP_PIDS), group_state(&f->groups, MOR_CGROUP_MEMORY),
		 group_state(&f->groups, MOR_CGROUP_CPU));
	if (mor_cgroup_held(&f->groups) == all)
		*remedy = NULL;
	return MOR_FOUND_OK;
}

static judged judge_pipes(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	(void)remedy;
	snprintf(found, FOUND, "one pipe at most %lld KiB; %lld pages per user",
		 (long long)(f->pipe_max / 1024), (long long)f->pipe_pages_soft);
	/* 0: no limit. Below 1 MiB, large messages go in more and smaller steps. */
	if (f->pipe_max < 1 << 20)
		return MOR_FOUND_LIMITED;
	return f->pipe_pages_soft == 0 || f->pipe_pages_soft >= 16384 ? MOR_FOUND_OK : MOR_FOUND_LIMITED;
}

static judged judge_files(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	(void)remedy;
	snprintf(found, FOUND, "soft %llu, hard %llu: about %llu plugins at once",
		 (unsigned long long)f->files_soft, (unsigned long long)f->files_hard,
		 (unsigned long long)f->files_soft / FDS_PER_PLUGIN);
	return f->files_soft >= 1024 ? MOR_FOUND_OK : MOR_FOUND_LIMITED;
}

static judged judge_program(const char *version, char found[FOUND])
{
	snprintf(found, FOUND, "%s", *version ? version : "not found");
	return *version ? MOR_FOUND_OK : MOR_FOUND_MISSING;
}

static judged judge_python(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	(void)remedy;
	return judge_program(f->python, found);
}

static judged judge_node(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	(void)remedy;
	return judge_program(f->node, found);
}

static judged judge_helper(const struct mor_doctor_facts *f, char found[FOUND], const char **remedy)
{
	(void)remedy;
	if (f->helper_error.code)
		snprintf(found, FOUND, "%.159s", f->helper_error.text);
	else
		snprintf(found, FOUND, "%.140s, version %s", f->helper, mortise_version());
	return f->helper_error.code ? MOR_FOUND_MISSING : MOR_FOUND_OK;
}

const struct mor_doctor_check mor_doctor_checks[] = {
	{ "kernel", "kernel", "everything: this is developed for Linux 6.1 and newer",
	  "older kernels were never tested", "a kernel of 6.1 or newer", judge_kernel },
	{ "helper", "mortise-jail", "every plugin: it starts them, guards them and kills all their processes",
	  "no plugin can be started", "install it beside the library, or build the tree as a whole",
	  judge_helper },
	{ "landlock", "Landlock",
	  "t0, t1: the kernel itself refuses files outside the permissions, even if the broker is wrong",
	  "no confinement: t0 and t1 are refused",
	  "Linux 5.19 or newer with CONFIG_SECURITY_LANDLOCK; 6.12 for all of it", judge_landlock },
	{ "seccomp", "seccomp notify",
	  "t0, t1: violations are reported (exit 9), not only refused; no network, no programs",
	  "no confinement: t0 and t1 are refused",
	  "Linux 5.14 or newer with CONFIG_SECCOMP_FILTER; 6.6 for faster opens", judge_seccomp },
	{ "userns", "user namespace", "t1, pidns: a user without privileges needs it for all other namespaces",
	  "t0 at most: names, sizes and dates of files outside can be seen, and see PID namespace", NULL,
	  judge_user },
	{ "pidns", "PID namespace",
	  "t1, pidns: no process is left even if host and guardian are killed at the same time",
	  "the guardian alone finds and kills what is left; if it too is killed by SIGKILL, descendants may "
	  "live on",
	  NULL, judge_pid },
	{ "mountns", "mount namespace",
	  "t1: a plugin does not even see what it may not use; protected paths are read-only mounts",
	  "t0 at most: only the broker guards protected paths", NULL, judge_mount },
	{ "proc", "/proc of its own", "t1: a plugin sees its own processes only",
	  "t0 at most: a plugin sees which processes there are", NULL, judge_proc },
	{ "netns", "network namespace", "t1: no network even if the filter were wrong",
	  "t0 at most: only the filter and, for TCP, Landlock refuse the network", NULL, judge_net },
	{ "ipcns", "IPC, UTS namespace", "t1: no shared memory or queues of others, no host name",
	  "t0 at most: the filter alone refuses System V IPC and POSIX queues", NULL, judge_ipc },
	{ "getfd", "pidfd_getfd",
	  "t0, t1: network = [...], plugins over gRPC, bind, /dev/stdin and /dev/fd of pipes",
	  "network = [...] and plugins over gRPC are refused at the start; bind, /dev/stdin and /dev/fd of "
	  "pipes fail",
	  NULL, judge_getfd },
	{ "cgroup", "control groups",
	  "memory, cpu: the limit holds for all processes together, with shared mappings, memfds and pipes",
	  "memory and cpu are limited for each process alone, without what is shared; the broker counts "
	  "threads",
	  "systemd-run --user --scope -p MemoryMax=1G mortise ...", judge_cgroup },
	{ "pipes", "pipes", "large messages in few steps", "large messages take more system calls",
	  "sysctl fs.pipe-max-size=1048576 fs.pipe-user-pages-soft=16384", judge_pipes },
	{ "files", "open files", "many plugins at once: each needs five descriptors of the host",
	  "fewer plugins at once", "ulimit -n 4096", judge_files },
	{ "python", "Python", "plugins that are .py files", ".py files cannot be run", "apt install python3",
	  judge_python },
	{ "node", "Node", "plugins that are .js files", ".js files cannot be run", "apt install nodejs",
	  judge_node },
	{ 0 },
};
