/* SPDX-License-Identifier: Apache-2.0 */
/* Processes. Each makes at most two, which end at once. An executed program prints the verdict itself. */
#include "attempt.h"

#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

extern char **environ;

static struct result child(const char *how, long pid)
{
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, __WALL);
	return got(how, pid);
}

static struct result p_fork(const struct stage *s)
{
	(void)s;
	return child("fork", fork());
}

static struct result p_fork_raw(const struct stage *s)
{
	(void)s;
#ifdef SYS_fork
	return child("raw fork", syscall(SYS_fork));
#else
	return child("raw clone", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
#endif
}

static struct result p_vfork(const struct stage *s)
{
	pid_t pid = vfork();

	(void)s;
	if (pid == 0)
		_exit(0);
	return child("vfork", pid);
}

static struct result p_clone(const struct stage *s)
{
	(void)s;
	return child("clone", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static struct result p_clone_nosig(const struct stage *s)
{
	(void)s; /* CLONE_PARENT: the child is our parent's, who did not ask for one */
	return child("clone CLONE_PARENT", syscall(SYS_clone, CLONE_PARENT, 0, 0, 0, 0));
}

static struct result p_clone_newuser(const struct stage *s)
{
	(void)s;
	return child("clone CLONE_NEWUSER", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
}

/* High bits of the flags are ignored by the kernel, so a filter must not let them hide the low ones. */
static struct result p_clone_high(const struct stage *s)
{
	(void)s;
	return child("clone with high bits", syscall(SYS_clone, 0x5500000000UL | SIGCHLD, 0, 0, 0, 0));
}

static struct result clone3_with(uint64_t flags)
{
	struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };

	return child("clone3", syscall(SYS_clone3, &args, sizeof(args)));
}

static struct result p_clone3(const struct stage *s)
{
	(void)s;
	return clone3_with(0);
}
static struct result p_clone3_ns(const struct stage *s)
{
	(void)s;
	return clone3_with(CLONE_NEWUSER);
}

static void *fork_in_thread(void *out)
{
	*(struct result *)out = child("fork in a thread", fork());
	return NULL;
}

static struct result p_thread_fork(const struct stage *s)
{
	struct result r = no("pthread_create");
	pthread_t thread;

	(void)s;
	if (!pthread_create(&thread, NULL, fork_in_thread, &r))
		pthread_join(thread, NULL);
	return r;
}

/* echo of what report() would print, as the argument of a shell */
static const char *verdict(const struct stage *s)
{
	static char command[512];

	snprintf(command, sizeof(command),
		 "echo '{\"name\":\"%s\",\"escaped\":true,\"errno\":0,\"how\":\"executed\"}'", s->name);
	return command;
}

static struct result p_execve(const struct stage *s)
{
	execl("/bin/sh", "sh", "-c", verdict(s), (char *)NULL);
	return no("execve");
}

static struct result p_execveat(const struct stage *s)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)verdict(s), NULL };

	syscall(SYS_execveat, AT_FDCWD, "/bin/sh", argv, environ, 0);
	return no("execveat");
}

static struct result p_exec_self(const struct stage *s)
{
	char host[32];

	snprintf(host, sizeof(host), "host=%d", s->host);
	execl("/proc/self/exe", "attempt", "p_executed", host, (char *)NULL);
	return no("exec of /proc/self/exe");
}

static struct result p_executed(const struct stage *s)
{
	(void)s;
	return yes("executed again");
}

static struct result p_exec_ldso(const struct stage *s)
{
	const char *ld = "/lib64/ld-linux-x86-64.so.2";

	if (access(ld, F_OK) < 0)
		ld = "/lib/ld-linux-aarch64.so.1";
	execl(ld, ld, "/bin/sh", "-c", verdict(s), (char *)NULL);
	return no("exec of ld.so");
}

static struct result p_memfd_exec(const struct stage *s)
{
	char script[600];
	int fd = memfd_create("x", 0);
	int n = snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", verdict(s));
	char *const argv[] = { (char *)"x", NULL };

	if (fd < 0 || write(fd, script, (size_t)n) != n)
		return no("memfd");
	syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
	return no("execveat of a memfd");
}

static struct result p_spawn(const struct stage *s)
{
	char *const argv[] = { (char *)"true", NULL };
	pid_t pid;
	int e = posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ);

	(void)s;
	errno = e;
	if (e)
		return no("posix_spawn");
	(void)waitpid(pid, NULL, 0);
	return yes("posix_spawn");
}

static struct result p_system(const struct stage *s)
{
	(void)s;
	return got("system", system("exit 0") == 0 ? 0 : -1);
}

static struct result p_popen(const struct stage *s)
{
	FILE *f = popen("echo hello", "r");
	char line[16];
	bool ok = f && fgets(line, sizeof(line), f);

	(void)s;
	if (f)
		pclose(f);
	return ok ? yes("popen") : no("popen");
}

static struct result p_setuid_exec(const struct stage *s)
{
	(void)s;
	execl("/bin/su", "su", "--version", (char *)NULL);
	return no("exec of su");
}

static struct result w_exec_ws(const struct stage *s)
{
	int fd = open("x.sh", O_CREAT | O_WRONLY | O_EXCL, 0755);

