/* SPDX-License-Identifier: Apache-2.0 */
/* Why there is no answer. The table of causes is in diagnosis.h; its rows for silence are below, in order. */
#include "host/diagnosis.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "host/plugin.h"

/* Everything that a row may use. */
struct scene {
	const mortise_plugin *plugin;
	const mortise_call *call; /* NULL: its greeting */
	const struct mor_heard *heard;
	struct mor_link_look look;
	bool mute;   /* no message has ever come from it */
	bool unsure; /* set by a row: it does not know for certain, this time */
	struct mor_diagnosis *ret;
	size_t len; /* of ret->text */
};

static void say(struct scene *scene, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct scene *scene, const char *format, ...)
{
	size_t room = sizeof(scene->ret->text) - scene->len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(scene->ret->text + scene->len, room, format, args);
	va_end(args);
	if (n > 0)
		scene->len += (size_t)n < room ? (size_t)n : room - 1;
}

static void scene_init(struct scene *scene, const mortise_plugin *plugin, const mortise_call *call,
		       struct mor_diagnosis *ret)
{
	struct mor_link *link = plugin->life.link;

	*scene = (struct scene){ .plugin = plugin,
				 .call = call,
				 .heard = mor_heard_of(plugin),
				 .look = { .last_stderr = "", .doing = { .fd = -1 } },
				 .mute = !plugin->now.counters.bytes_in,
				 .ret = ret };
	*ret = (struct mor_diagnosis){ .id = "" };
	if (link && link->ops->look)
		link->ops->look(link, &scene->look);
}

/* Only what came since the call was sent can have been meant as its answer. */
static bool may_answer(const struct scene *scene, int64_t came_ms)
{
	return scene->call && came_ms >= scene->call->sent_ms;
}

/* ---- what it has written ---- */

static bool other_id(struct scene *scene)
{
	if (!scene->heard->odd_id[0] || !may_answer(scene, scene->heard->odd_ms))
		return false;
	say(scene, "; an answer with id %s came; the call has id %lld", scene->heard->odd_id,
	    (long long)scene->call->id);
	return true;
}

/* The framing of what it writes. A line of digits is a length only if JSON follows it. -1: not known. */
static int written_framing(const struct scene *scene)
{
	const struct mor_heard *heard = scene->heard;
	struct mor_slice rest = scene->look.rest;
	char joined[64];
	int len;

	if (heard->framing)
		return heard->framing - 1;
	len = snprintf(joined, sizeof(joined), "%s\n%.*s", heard->stray_start, rest.len < 8 ? (int)rest.len : 8,
		       rest.len ? rest.ptr : "");
	if (heard->stray_lines && mor_framing_guess((struct mor_slice){ joined, (size_t)len }) >= 0)
		return mor_framing_guess((struct mor_slice){ joined, (size_t)len });
	return mor_framing_guess(rest);
}

/* The only dialect with this framing; NULL: several have it, or it is our own. */
static const char *dialect_of(const struct scene *scene, int framing)
{
	const char *name = NULL;

	for (const struct mor_dialect *const *d = mor_dialects(); *d; d++) {
		if ((int)(*d)->link.framing != framing)
			continue;
		if (name || *d == scene->plugin->peer.dialect)
			return NULL;
		name = (*d)->name;
	}
	return name;
}

static bool other_framing(struct scene *scene)
{
	int framing = scene->mute ? written_framing(scene) : -1,
	    own = (int)scene->plugin->is.link_options.framing;
	const char *dialect;

	if (framing < 0 || framing == own)
		return false;
	dialect = dialect_of(scene, framing);
	say(scene, "; it writes %s%s, not %s (plugin.framing=%s%s%s)",
	    mor_framing_name((enum mor_framing)framing), framing == MOR_FRAMING_LINES ? "" : " frames",
	    mor_framing_name((enum mor_framing)own), mor_framing_name((enum mor_framing)framing),
	    dialect ? ", or plugin.dialect=" : "", dialect ? dialect : "");
	return true;
}

