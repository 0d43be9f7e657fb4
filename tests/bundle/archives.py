# SPDX-License-Identifier: Apache-2.0
"""Archives for tests, good and hostile. HOSTILE: a name, a function that returns the bytes, and the line with
which it is refused; a line that ends with a blank goes on with libarchive's own words."""
import gzip
import io
import os
import struct
import subprocess
import tarfile
import zipfile

GOOD = {"plugin.toml": b"[plugin]\n", "bin/run": b"#!/bin/sh\n", "data/a b.txt": b"text"}
UNIQUE = b"the same bytes "


def entry(name, kind=tarfile.REGTYPE, link="", size=0, mode=0o644, **more):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, link, size, mode
    for key, value in more.items():
        setattr(info, key, value)
    return info


def tar(*entries, form=tarfile.GNU_FORMAT, encoding="utf-8"):
    """Entries are (TarInfo, bytes or None) or a name."""
    out = io.BytesIO()
    with tarfile.open(
        fileobj=out, mode="w", format=form, encoding=encoding, errors="surrogateescape"
    ) as archive:
        for item in entries:
            if isinstance(item, str):
                item = (entry(item), b"x")
            info, data = item
            if data is not None:
                info.size = len(data)
            archive.addfile(info, io.BytesIO(data) if data is not None else None)
    return out.getvalue()


def zipped(*entries, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in entries:
            info = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name)
            if not isinstance(name, zipfile.ZipInfo):
                info.filename = name  # the constructor mends it
            info.compress_type = method
            archive.writestr(info, data)
    return out.getvalue()


def zip_kind(name, mode):
    """An entry of another kind, as Info-ZIP on Unix writes it."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    return info


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


def good_tar(top=""):
    modes = {"bin/run": 0o755}
    return tar(*((entry(top + name, mode=modes.get(name, 0o644)), data) for name, data in GOOD.items()))


def tar_lies(size):
    """A header that promises more than there is."""
    info = entry("big", size=size)
    return info.tobuf(tarfile.GNU_FORMAT) + b"x" * 1024


def old_sparse():
    """GNU's old sparse form: 512 bytes, said to be 64 GiB."""
    info = entry("holes", kind=tarfile.GNUTYPE_SPARSE, size=512)
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[386:410] = b"%011o\0%011o\0" % (0, 512)
    header[483:495] = struct.pack(">BxxxQ", 0x80, 64 << 30)
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + b"y" * 512 + b"\0" * 1024


def pax_sparse():
    info = entry("holes", size=512)
    info.pax_headers = {
        "GNU.sparse.major": "0",
        "GNU.sparse.minor": "1",
        "GNU.sparse.name": "holes",
        "GNU.sparse.size": str(32 << 30),
        "GNU.sparse.map": f"{31 << 30},512",
    }
    return tar((info, b"z" * 512), form=tarfile.PAX_FORMAT)


def zip_lies(size):
    """The size of the only file is said to be another one, in both places; its sum is right."""
    data = bytearray(zipped(("f", UNIQUE * 10), method=zipfile.ZIP_STORED))
    central = data.index(b"PK\x01\x02")
    struct.pack_into("<I", data, 22, size)
    struct.pack_into("<I", data, central + 24, size)
    return bytes(data)


def zip_wrong_sum():
    data = bytearray(zipped(("f", UNIQUE), method=zipfile.ZIP_STORED))
    data[data.index(UNIQUE)] ^= 1
    return bytes(data)


def zip_encrypted():
    data = bytearray(zipped(("secret", UNIQUE)))
    central = data.index(b"PK\x01\x02")
    data[6] |= 1
    data[central + 8] |= 1
    return bytes(data)


def bomb(mib):
    return tar((entry("bomb"), b"\0" * (mib << 20)))


def link(name, to):
    return (entry(name, tarfile.SYMTYPE, to), None)


def hard(name, to):
    return (entry(name, tarfile.LNKTYPE, to), None)


def folder(name):
    return (entry(name, tarfile.DIRTYPE, mode=0o755), None)


def device(name, kind):
    return (entry(name, kind, devmajor=1, devminor=3), None)


CASE = "differ in case or Unicode form only: on some systems they are one file"
OUT = "which leads out of the plugin"
ODD = "which is not a name that a plugin may have"
HOLES = "is a sparse file, and a plugin has none"

