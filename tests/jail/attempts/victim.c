/* SPDX-License-Identifier: Apache-2.0 */
/* The process that host attempts aim at: it has a secret in memory, in its arguments and behind a descriptor,
 * and writes a line for each signal that reaches it, with its sender (0: the kernel, or somebody outside of the
 * runner's PID namespace). For a byte on its standard input it writes a line after those of the signals that
 * were sent before; it ends when that input does. */
#include "attempt.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

static char memory[256];

static void tell_signals(int signals)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == sizeof(info))
		printf("signal %u code %d from %u\n", info.ssi_signo, info.ssi_code, info.ssi_pid);
}

int victim(const char *secret_path, const char *secret)
{
	struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN } };
	int fd = open(secret_path, O_RDONLY | O_CLOEXEC);
	sigset_t all;
	char byte;

	snprintf(memory, sizeof(memory), "%s", secret);
	sigfillset(&all);
	if (fd < 0 || sigprocmask(SIG_BLOCK, &all, NULL) < 0)
		return 1;
	fds[1] = (struct pollfd){ .fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN };
	if (fds[1].fd < 0)
		return 1;
	printf("%lu %d\n", (unsigned long)memory, fd);
	fflush(stdout);
	while (poll(fds, 2, -1) > 0) {
		if (fds[0].revents && read(STDIN_FILENO, &byte, 1) != 1)
			return 0;
		tell_signals(fds[1].fd);
		if (fds[0].revents)
			puts("that is all");
		if (fflush(stdout))
			return 1;
	}
	return 1;
}
