/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host inside libuv: one uv_poll_t on the host's descriptor is the whole bridge. It is readable whenever
 * anything is due, time limits and exits of plugins included, so no uv_timer and no uv_process is needed.
 * A prepare handle or a thread would be wrong: dispatch never blocks.
 *
 *	cc uv.c -o uv $(pkg-config --cflags --libs mortise libuv)
 *	./uv ./echo-plugin.py
 *
 * prints:
 *	1: {"sum":3}
 *	2: {"sum":5}
 *	3: {"sum":7}
 *	stopped
 */
#include <stdio.h>
#include <uv.h>

#include <mortise/mortise.h>

#define CALLS 3

struct app {
	uv_poll_t poll;
	mortise_host *host;
	mortise_plugin *plugin;
	int answered, failed;
};

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct app *app = poll->data;

	(void)events;
	if (status < 0 || mortise_host_dispatch(app->host) < 0) {
		app->failed = 1;
		uv_close((uv_handle_t *)poll, NULL);
	}
}

static int call_next(struct app *app);

/* One call after the other: each reply starts the next. The last one lets the plugin end politely. */
static void on_reply(const mortise_reply *reply, void *arg)
{
	struct app *app = arg;

	if (reply->status < 0) {
		fprintf(stderr, "uv: %s\n", reply->error->text);
		app->failed = 1;
	} else {
		printf("%d: %.*s\n", ++app->answered, (int)reply->result.len, reply->result.text);
	}
	if (app->failed || app->answered == CALLS || call_next(app) < 0)
		mortise_plugin_stop(app->plugin, MORTISE_STOP_POLITE, NULL);
}

static int call_next(struct app *app)
{
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = on_reply, .arg = app };
	char text[64];
	int len = snprintf(text, sizeof(text), "{\"numbers\":[%d,%d]}", app->answered + 1, app->answered + 2);

	return mortise_call_start(app->plugin, "add", (mortise_json){ text, (size_t)len }, &opt, NULL, NULL);
}

/* Closing the handle is what lets uv_run() return. */
static void on_event(const mortise_event *event, void *arg)
{
	struct app *app = arg;

	if (event->type != MORTISE_EVENT_STATE)
		return;
	if (event->state.now == MORTISE_STOPPED || event->state.now == MORTISE_FAILED) {
		puts(mortise_state_name(event->state.now));
		if (!uv_is_closing((uv_handle_t *)&app->poll))
			uv_close((uv_handle_t *)&app->poll, NULL);
	}
}

int main(int argc, char **argv)
{
	struct app app = { .host = NULL };
	uv_loop_t loop;
	mortise_plugin_options opt = {
		.size = sizeof(opt),
		.path = argc > 1 ? argv[1] : "./echo-plugin.py",
		.on_event = on_event,
		.arg = &app,
	};
	mortise_error err = { 0 };

	if (uv_loop_init(&loop) < 0)
		return 1;
	if (mortise_host_new(NULL, &app.host, &err) < 0 ||
	    mortise_plugin_new(app.host, &opt, &app.plugin, &err) < 0) {
		fprintf(stderr, "uv: %s\n", err.text);
		return 1;
	}
	uv_poll_init(&loop, &app.poll, mortise_host_fd(app.host));
	app.poll.data = &app;
	uv_poll_start(&app.poll, UV_READABLE, on_readable);
	if (call_next(&app) < 0)
		return 1;
	uv_run(&loop, UV_RUN_DEFAULT);

	mortise_plugin_unref(app.plugin);
	mortise_host_free(app.host);
	return uv_loop_close(&loop) < 0 || app.failed;
}
