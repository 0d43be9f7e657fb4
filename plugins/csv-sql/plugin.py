#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Questions to CSV files, in SQL. Files are read into memory; nothing is written."""
import csv
import os
import re
import sqlite3

from tenon import Plugin, PluginError

plugin = Plugin("csv-sql", "0.1.0", "Questions to CSV files, in SQL", dialect="gassist")
loaded = {}  # path: (its time and size, connection)
MOST_BYTES, STEPS = 256 << 20, 10000
# What a question may do: read. Everything else is denied by SQLite itself.
ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


def value(text):
    """A cell: a whole number, a number, nothing, or text. Digits with a 0 in front are a text."""
    if not text.strip():
        return None
    if re.fullmatch(r"[+-]?(0|[1-9]\d{0,17})", text.strip()):
        return int(text)
    if re.fullmatch(r"[+-]?\d+\.\d*([eE][+-]?\d+)?", text.strip()):
        return float(text)
    return text


def columns(head):
    """Names that SQL can use without quotes, each once."""
    names = []
    for number, text in enumerate(head, 1):
        name = re.sub(r"\W+", "_", text.strip()).strip("_").lower() or "column_%d" % number
        name = "c_" + name if name[0].isdigit() else name
        while name in names:
            name += "_%d" % number
        names.append(name)
    return names


def read(path):
    """A database with one table, `data`."""
    try:
        if os.path.getsize(path) > MOST_BYTES:
            raise PluginError(None, "%s is larger than %d MiB" % (path, MOST_BYTES >> 20))
        with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
            sample = file.read(65536)
            file.seek(0)
            try:
                rows = csv.reader(file, csv.Sniffer().sniff(sample, ",;\t|"))
            except csv.Error:  # one column, or too little to tell
                rows = csv.reader(file)
            return fill(path, rows)
    except OSError as problem:
        raise PluginError(None, "%s: %s" % (path, problem.strerror), {"path": path}) from None


def fill(path, rows):
    names = columns(next(rows, []))
    if not names:
        raise PluginError(None, "%s is empty" % path)
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE data (%s)" % ", ".join('"%s"' % name for name in names))
    marks = ", ".join("?" * len(names))
    cut = ([value(cell) for cell in (row + [""] * len(names))[: len(names)]] for row in rows if row)
    base.executemany("INSERT INTO data VALUES (%s)" % marks, cut)
    base.commit()
    base.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in ALLOWED else sqlite3.SQLITE_DENY)
    return base


def database(path):
    """As the file is now."""
    path = os.path.abspath(os.path.expanduser(path))
    try:
        state = os.stat(path)
        stamp = (state.st_mtime_ns, state.st_size)
    except OSError:
        stamp = None
    if path not in loaded or loaded[path][0] != stamp:
        loaded[path] = (stamp, read(path))
    return loaded[path][1]


def rows_of(call, base, sql, limit):
    """The answer as a table of text. A long question ends with its call."""
    base.set_progress_handler(lambda: int(call.cancelled), STEPS)
    try:
        found = base.execute(sql)
        rows = found.fetchmany(limit + 1)
    except (sqlite3.Error, sqlite3.Warning) as problem:
        text = "only questions are allowed" if "not authorized" in str(problem) else str(problem)
        raise PluginError(None, text, {"sql": sql}) from None
    if found.description is None:
        raise PluginError(None, "this is no question: begin with SELECT", {"sql": sql})
    head = [item[0] for item in found.description]
    return table(head, rows[:limit]) + ("\n… more than %d rows" % limit if len(rows) > limit else "")


def table(head, rows):
    cells = [head] + [["" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    number = [all(isinstance(row[i], (int, float, type(None))) for row in rows) for i in range(len(head))]
    lines = []
    for row in cells:
        shaped = [c.rjust(w) if n else c.ljust(w) for c, w, n in zip(row, widths, number)]
        lines.append("  ".join(shaped).rstrip())
    return "\n".join(lines[:1] + ["  ".join("-" * w for w in widths)] + lines[1:])


@plugin.command
def describe(call, path: str):
    """Which columns a CSV file has, with examples.

    path: the file
    """
    base = database(path)
    names = [item[0] for item in base.execute("SELECT * FROM data LIMIT 0").description]
    (count,) = base.execute("SELECT count(*) FROM data").fetchone()
    lines = []
    for name in names:
        different, least, most = base.execute(
            'SELECT count(DISTINCT "%s"), min("%s"), max("%s") FROM data' % (name, name, name)
        ).fetchone()
        lines.append("%s: %d different values, from %s to %s" % (name, different, least, most))
    return "%d rows in the table data\n%s" % (count, "\n".join(lines))


@plugin.command
def query(call, path: str, sql: str, limit: int = 50):
    """Answers one question.

    path: the file
    sql: a SELECT from the table `data`
    limit: how many rows to show
    """
    return rows_of(call, database(path), sql, max(1, limit))


@plugin.command
def ask(call, path: str):
    """Answers questions to a file, one after the other, until "exit".

    path: the file
    """
    base, said = (
        database(path),
        describe(call, path) + "\nAsk, in SQL or as: columns, top COLUMN, count COLUMN, exit",
    )
    while True:
        line = (yield said).strip()
        if line.lower() in ("exit", "quit", "done"):
            return "Bye."
        try:
            said = rows_of(call, base, words(line), 20) if line.lower() != "columns" else describe(call, path)
        except PluginError as problem:
            said = "That did not work: %s" % problem


def words(line):
    """The short forms as SQL; everything else is SQL already."""
    verb, _, column = line.partition(" ")
    name = '"%s"' % column.strip().replace('"', "")
    if verb.lower() == "top" and column:
        return "SELECT * FROM data ORDER BY %s DESC LIMIT 10" % name
    if verb.lower() == "count" and column:
        return "SELECT %s, count(*) AS count FROM data GROUP BY 1 ORDER BY 2 DESC" % name
    return line


if __name__ == "__main__":
    plugin.run()
