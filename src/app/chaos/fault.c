/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to one message: random draws, and the bytes that are sent in its place. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/text.h"
#include "chaos/chaos.h"
#include "wire/envelope.h"
#include "wire/json.h"

#define CERTAIN       1000000000u /* rates are in billionths */
#define SPLIT_WAIT_MS 1           /* so that the reader sees separate pieces */
#define MOST_CUTS     4

/* With these rates a session lives long enough to be useful. */
const struct mor_chaos_fault_kind mor_chaos_fault_kinds[MOR_CHAOS_FAULTS] = {
	[MOR_CHAOS_FAULT_SPLIT] = { "split", CERTAIN / 2 },
	[MOR_CHAOS_FAULT_STALL] = { "stall", CERTAIN / 20 },
	[MOR_CHAOS_FAULT_GARBAGE] = { "garbage", CERTAIN / 10 },
	[MOR_CHAOS_FAULT_DUP_ID] = { "dup-id", CERTAIN / 20 },
	[MOR_CHAOS_FAULT_STALE_ID] = { "stale-id", CERTAIN / 20 },
	[MOR_CHAOS_FAULT_DROP] = { "drop", CERTAIN / 50 },
	[MOR_CHAOS_FAULT_TRUNCATE] = { "truncate", CERTAIN / 100 },
	[MOR_CHAOS_FAULT_KILL] = { "kill", CERTAIN / 100 },
};

/* ---- draws ---- */

/* The finaliser of splitmix64. */
uint64_t mor_chaos_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* The nth random number for this fault of this message. */
static uint64_t draw_number(const struct mor_chaos_lane *lane, enum mor_chaos_fault fault, unsigned nth)
{
	uint64_t x = mor_chaos_mix(lane->chaos->seed ^ (unsigned char)lane->sign);

	x = mor_chaos_mix(x ^ lane->messages);
	return mor_chaos_mix(x ^ ((uint64_t)fault << 32 | nth));
}

static bool fault_strikes(const struct mor_chaos_lane *lane, enum mor_chaos_fault fault)
{
	return lane->messages > lane->chaos->after &&
	       draw_number(lane, fault, 0) % CERTAIN < lane->chaos->rate[fault];
}

/* Writes one line to the log and counts for the report. `what`: "" or " key=value". */
static void note_fault(struct mor_chaos_lane *lane, enum mor_chaos_fault fault, const char *what)
{
	char line[256];
	int len = snprintf(line, sizeof(line), "%c %llu %s%s\n", lane->sign, (unsigned long long)lane->messages,
			   mor_chaos_fault_kinds[fault].name, what);

	lane->faults[fault]++;
	if (lane->chaos->log >= 0 && len > 0 && (size_t)len < sizeof(line))
		(void)mor_fd_write_all(lane->chaos->log, line, (size_t)len);
}

static void note_number(struct mor_chaos_lane *lane, enum mor_chaos_fault fault, const char *key,
			uint64_t number)
{
	char what[48];

	snprintf(what, sizeof(what), " %s=%llu", key, (unsigned long long)number);
	note_fault(lane, fault, what);
}

static void note_id(struct mor_chaos_lane *lane, enum mor_chaos_fault fault, const char *id)
{
	char what[64];

	snprintf(what, sizeof(what), " id=%s", id);
	note_fault(lane, fault, what);
}

/* ---- what kind of message it is ---- */

struct look {
	bool reply;
	bool by_note;        /* G-Assist settles a call with a notification that names it */
	struct mor_slice id; /* of a reply, inside the body */
	char name[40];       /* the id as one word, for the log */
};

/* G-Assist: it names the call that it ends. */
static bool names_request(struct mor_slice params)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	return params.ptr && mor_doc_parse(params, MOR_JSON_NAN, 0, &doc, NULL) == 0 &&
	       mor_json_get(mor_doc_root(doc), "request_id") != NULL;
}

static struct look look_at_body(struct mor_slice body)
{
	unsigned lenient =
		MOR_ENV_JSONRPC_OPTIONAL | MOR_ENV_ERROR_NULL_OK | MOR_ENV_NAN | MOR_ENV_RESULT_OPTIONAL;
	struct look look = { .name = "?" };
	struct mor_message m;

