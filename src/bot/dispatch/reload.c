/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bot's file, at the first reading and after each change: makes the plugins match what it says.
 *
 * The directory is watched, because editors replace a file and do not write to it. The file is watched as
 * well, because it may be a symbolic link to another place. Each event only makes us check whether the file
 * has changed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dispatch/bot.h"

/* ---- seats ---- */

/* What one reading of the file changed, for people. */
struct tally {
	struct mor_buf names[3];
	unsigned counts[3], same;
};
enum { STARTS, RESTARTS, ENDS };

static void note_change(struct tally *tally, int what, const struct mor_bot_seat *seat)
{
	mor_buf_printf(&tally->names[what], "%s%s", tally->counts[what]++ ? ", " : "", seat->label);
}

/* The process that the seat has, or will have. */
static struct mor_bot_body *latest_body(const struct mor_bot_seat *seat)
{
	return seat->next ? seat->next : seat->body;
}

static bool is_as_before(const struct mor_bot_seat *seat, const struct mor_botfile_plugin *plugin)
{
	const struct mor_bot_body *body = latest_body(seat);

	return (seat->next || !seat->dead) && mor_botfile_plugin_same(&body->config, plugin) &&
	       body->print == mor_bot_body_print(plugin);
}

/* Takes the plugin's config. */
static int begin_body(struct mor_bot_seat *seat, struct mor_botfile_plugin *plugin, mortise_error *err)
{
	struct mor_bot_body *body = NULL;
	int r = mor_bot_body_new_take(seat, plugin, &body, err);

	if (r < 0)
		return r;
	mor_bot_body_retire(seat->next);
	seat->next = body;
	mor_bot_body_start(body);
	return 0;
}

static int new_seat(struct mor_bot_run *run, struct mor_botfile_plugin *plugin, struct mor_bot_seat **ret,
		    mortise_error *err)
{
	struct mor_bot_seat *seat = mor_bot_seat_new(run, plugin->name);
	int r = seat ? begin_body(seat, plugin, err) : mor_fail_memory(err);

	if (r == 0)
		*ret = seat;
	else
		mor_bot_seat_free(seat);
	return r;
}

static int change_seat(struct mor_bot_seat *seat, struct mor_botfile_plugin *plugin, struct tally *tally,
		       mortise_error *err)
{
	int r;

	if (is_as_before(seat, plugin)) {
		latest_body(seat)->config.priority = plugin->priority;
		latest_body(seat)->config.prefilter = plugin->prefilter;
		tally->same++;
		return 0;
	}
	r = begin_body(seat, plugin, err);
	if (r == 0)
		note_change(tally, RESTARTS, seat);
	return r;
}

/* Reads what the file says about one plugin. `ret` is NULL if it is not enabled. */
static int apply_plugin(struct mor_bot_run *run, struct mor_botfile_plugin *plugin, struct tally *tally,
			struct mor_bot_seat **ret, mortise_error *err)
{
	int r;

	*ret = plugin->enabled ? mor_bot_seat_find(run, plugin->name) : NULL;
	if (!plugin->enabled)
		return 0;
	if (*ret)
		return change_seat(*ret, plugin, tally, err);
	r = new_seat(run, plugin, ret, err);
	if (r == 0)
		note_change(tally, STARTS, *ret);
	return r;
}

static bool is_among(struct mor_bot_seat *const *seats, size_t count, const struct mor_bot_seat *seat)
{
	for (size_t i = 0; i < count; i++)
		if (seats[i] == seat)
			return true;
	return false;
}

/* Plugins that are not in the new list end, after they have finished their work. The array has room for
 * them. */
static void leave_seats(struct mor_bot_run *run, struct mor_bot_seat *const *seats, size_t count,
			struct tally *tally)
{
	for (size_t i = 0; i < run->count; i++) {
		if (is_among(seats, count, run->seats[i]))
			continue;
		note_change(tally, ENDS, run->seats[i]);
		run->seats[i]->leaving = true;
		run->gone[run->gone_count++] = run->seats[i];
	}
}

/* All plugins of the file, in its order. A plugin that cannot be made is an error at the start. Later it is
 * only reported. */
static int apply_file(struct mor_bot_run *run, struct mor_botfile *bot, struct tally *tally, mortise_error *err)
{
	struct mor_bot_seat **seats = mor_zalloc((bot->count + 1) * sizeof(*seats));
	struct mor_bot_seat **gone = mor_realloc(run->gone, (run->gone_count + run->count + 1) * sizeof(*gone));
	size_t count = 0;
	int r = 0;

	run->gone = gone ? gone : run->gone;
	if (!seats || !gone) {
		mor_free(seats);
		return mor_fail_memory(err);
	}
	for (size_t i = 0; r == 0 && i < bot->count; i++) {
		r = apply_plugin(run, &bot->plugins[i], tally, &seats[count], err);
		if (r < 0 && run->started) {
			mor_bot_tell(run, seats[count], "reload", 0, "%s", err->text);
			r = 0;
		}
		count += seats[count] != NULL;
	}
	if (r == 0)
		leave_seats(run, seats, count, tally);
	mor_free(run->seats);
	run->seats = seats;
	run->count = count;
	return r;
}

