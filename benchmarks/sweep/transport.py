"""Who may talk to what a sweep starts: dask.distributed pickles, and whoever can connect can run code there.

What is started here listens on loopback alone. A scheduler elsewhere must be one of TLS, with the
certificates that dask's own configuration names (``distributed.comm.tls``).
"""

import importlib
import ipaddress
from typing import Any
from urllib.parse import urlsplit

from depl.models.foundation.errors import InvalidInputError

HERE = "127.0.0.1"
"""Where schedulers and workers listen that are started here."""
_SCHEDULER = "--scheduler"


def security_towards(address: str | None) -> Any:
    """The ``Security`` of dask.distributed for a scheduler at an address; None: for one that is started here.

    Raises
    ------
    InvalidInputError
        If the address is neither one of TLS, with certificates in dask's configuration, nor one on this
        machine's loopback.
    """
    distributed: Any = importlib.import_module("distributed")  # it has no types
    if address is None:
        return distributed.Security(require_encryption=False)
    scheme, host = _parts(address)
    if scheme == "tcp":
        _require_loopback(address, host)
        return distributed.Security(require_encryption=False)
    security = distributed.Security(require_encryption=True)
    if not (security.tls_ca_file and security.tls_client_cert):
        raise InvalidInputError(
            "TLS needs certificates; set distributed.comm.tls in the configuration of dask", _SCHEDULER
        )
    return security


def _parts(address: str) -> tuple[str, str]:
    """Scheme and host of an address."""
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:  # a port that is no number
        scheme, host, port = "", None, None
    if scheme not in ("tcp", "tls") or not host or not port:
        raise InvalidInputError(
            f"{address!r} is no address of a scheduler; write tls://HOST:PORT, or tcp://{HERE}:PORT",
            _SCHEDULER,
        )
    return scheme, host


def _require_loopback(address: str, host: str) -> None:
    if not _is_loopback(host):
        raise InvalidInputError(
            f"{address} is neither encrypted nor on this machine, and dask lets everybody who can connect "
            "run code; start scheduler and workers with TLS, name the certificates in dask's configuration "
            f"(distributed.comm.tls) and write tls://HOST:PORT, or forward its port to {HERE} by ssh",
            _SCHEDULER,
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, which may be anybody's
        return False
