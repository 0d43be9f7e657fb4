#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# The text of web pages. mortise extract page.html --plugin yams.py
from html.parser import HTMLParser

from tenon import Extraction, Plugin

plugin = Plugin("web-pages", "1.0.0", "The text of web pages")


@plugin.extractor(formats=["text/html"], extensions=[".html", ".htm"])
def extract(path):
    words, hidden = [], []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, _: hidden.append(tag) if tag in ("script", "style") else None
    parser.handle_endtag = lambda tag: hidden.remove(tag) if tag in hidden else None
    parser.handle_data = lambda text: None if hidden else words.extend(text.split())
    with open(path, encoding="utf-8", errors="replace") as file:
        parser.feed(file.read())
    return Extraction(" ".join(words), {"words": str(len(words))})


plugin.run()
