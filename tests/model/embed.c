/* SPDX-License-Identifier: Apache-2.0 */
/* What the embedder does with hosts, plugins and pools; and what it is told, besides replies. */
#include <string.h>

#include <mortise/view.h>

#include "base/alloc.h"
#include "host/state.h"
#include "loop/inside.h"
#include "model.h"

/* Settings that change what a dialect would do by itself. */
struct variant {
	const char *set[4];
	uint64_t flags;
};
static const struct variant variants[] = {
	{ { NULL }, 0 },
	{ { "restart.intensity=60", "restart.first=1ms", NULL }, 0 },
	{ { "restart.intensity=1", NULL }, 0 },
	{ { "limits.in_flight=2", "restart.intensity=60", NULL }, 0 },
	{ { "limits.in_flight=0", "restart.intensity=60", NULL }, 0 },
	{ { "restart.enabled=false", NULL }, 0 },
	{ { "limits.queue=600", "limits.send=300", "limits.frame=400", NULL }, 0 },
	{ { "sandbox.view=true", "restart.intensity=60", NULL }, 0 },
	{ { "restart.intensity=60", NULL }, MORTISE_STRICT },
	{ { "restart.intensity=60", NULL }, MORTISE_NO_RESTART },
	{ { "health.every=1s", "limits.session=40s", "restart.intensity=60", NULL }, 0 },
};
#define VARIANTS (sizeof(variants) / sizeof(*variants))

#define SHORT_SLICE 5

/* ---- finding ---- */

struct place *place_of(const mortise_plugin *plugin)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (world.places[i].handle == plugin)
			return &world.places[i];
	return NULL;
}

/* A worker that we only borrow may not be touched from the callbacks of its host's free. */
bool place_usable(const struct place *place)
{
	return place->handle && (place->refs || !place->pool || place->host != world.going);
}

static unsigned number(const struct place *place)
{
	return (unsigned)(place - world.places);
}

static struct place *touchable(unsigned a)
{
	struct place *place = &world.places[a % PLACES];

	return place_usable(place) ? place : NULL;
}

/* ---- callbacks ---- */

static void check_move(struct place *place, const mortise_event *event)
{
	if (event->state.before != place->state)
		model_fault("place %u: told to come from %s, but it was %s", number(place),
			    mortise_state_name(event->state.before), mortise_state_name(place->state));
	if (!mor_state_may(event->state.before, event->state.now))
		model_fault("place %u: an illegal move from %s to %s", number(place),
			    mortise_state_name(event->state.before), mortise_state_name(event->state.now));
	place->state = event->state.now;
	if (place->pool && (event->state.before == MORTISE_GREETING || event->state.before == MORTISE_READY))
		place->pool->ends += event->state.now != MORTISE_READY;
}

void on_event(const mortise_event *event, void *arg)
{
	struct place *place = place_of(event->plugin);

	(void)arg;
	if (!place)
		model_fault("an event of a plugin that was released: %s: %s", mortise_event_name(event->type),
			    event->text);
	SAY("  event of %u: %s: %s%s%s", number(place), mortise_event_name(event->type),
	    event->type == MORTISE_EVENT_STATE ? mortise_state_name(event->state.now) : "",
	    event->type == MORTISE_EVENT_STATE ? ": " : "", event->text);
	if (event->time_ms != mor_loop_now_ms(place->host->handle->loop))
		model_fault("an event with the wrong time");
	if (event->type == MORTISE_EVENT_STATE)
		check_move(place, event);
	callback_enter();
	callback_leave();
}

void on_request(mortise_request *request, const char *method, mortise_json params, void *arg)
{
	struct place *place = place_of(mortise_request_plugin(request));

	(void)arg;
	(void)params;
	if (!place)
		model_fault("a request of a plugin that was released: %s", method);
	SAY("  request of %u: %s", number(place), method);
	if (world.held_count == REQUESTS)
		mortise_request_fail(request, -32000, "enough", (mortise_json){ 0 }, NULL);
	else
		world.held[world.held_count++] = (struct held_request){ request, place->host };
	callback_enter();
	callback_leave();
}

void on_tap(const mortise_tap_frame *frame, void *arg)
{
	(void)arg;
	if (!place_of(frame->plugin))
		model_fault("the tap sees a plugin that was released");
	world.tapping++;
	callback_enter();
	callback_leave();
	world.tapping--;
}

/* ---- making ---- */

static struct host *need_host(unsigned a)
{
	struct host *host = &world.hosts[a % HOSTS];
	mortise_host_options opt = { .size = sizeof(opt), .on_event = on_event };
	mortise_error error;

	if (host->handle)
		return host;
	if (mor_host_new_with(&opt, MOR_LOOP_VIRTUAL, proc_new, &host->handle, &error) < 0)
		model_fault("no host can be made: %s", error.text);
	/* We run the loop ourselves: no eventfd write for what is posted. And nothing may depend on
	 * the real clock. */
	mor_loop_hold(host->handle->loop, true);
	/* The second host leaves most of what it has to do for later, as the first would under load. */
	if (host != world.hosts)
		host->handle->loop->part.slice = SHORT_SLICE;
	host->handle->random = 1;
	return host;
}

