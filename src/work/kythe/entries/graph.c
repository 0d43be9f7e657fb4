/* SPDX-License-Identifier: Apache-2.0 */
/* The table of triples: interning, merging of anchors, look-up by binary search in two orders. */
#include "kythe/entries/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/text.h"

struct atom {
	bool node;
	union {
		struct mor_slice text;
		mor_atom part[MOR_VNAME_PARTS];
	};
};

struct index { /* open addressing over atoms; 0 is an empty slot */
	mor_atom *slots;
	size_t mask, count;
};

struct anchor_key {
	mor_atom corpus, root, path;
	uint64_t start, end;
};
struct anchor {
	struct anchor_key key;
	mor_atom node; /* of its place, the anchor that stands for all */
};

struct mor_graph {
	struct atom *atoms; /* [0] is unused */
	size_t atom_count, atom_cap;
	struct index texts, nodes;
	struct mor_triple *forward;  /* by label, subject, object */
	struct mor_triple *backward; /* by label, object, subject; made by close */
	size_t count, cap;
	struct anchor *anchors; /* by key */
	size_t anchor_count;
	mor_atom kind, text, start, end; /* labels with a special meaning */
	mor_atom is_anchor, is_file;
};

static uint64_t hash_bytes(const void *bytes, size_t len)
{
	uint64_t hash = mor_hash(bytes, len);

	return hash ^ hash >> 29;
}

static uint64_t hash_atom(const struct atom *atom)
{
	return atom->node ? hash_bytes(atom->part, sizeof(atom->part)) :
			    hash_bytes(atom->text.ptr, atom->text.len);
}

static bool same_atom(const struct atom *a, const struct atom *b)
{
	return a->node ? memcmp(a->part, b->part, sizeof(a->part)) == 0 : mor_slice_eq(a->text, b->text);
}

static mor_atom *find_slot(const struct mor_graph *graph, const struct index *index, const struct atom *want)
{
	size_t i = hash_atom(want) & index->mask;

	while (index->slots[i] && !same_atom(&graph->atoms[index->slots[i]], want))
		i = (i + 1) & index->mask;
	return &index->slots[i];
}

static int index_grow(const struct mor_graph *graph, struct index *index)
{
	size_t size = index->slots ? (index->mask + 1) * 2 : 1024;
	struct index bigger = { mor_zalloc(size * sizeof(mor_atom)), size - 1, index->count };

	if (!bigger.slots)
		return MORTISE_ENOMEM;
	for (size_t i = 0; index->slots && i <= index->mask; i++)
		if (index->slots[i])
			*find_slot(graph, &bigger, &graph->atoms[index->slots[i]]) = index->slots[i];
	mor_free(index->slots);
	*index = bigger;
	return 0;
}

static mor_atom intern(struct mor_graph *graph, struct index *index, const struct atom *want)
{
	mor_atom *slot, known;

	if (index->count * 2 >= index->mask && index_grow(graph, index) < 0)
		return 0;
	slot = find_slot(graph, index, want);
	known = *slot;
	if (known)
		return known;
	if (mor_grow(&graph->atoms, graph->atom_count, &graph->atom_cap, sizeof(struct atom)) < 0)
		return 0;
	graph->atoms[graph->atom_count] = *want;
	if (!want->node) {
		char *copy = mor_strndup(want->text.ptr ? want->text.ptr : "", want->text.len);

		if (!copy)
			return 0;
		graph->atoms[graph->atom_count].text.ptr = copy;
	}
	index->count++;
	return *slot = (mor_atom)graph->atom_count++;
}

mor_atom mor_graph_text(struct mor_graph *graph, struct mor_slice text)
{
	return intern(graph, &graph->texts, &(struct atom){ .text = text });
}

/* 0: no entry has it. */
static mor_atom find_text(const struct mor_graph *graph, struct mor_slice text)
{
	return *find_slot(graph, &graph->texts, &(struct atom){ .text = text });
}

mor_atom mor_graph_find_node(const struct mor_graph *graph, const mor_atom part[MOR_VNAME_PARTS])
{
	struct atom want = { .node = true };

	memcpy(want.part, part, sizeof(want.part));
	return *find_slot(graph, &graph->nodes, &want);
}

