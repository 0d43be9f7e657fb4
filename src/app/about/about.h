/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages for people, or JSON for machines: what a plugin is, offers and needs, and how well it is
 * (`mortise info`); what this machine supports (`mortise doctor`).
 */
#ifndef MOR_ABOUT_ABOUT_H
#define MOR_ABOUT_ABOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "console/console.h"
#include "runner/runner.h"
#include "wire/json.h"

struct mor_about_plan {
	const char *path; /* as the user typed it; NULL: `argv` */
	const char *const *argv;
	const struct mor_plugin_args *plugin;
	bool no_start; /* what its files say is enough */
};
/* Starts the plugin, greets it, asks for its health, prints what is known, and stops it. Errors are reported.
 * Returns the exit code. */
int mor_about_plugin(struct mor_console *console, const struct mor_about_plan *plan);

/* The answer to our own question for its health. */
struct mor_about_health {
	int64_t time_ms;
	char *result;      /* JSON, or NULL: not asked or failed */
	const char *error; /* why it failed, or NULL */
	int healthy;       /* by the dialect's health words; -1: not known */
	char status[64];   /* the plugin's word, or "" */
};
/* `rule` is "health" of a dialect's table: what `result` means. */
void mor_about_judge(struct mor_about_health *health, const struct mor_value *rule);
/* `described` is from mortise_plugin_describe(). */
void mor_about_plugin_page(struct mor_console *out, const struct mor_value *described,
			   const struct mor_about_health *asked);

/* `doctor` is from mortise_doctor(). */
void mor_about_machine_page(struct mor_console *out, const struct mor_value *doctor);

#endif
