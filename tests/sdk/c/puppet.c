/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin with everything, mistakes included, for the tests beside it. What on_start and on_stop
 * do goes to stderr. `hold` waits at a gate: a FIFO that the test opens. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tenon/tenon.h>

static int greet(tenon_call *call)
{
	return tenon_reply_text(call, "Hello, %s%s", tenon_str(call, "name", "?"),
				tenon_bool(call, "loud", 0) ? "!" : ".");
}

static int pieces(tenon_call *call)
{
	for (int64_t i = 1; i <= tenon_int(call, "count", 0); i++) {
		tenon_progress(call, (double)i / 10, "piece %d", (int)i);
		tenon_stream(call, "%d ", (int)i);
	}
	tenon_log(call, "warning", "that was %s", "all");
	return tenon_reply_text(call, "end");
}

/* Says that it runs, then waits until somebody opens the gate, or it is cancelled. */
static int hold(tenon_call *call)
{
	const char *gate = tenon_str(call, "gate", "");
	int fd = open(gate, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char byte;
	ssize_t n = -1;

	if (fd < 0)
		return tenon_fail_text(call, TENON_EFAILED, "%s: %s", gate, strerror(errno));
	fprintf(stderr, "holding\n");
	while (!tenon_cancelled(call) && (n = read(fd, &byte, 1)) <= 0)
		usleep(1000);
	close(fd);
	return tenon_reply_text(call, n == 1 ? "held" : "cancelled");
}

/* As `hold`, for longer than the watcher waits. */
static int lasts(tenon_call *call)
{
	for (int i = 0; i < 30 && !tenon_cancelled(call); i++)
		usleep(1000);
	return hold(call);
}

static int stuck(tenon_call *call)
{
	(void)call;
	fprintf(stderr, "stuck\n");
	for (;;)
		pause();
	return 0;
}

static int travel(tenon_call *call)
{
	const char *where = tenon_ask(call, "Where to?"), *when;

	if (!where) {
		fprintf(stderr, "travel: no answer\n");
		return tenon_reply_text(call, "nobody hears this");
	}
	tenon_stream(call, "Ah, %s. ", where);
	when = tenon_ask(call, "When?");
	return when ? tenon_reply_text(call, "%s to %s", when, where) : -1;
}

static int fail(tenon_call *call)
{
	if (tenon_has(call, "code"))
		return tenon_fail_data(call, tenon_int(call, "code", 0), "chosen", "{\"why\": \"asked\"}");
	return -1;
}

static int object(tenon_call *call)
{
	tenon_object(call, NULL);
	tenon_put_str(call, tenon_str(call, "key", "x"), "value");
	tenon_end(call);
	return tenon_done(call);
}

static int extract(tenon_call *call)
{
	size_t len = 0;
	const char *text = tenon_source(call, 1000, &len);

	if (!text)
		return -1;
	return tenon_reply_text(call, "%zu bytes: %s", len, text);
}

static int chat(tenon_call *call)
{
	const tenon_message *message = tenon_message_of(call);

	return tenon_reply_text(call, "%s from %lld", message->text, (long long)message->user_id);
}

static int matches(tenon_call *call)
{
	return strstr(tenon_message_of(call)->text, "puppet") != NULL;
}

static int built(tenon_call *call)
{
	tenon_wrote(call, "built.txt");
	return tenon_reply_text(call, "built in %s", tenon_workspace(call) ? tenon_workspace(call) : "?");
}

static int on_start(tenon_call *call)
{
	const tenon_value *config = tenon_config(call);

	fprintf(stderr, "on_start\n");
	if (tenon_as_bool(tenon_get(config, "refuse"), 0))
		return tenon_fail(call, TENON_EFAILED, "refused as asked");
	return tenon_reply(call, TENON("level", tenon_as_int(tenon_get(config, "level"), 0)));
}

static void on_stop(const tenon_plugin *plugin)
{
	fprintf(stderr, "on_stop %s\n", plugin->name);
}

static const tenon_field greet_fields[] = {
	{ "name", TENON_FIELD_STRING, "Who", .required = 1 },
	{ "loud", TENON_FIELD_BOOLEAN, "How", .fallback = "false" },
	{ 0 },
};
static const tenon_field typed_fields[] = {
	{ "whole", TENON_FIELD_INTEGER, .fallback = "1" },
	{ "real", .type = TENON_FIELD_NUMBER },
	{ "list", .type = TENON_FIELD_ARRAY },
	{ "map", .type = TENON_FIELD_OBJECT },
	{ "any", .type = TENON_FIELD_ANY },
	{ "unit", TENON_FIELD_STRING, .choices = "celsius|fahrenheit" },
	{ 0 },
};

/* The call's parameters as the library made them. */
static int typed(tenon_call *call)
{
	tenon_object(call, NULL);
	tenon_put_int(call, "whole", tenon_int(call, "whole", -1));
	tenon_put_double(call, "real", tenon_double(call, "real", -1));
	tenon_put_int(call, "list", (int64_t)tenon_size(tenon_get(tenon_params(call), "list")));
	tenon_put_str(call, "any", tenon_str(call, "any", NULL));
	tenon_put_str(call, "unit", tenon_str(call, "unit", NULL));
	tenon_end(call);
	return tenon_done(call);
}

static const tenon_field count_fields[] = { { "count", .type = TENON_FIELD_INTEGER }, { 0 } };
static const tenon_field gate_fields[] = { { .name = "gate" }, { 0 } };
static const tenon_command commands[] = {
	{ "greet", greet, "Greets", .fields = greet_fields, .aliases = "hi hello" },
	{ "pieces", pieces, "Streams", .fields = count_fields },
	{ "typed", typed, "Shows its parameters", .fields = typed_fields },
	{ .name = "hold", .fn = hold },
	{ .name = "lasts", .fn = lasts, .fields = gate_fields },
	{ .name = "stuck", .fn = stuck },
	{ .name = "travel", .fn = travel },
	{ .name = "fail", .fn = fail },
	{ .name = "object", .fn = object },
	{ 0 },
};
static const tenon_command hooks[] = { { .name = "after_build", .fn = built }, { 0 } };
static const tenon_method methods[] = { { "greet.raw", greet, NULL }, { 0 } };

int main(void)
{
	return tenon_run(&(tenon_plugin){
		.name = "puppet",
		.version = "1.2.3",
		.description = "Does what it is told",
		.author = "Tests",
		.methods = methods,
		.commands = commands,
		.hooks = hooks,
		.extract = extract,
		.formats = "text/plain",
		.extensions = ".txt",
		.handler = chat,
		.matches = matches,
		.on_start = on_start,
		.on_stop = on_stop,
	});
}
