/* SPDX-License-Identifier: Apache-2.0 */
/* A page about a run, for people: one HTML file without anything from elsewhere, with a plot of its pace. */
#ifndef MOR_CREW_REPORT_H
#define MOR_CREW_REPORT_H

#include "base/buf.h"
#include "crew/lead.h"

/* Text in HTML. */
void mor_crew_report_text(struct mor_buf *out, struct mor_slice text);
/* A failed unit, as a row of the page's table: its name, why, and the lines that were said about it. */
void mor_crew_report_failure(struct mor_buf *rows, const struct mor_segment *segment, size_t unit);
/* The plot: units per second, and workers, over time. */
void mor_crew_report_plot(const struct mor_pace *pace, struct mor_buf *out);
/* The whole page, which appears complete or not at all. */
int mor_crew_report_write(const char *path, const char *title, uint64_t units, const struct mor_crew_led *led,
			  mortise_error *err);

#endif
