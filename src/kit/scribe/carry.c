/* SPDX-License-Identifier: Apache-2.0 */
#include "scribe/carry.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/list.h"

static void see_input(struct mor_relay_lane *lane, struct mor_slice bytes)
{
	mor_scribe_bytes(&mor_container_of(lane, struct mor_scribe_relay, lane[0])->scribe, true, bytes);
}

static void see_output(struct mor_relay_lane *lane, struct mor_slice bytes)
{
	mor_scribe_bytes(&mor_container_of(lane, struct mor_scribe_relay, lane[1])->scribe, false, bytes);
}

static void see_stderr(struct mor_relay_lane *lane, struct mor_slice bytes)
{
	mor_scribe_stderr(&mor_container_of(lane, struct mor_scribe_relay, lane[2])->scribe, bytes);
}

static void see_signal(struct mor_relay_guest *guest, int number)
{
	mor_scribe_signal(&mor_container_of(guest, struct mor_scribe_relay, guest)->scribe, number);
}

static int wait_ms(struct mor_relay_guest *guest)
{
	return mor_container_of(guest, struct mor_scribe_relay, guest)->wait_ms;
}

void mor_scribe_relay_init(struct mor_scribe_relay *run)
{
	*run = (struct mor_scribe_relay){ .plugin = { .in = -1, .out = -1, .err = -1 }, .guest = { .fd = -1 } };
}

int mor_scribe_relay_carry(struct mor_scribe_relay *run)
{
	struct mor_relay relay = { .plugin = &run->plugin,
				   .lane = { &run->lane[0], &run->lane[1], &run->lane[2] },
				   .guest = &run->guest };
	int status;

	mor_relay_lane_init(&run->lane[0], STDIN_FILENO, run->plugin.in);
	mor_relay_lane_init(&run->lane[1], run->plugin.out, STDOUT_FILENO);
	/* a copy: when the plugin closes its stderr, we still need ours */
	mor_relay_lane_init(&run->lane[2], run->plugin.err, fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
	run->lane[0].on_seen = see_input;
	run->lane[1].on_seen = see_output;
	run->lane[2].on_seen = see_stderr;
	run->guest.wait_ms = wait_ms;
	run->guest.on_signal = see_signal;
	status = mor_relay_carry(&relay);
	if (status >= 0)
		mor_scribe_exit(&run->scribe, status);
	return status;
}

void mor_scribe_relay_fini(struct mor_scribe_relay *run)
{
	mor_scribe_close(&run->scribe);
	for (int i = 0; i < 3; i++)
		mor_relay_lane_fini(&run->lane[i]);
}
