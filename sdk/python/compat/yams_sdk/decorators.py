# SPDX-License-Identifier: Apache-2.0
"""@rpc: the name of a method on the wire."""
from __future__ import annotations

from typing import Any, Callable, TypeVar, Union

F = TypeVar("F", bound=Callable[..., Any])


def rpc(name: Union[str, F, None] = None) -> Any:
    """Marks a method; without a name it is called as it is."""

    def mark(fn: F) -> F:
        fn.__rpc_name__ = name if isinstance(name, str) else fn.__name__  # type: ignore[attr-defined]
        return fn

    return mark(name) if callable(name) else mark  # type: ignore[arg-type]