static bool other_dialect(struct scene *scene)
{
	struct mor_slice method = mor_slice_of(scene->heard->odd_method);

	if (!method.len || !may_answer(scene, scene->heard->method_ms))
		return false;
	for (const struct mor_dialect *const *d = mor_dialects(); *d; d++) {
		const struct mor_method *row = mor_dialect_method(*d, MOR_FROM_PLUGIN, method);

		if (!row || *row->name == '*')
			continue;
		say(scene, "; it sent \"%s\", which %s has and %s has not (plugin.dialect=%s)", method.ptr,
		    (*d)->name, scene->plugin->peer.dialect->name, (*d)->name);
		return true;
	}
	return false;
}

/* How long the message is that `rest` begins, with its framing; 0: not known. */
static size_t announced(const struct scene *scene)
{
	const struct mor_link_options *opt = &scene->plugin->is.link_options;
	struct mor_deframer deframer;
	struct mor_item item = { 0 };

	mor_deframer_init(&deframer, opt->framing, opt->frame_limit, opt->deframe_flags);
	deframer.reads = opt->reads;
	if (mor_deframe(&deframer, scene->look.rest.ptr, scene->look.rest.len, false, &item) != MOR_ITEM_MORE)
		return 0;
	return item.want;
}

static bool partial(struct scene *scene)
{
	struct mor_slice rest = scene->look.rest;
	char begin[80];
	size_t want;

	if (!rest.len)
		return false;
	mor_excerpt(rest, begin, sizeof(begin));
	want = scene->plugin->is.link_options.framing == MOR_FRAMING_LINES ? 0 : announced(scene);
	if (want > rest.len)
		say(scene, "; it wrote only %zu of the %zu bytes of a message: \"%s\"", rest.len, want, begin);
	else
		say(scene, "; it wrote %zu byte%s without %s: \"%s\"", rest.len, rest.len == 1 ? "" : "s",
		    scene->plugin->is.link_options.framing == MOR_FRAMING_LINES ?
			    "the newline that ends a message" :
			    "a whole message",
		    begin);
	return true;
}

/* The last line of indented JSON is a single bracket: only the form helps there. */
static bool banner(struct scene *scene)
{
	const struct mor_heard *heard = scene->heard;
	bool one = heard->stray_lines == 1;

	if (!heard->stray_lines || (!scene->mute && !may_answer(scene, heard->stray_ms)))
		return false;
	say(scene, "; it printed %llu line%s on stdout that %s%s; the last: \"%s\"",
	    (unsigned long long)heard->stray_lines, one ? "" : "s",
	    one ? "is not a message" : "are not messages",
	    !one && scene->plugin->is.link_options.framing == MOR_FRAMING_LINES ? " (one line of JSON each)" :
										  "",
	    heard->last_stray);
	return true;
}

/* ---- what it is doing ---- */

/* "it", or the descendant that matters. */
static const char *subject(const struct scene *scene, char out[64])
{
	const struct mor_doing *doing = &scene->look.doing;
	char name[32];

	if (doing->pid == scene->plugin->life.pid)
		snprintf(out, 64, "it");
	else
		snprintf(out, 64, "its process %s", mor_excerpt(mor_slice_of(doing->name), name, sizeof(name)));
	return out;
}

static bool stopped(struct scene *scene)
{
	const struct mor_doing *doing = &scene->look.doing;
	char who[64];

	if (doing->what == MOR_DOING_STOPPED)
		say(scene, "; %s is stopped (SIGSTOP): kill -CONT %d lets it go on", subject(scene, who),
		    doing->pid);
	else if (doing->what == MOR_DOING_TRACED)
		say(scene, "; a debugger has stopped %s", subject(scene, who));
	else
		return false;
	return true;
}

