/* SPDX-License-Identifier: Apache-2.0 */
/* One direction: cuts what was read into messages, and gives each one to fault.c. */
#include "chaos/chaos.h"

#define FRAME_LIMIT ((size_t)256 << 20) /* longer messages pass unchanged */

static void take_item(void *arg, enum mor_item_kind kind, struct mor_slice whole, const struct mor_item *item)
{
	struct mor_chaos_lane *lane = arg;

	if (lane->relay.muted)
		return; /* we still read, so that the writer does not wait */
	if (kind == MOR_ITEM_FRAME)
		mor_chaos_message(lane, whole, item->body);
	else
		mor_buf_slice(&lane->relay.out, whole);
}

static int take_input(struct mor_relay_lane *relay, struct mor_slice bytes)
{
	struct mor_chaos_lane *lane = mor_container_of(relay, struct mor_chaos_lane, relay);
	int r = mor_cutter_feed(&lane->cutter, bytes, relay->over, take_item, lane);

	return r < 0 ? r : relay->out.status;
}

void mor_chaos_lane_init(struct mor_chaos_lane *lane, const struct mor_chaos *chaos, char sign, int from,
			 int to)
{
	*lane = (struct mor_chaos_lane){ .chaos = chaos, .sign = sign };
	mor_relay_lane_init(&lane->relay, from, to);
	lane->relay.on_input = take_input;
	mor_cutter_init(&lane->cutter, chaos->framing, FRAME_LIMIT);
}

void mor_chaos_lane_fini(struct mor_chaos_lane *lane)
{
	mor_relay_lane_fini(&lane->relay);
	mor_cutter_fini(&lane->cutter);
	mor_chaos_kept_fini(lane);
}
