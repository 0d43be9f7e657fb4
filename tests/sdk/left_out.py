# SPDX-License-Identifier: Apache-2.0
"""The scripts of tests/talk that are not played against the SDKs, by reason. play.py finds most reasons by
itself and compares; those of BY_HAND are a person's judgement."""

LEFT_OUT = {
    "JSON has no NaN": """
        gassist/data-nan
    """,
    "a call that has ended says more": """
        gassist/error-then-complete gassist/late-frames
    """,
    "a command without a name": """
        ayiou/metadata-command-nameless
    """,
    "a greeting that is not in the specification": """
        ayiou/action-result yams/interfaces-objects yams/strict-interfaces
    """,
    "a log message that is not in the specification": """
        gassist/execute-sign-of-life
    """,
    "a log message while nothing runs": """
        gassist/log gassist/ping-life
    """,
    "a message that no library sends": """
        kythe/a12-no-request kythe/a12-response kythe/a13-in-one-batch kythe/a15-analyze-done
        kythe/a15-analyze-init kythe/a15-done-analyze kythe/a15-init-analyze kythe/r11-batch-empty
        kythe/r11-batch-notes kythe/r11-batch
    """,
    'a message without "jsonrpc":"2.0"': """
        ayiou/jsonrpc-missing gassist/jsonrpc-missing gassist/jsonrpc-strict plain/jsonrpc-missing
        sunscreen-json/jsonrpc-wrong sunscreen/jsonrpc-missing yams/jsonrpc-missing yams/strict-jsonrpc
    """,
    "a method that no library asks for": """
        kythe/a03-analysis kythe/a05-ids kythe/a05-quirk kythe/a07-log-odd kythe/a19-log
        kythe/a26-tolerated kythe/a26-unknown kythe/r03-bytes kythe/r22-analysis kythe/r22-log
        kythe/r22-nope kythe/r22-note kythe/r24-double-often kythe/r30-log
    """,
    "a notification that the library does not send": """
        gassist/notification-unknown
    """,
    "a piece that belongs to no call": """
        gassist/error-then-complete-no-id gassist/request-id-beside-a-ping gassist/request-id-missing
        gassist/request-id-not-sent-yet gassist/request-id-unknown
    """,
    "a piece that is not a text": """
        gassist/data-any-json gassist/note-params
    """,
    "a question that is not a text": """
        gassist/session-total-again
    """,
    "a question that no library asks": """
        kythe/a26-positional
    """,
    "a request as a notification, or the reverse": """
        kythe/a18-init-note-late kythe/a18-init-note kythe/r22-done
    """,
    "a request of the plugin's own": """
        ayiou/plugin-request gassist/note-with-id gassist/request-of-the-plugin plain/crash-request-open
        plain/escaped-names plain/request-ids plain/request-later plain/request-now
        plain/request-refused plain/same-id-both-ways yams/plugin-request
    """,
    "a result that is not in the specification": """
        ayiou/handle-types sunscreen/result-types yams/extract-error-object yams/extract-error-text
        yams/extract-no-content
    """,
    "an answer that nobody waits for": """
        ayiou/id-none ayiou/id-null-error ayiou/id-stale ayiou/id-string ayiou/id-unknown
        ayiou/id-zero-error gassist/error-id-null gassist/id-unknown gassist/shutdown-answered
        plain/id-duplicate plain/id-fraction plain/id-string plain/id-unknown plain/timeout-no-id
        plain/timeout-odd-id sunscreen-json/wrong-id sunscreen/error-id-null yams/id-duplicate
        yams/id-null-error-idle yams/id-null-error yams/id-null-result yams/id-stale yams/id-string
    """,
    "an answer to what no library sends": """
        kythe/a10-zero kythe/a11-limit
    """,
    "an answer with both result and error, or none": """
        ayiou/error-null plain/both-result-and-error sunscreen/error-null yams/error-null
    """,
    "an array": """
        plain/batch-answers plain/batch-empty plain/batch-invalid plain/batch-later plain/batch-notes
        plain/batch yams/batch-answer
    """,
    "an error that is none by JSON-RPC": """
        gassist/error-without-message
    """,
    "an error that keeps the conversation": """
        gassist/keep-on-error
    """,
    "an incomplete answer": """
        ayiou/handle-lenient ayiou/handle-strict
    """,
    "an incomplete greeting": """
        ayiou/id-integers ayiou/matches-wedged ayiou/metadata-error ayiou/metadata-nameless
        ayiou/metadata-null ayiou/metadata-strict yams/handshake-nameless yams/handshake-no-object
        yams/interfaces-inferred yams/interfaces-missing yams/strict-handshake
    """,
    "another analyze than the library's": """
        kythe/a13-second-waiting kythe/a27-language kythe/r22-analyze
    """,
    "another answer to commands than the library's": """
        sunscreen/commands-error sunscreen/commands-silent sunscreen/frame-limit
    """,
    "another answer to ping than the library's": """
        gassist/ping-timestamp
    """,
    "another answer to plugin.init than the library's": """
        yams/init-applied yams/init-status-error yams/init-status-ok
    """,
    "another greeting than the library's": """
        gassist/initialize-raw gassist/initialize-strict gassist/initialize-success-false
    """,
    "another init than the library's": """
        kythe/a01-conflict kythe/a01-output-encoding kythe/a01-output-under-encoding
        kythe/a01-same-twice kythe/a02-missing kythe/a02-number kythe/a02-unknown kythe/examples
        kythe/r21-no-version kythe/r21-version-number kythe/r21-version kythe/transcript
    """,
    "answers out of order: an author's functions run one at a time": """
        ayiou/pipeline plain/out-of-order plain/timeout-side-by-side
    """,
    "complete without success: the library sends an error": """
        gassist/input-success-false gassist/success-false-complete
    """,
    "input without a conversation": """
        gassist/input-no-session
    """,
    "raw bytes that are no message": """
        ayiou/bad-json ayiou/noise gassist/frame-too-big-idle gassist/frame-too-big
        gassist/noise-bad-json kythe/a12-bad-json kythe/a12-bad-utf8 kythe/a12-before-init
        kythe/a14-late-request kythe/r02-foobar kythe/r05-blank-after kythe/r05-blank-before
        kythe/r05-cr kythe/r05-empty kythe/r05-hex kythe/r05-json kythe/r05-plus kythe/r08-corrupt
        kythe/r08-greeting kythe/r12-codes plain/crash-stdout plain/noise plain/timeout-not-messages
        sunscreen/noise sunscreen/reads-headers yams/bad-json yams/noise-then-json yams/noise
    """,
    "raw bytes that are not whole messages": """
        gassist/frame-limit-64-mib gassist/frame-too-big-array gassist/frame-too-big-noise
        gassist/noise-looks-like-a-header gassist/noise-print kythe/a09-leading-zero kythe/a11-25-digits
        kythe/a11-default kythe/a11-digits kythe/a11-ten-digits kythe/a11-zeros kythe/r05-no-newline
        kythe/r05-print plain/framing-be32 sunscreen-json/bare-json sunscreen-json/frame-limit
        sunscreen-json/header-spelling sunscreen-json/truncated sunscreen-json/two-lines
    """,
    "the library answers input by an acknowledgement": """
        gassist/input-answered-at-once
    """,
    "the library answers lifecycle by ok": """
        ayiou/bot-connect-not-ok ayiou/bot-connect-null ayiou/shutdown-error ayiou/shutdown-not-ok
        ayiou/shutdown-null ayiou/startup-empty ayiou/startup-error ayiou/startup-null
        ayiou/startup-refused ayiou/startup-string-refused
    """,
    "the library answers matches by true or false": """
        ayiou/matches-no-verdict ayiou/matches-strict
    """,
    "the library ends an execute by notifications": """
        gassist/error-1 gassist/error-2 gassist/error-3 gassist/error-32600 gassist/error-32602
        gassist/error-32603 gassist/error-32700 gassist/error-response gassist/execute
        gassist/first-end-wins gassist/frame-in-pieces gassist/frame gassist/keep-in-response
        gassist/success-false-response
    """,
    "the library has this method": """
        gassist/initialize-error gassist/input-error gassist/ping-unimplemented yams/handshake-error
        yams/health-unimplemented yams/init-unimplemented yams/shutdown-unimplemented
        yams/strict-health-unimplemented yams/strict-init-unimplemented yams/supports-unimplemented
    """,
    "the library makes an object of every result": """
        sunscreen-json/hook sunscreen-json/lingers sunscreen-json/log-line-first
    """,
    "the library refuses such parameters": """
        ayiou/handle-params ayiou/matches-params yams/extract-no-data yams/extract-no-path
        yams/extract-source-type yams/supports-none
    """,
    "the library says how it went by its end, not by done": """
        kythe/a08-done-text kythe/r31-done
    """,
    "the library sends names that the specification allows": """
        yams/name-charset yams/name-hyphen yams/strict-name
    """,
    "the plugin breaks the protocol": """
        kythe/a18-second-init kythe/r13-grace-breach kythe/r21-no-params kythe/r22-failed-init-analyze
        kythe/r22-failed-init kythe/r24-refused
    """,
    "the plugin closes its stdout and lives on": """
        ayiou/shutdown-eof kythe/r05-eof-in-body kythe/r06-eof-at-boundary kythe/r14-clean-stopped
        kythe/r14-clean kythe/r14-stdout-closed kythe/r14-work-under-way plain/stdout-closed
        yams/shutdown-eof
    """,
    "the plugin dies": """
        kythe/r17-exit-segv plain/crash yams/health-crash
    """,
    "the plugin does not wait for an answer": """
        kythe/a16-pipelined kythe/r24-double
    """,
    "the plugin ends by itself": """
        ayiou/crash-max-restarts ayiou/crash-restart-off ayiou/crash gassist/crash
        gassist/session-ends-with-process kythe/r05-eof-in-tag kythe/r16-exit-code kythe/r17-blocked
        kythe/r17-exit-0 kythe/r17-exit-1 kythe/r17-no-restart kythe/r18-failure
        kythe/r18-guard-greeting kythe/r18-guard kythe/r18-restart sunscreen-json/nonzero
        sunscreen-json/scaffold sunscreen/crash yams/crash-answer-first yams/crash-idle
        yams/crash-in-call yams/crash-in-greeting yams/init-after-restart yams/restart-intensity
        yams/truncated
    """,
    "the plugin says nothing": """
        gassist/initialize-timeout kythe/r13-grace-greeting kythe/r13-grace-silent plain/cancel-member
        plain/notify plain/stop plain/stop-ladder plain/timeout-own sunscreen-json/ambiguous
        sunscreen-json/no-answer sunscreen/run-ambiguous sunscreen/run-unknown sunscreen/strict-params
        yams/handshake-timeout
    """,
    "the plugin sends a notification of its own": """
        ayiou/plugin-note plain/cancel-grace plain/note-in plain/talks-without-answer yams/plugin-note
    """,
    "the plugin speaks while it has no work": """
        kythe/a09-lenient kythe/a16-discarded kythe/a19-done-strict kythe/a19-done kythe/a19-vname
        kythe/r01-stderr kythe/r02-frame kythe/r04-two-frames kythe/r10-concurrent kythe/r22-vname
    """,
    "the same function is known and unknown": """
        gassist/error-32601 gassist/unknown-function
    """,
}

# Reasons that cannot be seen in a script.
BY_HAND = {}

# (script, language): why one SDK cannot say it.
LANGUAGE_ONLY = {
    ("gassist/log-before-initialize", "python"): "on_start gets the configuration, not a call",
    ("gassist/log-before-initialize", "node"): "onStart gets the configuration, not a call",
    ("plain/call-positional", "python"): "a function's *words take no params by position",
}


def names():
    return [name for table in (LEFT_OUT, BY_HAND) for text in table.values() for name in text.split()]


def reason_of(name):
    """None: it is played."""
    for table in (LEFT_OUT, BY_HAND):
        for reason, text in table.items():
            if name in text.split():
                return reason
    return None
