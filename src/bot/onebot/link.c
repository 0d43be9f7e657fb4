/* SPDX-License-Identifier: Apache-2.0 */
/* Connections, their peers, and how a lost connection is opened again. */
#include "onebot/link.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "onebot/inside.h"

#define FIRST_MS     1000
#define LAST_MS      60000
#define MOST_PEERS   64
#define MOST_YOUNG   16
#define BEATS        3   /* a connection ends after so many silent intervals */
#define MOST_RUBBISH 100 /* one after the other */

/* ---- peers ---- */

static void note_link(struct mor_onebot_link *link, const char *what, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void note_link(struct mor_onebot_link *link, const char *what, const char *format, ...)
{
	char text[800];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	link->options.handler->note(link->options.arg, what, text);
}

static struct mor_onebot_peer *new_peer(struct mor_onebot_link *link)
{
	struct mor_onebot_peer *peer = mor_zalloc(sizeof(*peer));

	if (!peer)
		return NULL;
	peer->link = link;
	mor_list_init(&peer->node);
	return peer;
}

static void free_peer(struct mor_onebot_peer *peer)
{
	mor_ws_free(peer->ws);
	mor_timer_stop(&peer->beat);
	if (!mor_list_empty(&peer->node))
		peer->link->count--;
	mor_list_remove(&peer->node);
	mor_free(peer->self_id);
	mor_free(peer);
}

/* "ws://host:80/", or "127.0.0.1 port 4711 (10001)" */
static const char *show_peer(const struct mor_onebot_peer *peer, char *out, size_t size)
{
	char url[MOR_URL_SHOWN];

	if (peer->forward)
		snprintf(out, size, "%s", mor_url_show(peer->link->options.connect, url));
	else
		snprintf(out, size, "%s%s%s%s", peer->from, peer->self_id ? " (" : "",
			 peer->self_id ? peer->self_id : "", peer->self_id ? ")" : "");
	return out;
}

/* ---- what comes ---- */

static void on_beat_missed(struct mor_timer *timer)
{
	struct mor_onebot_peer *peer = mor_container_of(timer, struct mor_onebot_peer, beat);
	char shown[32];

	snprintf(peer->why, sizeof(peer->why), "no heartbeat for %s",
		 mor_format_ms((uint64_t)peer->interval_ms * BEATS, shown));
	mor_ws_close(peer->ws, 1001, "no heartbeat");
}

/* Every message is a sign of life. */
static void set_beat(struct mor_onebot_peer *peer)
{
	if (peer->interval_ms && !peer->link->paused)
		(void)mor_timer_set(peer->link->loop, &peer->beat, peer->interval_ms * BEATS, on_beat_missed);
	else
		mor_timer_stop(&peer->beat);
}

static void take_heartbeat(struct mor_onebot_peer *peer, const struct mor_onebot_event *event)
{
	char shown[800];

	peer->interval_ms = event->interval_ms;
	if (event->offline != peer->offline)
		note_link(peer->link, "warning", "%s: the account is %s in the chat network",
			  show_peer(peer, shown, sizeof(shown)), event->offline ? "not" : "again");
	peer->offline = event->offline;
}

/* 1, 2, 4, 8 ...: a repeated problem is reported less and less often. */
static bool is_worth_telling(uint64_t count)
{
	return (count & (count - 1)) == 0;
}

static void take_rubbish(struct mor_onebot_peer *peer, const char *why)
{
	char shown[800];

	if (is_worth_telling(++peer->link->rubbish))
		note_link(peer->link, "input", "%s: %s%s", show_peer(peer, shown, sizeof(shown)), why,
			  peer->link->rubbish > 1 ? "; earlier messages were not events either" : "");
	if (++peer->rubbish < MOST_RUBBISH)
		return;
	snprintf(peer->why, sizeof(peer->why), "it does not send OneBot messages");
	mor_ws_close(peer->ws, 1008, "no OneBot");
}

/* The account of these events: from the event itself, or from the connection. */
static bool settle_account(struct mor_onebot_peer *peer, struct mor_onebot_event *event)
{
	if (event->self_id && (!peer->self_id || strcmp(peer->self_id, event->self_id) != 0)) {
		mor_free(peer->self_id);
		peer->self_id = mor_strdup(event->self_id);
		return peer->self_id;
	}
	if (!event->self_id && peer->self_id)
		event->self_id = mor_strdup(peer->self_id);
	return event->self_id || !peer->self_id;
}

static void take_event(struct mor_onebot_peer *peer, struct mor_onebot_event *event)
{
	struct mor_onebot_link *link = peer->link;

	if (event->kind == MOR_ONEBOT_HEARTBEAT)
		take_heartbeat(peer, event);
	if (event->kind == MOR_ONEBOT_OTHER || event->kind == MOR_ONEBOT_HEARTBEAT)
		return;
	if (event->kind != MOR_ONEBOT_RESPONSE && !settle_account(peer, event))
		note_link(link, "input", "out of memory: an event is lost");
	else if (event->kind != MOR_ONEBOT_MESSAGE || !mor_seen_before(&link->seen, event))
		link->options.handler->event(link->options.arg, event);
}

static void on_message(struct mor_ws *ws, struct mor_slice text)
{
	struct mor_onebot_peer *peer = mor_ws_arg(ws);
	struct mor_onebot_event event;
	mortise_error err = { 0 };
	int r = mor_onebot_read(text, &event, &err);

	if (r < 0)
		take_rubbish(peer, err.text);
	else if (event.is_short)
		take_rubbish(peer, "not an event of OneBot: it has no post_type");
	else {
		peer->rubbish = 0;
		peer->link->failures = peer->forward ? 0 : peer->link->failures;
		take_event(peer, &event);
	}
	set_beat(peer);
	mor_onebot_event_fini(&event);
}

static void on_binary(struct mor_ws *ws, size_t len)
{
	char text[80];

	snprintf(text, sizeof(text), "a binary message of %zu bytes, but OneBot uses text", len);
	take_rubbish(mor_ws_arg(ws), text);
}

static void on_opened(struct mor_ws *ws)
{
	static const char *const roles[] = { "", " for events", " for calls" };
	struct mor_onebot_peer *peer = mor_ws_arg(ws);
	char shown[800];

	note_link(peer->link, "connected", "%s%s", show_peer(peer, shown, sizeof(shown)), roles[peer->role]);
	mor_ws_pause(ws, peer->link->paused);
	peer->is_open = true;
	peer->link->options.handler->opened(peer->link->options.arg);
}

/* ---- forward: we connect ---- */

static void connect_forward(struct mor_onebot_link *link);

static void on_retry(struct mor_timer *timer)
{
	connect_forward(mor_container_of(timer, struct mor_onebot_link, retry));
}

/* A random time between half of it and all of it. */
static uint32_t delay_ms(const struct mor_onebot_link *link)
{
	unsigned doubled = link->failures < 6 ? link->failures : 6;
	uint32_t most = FIRST_MS << doubled < LAST_MS ? FIRST_MS << doubled : LAST_MS, random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = 0;
	return most / 2 + random % (most / 2 + 1);
}

static uint32_t retry_later(struct mor_onebot_link *link)
{
	uint32_t ms = delay_ms(link);

	link->failures++;
	if (mor_timer_set(link->loop, &link->retry, ms, on_retry) < 0)
		note_link(link, "warning", "out of memory: no further connection is tried");
	return ms;
}

static void on_closed(struct mor_ws *ws, const char *why)
{
	struct mor_onebot_peer *peer = mor_ws_arg(ws);
	struct mor_onebot_link *link = peer->link;
	bool again = peer->forward && !link->closing;
	char shown[800], delay[32] = "";

	if (again)
		mor_format_ms((retry_later(link) + 500) / 1000 * 1000, delay);
	if (peer->is_open || again)
		note_link(link, "disconnected", "%s: %s%s%s", show_peer(peer, shown, sizeof(shown)),
			  *peer->why ? peer->why : why, again ? "; trying again in about " : "", delay);
	if (peer->is_open)
		link->options.handler->lost(link->options.arg, peer->id);
	free_peer(peer);
}

static const struct mor_ws_handler handler = { on_opened, on_message, on_binary, on_closed };

static struct mor_ws_options connection_options(const struct mor_onebot_link *link, void *arg)
{
	return (struct mor_ws_options){ .handler = &handler,
					.arg = arg,
					.limit = MOR_ONEBOT_LINK_LIMIT,
					.ping_ms = link->options.ping_ms };
}

static void enlist(struct mor_onebot_peer *peer)
{
	peer->id = ++peer->link->last_id;
	mor_list_append(&peer->link->peers, &peer->node);
	peer->link->count++;
}

static void connect_forward(struct mor_onebot_link *link)
{
	struct mor_onebot_peer *peer = new_peer(link);
	struct mor_ws_options options = connection_options(link, peer);

	if (peer && mor_ws_connect(link->loop, link->options.connect, link->options.token, link->trust,
				   &options, &peer->ws) == 0) {
		peer->forward = true;
		enlist(peer);
		return;
	}
	mor_free(peer);
	note_link(link, "warning", "out of memory: the connection is tried again");
	retry_later(link);
}

/* ---- reverse: they connect ---- */

/* Takes the same time for every wrong token, so that nobody can guess it step by step. */
static bool same_secret(struct mor_slice given, const char *token)
{
	size_t len = strlen(token);
	unsigned char differs = given.len != len;

	for (size_t i = 0; i < given.len && len; i++)
		differs |= (unsigned char)(given.ptr[i] ^ token[i % len]);
	return !differs;
}

/* "Bearer X"; older implementations write "Token X". */
static struct mor_slice header_token(const struct mor_http *head)
{
	static const char *const schemes[] = { "Bearer ", "Token " };
	struct mor_slice value = mor_http_header(head, "Authorization");

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t len = strlen(schemes[i]);

		if (value.len > len && strncasecmp(value.ptr, schemes[i], len) == 0)
			return (struct mor_slice){ value.ptr + len, value.len - len };
	}
	return (struct mor_slice){ 0 };
}

