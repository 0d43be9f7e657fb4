#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A vote in each group: /vote tea, /result. docs/guide/bot.md runs it as a bot.
from collections import Counter

from tenon import Plugin

plugin = Plugin("vote", "1.0.0", "Counts votes")
votes = {}


@plugin.command(aliases=["v"])
def vote(choice: str, call):
    """Votes for something; the last vote of a person counts."""
    votes.setdefault(call.message.group_id, {})[call.message.user_id] = choice
    return "You voted for " + choice


@plugin.command
def result(call):
    """The votes of this group."""
    counted = Counter(votes.get(call.message.group_id, {}).values())
    return "\n".join("%s: %d" % item for item in counted.most_common()) or "No votes yet"


plugin.run()
