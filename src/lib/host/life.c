/* SPDX-License-Identifier: Apache-2.0 */
/* One life of a plugin's process. */
#include "host/life.h"
#include "base/alloc.h"
#include "host/plugin.h"

void mor_life_fini(struct mor_life *life)
{
	life->hello = mor_doc_free(life->hello);
	life->init = mor_doc_free(life->init);
	mor_buf_fini(&life->held);
	mor_denials_fini(&life->denials);
	mor_free(life->heard);
	mor_kept_fini(&life->truncated);
}

void mor_life_begin(mortise_plugin *plugin)
{
	mor_life_fini(&plugin->life);
	plugin->now.lives++;
	plugin->life = (struct mor_life){ .unproven = true,
					  .restart_ms = -1,
					  .answered = plugin->now.counters.answered };
	plugin->peer.hello = plugin->peer.init = NULL;
}

enum mortise_state mor_drain_leads_to(enum mor_drain drain)
{
	return drain == MOR_DRAIN_RESTART  ? MORTISE_BACKOFF :
	       drain == MOR_DRAIN_GIVEN_UP ? MORTISE_FAILED :
					     MORTISE_STOPPED;
}

bool mor_drain_lets_wait(enum mor_drain drain)
{
	return drain == MOR_DRAIN_RESTART || drain == MOR_DRAIN_SPENT;
}