/* access_token=X of the query, its %XX decoded into `out`. */
static struct mor_slice query_token(const struct mor_http *head, char *out, size_t size)
{
	static const char name[] = "access_token=";
	struct mor_slice query = mor_http_query(head), pair = { 0 };
	size_t at = sizeof(name) - 1, len = 0;

	while (query.len && (pair.len < at || memcmp(pair.ptr, name, at) != 0))
		pair = mor_slice_cut(&query, '&');
	if (pair.len < at || memcmp(pair.ptr, name, at) != 0)
		return (struct mor_slice){ 0 };
	for (; at < pair.len && len < size; at++) {
		int high = at + 2 < pair.len ? mor_hex_value(pair.ptr[at + 1]) : -1;
		int low = high >= 0 ? mor_hex_value(pair.ptr[at + 2]) : -1;
		bool coded = pair.ptr[at] == '%' && low >= 0;

		out[len++] = coded ? (char)(high * 16 + low) : pair.ptr[at];
		at += coded ? 2 : 0;
	}
	return (struct mor_slice){ out, len };
}

/* 0, 401: no token, 403: wrong token. Without a configured token everybody may connect, except a web page:
 * browsers send an Origin, and any page could reach a bot on its reader's machine. */
static int judge_token(const struct mor_onebot_link *link, const struct mor_http *head)
{
	struct mor_slice given = header_token(head);
	char decoded[1024];

	if (!link->options.token)
		return mor_http_header(head, "Origin").ptr ? 403 : 0;
	if (!given.ptr)
		given = query_token(head, decoded, sizeof(decoded));
	if (!given.ptr)
		return 401;
	return same_secret(given, link->options.token) ? 0 : 403;
}

