/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train COUNT SYSINFO STATISTICS: what hosts do most, for the compiler that builds a release (tools/train/run).
 *
 * The programs are plugins of this tree: plugins/sysinfo and examples/plugins/c/plain.c, which both speak any
 * framing. In each: COUNT calls one after the other, waited for in both ways, COUNT with some under way, and
 * COUNT notifications. An answer with an error is one in a hundred. The messages are not those of bench/.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mortise/mortise.h>

#define JSON(text) \
	{ \
		text, sizeof(text) - 1 \
	}

enum { AT_ONCE = 16, STARTS = 10, READINGS = 1 /* one takes a fifth of a second */ };

static const char *const framings[] = { "lines", "be32", "decimal", "headers" };
static const struct act {
	const char *method;
	mortise_json params;
} mean = { "mean", JSON("{\"numbers\":[3,1.5,4,1,5,9,2.6]}") }, nothing = { "mean", JSON("{\"numbers\":[]}") },
  now = { "now", JSON("{\"what\":\"memory\",\"for\":\"caf\\u00e9 \\\"two\\\"\"}") };

struct training {
	mortise_host *host;
	mortise_plugin *plugin;
	const struct act *act;
	size_t to_start, under_way;
};

static void fail(const char *what, const mortise_error *err)
{
	fprintf(stderr, "train: %s: %s\n", what, err ? err->text : "failed");
	exit(1);
}

static void start_one(struct training *t);

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct training *t = arg;

	if (reply->more)
		return;
	if (reply->status < 0)
		fail(t->act->method, reply->error);
	t->under_way--;
	if (t->to_start > 0)
		start_one(t);
}

static void start_one(struct training *t)
{
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = on_reply, .arg = t };
	mortise_error err;

	t->to_start--;
	t->under_way++;
	if (mortise_call_start(t->plugin, t->act->method, t->act->params, &opt, NULL, &err) < 0)
		fail(t->act->method, &err);
}

static void at_once(struct training *t, size_t count, size_t most)
{
	t->to_start = count;
	while (t->to_start > 0 && t->under_way < most)
		start_one(t);
	while (t->under_way > 0)
		if (mortise_host_wait(t->host, -1) < 0)
			fail("wait", NULL);
}

static void in_turn(struct training *t, size_t count)
{
	mortise_error err;
	char *result;
	int r;

	for (size_t i = 0; i < count; i++) {
		r = mortise_call_sync(t->plugin, t->act->method, t->act->params, NULL, &result, &err);
		if (r < 0)
			fail(t->act->method, &err);
		mortise_free(result);
	}
	for (size_t i = 0; i < count / 100; i++)
		mortise_call_sync(t->plugin, nothing.method, nothing.params, NULL, NULL, &err);
}

static void notify(struct training *t, size_t count)
{
	mortise_call_options opt = { .size = sizeof(opt), .flags = MORTISE_NOTIFY };
	mortise_error err;

	for (size_t i = 0; i < count; i++)
		if (mortise_call_sync(t->plugin, t->act->method, t->act->params, &opt, NULL, &err) < 0)
			fail("notification", &err);
}

static void speak(mortise_host *host, const char *framing, const char *program, const struct act *act,
		  size_t count)
{
	const char *argv[] = { program, NULL }, *set[] = { NULL, NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv, .dialect = "plain", .set = set };
	struct training t = { .host = host, .act = act };
	char setting[64];
	mortise_error err;

	snprintf(setting, sizeof(setting), "plugin.framing=%s", framing);
	set[0] = setting;
	if (mortise_plugin_new(host, &opt, &t.plugin, &err) < 0)
		fail(program, &err);
	in_turn(&t, count);
	for (size_t i = 0; i < count; i++)
		at_once(&t, 1, 1);
	at_once(&t, count, AT_ONCE);
	notify(&t, count);
	mortise_plugin_stop(t.plugin, MORTISE_STOP_POLITE, NULL);
	while (mortise_plugin_state(t.plugin) != MORTISE_STOPPED)
		if (mortise_host_wait(host, -1) < 0)
			fail("stop", NULL);
	mortise_plugin_unref(t.plugin);
}

int main(int argc, char **argv)
{
	size_t count = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
	mortise_host *host;
	mortise_error err;

	if (!count || mortise_host_new(NULL, &host, &err) < 0) {
		fputs("usage: train COUNT SYSINFO STATISTICS\n", stderr);
		return 2;
	}
	for (size_t i = 0; i < sizeof(framings) / sizeof(*framings); i++) {
		speak(host, framings[i], argv[3], &mean, count);
		speak(host, framings[i], argv[2], &now, READINGS);
	}
	for (size_t i = 0; i < STARTS; i++)
		speak(host, framings[0], argv[3], &mean, 1);
	mortise_host_free(host);
	return 0;
}