static bool blocked(struct scene *scene)
{
	const struct mor_doing *doing = &scene->look.doing;
	char who[64];

	if (doing->what != MOR_DOING_WRITES)
		return false;
	subject(scene, who);
	if (doing->fd == 1 && scene->look.paused)
		say(scene, "; %s is blocked: its stdout is full, and this program does not read it now", who);
	else if (doing->fd == 1 || doing->fd == 2)
		say(scene, "; %s is blocked: its %s is full and nobody reads it", who,
		    doing->fd == 1 ? "stdout" : "stderr");
	else
		say(scene, "; %s is blocked writing to %s, which nobody reads", who,
		    doing->target[0] ? doing->target : "a full pipe");
	return true;
}

/* How a language writes at once what it prints. NULL: it does so anyway; Python does, because we set
 * PYTHONUNBUFFERED. */
static const char *flush_hint(const char *program)
{
	static const struct {
		const char *begin, *hint;
	} table[] = {
		{ "python", NULL },
		{ "node", NULL },
		{ "ruby", " ($stdout.sync = true)" },
		{ "perl", " ($| = 1)" },
		{ "java", " (System.out.flush())" },
		{ "php", " (fflush(STDOUT))" },
		{ "lua", " (io.stdout:flush())" },
		{ "gawk", " (fflush())" },
		{ "mawk", " (fflush(), and mawk -W interactive)" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strncmp(program, table[i].begin, strlen(table[i].begin)) == 0)
			return table[i].hint;
	return "";
}

/* The plugin waits for input. If it has never sent anything, it has not flushed, or takes our bytes for another
 * framing: the first bytes of a line, read as a length, are two gigabytes. */
static bool unflushed(struct scene *scene)
{
	const struct mor_doing *doing = &scene->look.doing;
	const char *framing = mor_framing_name(scene->plugin->is.link_options.framing),
		   *hint = doing->events ? NULL : flush_hint(doing->name);
	char who[64];

	if (doing->what != MOR_DOING_READS || scene->look.unread)
		return false;
	/* Other threads, and what an event loop has begun, may still work on an answer. */
	scene->unsure = doing->events || doing->tasks > 1;
	subject(scene, who);
	if (!scene->call)
		say(scene, "; %s waits for input: does it speak %s (plugin.dialect)?", who,
		    scene->plugin->peer.dialect->name);
	else if (!scene->mute || scene->heard->stray_lines)
		say(scene, "; %s has read the request and waits for the next one", who);
	else if (!hint)
		say(scene,
		    "; %s has read the request and waits for more input: has it forgotten to answer, or does "
		    "it expect another framing than %s (plugin.framing)?",
		    who, framing);
	else
		say(scene,
		    "; %s has read the request and waits for more input: is its answer still in its buffer, "
		    "not flushed%s? Or does it expect another framing than %s (plugin.framing)?",
		    who, hint, framing);
	return true;
}

static void say_unread(struct scene *scene)
{
	if (scene->look.unread)
		say(scene, "; it has not read the request (%llu bytes wait in its stdin)",
		    (unsigned long long)scene->look.unread);
}

static bool busy(struct scene *scene)
{
	const struct mor_doing *doing = &scene->look.doing;
	char who[64];

	if (doing->what != MOR_DOING_RUNS)
		return false;
	say_unread(scene);
	say(scene,
	    "; %s computes (%llu.%llu s of processor time since its start): an endless loop, or slow work",
	    subject(scene, who), (unsigned long long)doing->cpu_ms / 1000,
	    (unsigned long long)doing->cpu_ms / 100 % 10);
	return true;
}

/* The other things that a process may wait for. */
static bool waits(struct scene *scene)
{
	static const char *const words[] = {
		[MOR_DOING_WAITS_CHILD] = "waits for a child process",
		[MOR_DOING_LOCKED] = "waits for a lock (a deadlock?)",
		[MOR_DOING_WAITS] = "waits, but not for its stdin",
		[MOR_DOING_SLEEPS] = "sleeps",
		[MOR_DOING_DISK] = "waits for a disk or a network file system",
		[MOR_DOING_READS] = "waits for input",
	};
	const struct mor_doing *doing = &scene->look.doing;
	char who[64];

	if (doing->what == MOR_DOING_UNKNOWN && !scene->look.unread)
		return false;
	say_unread(scene);
	if (doing->what == MOR_DOING_WAITS && doing->target[0])
		say(scene, "; %s waits for %s", subject(scene, who), doing->target);
	else if (doing->what != MOR_DOING_UNKNOWN)
		say(scene, "; %s %s", subject(scene, who), words[doing->what]);
	return true;
}

static bool mute(struct scene *scene)
{
	if (!scene->mute || scene->heard->stray_lines)
		return false;
	say(scene,
	    "; it has sent no message at all: does it speak %s (plugin.dialect, plugin.framing), and flush its "
	    "stdout?",
	    scene->plugin->peer.dialect->name);
	return true;
}

/* ---- the rows ---- */

static const struct {
	const char *id;
	bool (*applies)(struct scene *scene); /* and says so */
	bool certain;
	bool more; /* what it is doing is told too */
} rows[] = {
	{ "other-id", other_id, true, false },
	{ "framing", other_framing, true, false },
	{ "dialect", other_dialect, true, false },
	{ "partial", partial, true, false },
	{ "banner", banner, true, true },
	{ "stopped", stopped, true, false },
	{ "blocked", blocked, true, false },
	{ "unflushed", unflushed, true, false },
	{ "busy", busy, false, false },
	{ "waits", waits, false, false },
	{ "mute", mute, false, false },
};

/* What its sandbox has refused so far: often the reason for all the rest. */
static void say_denied(struct scene *scene)
{
	const struct mor_denials *denials = &scene->plugin->life.denials;

	size_t first = denials->count > 2 ? denials->count - 2 : 0; /* the last ones are the nearest cause */

	for (size_t i = first; i < denials->count; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf deed = MOR_BUF_INIT;
		struct mor_violation what = mor_denials_violation(&denials->items[i], scene->plugin->peer.name,
								  scene->plugin->guarded.policy.source);

		mor_violation_deed(&what, &deed);
		if (mor_buf_byte(&deed, '\0') == 0)
			say(scene, "%s%.100s", i == first ? "; its sandbox denied: " : ", ", deed.data);
	}
}

static void say_stderr(struct scene *scene)
{
	char line[256];

	if (*scene->look.last_stderr)
		say(scene, "; last stderr: \"%s\"",
		    mor_excerpt(mor_slice_of(scene->look.last_stderr), line, sizeof(line)));
	else if (scene->heard->last_stderr[0])
		say(scene, "; last stderr: \"%s\"", scene->heard->last_stderr);
}

void mor_diagnosis_silence(const mortise_plugin *plugin, const mortise_call *call, struct mor_diagnosis *ret)
{
	struct scene scene;
	bool done = false;

	scene_init(&scene, plugin, call, ret);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && !done; i++) {
		if (!rows[i].applies(&scene))
			continue;
		if (!*ret->id) {
			ret->id = rows[i].id;
			ret->certain = rows[i].certain && !scene.unsure;
		}
		done = !rows[i].more;
	}
	say_denied(&scene);
	say_stderr(&scene);
}

const char *mor_diagnosis_stall(const mortise_plugin *plugin, struct mor_diagnosis *ret)
{
	struct scene scene;

	scene_init(&scene, plugin, NULL, ret);
	scene.look.unread = 0; /* the text says so already */
	if (!stopped(&scene) && !blocked(&scene) && !busy(&scene))
		waits(&scene);
	say_denied(&scene);
	say_stderr(&scene);
	return ret->text;
}

const char *mor_diagnosis_last_words(const mortise_plugin *plugin, char text[static MOR_DIAGNOSIS_SIZE])
{
	struct mor_diagnosis made = { .id = "" };
	struct scene scene = {
		.plugin = plugin, .heard = mor_heard_of(plugin), .look = { .last_stderr = "" }, .ret = &made
	};

	say_denied(&scene);
	say_stderr(&scene);
	if (!scene.heard->last_stderr[0] && scene.heard->last_stray[0])
		say(&scene, "; last stdout: \"%s\"", scene.heard->last_stray);
	memcpy(text, made.text, sizeof(made.text));
	return text;
}