	if (fd < 0 || dprintf(fd, "#!/bin/sh\n%s\n", verdict(s)) < 0 || close(fd) < 0)
		return no("write a script");
	execl("./x.sh", "x.sh", (char *)NULL);
	return no("exec of a written script");
}

static struct result int80_fork(const struct stage *s)
{
	long pid = int80(2, 0, 0, 0);

	(void)s;
	if (pid < 0) {
		errno = (int)-pid;
		pid = -1;
	}
	return child("int 0x80 fork", pid);
}

/* What a child may do is what its parent may do. */
static struct result s_child_read(const struct stage *s)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(read_secret("", open(in(s, "outside/secret.txt"), O_RDONLY)).escaped ? 42 : 0);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return no("fork");
	errno = 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 42 ? yes("a child read it") : no("a child read it");
}

static struct result s_exec_cat(const struct stage *s)
{
	/* the runner takes any end with 0 for success */
	execl("/bin/cat", "cat", in(s, "outside/secret.txt"), (char *)NULL);
	return no("exec of cat");
}

static struct result s_exec_outside(const struct stage *s)
{
	execl(in(s, "outside/tool.sh"), "tool.sh", (char *)NULL);
	return no("exec of a file outside");
}

/* A child in a session of its own that outlives us: it holds standard output, the runner waits for its end. */
static struct result s_daemon(const struct stage *s)
{
	pid_t pid = fork();

	(void)s;
	if (pid == 0) {
		if (fork() == 0) {
			setsid();
			alarm(0);
			sleep(LIFE_S);
		}
		_exit(0);
	}
	errno = 0;
	return no("daemon"); /* the runner sees whether it lives on */
}

/* More children at once than a jail may hold (64); each waits for the end of a pipe, so none outlives us. */
#define CROWD 90

static struct result s_crowd(const struct stage *s)
{
	int ends[2], count = 0;

	(void)s;
	if (pipe(ends) < 0)
		return no("pipe");
	for (; count < CROWD; count++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			char byte;

			close(ends[1]);
			_exit((int)read(ends[0], &byte, 1));
		}
	}
	close(ends[1]);
	while (wait(NULL) > 0)
		continue;
	return count == CROWD ? yes("90 children at once") : no("fork");
}

/* Granted with spawn: a parent ends its own child. */
static struct result s_signal_child(const struct stage *s)
{
	pid_t pid = fork();
	int status = 0;

	(void)s;
	if (pid == 0) {
		alarm(LIFE_S);
		pause();
		_exit(0);
	}
	if (pid < 0 || kill(pid, SIGTERM) < 0 || waitpid(pid, &status, 0) < 0)
		return no("kill of a child");
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? yes("kill of a child") :
								    no("kill of a child");
}

#define P "spawn"
const struct attempt spawn_attempts[] = {
	{ "p_fork", P, 43, 'D', 0, 'A', 0, p_fork },
	{ "p_fork_raw", P, 43, 'D', 0, 'A', 0, p_fork_raw },
	{ "p_thread_fork", P, 43, 'D', 0, 'A', 0, p_thread_fork },
	{ "p_vfork", P, 44, 'D', 0, 'A', 0, p_vfork },
	{ "p_clone", P, 45, 'D', 0, 'A', 0, p_clone },
	{ "p_clone_high", P, 45, 'D', 0, '?', 0, p_clone_high },
	{ "p_clone_nosig", P, 46, 'D', 0, '?', 0, p_clone_nosig },
	{ "p_clone_newuser", P, 45, 'D', 0, 0, 0, p_clone_newuser },
	{ "p_clone3", P, 47, 'B', 0, 0, 0, p_clone3 },
	{ "p_clone3_ns", P, 47, 'B', 0, 0, 0, p_clone3_ns },
	{ "p_execve", P, 48, 'D', 0, 'A', 0, p_execve },
	{ "p_execveat", P, 48, 'D', 0, '?', 0, p_execveat },
	{ "p_exec_self", P, 49, 'D', 0, 'A', 0, p_exec_self },
	{ "p_executed", "tool", 0, 'A', 0, 0, 0, p_executed },
	{ "p_exec_ldso", P, 50, 'D', 0, 'E', 0, p_exec_ldso },
	{ "p_memfd_exec", P, 51, 'D', 0, 'E', 0, p_memfd_exec },
	{ "p_spawn", P, 52, 'D', 0, 'A', 0, p_spawn },
	{ "p_system", P, 52, 'D', 0, 'A', 0, p_system },
	{ "p_popen", P, 52, 'D', 0, 'A', 0, p_popen },
	{ "p_setuid_exec", P, 53, 'D', 0, 'A', 0, p_setuid_exec },
	{ "w_exec_ws", P, 54, 'D', 0, 'A', NEEDS_WRITE, w_exec_ws },
	{ "int80_fork", P, 55, 'D', 0, 0, 0, int80_fork },
	{ "s_child_read", P, 0, 'D', 0, 0, 0, s_child_read },
	{ "s_exec_cat", P, 0, 'D', 0, 0, 0, s_exec_cat },
	{ "s_exec_outside", P, 0, 'D', 0, 'E', 0, s_exec_outside },
	{ "s_crowd", P, 0, 'D', 0, 'E', 0, s_crowd },
	{ "s_signal_child", P, 0, 'D', 0, 'A', 0, s_signal_child },
	{ "s_daemon", P, 0, 'D', 0, 'B', 0, s_daemon },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
