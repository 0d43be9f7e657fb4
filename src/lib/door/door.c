/* SPDX-License-Identifier: Apache-2.0 */
#include "door/door.h"

#include "base/error.h"
#include "host/host.h"
#include "host/plugin.h"

int mor_door_plugin(struct mor_resolved *resolved, mortise_host *host, const mortise_plugin_options *opt,
		    mortise_plugin **ret_plugin, mortise_error *err)
{
	return mor_plugin_make(resolved, host, opt, ret_plugin, err);
}

struct mor_loop *mor_door_loop(mortise_host *host)
{
	return host->loop;
}

enum mor_framing mor_door_framing(const mortise_plugin *plugin)
{
	return plugin->is.link_options.framing;
}

int mor_door_start(mortise_plugin *plugin, const struct mor_proc_events *events, void *arg,
		   struct mor_proc **ret, mortise_error *err)
{
	struct mor_exec_failure failure = { 0 };
	int r = mor_manifest_prepare(plugin->guarded.manifest, err);

	if (r == 0)
		r = mor_policy_look_up(&plugin->guarded.policy, err);
	if (r < 0)
		return r;
	r = mor_proc_start(plugin->host->loop, plugin->is.link_options.command, events, arg, ret, &failure);
	if (r == 0)
		return 0;
	mor_fail(err, failure.code ? failure.code : r, "%s: %s", plugin->peer.name,
		 failure.text[0] ? failure.text : mortise_status_text(r));
	return failure.code ? failure.code : r;
}