void mor_bot_tend_gone(struct mor_bot_run *run)
{
	for (size_t i = run->gone_count; i-- > 0;) {
		struct mor_bot_seat *seat = run->gone[i];
		bool has_body = false;

		mor_bot_seat_tend(seat);
		if (mor_bot_seat_is_idle(seat)) {
			mor_bot_body_retire(seat->body);
			mor_bot_body_retire(seat->next);
			seat->body = seat->next = NULL;
		}
		MOR_LIST_EACH(node, after, &run->bodies)
			has_body = has_body || mor_container_of(node, struct mor_bot_body, node)->seat == seat;
		if (has_body)
			continue;
		mor_bot_tell(run, seat, "reload", 0, "has ended");
		mor_bot_warn_end(seat);
		mor_bot_seat_free(seat);
		run->gone[i] = run->gone[--run->gone_count];
	}
}

/* ---- the file ---- */

static void tell_warnings(struct mor_bot_run *run, const struct mor_botfile *bot)
{
	for (char **warning = bot->warnings; warning && *warning; warning++)
		mor_bot_tell(run, NULL, "warning", 0, "%s", *warning);
}

static void tell_tally(struct mor_bot_run *run, struct tally *tally)
{
	static const char *const words[] = { [STARTS] = "starts ", [RESTARTS] = "replaces ", [ENDS] = "ends " };
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (tally->counts[i])
			mor_buf_printf(&text, "%s%.*s; ", words[i], (int)tally->names[i].len,
				       tally->names[i].data);
		mor_buf_fini(&tally->names[i]);
	}
	mor_bot_tell(run, NULL, "reload", 0, "%s: %.*s%u unchanged", run->path, (int)text.len,
		     text.data ? text.data : "", tally->same);
}

static void watch_file(struct mor_bot_run *run)
{
	if (run->watch.fd >= 0)
		(void)inotify_add_watch(run->watch.fd, run->path, IN_CLOSE_WRITE);
	if (stat(run->path, &run->watch.last) < 0)
		run->watch.last = (struct stat){ 0 };
}

/* A missing file will come back: an editor has moved it, and another event will follow. */
static bool is_another(const struct mor_bot_run *run)
{
	const struct stat *last = &run->watch.last;
	struct stat now;

	return stat(run->path, &now) == 0 &&
	       (now.st_dev != last->st_dev || now.st_ino != last->st_ino || now.st_size != last->st_size ||
		now.st_mtim.tv_sec != last->st_mtim.tv_sec || now.st_mtim.tv_nsec != last->st_mtim.tv_nsec);
}

static void watch_begin(struct mor_bot_run *run)
{
	const char *slash = strrchr(run->path, '/');
	MOR_CLEAN_TEXT char *dir =
		slash ? mor_strndup(run->path, (size_t)(slash - run->path) + 1) : mor_strdup(".");

	run->watch.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (run->watch.fd < 0 || !dir ||
	    inotify_add_watch(run->watch.fd, dir, IN_CLOSE_WRITE | IN_MOVED_TO) < 0)
		mor_bot_tell(run, NULL, "warning", 0, "%s cannot be watched (%s): after a change send SIGHUP",
			     run->path, strerrordesc_np(errno));
	watch_file(run);
}

void mor_bot_watch_look(struct mor_bot_run *run)
{
	char events[4096];

	while (read(run->watch.fd, events, sizeof(events)) > 0)
		;
	if (is_another(run))
		mor_bot_reload(run);
}

int mor_bot_open(struct mor_bot_run *run, mortise_error *err)
{
	struct tally tally = { 0 };
	int r;

	watch_begin(run);
	tell_warnings(run, run->config);
	r = apply_file(run, run->config, &tally, err);
	for (size_t i = 0; i < sizeof(tally.names) / sizeof(tally.names[0]); i++)
		mor_buf_fini(&tally.names[i]);
	if (r == 0 && run->count == 0)
		r = mor_fail(err, MORTISE_EMANIFEST, "%s: none of the plugins is enabled: write enabled = true",
			     run->path);
	return r;
}

void mor_bot_reload(struct mor_bot_run *run)
{
	struct tally tally = { 0 };
	struct mor_botfile *bot = NULL;
	mortise_error err = { 0 };

	watch_file(run); /* comes first: a change while we read counts as another change */
	if (mor_botfile_load(run->path, &bot, &err) < 0) {
		mor_bot_tell(run, NULL, "reload", 0, "%s; the bot goes on as it was", err.text);
		return;
	}
	tell_warnings(run, bot);
	if (!mor_botfile_network_same(&bot->network, &run->config->network))
		mor_bot_tell(run, NULL, "warning", 0, "%s: [bot] has changed: start the bot again to use it",
			     run->path);
	if (apply_file(run, bot, &tally, &err) < 0)
		mor_bot_tell(run, NULL, "reload", 0, "%s", err.text);
	tell_tally(run, &tally);
	mor_botfile_free(bot);
}

void mor_bot_close(struct mor_bot_run *run)
{
	for (size_t i = 0; i < run->count; i++)
		mor_bot_seat_free(run->seats[i]);
	for (size_t i = 0; i < run->gone_count; i++)
		mor_bot_seat_free(run->gone[i]);
	mor_free(run->seats);
	mor_free(run->gone);
	mor_botfile_free(run->config);
	if (run->watch.fd >= 0)
		close(run->watch.fd);
}
