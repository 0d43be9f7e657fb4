# SPDX-License-Identifier: Apache-2.0
"""yams: text out of files. One JSON text per line; nothing works before plugin.init."""
from __future__ import annotations

import os
import re

from ..call import Call
from ..dialect import Dialect
from ..errors import INVALID_PARAMS, PluginError, wrong
from ..fields import Field
from ..results import Extraction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from ..dialect import Handler
    from ..fields import Function
    from ..plugin import Extractor, Plugin
    from ..serve import Session

EXTRACTION_FAILED, UNSUPPORTED, NOT_INITIALIZED = -32000, -32001, -32003
INTERFACE = "content_extractor_v1"


class Source:
    """What is to be extracted.

    type: "path" or "bytes", as the host sent it.
    """

    def __init__(self, source: Any) -> None:
        if not isinstance(source, dict):
            raise wrong("source", "is missing" if source is None else "an object is expected")
        self.type: str = source.get("type") or ("bytes" if "data" in source else "path")
        self._path: Optional[str] = None
        self._own = ""
        self._data: Optional[bytes] = None
        if self.type == "path":
            self._path = Field("path", "string").check(source.get("path"), "source.path")
        elif self.type == "bytes":
            import base64

            text = Field("data", "string").check(source.get("data"), "source.data")
            try:
                self._data = base64.b64decode(text, validate=True)
            except ValueError:
                raise wrong("source.data", "base64 is expected") from None
        else:
            raise wrong("source.type", '"path" or "bytes" is expected')

    @property
    def path(self) -> str:
        """The path of a file. Bytes are put into a private file, which is removed after the call."""
        if self._path is None:
            import tempfile

            fd, self._own = tempfile.mkstemp(prefix="tenon-")
            with os.fdopen(fd, "wb") as file:
                file.write(self.data)
            self._path = self._own
        return self._path

    @property
    def data(self) -> bytes:
        """The bytes, read where they came as a path."""
        if self._data is None:
            assert self._path is not None
            with open(self._path, "rb") as file:
                self._data = file.read()
        return self._data

    def close(self) -> None:
        if self._own:
            try:
                os.unlink(self._own)
            except OSError:
                pass


def identity(plugin: Plugin) -> Dict[str, Any]:
    """What the handshake answers, and the manifest begins with."""
    capabilities = dict(plugin.capabilities)
    interfaces = list(plugin.interfaces)
    if plugin.extractors:
        if INTERFACE not in interfaces:
            interfaces.append(INTERFACE)
        formats = [name for extractor in plugin.extractors for name in extractor.formats]
        extensions = [name for extractor in plugin.extractors for name in extractor.extensions]
        capabilities.setdefault("content_extraction", {"formats": formats, "extensions": extensions})
    known = {
        "name": re.sub(r"\W", "_", plugin.name),
        "version": plugin.version,
        "description": plugin.description,
        "author": plugin.author,
    }
    return {
        **{key: value for key, value in known.items() if value},
        "interfaces": interfaces,
        "capabilities": capabilities,
    }


