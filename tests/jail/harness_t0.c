/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harness_t0 MORTISE-JAIL [options] -- PROGRAM [ARG...]: one confined program, without the library. Prints
 * the records to stderr; exits as the program, 9 after a violation, 125 when the jail could not be set up,
 * 128+n after a signal.
 *
 *   --write --network --spawn --pidns --level t0|t1|auto --landlock-abi N --workspace DIR --read PATH
 *   --plugin-dir DIR --scratch DIR
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "policy/plan.h"
#include "policy/policy.h"

static const char *const environment[] = { "PATH=/usr/bin:/bin", "TERM=dumb",
					   "LANG=C.UTF-8",       "USER=plugin",
					   "LOGNAME=plugin",     "PYTHONDONTWRITEBYTECODE=1",
					   "PYTHONNOUSERSITE=1", "PYTHONUNBUFFERED=1",
					   "NO_COLOR=1",         NULL };

static int options(struct mor_policy *policy, char **argv)
{
	static char *reads[32];
	size_t count = 0;
	int i = 2;

	policy->read_paths = reads;
	for (; argv[i] && strcmp(argv[i], "--") != 0; i++) {
		const char *o = argv[i];

		if (strcmp(o, "--write") == 0)
			policy->workspace_write = true;
		else if (strcmp(o, "--network") == 0)
			policy->network = true;
		else if (strcmp(o, "--spawn") == 0)
			policy->spawn = true;
		else if (strcmp(o, "--pidns") == 0)
			policy->pidns = true;
		else if (!argv[i + 1])
			return -1;
		else if (strcmp(o, "--level") == 0) {
			i++;
			policy->level = strcmp(argv[i], "t1") == 0   ? MOR_LEVEL_T1 :
					strcmp(argv[i], "auto") == 0 ? MOR_LEVEL_AUTO :
								       MOR_LEVEL_T0;
		} else if (strcmp(o, "--limit") == 0)
			i++, policy->limits.file_bytes = 16 << 20;
		else if (strcmp(o, "--landlock-abi") == 0)
			policy->landlock_abi_cap = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (strcmp(o, "--workspace") == 0)
			policy->workspace = argv[++i];
		else if (strcmp(o, "--plugin-dir") == 0)
			policy->plugin_dir = argv[++i];
		else if (strcmp(o, "--scratch") == 0)
			policy->scratch = argv[++i];
		else if (strcmp(o, "--read") == 0 && count < 31)
			reads[count++] = argv[++i];
		else
			return -1;
	}
	return argv[i] && argv[i + 1] ? i + 1 : -1;
}

static pid_t start(const char *jail, int plan, int guard)
{
	pid_t pid = fork();

	if (pid == 0) {
		/* Out of the way first: both numbers may be taken by the other. */
		plan = fcntl(plan, F_DUPFD, 10);
		guard = fcntl(guard, F_DUPFD, 10);
		dup2(plan, MOR_PLAN_FD);
		dup2(guard, MOR_GUARD_FD);
		close(plan);
		close(guard);
		execl(jail, jail, (char *)NULL);
		_exit(126);
	}
	return pid;
}

/* Until the guardian closes its end. */
static int follow(int socket)
{
	struct mor_record r;
	int code = 125;
	ssize_t got;

	while (memset(&r, 0, sizeof(r)), (got = recv(socket, &r, sizeof(r), 0)) > 0) {
		if (r.kind == MOR_RECORD_STARTED)
			fprintf(stderr, "started level=%u rung=%u\n", r.level, r.rung);
		else if (r.kind != MOR_RECORD_EXITED)
			fprintf(stderr, "failed step=%d: %s (%s)\n", r.step, r.text, strerror(r.error));
		else
			code = r.violated ? 9 : r.by_signal ? 128 + r.status : r.status;
		if (r.violated)
			fprintf(stderr, "violation syscall=%s path=%s rule=%s | %s\n", r.syscall, r.path,
				r.rule, r.text);
	}
	return code;
}

int main(int argc, char **argv)
{
	struct mor_policy policy = { .level = MOR_LEVEL_T0 };
	struct mor_buf buf = MOR_BUF_INIT;
	int first = argc > 3 ? options(&policy, argv) : -1, ends[2], plan, code;
	pid_t pid;

	if (argc == 3 && strcmp(argv[2], "--version") == 0)
		return 0;
	if (first < 0) {
		fprintf(stderr, "usage: see the source\n");
		return 2;
	}
	struct mor_plan_command command = {
		.argv = (const char *const *)argv + first,
		.env = environment,
		.cwd = policy.workspace,
		.host = getpid(),
	};
	if (mor_plan_make(&buf, &command, &policy) < 0 || (plan = mor_plan_memfd(&buf)) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return 125;
	pid = start(argv[1], plan, ends[1]);
	close(ends[1]);
	code = pid < 0 ? 125 : follow(ends[0]);
	waitpid(pid, NULL, 0);
	mor_buf_fini(&buf);
	return code;
}
