"""A certificate that is read again when its files change; a cluster's issuer changes them every few weeks."""

from __future__ import annotations

import asyncio
import os
import ssl
from dataclasses import dataclass, field

from compat.service.telemetry import log

SECONDS = 10.0
"""How often the files are looked at."""


class CertificateError(ValueError):
    """A certificate or key that cannot be used; the message says why."""


@dataclass(slots=True)
class Certificate:
    """A certificate chain and its key, as PEM files; ``context`` serves with their last contents."""

    chain: str
    key: str
    context: ssl.SSLContext = field(init=False)
    _seen: tuple[tuple[int, int], ...] = field(init=False)

    def __post_init__(self) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._seen = self._stamp()
        self._load(self.context)

    def renew(self) -> bool:
        """Read the files again if they changed; True if so. Raises CertificateError, and keeps the old certificate."""
        stamp = self._stamp()
        if stamp == self._seen:
            return False
        self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))  # half of a pair must not get into the one that serves
        self._load(self.context)
        self._seen = stamp
        return True

    def _stamp(self) -> tuple[tuple[int, int], ...]:
        try:
            found = [os.stat(path) for path in (self.chain, self.key)]
        except OSError as error:
            raise CertificateError(f"{error.filename}: cannot be read: {error.strerror}.") from error
        return tuple((each.st_mtime_ns, each.st_ino) for each in found)

    def _load(self, context: ssl.SSLContext) -> None:
        try:
            context.load_cert_chain(self.chain, self.key, password=_no_password)
        except (OSError, ValueError) as error:
            raise CertificateError(
                f"{self.chain} and {self.key} are no certificate and its key, as PEM without a password: {error}."
            ) from error


async def keep_renewing(certificate: Certificate, seconds: float = SECONDS) -> None:
    """Look at the files now and then until cancelled; errors are logged."""
    told = ""
    while True:
        await asyncio.sleep(seconds)
        try:
            if certificate.renew():
                log("certificate", message="read again")
            told = ""
        except CertificateError as error:
            if str(error) != told:
                told = str(error)
                log("certificate", level="error", message=told)


def _no_password() -> str:
    raise ValueError("the key has a password")
