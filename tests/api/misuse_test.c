/* SPDX-License-Identifier: Apache-2.0 */
/* What an embedder may get wrong, and what it may leave out: each is told at once, and breaks nothing. */
#include "api.h"

static void nothing_at_all(void **state)
{
	mortise_host_options host_opt = { .size = sizeof(host_opt), .flags = UINT64_C(1) << 40 };
	mortise_error err = { 0 };
	mortise_host *host = NULL;
	char *text = NULL;

	(void)state;
	assert_int_equal(mortise_call_start(NULL, "echo", json(NULL), NULL, NULL, &err), MORTISE_EINVAL);
	assert_contains(err.text, "plugin is NULL");
	assert_int_equal(mortise_plugin_new(NULL, NULL, NULL, &err), MORTISE_EINVAL);
	assert_int_equal(mortise_call_cancel(NULL, NULL), MORTISE_EINVAL);
	assert_int_equal(mortise_plugin_stop(NULL, MORTISE_STOP_NOW, NULL), MORTISE_EINVAL);
	assert_null(mortise_plugin_ref(NULL));
	assert_int_equal(mortise_pool_call(NULL, "echo", json(NULL), NULL, NULL, &err), MORTISE_EINVAL);
	assert_int_equal(mortise_request_reply(NULL, json("1"), NULL), MORTISE_EINVAL);
	assert_int_equal(mortise_request_fail(NULL, -1, "x", json(NULL), NULL), MORTISE_EINVAL);
	assert_int_equal(mortise_host_adopt(NULL, NULL), MORTISE_EINVAL);
	assert_int_equal(mortise_dialect_describe("plain", NULL, &text, NULL), MORTISE_EINVAL);
	assert_int_equal(mortise_dialect_describe("plain", "text", NULL, NULL), MORTISE_EINVAL);
	assert_int_equal(mortise_host_new(&host_opt, &host, &err), MORTISE_EINVAL);
	assert_contains(err.text, "unknown flags");
	assert_null(host);
}

/* A struct of a newer library, with a byte set that this one does not know. */
static void options_of_tomorrow(void **state)
{
	struct {
		mortise_host_options known;
		char more[16];
	} opt = { .known.size = sizeof(opt), .more = { [8] = 1 } };
	mortise_error err = { 0 };
	mortise_host *host = NULL;

	(void)state;
	assert_int_equal(mortise_host_new(&opt.known, &host, &err), MORTISE_EINVAL);
	assert_contains(err.text, "is set, but this library");
	assert_null(host);
}

static void references(void **state)
{
	struct rig rig;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	assert_ptr_equal(mortise_plugin_ref(rig.plugin), rig.plugin);
	assert_null(mortise_plugin_unref(rig.plugin));
	assert_echoes(&rig); /* one is left */
	rig_close(&rig);
}

static void refused(struct rig *rig, const char *dialect, const char *setting, const char *text)
{
	const char *argv[3];
	mortise_plugin_options opt = rig_options(rig, "ok", argv);
	mortise_plugin *plugin = NULL;
	mortise_error err = { 0 };
	int r;

	opt.dialect = dialect;
	opt.set = SET(setting);
	r = mortise_plugin_new(rig->host, &opt, &plugin, &err);
	assert_true(r == MORTISE_EMANIFEST || r == MORTISE_EINVAL); /* EINVAL: the setting is no setting */
	assert_contains(err.text, text);
	assert_null(plugin);
}

static void settings(void **state)
{
	static const struct {
		const char *dialect, *setting, *text;
	} table[] = {
		{ "plain", "restart.intensity=65", "restart.intensity: at most 64" },
		{ "plain", "restart.intensity=often", "restart.intensity" },
		{ "plain", "restart.first=soon", "restart.first" },
		{ "plain", "limits.depth=1025", "limits.depth: at most 1024" },
		{ "plain", "limits.frame=big", "limits.frame" },
		{ "plain", "plugin.framing=smoke", "use lines, decimal, be32 or headers" },
		{ "plain", "timeouts.echo=soon", "timeouts.echo" },
		{ "yams", "quirks.nosuch=1", "unknown quirk \"nosuch\" (mortise explain yams lists them)" },
		{ "gassist", "quirks.shutdown=shout", "quirk \"shutdown\" must be one of note|request" },
		{ "plain", "sandbox.read=no/such/absolute", "sandbox.read" },
	};
	struct rig rig;

	(void)state;
	rig_open(&rig);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		refused(&rig, table[i].dialect, table[i].setting, table[i].text);
	rig_close(&rig);
}

