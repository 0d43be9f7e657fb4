# SPDX-License-Identifier: Apache-2.0
"""plugins/kythe-clang: what it says of C, told in goals that mortise verify-entries checks, and what it makes
of text that is hardly C. tests/kythe/clang has the goals; those whose bytes matter (CR LF, a byte order mark)
are made here."""
import random
import unittest

from kythe_support import NO_NAMESPACES
from support import BUILD, ROOT, Case

ANALYZER = BUILD / "plugins" / "kythe-clang"
GOALS = ROOT / "tests" / "kythe" / "clang"

CRLF = """//- @f defines/binding F
//- @int ref Int
int f(void);
// this comment goes on \\
int in_a_comment;
#if defined(X) \\
	|| defined(Y)
#endif
//- !{ @+2int ref _ }
#define M int \\
	int
//- @#0int ref Int
//- @g defines/binding G
int g(int a)
{
	//- @"f()" ref/call F
	return f() + \\
		a;
}
//- @"g(1)" ref/call G
int h(void) { return g(1); }
"""

TEXTS = {
    "crlf": CRLF.replace("\n", "\r\n").encode(),
    "byte-order-mark": b"""\xef\xbb\xbf
//- @f defines/binding F
int f(void) { return 0; }
//- @"f()" ref/call F
int g(void) { return f(); }
""",
    "names-beyond-ascii": """//- @größe defines/binding G
//- @ü defines/binding U
int größe(int ü)
{
	//- @"größe(ü + 1)" ref/call G
	//- @größe ref G
	//- @ü ref U
	return größe(ü + 1);
}
//- @日本 defines/binding J
int 日本;
//- @日本 ref J
int *p = &日本;
""".encode(),
    "continued-lines": b"""//- @x defines/binding X
int x;
// A name that is broken over two lines is nowhere in the text.
int lo\\
ng_name = 1;
int y = lo\\
ng_name + 1;
//- @M defines/binding M
#define M(a, b) \\
	a + \\
	b
//- @M ref/expands M
//- @x ref X
int z(void) { return M(x,
	1); }
??=define TRIGRAPH 1
int q = TRIGRAPH;
""",
    "macros-that-write": b"""#define NAME(a) prefix_##a
#define DECLARE(type, name) type name
#define MEMBER(x) x.v
#define ASSIGN(left, right) left = right
struct s { int v; };
//- @thing defines/binding Thing
DECLARE(struct s, thing);
int NAME(one);
//- @thing ref Thing
int get(void) { return MEMBER(thing) + NAME(one); }
//- @number defines/binding Number
int number;
void set(void)
{
	// libclang 14 does not tell operators, and this one stands in the macro's body: all that is
	// known is the name.
	//- @number ref Number
	ASSIGN(number, 1);
	//- @number ref/writes Number
	number /* = */ = 2;
	//- @number ref Number
	//- !{ @number ref/writes _ }
	get(number == 3);
}
""",
}


def garbage(size):
    source = random.Random(1)
    return bytes(source.getrandbits(8) for _ in range(size))


HARDLY_C = {
    "empty": b"",
    "garbage": garbage(50000),
    "zeros": b"int a;\0int b;\0\0/* \0 */ \"\0\" #define X\0 1\nint c = X;\n",
    "missing-header": b'#include "missing.h"\n#include <missing/too.h>\nint after;\n',
    "broken": b"int f( { struct s { int x; y z = ; } ; switch (\nstruct t { .x = 1 } v = { .x, [ };\n"
    b"int g(void) { return undeclared(1) + f(; }\nenum e { A = , B };\nvoid h(int a, b) { for (;;; } #if\n",
    "comment-without-end": b"int a; /* no end\nint b; ",
    "literal-without-end": b'char *s = "abc\\',
    "directive-without-end": b"#define X \\",
    "directives": b"#\n# \n#if\n#elif\n#else\n#endif\n#undef\n#ifdef\n#ifndef 1\n#include\n#include <\n#line x\n#pragma\n",
    "deep-sum": b"int x = " + b"1 + " * 10000 + b"1;\n",
    "deep-parentheses": b"int x = " + b"(" * 5000 + b"1" + b")" * 5000 + b";\n",
    "deep-blocks": b"void f(void) " + b"{" * 5000 + b"}" * 5000 + b"\n",
    "deep-pointers": b"int " + b"*" * 1000 + b"p;\n",
    "else-if": b"int f(int x)\n{\n"
    + b"".join(b"if (x == %d) return %d; else\n" % (i, i) for i in range(3000))
    + b"return 0; }\n",
    "includes-itself": b'#include __FILE__\nint a;\n',
}


