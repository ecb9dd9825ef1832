# Stage one builds a virtual environment from the lock; stage two carries only that and the code, and runs as nobody special.
FROM python:3.11-slim-bookworm AS build
WORKDIR /build
RUN python -m venv /opt/suffice
COPY requirements.txt ./
RUN /opt/suffice/bin/pip install --no-cache-dir --require-hashes -r requirements.txt
COPY pyproject.toml README.md ./
COPY app app
COPY migrations migrations
RUN /opt/suffice/bin/pip install --no-cache-dir --no-deps .

FROM python:3.11-slim-bookworm
RUN useradd --system --create-home --home-dir /var/lib/suffice suffice
COPY --from=build /opt/suffice /opt/suffice
USER suffice
WORKDIR /var/lib/suffice
ENV PATH=/opt/suffice/bin:$PATH PYTHONUNBUFFERED=1 \
    SUFFICE_HOST=0.0.0.0 SUFFICE_PORT=8000 SUFFICE_DATA_DIR=/var/lib/suffice/data
EXPOSE 8000
VOLUME /var/lib/suffice/data
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
CMD ["suffice", "serve"]
