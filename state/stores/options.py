"""Access to other storage: by the environment variables that delta-rs and the storages' own tools read.

Nothing of it is ever written down: plans, logs and tables name buckets and folders alone.
"""

from __future__ import annotations

import json
import os
from datetime import timedelta
from typing import Any

TIMEOUTS: Any = {"connect_timeout": "5s", "timeout": "60s"}
RETRIES: Any = {"max_retries": 4, "retry_timeout": timedelta(seconds=60)}
_ADVICE = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_ENDPOINT_URL for an endpoint of your own), or run where "
    "a role gives them",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account",
    "abfss": "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or AZURE_STORAGE_SAS_TOKEN",
}

_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "gs": ("STORAGE_EMULATOR_HOST",),
    "abfss": ("AZURE_STORAGE_ENDPOINT", "AZURITE_BLOB_STORAGE_URL"),
}

_ACCOUNT = ("client_email", "private_key", "private_key_id")
"""What the file of a service account must have; servers that emulate the storage ask for no credentials."""


def bucket_options(bucket: str) -> dict[str, str]:
    """The address of a bucket, beyond what the libraries read from the environment by themselves."""
    endpoint = _endpoint(bucket)
    match _scheme(bucket):
        case "s3":
            region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
            return {"aws_region": region, **({"aws_endpoint_url": endpoint} if endpoint else {})}
        case "gs" if endpoint:
            account = {"gcs_base_url": endpoint, "disable_oauth": True, **dict.fromkeys(_ACCOUNT, "")}
            return {"google_service_account_key": json.dumps(account)}
    return {}


def client_options(bucket: str) -> dict[str, Any]:
    """The client options for the server of a bucket: an endpoint of the user's own may have no certificate."""
    return {**TIMEOUTS, "allow_http": _endpoint(bucket).startswith("http://")}


def table_options(path: str) -> dict[str, str] | None:
    """The storage options of a Delta table; None for a table on this machine's file system."""
    if "://" not in path:
        return None
    if path.startswith("hdfs://"):
        return {}
    return {
        **bucket_options(path),
        **{key: str(value).lower() for key, value in client_options(path).items()},
        "max_retries": str(RETRIES["max_retries"]),
        "retry_timeout": f"{RETRIES['retry_timeout'].seconds}s",
    }


def _endpoint(path: str) -> str:
    """The user's own server of a storage, by the variables that its tools read; empty if it is the storage itself."""
    return next((found for name in _ENDPOINTS[_scheme(path)] if (found := os.environ.get(name))), "")


def _scheme(path: str) -> str:
    return path.partition("://")[0]


def credentials_advice(path: str) -> str:
    """The sources of credentials for a storage."""
    return _ADVICE[_scheme(path)]
