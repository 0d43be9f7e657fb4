/* SPDX-License-Identifier: Apache-2.0 */
#include "gauge/judgement.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *mor_judgement_us(double us, const char *micro, char out[32])
{
	double value = us < 1000 ? us : us < 1000000 ? us / 1000 : us / 1000000;
	const char *unit = us < 1000 ? micro : us < 1000000 ? "ms" : "s";

	snprintf(out, 32, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
	return out;
}

/* ---- the parts of a call ---- */

/* us: processors that sleep must be woken, twice for each call. `cat` may have been lucky, and nobody waits for
 * something as short as this. */
#define WAKE_UPS 60

static double over(double a, double b)
{
	return a > b ? a - b : 0;
}

static double less(double a, double b)
{
	return a < b ? a : b;
}

static void divide_time(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	const struct mor_judgement_cost *call = &in->call, *floor = &in->floor;
	double sum = 0, busy = less(call->busy, over(call->wall, in->least) + call->preempted), rest;

	v->us[MOR_PORTION_PIPE] = less(floor->wall, call->wall);
	v->us[MOR_PORTION_PLUGIN] = over(call->plugin, floor->plugin);
	v->us[MOR_PORTION_HOST] = over(call->host, floor->host);
	v->us[MOR_PORTION_GUARDIAN] = call->guardian;
	for (int i = 0; i < MOR_PORTIONS; i++)
		sum += v->us[i];
	rest = over(call->wall, sum);
	v->us[MOR_PORTION_BUSY] = less(busy, rest);
	rest = over(rest, busy);
	v->us[rest > WAKE_UPS ? MOR_PORTION_WAIT : MOR_PORTION_PIPE] += rest;
	sum += v->us[MOR_PORTION_BUSY] + rest;
	for (int i = 0; i < MOR_PORTIONS; i++) {
		v->share[i] = sum > 0 ? v->us[i] / sum : 0;
		v->us[i] = v->share[i] * call->wall;
	}
}

/* Of the plugin's and ours: what other programs did is a note. */
static enum mor_portion largest_part(const struct mor_judgement *v)
{
	int best = 0;

	for (int i = 1; i < MOR_PORTIONS; i++)
		if (i != MOR_PORTION_BUSY && v->us[i] > v->us[best])
			best = i;
	return (enum mor_portion)best;
}

#define TAKEN 0.02 /* less does not show: "283 ms of 283 ms" beside a mean of 314 ms would */

/* Without what other programs took, unless that is nothing: then the per cent are those of the page. */
static double own_time(const struct mor_judgement *v)
{
	double own = 0;

	for (int i = 0; i < MOR_PORTIONS; i++)
		own += i == MOR_PORTION_BUSY && v->share[i] >= TAKEN ? 0 : v->us[i];
	return own;
}

/* ---- the main sentence ---- */

#define AT_ONCE 8     /* times the floor */
#define LARGE   65536 /* bytes: more than a pipe holds */
#define GAIN    1.3   /* less is not worth a word */
#define BUSY    0.2   /* less is usual */
#define ENOUGH  20    /* calls, to compare rates */

/* Rates differ by chance: from few calls, or beside other programs, nothing is concluded. */
static bool can_compare(const struct mor_judgement_input *in, const struct mor_judgement *v)
{
	return in->tried > 1 && in->fewest >= ENOUGH && v->share[MOR_PORTION_BUSY] < BUSY;
}

/* One row of several that stands alone is chance too. */
static bool gains(const struct mor_judgement_input *in, const struct mor_judgement *v)
{
	return can_compare(in, v) && in->gain >= GAIN && in->gain_beside >= GAIN;
}

/* The texts follow those of begin_part(). */
static const struct where_row {
	const char *name, *label, *text, *advice;
} where_rows[] = {
	[MOR_PORTION_PLUGIN] = { "plugin_computes", "plugin computing", "is the plugin's own computing",
				 "look into it with a profiler: perf, py-spy, node --prof; nothing outside of "
				 "the plugin can make this faster" },
	[MOR_PORTION_WAIT] = { "plugin_waits", "plugin waiting",
			       "the plugin waits, and nobody computes: it sleeps, or waits for a disk, the "
			       "network, a lock or another process",
			       "'strace -f -T -p PID' shows what it waits for; if it can do several calls at "
			       "once, keep more in flight" },
	[MOR_PORTION_PIPE] = { "pipe", "pipe and switching", NULL, NULL }, /* say_at_once() */
	[MOR_PORTION_HOST] = { "host", "host",
			       "is the host's: it reads, checks and hands on what the plugin sends",
			       "smaller messages help: ask for less, or in pages; programs that embed the "
			       "library pay the same" },
	[MOR_PORTION_GUARDIAN] = { "guardian", "guardian",
				   "is the guardian's (mortise-jail): it opens files for a confined plugin",
				   "let the plugin keep files open between calls; compare with --level "
				   "guarded" },
	[MOR_PORTION_BUSY] = { "busy_machine", "processors busy", NULL, NULL },
};

const char *mor_portion_label(enum mor_portion where)
{
	return where_rows[where].label;
}

const char *mor_portion_name(enum mor_portion where)
{
	return where_rows[where].name;
}

/* "80 % of a call (61 us of 80 us) ": of its own time. */
static void begin_part(const struct mor_judgement_input *in, struct mor_judgement *v, enum mor_portion where)
{
	char part[32], whole[32];
	double own = own_time(v);

	snprintf(v->main.text, sizeof(v->main.text), "%.0f %% of a call (%s of %s%s) ",
		 own > 0 ? 100 * v->us[where] / own : 0, mor_judgement_us(v->us[where], in->micro, part),
		 mor_judgement_us(own, in->micro, whole),
		 v->share[MOR_PORTION_BUSY] < TAKEN ? "" : ", without what other programs took");
}

static void say_part(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	enum mor_portion where = largest_part(v);
	const struct where_row *row = &where_rows[where];
	size_t len;

	v->main.kind = row->name;
	begin_part(in, v, where);
	len = strlen(v->main.text);
	snprintf(v->main.text + len, sizeof(v->main.text) - len, "%s", row->text);
	snprintf(v->main.advice, sizeof(v->main.advice), "%s", row->advice);
	if (where == MOR_PORTION_WAIT && in->per_call) /* of ended processes the kernel does not tell it */
		snprintf(v->main.advice, sizeof(v->main.advice),
			 "look whether other programs have the processors: that cannot be told apart here");
}

/* The host computes most, and most of what it reads is stderr. */
static bool say_stderr(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	size_t len;

	if (largest_part(v) != MOR_PORTION_HOST || in->stderr_bytes <= in->bytes || in->stderr_bytes < 1)
		return false;
	v->main.kind = "stderr";
	begin_part(in, v, MOR_PORTION_HOST);
	len = strlen(v->main.text);
	snprintf(v->main.text + len, sizeof(v->main.text) - len,
		 "is the host's, and most of what it reads is stderr: %.0f bytes per call, messages have %.0f",
		 in->stderr_bytes, in->bytes);
	snprintf(v->main.advice, sizeof(v->main.advice), "log less, or only when asked to");
	return true;
}

static bool say_errors_only(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	if (in->errors < in->calls)
		return false;
	v->main.kind = "error_path";
	snprintf(v->main.text, sizeof(v->main.text),
		 "every call was answered with an error: this is how fast the plugin refuses, not how fast it "
		 "works");
	snprintf(v->main.advice, sizeof(v->main.advice),
		 "give METHOD and its parameters as 'mortise call' takes them");
	return true;
}

#define SEND_LESS "send less: ask for pages, or hand over the path of a file instead of its content"

/* The bytes of large messages take most of the time. */
static bool say_large(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	char bytes[32];
	size_t len;

	if (in->bytes <= LARGE || largest_part(v) != MOR_PORTION_PIPE)
		return false;
	v->main.kind = "large_messages";
	begin_part(in, v, MOR_PORTION_PIPE);
	len = strlen(v->main.text);
	snprintf(v->main.text + len, sizeof(v->main.text) - len,
		 "is moving bytes through the pipes: request and answer have %s",
		 mor_format_bytes((uint64_t)in->bytes, bytes));
	snprintf(v->main.advice, sizeof(v->main.advice), SEND_LESS);
	return true;
}

/* A call is about as fast as bare pipes, or most of its time is theirs. */
static bool say_at_once(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	char whole[32], pipe[32];
	double own = own_time(v);

	if (in->bytes > LARGE || (largest_part(v) != MOR_PORTION_PIPE && own > AT_ONCE * in->floor.wall))
		return false;
	v->main.kind = "at_once";
	snprintf(v->main.text, sizeof(v->main.text),
		 "the plugin answers at once: a call takes %s of its and our time; the pipe and the switching "
		 "are %s of it",
		 mor_judgement_us(own, in->micro, whole),
		 mor_judgement_us(v->us[MOR_PORTION_PIPE], in->micro, pipe));
	snprintf(v->main.advice, sizeof(v->main.advice),
		 "there is little to gain: send fewer and larger messages%s",
		 gains(in, v) ? ", or keep more calls in flight" : "");
	return true;
}

static bool say_start(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	char part[32], whole[32];

	if (!in->per_call || in->ready < in->call.wall / 2)
		return false;
	v->main.kind = "start_up";
	snprintf(v->main.text, sizeof(v->main.text),
		 "%.0f %% of a call (%s of %s) is the plugin's own start: it is started for each call",
		 100 * in->ready / in->call.wall, mor_judgement_us(in->ready, in->micro, part),
		 mor_judgement_us(in->call.wall, in->micro, whole));
	snprintf(v->main.advice, sizeof(v->main.advice),
		 "do less before the first message: load modules when they are needed");
	return true;
}

/* ---- notes ---- */

/* Writes the next note of `v`. false: there is nothing to say. */
typedef bool note_fn(const struct mor_judgement_input *in, struct mor_judgement *v);

#define NOTE        v->notes[v->notes_count]
#define TEXT(...)   snprintf(NOTE.text, sizeof(NOTE.text), __VA_ARGS__)
#define ADVICE(...) snprintf(NOTE.advice, sizeof(NOTE.advice), __VA_ARGS__)

static bool note_errors(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	if (!in->errors || in->errors == in->calls)
		return false;
	TEXT("%llu of %llu calls were answered with an error, and their times count as well",
	     (unsigned long long)in->errors, (unsigned long long)in->calls);
	return true;
}

static bool note_per_call(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	if (!in->per_call)
		return false;
	TEXT("the protocol (%s) has one process for each call: all figures include its start and end",
	     in->dialect);
	return true;
}

static bool note_one_in_flight(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	if (in->max_in_flight != 1 || in->per_call)
		return false;
	TEXT("the plugin may have one call at a time (%s): more of them would only wait", in->dialect);
	ADVICE("for more throughput run several processes of it: mortise_pool_new()%s",
	       in->dialect && strcmp(in->dialect, "yams") == 0 ? ", 'mortise extract -j'" : "");
	return true;
}

static bool note_gain(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	if (!gains(in, v))
		return false;
	TEXT("with %u calls in flight it answers %.1f times as many per second", in->best, in->gain);
	return true;
}

static bool note_no_gain(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	if (!can_compare(in, v) || in->gain >= GAIN)
		return false;
	TEXT("more calls in flight gain little (%.1f times as many per second): it does one after the other",
	     in->gain);
	ADVICE("threads or an event loop in the plugin, or several processes of it (mortise_pool_new())");
	return true;
}

static bool note_not_tried(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	char text[32];

	if (in->too_few) {
		TEXT("more than %u in flight was not tried: there are not as many calls", in->tried);
		ADVICE("measure more calls: --count, or --time");
		return true;
	}
	if (!in->too_slow)
		return false;
	TEXT("more than %u in flight was not tried: with %s for a call the time is too short for it", in->tried,
	     mor_judgement_us(in->p50, in->micro, text));
	ADVICE("name what to try: --concurrency 1,4,16; or measure longer: --time");
	return true;
}

static bool note_stderr(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	if (in->stderr_bytes < 1 || strcmp(v->main.kind, "stderr") == 0)
		return false;
	TEXT("it writes %.0f bytes to stderr per call, and each line wakes the host", in->stderr_bytes);
	ADVICE("log less, or only when asked to");
	return true;
}

static bool note_noise(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	if (in->noise_bytes <= 0 && in->noise_before <= 0)
		return false;
	if (in->noise_bytes > 0)
		TEXT("it prints what is no message to stdout (%.1f bytes per call)", in->noise_bytes);
	else
		TEXT("it prints what is no message to stdout when it starts: not every host passes over it");
	ADVICE("print to stderr: stdout is the wire");
	return true;
}

static bool note_large(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	char bytes[32];

	if (in->bytes <= LARGE || strcmp(v->main.kind, "large_messages") == 0)
		return false;
	TEXT("request and answer have %s: all of it is written, moved, read and checked",
	     mor_format_bytes((uint64_t)in->bytes, bytes));
	ADVICE(SEND_LESS);
	return true;
}

static bool note_start(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	char text[32];

	if (in->per_call || in->start < 20000 || in->start < 20 * in->p50)
		return false;
	TEXT("its start up to the first answer (%s) costs as much as %.0f calls",
	     mor_judgement_us(in->start, in->micro, text), in->start / in->p50);
	ADVICE("keep it running: 'mortise session start' between commands, one process in a program");
	return true;
}

static bool note_tail(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	char text[32];

	if (in->calls < 1000 || in->p999 < 20 * in->p50)
		return false;
	TEXT("one call in a thousand takes %s, %.0f times as long as usual: a collector of garbage, a timer, "
	     "or other programs",
	     mor_judgement_us(in->p999, in->micro, text), in->p999 / in->p50);
	return true;
}

static bool note_busy(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	(void)in;
	if (v->share[MOR_PORTION_BUSY] < BUSY)
		return false;
	TEXT("%.0f %% of the time host and plugin were ready to run, but other programs had the processors",
	     100 * v->share[MOR_PORTION_BUSY]);
	ADVICE("measure again when the machine is quiet");
	return true;
}

static bool note_few(const struct mor_judgement_input *in, struct mor_judgement *v)
{
	if (in->calls >= 1000)
		return false;
	TEXT("p99.9 says little about %llu call%s", (unsigned long long)in->calls, in->calls == 1 ? "" : "s");
	ADVICE("measure longer: --time, or --count");
	return true;
}

static const struct note_row {
	const char *kind;
	note_fn *applies;
} note_rows[MOR_JUDGEMENT_NOTES] = {
	{ "errors", note_errors },
	{ "process_per_call", note_per_call },
	{ "one_in_flight", note_one_in_flight },
	{ "more_in_flight_helps", note_gain },
	{ "one_after_the_other", note_no_gain },
	{ "not_tried", note_not_tried },
	{ "stderr", note_stderr },
	{ "noise", note_noise },
	{ "large_messages", note_large },
	{ "slow_start", note_start },
	{ "slow_tail", note_tail },
	{ "busy_machine", note_busy },
	{ "few_calls", note_few },
};

void mor_judgement_find(const struct mor_judgement_input *in, struct mor_judgement *ret)
{
	*ret = (struct mor_judgement){ 0 };
	divide_time(in, ret);
	if (!say_errors_only(in, ret) && !say_start(in, ret) && !say_large(in, ret) && !say_at_once(in, ret) &&
	    !say_stderr(in, ret))
		say_part(in, ret);
	for (size_t i = 0; i < MOR_JUDGEMENT_NOTES; i++)
		if (note_rows[i].applies(in, ret))
			ret->notes[ret->notes_count++].kind = note_rows[i].kind;
}
