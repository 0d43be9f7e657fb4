/* SPDX-License-Identifier: Apache-2.0 */
/* What a lane does to messages: each fault alone, in every framing, and the same again with the same seed. */
#include "leak.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "chaos/chaos.h"

#define ALWAYS 1000000000u

static const enum mor_framing framings[] = { MOR_FRAMING_LINES, MOR_FRAMING_DECIMAL, MOR_FRAMING_BE32,
					     MOR_FRAMING_HEADERS };
#define FRAMINGS (sizeof(framings) / sizeof(*framings))

struct proxy {
	struct mor_chaos chaos;
	struct mor_chaos_lane lane;
};

static void begin(struct proxy *p, char sign)
{
	p->chaos.stall_ms = p->chaos.stall_ms ? p->chaos.stall_ms : 200;
	p->chaos.log = memfd_create("log", MFD_CLOEXEC);
	assert_true(p->chaos.log >= 0);
	mor_chaos_lane_init(&p->lane, &p->chaos, sign, -1, -1);
}

static void end(struct proxy *p)
{
	mor_chaos_lane_fini(&p->lane);
	mor_fd_close(&p->chaos.log);
}

static void feed(struct proxy *p, struct mor_slice bytes)
{
	assert_int_equal(p->lane.relay.on_input(&p->lane.relay, bytes), 0);
}

static void add_frame(struct mor_buf *out, enum mor_framing framing, const char *body)
{
	assert_int_equal(mor_enframe(framing, mor_slice_of(body), out), 0);
}

static void add_reply(struct mor_buf *out, enum mor_framing framing, unsigned id)
{
	char body[100];

	snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{\"token\":%u}}", id, id);
	add_frame(out, framing, body);
}

static void assert_out(const struct proxy *p, const struct mor_buf *wanted)
{
	assert_int_equal(p->lane.relay.out.len, wanted->len);
	if (wanted->len)
		assert_memory_equal(p->lane.relay.out.data, wanted->data, wanted->len);
}

static void assert_log(const struct proxy *p, const char *wanted)
{
	char text[4096];
	ssize_t n = pread(p->chaos.log, text, sizeof(text) - 1, 0);

	assert_true(n >= 0);
	text[n] = '\0';
	assert_string_equal(text, wanted);
}

static void assert_mark(const struct proxy *p, size_t i, enum mor_relay_mark_kind kind, uint64_t at)
{
	assert_true(i < p->lane.relay.marks);
	assert_int_equal(p->lane.relay.mark[i].kind, kind);
	assert_int_equal(p->lane.relay.mark[i].at, at);
}

/* ---- draws ---- */

