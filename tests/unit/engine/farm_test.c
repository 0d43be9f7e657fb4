/* SPDX-License-Identifier: Apache-2.0 */
/* The engine on PostgreSQL: what it asks, what it believes, and what it does when the server is not well. */
#include "peer.h"

#include "base/alloc.h"
#include "base/text.h"
#include "engine/schema.h"

#define RUN   "1111111111111111111111111111111111111111111111111111111111111111"
#define KEY   "2222222222222222222222222222222222222222222222222222222222222222"
#define OTHER "3333333333333333333333333333333333333333333333333333333333333333"
#define HELLO \
	{ \
		.cells = { "4" } \
	}
#define OWN \
	{ \
		.cells = { "" } \
	}

static mortise_error err;
static char said[1000], url[200];
static struct mor_farm_reply reply; /* the last */
static char reply_text[100];
static unsigned replies;

static const struct mor_farm_run own_run = {
	.run = RUN, .title = "a title", .owner = "host 5", .units = 100, .lease_ms = 60000
};
static const struct mor_farm_worker worker = {
	.name = "w1", .machine = "m", .jobs = 2, .units = 7, .failed = 1
};

static void on_warning(const char *text, void *arg)
{
	size_t len = strlen(said);

	(void)arg;
	snprintf(said + len, sizeof(said) - len, "%s\n", text);
}

static void on_reply(const struct mor_farm_reply *got, void *arg)
{
	(void)arg;
	reply = *got;
	snprintf(reply_text, sizeof(reply_text), "%s", got->text);
	reply.text = reply_text;
	replies++;
}

enum who { A_WORKER, AN_OWNER, A_PERSON };

static struct mor_farm *open_farm(enum who who)
{
	struct mor_farm_options opt = { .url = url,
					.run = who == AN_OWNER ? &own_run : NULL,
					.bare = who == A_PERSON,
					.on_warning = on_warning };
	struct mor_farm *farm = NULL;

	said[0] = '\0';
	replies = 0;
	err = (mortise_error){ 0 };
	assert_int_equal(mor_farm_open(&opt, &farm, &err), 0);
	return farm;
}

#define ANSWERS(...) \
	(peer.used = 0, peer.answers = (const struct peer_answer[]){ __VA_ARGS__ }, \
	 peer.count = sizeof((const struct peer_answer[]){ __VA_ARGS__ }) / sizeof(struct peer_answer))

static int begin(void **state)
{
	if (leak_setup(state) < 0)
		return -1;
	peer_open();
	snprintf(url, sizeof(url), "postgres:///db?host=%s", top);
	return 0;
}

static int end(void **state)
{
	peer_close();
	return leak_teardown(state);
}
#define PEER_TEST(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

static bool is_answered(void)
{
	return replies > 0;
}

/* ---- URLs ---- */

