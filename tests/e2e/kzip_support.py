# SPDX-License-Identifier: Apache-2.0
"""Archives as tests of mortise kzip make them."""
import hashlib
import json
import warnings
import zipfile

from support import Case


def sha(content):
    return hashlib.sha256(content).hexdigest()


class KzipCase(Case):
    def zip(self, name, entries, flags=0):
        """An archive as Python writes it; a name that ends in "/" is a directory."""
        path = self.dir / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names that come twice
            for entry, content in entries:
                info = zipfile.ZipInfo(entry, (2019, 8, 6, 13, 6, 34))
                info.compress_type = zipfile.ZIP_DEFLATED
                info.flag_bits |= flags
                archive.writestr(info, content)
        return path

    def unit(self, files, **more):
        """JSON of a unit that requires these {path: content}."""
        return json.dumps(
            {
                "unit": {
                    "v_name": {"language": "java"},
                    "required_input": [
                        {
                            "v_name": {"corpus": "kythe", "path": path.strip("!")},
                            "info": {"path": path, "digest": sha(content)},
                        }
                        for path, content in files.items()
                    ],
                    "source_file": sorted(files)[:1],
                    **more,
                }
            }
        ).encode()

    def archive_of(self, name, files, unit_name=None, **more):
        unit = self.unit(files, **more)
        return self.zip(
            name,
            [("root/", b""), (f"root/units/{unit_name or sha(unit)}", unit)]
            + [(f"root/files/{sha(c)}", c) for c in files.values()],
        )
