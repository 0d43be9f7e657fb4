/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session in which the embedder and the plugin say anything: requests, batches, notes, answers; actions and
 * params that go through templates and validation. What comes of it is checked as in the model: one last
 * callback per call, whole messages to the plugin, nothing left over.
 *
 * Byte 0 chooses dialect and settings, byte 1 the flags below. The rest is cut at each 0xff: action, params,
 * what goes beside them, and then one message of the plugin after the other.
 */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "model/model.h"

enum { UNFRAMED = 1, RAW = 2, NOTIFY = 4, NO_PARAMS = 8, NO_EXTRA = 16, AT_ONCE = 32, LATE = 64 };

static const char *next_part(const char **at, const char *end, size_t *ret_len)
{
	const char *part = *at, *cut = part < end ? memchr(part, 0xff, (size_t)(end - part)) : NULL;

	*ret_len = (size_t)((cut ? cut : end) - part);
	*at = cut ? cut + 1 : end;
	return part;
}

static mortise_json json_part(const char **at, const char *end, bool absent)
{
	mortise_json json = { 0 };

	json.text = next_part(at, end, &json.len);
	return absent ? (mortise_json){ 0 } : json;
}

static void call(struct place *place, const char **at, const char *end, unsigned flags)
{
	size_t len;
	const char *word = next_part(at, end, &len);
	mortise_json params = json_part(at, end, flags & NO_PARAMS),
		     extra = json_part(at, end, flags & NO_EXTRA);
	char *action = len ? mor_strndup(word, len) : mor_strdup(place->tongue->actions[0]);

	CHECK(action);
	call_start_raw(place, action, params, extra,
		       (flags & RAW ? MORTISE_RAW : 0) | (flags & NOTIFY ? MORTISE_NOTIFY : 0));
	mor_free(action);
	if (!(flags & AT_ONCE))
		run_loops(0);
}

static void say(const char *part, size_t len, unsigned flags)
{
	struct proc *proc = proc_at(0);

	if (!proc)
		return;
	mouth_say_frame(proc, (struct mor_slice){ part, len }, !(flags & UNFRAMED));
	run_loops(flags & LATE ? 700 : 0);
	if (world.held_count > 1)
		embed_reply(&(struct op){ .a = 0, .b = (uint8_t)len });
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data + 2, *end = (const char *)data + size;
	struct place *place = &world.places[0];

	if (size < 2)
		return 0;
	model_begin(NULL, 0);
	world.foreign = true;
	world.abrupt = !(data[1] & LATE); /* to wait for time limits costs more than all the rest */
	embed_plugin(&(struct op){ .a = 0, .b = data[0] });
	if (place->handle) {
		embed_start(&(struct op){ .a = 0 });
		run_loops(0);
		call(place, &at, end, data[1]);
		while (at < end) {
			size_t len;
			const char *part = next_part(&at, end, &len);

			say(part, len, data[1]);
		}
	}
	model_end();
	return 0;
}
