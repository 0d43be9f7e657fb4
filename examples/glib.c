/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host inside GLib's main loop (GTK programs have one already): g_unix_fd_add() on the host's descriptor
 * is the whole bridge.
 *
 *	cc glib.c -o glib $(pkg-config --cflags --libs mortise glib-2.0)
 *	./glib ./echo-plugin.py
 *
 * prints:
 *	greet: {"text":"hello, GLib"}
 *	sing: plugin says -32601
 *	2 of 2 answered
 */
#include <glib-unix.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include <mortise/mortise.h>

struct app {
	GMainLoop *loop;
	mortise_host *host;
	mortise_plugin *plugin;
	int started, answered;
};

struct job {
	struct app *app;
	const char *action;
};

static gboolean on_readable(gint fd, GIOCondition condition, gpointer arg)
{
	struct app *app = arg;

	(void)fd;
	(void)condition;
	if (mortise_host_dispatch(app->host) >= 0)
		return G_SOURCE_CONTINUE;
	g_main_loop_quit(app->loop);
	return G_SOURCE_REMOVE;
}

/* A plugin's own error is an answer too: status MORTISE_EREMOTE, its number in rpc_code. */
static void on_reply(const mortise_reply *reply, void *arg)
{
	struct job *job = arg;
	struct app *app = job->app;

	if (reply->status == MORTISE_OK)
		printf("%s: %.*s\n", job->action, (int)reply->result.len, reply->result.text);
	else if (reply->status == MORTISE_EREMOTE)
		printf("%s: plugin says %lld\n", job->action, (long long)reply->error->rpc_code);
	else
		printf("%s: %s\n", job->action, reply->error->text);
	g_free(job);
	if (++app->answered == app->started)
		g_main_loop_quit(app->loop);
}

static int call(struct app *app, const char *action)
{
	struct job *job = g_new(struct job, 1);
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = on_reply, .arg = job };
	mortise_json params = { "{\"name\":\"GLib\"}", 15 };

	*job = (struct job){ app, action };
	if (mortise_call_start(app->plugin, action, params, &opt, NULL, NULL) < 0) {
		g_free(job); /* a call that did not start has no callback */
		return -1;
	}
	app->started++;
	return 0;
}

int main(int argc, char **argv)
{
	struct app app = { .host = NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .path = argc > 1 ? argv[1] : "./echo-plugin.py" };
	mortise_error err = { 0 };
	guint source;

	if (mortise_host_new(NULL, &app.host, &err) < 0 ||
	    mortise_plugin_new(app.host, &opt, &app.plugin, &err) < 0) {
		fprintf(stderr, "glib: %s\n", err.text);
		return 1;
	}
	app.loop = g_main_loop_new(NULL, FALSE);
	source = g_unix_fd_add(mortise_host_fd(app.host), G_IO_IN, on_readable, &app);
	if (call(&app, "greet") == 0 && call(&app, "sing") == 0)
		g_main_loop_run(app.loop);
	printf("%d of %d answered\n", app.answered, app.started);

	g_source_remove(source);
	g_main_loop_unref(app.loop);
	mortise_plugin_unref(app.plugin);
	mortise_host_free(app.host);
	return app.answered != 2;
}
