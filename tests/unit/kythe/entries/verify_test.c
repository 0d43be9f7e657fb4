/* SPDX-License-Identifier: Apache-2.0 */
/* The verifier on graphs made by hand: every form of goal, met and not met. */
#include "leak.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "kythe/entries/verify.h"

static const char source[] = "//- @foo defines/binding F\n" /* replaced by each test's own goals */
			     "int foo(int x) { return x; }\n";

struct world {
	struct mor_graph *graph;
	char text[4096]; /* the goals, then the line of code */
	size_t code;     /* where the code begins */
	unsigned failed, shown;
	char last[1024];
	mortise_error err;
};

static struct mor_entry_vname vname(const char *signature, const char *path, const char *language)
{
	return (struct mor_entry_vname){ true,
					 { mor_slice_of(signature), MOR_SLICE("c"), MOR_SLICE(""),
					   mor_slice_of(path), mor_slice_of(language) } };
}

static void fact(struct world *w, struct mor_entry_vname source_name, const char *name, const char *value)
{
	struct mor_entry entry = { .source = source_name,
				   .fact_name = mor_slice_of(name),
				   .fact_value = mor_slice_of(value) };

	assert_int_equal(mor_graph_add(w->graph, &entry), 0);
}

static void edge(struct world *w, struct mor_entry_vname from, const char *kind, struct mor_entry_vname to)
{
	struct mor_entry entry = {
		.source = from, .target = to, .edge_kind = mor_slice_of(kind), .fact_name = MOR_SLICE("/")
	};

	assert_int_equal(mor_graph_add(w->graph, &entry), 0);
}

/* An anchor over `text`, the n-th time it stands in the code. */
static struct mor_entry_vname anchor(struct world *w, const char *text, unsigned n, const char *signature)
{
	struct mor_entry_vname name = vname(signature, "a.c", "c++");
	const char *at = strstr(w->text + w->code, text);
	char number[24];

	while (n-- && at)
		at = strstr(at + 1, text);
	assert_non_null(at);
	fact(w, name, "/kythe/node/kind", "anchor");
	snprintf(number, sizeof(number), "%zu", (size_t)(at - w->text));
	fact(w, name, "/kythe/loc/start", number);
	snprintf(number, sizeof(number), "%zu", (size_t)(at - w->text) + strlen(text));
	fact(w, name, "/kythe/loc/end", number);
	return name;
}

static void make_graph(struct world *w, const char *goals)
{
	const char *code = strchr(source, '\n') + 1;

	w->code = (size_t)snprintf(w->text, sizeof(w->text), "%s", goals);
	snprintf(w->text + w->code, sizeof(w->text) - w->code, "%s", code);
	assert_int_equal(mor_graph_new(&w->graph), 0);
	fact(w, vname("", "a.c", ""), "/kythe/node/kind", "file");
	fact(w, vname("", "a.c", ""), "/kythe/text", w->text);
	fact(w, vname("foo#f", "a.c", "c++"), "/kythe/node/kind", "function");
	fact(w, vname("foo#f", "a.c", "c++"), "/kythe/complete", "definition");
	fact(w, vname("x#v", "a.c", "c++"), "/kythe/node/kind", "variable");
	edge(w, anchor(w, "foo", 0, "@1"), "/kythe/edge/defines/binding", vname("foo#f", "a.c", "c++"));
	edge(w, anchor(w, "x", 0, "@2"), "/kythe/edge/defines/binding", vname("x#v", "a.c", "c++"));
	/* The use of x has two anchor nodes on one place. */
	edge(w, anchor(w, "x", 1, "@3"), "/kythe/edge/ref", vname("x#v", "a.c", "c++"));
	edge(w, anchor(w, "x", 1, "@3b"), "/kythe/edge/ref/other", vname("x#v", "a.c", "c++"));
	edge(w, vname("foo#f", "a.c", "c++"), "/kythe/edge/param.0", vname("x#v", "a.c", "c++"));
	edge(w, vname("foo#f", "a.c", "c++"), "/kythe/edge/other.0", vname("x#v", "a.c", "c++"));
	assert_int_equal(mor_graph_close(w->graph), 0);
}

