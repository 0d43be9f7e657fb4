/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, their callbacks, and what must hold of them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soak.h"

struct history history;

/* Every page is touched now, or the memory in use would grow with the first calls. */
void history_open(void)
{
	history.record = calloc(RECORDS, sizeof(*history.record));
	if (!history.record)
		abort();
	for (size_t i = 0; i < RECORDS; i++)
		*(volatile enum record_state *)&history.record[i].state = RECORD_FREE;
}

void history_close(void)
{
	free(history.record);
}

void fault(const struct seat *seat, const char *format, ...)
{
	va_list args;

	history.faults++;
	printf("FAULT %s: ", seat ? seat->kind->name : "soak");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

struct record *record_begin(struct seat *seat, uint32_t limit_ms)
{
	struct record *record = &history.record[history.begun % RECORDS];

	if (record->state == RECORD_OPEN)
		return NULL; /* the watchdog has told of it */
	*record = (struct record){
		.seat = seat, .state = RECORD_OPEN, .start_ms = now_ms(), .limit_ms = now_ms() + limit_ms
	};
	snprintf(record->token, sizeof(record->token), "tok-%" PRIx64 "-%" PRIx64 ".", history.begun,
		 soak.seed);
	history.begun++;
	seat->open++;
	seat->calls++;
	return record;
}

static void count(struct record *record, int status)
{
	struct seat *seat = record->seat;

	seat->open--;
	seat->by_status[-status < STATUSES ? -status : STATUSES - 1]++;
}

void record_refuse(struct record *record, int status)
{
	record->state = RECORD_REFUSED;
	history.refused++;
	count(record, status);
}

void record_settle(struct record *record, int status)
{
	record->state = RECORD_SETTLED;
	record->call = NULL;
	record->finals = 1;
	history.settled++;
	count(record, status);
}

/* Every token in the text is the call's own, and there is one. */
static bool is_mine(const struct record *record, mortise_json text)
{
	const char *at = text.text, *end = text.text + text.len;
	size_t len = strlen(record->token);
	unsigned found = 0;

	while (at && at < end && (at = memmem(at, (size_t)(end - at), "tok-", 4))) {
		if ((size_t)(end - at) < len || memcmp(at, record->token, len) != 0)
			return false;
		at += len;
		found++;
	}
	return found > 0;
}

static void check_owner(const struct record *record, const mortise_reply *reply)
{
	mortise_json text = reply->status == MORTISE_OK ? reply->result : reply->error_data;

	if (reply->status != MORTISE_OK && reply->status != MORTISE_EREMOTE)
		return;
	if (!is_mine(record, text) && ++history.of_another)
		fault(record->seat, "call %s got the answer of another: %.*s", record->token,
		      (int)(text.len < 200 ? text.len : 200), text.text ? text.text : "");
	if (!reply->more && (reply->status == MORTISE_EREMOTE) != record->fails)
		fault(record->seat, "call %s: ordered to %s, it %s", record->token,
		      record->fails ? "fail" : "succeed", reply->status ? "failed" : "succeeded");
}

/* What may not be the end of a call that was made as it should be. */
static bool is_out_of_place(int status)
{
	return status == MORTISE_ENOMEM || status == MORTISE_EINVAL || status == MORTISE_ECALLBACK ||
	       status == MORTISE_ETHREAD || status == MORTISE_EUNSUPPORTED || status == MORTISE_EINPUT ||
	       status == MORTISE_EMANIFEST || status > 0;
}

void record_reply(const mortise_reply *reply, void *arg)
{
	struct record *record = arg;

	if (record->state != RECORD_OPEN) {
		fault(record->seat, "call %s: a callback (more %d, status %d) after its last one",
		      record->token, reply->more, reply->status);
		return;
	}
	check_owner(record, reply);
	if (reply->more) {
		record->pieces++;
		record->seat->pieces++;
		return;
	}
	if ((reply->status != MORTISE_OK) != (reply->error != NULL) ||
	    (reply->error && reply->error->code != reply->status))
		fault(record->seat, "call %s: status %d and error do not agree", record->token, reply->status);
	if (is_out_of_place(reply->status))
		fault(record->seat, "call %s ended with %s: %s", record->token,
		      mortise_status_name(reply->status), reply->error ? reply->error->text : "");
	record_settle(record, reply->status);
}

static void tell_overdue(struct record *record, int64_t now)
{
	struct seat *seat = record->seat;
	mortise_plugin *first = seat->pool ? mortise_pool_worker(seat->pool, 0) : seat->plugin;
	char *described = NULL;

	if (first)
		mortise_plugin_describe(first, &described, NULL);
	fault(seat, "call %s is open for %" PRId64 " ms; %u are; the plugin (the first) is %s: %s",
	      record->token, now - record->start_ms, seat->open,
	      first ? mortise_state_name(mortise_plugin_state(first)) : "gone", described ? described : "");
	mortise_free(described);
	record->limit_ms = INT64_MAX; /* once */
}

unsigned history_watch(int64_t now)
{
	unsigned open = 0;

	for (size_t i = 0; i < RECORDS; i++) {
		struct record *record = &history.record[i];

		if (record->state != RECORD_OPEN)
			continue;
		open++;
		if (now > record->limit_ms)
			tell_overdue(record, now);
	}
	return open;
}
