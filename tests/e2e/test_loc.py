# SPDX-License-Identifier: Apache-2.0
"""plugins/loc: a Kythe analyzer with the Python package, whose output is no index."""
import subprocess
import unittest

from support import BUILD, Case, LIMIT

LOC = BUILD / "plugins" / "loc"
SOURCE = b"""/* A comment
   of two lines. */
#include "two.h"

int main(void) /* code */
{
	const char *text = "// no comment"; // one
	// a comment
	return text[0] == '"';
}
"""


class Loc(Case):
    def test_counts(self):
        self.file("one.c", SOURCE)
        self.file("two.h", b"// all comment\n\n\n")
        record, output = self.dir / "one.kzip", self.dir / "one.loc"
        self.ok("kzip", "create", "-o", record, "--corpus", "c", "--", "cc", "-c", "one.c", cwd=self.dir)
        self.run_mortise(
            "index", record, "--type", "/mortise/loc", "--format", "raw", "--analyzer", LOC, "-o", output
        )
        done = subprocess.run(
            [LOC / "loc", "--table", output], capture_output=True, text=True, timeout=LIMIT, check=True
        )
        self.assertEqual(done.stdout.splitlines()[1].split(), ["C", "1", "6", "3", "1"])


if __name__ == "__main__":
    unittest.main()
