/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host on a thread of its own, serving other threads. A host belongs to one thread and locks nothing, so
 * the program brings what every such design needs: a queue under a mutex towards the host's thread, and a
 * condition variable back. mortise_host_wakeup() is the one function that any thread may call; it makes
 * mortise_host_wait() return, and the host's thread looks into the queue.
 *
 *	cc thread.c -o thread -pthread $(pkg-config --cflags --libs mortise)
 *	./thread ./echo-plugin.py
 *
 * prints:
 *	client 1: 10 of 10 right
 *	client 2: 10 of 10 right
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <mortise/mortise.h>

#define CALLS 10

/* Lives on the client's stack: the client sleeps until `done`. */
struct job {
	struct job *next;
	struct service *service;
	char params[64], answer[128];
	int done;
};

struct service {
	mortise_host *host;
	mortise_plugin *plugin;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct job *jobs; /* newest first: this program does not care about order */
	int quit;
};

struct client {
	pthread_t thread;
	struct service *service;
	int number, right;
};

static void finish(struct job *job, const char *text, size_t len)
{
	struct service *service = job->service;

	pthread_mutex_lock(&service->lock);
	snprintf(job->answer, sizeof(job->answer), "%.*s", (int)len, text);
	job->done = 1;
	pthread_cond_broadcast(&service->answered);
	pthread_mutex_unlock(&service->lock);
}

static void on_reply(const mortise_reply *reply, void *arg)
{
	if (reply->status < 0)
		finish(arg, reply->error->text, strlen(reply->error->text));
	else
		finish(arg, reply->result.text, reply->result.len);
}

/* Takes the whole queue at once, so that the lock is not held while the library runs. */
static int start_jobs(struct service *service)
{
	struct job *job, *next;
	int quit;

	pthread_mutex_lock(&service->lock);
	job = service->jobs;
	service->jobs = NULL;
	quit = service->quit;
	pthread_mutex_unlock(&service->lock);

	for (; job; job = next) {
		mortise_call_options opt = { .size = sizeof(opt), .on_reply = on_reply, .arg = job };
		mortise_json params = { job->params, strlen(job->params) };
		mortise_error err;

		next = job->next; /* finish() may end the job's life */
		if (mortise_call_start(service->plugin, "add", params, &opt, NULL, &err) < 0)
			finish(job, err.text, strlen(err.text));
	}
	return !quit;
}

static void *serve(void *arg)
{
	struct service *service = arg;

	if (mortise_host_adopt(service->host, NULL) < 0)
		return NULL;
	while (start_jobs(service))
		if (mortise_host_wait(service->host, -1) < 0)
			break;
	return NULL;
}

/* What a client sees: a plain blocking function, callable from any thread. */
static void ask(struct service *service, struct job *job)
{
	pthread_mutex_lock(&service->lock);
	job->service = service;
	job->next = service->jobs;
	service->jobs = job;
	mortise_host_wakeup(service->host);
	while (!job->done)
		pthread_cond_wait(&service->answered, &service->lock);
	pthread_mutex_unlock(&service->lock);
}

static void *client_main(void *arg)
{
	struct client *client = arg;

	for (int i = 0; i < CALLS; i++) {
		struct job job = { .done = 0 };
		char want[32];

		snprintf(job.params, sizeof(job.params), "{\"numbers\":[%d,%d]}", client->number * 1000, i);
		snprintf(want, sizeof(want), "{\"sum\":%d}", client->number * 1000 + i);
		ask(client->service, &job);
		if (strcmp(job.answer, want) == 0)
			client->right++;
		else
			fprintf(stderr, "client %d: %s\n", client->number, job.answer);
	}
	return NULL;
}

static void quit(struct service *service)
{
	pthread_mutex_lock(&service->lock);
	service->quit = 1;
	mortise_host_wakeup(service->host);
	pthread_mutex_unlock(&service->lock);
	pthread_join(service->thread, NULL);
	/* The other thread is gone; the host is ours again, and only its owner may free it. */
	mortise_host_adopt(service->host, NULL);
	mortise_plugin_unref(service->plugin);
	mortise_host_free(service->host);
}

int main(int argc, char **argv)
{
	struct service service = { .lock = PTHREAD_MUTEX_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER };
	struct client clients[2] = { { .service = &service, .number = 1 },
				     { .service = &service, .number = 2 } };
	mortise_plugin_options opt = { .size = sizeof(opt), .path = argc > 1 ? argv[1] : "./echo-plugin.py" };
	mortise_error err = { 0 };

	if (mortise_host_new(NULL, &service.host, &err) < 0 ||
	    mortise_plugin_new(service.host, &opt, &service.plugin, &err) < 0) {
		fprintf(stderr, "thread: %s\n", err.text);
		return 1;
	}
	if (pthread_create(&service.thread, NULL, serve, &service) != 0)
		return 1;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&clients[i].thread, NULL, client_main, &clients[i]) != 0)
			return 1;
	for (int i = 0; i < 2; i++) {
		pthread_join(clients[i].thread, NULL);
		printf("client %d: %d of %d right\n", clients[i].number, clients[i].right, CALLS);
	}
	quit(&service);
	return clients[0].right != CALLS || clients[1].right != CALLS;
}
