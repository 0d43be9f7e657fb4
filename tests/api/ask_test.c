/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin asks of the host: requests answered now or later, notifications, batches. */
#include "api.h"

#define MAX_HELD 8

/* What on_request does, and what it saw. */
struct desk {
	struct rig rig;
	bool later; /* keep the request instead of answering at once */
	mortise_request *held[MAX_HELD];
	int asked;
	int status; /* of the last answer that may fail */
	char method[64], params[256];
};

/* A string of so many bytes. */
static int reply_with(mortise_request *request, size_t len)
{
	char *text = malloc(len);
	int r;

	assert_non_null(text);
	memset(text, 'x', len);
	text[0] = text[len - 1] = '"';
	r = mortise_request_reply(request, (mortise_json){ text, len }, NULL);
	free(text);
	return r;
}

static void on_request(mortise_request *request, const char *method, mortise_json params, void *arg)
{
	struct desk *desk = arg;

	assert_ptr_equal(mortise_request_plugin(request), desk->rig.plugin);
	snprintf(desk->method, sizeof(desk->method), "%s", method);
	snprintf(desk->params, sizeof(desk->params), "%.*s", (int)params.len, params.text ? params.text : "");
	if (desk->later)
		desk->held[desk->asked % MAX_HELD] = request;
	else if (strcmp(method, "garbage") == 0)
		desk->status = mortise_request_reply(request, json("{\"answer\":"), NULL);
	else if (strcmp(method, "garbage data") == 0)
		desk->status = mortise_request_fail(request, -1, "no", json("nonsense"), NULL);
	else if (strcmp(method, "much") == 0)
		desk->status = reply_with(request, 100000);
	else if (strcmp(method, "some") == 0)
		desk->status = reply_with(request, 5000);
	else if (strcmp(method, "lines") == 0)
		desk->status = mortise_request_reply(request, json("{\n\t\"answer\":\n42\n}"), NULL);
	else if (strcmp(method, "refuse") == 0)
		assert_int_equal(mortise_request_fail(request, -32099, "not today",
						      json("{\"when\":\"tomorrow\"}"), NULL),
				 0);
	else
		assert_int_equal(mortise_request_reply(request, json("{\"answer\":42}"), NULL), 0);
	desk->asked++;
}

static void on_event(const mortise_event *event, void *arg)
{
	struct desk *desk = arg;

	rig_event(event, &desk->rig);
}

static void desk_open(struct desk *desk, bool with_handler)
{
	const char *argv[3];
	mortise_plugin_options opt;

	memset(desk, 0, sizeof(*desk));
	rig_open(&desk->rig);
	opt = rig_options(&desk->rig, "asks_host", argv);
	opt.on_event = on_event;
	opt.on_request = with_handler ? on_request : NULL;
	opt.arg = desk;
	desk->rig.plugin = rig_plugin(&desk->rig, &opt);
}

static void answered_at_once(void **state)
{
	struct desk desk;

	(void)state;
	desk_open(&desk, true);
	ask_expect(&desk.rig, "go",
		   "{\"send\":{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"what\",\"params\":{\"a\":[1]}}}",
		   "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"answer\":42}}");
	assert_string_equal(desk.method, "what");
	assert_string_equal(desk.params, "{\"a\":[1]}");
	assert_int_equal(desk.asked, 1);
	rig_close(&desk.rig);
}

/* Where a message is a line, an answer over several is made one. */
static void answer_of_several_lines(void **state)
{
	struct desk desk;
	char *line;

	(void)state;
	desk_open(&desk, true);
	line = ask(&desk.rig, "go", "{\"send\":{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"lines\"}}");
	assert_int_equal(desk.status, 0);
	assert_contains(line, "\"id\":1");
	assert_contains(line, "42");
	mortise_free(line);
	rig_close(&desk.rig);
}

/* The plugin's ids are its own: strings, and numbers that our calls use too, come back as they were. */
static void ids_come_back_verbatim(void **state)
{
	static const char *const ids[] = { "\"q-\\u00e9\"", "0", "-7", "9007199254740993", "1.5" };
	struct desk desk;

	(void)state;
	desk_open(&desk, true);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		char params[256], want[256];

		snprintf(params, sizeof(params), "{\"send\":{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"m\"}}",
			 ids[i]);
		snprintf(want, sizeof(want), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"answer\":42}}",
			 ids[i]);
		ask_expect(&desk.rig, "go", params, want);
	}
	rig_close(&desk.rig);
}

