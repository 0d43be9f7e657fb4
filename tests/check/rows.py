# SPDX-License-Identifier: Apache-2.0
"""Which other checks fail together with the one that a mutant is made for, and why that cannot be avoided."""

# check: the others, in every dialect that has them
TOGETHER = {
    # who dies of it answers nothing
    "request.not-json": ["request.not-json-code"],
    # who does not exit at the end of stdin does not exit with status 0 either
    "stop.eof": ["stop.status", "stop.answers-first", "shutdown.exit"],
    "shutdown.exit": ["stop.eof", "stop.status", "stop.answers-first"],
    "ayiou.framing.unicode": ["matches.text"],
    "sunscreen-json.call.answer": [
        "call.exit",
        "call.single",
        "call.framed",
        "call.headers",
        "call.split",
        "call.large",
        "call.unicode",
        "call.words",
        "call.order",
        "call.id",
        "call.scaffold",
        "call.unknown",
        "call.named",
        "hook.answer",
        "hook.unknown",
        "method.unknown",
    ],
    "sunscreen-json.call.exit": [
        "call.large",
        "call.unicode",
        "call.words",
        "call.scaffold",
        "call.named",
        "hook.answer",
    ],
    "sunscreen-json.ids.once": ["call.single"],
    "sunscreen-json.call.single": ["ids.echo"],
    "sunscreen-json.hook.answer": ["hook.unknown"],
    "sunscreen-json.ids.echo": ["call.id"],
    # these break the conversation itself
    "kythe.init.request": ["init.refused"],
    "kythe.init.protocol": ["notes.params"],
    "kythe.init.encoding": ["notes.params", "output.records"],
    "kythe.analyze.patient": [
        "ids.unique",
        "analyze.done",
        "analyze.extra",
        "analyze.large",
        "analyze.split",
        "analyze.unicode",
        "done.note",
        "done.once",
        "init.once",
        "analyze.second",
        "output.records",
        "output.written",
    ],
    "kythe.analyze.done": [
        "analyze.second",
        "analyze.split",
        "analyze.large",
        "analyze.extra",
        "analyze.unicode",
        "done.once",
        "done.note",
        "output.records",
        "output.written",
        "ids.unique",
        "init.once",
    ],
    "kythe.analyze.second": ["init.once", "done.once", "ids.unique"],
    "kythe.stop.early": ["init.refused"],
    "kythe.stop.eof": ["analyze.error", "stop.early", "stop.corrupt", "stop.half", "init.refused"],
    "metadata.answer": ["metadata.letter"],
    "ayiou.startup.answer": ["startup.letter"],
    "gassist.initialize.answer": ["manifest.functions", "initialize.letter"],
    "gassist.execute.named": ["execute.request-id"],
    "gassist.shutdown.exit": ["shutdown.silent"],
    "gassist.stop.eof": ["shutdown.silent"],
    "sunscreen.commands.answer": ["commands.same"],
    "sunscreen.run.unknown": ["run.code"],
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
    "yams.init.answer": ["init.letter", "init.absent", "init.flat"],
    "yams.start.again": ["manifest.version"],
    "yams.health.answer": ["health.good"],
    "yams.shutdown.answer": ["shutdown.exit", "shutdown.null"],
    "ayiou.shutdown.answer": ["shutdown.exit"],
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

# Checks that only look at what is said while others ask; and the others that ask, where a dialect has them.
WATCHING = (
    "ids.echo ids.once json.valid json.message json.version response.one response.null error.object "
    "plugin.asks notes.params"
).split()
ASKING = "framing.split framing.joined method.unknown call.answer analyze.done".split()


def asked(dialect, ident, every):
    """What a mutant is held to so that its own check has something to see."""
    names = [ident.removeprefix(dialect + ".")]
    if names[0] in WATCHING:
        names += ASKING
    return [row for row in every if row.removeprefix(dialect + ".") in names]
