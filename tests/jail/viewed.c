/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked into mortise-jail-viewed in front of the real thing (-Wl,--wrap): at level t1 a view is set before
 * the plugin's first instruction, of the stage in `view-stage` beside the program. So the whole catalogue
 * runs with a view.
 */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "jail/confine.h"
#include "jail/guard.h"
#include "jail/view.h"
#include "policy/policy.h"

enum mor_plan_fault __real_mor_plan_read(void *bytes, size_t size, struct mor_plan *ret);
enum mor_plan_fault __wrap_mor_plan_read(void *bytes, size_t size, struct mor_plan *ret);
int __real_mor_launch_receive(struct mor_launched *launched, int *ret_fd);
int __wrap_mor_launch_receive(struct mor_launched *launched, int *ret_fd);

enum mor_plan_fault __wrap_mor_plan_read(void *bytes, size_t size, struct mor_plan *ret)
{
	enum mor_plan_fault fault = __real_mor_plan_read(bytes, size, ret);

	if (!fault && ret->level.level == MOR_LEVEL_T1)
		ret->level.flags |= MOR_JAIL_VIEW;
	return fault;
}

static size_t write_order(struct mor_guard_order *order, size_t room)
{
	char program[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[len < 0 ? 0 : len] = 0;
	if (strrchr(program, '/'))
		*strrchr(program, '/') = 0;
	*order = (struct mor_guard_order){ .kind = MOR_GUARD_SWITCH_VIEW, .version = MOR_PLAN_VERSION };
	return sizeof(*order) + (size_t)snprintf(order->texts, room, "%s/tests/jail/view-stage", program) + 1;
}

/* The listener has come; the program that will ask waits in its execve. */
int __wrap_mor_launch_receive(struct mor_launched *launched, int *ret_fd)
{
	static union {
		struct mor_guard_order head;
		char bytes[MOR_PLAN_ORDER_MAX];
	} order;
	static struct mor_view_answer answer;
	struct pollfd ready = { .fd = mor_view_fd(), .events = POLLIN };
	int r = __real_mor_launch_receive(launched, ret_fd);
	size_t size;

	if (r <= 0 || ready.fd < 0)
		return r;
	size = write_order(&order.head, sizeof(order) - sizeof(order.head));
	if (mor_view_order(&order.head, size) < 0 || poll(&ready, 1, -1) != 1 ||
	    mor_view_receive(&answer) != 1 || answer.failure.step || mor_confine_view(&answer.grants) < 0)
		_exit(77);
	return r;
}
