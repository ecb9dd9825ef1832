"""The documentation pages: Swagger UI and ReDoc, which load nothing from other servers; `/` redirects to them."""

from pathlib import Path

import fastapi_offline
from fastapi import FastAPI, Request
from fastapi.openapi.docs import get_redoc_html, get_swagger_ui_html
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles

from app.api.http.services import ANY_JOB

_ASSETS = "/docs-assets"
_FAVICON = (
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>"
    "<rect width='16' height='16' rx='4' fill='%230b7285'/><path d='M3.5 8.5l3 3 6-7' stroke='white' "
    "stroke-width='2' fill='none'/></svg>"
)

# The page stores the id of the job that was created last, so that nobody has to copy it into every path.
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

# One line per error response: all have the schema `Problem`, which the page shows once.
_STYLE = """<style>
  .swagger-ui tr.response[data-code^="4"] .response-col_description > :not(.response-col_description__inner),
  .swagger-ui tr.response[data-code^="5"] .response-col_description > :not(.response-col_description__inner),
  .swagger-ui tr.response .response-col_links, .swagger-ui td.response-col_links,
  .swagger-ui .response-controls + .model-example .tab:empty { display: none; }
  .swagger-ui tr.response[data-code^="4"] td, .swagger-ui tr.response[data-code^="5"] td { padding-top: 4px; }
  @media (max-width: 640px) {
    .swagger-ui .wrapper { padding: 0 8px; }
    .swagger-ui .opblock .opblock-summary-path { max-width: 100%; }
    .swagger-ui .opblock .opblock-summary { flex-wrap: wrap; }
    .swagger-ui .opblock-tag { flex-wrap: wrap; }
    .swagger-ui .opblock-tag small { flex-basis: 90%; order: 3; padding: 4px 0 0; }
    .swagger-ui .info { margin: 16px 0; }
    .swagger-ui table.headers, .swagger-ui .response-col_description { max-width: 70vw; overflow-x: auto; }
    .swagger-ui .parameters-col_name { width: 7em; padding-right: 8px; }
  }
</style>"""
_LINKS = {
    "service": "Suffice",
    "documentation": "/docs",
    "reference": "/redoc",
    "openapi": "/openapi.json",
    "jobs": "/v1/jobs",
    "catalog": "/v1/catalog",
    "health": "/healthz",
}


def install(app: FastAPI) -> None:
    assets = Path(fastapi_offline.__file__).parent / "static"
    app.mount(_ASSETS, StaticFiles(directory=assets), name="docs-assets")
    app.add_api_route("/", _home, include_in_schema=False)
    app.add_api_route("/docs", _swagger_ui, include_in_schema=False)
    app.add_api_route("/redoc", _redoc, include_in_schema=False)


async def _home(request: Request) -> Response:
    """Redirect browsers to the documentation; give programs links."""
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("/docs")
    return JSONResponse(_LINKS)


async def _swagger_ui() -> HTMLResponse:
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Suffice · Swagger UI",
        swagger_js_url=f"{_ASSETS}/swagger-ui-bundle.js",
        swagger_css_url=f"{_ASSETS}/swagger-ui.css",
        swagger_favicon_url=_FAVICON,
        swagger_ui_parameters={
            "tryItOutEnabled": True,
            "displayRequestDuration": True,
            "defaultModelsExpandDepth": 0,
            "defaultModelExpandDepth": 3,
            "docExpansion": "list",
        },
    )
    opening = "SwaggerUIBundle({"
    html = bytes(page.body).decode().replace(opening, opening + _REMEMBER_THE_JOB % ANY_JOB, 1)
    html = html.replace("</head>", f"<meta name='viewport' content='width=device-width'>{_STYLE}</head>", 1)
    return HTMLResponse(html)


async def _redoc() -> HTMLResponse:
    return get_redoc_html(
        openapi_url="/openapi.json",
        title="Suffice · ReDoc",
        redoc_js_url=f"{_ASSETS}/redoc.standalone.js",
        redoc_favicon_url=_FAVICON,
        with_google_fonts=False,
    )