static void test_the_mix_is_splitmix64(void **state)
{
	(void)state;
	assert_true(mor_chaos_mix(0) == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(mor_chaos_mix(UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0x6e789e6aa1b965f4));
}

static void test_without_faults_every_byte_passes(void **state)
{
	static const char noise[] = "Loading\n\n{not json}\n";

	(void)state;
	for (size_t i = 0; i < FRAMINGS; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf all = MOR_BUF_INIT;
		struct proxy p = { .chaos.framing = (int)framings[i] };

		if (framings[i] != MOR_FRAMING_DECIMAL)
			mor_buf_text(&all, noise);
		add_reply(&all, framings[i], 1);
		add_frame(&all, framings[i], "{\"method\":\"m\"}");
		begin(&p, '<');
		for (size_t at = 0; at < all.len; at++)
			feed(&p, (struct mor_slice){ all.data + at, 1 });
		assert_out(&p, &all);
		assert_int_equal(p.lane.relay.marks, 0);
		assert_log(&p, "");
		end(&p);
	}
}

/* All faults of many messages, as bytes, marks and lines of the log. */
static void everything(uint64_t seed, size_t piece, char sign, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf all = MOR_BUF_INIT;
	struct proxy p = { .chaos = { .seed = seed } };
	char log[65536];

	for (unsigned i = 0; i < MOR_CHAOS_FAULTS; i++)
		p.chaos.rate[i] = i == MOR_CHAOS_FAULT_KILL || i == MOR_CHAOS_FAULT_TRUNCATE ? 0 : ALWAYS / 4;
	for (unsigned i = 1; i <= 200; i++)
		add_reply(&all, MOR_FRAMING_LINES, i);
	begin(&p, sign);
	for (size_t at = 0; at < all.len; at += piece)
		feed(&p, (struct mor_slice){ all.data + at, all.len - at < piece ? all.len - at : piece });
	mor_buf_slice(out, mor_buf_view(&p.lane.relay.out));
	for (size_t i = 0; i < p.lane.relay.marks; i++)
		mor_buf_printf(out, "%d %llu %u\n", (int)p.lane.relay.mark[i].kind,
			       (unsigned long long)p.lane.relay.mark[i].at, p.lane.relay.mark[i].ms);
	mor_buf_append(out, log, (size_t)pread(p.chaos.log, log, sizeof(log), 0));
	end(&p);
}

static void test_the_same_seed_gives_the_same_faults_in_any_pieces(void **state)
{
	static const struct {
		uint64_t seed;
		size_t piece;
		char sign;
		bool same;
	} rows[] = { { 7, 65536, '<', true },
		     { 7, 1, '<', true },
		     { 7, 13, '<', true },
		     { 8, 1, '<', false },
		     { 7, 1, '>', false } };
	MOR_CLEAN(mor_buf) struct mor_buf first = MOR_BUF_INIT;

	(void)state;
	everything(7, 4096, '<', &first);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf again = MOR_BUF_INIT;

		everything(rows[i].seed, rows[i].piece, rows[i].sign, &again);
		assert_int_equal(mor_slice_eq(mor_buf_view(&first), mor_buf_view(&again)), rows[i].same);
	}
}

static void test_a_rate_is_kept_about(void **state)
{
	struct proxy p = { .chaos.rate[MOR_CHAOS_FAULT_DROP] = ALWAYS / 4 };
	MOR_CLEAN(mor_buf) struct mor_buf all = MOR_BUF_INIT;

	(void)state;
	for (unsigned i = 0; i < 4000; i++)
		add_reply(&all, MOR_FRAMING_LINES, i);
	begin(&p, '<');
	feed(&p, mor_buf_view(&all));
	assert_int_equal(p.lane.messages, 4000);
	assert_in_range(p.lane.faults[MOR_CHAOS_FAULT_DROP], 850, 1150);
	end(&p);
}

static void test_the_first_messages_are_spared(void **state)
{
	struct proxy p = { .chaos = { .rate[MOR_CHAOS_FAULT_DROP] = ALWAYS, .after = 2 } };
	MOR_CLEAN(mor_buf) struct mor_buf all = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf spared = MOR_BUF_INIT;

	(void)state;
	for (unsigned i = 1; i <= 4; i++)
		add_reply(&all, MOR_FRAMING_LINES, i);
	add_reply(&spared, MOR_FRAMING_LINES, 1);
	add_reply(&spared, MOR_FRAMING_LINES, 2);
	begin(&p, '<');
	feed(&p, mor_buf_view(&all));
	assert_out(&p, &spared);
	assert_log(&p, "< 3 drop id=3\n< 4 drop id=4\n");
	end(&p);
}

/* ---- each fault ---- */

static void test_only_replies_are_dropped_doubled_or_stale(void **state)
{
	static const char text[] = "{\"id\":1,\"method\":\"m\"}\n{\"method\":\"n\"}\n[1]\n"
				   "{\"method\":\"complete\",\"params\":{\"id\":3}}\n"
				   "{\"method\":\"stream\",\"params\":{\"request_id\":3}}\n";
	struct proxy p = { .chaos.rate = { [MOR_CHAOS_FAULT_DUP_ID] = ALWAYS,
					   [MOR_CHAOS_FAULT_STALE_ID] = ALWAYS,
					   [MOR_CHAOS_FAULT_DROP] = ALWAYS } };

	(void)state;
	begin(&p, '<');
	feed(&p, mor_slice_of(text));
	assert_int_equal(p.lane.relay.out.len, strlen(text));
	assert_memory_equal(p.lane.relay.out.data, text, strlen(text));
	end(&p);
}

