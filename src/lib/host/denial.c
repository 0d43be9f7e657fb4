/* SPDX-License-Identifier: Apache-2.0 */
/* Denials as events. See denial.h. */
#include "host/denial.h"

#include "base/alloc.h"
#include "host/embedder.h"

/* Without memory for the words the record is told of without them, and the other way round. */
static void tell(mortise_plugin *plugin, const mortise_event_violation *what, struct mor_buf *text,
		 struct mor_buf *json)
{
	mortise_event event = { .type = MORTISE_EVENT_VIOLATION, .violation = *what };

	if (mor_buf_byte(text, '\0') == 0)
		event.text = text->data;
	if (!mor_buf_failed(json))
		event.violation.record = (mortise_json){ json->data, json->len };
	mor_event_full(plugin, &event);
}

void mor_denial_told(void *arg, const struct mor_record *record)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT, json = MOR_BUF_INIT;
	mortise_plugin *plugin = arg;
	struct mor_denials *denials = &plugin->life.denials;
	struct mor_violation what;

	MOR_HOLD(plugin);
	if (mor_denials_take(denials, record) <= 0) /* known already, or no memory: then it is only counted */
		return;
	what = mor_denials_violation(&denials->items[denials->count - 1], plugin->peer.name,
				     plugin->guarded.policy.source);
	mor_violation_text(&what, &text);
	mor_violation_json(&what, &json);
	tell(plugin, &(mortise_event_violation){ .action = MORTISE_VIOLATION_DENIED }, &text, &json);
}

void mor_denial_sum_up(mortise_plugin *plugin, uint64_t total)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT, json = MOR_BUF_INIT;
	struct mor_denials *denials = &plugin->life.denials;

	denials->total = total;
	if (!denials->count)
		return;
	mor_denials_text(denials, plugin->peer.name, plugin->guarded.policy.source, &text);
	mor_denials_json(denials, plugin->peer.name, plugin->guarded.policy.source, &json);
	tell(plugin, &(mortise_event_violation){ .action = MORTISE_VIOLATION_SUM, .denials = total }, &text,
	     &json);
}