	if (mor_envelope_scan(body, lenient, 0, &m, NULL) < 0)
		return look;
	look.reply = m.kind == MOR_MSG_RESULT || m.kind == MOR_MSG_ERROR;
	look.by_note =
		m.kind == MOR_MSG_NOTE && mor_text_in(m.method, "complete|error") && names_request(m.params);
	if (look.reply && m.id_kind != MOR_ID_NONE) {
		look.id = m.id;
		mor_printable(m.id, look.name, sizeof(look.name));
	}
	look.reply |= look.by_note;
	return look;
}

/* ---- replies that come twice, or too late ---- */

void mor_chaos_kept_fini(struct mor_chaos_lane *lane)
{
	for (size_t i = 0; i < MOR_CHAOS_KEPT; i++)
		mor_free(lane->kept[i].frame);
}

static void keep_reply(struct mor_chaos_lane *lane, struct mor_slice frame, const struct look *look)
{
	struct mor_chaos_kept *kept = &lane->kept[lane->kept_count % MOR_CHAOS_KEPT];

	if (frame.len > MOR_CHAOS_KEPT_BYTES || !lane->chaos->rate[MOR_CHAOS_FAULT_STALE_ID])
		return;
	mor_free(kept->frame);
	kept->frame = mor_strndup(frame.ptr, frame.len);
	kept->len = kept->frame ? frame.len : 0;
	memcpy(kept->id, look->name, sizeof(kept->id));
	lane->kept_count++;
}

/* One of the replies that passed before, from the older half. NULL: no reply has passed. */
static const struct mor_chaos_kept *draw_kept(const struct mor_chaos_lane *lane)
{
	size_t have = lane->kept_count < MOR_CHAOS_KEPT ? lane->kept_count : MOR_CHAOS_KEPT;
	size_t first = lane->kept_count - have, half = have / 2 + have % 2;
	const struct mor_chaos_kept *kept;

	if (!half)
		return NULL;
	kept = &lane->kept[(first + draw_number(lane, MOR_CHAOS_FAULT_STALE_ID, 1) % half) % MOR_CHAOS_KEPT];
	return kept->frame ? kept : NULL;
}

/* The same reply with an id that nobody has used. The members around the id stay unchanged. */
static void send_unasked(struct mor_chaos_lane *lane, struct mor_slice body, const struct look *look)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	size_t before = (size_t)(look->id.ptr - body.ptr), after = before + look->id.len;
	char id[40];

	snprintf(id, sizeof(id), *look->id.ptr == '"' ? "\"unasked-%u\"" : "%u",
		 2000000000u + (unsigned)(lane->messages % 100000000));
	mor_buf_append(&text, body.ptr, before);
	mor_buf_text(&text, id);
	mor_buf_append(&text, body.ptr + after, body.len - after);
	if (mor_buf_failed(&text))
		return;
	mor_enframe(lane->cutter.deframer.framing, mor_buf_view(&text), &lane->relay.out);
	note_id(lane, MOR_CHAOS_FAULT_STALE_ID, id);
}

static void send_stale(struct mor_chaos_lane *lane, struct mor_slice body, const struct look *look)
{
	const struct mor_chaos_kept *kept = draw_kept(lane);
	bool unasked = look->id.ptr && (!kept || draw_number(lane, MOR_CHAOS_FAULT_STALE_ID, 2) % 2);

	if (unasked) {
		send_unasked(lane, body, look);
	} else if (kept) {
		mor_buf_append(&lane->relay.out, kept->frame, kept->len);
		note_id(lane, MOR_CHAOS_FAULT_STALE_ID, kept->id);
	}
}

/* ---- bytes that are not a message ---- */

/* Each framing has its own rules for noise (wire/framing.h). Decimal framing allows none. */
static void send_garbage(struct mor_chaos_lane *lane)
{
	static const char *const text[] = {
		"Loading model: 42%",
		"WARNING: deprecated call",
		"\x1b[31mTraceback (most recent call last)\x1b[0m",
		"\xff\xfe\x80\xc3 no text",
		"panic! at the disco",
		"\"a string\"",
		"true",
		"%s%n",
		"]}",
		"\t \r",
	};
	uint64_t number = draw_number(lane, MOR_CHAOS_FAULT_GARBAGE, 1);
	size_t before = lane->relay.out.len;

	if (lane->cutter.deframer.framing == MOR_FRAMING_DECIMAL)
		return;
	mor_buf_printf(&lane->relay.out, "%s %u\n", text[number % (sizeof(text) / sizeof(text[0]))],
		       (unsigned)(number >> 48));
	note_number(lane, MOR_CHAOS_FAULT_GARBAGE, "bytes", lane->relay.out.len - before);
}