static void refused(void **state)
{
	struct desk desk;
	char *line;

	(void)state;
	desk_open(&desk, true);
	line = ask(&desk.rig, "go", "{\"send\":{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"refuse\"}}");
	assert_contains(line, "\"id\":\"r\"");
	assert_contains(line, "-32099");
	assert_contains(line, "not today");
	assert_contains(line, "{\"when\":\"tomorrow\"}");
	mortise_free(line);
	rig_close(&desk.rig);
}

/* "NULL: requests are answered with -32601" */
static void nobody_at_the_desk(void **state)
{
	struct desk desk;
	char *line;

	(void)state;
	desk_open(&desk, false);
	line = ask(&desk.rig, "go", "{\"send\":{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"what\"}}");
	assert_contains(line, "\"id\":5");
	assert_contains(line, "-32601");
	mortise_free(line);
	rig_close(&desk.rig);
}

static void answered_in_a_later_turn(void **state)
{
	struct desk desk;
	struct got got;

	(void)state;
	desk_open(&desk, true);
	desk.later = true;
	start(&desk.rig, &got, "go", "{\"send\":{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"slow\"}}",
	      NO_TIMER_MS);
	rig_until(&desk.rig, &desk.asked, 1, "the plugin's request");
	rig_settle(&desk.rig);
	assert_int_equal(got.finals, 0);
	assert_int_equal(mortise_request_reply(desk.held[0], json("[\"late\"]"), NULL), 0);
	until_done(&got);
	assert_int_equal(got.status, 0);
	assert_string_equal(got.result, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":[\"late\"]}");
	got_clear(&got);
	rig_close(&desk.rig);
}

static void notification_becomes_an_event(void **state)
{
	struct desk desk;

	(void)state;
	desk_open(&desk, true);
	ask_expect(&desk.rig, "go",
		   "{\"wait\":0,\"send\":{\"jsonrpc\":\"2.0\",\"method\":\"progress\",\"params\":{\"done\":7}}}",
		   "\"sent\"");
	assert_int_equal(desk.asked, 0);
	assert_int_equal(desk.rig.events[MORTISE_EVENT_NOTE], 1);
	assert_string_equal(desk.rig.note_method, "progress");
	assert_string_equal(desk.rig.note_params, "{\"done\":7}");
	rig_close(&desk.rig);
}

/* A batch of the plugin is split, and its replies go back in one array. */
static void batch_is_answered_with_one_array(void **state)
{
	struct desk desk;
	char *line;

	(void)state;
	desk_open(&desk, true);
	line = ask(
		&desk.rig, "go",
		"{\"send\":[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"},{\"jsonrpc\":\"2.0\",\"method\":\"note\"},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"refuse\"}]}");
	assert_int_equal(line[0], '[');
	assert_contains(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"answer\":42}}");
	assert_contains(line, "\"id\":2,\"error\"");
	assert_int_equal(desk.asked, 2);
	assert_int_equal(desk.rig.events[MORTISE_EVENT_NOTE], 1);
	mortise_free(line);
	rig_close(&desk.rig);
}

/* The array waits for its slowest member, in whatever order they are answered. */
static void batch_answered_later(void **state)
{
	struct desk desk;
	struct got got;

	(void)state;
	desk_open(&desk, true);
	desk.later = true;
	start(&desk.rig, &got, "go",
	      "{\"send\":[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}]}",
	      NO_TIMER_MS);
	rig_until(&desk.rig, &desk.asked, 2, "both requests of the batch");
	assert_int_equal(mortise_request_reply(desk.held[1], json("\"B\""), NULL), 0);
	rig_settle(&desk.rig);
	assert_int_equal(got.finals, 0);
	assert_int_equal(mortise_request_reply(desk.held[0], json("\"A\""), NULL), 0);
	until_done(&got);
	assert_int_equal(got.status, 0);
	assert_int_equal(got.result[0], '[');
	assert_contains(got.result, "\"id\":1,\"result\":\"A\"");
	assert_contains(got.result, "\"id\":2,\"result\":\"B\"");
	got_clear(&got);
	rig_close(&desk.rig);
}

