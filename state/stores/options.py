"""How other storage is reached: by the variables of the environment that delta-rs and the storages' own tools read.

Nothing of it is ever written down: plans, logs and tables name buckets and folders alone.
"""

from __future__ import annotations

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


def bucket_options(bucket: str) -> dict[str, str]:
    """Where a bucket is, beyond what the libraries read from the environment by themselves."""
    if not bucket.startswith("s3://"):
        return {}
    options = {"aws_region": os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"}
    if endpoint := _endpoint():
        options["aws_endpoint_url"] = endpoint
    return options


def client_options(bucket: str) -> dict[str, Any]:
    """How obstore speaks to the server of a bucket: an endpoint of the user's own may have no certificate."""
    return {**TIMEOUTS, "allow_http": bucket.startswith("s3://") and _endpoint().startswith("http://")}


def table_options(path: str) -> dict[str, str] | None:
    """The storage options of a Delta table; None for one on this machine's file system."""
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


def _endpoint() -> str:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


def credentials_advice(path: str) -> str:
    """Where credentials for a storage come from."""
    return _ADVICE[path.partition("://")[0]]
