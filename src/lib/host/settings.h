/* SPDX-License-Identifier: Apache-2.0 */
/* From manifest, configuration and dialect to the numbers and rows that a plugin runs with. Read and checked
 * once. */
#ifndef MOR_HOST_SETTINGS_H
#define MOR_HOST_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

struct mor_method;

int mor_plugin_read_settings(mortise_plugin *plugin, mortise_error *err);
/* The time limit of a method: the configuration's, else the row's. */
uint32_t mor_plugin_timeout(const mortise_plugin *plugin, const struct mor_method *row, const char *method);
/* What sets it, for the text of a time-out, and how it is changed: "timeouts.greet sets the limit". `own`: the
 * call has brought its own. Programs that have other names for these settings put their own words instead. */
enum { MOR_WHO_SETS_SIZE = 160 };
const char *mor_who_sets_timeout(const mortise_plugin *plugin, const struct mor_method *row, const char *method,
				 bool own, char text[static MOR_WHO_SETS_SIZE]);

/* rows.c: leaves out rows whose `when` does not match the plugin's quirks. */
int mor_rows_choose(mortise_plugin *plugin, mortise_error *err);
void mor_rows_free(mortise_plugin *plugin);

#endif
