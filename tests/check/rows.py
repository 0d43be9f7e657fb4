# SPDX-License-Identifier: Apache-2.0
"""Which other checks fail together with the one that a mutant is made for, and why that cannot be avoided."""

# check: the others, in every dialect that has them
TOGETHER = {
    # who dies of it answers nothing
    "request.not-json": ["request.not-json-code"],
    # who does not exit at the end of stdin does not exit with status 0 either
    "stop.eof": ["stop.status", "stop.answers-first", "shutdown.exit"],
    "shutdown.exit": ["stop.eof", "stop.status", "stop.answers-first"],
    "start.silent": ["ids.echo"],
    "error.object": ["method.unknown"],
    "yams.method.unknown": ["method.case"],
    "yams.handshake.answer": [
        "handshake.letter",
        "handshake.version",
        "handshake.interfaces",
        "manifest.name",
        "manifest.version",
        "manifest.interfaces",
    ],
    "yams.handshake.letter": ["handshake.interfaces", "manifest.interfaces"],
    "yams.handshake.name": ["manifest.name"],
    "yams.handshake.version": ["manifest.version"],
    "yams.handshake.interfaces": ["handshake.letter", "manifest.interfaces"],
    "yams.init.answer": ["init.letter", "init.absent"],
    "yams.start.again": ["manifest.version"],
    "yams.health.answer": ["health.good"],
    "yams.shutdown.answer": ["shutdown.exit", "shutdown.null"],
    "yams.extract.bytes": [
        "extract.result",
        "extract.no-source",
        "extract.source-type",
        "extract.no-data",
        "extract.bad-data",
        "extract.missing-file",
    ],
    "yams.extract.no-source": ["extract.source-type"],
}
