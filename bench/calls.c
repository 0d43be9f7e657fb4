/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls [--step NAME,NAME] PROGRAM ARG...: how many system calls each program of a run makes, with all
 * processes and threads that PROGRAM starts (ptrace). A process counts for the program that it executed last.
 * Unlike times they repeat, whatever else the machine does; calls that wait or look again are left out, since
 * how often they come depends on the scheduler. Prints one line of JSON:
 * {"status":0,"rules":58,"calls":{"mortise-jail":412}}. rules: how often landlock_add_rule was called, since
 * machines differ in the files that there are to make rules for.
 *
 * --step: the user instructions of these programs, one by one, in place of their system calls; those of others
 * are not counted. From the first instruction after execve on, the loader's too.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

enum { TASKS = 4096, PROGRAMS = 64, NAME = 32 };

/* A new process may stop before its parent tells of it. It is held until then: whether it is stepped depends on
 * its program. */
static struct task {
	pid_t pid; /* 0: free */
	int program;
	bool known, held;
} tasks[TASKS];
static struct program {
	char name[NAME];
	uint64_t calls; /* with --step: instructions */
	bool stepped;
} programs[PROGRAMS];
static int program_count;
static const char *step_names; /* NULL: system calls are counted */
static uint64_t rules;

static void die(const char *what)
{
	fprintf(stderr, "calls: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct task *task_of(pid_t pid)
{
	struct task *place = NULL;

	for (struct task *task = tasks; task < tasks + TASKS; task++) {
		if (task->pid == pid)
			return task;
		if (!task->pid && !place)
			place = task;
	}
	if (!place)
		die("too many processes");
	*place = (struct task){ .pid = pid };
	return place;
}

static bool is_stepped(const char *name)
{
	size_t len = strlen(name);

	for (const char *at = step_names; at && *at; at += *at == ',') {
		size_t word = strcspn(at, ",");

		if (word == len && memcmp(at, name, len) == 0)
			return true;
		at += word;
	}
	return false;
}

/* As the kernel names what was executed; a process may rename itself later. */
static int program_of(pid_t pid)
{
	char path[64], name[NAME] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "re");
	if (!file || !fgets(name, sizeof(name), file))
		die(path);
	fclose(file);
	name[strcspn(name, "\n")] = '\0';
	for (int i = 0; i < program_count; i++)
		if (strcmp(programs[i].name, name) == 0)
			return i;
	if (program_count == PROGRAMS)
		die("too many programs");
	memcpy(programs[program_count].name, name, sizeof(name));
	programs[program_count].stepped = is_stepped(name);
	return program_count++;
}

static bool waits(uint64_t number)
{
	static const int calls[] = { SYS_poll, SYS_ppoll, SYS_futex, SYS_waitid,          SYS_wait4,
				     SYS_kill, SYS_read,  SYS_lseek, SYS_rt_sigtimedwait, SYS_restart_syscall };

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (number == (uint64_t)calls[i])
			return true;
	return false;
}

static void count_call(const struct task *task)
{
	struct ptrace_syscall_info info;

	if (ptrace((enum __ptrace_request)PTRACE_GET_SYSCALL_INFO, task->pid, sizeof(info), &info) > 0 &&
	    info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		programs[task->program].calls += !waits(info.entry.nr);
		rules += info.entry.nr == SYS_landlock_add_rule;
	}
}

static enum __ptrace_request way_on(const struct task *task)
{
	if (!step_names)
		return PTRACE_SYSCALL;
	return programs[task->program].stepped ? PTRACE_SINGLESTEP : PTRACE_CONT;
}

static void take_in(struct task *child, int program)
{
	child->program = program;
	child->known = true;
	if (child->held)
		(void)ptrace(way_on(child), child->pid, NULL, 0);
	child->held = false;
}

/* The signal to be passed on. */
static int on_stop(struct task *task, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;
	unsigned long message = 0;

	if (sig == (SIGTRAP | 0x80)) {
		count_call(task);
	} else if (event == PTRACE_EVENT_EXEC) {
		task->program = program_of(task->pid);
	} else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
		ptrace(PTRACE_GETEVENTMSG, task->pid, NULL, &message);
		take_in(task_of((pid_t)message), task->program);
	} else if (sig == SIGTRAP && event == 0 && programs[task->program].stepped) {
		programs[task->program].calls++;
	} else if (event != PTRACE_EVENT_STOP) {
		return sig;
	}
	return 0;
}

static int follow(pid_t first)
{
	int status, result = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		struct task *task = task_of(pid);

		if (WIFSTOPPED(status) && !task->known) {
			task->held = true;
			continue;
		}
		if (WIFSTOPPED(status)) {
			int pass = on_stop(task, status);

			/* it may have been killed meanwhile */
			(void)ptrace(way_on(task), pid, NULL, pass);
			continue;
		}
		task->pid = 0;
		if (pid == first)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return result;
}

static pid_t start(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		raise(SIGSTOP);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, NULL, WUNTRACED) != pid)
		die("fork");
	if (ptrace(PTRACE_SEIZE, pid, NULL,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			   PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) < 0)
		die("ptrace");
	kill(pid, SIGCONT);
	return pid;
}

int main(int argc, char **argv)
{
	pid_t pid;
	int status;

	if (argc > 3 && strcmp(argv[1], "--step") == 0) {
		step_names = argv[2];
		argv += 2;
		argc -= 2;
	}
	if (argc < 2)
		die("usage: calls [--step NAME,NAME] PROGRAM ARG...");
	program_count = 1; /* ourselves, until the first execve */
	snprintf(programs[0].name, NAME, "calls");
	pid = start(argv + 1);
	task_of(pid)->known = true;
	status = follow(pid);
	printf("{\"status\":%d,\"rules\":%llu,\"calls\":{", status, (unsigned long long)rules);
	for (int i = 1; i < program_count; i++)
		printf("%s\"%s\":%llu", i > 1 ? "," : "", programs[i].name,
		       (unsigned long long)programs[i].calls);
	printf("}}\n");
	return 0;
}
