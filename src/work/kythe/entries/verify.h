/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a graph against goals written in the comments of its own sources:
 *
 *	//- @foo defines/binding F        the anchor at "foo" on the next line has that edge to some F
 *	//- F.node/kind function          that F has this fact; F is the same everywhere
 *	int foo(void);
 *
 * The language is that of Kythe's verifier; docs/reference/verify-entries.md describes it: edges (with
 * ordinals: param.0, param.N), facts, =, vname(...), @tok @^tok @$tok with #n +n :line, "_", variables, { } and
 * !{ } groups, "?" to be shown.
 */
#ifndef MOR_KYTHE_ENTRIES_VERIFY_H
#define MOR_KYTHE_ENTRIES_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/alloc.h"
#include "base/slice.h"
#include "kythe/entries/graph.h"

struct mor_verifier;

struct mor_verify_options {
	const char *prefix; /* begins a line of goals, after blanks; NULL: "//-" or "///-" */
	const char *regex;  /* instead: matches a whole line; its one group holds the goals; NULL: none */
	bool singletons;    /* a variable may be used only once */
	uint64_t steps;     /* limit of search steps; 0: 100 million */
};

enum mor_verify_kind {
	MOR_VERIFY_FAILED, /* a goal that nothing in the graph meets; the text says what was found instead */
	MOR_VERIFY_SHOWN   /* the value of an expression with "?" */
};

struct mor_verify_finding {
	enum mor_verify_kind kind;
	const char *file;
	uint32_t line, column; /* from 1 */
	const char *text;
};
typedef void mor_verify_fn(const struct mor_verify_finding *finding, void *arg);

/* The graph is closed, belongs to the caller and must outlive the verifier (which adds texts to it).
 * MORTISE_EINVAL: not a regular expression, or not with one group; MORTISE_ENOMEM. `opt` is borrowed. */
int mor_verifier_new(struct mor_graph *graph, const struct mor_verify_options *opt, struct mor_verifier **ret,
		     mortise_error *err);
struct mor_verifier *mor_verifier_free(struct mor_verifier *verifier); /* NULL is fine; returns NULL */
MOR_FINI_BY_FREE(mor_verifier);

/* Reads the goals of one source. The file is found by its content: a file node of the graph must have
 * exactly this text. MORTISE_EINPUT "FILE:LINE:COLUMN: ..." for a goal that cannot be read, or for a file
 * with goals that is not in the graph. Variables are shared by all sources. */
int mor_verifier_add(struct mor_verifier *verifier, const char *file, struct mor_slice text,
		     mortise_error *err);
size_t mor_verifier_goals(const struct mor_verifier *verifier);

/* Tries to meet all goals. 0: all are met. 1: not; each failure was reported. MORTISE_EINPUT: a variable is
 * used only once. MORTISE_ELIMIT: gave up. MORTISE_ENOMEM. */
int mor_verifier_run(struct mor_verifier *verifier, mor_verify_fn *tell, void *arg, mortise_error *err);

#endif
