"""Upgrades of the cluster's jobs (``compat deploy``), each a series of steps that a dispatcher may be killed between.

:mod:`~compat.cluster.deployments.deploying` does the steps, :mod:`~compat.cluster.deployments.records` keeps them in the
database, :mod:`~compat.cluster.deployments.api` takes deployments over HTTP, and :mod:`~compat.cluster.deployments.answers` has
the answers.
"""
