"""The page itself: one document for every path, and its files by hashed names."""

from __future__ import annotations

import mimetypes
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.responses import Response
from starlette.routing import Route

from netloom.web.replies import HttpError

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["ROUTES"]

FOLDER: Final = Path(__file__).parents[1] / "static"
TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
FOREVER: Final = {"Cache-Control": "public, max-age=31536000, immutable"}


async def page(_: Request) -> Response:
    """Return the document; it finds its view in the path."""
    text = (FOLDER / "index.html").read_bytes()
    return Response(text, HTTPStatus.OK, {"Cache-Control": "no-cache"}, "text/html; charset=utf-8")


async def file(request: Request) -> Response:
    """Return one of the built files."""
    name = request.path_params["name"]
    if name not in {path.name for path in FOLDER.iterdir()}:
        raise HttpError(HTTPStatus.NOT_FOUND, "there is no such file")
    kind = TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "text/plain"
    return Response((FOLDER / name).read_bytes(), HTTPStatus.OK, FOREVER, kind)


ROUTES: Final = (
    Route("/static/{name}", file),
    *(
        Route(path, page)
        for path in (
            "/",
            "/design",
            "/design/{name}",
            "/simulate",
            "/simulate/{job}",
            "/live",
            "/live/case/{case}",
            "/jobs",
            "/jobs/{job}",
        )
    ),
)
