/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many processes of one plugin: a pool of two workers answers four calls. A call whose worker dies is tried
 * once more on the other one.
 *
 *	cc pool.c -o pool $(pkg-config --cflags --libs mortise)
 *	./pool ./echo-plugin.py
 *
 * prints:
 *	{"text":"hello, Ada"}
 *	{"text":"hello, Grace"}
 *	{"text":"hello, Edsger"}
 *	{"text":"hello, Barbara"}
 */
#include <poll.h>
#include <stdio.h>

#include <mortise/mortise.h>

struct job {
	const char *name;
	char answer[512]; /* the reply is valid only inside the callback, so it is copied */
	int *left;
};

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct job *job = arg;

	if (reply->status < 0)
		snprintf(job->answer, sizeof(job->answer), "failed: %s", reply->error->text);
	else
		snprintf(job->answer, sizeof(job->answer), "%.*s", (int)reply->result.len, reply->result.text);
	*job->left -= !reply->more;
}

/* Calls end in any order; the answers are in that of the jobs. */
static int run(mortise_host *host, mortise_pool *pool, struct job *jobs, int count, mortise_error *err)
{
	struct pollfd fd = { .fd = mortise_host_fd(host), .events = POLLIN };
	int left = count;

	for (int i = 0; i < count; i++) {
		mortise_call_options call = { .size = sizeof(call), .on_reply = on_reply, .arg = &jobs[i] };
		char text[64];
		mortise_json params = { text, 0 };

		params.len = (size_t)snprintf(text, sizeof(text), "{\"name\":\"%s\"}", jobs[i].name);
		jobs[i].left = &left;
		if (mortise_pool_call(pool, "greet", params, &call, NULL, err) < 0)
			return -1;
	}
	while (left)
		if (poll(&fd, 1, -1) < 0 || mortise_host_dispatch(host) < 0)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	mortise_plugin_options opt = { .size = sizeof(opt), .path = argc > 1 ? argv[1] : "./echo-plugin.py" };
	mortise_pool_options workers = { .size = sizeof(workers), .workers = 2, .retries = 1 };
	struct job jobs[] = {
		{ .name = "Ada" }, { .name = "Grace" }, { .name = "Edsger" }, { .name = "Barbara" }
	};
	mortise_host *host = NULL;
	mortise_pool *pool = NULL;
	mortise_error err = { 0 };
	int r = -1;

	if (mortise_host_new(NULL, &host, &err) == 0 &&
	    mortise_pool_new(host, &opt, &workers, &pool, &err) == 0)
		r = run(host, pool, jobs, 4, &err);
	if (r < 0)
		fprintf(stderr, "pool: %s\n", err.text);
	for (int i = 0; i < 4; i++)
		puts(jobs[i].answer);
	mortise_pool_free(pool);
	mortise_host_free(host);
	return r < 0;
}
