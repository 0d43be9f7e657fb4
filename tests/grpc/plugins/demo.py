# SPDX-License-Identifier: Apache-2.0
"""The plugin of test_tenon.py, in Python. demo.mjs and demo.c do the same."""
import sys
import time

from tenon import Done, Plugin, PluginError

plugin = Plugin("demo", "1.0.0", "Shows what Tenon does over gRPC", dialect="sunscreen")
cancelled = 0


@plugin.command
def index(name: str, call, program: str = "app"):
    """Indexes a name."""
    call.progress(0.5, "half of it")
    call.log("warning", "a line")
    call.stream("piece ")
    return Done(f"indexed {name} of {program} in {call.workspace}", ["a.rs"])


@plugin.command("app:wait")
def wait(call):
    """Waits until it is cancelled."""
    global cancelled
    call.progress(-1, "waits")
    while not call.cancelled:
        time.sleep(0.002)
    cancelled += 1
    return "was cancelled"


@plugin.command("app:count")
def count():
    """How often `wait` was cancelled."""
    return str(cancelled)


@plugin.command
def fail():
    """Fails."""
    raise PluginError(4, "it exists already", {"next_step": "pass --force"})


@plugin.hook("after_build")
def after_build(call, idl: str = ""):
    return f"built {idl} in {call.workspace}"


@plugin.on_stop
def stop():
    print("stopped", file=sys.stderr)


plugin.run()