bool mor_graph_is_node(const struct mor_graph *graph, mor_atom atom)
{
	return graph->atoms[atom].node;
}

mor_atom mor_graph_next_text(const struct mor_graph *graph, mor_atom after, struct mor_slice prefix)
{
	for (size_t i = (size_t)after + 1; i < graph->atom_count; i++) {
		const struct atom *atom = &graph->atoms[i];

		if (!atom->node && atom->text.len >= prefix.len &&
		    memcmp(atom->text.ptr, prefix.ptr, prefix.len) == 0)
			return (mor_atom)i;
	}
	return 0;
}

struct mor_slice mor_graph_slice(const struct mor_graph *graph, mor_atom text)
{
	return graph->atoms[text].text;
}

mor_atom mor_graph_part(const struct mor_graph *graph, mor_atom node, enum mor_vname_part part)
{
	return graph->atoms[node].part[part];
}

static bool intern_labels(struct mor_graph *graph)
{
	graph->kind = mor_graph_text(graph, MOR_SLICE("/kythe/node/kind"));
	graph->text = mor_graph_text(graph, MOR_SLICE("/kythe/text"));
	graph->start = mor_graph_text(graph, MOR_SLICE("/kythe/loc/start"));
	graph->end = mor_graph_text(graph, MOR_SLICE("/kythe/loc/end"));
	graph->is_anchor = mor_graph_text(graph, MOR_SLICE("anchor"));
	graph->is_file = mor_graph_text(graph, MOR_SLICE("file"));
	return graph->kind && graph->text && graph->start && graph->end && graph->is_anchor && graph->is_file;
}

int mor_graph_new(struct mor_graph **ret)
{
	MOR_CLEAN(mor_graph) struct mor_graph *graph = mor_zalloc(sizeof(*graph));

	if (!graph || mor_grow(&graph->atoms, 0, &graph->atom_cap, sizeof(struct atom)) < 0)
		return MORTISE_ENOMEM;
	graph->atoms[0] = (struct atom){ .node = true };
	graph->atom_count = 1;
	if (index_grow(graph, &graph->texts) < 0 || index_grow(graph, &graph->nodes) < 0 ||
	    !intern_labels(graph))
		return MORTISE_ENOMEM;
	*ret = mor_take(&graph);
	return 0;
}

struct mor_graph *mor_graph_free(struct mor_graph *graph)
{
	if (!graph)
		return NULL;
	for (size_t i = 1; i < graph->atom_count; i++)
		if (!graph->atoms[i].node)
			mor_free((void *)graph->atoms[i].text.ptr);
	mor_free(graph->atoms);
	mor_free(graph->texts.slots);
	mor_free(graph->nodes.slots);
	mor_free(graph->forward);
	mor_free(graph->backward);
	mor_free(graph->anchors);
	return mor_free(graph);
}

static mor_atom intern_node(struct mor_graph *graph, const struct mor_entry_vname *vname)
{
	struct atom want = { .node = true };

	for (int i = 0; i < MOR_VNAME_PARTS; i++) {
		want.part[i] = mor_graph_text(graph, vname->part[i]);
		if (!want.part[i])
			return 0;
	}
	return intern(graph, &graph->nodes, &want);
}

int mor_graph_add(struct mor_graph *graph, const struct mor_entry *entry)
{
	struct mor_triple triple = { .subject = intern_node(graph, &entry->source) };
	bool edge = entry->target.set;

	triple.label = mor_graph_text(graph, edge ? entry->edge_kind : entry->fact_name);
	triple.object = edge ? intern_node(graph, &entry->target) : mor_graph_text(graph, entry->fact_value);
	if (!triple.subject || !triple.label || !triple.object ||
	    mor_grow(&graph->forward, graph->count, &graph->cap, sizeof(triple)) < 0)
		return MORTISE_ENOMEM;
	graph->forward[graph->count++] = triple;
	return 0;
}

/* ---- order ---- */

