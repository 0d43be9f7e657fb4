#!/usr/bin/env python3
from tenon import Extraction, Plugin

plugin = Plugin("@NAME@", "0.1.0", "The text of notes")


@plugin.extractor(formats=["text/x-note"], extensions=[".note"])
def extract(data: bytes) -> Extraction:
    """The first line of a note is its title."""
    title, _, text = data.decode(errors="replace").partition("\n")
    return Extraction(text, {"title": title})


if __name__ == "__main__":
    plugin.run()
