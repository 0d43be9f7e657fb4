# SPDX-License-Identifier: Apache-2.0
# Every form of a message.
wire.note("log", message="plain")
wire.note(
    "log",
    message={
        "message": "camel",
        "contextUrl": "h.toy",
        "span": {"start": {"lineNumber": 7, "columnOffset": 2}},
    },
)
wire.note(
    "log",
    message={
        "message": "snake",
        "context_url": "h.toy",
        "span": {"start": {"line_number": 8, "column_offset": 0}},
    },
)
wire.note("log", message={"message": "line only", "span": {"start": {"lineNumber": 9}}})
wire.note("log", message={"message": "two\nlines \x1b[31m"})
wire.note("log", message={"no": "text"})
out.fact("/t", "x")
done(message={"message": "the end", "span": {"start": {"byteOffset": 3}}})