class Yams(Dialect):
    name = "yams"
    bare_commands = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        if "plugin.health" not in self.plugin.methods:
            self.quick = {"plugin.health": self.quick_health}

    def table(self) -> Dict[str, Handler]:
        table: Dict[str, Handler] = {
            "handshake.manifest": lambda call: identity(self.plugin),
            "plugin.init": self.init,
            "plugin.health": self.health,
            "plugin.shutdown": self.shutdown,
        }
        if self.plugin.extractors:
            table["extractor.supports"] = self.supports
            table["extractor.extract"] = self.extract
        table.update(self.functions())
        return table

    # ---- lifecycle

    def init(self, call: Call) -> Any:
        params = call.params if isinstance(call.params, dict) else {}
        config = params.get("config", params)
        if config is None:
            config = {}
        if not isinstance(config, dict):
            raise wrong("config", "an object is expected")
        self.session.stop()
        applied = self.session.start(config, call)
        return {"status": "initialized", "config_applied": applied if isinstance(applied, dict) else config}

    def begin(self, call: Call) -> None:
        raise PluginError(
            NOT_INITIALIZED,
            "Not initialized: call plugin.init first",
            {"reason": "NotInitialized", "required_method": "plugin.init"},
        )

    def health(self, call: Call) -> Any:
        return {"status": "ok", "started": self.session.started}

    def quick_health(self, call: Call) -> bool:
        call.answer(self.health(call))
        return False

    def shutdown(self, call: Call) -> Any:
        self.session.stop()  # and goes on until stdin ends, as upstream's plugins do
        self.session.not_cancelled()
        return None

    def is_stop(self, method: str, params: Any) -> bool:
        return method == "plugin.shutdown"

    # ---- the extractor

    def supports(self, call: Call) -> Any:
        if not self.session.started:
            self.begin(call)
        params = call.params if isinstance(call.params, dict) else {}
        text = Field("text", "string")
        text.nullable = True
        mime_type = text.check(params.get("mime_type"), "mime_type")
        extension = text.check(params.get("extension"), "extension")
        if not mime_type and not extension:
            raise PluginError(INVALID_PARAMS, "mime_type: is missing, and so is extension")
        for extractor in self.plugin.extractors:
            if extractor.supports(mime_type, extension):
                sure = 1.0 if extractor.supports(mime_type, None) else 0.8
                return {"supported": True, "confidence": sure, "method": extractor.function.name}
        return {"supported": False, "confidence": 0.0}

    def extract(self, call: Call) -> Any:
        if not self.session.started:
            self.begin(call)
        params = call.params if isinstance(call.params, dict) else {}
        options = params.get("options")
        call.options = options if isinstance(options, dict) else {}
        call.source = source = Source(params.get("source"))
        try:
            function = self.choose(call, source).function
            arguments = function.bind(call.options)
            for name in function.given:
                arguments[name] = {"call": call, "source": source}.get(name) or getattr(source, name)
            return self.extraction(call, self.session.invoke(call, function, arguments))
        except OSError as problem:
            self.session.report()
            data = {"reason": type(problem).__name__, "details": str(problem)}
            raise PluginError(EXTRACTION_FAILED, "Extraction failed: %s" % problem, data) from None
        except Exception as problem:
            if isinstance(problem, PluginError):
                if problem.code is None:
                    problem.code = EXTRACTION_FAILED
                raise
            self.session.report()
            name = type(problem).__name__
            raise PluginError(EXTRACTION_FAILED, str(problem) or name, {"reason": name}) from None
        finally:
            source.close()

    def choose(self, call: Call, source: Source) -> Extractor:
        """The first extractor for this kind of file. A host that says no kind has its reasons."""
        mime_type, extension = call.options.get("mime_type"), call.options.get("extension")
        if not isinstance(mime_type, str) and not isinstance(extension, str):
            if source.type != "path" or len(self.plugin.extractors) == 1:
                return self.plugin.extractors[0]
            extension = os.path.splitext(source.path)[1]
        for extractor in self.plugin.extractors:
            if extractor.supports(mime_type, extension) or not (extractor.formats or extractor.extensions):
                return extractor
        formats = [name for extractor in self.plugin.extractors for name in extractor.formats]
        data = {"reason": "UnsupportedFormat", "mime_type": mime_type, "extension": extension}
        data["supported_formats"] = formats
        raise PluginError(UNSUPPORTED, "Unsupported format: %s" % (mime_type or extension), data)

    def extraction(self, call: Call, result: Any) -> Any:
        self.no_conversation(result)
        if isinstance(result, dict):
            text = result.get("content", result.get("text"))
            return {"success": True, "error": None, **result, "content": text, "text": text}
        if not isinstance(result, Extraction):
            result = Extraction("" if result is None else str(result))
        text = call.with_pieces(result.content)
        out = {"success": True, "content": text, "text": text, "metadata": result.metadata, "error": None}
        if result.stats is not None:
            out["stats"] = result.stats
        return out
