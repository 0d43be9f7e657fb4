/* SPDX-License-Identifier: Apache-2.0 */
/* The process that host attempts aim at: it has a secret in memory, in its arguments and behind a descriptor,
 * and writes a line for each signal that reaches it, with its sender (0: the kernel, or somebody outside of the
 * runner's PID namespace). Ends when its standard input does. */
#include "attempt.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

static char memory[256];

static int tell_signals(int signals)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return -1;
	return printf("signal %u code %d from %u\n", info.ssi_signo, info.ssi_code, info.ssi_pid) < 0 ||
			       fflush(stdout) ?
		       -1 :
		       0;
}

int victim(const char *secret_path, const char *secret)
{
	struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN } };
	int fd = open(secret_path, O_RDONLY | O_CLOEXEC);
	sigset_t all;

	snprintf(memory, sizeof(memory), "%s", secret);
	sigfillset(&all);
	if (fd < 0 || sigprocmask(SIG_BLOCK, &all, NULL) < 0)
		return 1;
	fds[1] = (struct pollfd){ .fd = signalfd(-1, &all, SFD_CLOEXEC), .events = POLLIN };
	if (fds[1].fd < 0)
		return 1;
	printf("%lu %d\n", (unsigned long)memory, fd);
	fflush(stdout);
	while (poll(fds, 2, -1) > 0) {
		if (fds[0].revents)
			break;
		if (tell_signals(fds[1].fd) < 0)
			return 1;
	}
	return 0;
}