static int by_number(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_forward(const void *a, const void *b)
{
	const struct mor_triple *x = a, *y = b;
	int r = by_number(x->label, y->label);

	r = r ? r : by_number(x->subject, y->subject);
	return r ? r : by_number(x->object, y->object);
}

static int compare_backward(const void *a, const void *b)
{
	const struct mor_triple *x = a, *y = b;
	int r = by_number(x->label, y->label);

	r = r ? r : by_number(x->object, y->object);
	return r ? r : by_number(x->subject, y->subject);
}

static int compare_keys(const struct anchor_key *x, const struct anchor_key *y)
{
	int r = by_number(x->corpus, y->corpus);

	r = r ? r : by_number(x->root, y->root);
	r = r ? r : by_number(x->path, y->path);
	r = r ? r : by_number(x->start, y->start);
	return r ? r : by_number(x->end, y->end);
}

static int compare_anchors(const void *a, const void *b)
{
	const struct anchor *x = a, *y = b;
	int r = compare_keys(&x->key, &y->key);

	return r ? r : by_number(x->node, y->node);
}

static struct mor_triples range(const struct mor_triple *table, size_t count, struct mor_triple from,
				struct mor_triple to, int (*compare)(const void *a, const void *b))
{
	return (struct mor_triples){ table + mor_lower_bound(&from, table, count, sizeof(from), compare),
				     table + mor_lower_bound(&to, table, count, sizeof(to), compare) };
}

struct mor_triples mor_graph_ask(const struct mor_graph *graph, mor_atom subject, mor_atom label,
				 mor_atom object)
{
	bool backward = !subject && object;
	struct mor_triple from = { subject, label, backward ? object : 0 }, to = from;

	++*(subject ? &to.subject : object ? &to.object : &to.label);
	return backward ? range(graph->backward, graph->count, from, to, compare_backward) :
			  range(graph->forward, graph->count, from, to, compare_forward);
}

/* The one object of a label; 0: none. */
static mor_atom object_of(const struct mor_graph *graph, mor_atom subject, mor_atom label)
{
	struct mor_triples found = mor_graph_ask(graph, subject, label, 0);

	return found.at < found.end ? found.at->object : 0;
}

size_t mor_graph_about(const struct mor_graph *graph, mor_atom subject, struct mor_triple *ret, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < graph->count && count < max; i++)
		if (graph->forward[i].subject == subject)
			ret[count++] = graph->forward[i];
	return count;
}

/* ---- anchors ---- */

static bool anchor_of(const struct mor_graph *graph, mor_atom node, struct anchor *ret)
{
	mor_atom start = object_of(graph, node, graph->start), end = object_of(graph, node, graph->end);
	const mor_atom *part = graph->atoms[node].part;

	if (!start || !end)
		return false;
	*ret = (struct anchor){ { part[MOR_VNAME_CORPUS], part[MOR_VNAME_ROOT], part[MOR_VNAME_PATH], 0, 0 },
				node };
	return mor_parse_u64(mor_graph_slice(graph, start), &ret->key.start) &&
	       mor_parse_u64(mor_graph_slice(graph, end), &ret->key.end);
}

static int collect_anchors(struct mor_graph *graph)
{
	struct mor_triples all = mor_graph_ask(graph, 0, graph->kind, graph->is_anchor);

	graph->anchors = mor_alloc((size_t)(all.end - all.at) * sizeof(struct anchor));
	if (!graph->anchors)
		return MORTISE_ENOMEM;
	for (; all.at < all.end; all.at++)
		if (anchor_of(graph, all.at->subject, &graph->anchors[graph->anchor_count]))
			graph->anchor_count++;
	qsort(graph->anchors, graph->anchor_count, sizeof(struct anchor), compare_anchors);
	return 0;
}

