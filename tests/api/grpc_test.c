/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins over gRPC, as an embedder has them: libmortise loads libmortise-grpc.so by itself. */
#include "api.h"

static const char *const argv_of_plugin[] = { "/usr/bin/python3", GRPC_PLUGIN, NULL };
static const char *const open_set[] = { "plugin.transport=grpc", "sandbox.unconfined=true", "grpc.start=60s",
					NULL };

static void rig_open_grpc(struct rig *rig, const char *const *env)
{
	mortise_plugin_options opt = { .size = sizeof(opt),
				       .argv = argv_of_plugin,
				       .dialect = "sunscreen",
				       .set = open_set,
				       .env = env,
				       .on_event = rig_event,
				       .arg = rig };

	rig_open(rig);
	rig->plugin = rig_plugin(rig, &opt);
}

static void calls_in_a_row(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_grpc(&rig, NULL);
	for (int i = 0; i < 3; i++) /* a process each */
		ask_expect(&rig, "scaffold:nothing", "{\"args\":[],\"workspace_root\":\"/\"}", "null");
	rig_close(&rig);
}

static void refused_without_the_plugin(void **state)
{
	struct rig rig;
	mortise_error err;

	(void)state;
	rig_open_grpc(&rig, NULL);
	assert_int_equal(mortise_call_sync(rig.plugin, "run", json("{\"command\":\"nocolon\"}"), NULL, NULL,
					   &err),
			 MORTISE_EREMOTE);
	assert_int_equal(err.rpc_code, -32602);
	assert_contains(err.text, "KIND:NAME");
	rig_close(&rig);
}

static void cancelled(void **state)
{
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_grpc(&rig, NULL);
	start(&rig, &got, "scaffold:hangs", "{\"args\":[],\"workspace_root\":\"/\"}", NO_TIMER_MS);
	rig_until_state(&rig, MORTISE_READY);
	assert_int_equal(mortise_call_cancel(got.call, NULL), 0);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECANCELED);
	rig_until_state(&rig, MORTISE_STOPPED);
	got_clear(&got);
	rig_close(&rig);
}

/* At any time: while it starts, while it is being asked, while it answers. */
static void released_early(void **state)
{
	(void)state;
	for (int turns = 0; turns < 12; turns++) {
		struct rig rig;
		struct got got;

		rig_open_grpc(&rig, NULL);
		start(&rig, &got, "scaffold:hangs", "{\"args\":[],\"workspace_root\":\"/\"}", NO_TIMER_MS);
		for (int i = 0; i < turns && !got.finals; i++)
			rig_turn(&rig);
		rig.plugin = mortise_plugin_unref(rig.plugin);
		assert_int_equal(got.finals, 1);
		assert_int_equal(got.status, MORTISE_ECANCELED);
		got_clear(&got);
		rig_close(&rig);
	}
}

static void stopped_while_it_starts(void **state)
{
	static const char *const silent[] = { "GRPC_HOW=silent", NULL };
	struct rig rig;
	struct got got;

	(void)state;
	rig_open_grpc(&rig, silent);
	start(&rig, &got, "scaffold:hello", "{\"args\":[],\"workspace_root\":\"/\"}", 0);
	for (int i = 0; i < 3; i++)
		rig_turn(&rig);
	assert_int_equal(mortise_plugin_stop(rig.plugin, MORTISE_STOP_POLITE, NULL), 0);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_ECLOSED);
	rig_until_state(&rig, MORTISE_STOPPED);
	got_clear(&got);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(calls_in_a_row), API_TEST(refused_without_the_plugin), API_TEST(cancelled),
		API_TEST(released_early), API_TEST(stopped_while_it_starts),
	};

	return mor_run_group("api/grpc", tests);
}
