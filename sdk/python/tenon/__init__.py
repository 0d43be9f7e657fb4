# SPDX-License-Identifier: Apache-2.0
"""Tenon: the plugin author's side of Mortise, in Python. Standard library only, Python 3.8 and later."""
