/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event loop of one's own: plain poll(), with the host's descriptor beside a descriptor of the program
 * (here a timer that says when to give up). Two plugins are started and called at the same time; neither
 * waits for the other.
 *
 *	cc poll.c -o poll $(pkg-config --cflags --libs mortise)
 *	./poll ./echo-plugin.py
 *
 * prints:
 *	both calls are under way
 *	first: {"text":"hello, Ada"}
 *	second: {"text":"hello, Grace"}
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <mortise/mortise.h>

#define GIVE_UP_SECONDS 60

struct job {
	const char *name, *params;
	mortise_plugin *plugin;
	char answer[512]; /* the reply is valid only inside the callback, so it is copied */
	int done;
};

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct job *job = arg;

	if (reply->status < 0)
		snprintf(job->answer, sizeof(job->answer), "failed: %s", reply->error->text);
	else
		snprintf(job->answer, sizeof(job->answer), "%.*s", (int)reply->result.len, reply->result.text);
	job->done = 1;
}

/* Returns as soon as the call is queued: the process does not even run yet. */
static int start(mortise_host *host, struct job *job, const char *path)
{
	mortise_plugin_options opt = { .size = sizeof(opt), .path = path, .name = job->name };
	mortise_call_options call = { .size = sizeof(call), .on_reply = on_reply, .arg = job };
	mortise_json params = { job->params, strlen(job->params) };
	mortise_error err = { 0 };

	if (mortise_plugin_new(host, &opt, &job->plugin, &err) < 0 ||
	    mortise_call_start(job->plugin, "greet", params, &call, NULL, &err) < 0) {
		fprintf(stderr, "poll: %s\n", err.text);
		return -1;
	}
	return 0;
}

static int run(mortise_host *host, int timer, const struct job *a, const struct job *b)
{
	struct pollfd fds[] = {
		{ .fd = mortise_host_fd(host), .events = POLLIN },
		{ .fd = timer, .events = POLLIN },
	};

	while (!a->done || !b->done) {
		if (poll(fds, 2, -1) < 0)
			return -1;
		if (fds[1].revents) {
			fprintf(stderr, "poll: no answer in %d s\n", GIVE_UP_SECONDS);
			return -1;
		}
		if (fds[0].revents && mortise_host_dispatch(host) < 0)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "./echo-plugin.py";
	struct itimerspec limit = { .it_value.tv_sec = GIVE_UP_SECONDS };
	struct job a = { .name = "first", .params = "{\"name\":\"Ada\"}" };
	struct job b = { .name = "second", .params = "{\"name\":\"Grace\"}" };
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	mortise_host *host = NULL;
	int r = -1;

	if (timer >= 0 && timerfd_settime(timer, 0, &limit, NULL) == 0 &&
	    mortise_host_new(NULL, &host, NULL) == 0 && start(host, &a, path) == 0 &&
	    start(host, &b, path) == 0) {
		puts("both calls are under way");
		r = run(host, timer, &a, &b);
	}
	printf("%s: %s\n%s: %s\n", a.name, a.answer, b.name, b.answer);
	mortise_plugin_unref(a.plugin);
	mortise_plugin_unref(b.plugin);
	mortise_host_free(host);
	if (timer >= 0)
		close(timer);
	return r < 0;
}