/* G-Assist ends a call with a note that names it. */
static void test_a_note_that_ends_a_call_is_a_reply(void **state)
{
	static const char *const notes[] = { "{\"method\":\"complete\",\"params\":{\"request_id\":3}}\n",
					     "{\"method\":\"error\",\"params\":{\"request_id\":3}}\n" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct proxy p = { .chaos.rate[MOR_CHAOS_FAULT_DROP] = ALWAYS };

		begin(&p, '<');
		feed(&p, mor_slice_of(notes[i]));
		assert_int_equal(p.lane.relay.out.len, 0);
		assert_log(&p, "< 1 drop id=?\n");
		end(&p);
	}
}

static void test_a_reply_comes_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < FRAMINGS; i++) {
		struct proxy p = { .chaos = { .rate[MOR_CHAOS_FAULT_DUP_ID] = ALWAYS,
					      .framing = (int)framings[i] } };
		MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;
		MOR_CLEAN(mor_buf) struct mor_buf two = MOR_BUF_INIT;

		add_frame(&one, framings[i], "{\"id\":\"a\",\"error\":{}}");
		mor_buf_slice(&two, mor_buf_view(&one));
		mor_buf_slice(&two, mor_buf_view(&one));
		begin(&p, '<');
		feed(&p, mor_buf_view(&one));
		assert_out(&p, &two);
		assert_log(&p, "< 1 dup-id id=\"a\"\n");
		end(&p);
	}
}

/* The first stale reply can only be one that nobody asked for; its id has the kind of the real one. */
static void test_a_reply_to_nobody(void **state)
{
	static const struct {
		const char *body, *stale, *log;
	} rows[] = {
		{ "{\"id\":7,\"result\":[7]}", "{\"id\":2000000001,\"result\":[7]}",
		  "< 1 stale-id id=2000000001\n" },
		{ "{ \"result\": \"7\", \"id\" : \"7\" }",
		  "{ \"result\": \"7\", \"id\" : \"unasked-2000000001\" }",
		  "< 1 stale-id id=\"unasked-2000000001\"\n" },
	};

	(void)state;
	for (size_t i = 0; i < FRAMINGS * 2; i++) {
		enum mor_framing framing = framings[i / 2];
		struct proxy p = { .chaos = { .rate[MOR_CHAOS_FAULT_STALE_ID] = ALWAYS,
					      .framing = (int)framing } };
		MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;
		MOR_CLEAN(mor_buf) struct mor_buf both = MOR_BUF_INIT;

		add_frame(&one, framing, rows[i % 2].body);
		add_frame(&both, framing, rows[i % 2].body);
		add_frame(&both, framing, rows[i % 2].stale);
		begin(&p, '<');
		feed(&p, mor_buf_view(&one));
		assert_out(&p, &both);
		assert_log(&p, rows[i % 2].log);
		end(&p);
	}
}

/* Later also one that has passed before, from the older half; long ones are not kept. */
static void test_old_replies_come_again(void **state)
{
	struct proxy p = { .chaos.rate[MOR_CHAOS_FAULT_STALE_ID] = ALWAYS };
	unsigned old = 0, unasked = 0;

	(void)state;
	begin(&p, '<');
	for (unsigned i = 1; i <= 200; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;
		size_t before = p.lane.relay.out.len;
		char *stale;
		unsigned id = 0;

		add_reply(&one, MOR_FRAMING_LINES, i);
		feed(&p, mor_buf_view(&one));
		assert_int_equal(mor_buf_byte(&p.lane.relay.out, '\0'), 0);
		p.lane.relay.out.len--;
		stale = p.lane.relay.out.data + before + one.len;
		assert_int_equal(sscanf(stale, "{\"jsonrpc\":\"2.0\",\"id\":%u", &id), 1);
		old += id < i;
		unasked += id == 2000000000u + i;
		assert_true(id < i || id >= 2000000000u);
		if (id < i && i > MOR_CHAOS_KEPT)
			assert_in_range(id, i - MOR_CHAOS_KEPT, i - MOR_CHAOS_KEPT / 2);
	}
	assert_int_equal(old + unasked, 200);
	assert_true(old > 60 && unasked > 60);
	end(&p);
}

