"""What an editor shows: pyright's language server, asked about one file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


class LanguageServer:
    """Pyright's language server with one open file."""

    def __init__(self, folder: Path, text: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pyright.langserver", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.asked = 0
        file = folder / "script.py"
        file.write_text(text, encoding="utf-8")
        self.uri = file.as_uri()
        root = {"uri": folder.as_uri(), "name": "scripts"}
        can = {"workspace": {"configuration": True}}
        self.ask(
            "initialize", processId=None, workspaceFolders=[root], capabilities=can
        )
        self.send(method="initialized", params={})
        document = {"uri": self.uri, "languageId": "python", "version": 1, "text": text}
        self.send(method="textDocument/didOpen", params={"textDocument": document})

    def hover(self, line: int, character: int) -> str:
        """Return what the editor shows at a place, as plain text."""
        place = {"line": line, "character": character}
        document = {"uri": self.uri}
        found = self.ask("textDocument/hover", textDocument=document, position=place)
        return found["contents"]["value"]

    def __enter__(self) -> LanguageServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def ask(self, method: str, **params: Any) -> Any:
        """Return the answer to a request; answer the server's own on the way."""
        self.asked += 1
        self.send(id=self.asked, method=method, params=params)
        while True:
            message = self.receive()
            if "method" not in message:
                return message["result"]
            if "id" in message:
                items = (message.get("params") or {}).get("items", ())
                settings = [{"pythonPath": sys.executable} for _ in items]
                self.send(id=message["id"], result=settings)

    def send(self, **message: Any) -> None:
        assert self.process.stdin
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name == b"Content-Length":
                length = int(value)
        return json.loads(self.process.stdout.read(length))