/* None is repeated: it may hold a password. */
static void test_urls(void **state)
{
	static const char *const rows[][2] = {
		{ "", "a farm is named by a URL such as postgres://host/database; this one is not known" },
		{ "host/database", "a farm is named by a URL" },
		{ "mysql://secret@host/d", "a farm is named by a URL" },
		{ "://x", "a farm is named by a URL" },
		{ "postgres://h/d?nonsense=secret", "the URL of the farm is not one that libpq understands" },
		{ "postgres://h:secret/d?x", "the URL of the farm is not one that libpq understands" },
		{ "postgres://u:secret@h/d", "the URL of the farm has a password" },
		{ "postgresql://h/d?password=secret", "the URL of the farm has a password" },
		{ "postgres://u:%73ecret@h/d", "the URL of the farm has a password" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mor_farm *farm = NULL;

		assert_int_equal(mor_farm_open(&(struct mor_farm_options){ .url = rows[i][0] }, &farm, &err),
				 MORTISE_EINVAL);
		assert_int_equal(strncmp(err.text, rows[i][1], strlen(rows[i][1])), 0);
		assert_null(strstr(err.text, "secret"));
		assert_null(farm);
	}
	assert_null(mor_farm_free(NULL));
}

/* The first connection must work: it is told at once. */
static void test_no_server(void **state)
{
	struct mor_farm *farm;

	(void)state;
	snprintf(url, sizeof(url), "postgres:///db?host=%s/nowhere", top);
	farm = open_farm(A_WORKER);
	while (!mor_farm_failure(farm))
		mor_farm_step(farm);
	assert_int_equal(mor_farm_failure(farm)->code, MORTISE_ESYSTEM);
	assert_int_equal(strncmp(mor_farm_failure(farm)->text, "the farm's server: ", 19), 0);
	assert_string_equal(said, "");
	assert_int_equal(mor_farm_step(farm), -1); /* for good */
	mor_farm_free(farm);
}

/* ---- greetings ---- */

static void test_who_greets_how(void **state)
{
	struct mor_farm *farm;

	(void)state;
	ANSWERS(HELLO, OWN);
	farm = open_farm(A_WORKER);
	peer_pump(farm, NULL);
	assert_int_equal(peer.asked, 1);
	assert_string_equal(peer.sql[0], "select mortise_farm.hello()");
	mor_farm_free(farm);
	peer_hang_up();
	peer.asked = 0;
	ANSWERS(HELLO, OWN);
	farm = open_farm(AN_OWNER);
	peer_pump(farm, NULL);
	assert_int_equal(peer.asked, 2);
	assert_string_equal(peer.sql[1],
			    "select mortise_farm.own($1, $2, $3, $4, $5)|" RUN "|a title|host 5|100|60000");
	assert_null(mor_farm_failure(farm));
	mor_farm_free(farm);
	peer_hang_up();
	peer.asked = 0;
	farm = open_farm(A_PERSON); /* there may be no schema yet */
	peer_pump(farm, NULL);
	assert_int_equal(peer.asked, 0);
	mor_farm_free(farm);
}

static void test_versions_of_the_schema(void **state)
{
	static const char *const rows[][2] = {
		{ "3", "has version 3, and this mortise needs 4: run mortise farm init with this URL" },
		{ "99", "has version 99, and this mortise needs 4: upgrade mortise" },
		{ "-1", "has version 0, and this mortise needs 4: run mortise farm init with this URL" },
		{ "4x", "has version 0, and" },
		{ NULL, "has version 0, and" },
	};

	(void)state;
	assert_int_equal(MOR_FARM_SCHEMA, 4);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mor_farm *farm = open_farm(A_WORKER);

		ANSWERS({ .cells = { rows[i][0] } });
		peer_pump(farm, NULL);
		assert_non_null(mor_farm_failure(farm));
		assert_int_equal(mor_farm_failure(farm)->code, MORTISE_EINPUT);
		assert_non_null(strstr(mor_farm_failure(farm)->text, rows[i][1]));
		mor_farm_free(farm);
		peer_hang_up();
	}
}

static struct mor_farm *locked;

static bool has_met_the_lock(void)
{
	return locked->lock_ms;
}

/* Another owner: it may be about to end, so it is waited for, and said once. */
static void test_a_run_that_has_an_owner(void **state)
{
	struct mor_farm *farm = open_farm(AN_OWNER);

	(void)state;
	ANSWERS(HELLO, { .cells = { "them 9" } }, HELLO, { .cells = { "them 9" } }, HELLO, OWN);
	locked = farm;
	peer_pump(farm, has_met_the_lock);
	locked->lock_ms += 3600000; /* however slow this machine is */
	peer_pump(farm, NULL);
	assert_string_equal(said, "another owner works on the same run (them 9): waiting 5 s for its end\n");
	assert_null(mor_farm_failure(farm));
	assert_int_equal(peer.connections, 3);
	mor_farm_free(farm);
	peer_hang_up();
	ANSWERS(HELLO, { .cells = { "them 9" } });
	farm = open_farm(AN_OWNER);
	farm->lock_ms = 1; /* long ago */
	peer_pump(farm, NULL);
	assert_string_equal(mor_farm_failure(farm)->text, "another owner works on the same run (them 9)");
	mor_farm_free(farm);
}

