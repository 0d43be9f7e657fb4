/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MORTISE_LENT: large params are written from the embedder's memory, which is its own again in the last
 * on_reply, however the call ends. The test overwrites and frees it right there, so a reader that comes later
 * is seen: by the address sanitizer, or because the plugin gets something else.
 */
#include <signal.h>

#include "api.h"

#define LOAN ((size_t)16 << 20) /* more than any pipe holds */

/* A plugin, or the one worker of a pool. */
struct bank {
	struct rig rig;
	mortise_pool *pool; /* or NULL */
};

struct loan {
	struct got got; /* first: see give_back() */
	char *params;
};

static char *loan_text(void)
{
	char *text = test_malloc(LOAN + 1);

	memset(text, 'x', LOAN);
	memcpy(text, "[\"", 2);
	memcpy(text + LOAN - 2, "\"]", 3);
	return text;
}

/* Every byte becomes the end of a line: what is sent of it now would be heard as noise. */
static void give_back(const mortise_reply *reply, void *arg)
{
	struct loan *loan = arg;

	got_reply(reply, &loan->got);
	if (reply->more)
		return;
	assert_non_null(loan->params);
	memset(loan->params, '\n', LOAN);
	test_free(loan->params);
	loan->params = NULL;
}

/* bad MODE; or `argv`. */
static void bank_open(struct bank *bank, const char *mode, const char *const *argv, bool pool)
{
	mortise_pool_options pool_opt = { .size = sizeof(pool_opt), .workers = 1 };
	const char *usual[3];
	mortise_plugin_options opt;

	bank->pool = NULL;
	rig_open(&bank->rig);
	opt = rig_options(&bank->rig, mode, usual);
	if (argv)
		opt.argv = argv;
	if (!pool) {
		bank->rig.plugin = rig_plugin(&bank->rig, &opt);
		return;
	}
	assert_int_equal(mortise_pool_new(bank->rig.host, &opt, &pool_opt, &bank->pool, NULL), 0);
	bank->rig.plugin = mortise_pool_worker(bank->pool, 0);
}

static void bank_close(struct bank *bank)
{
	if (bank->pool) {
		assert_null(mortise_pool_free(bank->pool));
		bank->rig.plugin = NULL; /* was the pool's */
	}
	rig_close(&bank->rig);
}

static void lend(struct bank *bank, struct loan *loan, uint32_t timeout_ms)
{
	mortise_call_options opt = got_options(&bank->rig, &loan->got, timeout_ms);
	mortise_json params;
	int r;

	loan->params = loan_text();
	params = json(loan->params);
	opt.flags = MORTISE_LENT;
	opt.on_reply = give_back;
	r = bank->pool ? mortise_pool_call(bank->pool, "echo", params, &opt, NULL, NULL) :
			 mortise_call_start(bank->rig.plugin, "echo", params, &opt, &loan->got.call, NULL);
	assert_int_equal(r, 0);
}

static void assert_given_back(struct loan *loan, int status)
{
	assert_int_equal(loan->got.finals, 1);
	assert_int_equal(loan->got.status, status);
	assert_null(loan->params);
	got_clear(&loan->got);
}

/* Lends to a plugin that has stopped reading; the number of its process. */
static int lend_in_vain(struct bank *bank, struct loan *loan)
{
	int pid = ask_pid(&bank->rig);

	kill(pid, SIGSTOP);
	lend(bank, loan, NO_TIMER_MS);
	rig_settle(&bank->rig);
	assert_int_equal(loan->got.finals, 0);
	return pid;
}

static void is_answered(void **state)
{
	char *same = loan_text();

	(void)state;
	for (int pool = 0; pool < 2; pool++) {
		struct bank bank;
		struct loan loan;

		bank_open(&bank, "ok", NULL, pool);
		lend(&bank, &loan, NO_TIMER_MS);
		until_done(&loan.got);
		assert_string_equal(loan.got.result, same);
		assert_given_back(&loan, MORTISE_OK);
		bank_close(&bank);
	}
	test_free(same);
}

/* For some plugins the beginning is enough. The rest stays in the way of the next message. */
static void is_answered_before_it_was_read(void **state)
{
	static const char *const argv[] = { "/bin/sh", "-c",
					    "head -c 65536 >/dev/null\n"
					    "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[7]}'\n"
					    "kill -STOP $$\n",
					    NULL };

	(void)state;
	for (int pool = 0; pool < 2; pool++) {
		struct bank bank;
		struct loan loan;

		bank_open(&bank, "hasty", argv, pool);
		lend(&bank, &loan, NO_TIMER_MS);
		until_done(&loan.got);
		assert_string_equal(loan.got.result, "[7]");
		assert_given_back(&loan, MORTISE_OK);
		rig_settle(&bank.rig);
		bank_close(&bank);
	}
}

static void dies(void **state)
{
	(void)state;
	for (int pool = 0; pool < 2; pool++) {
		struct bank bank;
		struct loan loan;

		bank_open(&bank, "ok", NULL, pool);
		kill(lend_in_vain(&bank, &loan), SIGKILL);
		until_done(&loan.got);
		assert_given_back(&loan, MORTISE_ECRASHED);
		bank_close(&bank);
	}
}

