# SPDX-License-Identifier: Apache-2.0
# Its first attempt says done after its stdin was closed.
if attempt == 1:
    out.fact("/lost", "x")
    wire.until_closed()
    done()
    raise SystemExit
