/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries in memory as one table of triples: subject, label, object. A label is an edge kind or a fact name;
 * an object is a node or the text of a fact. Texts and nodes share one set of numbers, so that comparing
 * means comparing numbers.
 *
 * Anchors are known by their place, not by their signature: all anchor nodes of one file with the same start
 * and end become one node when the graph is closed. Kythe's own verifier does the same.
 */
#ifndef MOR_KYTHE_ENTRIES_GRAPH_H
#define MOR_KYTHE_ENTRIES_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/slice.h"
#include "kythe/entries/entries.h"

typedef uint32_t mor_atom; /* 0: none */

struct mor_triple {
	mor_atom subject, label, object;
};

struct mor_graph;

int mor_graph_new(struct mor_graph **ret);                 /* 0 or MORTISE_ENOMEM */
struct mor_graph *mor_graph_free(struct mor_graph *graph); /* NULL is fine; returns NULL */
MOR_FINI_BY_FREE(mor_graph);

int mor_graph_add(struct mor_graph *graph, const struct mor_entry *entry); /* 0 or MORTISE_ENOMEM */
/* Call it after the last entry and before the first question: merges anchors, sorts, removes duplicates. 0
 * or MORTISE_ENOMEM. */
int mor_graph_close(struct mor_graph *graph);
size_t mor_graph_size(const struct mor_graph *graph); /* triples */

/* ---- atoms ---- */

/* The number of a text, made if it is new; 0: out of memory. */
mor_atom mor_graph_text(struct mor_graph *graph, struct mor_slice text);
/* The next text after this one (0: the first) with this beginning; 0: no other text begins so. */
mor_atom mor_graph_next_text(const struct mor_graph *graph, mor_atom after, struct mor_slice prefix);
bool mor_graph_is_node(const struct mor_graph *graph, mor_atom atom);
struct mor_slice mor_graph_slice(const struct mor_graph *graph, mor_atom text); /* of a text */
/* The text that is one part of a node's VName. */
mor_atom mor_graph_part(const struct mor_graph *graph, mor_atom node, enum mor_vname_part part);
mor_atom mor_graph_find_node(const struct mor_graph *graph, const mor_atom part[MOR_VNAME_PARTS]);
/* The (merged) anchor of a file, given by any node that has its corpus, root and path. 0: no anchor there. */
mor_atom mor_graph_find_anchor(const struct mor_graph *graph, mor_atom file, uint64_t start, uint64_t end);
/* The file node whose text is `text`; 0: none. If there are several, the first in the stream. */
mor_atom mor_graph_find_file(const struct mor_graph *graph, struct mor_slice text);
/* For people: "text", or vname(sig, corpus, root, path, language), or @12-17 of path for an anchor. */
void mor_graph_print(const struct mor_graph *graph, mor_atom atom, struct mor_buf *out);

/* ---- questions, once it is closed ---- */

/* Triples with this label and, if not 0, this subject and this object; a run in a sorted table. The object
 * is looked up only without a subject. With both, the caller compares objects. */
struct mor_triples {
	const struct mor_triple *at, *end;
};
struct mor_triples mor_graph_ask(const struct mor_graph *graph, mor_atom subject, mor_atom label,
				 mor_atom object);
/* All triples of a subject, to explain what was found instead. They are collected into `ret`; returns their
 * number. */
size_t mor_graph_about(const struct mor_graph *graph, mor_atom subject, struct mor_triple *ret, size_t max);

#endif