void embed_host(const struct op *op)
{
	need_host(op->a);
}

static mortise_plugin_options options_of(struct host *host, unsigned b, const struct tongue **ret)
{
	static const char *const argv[] = { "/bin/true", NULL };
	const struct tongue *tongue = &tongues[b % tongue_count];
	const struct variant *variant = &variants[b / tongue_count % VARIANTS];

	host->handle->dialect = tongue_dialect(tongue->dialect);
	*ret = tongue;
	return (mortise_plugin_options){ .size = sizeof(mortise_plugin_options),
					 .argv = argv,
					 .name = "p",
					 .dialect = tongue->dialect,
					 .set = variant->set,
					 .flags = variant->flags,
					 .on_event = on_event,
					 .on_request = on_request };
}

void embed_plugin(const struct op *op)
{
	struct place *place = &world.places[op->a % SINGLES];
	struct host *host = need_host(op->a / SINGLES);
	const struct tongue *tongue;
	mortise_plugin_options opt = options_of(host, op->b, &tongue);
	mortise_error error;

	if (place->handle)
		return;
	*place = (struct place){ .host = host, .tongue = tongue, .refs = 1, .manners = place->manners };
	if (mortise_plugin_new(host->handle, &opt, &place->handle, &error) < 0)
		SAY("  %s", error.text);
	else
		SAY("  plugin at %u: %s", number(place), tongue->dialect);
}

void embed_pool(const struct op *op)
{
	struct pool *pool = &world.pools[op->a % POOLS];
	struct host *host = need_host(op->a / POOLS);
	struct place *workers = &world.places[SINGLES + (op->a % POOLS) * WORKERS];
	mortise_pool_options opt = { .size = sizeof(opt),
				     .workers = 1 + (op->a >> 2) % WORKERS,
				     .retries = (op->a >> 4) % 4,
				     .max_queue = op->a >> 6 ? 3 : 0 };
	mortise_plugin_options plugin_opt = options_of(host, op->b, &pool->tongue);
	mortise_error error;

	if (pool->handle)
		return;
	for (unsigned i = 0; i < WORKERS; i++)
		if (workers[i].handle) /* a reference of ours to a worker of the pool before */
			return;
	if (mortise_pool_new(host->handle, &plugin_opt, &opt, &pool->handle, &error) < 0)
		return;
	pool->host = host;
	pool->workers = workers;
	pool->count = opt.workers;
	pool->max_queue = opt.max_queue ? opt.max_queue : 65536;
	pool->stopped = false;
	for (unsigned i = 0; i < opt.workers; i++)
		workers[i] = (struct place){ .host = host,
					     .tongue = pool->tongue,
					     .pool = pool,
					     .manners = workers[i].manners,
					     .handle = mortise_pool_worker(pool->handle, i) };
	SAY("  pool: %u of %s", opt.workers, pool->tongue->dialect);
}

/* ---- references and frees ---- */

static void let_go(struct place *place)
{
	place->handle = NULL;
	place->pool = NULL;
	place->refs = 0;
}

void embed_ref(const struct op *op)
{
	struct place *place = touchable(op->a);

	if (!place || place->shell)
		return;
	mortise_plugin_ref(place->handle);
	place->refs++;
}

void embed_unref(const struct op *op)
{
	struct place *place = touchable(op->a);
	mortise_plugin *plugin;

	if (!place || !place->refs)
		return;
	plugin = place->handle;
	if (--place->refs == 0 && !place->pool) {
		calls_orphan(place, NULL, NULL);
		let_go(place); /* first: what it still reports is a fault */
	}
	mortise_plugin_unref(plugin);
}

/* Workers end with their pool. Those that are only borrowed may not be touched any more. */
static void leave_pool(struct pool *pool)
{
	calls_orphan(NULL, pool, NULL);
	for (unsigned i = 0; i < pool->count; i++) {
		calls_orphan(&pool->workers[i], NULL, NULL);
		pool->workers[i].pool = NULL;
		if (!pool->workers[i].refs)
			let_go(&pool->workers[i]);
	}
}

void embed_pool_free(const struct op *op)
{
	struct pool *pool = &world.pools[op->a % POOLS];
	mortise_pool *handle = pool->handle;

	if (!handle)
		return;
	pool->handle = NULL;
	leave_pool(pool);
	world.freeing++;
	mortise_pool_free(handle);
	world.freeing--;
	/* What we hold of one says ECLOSED from now on. A callback may have put a new pool into the place,
	 * where we hold none. */
	for (unsigned i = 0; i < WORKERS && !pool->handle; i++) {
		calls_orphan(&pool->workers[i], NULL, NULL);
		pool->workers[i].shell = true;
	}
}