/* A batch of `count` elements, sent by the plugin; what came back. */
static char *ask_batch(struct desk *desk, const char *element, int count)
{
	size_t len = strlen(element) + 1;
	char *params = malloc(32 + (size_t)count * len), *to = params, *line;

	assert_non_null(params);
	to += sprintf(to, "{\"send\":[");
	for (int i = 0; i < count; i++)
		to += sprintf(to, "%s%s", element, i + 1 < count ? "," : "]}");
	line = ask(&desk->rig, "go", params);
	free(params);
	return line;
}

static int occurrences(const char *text, const char *part)
{
	int count = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		count++;
	}
	return count;
}

/* An array as large as a frame may be would cost us forty times its size, and seconds. */
static void batch_of_too_many(void **state)
{
	struct desk desk;
	char *line;

	(void)state;
	desk_open(&desk, true);
	line = ask_batch(&desk, "1", 4096);
	assert_int_equal(occurrences(line, "\"Invalid Request\""), 4096);
	assert_int_equal(desk.rig.events[MORTISE_EVENT_WARNING], 0);
	mortise_free(line);
	line = ask_batch(&desk, "1", 100000);
	assert_int_equal(occurrences(line, "\"Invalid Request\""), 4096);
	assert_int_equal(occurrences(line, "\"error\""), 4097);
	assert_contains(
		line,
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"a batch has at most "
		"4096 elements");
	assert_int_equal(desk.rig.events[MORTISE_EVENT_WARNING], 1);
	mortise_free(line);
	assert_echoes(&desk.rig);
	rig_close(&desk.rig);
}

static void batch_with_too_much_to_answer(void **state)
{
	struct desk desk;
	char *line;

	(void)state;
	desk_open(&desk, true);
	line = ask_batch(&desk, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"much\"}", 20);
	assert_int_equal(desk.asked, 11); /* 100,000 bytes each */
	assert_int_equal(occurrences(line, "\"result\""), 11);
	assert_int_equal(occurrences(line, "\"error\""), 1);
	assert_contains(line, "the answers to the first 11 elements of a batch");
	assert_int_equal(desk.rig.events[MORTISE_EVENT_WARNING], 1);
	mortise_free(line);
	rig_close(&desk.rig);
}

/* "replaced by an error with code -32603, so that the plugin does not wait for it" */
static void answers_that_cannot_be_sent(void **state)
{
	static const char *const methods[] = { "garbage", "garbage data", "much" };
	struct desk desk;
	mortise_plugin_options opt;
	const char *argv[3];

	(void)state;
	desk_open(&desk, true);
	mortise_plugin_unref(desk.rig.plugin);
	opt = rig_options(&desk.rig, "asks_host", argv);
	opt.on_request = on_request;
	opt.arg = &desk;
	opt.on_event = on_event;
	opt.set = SET("limits.send=50000");
	desk.rig.plugin = rig_plugin(&desk.rig, &opt);
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		char params[128], *line;

		snprintf(params, sizeof(params),
			 "{\"send\":{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"%s\"}}", methods[i]);
		line = ask(&desk.rig, "go", params);
		assert_contains(line, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"error\":{\"code\":-32603,");
		assert_contains(line, i < 2 ? "the answer is not JSON" : "(limits.send)");
		assert_int_equal(desk.status, i < 2 ? MORTISE_EINVAL : MORTISE_ELIMIT);
		mortise_free(line);
	}
	/* A batch is one message, too: one error for the whole of it. */
	char *line = ask_batch(&desk, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"some\"}", 20);

	assert_int_equal(desk.status, 0);
	assert_contains(line, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,");
	assert_contains(line, "(limits.send)");
	mortise_free(line);
	/* Within a batch the others have their answers. */
	line = ask(
		&desk.rig, "go",
		"{\"send\":[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"garbage\"},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a\"}]}");
	assert_contains(line, "\"id\":1,\"error\":{\"code\":-32603,");
	assert_contains(line, "\"id\":2,\"result\":{\"answer\":42}");
	mortise_free(line);
	assert_echoes(&desk.rig);
	rig_close(&desk.rig);
}

