/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal that a confined plugin may have as stdin, stdout or stderr. Its settings outlive the process
 * that changed them: so we keep them from before the plugin's first change, and put them back when all of its
 * processes have ended. What others change, as a pager behind a pipe does, is not ours to undo: nothing is put
 * back if the plugin has changed nothing.
 */
#ifndef MOR_JAIL_TERMINAL_H
#define MOR_JAIL_TERMINAL_H

/* While 0 to 2 are still the plugin's: keeps handles of those that are terminals. */
void mor_terminal_hold(void);
/* The plugin is about to change settings (broker's thread). */
void mor_terminal_remember(void);
/* All processes of the plugin have ended. Does nothing without mor_terminal_remember(). */
void mor_terminal_restore(void);

#endif
