# SPDX-License-Identifier: Apache-2.0
# The same value in the four spellings that are taken.
for body in (
    b'{"source":{"path":"p"},"factName":"/a","factValue":"+/8="}',
    b'{"source":{"path":"p"},"fact_name":"/b","fact_value":"+/8"}',
    b'{"source":{"path":"p"},"fact_name":"/c","fact_value":"-_8="}',
    b' {"source":{"path":"p"}, "factName":"/d","factValue":"-_8"} \n',
):
    out.record(body)