HOSTILE = {
    "absolute": (lambda: tar("/tmp/mortise-out"), '"/tmp/mortise-out" is an absolute path'),
    "absolute in a zip": (lambda: zipped(("/out", b"x")), '"/out" is an absolute path'),
    "climbs": (lambda: tar("../out"), '"../out" leads out of the plugin with ".."'),
    "climbs inside": (lambda: tar("a/b/../../../out"), '"a/b/../../../out" leads out of the plugin with ".."'),
    "climbs in a zip": (lambda: zipped(("../out", b"x")), '"../out" leads out of the plugin with ".."'),
    "backslashes": (lambda: tar("..\\out"), '"..\\out" has a backslash, which parts directories on Windows'),
    "a drive": (lambda: tar("C:out"), '"C:out" has a name with a drive letter'),
    "control characters": (lambda: tar("a\x1b[2Jb"), '"a\\x1b[2Jb" has a control character'),
    "a newline": (lambda: tar("a\nb"), '"a\\x0ab" has a control character'),
    "invisible": (lambda: tar("a\u200bb", form=tarfile.PAX_FORMAT), '"a<U+200B>b" has an invisible character'),
    "reordered": (lambda: zipped(("a\u202etxt.exe", b"x")), '"a<U+202E>txt.exe" has an invisible character'),
    "not UTF-8": (lambda: tar("a\udcffb"), '"a\\xffb" is not UTF-8'),
    "a name of Windows": (lambda: tar("lib/NUL.txt"), '"lib/NUL.txt" has a name that Windows reserves'),
    "a dot at the end": (lambda: tar("run."), '"run." has a name that ends with a dot or a blank'),
    "twice": (lambda: tar("run", "run"), '"run" is there twice'),
    "twice, once dressed up": (lambda: tar("run", "./run"), '"run" is there twice'),
    "twice in a zip": (lambda: zipped(("run", b"a"), ("run", b"b")), '"run" is there twice'),
    "case": (lambda: tar("run", "RUN"), f'"RUN" and "run" {CASE}'),
    "case of a directory": (lambda: tar("lib/a", "Lib/b"), f'"Lib/b" and "lib" {CASE}'),
    "Unicode form": (lambda: tar("caf\u00e9", "cafe\u0301"), f'"cafe\u0301" and "caf\u00e9" {CASE}'),
    "a link out": (lambda: tar("run", link("l", "../out")), f'"l" is a link to "../out", {OUT}'),
    "an absolute link": (
        lambda: tar("run", link("l", "/etc/passwd")),
        f'"l" is a link to "/etc/passwd", {OUT}',
    ),
    "a link over links": (
        lambda: tar("d/e/f", link("d/up", ".."), link("l", "d/up/../out")),
        f'"l" is a link to "d/up/../out", {OUT}',
    ),
    "a link past the top": (
        lambda: tar("top/run", link("top/l", "../top/run")),
        f'"top/l" is a link to "../top/run", {OUT}',
    ),
    "a link to nothing": (lambda: tar("run", link("l", "no")), '"l" is a link to "no", which is not there'),
    "a link to itself": (lambda: tar("run", link("l", "l")), '"l" is a link to "l", which leads to itself'),
    "a link with odd text": (lambda: tar("run", link("l", "a\nb")), f'"l" is a link to "a\\x0ab", {ODD}'),
    "a link in a zip": (
        lambda: zipped((zip_kind("l", 0o120777), b"/etc/passwd"), ("run", b"x")),
        f'"l" is a link to "/etc/passwd", {OUT}',
    ),
    "through a link": (lambda: tar(link("d", "."), "d/run"), '"d/run" lies below "d", which is a link'),
    "through a link out": (lambda: tar(link("d", "/tmp"), "d/out"), f'"d" is a link to "/tmp", {OUT}'),
    "through a file": (lambda: tar("d", "d/run"), '"d/run" lies below "d", which is a file'),
    "a link over a file": (lambda: tar("run", link("run", "/etc/passwd")), '"run" is there twice'),
    "a hard link out": (
        lambda: tar(hard("l", "/etc/passwd")),
        '"l" is a hard link to "/etc/passwd", which is no file before it in the archive',
    ),
    "a hard link that climbs": (
        lambda: tar("run", hard("l", "../../etc/passwd")),
        '"l" is a hard link to "../../etc/passwd", which is no file before it in the archive',
    ),
    "a hard link to a directory": (
        lambda: tar("d/run", hard("l", "d")),
        '"l" is a hard link to "d", which is no file before it in the archive',
    ),
    "a character device": (lambda: tar(device("null", tarfile.CHRTYPE)), '"null" is a device'),
    "a disk": (lambda: tar(device("sda", tarfile.BLKTYPE)), '"sda" is a device'),
    "a pipe": (lambda: tar(device("fifo", tarfile.FIFOTYPE)), '"fifo" is a pipe'),
    "a socket in a zip": (lambda: zipped((zip_kind("s", 0o140644), b"")), '"s" is a socket'),
    "sparse, old": (old_sparse, f'"holes" {HOLES}'),
    "sparse, pax": (pax_sparse, f'"holes" {HOLES}'),
    "larger than it says": (lambda: zip_lies(7), 'is damaged at "f": '),
    "smaller than it says": (lambda: zip_lies(200), 'is damaged at "f": '),
    "a promise of 8 GiB": (lambda: tar_lies(8 << 30), '"big" makes the plugin larger than 512 MiB'),
    "a wrong sum": (zip_wrong_sum, 'is damaged at "f": '),
    "cut": (lambda: good_tar()[:600], 'is damaged at "plugin.toml": '),
    "cut, compressed": (
        lambda: gzip.compress(tar((entry("noise"), os.urandom(900000))))[:-400000],
        'is damaged at "noise": ',
    ),
    "encrypted": (zip_encrypted, '"secret" is encrypted'),
    "a bomb": (
        lambda: gzip.compress(bomb(64)),
        '"bomb" unpacks to more than 250 times the size of the archive',
    ),
    "a bomb of zstd": (lambda: zstd(bomb(64)), '"bomb" unpacks to more than 250 times the size of the archive'),
    "a bomb in a zip": (
        lambda: zipped(("bomb", b"\0" * (64 << 20))),
        '"bomb" unpacks to more than 250 times the size of the archive',
    ),
    "wrapped twice": (lambda: gzip.compress(gzip.compress(good_tar())), "is compressed more than once"),
    "no archive": (
        lambda: b"#!/bin/sh\necho hello\n" * 100,
        "is no tar, tar.gz, tar.zst or zip archive (Unrecognized archive format)",
    ),
    "nothing": (lambda: b"", "is no tar, tar.gz, tar.zst or zip archive (Unrecognized archive format)"),
    "another format": (
        lambda: b"070701" + b"0" * 200,
        "is no tar, tar.gz, tar.zst or zip archive (Unrecognized archive format)",
    ),
    "no files": (lambda: tar(folder("a"), folder("a/b")), "holds no files"),
    "a long name": (lambda: tar("n" * 256), '"' + "n" * 196 + '..." has a name of more than 255 bytes'),
}