/* The plugin reads on: the rest of the message is as it was, so it answers, late. */
static void is_cancelled(void **state)
{
	struct bank bank;
	struct loan loan;
	int pid;

	(void)state;
	bank_open(&bank, "ok", NULL, false);
	pid = lend_in_vain(&bank, &loan);
	assert_int_equal(mortise_call_cancel(loan.got.call, NULL), 0);
	until_done(&loan.got);
	assert_given_back(&loan, MORTISE_ECANCELED);
	kill(pid, SIGCONT);
	rig_until(&bank.rig, &bank.rig.events[MORTISE_EVENT_DROPPED], 1, "its late answer");
	assert_int_equal(ask_pid(&bank.rig), pid);
	bank_close(&bank);
}

static void times_out(void **state)
{
	(void)state;
	for (int pool = 0; pool < 2; pool++) {
		struct bank bank;
		struct loan loan;

		bank_open(&bank, "never_reads", NULL, pool);
		lend(&bank, &loan, 50);
		until_done(&loan.got);
		assert_given_back(&loan, MORTISE_ETIMEOUT);
		rig_settle(&bank.rig);
		bank_close(&bank);
	}
}

/* One is being written, the next waits behind it. */
static void is_stopped(void **state)
{
	(void)state;
	for (int pool = 0; pool < 2; pool++) {
		struct bank bank;
		struct loan loan[2];

		bank_open(&bank, "ok", NULL, pool);
		lend_in_vain(&bank, &loan[0]);
		lend(&bank, &loan[1], NO_TIMER_MS);
		rig_settle(&bank.rig);
		mortise_plugin_stop(bank.rig.plugin, MORTISE_STOP_NOW, NULL);
		until_done(&loan[0].got);
		until_done(&loan[1].got);
		for (int i = 0; i < 2; i++)
			assert_given_back(&loan[i], loan[i].got.status);
		bank_close(&bank);
	}
}

/* While it waits for the start, and while it is written. */
static void is_released(void **state)
{
	(void)state;
	for (int pool = 0; pool < 2; pool++) {
		for (int written = 0; written < 2; written++) {
			struct bank bank;
			struct loan loan;

			bank_open(&bank, "ok", NULL, pool);
			if (written)
				lend_in_vain(&bank, &loan);
			else
				lend(&bank, &loan, NO_TIMER_MS);
			bank_close(&bank);
			assert_given_back(&loan, MORTISE_ECANCELED);
		}
	}
}

/* Without on_reply nobody knows how long: they are copied. */
static void nobody_waits(void **state)
{
	(void)state;
	for (int pool = 0; pool < 2; pool++) {
		mortise_call_options opt = { .size = sizeof(opt), .flags = MORTISE_LENT };
		struct bank bank;
		char *params = loan_text(), *described;
		int r;

		bank_open(&bank, "ok", NULL, pool);
		r = pool ? mortise_pool_call(bank.pool, "echo", json(params), &opt, NULL, NULL) :
			   mortise_call_start(bank.rig.plugin, "echo", json(params), &opt, NULL, NULL);
		assert_int_equal(r, 0);
		memset(params, '\n', LOAN);
		test_free(params);
		rig_until_state(&bank.rig, MORTISE_READY);
		assert_echoes(&bank.rig); /* after it */
		assert_int_equal(mortise_plugin_describe(bank.rig.plugin, &described, NULL), 0);
		assert_contains(described, "\"answered\":2");
		mortise_free(described);
		bank_close(&bank);
	}
}

/* A call that is refused has no last on_reply: nothing of it may be in the next call, whichever
 * plugin gets it. */
static void is_refused(void **state)
{
	static const char *const missing[] = { "/nonexistent/plugin", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = missing };

	(void)state;
	for (int sync = 0; sync < 2; sync++) {
		struct bank bank;
		struct loan loan = { 0 };
		mortise_call_options lent;
		mortise_plugin *other;

		bank_open(&bank, "ok", NULL, false);
		other = rig_plugin(&bank.rig, &opt);
		lent = got_options(&bank.rig, &loan.got, 0);
		lent.flags = MORTISE_LENT;
		lent.on_reply = give_back;
		loan.params = loan_text();
		assert_true((sync ? mortise_call_sync(other, "echo", json(loan.params), NULL, NULL, NULL) :
				    mortise_call_start(other, "echo", json(loan.params), &lent, NULL, NULL)) <
			    0);
		test_free(loan.params);
		assert_echoes(&bank.rig); /* it has to wait for the start */
		mortise_plugin_unref(other);
		bank_close(&bank);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(is_answered), API_TEST(is_answered_before_it_was_read),
		API_TEST(dies),        API_TEST(is_cancelled),
		API_TEST(times_out),   API_TEST(is_stopped),
		API_TEST(is_released), API_TEST(nobody_waits),
		API_TEST(is_refused),
	};

	return mor_run_group("api/lent", tests);
}
