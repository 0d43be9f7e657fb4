/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep FRAMING PLUGIN SECONDS DEPTH:SIZE...: the library's side of sweep.h. One call at a time is
 * mortise_call_sync(); more are mortise_call_start(), each reply starting the next.
 */
#include <mortise/mortise.h>

#include "sweep.h"

struct side {
	mortise_host *host;
	mortise_plugin *plugin;
	char *params;
	size_t params_len, to_start, under_way;
	int status;
};

static void on_reply(const mortise_reply *reply, void *arg);

static void start_one(struct side *s)
{
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = on_reply, .arg = s };

	s->status = mortise_call_start(s->plugin, "echo", (mortise_json){ s->params, s->params_len }, &opt,
				       NULL, NULL);
	if (s->status < 0)
		return;
	s->to_start--;
	s->under_way++;
}

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct side *s = arg;

	s->under_way--;
	if (reply->status < 0 || reply->result.len != s->params_len) {
		fprintf(stderr, "sweep: %s\n", reply->error ? reply->error->text : "not what was sent");
		s->status = -1;
	}
	if (s->status == 0 && s->to_start > 0)
		start_one(s);
}

static int run_together(struct side *s, size_t count, size_t depth)
{
	s->to_start = count;
	for (size_t i = 0; i < depth && s->to_start > 0 && s->status == 0; i++)
		start_one(s);
	while (s->under_way > 0 && s->status == 0)
		if (mortise_host_wait(s->host, -1) < 0)
			return -1;
	return s->status;
}

static int call_once(struct side *s)
{
	mortise_error err; /* to clear it takes 2 % of a call, and only a failure sets it */
	char *result = NULL;
	int r = mortise_call_sync(s->plugin, "echo", (mortise_json){ s->params, s->params_len }, NULL, &result,
				  &err);

	if (r < 0)
		fprintf(stderr, "sweep: %s\n", err.text);
	mortise_free(result);
	return r;
}

static int run_calls(void *arg, size_t count, size_t depth)
{
	struct side *s = arg;
	int r = 0;

	if (depth > 1)
		return run_together(s, count, depth);
	for (size_t i = 0; i < count && r == 0; i++)
		r = call_once(s);
	return r;
}

static int prepare_side(void *arg, size_t depth, size_t size)
{
	struct side *s = arg;

	(void)depth;
	free(s->params);
	s->params = sweep_text("{\"text\":\"", size, "\"}", &s->params_len);
	return s->params ? 0 : -1;
}

int main(int argc, char **argv)
{
	const char *command[] = { argc > 2 ? argv[2] : "", argc > 1 ? argv[1] : "", NULL };
	const char *set[] = { NULL, "limits.frame=1GB", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = command, .dialect = "plain", .set = set };
	struct side side = { 0 };
	struct sweep s = { prepare_side, run_calls, &side };
	mortise_error err = { 0 };
	char framing[64];
	int r;

	if (argc < 5) {
		fprintf(stderr, "usage: sweep FRAMING PLUGIN SECONDS DEPTH:SIZE...\n");
		return 2;
	}
	snprintf(framing, sizeof(framing), "plugin.framing=%s", argv[1]);
	set[0] = framing;
	r = mortise_host_new(NULL, &side.host, &err);
	if (r == 0)
		r = mortise_plugin_new(side.host, &opt, &side.plugin, &err);
	if (r == 0)
		r = sweep_points(&s, argv + 3);
	if (err.code)
		fprintf(stderr, "sweep: %s\n", err.text);
	mortise_plugin_unref(side.plugin);
	mortise_host_free(side.host);
	free(side.params);
	return r < 0;
}
