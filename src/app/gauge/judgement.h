/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of a call goes, in plain words. Nothing is measured here: figures in, sentences out.
 *
 * The mean time of a call is divided like this:
 *
 *	pipe      what the same bytes take to a process that only sends them back (`cat`), and back
 *	plugin    processor time of the plugin, without its share of the above
 *	host      the same of our own process
 *	guardian  the same of mortise-jail
 *	busy      of the rest: the host's thread or the plugin's busiest one was ready to run, but other
 *		  programs had the processors
 *	wait      what is left: neither side computed, so the plugin slept, or waited for something; less
 *		  than 60 us count as pipe
 *
 * A delay of the kind `busy` can pass while the other side sleeps or computes, and then it is no time of the
 * call. So it is at most what the mean call took longer than the fastest one, plus what was taken from the
 * plugin's thread while it computed: only that can be in every call.
 *
 * A host whose time goes into what the plugin writes to stderr, more bytes than its messages have, is a
 * sentence of its own; so are large messages whose bytes take most of the time.
 *
 * The parts add up to the mean. If they are more (a plugin that computes in several threads at once), each is
 * made smaller by the same factor.
 */
#ifndef MOR_GAUGE_JUDGEMENT_H
#define MOR_GAUGE_JUDGEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All in microseconds, for one call. */
struct mor_judgement_cost {
	double wall, host, plugin, guardian;
	double busy;      /* ready to run, without a processor: host and plugin */
	double preempted; /* of that, what was taken from the plugin while it computed, in each call */
};

struct mor_judgement_input {
	const char *dialect;
	const char *micro; /* how microseconds are written */
	struct mor_judgement_cost call;
	struct mor_judgement_cost floor;  /* of `cat`, as plugin; wall 0: not known */
	uint64_t calls, errors;           /* errors: calls that the plugin answered with one */
	double least, p50, p999;          /* us; least is 0: not known */
	double start;                     /* us from the start to the first answer, median; 0: not known */
	bool per_call;                    /* each call has a process of its own */
	double ready;                     /* per_call: us from the start to READY, mean */
	unsigned max_in_flight;           /* that the plugin may have; 0: no limit */
	unsigned tried, best;             /* the most in flight that was tried, and what gave the best rate */
	double gain, gain_beside;         /* that rate, and the second best, compared with one in flight */
	uint64_t fewest;                  /* calls of a measurement */
	bool too_slow;                    /* more in flight would have been tried, but calls take too long */
	bool too_few;                     /* the same, but there are fewer calls than that */
	double stderr_bytes, noise_bytes; /* per call */
	double noise_before;              /* bytes, from the start until calls were measured */
	double bytes;                     /* of request and answer */
};

enum mor_portion {
	MOR_PORTION_PLUGIN,
	MOR_PORTION_WAIT,
	MOR_PORTION_PIPE,
	MOR_PORTION_HOST,
	MOR_PORTION_GUARDIAN,
	MOR_PORTION_BUSY,
	MOR_PORTIONS
};
/* For people, and for JSON. */
const char *mor_portion_label(enum mor_portion where);
const char *mor_portion_name(enum mor_portion where);

struct mor_judgement_text {
	const char *kind;
	char text[240];   /* what was found */
	char advice[240]; /* what to do about it; "": nothing */
};

#define MOR_JUDGEMENT_NOTES 13
struct mor_judgement {
	double us[MOR_PORTIONS], share[MOR_PORTIONS]; /* shares are from 0 to 1 */
	struct mor_judgement_text main;
	struct mor_judgement_text notes[MOR_JUDGEMENT_NOTES];
	size_t notes_count;
};

/* calls must not be 0. */
void mor_judgement_find(const struct mor_judgement_input *in, struct mor_judgement *ret);

/* "61.2 us", "1.53 ms", "12 s", three digits; `micro` is how the first is written. Returns out. */
const char *mor_judgement_us(double us, const char *micro, char out[32]);

#endif
