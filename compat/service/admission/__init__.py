"""The gate in front of a Kubernetes cluster: may this FlinkDeployment or FlinkSessionJob be stored as requested?

The API server sends an AdmissionReview before it stores a resource of Flink's Kubernetes operator; the answer comes from the
registry alone. Nothing is checked, run or written here, so it takes milliseconds. ``reviews`` reads the request,
``resources`` the program of the resource, and ``judgement`` finds the answer.
"""

from __future__ import annotations

from compat.service.admission.app import WebhookSettings, create_webhook

__all__ = ["WebhookSettings", "create_webhook"]
