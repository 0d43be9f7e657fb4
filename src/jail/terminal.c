/* SPDX-License-Identifier: Apache-2.0 */
/* See terminal.h. The kernel's own structure: that of the C library has no speeds in numbers. */
#include "jail/terminal.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not ioctl(): <sys/ioctl.h> defines the C library's structures, and these exclude the kernel's. */
static bool settings_call(int fd, unsigned long request, struct termios2 *settings)
{
	return syscall(SYS_ioctl, fd, request, settings) == 0;
}

static struct {
	int fd;
	bool known;
	struct termios2 settings;
} held[3];
static int count;
static atomic_bool changed;

void mor_terminal_hold(void)
{
	struct termios2 settings;

	for (int fd = 0; fd < 3; fd++)
		if (settings_call(fd, TCGETS2, &settings) &&
		    (held[count].fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) >= 0)
			count++;
}

/* Only the first time: later ones are the plugin's own. */
void mor_terminal_remember(void)
{
	if (atomic_load(&changed))
		return;
	for (int i = 0; i < count; i++)
		held[i].known = settings_call(held[i].fd, TCGETS2, &held[i].settings);
	atomic_store(&changed, true);
}

/* At once, not after what is still to be printed: output that somebody has stopped would hold us up. All our
 * signals are blocked, so a background group may do it. */
void mor_terminal_restore(void)
{
	for (int i = 0; atomic_load(&changed) && i < count; i++)
		if (held[i].known)
			(void)settings_call(held[i].fd, TCSETS2, &held[i].settings);
}
