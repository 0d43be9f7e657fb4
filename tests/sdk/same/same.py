#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The same as same.c.
from tenon import Plugin

plugin = Plugin("the-same", "1.2.0", 'Is "the same"', author="Ada")


@plugin.command
def greet():
    """Says hello"""
    return "Hello"


@plugin.extractor(formats=["text/x-a", "text/x-b"], extensions=[".a", ".b"])
def extract(path):
    return path


plugin.run()
