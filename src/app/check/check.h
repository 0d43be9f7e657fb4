/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise check: does a plugin keep to its protocol? A check is a row of a table: an id, the section of the
 * specification, a level, and what is done: a few steps (send this, expect that), a function, or a fault
 * that must not be seen in the whole run. docs/design/0007-check.md says why it is built like this.
 *
 * Every row that needs a process gets its own, so a plugin that crashes or hangs spoils one row. What is sent
 * is written byte by byte as the row wants it, and everything that comes back is looked at as raw frames:
 * the host library would hide what is wrong. The processes run under the guardian, confined if the dialect
 * says so, and are gone when the run is over.
 */
#ifndef MOR_CHECK_CHECK_H
#define MOR_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "console/console.h"
#include "manifest/manifest.h"

enum mor_check_level {
	MOR_CHECK_MUST, /* the specification requires it: a failure */
	/* good practice, or a difference that real hosts accept: a warning; --strict: a failure */
	MOR_CHECK_SHOULD
};

enum mor_check_verdict {
	MOR_CHECK_PASS,
	MOR_CHECK_FAIL,
	MOR_CHECK_WARN,
	MOR_CHECK_UNSEEN, /* not observed: `why` says what was missing */
	MOR_CHECK_VERDICTS
};
const char *mor_check_verdict_name(enum mor_check_verdict verdict);

struct mor_check_result {
	char id[80]; /* "yams.handshake.name" */
	const char *title, *spec, *advice;
	enum mor_check_level level;
	enum mor_check_verdict verdict;
	bool expected; /* a failure that the baseline lists */
	char *why;     /* one line; NULL for a pass */
	char *talk;    /* what was sent and received, one line each, as in .talk files; or NULL */
	int64_t ms;
};

struct mor_check_report {
	struct mor_check_result *item;
	size_t count, cap;
	const char *subject; /* the plugin, or the host's command */
	const char *dialect;
	bool host;                      /* a host was checked */
	bool strict;                    /* warnings are failures */
	char **stale;                   /* entries of the baseline that no longer fail, NULL-terminated */
	size_t sum[MOR_CHECK_VERDICTS]; /* filled by mor_check_count() */
	size_t expected;
};
void mor_check_report_fini(struct mor_check_report *report);
/* Counts, and turns warnings into failures if `strict`. */
void mor_check_count(struct mor_check_report *report);
/* 0: all good, 1: something failed, or an entry of the baseline is stale. */
int mor_check_exit_code(const struct mor_check_report *report);

struct mor_check_options {
	const char *path; /* or NULL and argv */
	const char *const *argv;
	const struct mor_manifest *manifest;
	const char *dialect;
	const char *const *only; /* ids or their beginnings, NULL-terminated; NULL: all */
	const char *const *call; /* functions of the author that may be called; NULL: none */
	uint32_t answer_ms;      /* how long an answer may take; 0: the default */
	uint32_t total_ms;       /* of the whole run; 0: the default */
	bool strict;
	void (*on_result)(const struct mor_check_result *result, void *arg); /* or NULL */
	void *arg;
};

/* Runs the checks. 0; MORTISE_EUNSUPPORTED (no checks for this dialect), MORTISE_ECANCELED (a signal
 * came; the report has what was done), MORTISE_EINVAL (`only` names nothing), MORTISE_EEXEC ... (it
 * cannot be started). */
int mor_check_run(const struct mor_check_options *opt, struct mor_check_report *report, mortise_error *err);
/* The same for a host: `argv` is its command, with {} where the plugin is named, and {workspace} where a
 * workspace is; we play that plugin. Also MORTISE_EINVAL: no {}, or no {workspace} for confined plugins. */
int mor_check_host(const struct mor_check_options *opt, struct mor_check_report *report, mortise_error *err);
/* True: this process is the played plugin, because the files of --host lie beside its program; it has played,
 * and *ret_status is its exit status. */
bool mor_check_play(int *ret_status);
/* All rows of a dialect, or of all (NULL), as results that were not observed. `host`: those for hosts. */
int mor_check_list(const char *dialect, bool host, struct mor_check_report *report, mortise_error *err);

/* ---- reports ---- */

void mor_check_print_people(struct mor_console *console, const struct mor_check_report *report);
void mor_check_print_list(struct mor_console *console, const struct mor_check_report *report);
void mor_check_write_json(const struct mor_check_report *report, bool list, struct mor_buf *out);
void mor_check_write_tap(const struct mor_check_report *report, struct mor_buf *out);
void mor_check_write_junit(const struct mor_check_report *report, struct mor_buf *out);

/* ---- expected failures: one id per line, "#" begins a comment ---- */

/* Marks the failures that the file lists, and notes its entries that have not failed (`stale`), except those
 * that were not run. 0, MORTISE_EINPUT (it cannot be read; an id that no check has). */
int mor_check_baseline_read(const char *path, struct mor_check_report *report, mortise_error *err);
void mor_check_baseline_write(const struct mor_check_report *report, struct mor_buf *out);

/* ---- mortise probe ---- */

struct mor_check_found {
	const char *dialect, *framing; /* NULL: none was found */
	/* framing of its answers, if that is another: then there is no manifest */
	const char *answers;
	const char *kind;          /* "mcp", "lsp": a protocol that mortise drives as plain; or NULL */
	const char *what;          /* the same in words */
	const char *const *next;   /* such a server: commands that use it as @s, NULL-terminated; or NULL */
	bool echoes;               /* it sends back what it is sent */
	char name[64];             /* of the plugin, if it told one */
	struct mor_buf how;        /* one line per try: what was sent, what came */
	struct mor_buf manifest;   /* what to write, and where: */
	const char *manifest_file; /* "mortise.toml", "yams-plugin.json" */
	char level[12];            /* confinement of the tries */
};
/* Tries `argv` on confined processes without network, one for each try. 0; MORTISE_EEXEC ... if it cannot be
 * started; MORTISE_ECANCELED. Free with mor_check_found_fini(), also after a failure. */
int mor_check_probe(const char *path, const char *const *argv, uint32_t answer_ms, struct mor_check_found *ret,
		    mortise_error *err);
void mor_check_found_fini(struct mor_check_found *result);

#endif
