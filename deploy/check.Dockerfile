# syntax=docker/dockerfile:1
# The commands for those who have no Python: with all extras, and a Java runtime. From the root of the repository:
#
#     docker build -f deploy/check.Dockerfile -t compat-check .
#     docker run --rm -v "$PWD:/work" compat-check check old.jar new.jar --flink-version 2.3.0
#
# Flink's jars are fetched into /cache once: keep them with -v compat-cache:/cache.
ARG PYTHON=docker.io/library/python:3.13-slim-bookworm

FROM ${PYTHON} AS build
WORKDIR /source
COPY . .
RUN python3 -m venv /opt/compat \
    && /opt/compat/bin/pip install --no-cache-dir '.[fix,java,jvm,kafka,remote,spark,sql,stores]' \
    && /opt/compat/bin/python -m compileall -q /opt/compat/lib

FROM ${PYTHON}
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory '*' \
    && install --directory --mode=1777 /cache
COPY --from=build /opt/compat /opt/compat
ENV PATH=/opt/compat/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    XDG_CACHE_HOME=/cache
USER 10001:10001
WORKDIR /work
VOLUME /cache
ENTRYPOINT ["compat"]
CMD ["--help"]
