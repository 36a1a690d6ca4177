"""The head that a cluster's pages share."""

from __future__ import annotations

from compat.service.pages.rendering import Site

SITE = Site(
    "compat.cluster",
    (("/", "Cluster"), ("/ui/deployments", "Deployments"), ("/ui/jobs", "Ended jobs")),
    "A token of this cluster lets you look, and stop jobs where its role is deploy",
)