static bool ends_with(struct mor_slice text, const char *end)
{
	size_t len = strlen(end);

	return text.ptr && text.len >= len && memcmp(text.ptr + text.len - len, end, len) == 0;
}

/* By its header, else by its path, as in the standard for forward connections. */
static enum mor_onebot_role role_of(const struct mor_http *head)
{
	struct mor_slice role = mor_http_header(head, "X-Client-Role"), path = mor_http_path(head);

	if (role.ptr && role.len == 3 ? strncasecmp(role.ptr, "API", 3) == 0 :
					!role.ptr && ends_with(path, "/api"))
		return MOR_ONEBOT_CALLS;
	if (role.ptr && role.len == 5 ? strncasecmp(role.ptr, "Event", 5) == 0 :
					!role.ptr && ends_with(path, "/event"))
		return MOR_ONEBOT_EVENTS;
	return MOR_ONEBOT_UNIVERSAL;
}

/* The path of `listen`, or a path below it. If that is "/": any path. */
static bool is_here(const struct mor_onebot_link *link, struct mor_slice path)
{
	const char *wanted = link->options.listen->target;
	size_t len = strlen(wanted);

	while (len && wanted[len - 1] == '/')
		len--;
	return path.len >= len && memcmp(path.ptr, wanted, len) == 0 &&
	       (path.len == len || path.ptr[len] == '/');
}

static int judge_client(struct mor_ws_server *server, const struct mor_http *head, const char *from,
			void **ret_arg)
{
	struct mor_onebot_link *link = mor_ws_server_arg(server);
	struct mor_slice self_id = mor_http_header(head, "X-Self-ID");
	int refusal = is_here(link, mor_http_path(head)) ? judge_token(link, head) : 404;
	struct mor_onebot_peer *peer;
	int64_t number;

	if (refusal)
		return refusal;
	if (link->count >= MOST_PEERS || link->closing)
		return 503;
	peer = new_peer(link);
	if (!peer)
		return 503;
	peer->role = role_of(head);
	snprintf(peer->from, sizeof(peer->from), "%s", from);
	if (mor_parse_i64(self_id, &number))
		peer->self_id = mor_strndup(self_id.ptr, self_id.len);
	*ret_arg = peer;
	return 0;
}

static void on_accepted(struct mor_ws *ws)
{
	struct mor_onebot_peer *peer = mor_ws_arg(ws);

	peer->ws = ws;
	enlist(peer);
}

