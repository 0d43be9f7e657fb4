/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer.h: write a Kythe analyzer. The analyzer is the client here: it asks the driver for work on its stdout, reads
 * files as if they were its own, and writes entries to a file that the driver names.
 *
 *	static int analyze(tenon_analyzer *a, const tenon_unit *unit, void *arg)
 *	{
 *		tenon_vname file;
 *
 *		tenon_vname_of(a, unit->inputs[0], "", &file);
 *		return tenon_fact(a, &file, "/kythe/node/kind", "file", 4);
 *	}
 *	int main(void)
 *	{
 *		return tenon_analyze(&(tenon_analyzer_options){ .name = "demo", .analyze = analyze });
 *	}
 *
 * Rules that hold for every function:
 *   - One analysis at a time, on the thread that called tenon_analyze(). The process stands in the unit's working
 *     directory while `analyze` runs.
 *   - What the library hands out lives until `analyze` returns. Arguments are borrowed for the length of the call.
 *   - int results are 0, or negative when nothing was done. A failed write or a driver that is gone shows once, at the
 *     end: entries may be emitted without a look at each result.
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
	const char *const *inputs;    /* source files, as the build spells them; NULL-terminated, as all lists here    */
	const char *const *arguments; /* the compiler's                                                               */
	const char *const *environment; /* NAME=VALUE                                                                 */
	const char *output;           /* where entries go; the library writes there                                   */
	const char *entry_context, *output_key; /* "" when the record has none                                         */
	const char *details;          /* JSON text, an array; "[]" when there are none                                */
	size_t input_count, argument_count;
} tenon_unit;

/* 0: the analysis is complete, `done` is sent. Anything else: it failed; the process ends without `done`, so that the driver
 * counts it as failed and may try again in a new one. */
typedef int tenon_analyze_fn(tenon_analyzer *analyzer, const tenon_unit *unit, void *arg);

typedef struct tenon_analyzer_options {
	const char *name;          /* what messages on stderr begin with                                              */
	const char *const *types;  /* analysis types to ask for, NULL-terminated; NULL: any                           */
	tenon_analyze_fn *analyze;
	void *arg;
	uint32_t max_analyses;     /* leave after this many, so that a fresh process takes over; 0: never              */
} tenon_analyzer_options;

/* init, then analyze and done until the driver closes stdin. 0, or 1 when the driver refused us, an analysis failed or the
 * wire broke. As tenon_run(), it moves the wire to private descriptors first. */
TENON_API int tenon_analyze(const tenon_analyzer_options *options);

/* The VName that entries must use for a path of the record (signature "": of the file itself). Asked of the driver once per
 * path and signature and analysis. Negative when it would not tell: then `ret` has the path and nothing else. */
TENON_API int tenon_vname_of(tenon_analyzer *analyzer, const char *path, const char *signature, tenon_vname *ret);

/* Asks for the names of many files at once, in one message instead of one each; tenon_vname_of() then knows them. `paths` is
 * NULL-terminated. Only a saving: what it does not get is asked for when it is needed. */
TENON_API void tenon_vnames_ahead(tenon_analyzer *analyzer, const char *const *paths);

/* Entries. Text in names is UTF-8; a fact's value is any bytes. Each fact and edge should be emitted once. */
TENON_API int tenon_fact(tenon_analyzer *analyzer, const tenon_vname *source, const char *name, const void *value,
			 size_t len);
TENON_API int tenon_fact_text(tenon_analyzer *analyzer, const tenon_vname *source, const char *name, const char *value);
TENON_API int tenon_edge(tenon_analyzer *analyzer, const tenon_vname *source, const char *kind, const tenon_vname *target);
TENON_API uint64_t tenon_entries(const tenon_analyzer *analyzer); /* emitted in this analysis */

/* A diagnostic of this analysis. `path` NULL: of the whole. line and column count from 1; 0: not known. */
TENON_API void tenon_diagnose(tenon_analyzer *analyzer, const char *path, uint32_t line, uint32_t column,
			      const char *format, ...) __attribute__((format(printf, 5, 6)));

#ifdef __cplusplus
}
#endif
#endif