static void test_long_replies_are_not_kept(void **state)
{
	struct proxy p = { .chaos.rate[MOR_CHAOS_FAULT_STALE_ID] = 1 };
	MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;

	(void)state;
	mor_buf_text(&one, "{\"id\":1,\"result\":\"");
	while (one.len < MOR_CHAOS_KEPT_BYTES)
		mor_buf_byte(&one, 'x');
	mor_buf_text(&one, "\"}\n");
	begin(&p, '<');
	feed(&p, mor_buf_view(&one));
	assert_int_equal(p.lane.kept_count, 0);
	feed(&p, MOR_SLICE("{\"id\":2,\"result\":0}\n"));
	assert_int_equal(p.lane.kept_count, 1);
	end(&p);
}

static void test_garbage_is_a_fault_of_plugins(void **state)
{
	(void)state;
	for (size_t i = 0; i < FRAMINGS; i++)
		for (unsigned to_host = 0; to_host < 2; to_host++) {
			struct proxy p = { .chaos = { .rate[MOR_CHAOS_FAULT_GARBAGE] = ALWAYS,
						      .framing = (int)framings[i] } };
			MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;
			const struct mor_buf *out = &p.lane.relay.out;
			char wanted[60];

			add_reply(&one, framings[i], 1);
			begin(&p, to_host ? '<' : '>');
			feed(&p, mor_buf_view(&one));
			if (!to_host || framings[i] == MOR_FRAMING_DECIMAL) {
				assert_out(&p, &one);
				assert_log(&p, "");
			} else {
				assert_true(out->len > one.len);
				assert_memory_equal(out->data + out->len - one.len, one.data, one.len);
				assert_int_equal(out->data[out->len - one.len - 1], '\n');
				snprintf(wanted, sizeof(wanted), "< 1 garbage bytes=%zu\n", out->len - one.len);
				assert_log(&p, wanted);
			}
			end(&p);
		}
}

static void test_a_split_message_waits_at_its_cuts(void **state)
{
	struct proxy p = { .chaos.rate[MOR_CHAOS_FAULT_SPLIT] = ALWAYS };
	MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;

	(void)state;
	add_reply(&one, MOR_FRAMING_LINES, 1);
	begin(&p, '>');
	feed(&p, mor_buf_view(&one));
	assert_out(&p, &one);
	assert_in_range(p.lane.relay.marks, 1, 4);
	for (size_t i = 0; i < p.lane.relay.marks; i++) {
		const struct mor_relay_mark *mark = &p.lane.relay.mark[i];

		assert_int_equal(mark->kind, MOR_RELAY_MARK_WAIT);
		assert_in_range(mark->at, 1, one.len - 1);
		assert_true(i == 0 || mark->at >= p.lane.relay.mark[i - 1].at);
	}
	end(&p);
}

static void test_a_stall_is_before_the_message_and_limited(void **state)
{
	struct proxy p = { .chaos = { .rate[MOR_CHAOS_FAULT_STALL] = ALWAYS, .stall_ms = 3 } };
	uint64_t at = 0;

	(void)state;
	begin(&p, '>');
	for (unsigned i = 0; i < 50; i++) {
		feed(&p, MOR_SLICE("{\"method\":\"m\"}\n"));
		assert_mark(&p, i, MOR_RELAY_MARK_WAIT, at);
		assert_in_range(p.lane.relay.mark[i].ms, 1, 3);
		at += strlen("{\"method\":\"m\"}\n");
	}
	end(&p);
}

static void test_a_truncated_stream_has_a_beginning_and_ends(void **state)
{
	struct proxy p = { .chaos.rate[MOR_CHAOS_FAULT_TRUNCATE] = ALWAYS };
	MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;
	char wanted[60];

	(void)state;
	add_reply(&one, MOR_FRAMING_LINES, 1);
	begin(&p, '>');
	feed(&p, mor_buf_view(&one));
	assert_out(&p, &one); /* towards the plugin nothing is cut */
	end(&p);
	begin(&p, '<');
	feed(&p, mor_buf_view(&one));
	feed(&p, mor_buf_view(&one));
	assert_in_range(p.lane.relay.out.len, 1, one.len - 1);
	assert_memory_equal(p.lane.relay.out.data, one.data, p.lane.relay.out.len);
	assert_mark(&p, 0, MOR_RELAY_MARK_END, p.lane.relay.out.len);
	snprintf(wanted, sizeof(wanted), "< 1 truncate at=%zu\n", p.lane.relay.out.len);
	assert_log(&p, wanted); /* what came behind it is thrown away, and has no faults */
	end(&p);
}

