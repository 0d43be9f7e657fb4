/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that tries what tenon.h promises, mistakes included. Driven by tests/e2e/test_tenon.py. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tenon/tenon.h>

static int greet(tenon_call *call)
{
	const char *name = tenon_str(call, "name", "world");

	if (*name == '\0')
		return tenon_fail(call, TENON_EPARAMS, "name must not be empty");
	return tenon_reply(call, TENON("greeting", "hello"), TENON("to", name), TENON("length", strlen(name)),
			   TENON("half", 0.5), TENON("none", (char *)NULL), TENON_ON("polite", 1));
}

static int run_child(void)
{
	char *const argv[] = { "sh", "-c", "echo from a child; cat", NULL };
	pid_t pid;
	int status;

	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) != 0)
		return -1;
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

/* Whatever it prints must stay off the wire; what it reads must not come from it. */
static int noisy(tenon_call *call)
{
	int c = getchar();

	printf("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"forged\"}\n");
	fflush(stdout);
	if (run_child() < 0)
		return -1;
	return tenon_reply(call, TENON_ON("input_empty", c == EOF));
}

static int echo(tenon_call *call)
{
	size_t len = 0;
	const char *json = tenon_params_json(call, &len);

	return json ? tenon_reply_json(call, json, len) : tenon_reply_null(call);
}

static int look(tenon_call *call)
{
	const tenon_value *list = tenon_get(tenon_params(call), "list");
	size_t len = 0;
	const void *bytes = tenon_as_bytes(call, tenon_get(tenon_params(call), "bytes"), &len);

	tenon_object(call, NULL);
	tenon_put_int(call, "type", tenon_type_of(list));
	tenon_put_int(call, "size", (int64_t)tenon_size(list));
	tenon_put_str(call, "deep", tenon_as_str(tenon_at(tenon_params(call), "/list/1/name"), "?"));
	tenon_put_int(call, "int", tenon_int(call, "int", -1));
	tenon_put_double(call, "double", tenon_double(call, "double", -1));
	tenon_put_bool(call, "bool", tenon_bool(call, "bool", 1));
	tenon_put_bool(call, "has", tenon_has(call, "has"));
	if (bytes)
		tenon_put_text(call, "bytes", bytes, len);
	tenon_end(call);
	return tenon_done(call);
}

static int big(tenon_call *call)
{
	tenon_object(call, NULL);
	tenon_array(call, "list");
	for (int64_t i = tenon_int(call, "count", 0); i > 0; i--)
		tenon_put_null(call, NULL);
	tenon_end(call);
	tenon_end(call);
	return tenon_done(call);
}

static int twice(tenon_call *call)
{
	int first = tenon_reply(call, TENON("which", "first"));

	if (tenon_reply(call, TENON("which", "second")) == 0 || tenon_fail(call, 1, "third") == 0)
		abort();
	return first;
}

static int silent(tenon_call *call)
{
	return tenon_bool(call, "fail", 0) ? -1 : 0;
}

static int no_json(tenon_call *call)
{
	if (tenon_reply_json(call, "{\"a\":}", 6) == 0)
		abort();
	return 0;
}

static int bad_data(tenon_call *call)
{
	if (tenon_fail_data(call, 1, "x", "nope") == 0)
		abort();
	return 0;
}

static int misbuilt(tenon_call *call)
{
	switch (tenon_int(call, "how", 0)) {
	case 0: /* never closed */
		tenon_object(call, NULL);
		break;
	case 1: /* closed too often */
		tenon_object(call, NULL);
		tenon_end(call);
		tenon_end(call);
		break;
	case 2: /* no key */
		tenon_object(call, NULL);
		tenon_put_int(call, NULL, 1);
		tenon_end(call);
		break;
	case 3: /* a key in an array */
		tenon_array(call, NULL);
		tenon_put_int(call, "x", 1);
		tenon_end(call);
		break;
	case 4: /* two roots */
		tenon_put_int(call, NULL, 1);
		tenon_put_int(call, NULL, 2);
		break;
	case 5: /* too deep */
		for (int i = 0; i < 70; i++)
			tenon_array(call, NULL);
		for (int i = 0; i < 70; i++)
			tenon_end(call);
		break;
	default: /* nothing */
		break;
	}
	if (tenon_done(call) == 0)
		abort();
	return 0;
}

static const tenon_method methods[] = {
	{ "greet", greet, "Greets someone by name" },
	{ "noisy", noisy, "Prints and reads where it should not" },
	{ "echo", echo, "Its parameters" },
	{ "look", look, "Its parameters, through every accessor" },
	{ "big", big, "A list of `count` nulls" },
	{ "twice", twice, "Answers three times" },
	{ "silent", silent, "Does not answer" },
	{ "no_json", no_json, "Answers with what is no JSON" },
	{ "bad_data", bad_data, "Fails with what is no JSON" },
	{ "misbuilt", misbuilt, "Builds its answer wrongly" },
	{ 0 },
};

int main(void)
{
	printf("printed before tenon_run()");
	return tenon_run(&(tenon_plugin){ .name = "contract", .methods = methods, .max_message_bytes = 65536 });
}
