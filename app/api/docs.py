"""Swagger UI and ReDoc from this machine alone, with examples that work as they stand."""

from pathlib import Path

import fastapi_offline
from fastapi import FastAPI
from fastapi.openapi.docs import get_redoc_html, get_swagger_ui_html
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

from app.api.dependencies import ANY_JOB

_ASSETS = "/docs-assets"
_FAVICON = (
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>"
    "<rect width='16' height='16' rx='4' fill='%230b7285'/><path d='M3.5 8.5l3 3 6-7' stroke='white' "
    "stroke-width='2' fill='none'/></svg>"
)

# The id of a job is known only once it is created; this page remembers it, so that nobody has to copy it around.
_REMEMBER_THE_JOB = """
    responseInterceptor: (response) => {
      if (response.status === 201 && response.obj && new URL(response.url).pathname.endsWith("/v1/jobs")) {
        sessionStorage.setItem("suffice-job", response.obj.id);
      }
      return response;
    },
    requestInterceptor: (request) => {
      const job = sessionStorage.getItem("suffice-job");
      if (job) request.url = request.url.replace("/jobs/%s", "/jobs/" + job);
      return request;
    },
"""


def install(app: FastAPI) -> None:
    assets = Path(fastapi_offline.__file__).parent / "static"
    app.mount(_ASSETS, StaticFiles(directory=assets), name="docs-assets")
    app.add_api_route("/docs", _swagger_ui, include_in_schema=False)
    app.add_api_route("/redoc", _redoc, include_in_schema=False)


async def _swagger_ui() -> HTMLResponse:
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Suffice · Swagger UI",
        swagger_js_url=f"{_ASSETS}/swagger-ui-bundle.js",
        swagger_css_url=f"{_ASSETS}/swagger-ui.css",
        swagger_favicon_url=_FAVICON,
        swagger_ui_parameters={"tryItOutEnabled": True, "displayRequestDuration": True},
    )
    opening = "SwaggerUIBundle({"
    html = bytes(page.body).decode().replace(opening, opening + _REMEMBER_THE_JOB % ANY_JOB, 1)
    return HTMLResponse(html)


async def _redoc() -> HTMLResponse:
    return get_redoc_html(
        openapi_url="/openapi.json",
        title="Suffice · ReDoc",
        redoc_js_url=f"{_ASSETS}/redoc.standalone.js",
        redoc_favicon_url=_FAVICON,
        with_google_fonts=False,
    )