/* JSON-RPC 2.0: an empty array is an invalid request, answered with one error object. */
static void empty_batch(void **state)
{
	struct desk desk;
	char *line;

	(void)state;
	desk_open(&desk, true);
	line = ask(&desk.rig, "go", "{\"send\":[]}");
	assert_contains(line, "-32600");
	assert_contains(line, "\"id\":null");
	mortise_free(line);
	rig_close(&desk.rig);
}

/* JSON-RPC 2.0: nothing is answered to a batch of notifications. */
static void batch_of_notifications(void **state)
{
	struct desk desk;

	(void)state;
	desk_open(&desk, true);
	ask_expect(
		&desk.rig, "go",
		"{\"wait\":0,\"send\":[{\"jsonrpc\":\"2.0\",\"method\":\"a\"},{\"jsonrpc\":\"2.0\",\"method\":\"b\"}]}",
		"\"sent\"");
	assert_int_equal(desk.rig.events[MORTISE_EVENT_NOTE], 2);
	assert_echoes(&desk.rig);
	rig_close(&desk.rig);
}

/* "one to a plugin that has died meanwhile returns MORTISE_ECLOSED" */
static void answer_to_the_dead(void **state)
{
	struct desk desk;
	struct got got;

	(void)state;
	desk_open(&desk, true);
	desk.later = true;
	start(&desk.rig, &got, "go", "{\"send\":{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"slow\"}}",
	      NO_TIMER_MS);
	rig_until(&desk.rig, &desk.asked, 1, "the plugin's request");
	mortise_plugin_stop(desk.rig.plugin, MORTISE_STOP_NOW, NULL);
	rig_until_state(&desk.rig, MORTISE_STOPPED);
	until_done(&got);
	assert_int_equal(mortise_request_reply(desk.held[0], json("1"), NULL), MORTISE_ECLOSED);
	rig_close(&desk.rig);
}

/* A request that is never answered leaks nothing. */
static void never_answered(void **state)
{
	struct desk desk;
	struct got got;

	(void)state;
	desk_open(&desk, true);
	desk.later = true;
	start(&desk.rig, &got, "go", "{\"send\":{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"slow\"}}",
	      NO_TIMER_MS);
	rig_until(&desk.rig, &desk.asked, 1, "the plugin's request");
	rig_close(&desk.rig);
	assert_int_equal(got.finals, 1);
}

static void call_back_while_it_asks(mortise_request *request, const char *method, mortise_json params,
				    void *arg)
{
	struct desk *desk = arg;

	(void)method;
	(void)params;
	desk->asked++;
	assert_int_equal(mortise_call_sync(desk->rig.plugin, "echo", json(NULL), NULL, NULL, NULL),
			 MORTISE_ECALLBACK);
	assert_int_equal(mortise_request_reply(request, json("\"done\""), NULL), 0);
}

static void no_sync_call_inside_a_request(void **state)
{
	struct desk desk;
	const char *argv[3];
	mortise_plugin_options opt;

	(void)state;
	memset(&desk, 0, sizeof(desk));
	rig_open(&desk.rig);
	opt = rig_options(&desk.rig, "asks_host", argv);
	opt.on_event = on_event;
	opt.on_request = call_back_while_it_asks;
	opt.arg = &desk;
	desk.rig.plugin = rig_plugin(&desk.rig, &opt);
	ask_expect(&desk.rig, "go", "{\"send\":{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"x\"}}",
		   "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"done\"}");
	assert_int_equal(desk.asked, 1);
	rig_close(&desk.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		API_TEST(answered_at_once),
		API_TEST(answer_of_several_lines),
		API_TEST(ids_come_back_verbatim),
		API_TEST(refused),
		API_TEST(nobody_at_the_desk),
		API_TEST(answered_in_a_later_turn),
		API_TEST(notification_becomes_an_event),
		API_TEST(batch_is_answered_with_one_array),
		API_TEST(batch_answered_later),
		API_TEST(batch_of_too_many),
		API_TEST(batch_with_too_much_to_answer),
		API_TEST(answers_that_cannot_be_sent),
		API_TEST(empty_batch),
		API_TEST(batch_of_notifications),
		API_TEST(answer_to_the_dead),
		API_TEST(never_answered),
		API_TEST(no_sync_call_inside_a_request),
	};

	return mor_run_group("api/ask", tests);
}
