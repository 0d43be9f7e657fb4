/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin as the embedder holds it: what it is, its state, and its running calls. It outlives its
 * processes, which begin and end in supervise.h.
 */
#ifndef MOR_HOST_PLUGIN_H
#define MOR_HOST_PLUGIN_H

#include "dialect/dialect.h"
#include "guard/guarded.h"
#include "host/call.h"
#include "host/call_table.h"
#include "host/host.h"
#include "host/life.h"
#include "manifest/manifest.h"
#include "resolved/resolved.h"

struct mor_counters {
	uint64_t calls, answered, failed, timeouts, restarts, noise_bytes, stderr_bytes, dropped, bytes_in,
		bytes_out;
	uint64_t cpu_us; /* of processes that have ended */
};

struct mor_timeout {
	char *method;
	uint32_t ms;
};

/* What happens to a call that nobody waits for any longer. The texts belong to the manifest. */
struct mor_cancel {
	const char *method, *member; /* NULL: the dialect's message, if it has one; "id" */
	uint32_t grace_ms;           /* how long it may keep its slot; 0: the dialect's rules */
};

#define MOR_DEATHS 64 /* the highest restart intensity */

/* A mortise_error, in little memory while nothing has failed (mor_supervise_blame()). */
struct mor_failure {
	int code, os_errno;
	int64_t rpc_code;
	struct mor_kept text;
	struct mor_buf data; /* the error's data, if there were any */
};

/* What it is: read and checked once, then constant. settings.c. */
struct mor_plugin_is {
	struct mor_resolved *resolved;
	struct mor_dialect *own_dialect; /* the table behind peer.dialect if rows were left out; or NULL */
	mortise_event_fn *on_event;
	mortise_request_fn *on_request;
	void *arg;
	struct mor_link_options link_options;
	struct mor_remote_options *remote; /* of link_options; NULL: over stdio */
	struct mor_stop stop;
	struct mor_restart restart;
	unsigned max_in_flight;
	struct mor_cancel cancel;
	struct mor_timeout *timeouts;
	size_t timeout_count;
	bool replies_to_notes; /* a quirk: a note with an id is answered with null */
};

/* How it is, beyond one process. state.c alone writes the state. */
struct mor_plugin_now {
	enum mortise_state state;
	bool paused;      /* by the embedder */
	int64_t state_ms; /* since when */
	uint64_t lives;   /* processes so far */
	struct mor_health_state health;
	struct mor_keep_state keep;
	struct mor_counters counters;
	/* from the first greeting, if nothing else names it; kept, because the embedder may hold it */
	char *said_name;
	struct mor_kept last_error;
};

/* The calls of a plugin, its requests, and orders to it. send.c and settle.c; request.c; view_queue.c. */
struct mor_plugin_calls {
	struct mor_list queue, writing, flight;
	struct mor_list dooms; /* calls that ended with a process and still wait for their callback */
	struct mor_task pump;  /* the part of the queue that is still to be sent */
	bool pumping;          /* its queue is being sent, by a function up the stack */
	struct mor_call_table table;
	unsigned in_flight;                /* slots taken, with ghosts */
	unsigned waiting;                  /* in the queue */
	size_t waiting_bytes;              /* their params */
	const struct mor_method *last_row; /* the row of last_action; NULL: not known */
	char last_action[MOR_SHORT_NAME];
	size_t last_len;
	bool last_plain; /* it needs no escape in JSON */
	struct mor_list requests;
	unsigned open_requests;
	struct mor_list views; /* orders that wait for their answer, in order */
};

/* How its processes end, and whether the next one starts. start.c and supervise.c. */
struct mor_plugin_ends {
	struct mor_timer ladder, restart_timer, broken_timer, hello_timer;
	int64_t *deaths; /* when the last ones were, in a ring of restart.intensity + 1; NULL: none was */
	unsigned death_count, backoff_step;
	unsigned clean_exits;       /* in a row, without work between them */
	struct mor_failure failure; /* why it is FAILED, or what ended its last process */
};

/* The place of a worker in its pool. pool_task.c and pool_job.c. */
struct mor_pool_seat {
	mortise_pool *pool;   /* whose worker it is; NULL: none */
	uint32_t index;       /* which one it is */
	unsigned load;        /* calls that its pool has given it */
	uint64_t answered;    /* calls that the pool had answered when this worker died last */
	bool came_to_nothing; /* the last process ended before it was given a call */
};

/* Each part is written by the files that it names. */
struct mortise_plugin {
	struct mor_peer peer; /* what the dialect's hooks see */
	mortise_host *host;
	struct mor_owner *owner; /* the host's; it may be gone */
	struct mor_list node;
	unsigned refs;  /* the embedder's */
	unsigned holds; /* ours: functions on the stack that still use it */
	/* released, or its host was freed: a shell that waits for the last reference and hold */
	bool gone;
	struct mor_plugin_is is;
	struct mor_guarded guarded; /* what it is, as far as src/lib/guard must know */
	struct mor_plugin_now now;
	struct mor_life life; /* its process, or the last one: life.h */
	struct mor_plugin_calls calls;
	struct mor_plugin_ends ends;
	struct mor_pool_seat seat;
};

/* As mortise_plugin_new(), on the host's own thread. Of the options only flags, callbacks and the path that it
 * was resolved from are used. The plugin takes a reference of its own. */
int mor_plugin_make(struct mor_resolved *resolved, mortise_host *host, const mortise_plugin_options *opt,
		    mortise_plugin **ret_plugin, mortise_error *err);
/* 0; MORTISE_ETHREAD on a foreign thread; MORTISE_ECLOSED once it was released. */
int mor_plugin_check(mortise_plugin *plugin, mortise_error *err);
/* Kills the process and ends the calls with MORTISE_ECANCELED. Only a shell is left, which answers ECLOSED. */
void mor_plugin_destroy(mortise_plugin *plugin);
/* The last error of a call or process, for mortise_plugin_describe(). */
void mor_plugin_keep_error(mortise_plugin *plugin, const mortise_error *error);
/* The source of the interfaces: the manifest on disk if it lists them, else HELLO's result; NULL: neither. */
const struct mor_value *mor_plugin_identity(const mortise_plugin *plugin);

/* Sets one of the plugin's own timers. Their places are reserved when it is made, so this cannot fail. */
static inline void mor_plugin_set_timer(mortise_plugin *plugin, struct mor_timer *timer, uint32_t in_ms,
					mor_timer_fn *fn)
{
	(void)mor_timer_set(plugin->host->loop, timer, in_ms, fn);
}

/* Every way in (public function, link event, timer, task) holds the plugin while it runs: a callback may
 * drop the last reference. */
static inline mortise_plugin *mor_plugin_hold(mortise_plugin *plugin)
{
	plugin->holds++;
	return plugin;
}
/* Frees a plugin that is gone, unless somebody still holds it or has a reference. */
void mor_plugin_free_if_done(mortise_plugin *plugin);
static inline void mor_plugin_drop_at(mortise_plugin **plugin)
{
	(*plugin)->holds--;
	if ((*plugin)->gone)
		mor_plugin_free_if_done(*plugin);
}
#define MOR_HOLD(plugin) \
	__attribute__((cleanup(mor_plugin_drop_at), unused)) mortise_plugin *held_ = mor_plugin_hold(plugin)

#endif