/* Our own session before: no word about it. One that took over meanwhile: the end. */
static void test_a_lock_after_a_lost_connection(void **state)
{
	struct mor_farm *farm = open_farm(AN_OWNER);

	(void)state;
	ANSWERS(HELLO, OWN, { .hang_up = true }, HELLO, { .cells = { "host 5" } }, HELLO, OWN,
		{ .cells = { "" } });
	mor_farm_ask(farm, MOR_FARM_STATUS, 0, on_reply, NULL);
	peer_pump(farm, is_answered);
	assert_null(strstr(said, "another owner"));
	mor_farm_free(farm);
	peer_hang_up();
	farm = open_farm(AN_OWNER);
	ANSWERS(HELLO, OWN, { .hang_up = true }, HELLO, { .cells = { "them 9" } });
	mor_farm_ask(farm, MOR_FARM_STATUS, 0, on_reply, NULL);
	peer_pump(farm, NULL);
	assert_string_equal(mor_farm_failure(farm)->text,
			    "another owner has taken over this run (them 9): this one stops");
	mor_farm_free(farm);
}

/* ---- what goes wrong ---- */

/* The server ends, is full, or two of us met: it is asked again, and told once. */
static void test_errors_that_pass(void **state)
{
	static const char *const states[] = { "08006", "40001", "40P01", "53300", "57P01", "57P03", "23503" };

	(void)state;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		struct mor_farm *farm = open_farm(A_WORKER);

		ANSWERS(HELLO, { .state = states[i], .message = "later" }, HELLO,
			{ .state = states[i], .message = "later" }, HELLO, { .cells = { "{\"a\":1}" } });
		assert_int_equal(mor_farm_ask(farm, MOR_FARM_STATUS, 0, on_reply, NULL), 0);
		peer_pump(farm, is_answered);
		assert_null(mor_farm_failure(farm));
		assert_string_equal(reply.text, "{\"a\":1}");
		assert_int_equal(replies, 1);
		/* it was ready in between, so the second loss is told too */
		assert_string_equal(said, "the farm's server: later; trying again\n"
					  "the farm's server: later; trying again\n");
		assert_true(mor_farm_idle(farm));
		mor_farm_free(farm);
		peer_hang_up();
	}
}