/* The worst fault comes first: no other happens to the message, and it is not sent. */
static void test_a_killed_plugin_sends_nothing_more(void **state)
{
	struct proxy p = { 0 };
	MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;

	(void)state;
	for (unsigned i = 0; i < MOR_CHAOS_FAULTS; i++)
		p.chaos.rate[i] = ALWAYS;
	p.chaos.after = 1;
	add_reply(&one, MOR_FRAMING_LINES, 1);
	begin(&p, '<');
	feed(&p, mor_buf_view(&one));
	feed(&p, mor_buf_view(&one));
	feed(&p, mor_buf_view(&one));
	assert_out(&p, &one);
	assert_mark(&p, 0, MOR_RELAY_MARK_KILL, one.len);
	assert_int_equal(p.lane.relay.marks, 1);
	assert_log(&p, "< 2 kill\n");
	end(&p);
}

/* ---- hostile and hard times ---- */

static void test_what_is_in_the_log_is_one_line(void **state)
{
	struct proxy p = { .chaos.rate[MOR_CHAOS_FAULT_DROP] = ALWAYS };

	(void)state;
	begin(&p, '<');
	feed(&p, MOR_SLICE("{\"id\":\"\xc2\x9b"
			   "0123456789012345678901234567890123456789\",\"result\":0}\n"));
	assert_log(&p, "< 1 drop id=\"\\xc2\\x9b012345678901234567890123456...\n");
	end(&p);
}

/* A message may get lost; nothing worse. */
static void test_no_memory(void **state)
{
	bool spoilt = true;

	(void)state;
	for (long n = 0; spoilt; n++) {
		struct proxy p = { .chaos.log = -1 };
		MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;
		int r;

		for (unsigned i = 0; i < MOR_CHAOS_FAULT_DROP; i++)
			p.chaos.rate[i] = ALWAYS;
		add_reply(&one, MOR_FRAMING_LINES, 1);
		begin(&p, '<');
		mor_alloc_fail_after(n);
		r = p.lane.relay.on_input(&p.lane.relay, mor_buf_view(&one));
		mor_alloc_fail_after(-1);
		assert_true(r == 0 || r == MORTISE_ENOMEM);
		spoilt = r < 0 || p.lane.relay.marks < 2 || !p.lane.kept[0].frame ||
			 p.lane.faults[MOR_CHAOS_FAULT_STALE_ID] == 0;
		end(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_the_mix_is_splitmix64),
		MOR_TEST(test_without_faults_every_byte_passes),
		MOR_TEST(test_the_same_seed_gives_the_same_faults_in_any_pieces),
		MOR_TEST(test_a_rate_is_kept_about),
		MOR_TEST(test_the_first_messages_are_spared),
		MOR_TEST(test_only_replies_are_dropped_doubled_or_stale),
		MOR_TEST(test_a_note_that_ends_a_call_is_a_reply),
		MOR_TEST(test_a_reply_comes_twice),
		MOR_TEST(test_a_reply_to_nobody),
		MOR_TEST(test_old_replies_come_again),
		MOR_TEST(test_long_replies_are_not_kept),
		MOR_TEST(test_garbage_is_a_fault_of_plugins),
		MOR_TEST(test_a_split_message_waits_at_its_cuts),
		MOR_TEST(test_a_stall_is_before_the_message_and_limited),
		MOR_TEST(test_a_truncated_stream_has_a_beginning_and_ends),
		MOR_TEST(test_a_killed_plugin_sends_nothing_more),
		MOR_TEST(test_what_is_in_the_log_is_one_line),
		MOR_TEST(test_no_memory),
	};

	return mor_run_group("chaos/fault", tests);
}
