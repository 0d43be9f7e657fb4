/* Conversations and what goes beside a call's arguments, as an embedder of G-Assist plugins sees them. */
#include "api.h"

static mortise_plugin_options gassist_options(struct rig *rig, const char *argv[3])
{
	mortise_plugin_options opt = rig_options(rig, "", argv);

	argv[0] = "/usr/bin/python3";
	argv[1] = GASSIST_PLUGIN;
	argv[2] = NULL;
	opt.dialect = "gassist";
	return opt;
}

/* A session begins, goes on, is over; each is an event, and input is refused outside it. */
static void conversation(void **state)
{
	const char *argv[3];
	mortise_plugin_options opt;
	mortise_error err = { 0 };
	struct rig rig;

	(void)state;
	rig_open(&rig);
	opt = gassist_options(&rig, argv);
	rig.plugin = rig_plugin(&rig, &opt);
	assert_int_equal(mortise_call_start(rig.plugin, "input", json("{\"content\":\"x\"}"), NULL, NULL, &err), MORTISE_EINPUT);
	assert_contains(err.text, "no session is open");
	mortise_free(ask(&rig, "talk", NULL));
	assert_int_equal(rig.events[MORTISE_EVENT_SESSION], 1);
	assert_int_equal(rig.bytes[MORTISE_EVENT_SESSION], 300000); /* ms that it has */
	mortise_free(ask(&rig, "input", "{\"content\":\"Ada\"}"));
	assert_int_equal(rig.events[MORTISE_EVENT_SESSION], 1);
	mortise_free(ask(&rig, "input", "{\"content\":\"exit\"}"));
	assert_int_equal(rig.events[MORTISE_EVENT_SESSION], 2);
	assert_int_equal(mortise_call_start(rig.plugin, "input", json("{\"content\":\"x\"}"), NULL, NULL, &err), MORTISE_EINPUT);
	rig_close(&rig);
}

/* `extra` is borrowed for the length of the call that takes it, also by a pool, where it waits. */
static void extra_is_copied(void **state)
{
	const char *argv[3];
	char extra[] = "{\"system_info\":\"a PC\"}";
	mortise_pool_options pool_opt = { .size = sizeof(pool_opt), .workers = 1 };
	mortise_plugin_options opt;
	mortise_call_options call;
	mortise_pool *pool = NULL;
	mortise_error err = { 0 };
	struct got got;
	struct rig rig;

	(void)state;
	rig_open(&rig);
	opt = gassist_options(&rig, argv);
	assert_int_equal(mortise_pool_new(rig.host, &opt, &pool_opt, &pool, &err), 0);
	call = got_options(&rig, &got, NO_TIMER_MS);
	call.extra = (mortise_json){ extra, sizeof(extra) - 1 };
	assert_int_equal(mortise_pool_call(pool, "echo", json(NULL), &call, &err), 0);
	memset(extra, 'x', sizeof(extra) - 1);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_OK);
	assert_contains(got.result, "\"system_info\":\"a PC\"");
	got_clear(&got);
	assert_null(mortise_pool_free(pool));
	rig_close(&rig);
}

/* What is no object is refused before anything is sent. */
static void extra_is_checked(void **state)
{
	const char *argv[3];
	mortise_call_options call = { .size = sizeof(call), .extra = { "{oops", 5 } };
	mortise_plugin_options opt;
	mortise_error err = { 0 };
	struct rig rig;

	(void)state;
	rig_open(&rig);
	opt = gassist_options(&rig, argv);
	rig.plugin = rig_plugin(&rig, &opt);
	assert_int_equal(mortise_call_start(rig.plugin, "echo", json(NULL), &call, NULL, &err), MORTISE_EINVAL);
	call.extra = (mortise_json){ "[1]", 3 };
	assert_int_equal(mortise_call_start(rig.plugin, "echo", json(NULL), &call, NULL, &err), MORTISE_EINVAL);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(conversation),
		API_TEST(extra_is_copied),
		API_TEST(extra_is_checked),
	};

	return mor_run_group("api/session", tests);
}