/* A pool of a plugin that cannot be made leaves no worker behind. */
static void pool_that_cannot_be(void **state)
{
	mortise_pool_options pool_opt = { .size = sizeof(pool_opt), .workers = 3 };
	const char *argv[3];
	mortise_plugin_options opt;
	mortise_error err = { 0 };
	mortise_pool *pool = NULL;
	struct rig rig;

	(void)state;
	rig_open(&rig);
	opt = rig_options(&rig, "ok", argv);
	opt.set = SET("restart.intensity=65");
	assert_int_equal(mortise_pool_new(rig.host, &opt, &pool_opt, &pool, &err), MORTISE_EMANIFEST);
	assert_null(pool);
	opt.set = NULL;
	assert_int_equal(mortise_pool_new(rig.host, &opt, &pool_opt, &pool, &err), 0);
	assert_int_equal(mortise_pool_call(pool, NULL, json(NULL), NULL, NULL, &err), MORTISE_EINVAL);
	assert_null(mortise_pool_free(pool));
	rig_close(&rig);
}

/* Blanks around params do not reach the plugin; names may be as long as one likes. */
static void odd_but_right(void **state)
{
	char name[600];
	struct rig rig;
	mortise_error err = { 0 };

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
	ask_expect(&rig, "echo", " \t[1]", "[1]");
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 2; i++) {
		assert_int_equal(mortise_call_sync(rig.plugin, name, json("{}"), NULL, NULL, &err),
				 MORTISE_EREMOTE);
		assert_int_equal(err.rpc_code, -32601);
	}
	rig_close(&rig);
}

static void count_piece(const mortise_reply *reply, void *arg)
{
	assert_true(reply->more);
	++*(int *)arg;
}

/* "on_reply in `opt`, if set, sees the pieces only." */
static void sync_with_pieces(void **state)
{
	const char *argv[3];
	mortise_plugin_options opt;
	int pieces = 0;
	mortise_call_options call = {
		.size = sizeof(call), .on_reply = count_piece, .arg = &pieces, .extra = { "  {}", 4 }
	};
	mortise_error err = { 0 };
	char *result = NULL;
	struct rig rig;

	(void)state;
	rig_open(&rig);
	opt = rig_options(&rig, "", argv);
	argv[0] = "/usr/bin/python3";
	argv[1] = GASSIST_PLUGIN;
	argv[2] = NULL;
	opt.dialect = "gassist";
	rig.plugin = rig_plugin(&rig, &opt);
	assert_int_equal(mortise_call_sync(rig.plugin, "count", json("{\"to\":3}"), &call, &result, &err), 0);
	assert_contains(result, "\"done\"");
	assert_int_equal(pieces, 3);
	mortise_free(result);
	/* As it is, and not judged: what it says of failure is for who asked. */
	call = (mortise_call_options){ .size = sizeof(call), .flags = MORTISE_RAW };
	assert_int_equal(mortise_call_sync(rig.plugin, "ping", json("{\"timestamp\":1}"), &call, &result, &err),
			 0);
	assert_contains(result, "\"timestamp\"");
	mortise_free(result);
	rig_close(&rig);
}

/* Paused with messages already read: they come when it goes on, and only then. */
struct pauser {
	struct got got[2];
	int waiting;
};

static void pause_at_first(const mortise_reply *reply, void *arg)
{
	struct pauser *p = arg;

	if (p->got[0].finals == 0 && !reply->more)
		assert_int_equal(mortise_plugin_pause(reply->plugin, 1, NULL), 0);
	got_reply(reply, &p->got[p->got[0].finals]);
}

