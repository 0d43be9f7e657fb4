#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# mortise call factors n=60 -- python3 plain.py
import math

from tenon import Plugin, PluginError

plugin = Plugin("numbers", "1.0.0", "Arithmetic with whole numbers", dialect="plain")


@plugin.method
def greatest_common_divisor(numbers: list) -> int:
    """The largest number that divides all of them."""
    return math.gcd(*numbers)


@plugin.method
def factors(n: int) -> list:
    """The primes whose product is n."""
    if n < 1:
        raise PluginError(-1, "there are none of %d" % n)
    return next(([p] + factors(n // p) for p in range(2, n + 1) if n % p == 0), [])


plugin.run()