static void note(const struct mor_verify_finding *finding, void *arg)
{
	struct world *w = arg;

	if (finding->kind == MOR_VERIFY_FAILED)
		w->failed++;
	else
		w->shown++;
	snprintf(w->last, sizeof(w->last), "%s:%u:%u: %s", finding->file, finding->line, finding->column,
		 finding->text);
}

static int verify_with(struct world *w, const char *goals, const struct mor_verify_options *opt)
{
	struct mor_verifier *verifier = NULL;
	int r;

	*w = (struct world){ 0 };
	make_graph(w, goals);
	assert_int_equal(mor_verifier_new(w->graph, opt, &verifier, &w->err), 0);
	r = mor_verifier_add(verifier, "a.c", mor_slice_of(w->text), &w->err);
	if (r == 0)
		r = mor_verifier_run(verifier, note, w, &w->err);
	mor_verifier_free(verifier);
	w->graph = mor_graph_free(w->graph);
	return r;
}

static int verify(struct world *w, const char *goals)
{
	return verify_with(w, goals, NULL);
}

static void says(const char *text, const char *piece)
{
	if (!strstr(text, piece))
		fail_msg("\"%s\" is not in: %s", piece, text);
}

static void expect_held(const char *const *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct world w;
		int r = verify(&w, cases[i]);

		if (r != 0)
			fail_msg("%s: %d %s %s", cases[i], r, w.err.text, w.last);
	}
}

static void test_goals_that_hold(void **state)
{
	static const char *const cases[] = {
		"//- @foo defines/binding F\n//- F.node/kind function\n",
		"//- F.node/kind function @foo defines/binding F\n", /* two on a line, the fact first */
		"//- @foo defines/binding F\n//- F.complete definition\n//- F param.0 X\n//- @#0x "
		"defines/binding X\n",
		"//- @foo defines/binding _\n",
		"//- @foo defines/binding _Single\n",
		"//- @foo defines/binding vname(\"foo#f\", \"c\", \"\", \"a.c\", \"c++\")\n",
		"//- @foo defines/binding vname(_, c, _, Path, _)\n//- vname(\"\", _, _, Path, \"\").node/kind "
		"file\n",
		"//- @foo.loc/start @^foo\n//- @foo.loc/end @$foo\n",
		"//- @#1x ref X\n//- @#0x defines/binding X\n",
		"//- @#1x ref/other _\n", /* anchors of one place are one */
		"//- @#1x /kythe/edge/ref _\n",
		"//- @+1foo defines/binding _\n",
		"//- @:2foo defines/binding _\n",
		"//- A = B\n//- @foo defines/binding A\n//- B.node/kind function\n",
		"//- K = function\n//- @foo defines/binding F\n//- F.node/kind K\n",
		"//- { @foo defines/binding F\n//-   F.node/kind function }\n",
		"//- @foo defines/binding F\n//- !{ F.node/kind variable }\n",
		"//- !{ @foo ref _ }\n",
		"//- !{ @\"return\" ref _ }\n", /* no anchor at all */
		"  \t//-@foo defines/binding _\n",
		"///- @foo defines/binding F\n//- F.node/kind function\n",
		"\t///-@foo defines/binding _\n",
		/* = names what stands there, wherever an expression may stand */
		"//- V=vname(\"foo#f\", c, \"\", \"a.c\", \"c++\").node/kind function\n//- @foo "
		"defines/binding V\n",
		"//- V = vname(\"foo#f\", _, _, _, _) param.0 X\n//- @#0x defines/binding X\n//- V.complete "
		"definition\n",
		"//- @foo defines/binding F = vname(_, _, _, \"a.c\", _)\n//- F.node/kind function\n",
		"//- AnchorX=@foo.node/kind anchor\n//- AnchorX.loc/start @^foo\n//- AnchorX.loc/end @$foo\n",
		"//- A=@foo defines/binding F=G=vname(\"foo#f\", _, _, _, _)\n//- G.node/kind function\n//- F "
		"param.0 _\n//- A.loc/start _\n",
		"//- @foo defines/binding _ = vname(\"foo#f\", _, _, _, _)\n",
		"//- @foo defines/binding vname(S = \"foo#f\", _, _, _, _)\n//- vname(S, _, _, _, _).node/kind "
		"function\n",
		"//- A = B\n//- B = vname(\"foo#f\", _, _, _, _)\n//- @foo defines/binding A\n",
	};

	(void)state;
	expect_held(cases, sizeof(cases) / sizeof(*cases));
}