static void test_errors_that_stay(void **state)
{
	static const struct {
		enum who who;
		const char *state, *message, *text;
	} rows[] = {
		{ A_WORKER, "3F000", "schema",
		  "this database has no farm, or an old one: run mortise farm init" },
		{ A_WORKER, "42883", "function",
		  "this database has no farm, or an old one: run mortise farm init" },
		{ A_WORKER, "42501", "permission denied",
		  "this database user may not do that: it needs the role" },
		{ A_PERSON, "42501", "permission denied",
		  "permission denied: make the farm as a database user who" },
		{ A_PERSON, "MF001", "upgrade mortise", "upgrade mortise" },
		{ A_WORKER, "XX000", "bad \x1b[2J\nthing", "bad \\x1b[2J\\x0athing" },
		{ A_WORKER, "57014", "cancelled", "cancelled" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mor_farm *farm = open_farm(rows[i].who);
		struct peer_answer answers[] = { HELLO,
						 { .state = rows[i].state, .message = rows[i].message } };

		peer.answers = answers;
		peer.used = rows[i].who == A_PERSON; /* who greets nobody */
		peer.count = 2;
		mor_farm_ask(farm, rows[i].who == A_PERSON ? MOR_FARM_INIT : MOR_FARM_RETRY, 0, on_reply, NULL);
		peer_pump(farm, NULL);
		assert_non_null(mor_farm_failure(farm));
		assert_int_equal(mor_farm_failure(farm)->code, MORTISE_EINPUT);
		assert_int_equal(strncmp(mor_farm_failure(farm)->text, rows[i].text, strlen(rows[i].text)), 0);
		assert_int_equal(replies, 0);
		mor_farm_free(farm);
		peer_hang_up();
	}
}

/* What has no answer yet is asked again, in its order. */
static void test_a_lost_connection(void **state)
{
	struct mor_farm *farm = open_farm(A_WORKER);

	(void)state;
	ANSWERS(HELLO, { .cells = { "first" } }, { .hang_up = true }, HELLO, { .cells = { "second" } },
		{ .cells = { "third" } });
	for (uint64_t i = 1; i <= 3; i++)
		mor_farm_ask(farm, MOR_FARM_GC, i, on_reply, NULL);
	assert_false(mor_farm_idle(farm));
	peer_pump(farm, NULL);
	assert_int_equal(replies, 3);
	assert_string_equal(reply.text, "third");
	assert_int_equal(peer.connections, 2);
	assert_string_equal(peer.sql[1], "select mortise_farm.gc($1)|1");
	assert_string_equal(peer.sql[2], "select mortise_farm.gc($1)|2");
	assert_string_equal(peer.sql[4], "select mortise_farm.gc($1)|2");
	assert_string_equal(peer.sql[5], "select mortise_farm.gc($1)|3");
	assert_int_equal(strncmp(said, "the farm's server: ", 19), 0);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* told once */
	mor_farm_free(farm);
}

static void test_a_server_that_ends_in_the_greeting(void **state)
{
	struct mor_farm *farm = open_farm(A_WORKER);

	(void)state;
	ANSWERS({ .hang_up = true });
	peer_pump(farm, NULL);
	assert_int_equal(mor_farm_failure(farm)->code, MORTISE_ESYSTEM);
	mor_farm_free(farm);
}

/* ---- news ---- */

static uint64_t heard_news;
static struct mor_farm *listening;

static bool has_news(void)
{
	return mor_farm_news(listening) > heard_news;
}

/* Any worker may say anything: it is one line, and printable. */
static void test_news(void **state)
{
	(void)state;
	ANSWERS(HELLO, OWN);
	listening = open_farm(AN_OWNER);
	peer_pump(listening, NULL);
	heard_news = 0;
	peer_tell("");
	peer_pump(listening, has_news);
	assert_string_equal(said, "");
	heard_news = mor_farm_news(listening);
	peer_tell("w1: disk\x1b[2J full\n");
	peer_pump(listening, has_news);
	assert_string_equal(said, "worker w1: disk\\x1b[2J full\\x0a\n");
	mor_farm_free(listening);
}

/* ---- answers ---- */

static void test_a_claim(void **state)
{
	static const struct {
		const char *cells[6];
		bool claimed;
	} rows[] = {
		{ { RUN, "40", "8", KEY, "60000" }, true },
		{ { "not a digest", "40", "8", KEY, "60000" }, false },
		{ { RUN, "40", "8", "", "60000" }, false },
		{ { NULL }, false }, /* nothing to do */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mor_farm *farm = open_farm(A_WORKER);
		struct peer_answer row = { 0 };

		memcpy(row.cells, rows[i].cells, sizeof(rows[i].cells));
		ANSWERS(HELLO, row);
		mor_farm_claim(farm, &worker, 12, (const char *const[]){ RUN, OTHER, NULL }, on_reply, NULL);
		peer_pump(farm, is_answered);
		assert_int_equal(reply.claimed, rows[i].claimed);
		if (i == 0) {
			assert_string_equal(peer.sql[peer.asked - 1],
					    "select * from mortise_farm.claim($1, $2, $3, $4, $5, $6, "
					    "$7)|w1|m|2|7|1|12|{" RUN "," OTHER "}");
			assert_string_equal(reply.run, RUN);
			assert_string_equal(reply.batch.key, KEY);
			assert_int_equal(reply.batch.first, 40);
			assert_int_equal(reply.batch.count, 8);
			assert_int_equal(reply.lease_ms, 60000);
		}
		mor_farm_free(farm);
		peer_hang_up();
	}
}

/* Others can write to the database: what is no digest stays empty, and no more are taken than there is room. */
static void test_batches_that_ended(void **state)
{
	struct mor_farm *farm = open_farm(AN_OWNER);

	(void)state;
	ANSWERS(HELLO, OWN, { .cells = { "8", "4", KEY, "2", "1", OTHER, "50" }, .rows = 20 },
		{ .cells = { "-8", "x", "KEY", "7", "9", "../../etc", "" } });
	mor_farm_done(farm, 4, 8, 1, on_reply, NULL);
	peer_pump(farm, is_answered);
	assert_string_equal(peer.sql[2],
			    "select * from mortise_farm.done($1, $2, $3, $4, $5)|" RUN "|4|8|1|16");
	assert_int_equal(reply.count, MOR_FARM_GROUP);
	assert_int_equal(reply.ended[15].batch.first, 8);
	assert_int_equal(reply.ended[15].state, MOR_FARM_DONE);
	assert_string_equal(reply.ended[15].segment, OTHER);
	assert_int_equal(reply.ended[15].took_ms, 50);
	replies = 0;
	mor_farm_done(farm, 4, 8, 1, on_reply, NULL);
	peer_pump(farm, is_answered);
	assert_int_equal(reply.count, 1);
	assert_int_equal(reply.ended[0].batch.first, 0);
	assert_int_equal(reply.ended[0].state, MOR_FARM_POISONED);
	assert_string_equal(reply.ended[0].batch.key, "");
	assert_string_equal(reply.ended[0].segment, "");
	mor_farm_free(farm);
}

/* ---- questions ---- */

/* The last question, as the server would get it; nothing is sent. */
static const char *queued(struct mor_farm *farm)
{
	static char text[1500];
	struct pg_ask *ask = farm->asks;
	size_t len;

	while (ask->next)
		ask = ask->next;
	len = (size_t)snprintf(text, sizeof(text), "%.40s", ask->sql);
	for (int i = 0; i < ask->count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "|%s", ask->params[i]);
	return text;
}

static const struct mor_farm_batch batches[] = { { 0, 4, KEY }, { 4, 2, OTHER } };
static const struct mor_farm_made made = { OTHER, 900, { .unit = 5, .name = "slow", .ms = 800 } };
static const struct mor_farm_unit units[] = { { 3, "a \"b\" \\ {c},", 0, "why, \"so\"" },
					      { 4, "", 0, "" },
					      { 5, "x", 0, "y" },
					      { 6, "x", 0, "y" },
					      { 7, "x", 0, "y" } };

static int ask_verb(struct mor_farm *farm, int verb)
{
	switch (verb) {
	case 0:
		return mor_farm_submit(farm, batches, 2, false, NULL, NULL);
	case 1:
		return mor_farm_claim(farm, &worker, 1, NULL, NULL, NULL);
	case 2:
		return mor_farm_beat(farm, &worker, RUN, 4, 1000, NULL, NULL);
	case 3:
		return mor_farm_commit(farm, &worker, RUN, &batches[1], &made, NULL, NULL);
	case 4:
		return mor_farm_done(farm, 1, 2, 3, NULL, NULL);
	case 5:
		return mor_farm_trouble(farm, &worker, RUN, "disk\n\x1b");
	case 6:
		return mor_farm_failed(farm, 9, units, 5);
	case 7:
		return mor_farm_leave(farm, &worker);
	case 8:
		return mor_farm_ask(farm, MOR_FARM_FINISH, 0, NULL, NULL);
	case 9:
		return mor_farm_ask(farm, MOR_FARM_STATUS, 30, NULL, NULL);
	default:
		return mor_farm_submit(farm, batches, 1, true, NULL, NULL);
	}
}

static void test_verbs(void **state)
{
	static const char *const wanted[] = {
		"select mortise_farm.submit($1, $2, $3, $|" RUN "|{0,4}|{4,2}|{" KEY "," OTHER "}|f",
		"select * from mortise_farm.claim($1, $2,|w1|m|2|7|1|1|{}",
		"select mortise_farm.beat($1, $2, $3, $4,|w1|m|2|7|1|" RUN "|4|1000",
		"select mortise_farm.commit_batch($1, $2,|w1|m|2|7|1|" RUN "|4|2|" OTHER "|" OTHER
		"|900|5|slow|800",
		"select * from mortise_farm.done($1, $2, |" RUN "|1|2|3|16",
		"select mortise_farm.trouble($1, $2, $3)|w1|" RUN "|disk\\x0a\\x1b",
		/* four of five, and nothing leaves its quotes */
		"select mortise_farm.failed($1, $2, $3, $|" RUN "|9|{3,4,5,6}"
		"|{\"a \\\"b\\\" \\\\ {c},\",\"\",\"x\",\"x\"}|{\"why, \\\"so\\\"\",\"\",\"y\",\"y\"}",
		"select mortise_farm.leave($1)|w1",
		"select mortise_farm.finish($1)|" RUN,
		"select mortise_farm.status($1)|30",
		"select mortise_farm.submit($1, $2, $3, $|" RUN "|{0}|{4}|{" KEY "}|t",
	};
	struct mor_farm *farm = open_farm(AN_OWNER);

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_int_equal(ask_verb(farm, (int)i), 0);
		assert_string_equal(queued(farm), wanted[i]);
	}
	mor_farm_free(farm);
}

