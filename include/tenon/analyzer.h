/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer.h: write a Kythe analyzer. The analyzer is the client here: it asks the driver for work on its
 * stdout, reads files as if they were its own, and writes entries to a file that the driver names.
 *
 *	static int analyze(tenon_analyzer *a, const tenon_unit *unit, void *arg)
 *	{
 *		tenon_vname file;
 *
 *		tenon_vname_of(a, unit->inputs[0], "", &file);
 *		return tenon_fact(a, &file, "/kythe/node/kind", "file", 4);
 *	}
 *	static const tenon_analysis analyses[] = { { "/kythe/index/demo", analyze }, { 0 } };
 *	int main(void)
 *	{
 *		return tenon_run(&(tenon_plugin){ .name = "demo", .analyses = analyses });
 *	}
 *
 * tenon_analyze() does the same without a plugin around it.
 *
 * Rules that hold for every function:
 *   - One analysis at a time, on the thread that called tenon_run() or tenon_analyze(). The process is in the
 *     unit's working directory while `analyze` runs.
 *   - What the library returns is valid until `analyze` returns. Arguments are borrowed during the call.
 *   - int results are 0, or negative if nothing was done. A failed write or a lost driver is reported once, at
 *     the end: you need not check the result of each entry.
 */
#ifndef TENON_ANALYZER_H
#define TENON_ANALYZER_H

#include <stddef.h>
#include <stdint.h>

#include <tenon/tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tenon_analyzer tenon_analyzer;

typedef struct tenon_vname { /* no part is NULL */
	const char *signature, *corpus, *root, *path, *language;
} tenon_vname;

typedef struct tenon_unit {
	const char *working_dir;
	/* source files, as the build spells them; NULL-terminated, like all lists here */
	const char *const *inputs;
	const char *const *arguments;           /* the compiler's */
	const char *const *environment;         /* NAME=VALUE */
	const char *output;                     /* where entries go; the library writes there */
	const char *entry_context, *output_key; /* "" if the record has none */
	const char *details;                    /* JSON text, an array; "[]" if the record has no details */
	size_t input_count, argument_count;
	const char *type; /* of the analysis; "" if the driver does not say it */
} tenon_unit;

/* 0: the analysis is complete, and `done` is sent. Anything else: it failed, and the process ends without
 * `done`. Then the driver counts it as failed and may try again in a new process. */
typedef int tenon_analyze_fn(tenon_analyzer *analyzer, const tenon_unit *unit, void *arg);

/* A row of a plugin's `.analyses`. If there are several and the driver does not say which type a unit is of,
 * the first one gets it. `arg` is the plugin's. */
typedef struct tenon_analysis {
	const char *type; /* "/kythe/index/c++"; NULL ends the table */
	tenon_analyze_fn *fn;
} tenon_analysis;

typedef struct tenon_analyzer_options {
	const char *name;         /* messages on stderr begin with it */
	const char *const *types; /* analysis types to ask for, NULL-terminated; NULL: any */
	tenon_analyze_fn *analyze;
	void *arg;
	uint32_t max_analyses; /* exit after this many, so that a fresh process takes over; 0: never */
} tenon_analyzer_options;

/* Sends init, then analyze and done until the driver closes stdin. 0, or 1 if the driver refused us, an
 * analysis failed or the connection broke. Like tenon_run(), it first moves the wire to private descriptors. */
TENON_API int tenon_analyze(const tenon_analyzer_options *options);

/* The VName that entries must use for a path of the record (signature "": of the file itself). The driver is
 * asked once per path and signature and analysis. Negative if it does not answer: then `ret` has only the
 * path. */
TENON_API int tenon_vname_of(tenon_analyzer *analyzer, const char *path, const char *signature,
			     tenon_vname *ret);

/* Asks for the names of many files in one message instead of one each; then tenon_vname_of() knows them.
 * `paths` is NULL-terminated. It only saves time: missing names are asked for when they are needed. */
TENON_API void tenon_vnames_ahead(tenon_analyzer *analyzer, const char *const *paths);

/* Entries. Text in names is UTF-8; a fact's value is any bytes. Each fact and edge should be emitted once. */
TENON_API int tenon_fact(tenon_analyzer *analyzer, const tenon_vname *source, const char *name,
			 const void *value, size_t len);
TENON_API int tenon_fact_text(tenon_analyzer *analyzer, const tenon_vname *source, const char *name,
			      const char *value);
/* `format` as in printf(). */
TENON_API int tenon_fact_format(tenon_analyzer *analyzer, const tenon_vname *source, const char *name,
				const char *format, ...) __attribute__((format(printf, 4, 5)));
TENON_API int tenon_edge(tenon_analyzer *analyzer, const tenon_vname *source, const char *kind,
			 const tenon_vname *target);
TENON_API uint64_t tenon_entries(const tenon_analyzer *analyzer); /* emitted in this analysis */

/* A diagnostic of this analysis. `path` NULL: about the whole analysis. line and column count from 1; 0: not
 * known. */
TENON_API void tenon_diagnose(tenon_analyzer *analyzer, const char *path, uint32_t line, uint32_t column,
			      const char *format, ...) __attribute__((format(printf, 5, 6)));

#ifdef __cplusplus
}
#endif
#endif
