/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kythe turned round: the plugin asks for a record and says when it is done with it. A record handed out is a
 * "call": done settles it, and so does the end of the process that had it. The protocol has no time limit for
 * an analysis, so the embedder has one, as `mortise index` does.
 */
#include <stdio.h>
#include <string.h>

#include "soak.h"

#define UNIT_MS     4000  /* without a sign: the analyzer is stopped */
#define GREETING_MS 35000 /* that limit is the host's */
#define WATCH_MS    60000

void analyzer_lost(struct seat *seat)
{
	if (seat->unit)
		record_settle(seat->unit, MORTISE_ECRASHED);
	seat->unit = NULL;
	seat->asked = NULL;
}

static void hand_out(struct seat *seat, mortise_request *request)
{
	struct record *record = record_begin(seat, WATCH_MS);
	char result[128];
	int r, len;

	if (!record)
		return;
	len = snprintf(result, sizeof(result), "{\"inputs\":[\"%s\"],\"output\":\"/dev/null\"}", record->token);
	seat->unit = record;
	r = mortise_request_reply(request, (mortise_json){ result, (size_t)len }, NULL);
	if (r == 0)
		return;
	seat->unit = NULL;
	record_refuse(record, r);
}

static void answer_vname(struct seat *seat, mortise_request *request, mortise_json params)
{
	char result[160];
	int len;

	if (!seat->unit || !memmem(params.text, params.len, seat->unit->token, strlen(seat->unit->token)))
		fault(seat, "asks for the vname of %.*s, and has %s", (int)params.len, params.text,
		      seat->unit ? seat->unit->token : "nothing");
	len = snprintf(result, sizeof(result), "{\"vname\":{\"path\":\"%s\"},\"path\":\"%s\"}",
		       seat->unit ? seat->unit->token : "", seat->unit ? seat->unit->token : "");
	mortise_request_reply(request, (mortise_json){ result, (size_t)len }, NULL);
}

void analyzer_request(mortise_request *request, const char *method, mortise_json params, void *arg)
{
	struct seat *seat = arg;

	seat->sign_ms = now_ms();
	if (strcmp(method, "vname") == 0) {
		answer_vname(seat, request, params);
		return;
	}
	if (seat->unit || seat->asked)
		fault(seat, "asks for a record while it has one");
	if (pick(4))
		hand_out(seat, request);
	else
		seat->asked = request; /* in a later turn */
}

static void done(struct seat *seat, mortise_json params)
{
	struct record *record = seat->unit;

	seat->unit = NULL;
	if (!record) {
		fault(seat, "is done with nothing: %.*s", (int)params.len, params.text);
		return;
	}
	if (!memmem(params.text, params.len, record->token, strlen(record->token)))
		fault(seat, "is done with the record of another than %s: %.*s", record->token, (int)params.len,
		      params.text);
	record_settle(record, MORTISE_OK);
}

void analyzer_event(struct seat *seat, const mortise_event *event)
{
	seat->sign_ms = now_ms();
	if (event->type == MORTISE_EVENT_NOTE && strcmp(event->note.method, "done") == 0)
		done(seat, event->note.params);
	if (event->type != MORTISE_EVENT_STATE)
		return;
	if (event->state.now == MORTISE_STOPPED || event->state.now == MORTISE_BACKOFF ||
	    event->state.now == MORTISE_FAILED)
		analyzer_lost(seat);
	seat->down = event->state.now == MORTISE_STOPPED || event->state.now == MORTISE_FAILED;
}

void analyzer_turn(struct seat *seat, int64_t now)
{
	mortise_request *request = seat->asked;
	int state = mortise_plugin_state(seat->plugin);

	if (request) {
		seat->asked = NULL;
		hand_out(seat, request);
	}
	if (seat->down && !seat->leaving) {
		seat->down = false;
		seat->sign_ms = now;
		mortise_plugin_start(seat->plugin, NULL);
	} else if (now - seat->sign_ms > (state == MORTISE_READY ? UNIT_MS : GREETING_MS)) {
		seat->sign_ms = now;
		seat->given_up++;
		mortise_plugin_stop(seat->plugin, MORTISE_STOP_NOW, NULL);
	}
}
