/* SPDX-License-Identifier: Apache-2.0 */
/* Which line of stderr says why. */
#include "leak.h"

#include <string.h>

#include "proc/telling.h"

/* What programs really print when they fail; the line that tells is marked with ">" at its beginning. */
static const char *const cases[] = {
	/* nothing special: the last line */
	"loading\n>no licence here\n",
	">ImportError: numpy\n",
	/* Python: an exception, a chain, a message of two lines, a group, and what follows at its end */
	"Traceback (most recent call last):\n  File \"x.py\", line 3, in <module>\n    f()\n>ValueError: bad\n",
	"Traceback (most recent call last):\n  File \"x.py\", line 3\nKeyError: 'a'\n"
	"The above exception was the direct cause of the following exception:\n"
	"Traceback (most recent call last):\n  File \"x.py\", line 5\n>json.decoder.JSONDecodeError: Expecting "
	"value\n",
	"Traceback (most recent call last):\n  File \"x.py\", line 3\n>ValueError: two lines\nof text\n",
	"  + Exception Group Traceback (most recent call last):\n  |   File \"x.py\", line 1\n"
	"  | ExceptionGroup: all (1 sub-exception)\n  +-+---------------- 1 ----------------\n"
	">    | TypeError: no port\n    +------------------------------------\n",
	"Traceback (most recent call last):\n  File \"x.py\", line 3\n>OSError: no disk\n"
	"Exception ignored in: <_io.TextIOWrapper name='<stdout>'>\nBrokenPipeError: [Errno 32] Broken pipe\n",
	"  File \"x.py\", line 1\n    def\n       ^\n>SyntaxError: invalid syntax\n",
	">my.pkg.Failure: it is no Error by name\n",
	/* Node */
	"/p/x.js:3\nthrow new TypeError('x');\n^\n>TypeError: x\n    at Object.<anonymous> (/p/x.js:3:7)\n"
	"    at node:internal/main {\n  code: 'E'\n}\nNode.js v20.19.2\n",
	"node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n>Error: Cannot find module 'x'\n"
	"Require stack:\n- /p/x.js\n    at Module (node:internal:1)\n  code: 'MODULE_NOT_FOUND',\n"
	"  requireStack: [ '/p/x.js' ]\n}\nNode.js v20.19.2\n",
	">Error [ERR_X]: no\n    at main\nNode.js v20.19.2\n",
	/* Java */
	">Exception in thread \"main\" java.lang.IllegalStateException: no port\n\tat X.main(X.java:3)\n",
	"Exception in thread \"main\" java.lang.RuntimeException: outer\n\tat X.main(X.java:3)\n"
	">Caused by: java.io.IOException: no port\n\tat X.open(X.java:9)\n\t... 1 more\n",
	/* Ruby */
	">x.rb:1:in `<main>': undefined local variable or method `y' (NameError)\n\tfrom z.rb:1\n",
	/* Go */
	">panic: runtime error: index out of range [5] with length 3\ngoroutine 1 [running]:\nmain.main()\n"
	"\t/p/x.go:8 +0x1d\nexit status 2\n",
	">fatal error: all goroutines are asleep - deadlock!\ngoroutine 1 [chan "
	"receive]:\nmain.main()\n\t/p/x.go:5\n",
	/* AddressSanitizer: its summary is behind the stack */
	"==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\nREAD of size 1\n    #0 0x1 in main "
	"x.c:3\n"
	">SUMMARY: AddressSanitizer: heap-use-after-free x.c:3 in main\nShadow bytes around the buggy "
	"address:\n"
	"  0x1: fa fa\n==12==ABORTING\n",
	/* Perl */
	">Can't locate Foo.pm in @INC at x.pl line 1.\nBEGIN failed--compilation aborted at x.pl line 1.\n",
	/* an old error, and then a complaint: the complaint */
	"ValueError: tried again\nconnecting\n>fatal: cannot open config\n",
	/* an error long ago, and then eight other lines */
	"ValueError: tried again\n1\n2\n3\n4\n5\n6\n7\n8\n>bye\n",
	/* only filler: the last line */
	"}\n>Node.js v20\n",
};

/* The lines of a case as stderr.c keeps them, and the one that is wanted. */
static size_t unpack(const char *text, char *lines, char *wanted)
{
	size_t len = 0;

	while (*text) {
		size_t size = strcspn(text, "\n");

		if (*text == '>') {
			text++;
			size--;
			memcpy(wanted, text, size);
			wanted[size] = '\0';
		}
		memcpy(lines + len, text, size);
		lines[len + size] = '\0';
		len += size + 1;
		text += size + 1;
	}
	return len;
}

static void test_cases(void **state)
{
	char lines[2048], wanted[512], out[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t len = unpack(cases[i], lines, wanted);

		assert_string_equal(mor_telling(lines, len, out, sizeof(out)), wanted + strspn(wanted, " \t"));
	}
}

/* The message is in the line after the one that says what happened. */
static void test_joined(void **state)
{
	static const char rust
		[] = "thread 'main' panicked at src/main.rs:2:5:\0no port\0note: run with `RUST_BACKTRACE=1`",
	    old[] = "thread 'main' panicked at 'no port', src/main.rs:2:5\0note: run with `RUST_BACKTRACE=1`",
	    cpp[] = "terminate called after throwing an instance of 'std::runtime_error'\0  what():  no port";
	char out[200];

	(void)state;
	assert_string_equal(mor_telling(rust, sizeof(rust), out, sizeof(out)),
			    "thread 'main' panicked at src/main.rs:2:5: no port");
	assert_string_equal(mor_telling(old, sizeof(old), out, sizeof(out)),
			    "thread 'main' panicked at 'no port', src/main.rs:2:5");
	assert_string_equal(
		mor_telling(cpp, sizeof(cpp), out, sizeof(out)),
		"terminate called after throwing an instance of 'std::runtime_error': what():  no port");
}

static void test_edges(void **state)
{
	char out[8];

	(void)state;
	assert_string_equal(mor_telling("", 0, out, sizeof(out)), "");
	assert_string_equal(mor_telling("", 1, out, sizeof(out)), "");
	assert_string_equal(mor_telling("0123456789", 11, out, sizeof(out)), "0123456");
	assert_string_equal(mor_telling("panic: ", 8, out, sizeof(out)), "panic: ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_cases),
		MOR_TEST(test_joined),
		MOR_TEST(test_edges),
	};

	return mor_run_group("proc/telling", tests);
}
