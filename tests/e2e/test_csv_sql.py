# SPDX-License-Identifier: Apache-2.0
"""plugins/csv-sql: a G-Assist plugin with the Python package: questions, conversations, and nothing written."""
import json
import subprocess
import unittest

from support import BUILD, Case, LIMIT

CSV_SQL = BUILD / "plugins" / "csv-sql"
PEOPLE = b"Name,City,Age,Zip\nAda,London,36,007\nAlan,London,41,1\nGrace,New York,85,2\nNobody,,,3\n"


class CsvSql(Case):
    def setUp(self):
        super().setUp()
        self.env["XDG_STATE_HOME"] = str(self.dir / "state")
        self.path = self.file("people.csv", PEOPLE)

    def query(self, sql, *words):
        return self.ok("run", CSV_SQL, "query", f"path={self.path}", "sql=" + sql, *words).out

    def test_query(self):
        said = self.query(
            "SELECT city, count(*) AS n, avg(age) AS mean FROM data WHERE age > 0 GROUP BY 1 ORDER BY 2"
        )
        lines = [line.split() for line in said.splitlines()]
        self.assertEqual(lines[0], ["city", "n", "mean"])
        self.assertEqual(lines[2:], [["New", "York", "1", "85.0"], ["London", "2", "38.5"]])
        self.assertIn("007", self.query("SELECT zip FROM data LIMIT 1"))  # no number
        self.assertIn("more than 2 rows", self.query("SELECT * FROM data", "limit=2"))

    def test_separators(self):
        self.path = self.file("semi.csv", "\ufeffa b;1st\nx;1\ny;2\n".encode())
        self.assertIn("3", self.query("SELECT sum(c_1st) FROM data WHERE a_b IN ('x', 'y')"))

    def test_nothing_but_questions(self):
        outside = self.dir / "outside.db"
        for sql in (
            f"ATTACH '{outside}' AS x",
            "DELETE FROM data",
            "DROP TABLE data",
            "CREATE TABLE t (a)",
            "PRAGMA writable_schema = 1",
            f"VACUUM INTO '{outside}'",
            "SELECT load_extension('x')",
        ):
            done = self.run_mortise("run", CSV_SQL, "query", f"path={self.path}", "sql=" + sql)
            self.assertEqual(done.code, 1, sql)
        self.assertFalse(outside.exists())
        self.assertEqual(self.path.read_bytes(), PEOPLE)

    def test_mistakes(self):
        done = self.run_mortise("run", CSV_SQL, "query", f"path={self.path}", "sql=SELECT nope FROM data")
        self.assertIn("no such column: nope", done.err)
        done = self.run_mortise("run", CSV_SQL, "describe", "path=/no/such.csv")
        self.assertIn("/no/such.csv: No such file or directory", done.err)

    def test_conversation(self):
        talk = f"/ask path={self.path}\ntop age\ncount city\nSELECT 6 * 7\nnonsense\ncolumns\nexit\n"
        said = self.ok("chat", CSV_SQL, stdin=talk.encode()).out
        self.assertIn("4 rows in the table data", said)
        self.assertLess(said.index("Grace"), said.index("Alan"))
        for part in ("42", "That did not work: near", "Bye."):
            self.assertIn(part, said)

    def test_manifest_is_what_the_plugin_declares(self):
        made = subprocess.run(
            [CSV_SQL / "plugin.py", "--manifest"], capture_output=True, timeout=LIMIT, check=True
        )
        self.assertEqual(json.loads(made.stdout), json.loads((CSV_SQL / "manifest.json").read_text()))
        self.assertEqual(self.ok("info", "--json", "--no-start", CSV_SQL).json["warnings"], [])


if __name__ == "__main__":
    unittest.main()
