/* SPDX-License-Identifier: Apache-2.0 */
#include "pool_rig.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"
#include "leak.h"

void rig_open(struct rig *rig)
{
	static const char *const argv[] = { "script", NULL }, *const one[] = { "limits.in_flight=1", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt),
				       .argv = argv,
				       .dialect = rig->dialect ? rig->dialect : "plain",
				       .set = rig->set     ? rig->set :
					      rig->dialect ? NULL :
							     one,
				       .flags = rig->flags,
				       .on_event = rig->on_event,
				       .arg = rig };
	mortise_pool_options pool = { .size = sizeof(pool), .workers = rig->workers, .retries = rig->retries };
	mortise_error error = { 0 };

	script_reset();
	assert_int_equal(mor_host_new_with(NULL, MOR_LOOP_VIRTUAL, script_link_new, &rig->host, NULL), 0);
	rig->host->dialect = demo_find(opt.dialect);
	rig->host->random = 1; /* the jitter of backoffs is always the same */
	if (mortise_pool_new(rig->host, &opt, &pool, &rig->pool, &error) < 0)
		fail_msg("%s", error.text);
}

void rig_close(struct rig *rig)
{
	mortise_pool_free(rig->pool);
	assert_null(mortise_host_free(rig->host));
}

void turn(struct rig *rig)
{
	pass(rig, 0);
}

void pass(struct rig *rig, uint32_t ms)
{
	assert_true(mor_loop_advance(rig->host->loop, ms) >= 0);
}

/* ---- calls ---- */

static void keep(char *into, size_t size, mortise_json text)
{
	snprintf(into, size, "%.*s", (int)text.len, text.text ? text.text : "");
}

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct got *got = arg;

	assert_non_null(reply->call);
	if (reply->more) {
		got->pieces++;
	} else {
		got->finals++;
		got->status = reply->status;
		got->plugin = reply->plugin;
		if (reply->error)
			got->error = *reply->error;
		keep(got->data, sizeof(got->data), reply->error_data);
		keep(got->result, sizeof(got->result), reply->result);
	}
	if (got->then)
		got->then(reply, got->arg);
}

void call_within(struct rig *rig, struct got *got, uint32_t queue_ms)
{
	mortise_call_options opt = {
		.size = sizeof(opt), .queue_ms = queue_ms, .on_reply = on_reply, .arg = got
	};
	int before = got->finals;

	assert_int_equal(mortise_pool_call(rig->pool, "extractor.extract",
					   (mortise_json){ "{\"source\":{\"type\":\"path\",\"path\":\"/x\"}}",
							   38 },
					   &opt, NULL, NULL),
			 0);
	assert_int_equal(got->finals, before); /* "never before this function has returned" */
}

void call(struct rig *rig, struct got *got)
{
	call_within(rig, got, 0);
}

void call_all(struct rig *rig, struct got *got, int count)
{
	for (int i = 0; i < count; i++)
		call(rig, &got[i]);
}

void rig_open_busy(struct rig *rig, struct got *got, int count)
{
	rig_open(rig);
	call_all(rig, got, count);
	turn(rig);
}

/* ---- workers ---- */

mortise_plugin *worker(const struct rig *rig, uint32_t i)
{
	return mortise_pool_worker(rig->pool, i);
}

int state_of(const struct rig *rig, uint32_t i)
{
	return mortise_plugin_state(worker(rig, i));
}

struct script_link *process(const struct rig *rig, uint32_t i)
{
	return worker(rig, i)->life.link ? script_of(worker(rig, i)) : NULL;
}

int64_t claim(const struct rig *rig, uint32_t i)
{
	struct script_link *script = process(rig, i);
	struct mor_slice body;
	const char *id;

	if (!script || !script_claim(script, &body))
		return 0;
	id = memmem(body.ptr, body.len, "\"id\":", 5);
	return id ? strtoll(id + 5, NULL, 10) : -1;
}

void say(struct rig *rig, uint32_t i, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	script_deliver(process(rig, i), mor_slice_of(line));
	script_deliver(process(rig, i), MOR_SLICE("\n"));
	turn(rig);
}

bool serve(struct rig *rig, uint32_t i)
{
	int64_t id = claim(rig, i);

	if (id > 0)
		say(rig, i, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"by\":%u}}", (long long)id, i);
	return id > 0;
}

void die(struct rig *rig, uint32_t i)
{
	script_end(process(rig, i),
		   &(struct mor_link_end){ .known = true, .status = 1, .text = "exited with status 1" });
	turn(rig);
}

void not_made(struct rig *rig, uint32_t i, int code, int os_errno)
{
	struct mor_link_end end = { .start_code = code, .os_errno = os_errno };

	snprintf(end.text, sizeof(end.text), "cannot start a process: %s", strerror(os_errno));
	/* Instead of its start, not after it. */
	mor_task_stop(&process(rig, i)->announce);
	script_end(process(rig, i), &end);
	turn(rig);
}

/* ---- what came of it ---- */

void expect(const struct got *got, int status)
{
	if (got->finals != 1 || got->status != status)
		fail_msg("%d last callbacks, status %d (%s), wanted 1 with %d", got->finals, got->status,
			 got->error.text, status);
}

void expect_waiting(const struct got *got)
{
	if (got->finals)
		fail_msg("ended with %d (%s) although it should wait", got->status, got->error.text);
}