static void pause_between_two_replies(void **state)
{
	struct rig rig;
	struct pauser p = { 0 };
	mortise_call_options opt;

	(void)state;
	rig_open_bad(&rig, "reverse_order", NO_SET);
	memset(&p, 0, sizeof(p));
	opt = got_options(&rig, &p.got[0], NO_TIMER_MS);
	p.got[1].rig = &rig;
	opt.on_reply = pause_at_first;
	opt.arg = &p;
	for (int i = 0; i < 8; i++) /* answered in one write */
		assert_int_equal(mortise_call_start(rig.plugin, "go", json(NULL), i < 2 ? &opt : NULL, NULL,
						    NULL),
				 0);
	rig_until(&rig, &p.got[0].finals, 1, "the first reply");
	rig_settle(&rig);
	assert_int_equal(p.got[1].finals, 0);
	assert_int_equal(mortise_plugin_pause(rig.plugin, 1, NULL), 0);
	assert_int_equal(mortise_plugin_pause(rig.plugin, 0, NULL), 0);
	rig_until(&rig, &p.got[1].finals, 1, "the second reply");
	got_clear(&p.got[0]);
	got_clear(&p.got[1]);
	rig_close(&rig);
}

/* A program has no option --set: its texts name the setting, unless it asks for the words of the command. */
static void texts_name_settings(void **state)
{
	static const struct {
		const char *set, *plain, *command;
	} rows[] = {
		{ "nonsense", "setting \"nonsense\": write it as section.key=value",
		  "--set \"nonsense\": write it as section.key=value" },
		{ "limits.in_flight=x", "setting: limits.in_flight is \"x\"",
		  "--set: limits.in_flight is \"x\"" },
		{ "sandbox.read=x", "setting: sandbox.read is \"x\"", "--set: sandbox.read is \"x\"" },
	};
	const char *const argv[] = { "/bin/true", NULL };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(*rows); i++) {
		mortise_host_options opt = { .size = sizeof(opt), .flags = i % 2 ? MORTISE_COMMAND_WORDS : 0 };
		mortise_plugin_options which = { .size = sizeof(which),
						 .argv = argv,
						 .set = SET(rows[i / 2].set) };
		mortise_plugin *plugin = NULL;
		mortise_host *host = NULL;
		mortise_error err;

		assert_int_equal(mortise_host_new(&opt, &host, NULL), 0);
		assert_int_equal(mortise_plugin_new(host, &which, &plugin, &err), MORTISE_EINVAL);
		assert_contains(err.text, i % 2 ? rows[i / 2].command : rows[i / 2].plain);
		assert_null(mortise_host_free(host));
	}
}

/* Each function that has `err` writes its reason there. */
static void errors_have_texts(void **state)
{
	struct rig rig;
	mortise_error err;
	char *text = NULL;

	(void)state;
	rig_open_bad(&rig, "ok", NO_SET);
#define REFUSES(status, call) \
	do { \
		err = (mortise_error){ 0 }; \
		assert_int_equal(call, status); \
		assert_int_equal(err.code, status); \
		assert_true(err.text[0] != '\0'); \
	} while (0)
	REFUSES(MORTISE_EINVAL, mortise_host_adopt(NULL, &err));
	REFUSES(MORTISE_EINVAL, mortise_plugin_stop(rig.plugin, (enum mortise_stop)7, &err));
	REFUSES(MORTISE_EINVAL, mortise_plugin_describe(rig.plugin, NULL, &err));
	REFUSES(MORTISE_EINVAL, mortise_call_cancel(NULL, &err));
	REFUSES(MORTISE_EINVAL, mortise_request_reply(NULL, json(NULL), &err));
	REFUSES(MORTISE_EINVAL, mortise_request_fail(NULL, 1, "x", json(NULL), &err));
	REFUSES(MORTISE_EINVAL, mortise_pool_stop(NULL, MORTISE_STOP_NOW, &err));
	REFUSES(MORTISE_EINVAL, mortise_pool_describe(NULL, &text, &err));
	REFUSES(MORTISE_ENOTFOUND, mortise_dialect_describe("klingon", "text", &text, &err));
	REFUSES(MORTISE_EINVAL, mortise_dialect_describe("plain", "poem", &text, &err));
#undef REFUSES
	assert_null(text);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(nothing_at_all),    API_TEST(options_of_tomorrow),       API_TEST(references),
		API_TEST(settings),          API_TEST(pool_that_cannot_be),       API_TEST(odd_but_right),
		API_TEST(sync_with_pieces),  API_TEST(pause_between_two_replies), API_TEST(texts_name_settings),
		API_TEST(errors_have_texts),
	};

	return mor_run_group("misuse", tests);
}
