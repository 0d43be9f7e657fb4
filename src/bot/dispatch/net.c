/* SPDX-License-Identifier: Apache-2.0 */
/* Events from the network: OneBot v11 over WebSockets. */
#include <poll.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "console/signals.h"
#include "dispatch/bot.h"

#define MOST    4096
#define FULL    ((size_t)8 << 20)
#define LAST_MS 2000 /* after a signal the network has this long for its answers */

/* One event that waits. */
struct mail {
	struct mor_list node;
	struct mor_onebot_event event;
	size_t bytes;
};

static void mail_free(struct mor_bot_run *run, struct mail *mail)
{
	mor_list_remove(&mail->node);
	run->net.count--;
	run->net.bytes -= mail->bytes;
	mor_onebot_event_fini(&mail->event);
	mor_free(mail);
}

/* While we pause, answers are not read either. So we pause only as a last resort, and calls get their time
 * again. */
static void set_pause(struct mor_bot_run *run)
{
	unsigned by = run->net.paused ? 2 : 1;
	bool full = run->net.count > MOST / by || run->net.bytes > FULL / by;

	if (full == run->net.paused)
		return;
	run->net.paused = full;
	mor_onebot_link_pause(run->net.link, full);
	if (!full)
		mor_bot_api_renew(run);
}

static void keep_mail(struct mor_bot_run *run, struct mor_onebot_event *event)
{
	struct mail *mail = mor_zalloc(sizeof(*mail));

	if (!mail) {
		mor_bot_tell(run, NULL, "internal", 0, "out of memory: an event is lost");
		return;
	}
	mail->event = *event;
	*event = (struct mor_onebot_event){ 0 };
	mail->bytes = sizeof(*mail) + mail->event.text.cap + mail->event.raw.cap;
	mor_list_append(&run->net.inbox, &mail->node);
	run->net.count++;
	run->net.bytes += mail->bytes;
	set_pause(run);
}

static void on_event(void *arg, struct mor_onebot_event *event)
{
	struct mor_bot_run *run = arg;

	if (event->kind == MOR_ONEBOT_RESPONSE)
		mor_bot_api_answered(run, event);
	else if (run->stopping)
		run->net.late += event->kind == MOR_ONEBOT_MESSAGE;
	else
		keep_mail(run, event);
}

static void on_note(void *arg, const char *what, const char *text)
{
	mor_bot_tell(arg, NULL, what, 0, "%s", text);
}

static void on_opened(void *arg)
{
	((struct mor_bot_run *)arg)->api.look = true;
}

int mor_bot_net_open(struct mor_bot_run *run, mortise_error *err)
{
	static const struct mor_onebot_link_handler handler = { on_event, on_note, on_opened,
								mor_bot_api_lost };
	const struct mor_botfile_network *network = &run->config->network;
	struct mor_onebot_link_options options = {
		.connect = network->connect,
		.listen = network->listen,
		.token = network->access_token,
		.ca_file = network->ca_file,
		.cert_file = network->cert_file,
		.key_file = network->key_file,
		.ping_ms = network->ping_ms,
		.handler = &handler,
		.arg = run,
	};

	if (run->stdio || (!network->connect && !network->listen))
		return 0;
	run->net.terminal = isatty(STDIN_FILENO) ? STDIN_FILENO : -1;
	return mor_onebot_link_new(&options, &run->net.link, err);
}

void mor_bot_net_feed(struct mor_bot_run *run)
{
	while (!mor_list_empty(&run->net.inbox) && !mor_bot_is_held(run)) {
		struct mail *mail = mor_container_of(run->net.inbox.next, struct mail, node);
		mortise_error err = { 0 };

		run->line += mail->event.kind == MOR_ONEBOT_MESSAGE;
		if (mor_bot_take_event(run, &mail->event, &err) < 0)
			mor_bot_tell(run, NULL, "internal", run->line, "%s", err.text);
		mail_free(run, mail);
	}
	set_pause(run);
}

/* ---- the end ---- */

/* Waits until `done`, the end of the time, or one more signal. */
static void wait_until(struct mor_bot_run *run, bool (*done)(const struct mor_bot_run *run), int64_t end_ms,
		       int seen)
{
	while (!done(run) && mor_signals_count() <= seen) {
		int64_t rest = end_ms - mor_clock_ms();
		struct pollfd fds[] = {
			{ .fd = mor_onebot_link_fd(run->net.link), .events = POLLIN },
			/* a signal makes it readable */
			{ .fd = mortise_host_fd(run->runner.host), .events = POLLIN },
		};

		if (rest <= 0)
			return;
		poll(fds, 2, (int)rest);
		mortise_host_dispatch(run->runner.host);
		mor_onebot_link_dispatch(run->net.link);
		mor_bot_api_tend(run);
	}
}

static bool is_answered(const struct mor_bot_run *run)
{
	return run->api.count == 0;
}

static bool is_closed(const struct mor_bot_run *run)
{
	return mor_onebot_link_is_closed(run->net.link);
}

void mor_bot_net_close(struct mor_bot_run *run)
{
	int seen = mor_signals_count();
	unsigned left = run->net.count + run->net.late;

	if (!run->net.link)
		return;
	mor_onebot_link_pause(run->net.link, false);
	mor_bot_api_tend(run);
	wait_until(run, is_answered, mor_clock_ms() + LAST_MS, seen);
	if (run->api.count)
		mor_bot_tell(run, NULL, "lost", 0, "%u calls had no answer when the bot ended", run->api.count);
	mor_bot_api_free(run);
	mor_onebot_link_close(run->net.link);
	wait_until(run, is_closed, mor_clock_ms() + LAST_MS, seen);
	if (left)
		mor_bot_tell(run, NULL, "lost", 0, "%u events came too late: the bot was ending", left);
}

void mor_bot_net_free(struct mor_bot_run *run)
{
	mor_bot_api_free(run);
	mor_onebot_link_free(run->net.link);
	while (!mor_list_empty(&run->net.inbox))
		mail_free(run, mor_container_of(run->net.inbox.next, struct mail, node));
}
