# SPDX-License-Identifier: Apache-2.0
"""One module for each dialect; only the one that is spoken is imported."""
