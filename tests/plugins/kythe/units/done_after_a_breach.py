# SPDX-License-Identifier: Apache-2.0
out.fact("/lost", "x")
wire.raw(b"+1\n")
wire.note("done")
wire.until_closed()
raise SystemExit
