/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line is redrawn in place, and removed before anything else is printed: on a terminal, stdout and
 * stderr share one screen.
 */
#include "console/progress.h"

#include <stdio.h>

#include "base/clock.h"

#define REDRAW_MS 100

void mor_progress_start(struct mor_progress *progress, bool on, size_t total)
{
	*progress = (struct mor_progress){ .on = on, .total = total, .begun_ms = mor_clock_ms() };
}

void mor_progress_draw(struct mor_progress *progress)
{
	int64_t now = mor_clock_ms(), spent = now - progress->begun_ms;

	if (!progress->on || (progress->shown && now - progress->drawn_ms < REDRAW_MS))
		return;
	fprintf(stderr, "\r\033[K[%zu/%zu] %zu failed", progress->done, progress->total, progress->failed);
	if (spent > 0 && progress->done)
		fprintf(stderr, "  %.1f files/s",
			progress->rate > 0 ? progress->rate : 1000.0 * (double)progress->done / (double)spent);
	fputs(progress->more, stderr);
	fflush(stderr);
	progress->shown = true;
	progress->drawn_ms = now;
}

/* The fraction may be a plugin's: any number. NaN is not known either. */
void mor_progress_say(struct mor_progress *progress, double fraction, const char *text)
{
	enum { WIDTH = 20 };
	double part = fraction > 1 ? 1 : fraction;
	bool known = part >= 0;
	int full = known ? (int)(part * WIDTH) : 0, len = 0;

	if (known)
		len = snprintf(progress->said, sizeof(progress->said), "[%.*s%*s] %3d%% ", full,
			       "====================", WIDTH - full, "", (int)(part * 100));
	snprintf(progress->said + len, sizeof(progress->said) - (size_t)len, "%s", text);
	mor_progress_say_again(progress);
}

void mor_progress_say_again(struct mor_progress *progress)
{
	if (!*progress->said)
		return;
	fprintf(stderr, "\r\033[K%s", progress->said);
	fflush(stderr);
	progress->shown = true;
}

void mor_progress_said(struct mor_progress *progress)
{
	mor_progress_clear(progress);
	*progress->said = '\0';
}

void mor_progress_clear(struct mor_progress *progress)
{
	if (!progress->shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress->shown = false;
}
