#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# mortise run -d gassist guess limit=10 -- python3 gassist.py; mortise chat -d gassist -- python3 gassist.py
import random

from tenon import Plugin

plugin = Plugin("guess", "1.0.0", "A game")


@plugin.command
def guess(call, limit: int = 100):
    """Guess a number.

    limit: the largest number
    """
    number, asked = random.randint(1, limit), "A number from 1 to %d?" % limit
    while True:
        answer = yield asked
        if answer == "exit" or answer == str(number):
            return "It was %d." % number
        call.stream("No. " if answer.isdigit() else "That is no number. ")
        asked = "Less?" if answer.isdigit() and int(answer) > number else "More?"


plugin.run()
