# SPDX-License-Identifier: Apache-2.0
"""BasePlugin, as yams_sdk has it, on Tenon."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

import tenon
from tenon.call import Call
from tenon.dialects.yams import EXTRACTION_FAILED, Source, Yams
from tenon.errors import PluginError
from tenon.fields import Function


class _Bytes(Dict[str, Any]):
    """A source of bytes whose `path` is made when somebody asks for it."""

    def __init__(self, source: Dict[str, Any]) -> None:
        super().__init__(source)
        self._source: Optional[Source] = None

    def __missing__(self, key: str) -> Any:
        if key != "path":
            raise KeyError(key)
        self._source = Source({"type": "bytes", "data": self["data"]})
        self["path"] = self._source.path
        return self["path"]

    def get(self, key: str, default: Any = None) -> Any:
        return self["path"] if key == "path" else super().get(key, default)

    def close(self) -> None:
        if self._source is not None:
            self._source.close()


class _Yams(Yams):
    """The author's class answers for itself."""

    def table(self) -> Dict[str, Any]:
        base: BasePlugin = self.plugin.base  # type: ignore[attr-defined]
        return {**super().table(), "handshake.manifest": lambda call: base.manifest()}

    def health(self, call: Call) -> Any:
        base: BasePlugin = self.plugin.base  # type: ignore[attr-defined]
        if self.session.running is not None:  # the guard asks: the author's code runs on one thread
            return {"status": "ok", "busy": True}
        return base.health()

    def direct(self) -> Dict[str, Function]:
        return {}

    def serve(self, function: Function) -> Callable[[Call], Any]:
        serve = super().serve(function)

        def handler(call: Call) -> Any:
            source = call.params.get("source") if isinstance(call.params, dict) else None
            given: List[_Bytes] = []
            if isinstance(source, dict) and isinstance(source.get("data"), str) and "path" not in source:
                given.append(_Bytes(source))
                call.params = {**call.params, "source": given[0]}
            try:
                return serve(call)
            except Exception as problem:
                if call.method != "extractor.extract" or isinstance(problem, PluginError):
                    raise
                self.session.report()
                name = type(problem).__name__
                raise PluginError(EXTRACTION_FAILED, str(problem) or name, {"reason": name}) from None
            finally:
                for made in given:
                    made.close()

        return handler


class BasePlugin:
    """A plugin as a class: manifest() says who it is, methods with @rpc answer."""

    _registered: Dict[str, Callable[..., Any]]

    def manifest(self) -> Dict[str, Any]:
        """name, version, interfaces …"""
        raise NotImplementedError("manifest() is missing")

    def init(self, config: Dict[str, Any]) -> Any:
        """Gets the configuration. An exception refuses it."""

    def health(self) -> Dict[str, Any]:
        """How it is."""
        return {"status": "ok"}

    def shutdown(self) -> Any:
        """The end."""

    def register(self, name: str, fn: Callable[..., Any]) -> None:
        """A method by hand; those with @rpc need none."""
        self.__dict__.setdefault("_registered", {})[name] = fn

    def _methods(self) -> Dict[str, Callable[..., Any]]:
        found: Dict[str, Callable[..., Any]] = {}
        for cls in reversed(type(self).__mro__):
            for name, fn in vars(cls).items():
                wanted = getattr(fn, "__rpc_name__", None)
                if wanted:
                    found[wanted] = getattr(self, name)
        found.update(self.__dict__.get("_registered", {}))
        return found

    def build(self) -> tenon.Plugin:
        """The same as a plugin of Tenon, for tenon.testing."""
        about = self.manifest()
        plugin = tenon.Plugin(
            str(about.get("name", "plugin")), str(about.get("version", "0.0.0")), dialect="yams"
        )
        plugin.base = self  # type: ignore[attr-defined]
        plugin.speaks = _Yams
        for name, fn in self._methods().items():
            plugin.methods[name] = Function(fn, name, ()).unchecked()  # as upstream
        plugin.starts = Function(lambda config: self.init(config))
        plugin.stops = Function(lambda: self.shutdown())
        return plugin

    def run(self) -> None:
        """Serves the host until it ends."""
        self.build().run()