static void test_forms_of_goals(void **state)
{
	static const char *const cases[] = {
		/* blanks do not count, nor do line ends */
		"//- @ # 1 x ref X @#0x defines/binding X\n",
		"//- @foo defines/binding vname (\"foo#f\",\n//-   c, \"\",\n//-   \"a.c\", \"c++\")\n",
		"//- @foo\n//- defines/binding\n//- _\n",
		/* an edge's kind and a fact's name may be strings */
		"//- @foo \"defines/binding\" F\n//- F.\"node/kind\" \"function\"\n",
		"//- @foo \"/kythe/edge/defines/binding\" _\n",
		/* ordinals are atoms */
		"//- @foo defines/binding F\n//- F param.\"0\" _\n",
		"//- @foo defines/binding F\n//- F param._ X\n//- @#0x defines/binding X\n",
		"//- @foo defines/binding F\n//- F param.N X\n//- @#0x defines/binding X\n//- N = 0\n",
		"//- F param.N _\n//- F other.N _\n//- !{ F other.1 _ }\n",
		/* each _ is another one, with a name or without */
		"//- @foo defines/binding _One\n//- @#0x defines/binding _One\n",
		"//- @foo defines/binding Only?\n",
		"//- @foo defines/binding F\n//- !{ F.node/kind function\n//-    F.complete incomplete }\n",
		"// no goals at all\n",
		"//-\n",
	};

	(void)state;
	expect_held(cases, sizeof(cases) / sizeof(*cases));
}

