# SPDX-License-Identifier: Apache-2.0
"""Real shells on a terminal: what a line is after Tab. Nobody's start files are read."""
import os
import pty
import re
import select
import subprocess

from support import LIMIT, MORTISE

START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
LOAD = {
    # without colours, bells and pagers, so that what comes is text
    "bash": "bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; source completion.bash",
    "zsh": "unset zle_bracketed_paste; unsetopt beep prompt_sp prompt_cr; autoload -Uz compinit; compinit -u -D; "
    "source completion.zsh",
}


class Shell:
    """completed(TEXT): the words of the line after TEXT and Tab. `first`: a command before all others."""

    def __init__(self, case, name, first=":"):
        script = case.ok("completion", name).raw
        case.file(f"completion.{name}", script)
        path = f"{MORTISE.parent}:{os.environ['PATH']}"
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            START[name],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**case.env, "PATH": path, "PS1": "", "TERM": "dumb", "HOME": str(case.dir), "COLUMNS": "400"},
            cwd=case.dir,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ""
        self.count = 0
        case.addCleanup(self.close)
        self.send(f"{first}; {LOAD[name]}\r")
        self.mark()

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)

    def send(self, text):
        os.write(self.ours, text.encode())

    def until(self, pattern):
        while not (found := re.search(pattern, self.text)):
            if not select.select([self.ours], [], [], LIMIT)[0]:
                raise AssertionError(f"the shell did not say {pattern!r}: {self.text!r}")
            self.text += os.read(self.ours, 65536).decode(errors="replace")
        self.text = self.text[found.end() :]
        return found

    def mark(self):
        """It has done everything before this. What is typed is not what is printed."""
        self.count += 1
        self.send(f"printf '<%s>\\n' $(({self.count} + 4000))\r")
        self.until(f"<{self.count + 4000}>")

    def completed(self, text):
        """Ctrl-A puts a command before the line, which prints its words."""
        self.count += 1
        self.send(
            f"{text}\t\x01printf '[%s]' {self.count + 7000} \x05 end{self.count}; printf '.%s.\\n' $((1+1))\r"
        )
        found = self.until(rf"\[{self.count + 7000}\]((?:\[[^\r\n]*\])?)\[end{self.count}\]\.2\.")
        self.mark()
        return re.findall(r"\[([^\]]*)\]", found.group(1))

    def line(self, text):
        """The line itself after TEXT and Tab, with its quoting: in '' after a command that prints it."""
        self.count += 1
        self.send(f"{text}\t\x01printf '[%s]' {self.count + 7000} '\x05' end{self.count}\r")
        found = self.until(rf"\[{self.count + 7000}\]\[([^\]\r\n]*)\]\[end{self.count}\]")
        self.mark()
        return found.group(1)
