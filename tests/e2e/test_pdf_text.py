# SPDX-License-Identifier: Apache-2.0
"""plugins/pdf-text: a YAMS plugin with the Python package, doing its work with poppler."""
import json
import os
import shutil
import subprocess
import unittest

from support import BUILD, Case, LIMIT

PDF_TEXT = BUILD / "plugins" / "pdf-text"


def pdf(*pages, title="A title"):
    """A PDF file with a line of text on each page."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    for text in pages:
        stream = b"BT /F1 24 Tf 72 700 Td (%s) Tj ET" % text.encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 "
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    objects.append(b"<< /Title (%s) /Author (Ada) >>" % title.encode())
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    size, info = len(objects) + 1, len(objects)
    trailer = b"trailer << /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return out + trailer % (size, info, start)


@unittest.skipUnless(shutil.which("pdftotext"), "needs poppler-utils")
class PdfText(Case):
    def test_text_and_metadata(self):
        path = self.file("two.pdf", pdf("Hello there", "The second page"))
        said = self.ok("extract", "--plugin", PDF_TEXT, path).out
        self.assertIn("Hello there", said)
        self.assertIn("The second page", said)
        told = self.ok(
            "call", PDF_TEXT, "extractor.extract", json.dumps({"source": {"type": "path", "path": str(path)}})
        )
        self.assertEqual(told.json["metadata"]["title"], "A title")
        self.assertEqual(told.json["metadata"]["pages"], "2")
        self.assertEqual(told.json["stats"]["pages"], 2)

    def test_options(self):
        path = self.file("two.pdf", pdf("Hello there", "The second page"))
        params = {
            "source": {"type": "path", "path": str(path)},
            "options": {"max_pages": 1, "include_metadata": False},
        }
        told = self.ok("call", PDF_TEXT, "extractor.extract", json.dumps(params)).json
        self.assertNotIn("second", told["content"])
        self.assertEqual(told["metadata"], {"extraction_method": "pdftotext"})
        params["options"] = {"max_pages": "one"}
        self.assertIn(
            "max_pages: an integer is expected", self.error("call", PDF_TEXT, "extractor.extract", params)
        )

    def error(self, *words):
        words = [json.dumps(word) if isinstance(word, dict) else word for word in words]
        done = self.run_mortise(*words)
        self.assertEqual(done.code, 1, done.err)
        return done.err

    def test_what_is_no_pdf(self):
        path = self.file("no.pdf", b"this is no PDF at all")
        source = {"source": {"type": "path", "path": str(path)}}
        self.assertIn("-32001", self.error("call", PDF_TEXT, "extractor.extract", source))
        damaged = self.file("cut.pdf", pdf("Hello")[:60])
        source["source"]["path"] = str(damaged)
        self.assertRegex(self.error("call", PDF_TEXT, "extractor.extract", source), "-3200[01]")

    def test_missing_poppler(self):
        done = self.run_mortise(
            "call", PDF_TEXT, "extractor.supports", "extension=.pdf", "-c", "pdftotext=/no/such"
        )
        self.assertNotEqual(done.code, 0)
        self.assertIn("pdftotext not found. Install poppler-utils", done.err)
        self.assertIn("PDFTOTEXT", done.err)

    def test_manifest_is_what_the_plugin_declares(self):
        made = subprocess.run(
            [PDF_TEXT / "pdf-text", "--manifest"], capture_output=True, timeout=LIMIT, check=True
        )
        declared, written = json.loads(made.stdout), json.loads((PDF_TEXT / "yams-plugin.json").read_text())
        for key in ("name", "version", "interfaces", "capabilities"):
            self.assertEqual(declared[key], written[key])
        self.assertTrue(os.access(PDF_TEXT / "pdf-text", os.X_OK))


if __name__ == "__main__":
    unittest.main()