static void test_goals_that_do_not_hold(void **state)
{
	static const struct {
		const char *goals, *why;
	} cases[] = {
		{ "//- @foo ref _\n", "a.c:1:5: not met: @foo ref _" },
		{ "//- @foo ref _\n", "what it has: " },
		{ "//- @foo defines/binding F\n//- F.node/kind variable\n",
		  "a.c:2:5: not met: F.node/kind variable; F is vname(\"foo#f\"" },
		{ "//- @\"return\" ref _\n", "there is no anchor for @\"return\", at line 2, column 18" },
		{ "//- @foo defines/binding F\n//- F param.1 _\n", "not met: F param.1 _" },
		{ "//- @foo defines/binding F\n//- @#0x defines/binding F\n", "a.c:2:5: not met" },
		{ "//- @foo defines/binding F\n//- !{ F.node/kind function }\n", "met, but must not be" },
		{ "//- @foo.loc/start 1\n", "not met" },
		{ "//- V=vname(\"foo#f\", _, _, _, _).node/kind variable\n//- @foo defines/binding V\n",
		  "not met" },
		{ "//- @foo defines/binding F = vname(\"x#v\", _, _, _, _)\n//- F.node/kind function\n",
		  "not met" },
		{ "//- @foo defines/binding _ = vname(\"x#v\", _, _, _, _)\n", "not met" },
		{ "//- @foo defines/binding A=B=vname(\"x#v\", _, _, _, _)\n//- !{ A ref B }\n", "not met" },
		{ "//- @foo defines/binding F\n//- F param.N _\n//- N = 1\n",
		  "a.c:3:5: not met: N = 1; N is \"0\"" },
		{ "//- @foo defines/binding F\n//- F nosuch.N _\n//- !{ F nosuch.N _ }\n",
		  "not met: F nosuch.N _" },
		{ "//- @foo defines/binding A\n//- @#0x defines/binding B\n//- A = B\n", "not met: A = B" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world w;

		assert_int_equal(verify(&w, cases[i].goals), 1);
		assert_int_equal(w.failed, 1);
		says(w.last, cases[i].why);
	}
}

/* Goals that share nothing fail apart: each is told. */
static void test_islands(void **state)
{
	struct world w;

	(void)state;
	assert_int_equal(verify(&w,
				"//- @foo ref _\n//- @#1x ref X\n//- X.node/kind variable\n//- @#0x ref _\n"),
			 1);
	assert_int_equal(w.failed, 2);
}

static void test_what_cannot_be_read(void **state)
{
	static const struct {
		const char *goals, *why;
	} cases[] = {
		{ "//- @nothere ref _\n", "a.c:1:5: \"nothere\" is not on the line" },
		{ "//- @x ref _\n", "more than once on its line: say which, as in @#0\"x\"" },
		{ "//- @#5x ref _\n", "is not on the line" },
		{ "//- @:99x ref _\n", "there is no line" },
		{ "//- @ = _\n", "must be followed by a word" },
		{ "//- @+0foo ref _\n", "a.c:1:5: an anchor must be on a line below its goal" },
		{ "//-\n//- @:2foo ref _\n", "an anchor must be on a line below its goal" },
		{ "//- @:1foo ref _\n", "an anchor must be on a line below its goal" },
		{ "//- @+1\"defines\" ref _\n//- @foo defines/binding _\n", "holds goals, not code" },
		{ "//- fact(_, _, _, _, _) ref _\n",
		  "a.c:1:9: fact(...) is not supported: only vname(...) is" },
		{ "//- @foo ref Foo(_)\n", "Foo(...) is not supported" },
		{ "//- { @foo defines/binding _ !{ @foo ref _ } }\n",
		  "a group inside a group is not supported" },
		{ "//- { { @foo defines/binding _ } }\n", "a group inside a group is not supported" },
		{ "//- !{ }\n", "a.c:1:5: a group without a goal" },
		{ "//- @foo ref \"a\\q\"\n", "unknown escape in a string" },
		{ "//- @foo ref Mu = vname(_, _, Mu, _, _)\n", "a node cannot be a part of its own vname" },
		{ "//- @foo defines/binding F = \n", "the goal is not finished" },
		{ "//- @foo param.Ordinal _\n", "variable Ordinal is used only here" },
		{ "//- @foo ref vname(vname(a,b,c,d,e), _, _, _, _)\n", "a part of a vname is a text" },
		{ "//- 'foo ref _\n", "has no meaning" },
		{ "//- @#x ref _\n", "a number must follow" },
		{ "//- @foo\n", "the goal is not finished" },
		{ "//- @foo ref\n", "the goal is not finished" },
		{ "//- @foo . , _\n", "a fact's name must follow" },
		{ "//- @foo param.x _\n", "a number, or a variable, must follow the edge's dot" },
		{ "//- @foo , _\n", "an edge, .fact or = is expected" },
		{ "//- { @foo ref _\n", "a.c:1:5: this { is never closed" },
		{ "//- ! @foo ref _\n", "! must be followed by {" },
		{ "//- @foo ref \"open\n", "without its closing quote" },
		{ "//- @foo ref vname(a, b)\n", "vname takes five parts" },
		{ "//- @foo ref ~\n", "has no meaning" },
		{ "//- @foo defines/binding F\n", "variable F is used only here" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct world w;

		if (verify(&w, cases[i].goals) != MORTISE_EINPUT)
			fail_msg("taken: %s", cases[i].goals);
		says(w.err.text, cases[i].why);
	}
}

static void test_options(void **state)
{
	struct world w;

	(void)state;
	assert_int_equal(verify_with(&w, "//- @foo defines/binding F\n",
				     &(struct mor_verify_options){ .singletons = true }),
			 0);
	assert_int_equal(verify_with(&w, "#! @foo ref _\n", &(struct mor_verify_options){ .prefix = "#!" }), 1);
	assert_int_equal(verify_with(&w, "///- nonsense\n//- @foo defines/binding _\n",
				     &(struct mor_verify_options){ .prefix = "//-" }),
			 0);
	assert_int_equal(verify_with(&w, "//- nonsense ~\n///- @foo defines/binding _\n",
				     &(struct mor_verify_options){ .prefix = "///-" }),
			 0);
	/* The goals are what is in the group, to its end. */
	assert_int_equal(verify_with(&w, " /* GOAL @foo defines/binding _ */\n",
				     &(struct mor_verify_options){ .regex = "\\s*/\\* GOAL (.*) \\*/" }),
			 0);
	assert_int_equal(verify_with(&w, " /* GOAL @foo ref _ */\n",
				     &(struct mor_verify_options){ .regex = "\\s*/\\* GOAL (.*) \\*/" }),
			 1);
	assert_int_equal(verify_with(&w, "x /* GOAL ~ */\n",
				     &(struct mor_verify_options){ .regex = "\\s*/\\* GOAL (.*) \\*/" }),
			 0);
	assert_int_equal(verify_with(&w, "//- A.node/kind _\n//- B.node/kind _\n//- A = B\n//- A ref B\n",
				     &(struct mor_verify_options){ .steps = 3 }),
			 MORTISE_ELIMIT);
}

static void test_shown(void **state)
{
	struct world w;

	(void)state;
	assert_int_equal(verify(&w, "//- @foo? defines/binding F?\n//- F.node/kind function\n"), 0);
	assert_int_equal(w.shown, 2);
	says(w.last, "F is vname(\"foo#f\", \"c\", \"\", \"a.c\", \"c++\")");
	assert_int_equal(verify(&w, "//- @foo defines/binding _?\n"), 0);
	says(w.last, "_ is vname(\"foo#f\", \"c\", \"\", \"a.c\", \"c++\")");
	assert_int_equal(verify(&w, "//- @foo defines/binding vname(S?, _, _, P?, _)\n"), 0);
	assert_int_equal(w.shown, 2);
	says(w.last, "P is \"a.c\"");
	assert_int_equal(verify(&w, "//- @foo defines/binding F\n//- F param.N? _\n"), 0);
	says(w.last, "N is \"0\"");
}

static void test_regex_refused(void **state)
{
	static const char *const bad[] = { "(", "none", "(a)(b)" };
	static const char *const why[] = { "at byte 1: ", "has 0 groups", "has 2 groups" };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct mor_verify_options opt = { .regex = bad[i] };
		struct mor_verifier *verifier = NULL;
		mortise_error err = { 0 };

		assert_int_equal(mor_verifier_new(NULL, &opt, &verifier, &err), MORTISE_EINVAL);
		says(err.text, why[i]);
	}
}

static void test_unknown_file(void **state)
{
	struct world w = { 0 };
	struct mor_verifier *verifier = NULL;

	(void)state;
	make_graph(&w, "");
	assert_int_equal(mor_verifier_new(w.graph, NULL, &verifier, NULL), 0);
	assert_int_equal(mor_verifier_add(verifier, "b.c", MOR_SLICE("//- @b ref _\nb\n"), &w.err),
			 MORTISE_EINPUT);
	says(w.err.text, "b.c:1:5: no file node in the stream has this text");
	mor_verifier_free(verifier);
	mor_graph_free(w.graph);
}

/* Every allocation fails in turn: an error or the right answer, nothing lost. */
static void test_no_memory(void **state)
{
	(void)state;
	for (long n = 0;; n++) {
		struct mor_graph *graph = NULL;
		struct mor_verifier *verifier = NULL;
		struct mor_entry entry = { .source = vname("", "a.c", ""),
					   .fact_name = MOR_SLICE("/kythe/node/kind"),
					   .fact_value = MOR_SLICE("file") };
		struct mor_entry text = { .source = vname("", "a.c", ""),
					  .fact_name = MOR_SLICE("/kythe/text"),
					  .fact_value = MOR_SLICE("//- F.node/kind file\n//- F.text _\n") };
		struct world w = { 0 };
		int r;

		mor_alloc_fail_after(n);
		r = mor_graph_new(&graph);
		r = r ? r : mor_graph_add(graph, &entry);
		r = r ? r : mor_graph_add(graph, &text);
		r = r ? r : mor_graph_close(graph);
		r = r ? r : mor_verifier_new(graph, NULL, &verifier, NULL);
		r = r ? r : mor_verifier_add(verifier, "a.c", text.fact_value, &w.err);
		r = r ? r : mor_verifier_run(verifier, note, &w, &w.err);
		mor_alloc_fail_after(-1);
		mor_verifier_free(verifier);
		mor_graph_free(graph);
		if (r == 0)
			break;
		assert_int_equal(r, MORTISE_ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_goals_that_hold),
		MOR_TEST(test_forms_of_goals),
		MOR_TEST(test_goals_that_do_not_hold),
		MOR_TEST(test_islands),
		MOR_TEST(test_what_cannot_be_read),
		MOR_TEST(test_options),
		MOR_TEST(test_shown),
		MOR_TEST(test_regex_refused),
		MOR_TEST(test_unknown_file),
		MOR_TEST(test_no_memory),
	};

	return mor_run_group("kythe/entries/verify", tests);
}