/* What was on it: plugins that we hold are shells from now on. */
static void leave_host(struct host *host)
{
	calls_orphan(NULL, NULL, host);
	for (unsigned i = 0; i < POOLS; i++)
		if (world.pools[i].handle && world.pools[i].host == host)
			world.pools[i].handle = NULL;
	for (unsigned i = 0; i < PLACES; i++) {
		struct place *place = &world.places[i];

		if (!place->handle || place->host != host)
			continue;
		place->shell = true;
		place->pool = NULL;
		if (!place->refs)
			let_go(place);
	}
	for (unsigned i = world.held_count; i-- > 0;)
		if (world.held[i].host == host)
			world.held[i] = world.held[--world.held_count];
}

void embed_host_free(const struct op *op)
{
	struct host *host = &world.hosts[op->a % HOSTS];
	mortise_host *handle = host->handle;

	if (!handle)
		return;
	if (handle->in_callback || mor_loop_dispatching(handle->loop)) {
		if (mortise_host_free(handle) != handle)
			model_fault("a host was freed inside its own callback");
		return;
	}
	/* The last callbacks come from inside. They may use plugins and pools until the free returns. */
	world.freeing++;
	world.going = host;
	calls_orphan(NULL, NULL, host);
	if (mortise_host_free(handle))
		model_fault("a host was not freed");
	world.freeing--;
	world.going = NULL;
	leave_host(host);
	host->handle = NULL;
}

void embed_free_all(void)
{
	for (unsigned i = 0; i < HOSTS; i++)
		embed_host_free(&(struct op){ .a = (uint8_t)i });
	for (unsigned i = 0; i < PLACES; i++)
		while (world.places[i].refs)
			embed_unref(&(struct op){ .a = (uint8_t)i });
}

/* ---- orders ---- */

void embed_start(const struct op *op)
{
	struct place *place = touchable(op->a);
	bool shell = place && place->shell;
	mortise_error error = { 0 };
	int r = place ? mortise_plugin_start(place->handle, &error) : 0;

	if (r < 0 && (error.code != r || !error.text[0]))
		model_fault("a start is refused with %d and an error that says %d \"%s\"", r, error.code,
			    error.text);
	if (shell && r != MORTISE_ECLOSED)
		model_fault("a plugin whose host is gone was started: %d", r);
}

void embed_stop(const struct op *op)
{
	struct place *place = touchable(op->a);

	if (place)
		mortise_plugin_stop(place->handle, op->b % 3, NULL);
}

void embed_pause(const struct op *op)
{
	struct place *place = touchable(op->a);

	if (place)
		mortise_plugin_pause(place->handle, op->b & 1, NULL);
}

void embed_pool_stop(const struct op *op)
{
	struct pool *pool = &world.pools[op->a % POOLS];

	if (!pool->handle)
		return;
	pool->stopped = true;
	mortise_pool_stop(pool->handle, op->b % 3, NULL);
}

void embed_describe(const struct op *op)
{
	struct place *place = touchable(op->a);
	char *text = NULL;

	if (!place || mortise_plugin_describe(place->handle, &text, NULL) < 0)
		return;
	if (!mor_json_valid(mor_slice_of(text), 0, 0, NULL))
		model_fault("describe writes no JSON: %s", text);
	mortise_free(text);
}

void embed_tap(const struct op *op)
{
	struct host *host = &world.hosts[op->a % HOSTS];

	if (host->handle)
		mortise_host_set_tap(host->handle, op->b & 1 ? on_tap : NULL, NULL, NULL);
}

/* ---- requests of plugins ---- */

static void answer_held(unsigned i, unsigned how)
{
	mortise_request *request = world.held[i].handle;
	mortise_json results[] = { { "{\"ok\":true}", 11 }, { 0 }, { "[1,\n2]", 6 }, { "null", 4 } };

	world.held[i] = world.held[--world.held_count];
	if (how & 4)
		mortise_request_fail(request, -32001, "no", (mortise_json){ 0 }, NULL);
	else
		mortise_request_reply(request, results[how & 3], NULL);
}

void embed_reply(const struct op *op)
{
	if (world.held_count)
		answer_held(op->a % world.held_count, op->b);
}

void embed_answer_all(struct host *host)
{
	for (unsigned i = world.held_count; i-- > 0;)
		if (i < world.held_count && world.held[i].host == host)
			answer_held(i, 0);
}

/* ---- views ---- */

static void on_view(mortise_plugin *plugin, int status, const mortise_error *error, void *arg)
{
	uint8_t *told = arg;

	(void)plugin;
	if ((status == MORTISE_OK) != !error)
		model_fault("a view ends with %d and %s error", status, error ? "an" : "no");
	if (++*told != 1)
		model_fault("view %d is told a second time, or before the function that ordered it has "
			    "returned",
			    (int)(told - world.views));
	callback_enter();
	callback_leave();
}

void embed_view(const struct op *op)
{
	struct place *place = touchable(op->a);
	mortise_view view = { .size = sizeof(view), .stage = "/stage" };
	uint8_t *told = &world.views[world.view_count];

	if (!place || world.view_count == VIEWS)
		return;
	world.view_count++;
	*told = 1; /* told now it would be told twice */
	if (mortise_plugin_set_view(place->handle, op->b & 1 ? &view : NULL, on_view, told, NULL) == 0)
		*told = 0;
}
