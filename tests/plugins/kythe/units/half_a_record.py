# SPDX-License-Identifier: Apache-2.0
out.fact("/t", "x", path="bad.toy")
out.raw(b"\x20half")
done()
wire.until_closed()
raise SystemExit