/* A client that tries again and again must not fill the log. */
static void on_refused(struct mor_ws_server *server, const char *from, const char *why)
{
	struct mor_onebot_link *link = mor_ws_server_arg(server);

	if (is_worth_telling(++link->refusals))
		note_link(link, "refused", "%s: %s%s", from, why,
			  link->refusals > 1 ? "; earlier ones were refused too" : "");
}

/* ---- calls ---- */

static bool fits_bot(const struct mor_onebot_peer *peer, const char *self_id)
{
	return peer->is_open && peer->role != MOR_ONEBOT_EVENTS &&
	       (!self_id || !peer->self_id || strcmp(self_id, peer->self_id) == 0);
}

/* Uses the newest: an older connection of the same account may be dead, and we do not know it yet. */
uint64_t mor_onebot_link_send(struct mor_onebot_link *link, const char *self_id, struct mor_slice call)
{
	for (struct mor_list *node = link->peers.prev; node != &link->peers; node = node->prev) {
		struct mor_onebot_peer *peer = mor_container_of(node, struct mor_onebot_peer, node);

		if (fits_bot(peer, self_id) && mor_ws_send(peer->ws, call) == 0)
			return peer->id;
	}
	return 0;
}

void mor_onebot_link_pause(struct mor_onebot_link *link, bool on)
{
	if (link->paused == on)
		return;
	link->paused = on;
	MOR_LIST_EACH(node, after, &link->peers) {
		struct mor_onebot_peer *peer = mor_container_of(node, struct mor_onebot_peer, node);

		mor_ws_pause(peer->ws, on);
		set_beat(peer);
	}
}

/* ---- life ---- */

static int open_tls(struct mor_onebot_link *link, mortise_error *err)
{
	const struct mor_onebot_link_options *o = &link->options;

	if (o->connect && o->connect->tls && !(link->trust = mor_tls_client(o->ca_file, err)))
		return err->code;
	if (o->listen && o->listen->tls && !(link->identity = mor_tls_server(o->cert_file, o->key_file, err)))
		return err->code;
	return 0;
}

static bool is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

static int listen_reverse(struct mor_onebot_link *link, mortise_error *err)
{
	struct mor_ws_server_options options = {
		.url = link->options.listen,
		.tls = link->identity,
		.most = MOST_YOUNG,
		.connection = connection_options(link, NULL),
		.judge = judge_client,
		.accepted = on_accepted,
		.refused = on_refused,
		.arg = link,
	};
	char shown[MOR_URL_SHOWN];
	int r = mor_ws_listen(link->loop, &options, &link->server, err);

	if (r < 0)
		return r;
	note_link(link, "listening", "%s", mor_url_show(link->options.listen, shown));
	if (!link->options.token && !is_loopback(link->options.listen->host))
		note_link(link, "warning",
			  "other machines can reach %s, and there is no access_token: anybody can act as the "
			  "chat network",
			  shown);
	return 0;
}

int mor_onebot_link_new(const struct mor_onebot_link_options *options, struct mor_onebot_link **ret,
			mortise_error *err)
{
	struct mor_onebot_link *link = mor_zalloc(sizeof(*link));
	int r;

	if (!link)
		return mor_fail_memory(err);
	link->options = *options;
	mor_list_init(&link->peers);
	mor_seen_init(&link->seen);
	r = mor_loop_new(0, &link->loop);
	r = r < 0 ? mor_fail(err, r, "the event loop cannot be set up") : open_tls(link, err);
	if (r == 0 && options->listen)
		r = listen_reverse(link, err);
	if (r == 0 && options->connect)
		connect_forward(link);
	if (r == 0)
		*ret = link;
	else
		mor_onebot_link_free(link);
	return r;
}

void mor_onebot_link_free(struct mor_onebot_link *link)
{
	if (!link)
		return;
	mor_ws_server_free(link->server);
	while (!mor_list_empty(&link->peers))
		free_peer(mor_container_of(link->peers.next, struct mor_onebot_peer, node));
	mor_timer_stop(&link->retry);
	mor_tls_free(link->trust);
	mor_tls_free(link->identity);
	if (link->loop)
		mor_loop_free(link->loop);
	mor_free(link);
}

int mor_onebot_link_fd(const struct mor_onebot_link *link)
{
	return mor_loop_fd(link->loop);
}

void mor_onebot_link_dispatch(struct mor_onebot_link *link)
{
	mor_loop_dispatch(link->loop);
}

void mor_onebot_link_close(struct mor_onebot_link *link)
{
	link->closing = true;
	mor_onebot_link_pause(link, false);
	mor_timer_stop(&link->retry);
	mor_ws_server_free(mor_take(&link->server));
	MOR_LIST_EACH(node, after, &link->peers)
		mor_ws_close(mor_container_of(node, struct mor_onebot_peer, node)->ws, 1001, "the bot ends");
}

bool mor_onebot_link_is_closed(const struct mor_onebot_link *link)
{
	return link->closing && mor_list_empty(&link->peers);
}
