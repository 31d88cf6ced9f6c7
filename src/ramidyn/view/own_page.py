"""The viewer's server answers its own page only: other pages must not drive it.

A browser lets every web page open a WebSocket to this machine, and says in the header
``Origin`` which page it was. viser has no option to check it, so its call of `serve`
gets a check of our own.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from ramidyn.errors import Error

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_LOCK: Final = threading.Lock()


def start_for_own_page(start: Callable[[], Any]) -> Any:
    """Return the viser server that a function starts; it refuses other pages.

    Raises:
        Error: this version of viser starts its server in another way.
    """
    websockets: Any = importlib.import_module("websockets.asyncio.server")
    serve, is_checked = websockets.serve, False

    def checked_serve(handler: Any, *args: Any, **options: Any) -> Any:
        nonlocal is_checked
        if str(getattr(handler, "__module__", "")).startswith("viser."):
            is_checked = True
            options["process_request"] = _checked(options.get("process_request"))
        return serve(handler, *args, **options)

    with _LOCK:
        websockets.serve = checked_serve
        try:
            server = start()
        finally:
            websockets.serve = serve
    if not is_checked:
        server.stop()
        raise Error(
            "the viewer cannot check which pages use it with this version of viser; "
            "install another one: pip install viser==1.1.1"
        )
    return server


def is_own(origin: str | None, host: str | None) -> bool:
    """Whether a request is of a page that this machine served, or of no page.

    The page's own address is also what it was asked for by (``Host``), which is another
    one where a port is forwarded; names that lead here from elsewhere are refused.
    """
    if origin is None:
        return True
    try:
        found = urlsplit(origin)
        return found.netloc == host and found.hostname in LOOPBACK
    except ValueError:
        return False


def _checked(answer: Any) -> Any:
    def process_request(connection: Any, request: Any) -> Any:
        headers = request.headers
        if not is_own(headers.get("Origin"), headers.get("Host")):
            return connection.respond(403, "This viewer answers its own page only.\n")
        return None if answer is None else answer(connection, request)

    return process_request
