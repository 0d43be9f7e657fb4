# SPDX-License-Identifier: Apache-2.0
"""What the tests of the bot share."""
import contextlib
import fcntl
import json
import os
import pty
import re
import subprocess
import termios
import threading

import events
from support import Case, LIMIT, MORTISE, PLUGINS, PYTHON

HERE = PLUGINS / "ayiou"
STAGE = HERE / "stage.py"
BIG, BIGGEST = 9007199254740993, 9223372036854775807  # 2^53 + 1, 2^63 - 1


def text_call(text, plugin, line, user=0, group=None):
    params = {"user_id": user} if group is None else {"group_id": group}
    params["message"] = [{"type": "text", "data": {"text": text}}]
    return {
        "action": "send_private_msg" if group is None else "send_group_msg",
        "params": params,
        "echo": f"{plugin}/{line}",
    }


def lines(*events):
    return "".join((e if isinstance(e, str) else json.dumps(e)) + "\n" for e in events).encode()


def close_quietly(pipe):
    """A text that nobody reads any more is still in its buffer."""
    with contextlib.suppress(BrokenPipeError):
        pipe.close()


class BotCase(Case):
    def bot_text(self, *plugins, head="enabled = true"):
        """The file of a bot; a plugin is (name, command line, more keys as TOML). Where nothing is said about
        time, there is enough of it."""
        text = f"[external-plugin-bridge]\n{head}\n"
        for name, command, *keys in plugins:
            command = [str(word) for word in command]
            limits = dict.fromkeys(("metadata", "lifecycle", "matches", "handle"), '"300s"')
            for key in [key for key in keys if key.startswith("timeout")]:
                limits.update(re.findall(r'(\w+) = ("[^"]+")', key.removeprefix("timeout = ")))
                keys.remove(key)
            keys.append(f"timeout = {{ {', '.join(f'{name} = {value}' for name, value in limits.items())} }}")
            text += (
                f"[external-plugin-bridge.plugins.{name}]\ncommand = {json.dumps(command[0])}\n"
                f"args = {json.dumps(command[1:])}\n" + "".join(key + "\n" for key in keys)
            )
        return text

    def bot(self, *plugins, **how):
        return self.file("bot.toml", self.bot_text(*plugins, **how))

    def stage(self, key, *keys, **part):
        """A plugin that plays a part; what it was asked is in self.asked(name)."""
        part.setdefault("log", str(self.dir / f"{key}.log"))
        return (key, [PYTHON, "-u", STAGE, json.dumps(part)], *keys)

    def asked(self, name, method=None):
        found = [line.split(" ", 1) for line in (self.dir / f"{name}.log").read_text().splitlines()]
        return (
            [text for what, text in found if what == method] if method else [" ".join(pair) for pair in found]
        )

    def chat(self, bot, *events, words=(), code=0):
        done = self.run_mortise("chat", "--config", bot, *words, stdin=lines(*events))
        self.assertEqual(done.code, code, done.err)
        return done

    def start_on_terminal(self, bot):
        """With a terminal of its own, and our end of it: to close it is to hang up."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [str(MORTISE), "chat", "--config", str(bot)],
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            env=self.env,
            start_new_session=True,
            text=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.addCleanup(process.stderr.close)
        os.close(theirs)
        return process, ours

    def start(self, bot, *words):
        process = subprocess.Popen(
            [str(MORTISE), "chat", "--config", str(bot), *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            cwd=self.dir,
            text=True,
        )
        for pipe in (process.stdin, process.stdout, process.stderr):
            self.addCleanup(close_quietly, pipe)
        watchdog = threading.Timer(2 * LIMIT, process.kill)  # a test that reads from it then sees the end
        watchdog.daemon = True
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        return process

    def until(self, stream, part):
        for line in stream:
            if part in line:
                return line
        self.fail(f"ended before it said {part!r}")

    def wait_for(self, condition):
        """A condition on what plugins have written to their logs."""
        events.until(condition, self.dir)

    def gate(self):
        """For the gate of a stage: closed as yet."""
        gate = events.Gate(self.dir / "gate")
        self.addCleanup(gate.forget)
        return gate
