/* SPDX-License-Identifier: Apache-2.0 */
/* Goals in any source: read or refused with file, line and column; what is read is solved or given
 * up, never worse. */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "kythe/entries/verify.h"

static void add(struct mor_graph *graph, struct mor_slice signature, const char *name, struct mor_slice value)
{
	struct mor_entry entry = { .source = { .set = true,
					       .part = { [MOR_VNAME_SIGNATURE] = signature,
							 [MOR_VNAME_PATH] = MOR_SLICE("a.c") } },
				   .fact_name = mor_slice_of(name),
				   .fact_value = value };

	CHECK(mor_graph_add(graph, &entry) == 0);
}

/* The source's own file node, and a few anchors and edges into it, so that goals have something to meet. */
static struct mor_graph *make_graph(struct mor_slice source)
{
	struct mor_graph *graph = NULL;

	CHECK(mor_graph_new(&graph) == 0);
	add(graph, MOR_SLICE(""), "/kythe/node/kind", MOR_SLICE("file"));
	add(graph, MOR_SLICE(""), "/kythe/text", source);
	for (unsigned i = 0; i < 8; i++) {
		struct mor_entry edge = { .source = { .set = true },
					  .target = { .set = true },
					  .fact_name = MOR_SLICE("/") };
		char name[16], start[16], end[16];

		snprintf(name, sizeof(name), "@%u", i);
		snprintf(start, sizeof(start), "%u", i * 3);
		snprintf(end, sizeof(end), "%u", i * 3 + 1 + i % 2);
		add(graph, mor_slice_of(name), "/kythe/node/kind", MOR_SLICE("anchor"));
		add(graph, mor_slice_of(name), "/kythe/loc/start", mor_slice_of(start));
		add(graph, mor_slice_of(name), "/kythe/loc/end", mor_slice_of(end));
		edge.source.part[MOR_VNAME_SIGNATURE] = mor_slice_of(name);
		edge.source.part[MOR_VNAME_PATH] = MOR_SLICE("a.c");
		edge.target.part[MOR_VNAME_SIGNATURE] = i % 2 ? MOR_SLICE("x") : MOR_SLICE("y");
		edge.edge_kind = i % 3 ? MOR_SLICE("/kythe/edge/ref") : MOR_SLICE("/kythe/edge/param.0");
		CHECK(mor_graph_add(graph, &edge) == 0);
	}
	CHECK(mor_graph_close(graph) == 0);
	return graph;
}

static void tell(const struct mor_verify_finding *finding, void *arg)
{
	unsigned *failed = arg;

	CHECK(finding->line > 0 && finding->column > 0 && finding->text[0]);
	*failed += finding->kind == MOR_VERIFY_FAILED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mor_slice source = { (const char *)data, size };
	struct mor_verify_options opt = { .singletons = true, .steps = 20000 };
	struct mor_graph *graph = make_graph(source);
	MOR_CLEAN(mor_verifier) struct mor_verifier *verifier = NULL;
	mortise_error err = { 0 };
	unsigned failed = 0;
	int r;

	CHECK(mor_verifier_new(graph, &opt, &verifier, NULL) == 0);
	r = mor_verifier_add(verifier, "f.c", source, &err);
	CHECK(r == 0 || (r == MORTISE_EINPUT && strncmp(err.text, "f.c:", 4) == 0));
	if (r == 0) {
		r = mor_verifier_run(verifier, tell, &failed, &err);
		CHECK((r == 0 && failed == 0) || (r == 1 && failed > 0) || r == MORTISE_ELIMIT ||
		      r == MORTISE_EINPUT);
	}
	verifier = mor_verifier_free(verifier);
	mor_graph_free(graph);
	return 0;
}
