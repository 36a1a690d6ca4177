"""The location of an HDFS: from an address, completed by Hadoop's own configuration."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

_DEFAULT_PORT = 8020
CONFIGURED_BY = "HADOOP_CONF_DIR"
"""The environment variable with the folder of Hadoop's configuration."""


def name_node(host: str) -> str:
    """The name node of an address, ``host:port``; the name of a service where the configuration has several name nodes behind
    one. It is that of ``fs.defaultFS`` where the address names none; an empty string where that does not either.
    """
    if not host:
        host = _setting("core-site.xml", "fs.defaultFS").removeprefix("hdfs://").strip("/")
        if "://" in host:  # another file system is the default
            return ""
    services = _setting("hdfs-site.xml", "dfs.nameservices").split(",")
    if not host or ":" in host or host in map(str.strip, services):
        return host
    return f"{host}:{_DEFAULT_PORT}"


def _setting(file: str, name: str) -> str:
    """A setting of Hadoop's configuration; an empty string where it has none. Flink: ``HadoopUtils``."""
    home = os.environ.get("HADOOP_HOME")
    folder = os.environ.get(CONFIGURED_BY) or (os.path.join(home, "etc", "hadoop") if home else "")
    if not folder:
        return ""
    return settings_of(os.path.join(folder, file)).get(name, "")


def settings_of(file: str | Path) -> dict[str, str]:
    """The settings in one of Hadoop's files; none if it is missing or damaged."""
    try:
        found = ElementTree.parse(file).getroot()
    except (OSError, ElementTree.ParseError):
        return {}
    return {each.findtext("name", ""): each.findtext("value", "").strip() for each in found.iter("property")}
