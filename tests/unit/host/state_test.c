/* SPDX-License-Identifier: Apache-2.0 */
/* The table of legal moves: all 49 pairs, against a second telling of the design. */
#include <stdlib.h>
#include <string.h>

#include "host/state.h"
#include "leak.h"

/* Rows: from; columns: to; in the order of enum mortise_state. */
static const char *const legal[MORTISE_STATES] = {
	[MORTISE_STOPPED] = ".x.....", [MORTISE_STARTING] = "x.x.xxx", [MORTISE_GREETING] = "x..xxxx",
	[MORTISE_READY] = "x...xxx",   [MORTISE_DRAINING] = "x....xx", [MORTISE_BACKOFF] = "xx....x",
	[MORTISE_FAILED] = "xx.....",
};

static void all_pairs(void **state)
{
	(void)state;
	for (int from = 0; from < MORTISE_STATES; from++) {
		for (int to = 0; to < MORTISE_STATES; to++) {
			if (mor_state_may(from, to) != (legal[from][to] == 'x'))
				fail_msg("%s -> %s", mortise_state_name(from), mortise_state_name(to));
		}
	}
}

/* Every state can be left, and every state but one leads back to STOPPED in at most two moves. */
static void no_dead_ends(void **state)
{
	(void)state;
	for (int from = 0; from < MORTISE_STATES; from++) {
		bool home = from == MORTISE_STOPPED || mor_state_may(from, MORTISE_STOPPED);

		for (int via = 0; via < MORTISE_STATES && !home; via++)
			home = mor_state_may(from, via) && mor_state_may(via, MORTISE_STOPPED);
		assert_true(home);
	}
}

static void names(void **state)
{
	(void)state;
	for (int i = 0; i < MORTISE_STATES; i++)
		assert_string_not_equal(mortise_state_name(i), "unknown");
	assert_string_equal(mortise_state_name(-1), "unknown");
	assert_string_equal(mortise_state_name(MORTISE_STATES), "unknown");
	for (int i = 0; i < MORTISE_EVENT_TYPES; i++)
		assert_string_not_equal(mortise_event_name(i), "unknown");
	assert_string_equal(mortise_event_name(MORTISE_EVENT_TYPES), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(all_pairs), MOR_TEST(no_dead_ends), MOR_TEST(names) };

	return mor_run_group("host/state", tests);
}