/* All anchors of one place are replaced by the first of them, in all triples. */
static int merge_anchors(struct mor_graph *graph)
{
	mor_atom *stands_for = mor_alloc(graph->atom_count * sizeof(mor_atom));

	if (!stands_for)
		return MORTISE_ENOMEM;
	for (size_t i = 0; i < graph->atom_count; i++)
		stands_for[i] = (mor_atom)i;
	for (size_t i = 1; i < graph->anchor_count; i++)
		if (compare_keys(&graph->anchors[i - 1].key, &graph->anchors[i].key) == 0)
			stands_for[graph->anchors[i].node] = stands_for[graph->anchors[i - 1].node];
	for (size_t i = 0; i < graph->count; i++) {
		graph->forward[i].subject = stands_for[graph->forward[i].subject];
		graph->forward[i].object = stands_for[graph->forward[i].object];
	}
	mor_free(stands_for);
	return 0;
}

static void drop_doubles(struct mor_graph *graph)
{
	size_t kept = 0;

	for (size_t i = 0; i < graph->count; i++)
		if (!kept || compare_forward(&graph->forward[kept - 1], &graph->forward[i]) != 0)
			graph->forward[kept++] = graph->forward[i];
	graph->count = kept;
}

static int sort_both_ways(struct mor_graph *graph)
{
	if (graph->count)
		qsort(graph->forward, graph->count, sizeof(struct mor_triple), compare_forward);
	drop_doubles(graph);
	mor_free(graph->backward);
	graph->backward = mor_alloc(graph->count * sizeof(struct mor_triple));
	if (!graph->backward)
		return MORTISE_ENOMEM;
	if (graph->count) {
		memcpy(graph->backward, graph->forward, graph->count * sizeof(struct mor_triple));
		qsort(graph->backward, graph->count, sizeof(struct mor_triple), compare_backward);
	}
	return 0;
}

int mor_graph_close(struct mor_graph *graph)
{
	int r = sort_both_ways(graph);

	r = r ? r : collect_anchors(graph);
	r = r ? r : merge_anchors(graph);
	return r < 0 ? r : sort_both_ways(graph);
}

size_t mor_graph_size(const struct mor_graph *graph)
{
	return graph->count;
}

mor_atom mor_graph_find_anchor(const struct mor_graph *graph, mor_atom file, uint64_t start, uint64_t end)
{
	const mor_atom *part = graph->atoms[file].part;
	struct anchor want = {
		{ part[MOR_VNAME_CORPUS], part[MOR_VNAME_ROOT], part[MOR_VNAME_PATH], start, end }, 0
	};
	size_t at = mor_lower_bound(&want, graph->anchors, graph->anchor_count, sizeof(want), compare_anchors);

	if (at == graph->anchor_count || compare_keys(&graph->anchors[at].key, &want.key) != 0)
		return 0;
	return graph->anchors[at].node;
}

mor_atom mor_graph_find_file(const struct mor_graph *graph, struct mor_slice text)
{
	mor_atom content = find_text(graph, text);
	struct mor_triples found;

	if (!content)
		return 0;
	found = mor_graph_ask(graph, 0, graph->text, content);
	for (; found.at < found.end; found.at++)
		if (object_of(graph, found.at->subject, graph->kind) == graph->is_file)
			return found.at->subject;
	return 0;
}

/* ---- for people ---- */

static void print_text(const struct mor_graph *graph, mor_atom text, struct mor_buf *out)
{
	char excerpt[80];

	mor_buf_printf(out, "\"%s\"", mor_excerpt(mor_graph_slice(graph, text), excerpt, sizeof(excerpt)));
}

void mor_graph_print(const struct mor_graph *graph, mor_atom atom, struct mor_buf *out)
{
	struct anchor anchor;
	char path[160];

	if (!mor_graph_is_node(graph, atom)) {
		print_text(graph, atom, out);
	} else if (object_of(graph, atom, graph->kind) == graph->is_anchor && anchor_of(graph, atom, &anchor)) {
		mor_printable(mor_graph_slice(graph, anchor.key.path), path, sizeof(path));
		mor_buf_printf(out, "@%llu-%llu of %s", (unsigned long long)anchor.key.start,
			       (unsigned long long)anchor.key.end, path);
	} else {
		mor_buf_text(out, "vname(");
		for (int i = 0; i < MOR_VNAME_PARTS; i++) {
			mor_buf_text(out, i ? ", " : "");
			print_text(graph, graph->atoms[atom].part[i], out);
		}
		mor_buf_byte(out, ')');
	}
}