/* ---- the message itself ---- */

/* Cuts the message at up to MOST_CUTS places, with a pause at each. The log lists the places, not in order. */
static void send_split(struct mor_chaos_lane *lane, struct mor_slice frame)
{
	unsigned cuts = 1 + (unsigned)(draw_number(lane, MOR_CHAOS_FAULT_SPLIT, 1) % MOST_CUTS);
	uint64_t begin = mor_relay_lane_end(&lane->relay);
	char what[160] = " at=";
	size_t len = strlen(what);

	for (unsigned i = 0; i < cuts && frame.len > 1; i++) {
		uint64_t at = 1 + draw_number(lane, MOR_CHAOS_FAULT_SPLIT, 2 + i) % (frame.len - 1);

		mor_relay_lane_mark(&lane->relay, MOR_RELAY_MARK_WAIT, begin + at, SPLIT_WAIT_MS);
		len += (size_t)snprintf(what + len, sizeof(what) - len, "%s%llu", i ? "," : "",
					(unsigned long long)at);
	}
	mor_buf_slice(&lane->relay.out, frame);
	note_fault(lane, MOR_CHAOS_FAULT_SPLIT, what);
}

static void send_half(struct mor_chaos_lane *lane, struct mor_slice frame)
{
	size_t half = 1 + (size_t)(draw_number(lane, MOR_CHAOS_FAULT_TRUNCATE, 1) % (frame.len - 1));

	mor_buf_append(&lane->relay.out, frame.ptr, half);
	mor_relay_lane_mark(&lane->relay, MOR_RELAY_MARK_END, mor_relay_lane_end(&lane->relay), 0);
	lane->relay.muted = true;
	note_number(lane, MOR_CHAOS_FAULT_TRUNCATE, "at", half);
}

static void send_reply_faults(struct mor_chaos_lane *lane, struct mor_slice frame, struct mor_slice body,
			      const struct look *look)
{
	if (fault_strikes(lane, MOR_CHAOS_FAULT_DUP_ID)) {
		mor_buf_slice(&lane->relay.out, frame);
		note_id(lane, MOR_CHAOS_FAULT_DUP_ID, look->name);
	}
	if (fault_strikes(lane, MOR_CHAOS_FAULT_STALE_ID))
		send_stale(lane, body, look);
	keep_reply(lane, frame, look);
}

/* The worst fault comes first: a plugin killed at this message does not send it. Noise and a cut stream are
 * faults of a plugin, so only the host sees them. */
void mor_chaos_message(struct mor_chaos_lane *lane, struct mor_slice frame, struct mor_slice body)
{
	struct look look = look_at_body(body);

	lane->messages++;
	if (fault_strikes(lane, MOR_CHAOS_FAULT_KILL)) {
		mor_relay_lane_mark(&lane->relay, MOR_RELAY_MARK_KILL, mor_relay_lane_end(&lane->relay), 0);
		lane->relay.muted = true;
		note_fault(lane, MOR_CHAOS_FAULT_KILL, "");
		return;
	}
	if (look.reply && fault_strikes(lane, MOR_CHAOS_FAULT_DROP)) {
		note_id(lane, MOR_CHAOS_FAULT_DROP, look.name);
		return;
	}
	if (fault_strikes(lane, MOR_CHAOS_FAULT_STALL)) {
		uint32_t ms =
			1 + (uint32_t)(draw_number(lane, MOR_CHAOS_FAULT_STALL, 1) % lane->chaos->stall_ms);

		mor_relay_lane_mark(&lane->relay, MOR_RELAY_MARK_WAIT, mor_relay_lane_end(&lane->relay), ms);
		note_number(lane, MOR_CHAOS_FAULT_STALL, "ms", ms);
	}
	if (lane->sign == '<' && fault_strikes(lane, MOR_CHAOS_FAULT_GARBAGE))
		send_garbage(lane);
	if (lane->sign == '<' && frame.len > 1 && fault_strikes(lane, MOR_CHAOS_FAULT_TRUNCATE)) {
		send_half(lane, frame);
		return;
	}
	if (fault_strikes(lane, MOR_CHAOS_FAULT_SPLIT))
		send_split(lane, frame);
	else
		mor_buf_slice(&lane->relay.out, frame);
	if (look.reply)
		send_reply_faults(lane, frame, body, &look);
}