/* One that cannot be asked whole is not asked at all. */
static void test_verbs_without_memory(void **state)
{
	struct mor_farm *farm = open_farm(AN_OWNER);

	(void)state;
	for (int verb = 0; verb < 11; verb++) {
		struct pg_ask **before = farm->end;

		for (long n = 0, r = MORTISE_ENOMEM; r == MORTISE_ENOMEM; n++) {
			mor_alloc_fail_after(n);
			r = ask_verb(farm, verb);
			mor_alloc_fail_after(-1);
			assert_true(r == MORTISE_ENOMEM || (r == 0 && n > 1));
			assert_int_equal(*before != NULL, r == 0);
		}
	}
	mor_farm_free(farm);
}

static void test_open_without_memory(void **state)
{
	struct mor_farm *farm = NULL;

	(void)state;
	mor_farm_free(open_farm(A_WORKER));
	for (long n = 0, r = MORTISE_ENOMEM; r == MORTISE_ENOMEM; n++) {
		mor_alloc_fail_after(n);
		r = mor_farm_open(&(struct mor_farm_options){ .url = url }, &farm, &err);
		mor_alloc_fail_after(-1);
		assert_true(r == MORTISE_ENOMEM || (r == 0 && n > 1));
	}
	mor_farm_free(farm);
}

static int make_top(void **state)
{
	(void)state;
	unsetenv("PGPASSWORD");
	unsetenv("PGSERVICE");
	unsetenv("PGPORT");
	if (top_make("farm") < 0)
		return -1;
	setenv("HOME", top, 1);
	return setenv("PGUSER", "somebody", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PEER_TEST(test_urls),
		PEER_TEST(test_no_server),
		PEER_TEST(test_who_greets_how),
		PEER_TEST(test_versions_of_the_schema),
		PEER_TEST(test_a_run_that_has_an_owner),
		PEER_TEST(test_a_lock_after_a_lost_connection),
		PEER_TEST(test_errors_that_pass),
		PEER_TEST(test_errors_that_stay),
		PEER_TEST(test_a_lost_connection),
		PEER_TEST(test_a_server_that_ends_in_the_greeting),
		PEER_TEST(test_news),
		PEER_TEST(test_a_claim),
		PEER_TEST(test_batches_that_ended),
		PEER_TEST(test_verbs),
		PEER_TEST(test_verbs_without_memory),
		PEER_TEST(test_open_without_memory),
	};

	return mor_run_group_in("farm/farm", tests, make_top, top_drop);
}