@unittest.skipUnless((ANALYZER / "kythe-clang").exists(), f"{ANALYZER} is not built")
@unittest.skipIf(NO_NAMESPACES, NO_NAMESPACES)
class KytheClang(Case):
    def index(self, source, *compiler, code=0):
        """Records, indexes; returns the stream's path and what was said."""
        kzip, entries = self.dir / "x.kzip", self.dir / "x.entries"
        made = self.run_mortise("kzip", "create", "-o", kzip, "--corpus", "test", *compiler)
        self.assertEqual(made.code, 0, made.err)
        done = self.run_mortise(
            "index",
            kzip,
            "--analyzer",
            ANALYZER,
            "-o",
            entries,
            "--cache",
            self.dir / "cache",
            "--retries",
            "0",
        )
        self.assertEqual(done.code, code, done.err)
        return entries, done.err

    def test_goals(self):
        for source in sorted(GOALS.glob("*.c")):
            with self.subTest(source=source.name):
                header = source.with_suffix(".h")
                meta = source.with_name(source.name + ".meta")
                entries, _ = self.index(
                    source,
                    *(["--input", meta] if meta.exists() else []),
                    "--",
                    "cc",
                    f"-I{GOALS}",
                    "-c",
                    source,
                )
                done = self.run_mortise(
                    "verify-entries", entries, source, *([header] if header.exists() else [])
                )
                self.assertEqual(done.code, 0, done.err)

    def test_goals_in_texts_whose_bytes_matter(self):
        for name, text in TEXTS.items():
            with self.subTest(name=name):
                source = self.dir / f"{name}.c"
                source.write_bytes(text)
                entries, _ = self.index(source, "--source", source, "--", "cc", "-trigraphs", "-c", source)
                done = self.run_mortise("verify-entries", entries, source)
                self.assertEqual(done.code, 0, done.err)

    def test_goals_can_fail(self):
        """The control: the same goals on a stream of another program."""
        source = self.dir / "a.c"
        source.write_text("//- @f defines/binding F\n//- F.node/kind variable\nint f(void);\n")
        entries, _ = self.index(source, "--", "cc", "-c", source)
        done = self.run_mortise("verify-entries", entries, source)
        self.assertEqual(done.code, 1)
        self.assertIn("F.node/kind variable", done.out + done.err)

    def test_hardly_c(self):
        """It lives, says what is wrong, and the file with its text is in the stream."""
        for name, text in HARDLY_C.items():
            with self.subTest(name=name):
                source = self.dir / f"{name}.c"
                source.write_bytes(text)
                entries, _ = self.index(source, "--source", source, "--", "cc", "-c", source)
                self.assertIn(b"/kythe/node/kind", entries.read_bytes())
                if text:
                    self.assertIn(text[:1000], entries.read_bytes())

    def test_errors_are_told_with_their_place(self):
        source = self.dir / "a.c"
        source.write_text('int ok;\n\tint x = undeclared;\n#include "missing.h"\n')
        _, err = self.index(source, "--source", source, "--", "cc", "-c", source)
        self.assertIn(f"{source}:2:10: use of undeclared identifier 'undeclared'", err)
        self.assertIn(f"{source}:3:10: 'missing.h' file not found", err)

    def test_other_languages(self):
        """Only C is indexed: a unit in another language fails, and says which; nothing of it is
        in the stream."""
        for name, compiler, language in (
            ("a.cc", ["c++"], "C++"),
            ("a.cpp", ["cc"], "C++"),
            ("a.hpp", ["cc"], "C++"),
            ("a.c", ["cc", "-x", "c++"], "C++"),
            ("a.c", ["cc", "-xc++"], "C++"),
            ("a.c", ["/usr/bin/g++"], "C++"),
            ("a.m", ["cc"], "Objective-C"),
            ("a.mm", ["cc"], "Objective-C++"),
            ("a.c", ["cc", "-x", "objective-c"], "Objective-C"),
            ("a.cu", ["cc"], "CUDA"),
        ):
            with self.subTest(name=name, compiler=compiler):
                source = self.file(name, "class x { };\n")
                entries, err = self.index(
                    source, "--language", "c++", "--source", source, "--", *compiler, "-c", source, code=1
                )
                self.assertIn(f"kythe-clang: {source} is {language}: only C is indexed", err)
                self.assertEqual(entries.read_bytes(), b"")
        for name, compiler in (
            ("a.cc", ["c++", "-x", "c"]),
            ("a.c", ["cc", "-x", "c++", "-x", "c"]),
            ("a.h", ["cc"]),
            ("a.i", ["cc"]),
            ("a.c", ["cc", "-x", "none"]),
        ):
            with self.subTest(name=name, compiler=compiler):
                source = self.file(name, "int class;\n")
                entries, _ = self.index(
                    source, "--language", "c++", "--source", source, "--", *compiler, "-c", source
                )
                self.assertIn(b"class", entries.read_bytes())

    def test_metadata_that_cannot_be_used(self):
        """Told; the rest of the file is indexed."""
        source = self.file("a.c", '#pragma kythe_metadata "a.meta"\nint x;\n')
        rule = '{"type":"kythe0","meta":[%s]}'
        for text, why in (
            (None, "metadata a.meta: "),
            ("{", "metadata a.meta: "),
            ('{"type":"kythe9"}', "no metadata of type kythe0"),
            ("[]", "no metadata of type kythe0"),
            (rule % '{"type":"file"}', 'rules of type "file" are not supported'),
            (rule % '{"type":"anchor_defines","begin":5}', "a rule without its places or its edge"),
            (
                rule % '{"type":"anchor_defines","begin":9,"end":5,"edge":"/e"}',
                "a rule without its places or its edge",
            ),
            (
                rule % '{"type":"anchor_anchor","edge":"/e","target_begin":1,"target_end":2}',
                "a rule without its places or its edge",
            ),
            (rule % "7", 'rules of type ""'),
        ):
            with self.subTest(text=text):
                inputs = ["--input", self.file("a.meta", text)] if text is not None else []
                if text is None:
                    (self.dir / "a.meta").unlink(missing_ok=True)
                entries, err = self.index(source, "--source", source, *inputs, "--", "cc", "-c", source)
                self.assertIn(why, err)
                self.assertIn(b"defines/binding", entries.read_bytes())

    def test_large_source(self):
        lines = [
            f"/** doc */ int function_number_{i}(int a) {{ int c = a * {i}; c += a; return c; }}\n"
            for i in range(12000)
        ]
        source = self.dir / "large.c"
        source.write_text("".join(lines))
        entries, _ = self.index(source, "--source", source, "--", "cc", "-c", source)
        self.assertIn(b"function_number_11999", entries.read_bytes())


if __name__ == "__main__":
    unittest.main()
