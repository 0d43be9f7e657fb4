/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps CPU PROGRAM ARG...: user instructions per round trip, counted one by one (ptrace), and where they are.
 *
 * Unlike times, they repeat exactly and need no counters of the processor, which virtual machines often lack.
 * A round trip is taken to be what lies between two writes to a pipe; the first ones are let go. Only the
 * program itself is stepped, not the plugin it starts.
 *
 * Prints one line of JSON, then lines "COUNT OBJECT OFFSET" for each instruction seen. CPU: stepping is ten
 * times faster when both share a core.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define SKIP                1500 /* more than any program's warm-up */
#define TRIPS               20
#define SLOTS               (1 << 16)
#define SYSCALL_INSTRUCTION 0x050f

static struct place {
	uint64_t at, count;
} places[SLOTS]; /* open addressing; 0 is free */

static bool is_write(const struct user_regs_struct *regs, uint64_t number)
{
	return (number == SYS_write || number == SYS_writev || number == SYS_pwritev2) && regs->rdi > 2;
}

/* False: it ended. Signals of its own are passed on. */
static bool go_on(pid_t pid, enum __ptrace_request how, struct user_regs_struct *regs)
{
	int status, pass = 0;

	for (;;) {
		if (ptrace(how, pid, NULL, pass) < 0 || waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
			return false;
		if (WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == (SIGTRAP | 0x80))
			return ptrace(PTRACE_GETREGS, pid, NULL, regs) == 0;
		pass = WSTOPSIG(status);
	}
}

static bool skip_to_write(pid_t pid, int count)
{
	struct user_regs_struct regs;
	bool entry = true;

	while (count > 0) {
		if (!go_on(pid, PTRACE_SYSCALL, &regs))
			return false;
		count -= entry && is_write(&regs, regs.orig_rax);
		entry = !entry;
	}
	return go_on(pid, PTRACE_SYSCALL, &regs); /* out of it again */
}

static void note(uint64_t at)
{
	uint64_t slot = at * 0x9e3779b97f4a7c15u >> 48;

	while (places[slot].at && places[slot].at != at)
		slot = (slot + 1) % SLOTS;
	places[slot].at = at;
	places[slot].count++;
}

static long step(pid_t pid)
{
	struct user_regs_struct regs;
	long steps = 0;

	for (int trips = 0; trips < TRIPS; steps++) {
		if (!go_on(pid, PTRACE_SINGLESTEP, &regs))
			return -1;
		note(regs.rip);
		errno = 0;
		if ((ptrace(PTRACE_PEEKTEXT, pid, regs.rip, NULL) & 0xffff) == SYSCALL_INSTRUCTION &&
		    errno == 0)
			trips += is_write(&regs, regs.rax);
	}
	return steps;
}

/* Where the object that holds `at` is mapped; its name goes to `name`. */
static uint64_t base_of(pid_t pid, uint64_t at, char name[256])
{
	char path[64], line[512];
	unsigned long from, to, offset;
	uint64_t base = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		name[0] = '\0';
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %255s", &from, &to, &offset, name) >= 3 &&
		    at >= from && at < to) {
			base = from - offset;
			break;
		}
	}
	if (maps)
		fclose(maps);
	return base;
}

static void print_places(pid_t pid)
{
	char name[256];

	for (size_t i = 0; i < SLOTS; i++)
		if (places[i].at) {
			uint64_t base = base_of(pid, places[i].at, name);

			printf("%llu %s %llx\n", (unsigned long long)places[i].count, name[0] ? name : "?",
			       (unsigned long long)(places[i].at - base));
		}
}

int main(int argc, char **argv)
{
	pid_t pid;
	long steps;
	int status;

	if (argc < 3 || bench_pin((int)strtol(argv[1], NULL, 10)) < 0 || (pid = fork()) < 0)
		return 2;
	if (pid == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO); /* its own results are not asked for */
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[2], argv + 2);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	steps = skip_to_write(pid, SKIP) ? step(pid) : -1;
	if (steps > 0) {
		printf("{\"instructions\": %.1f, \"trips\": %d}\n", (double)steps / TRIPS, TRIPS);
		print_places(pid);
	}
	ptrace(PTRACE_KILL, pid, NULL, NULL);
	waitpid(pid, &status, 0);
	return steps <= 0;
}
