"""How a sweep and its workers talk: loopback alone in plain text, everything else by TLS.

The protocol of dask.distributed pickles, and it asks nobody who they are: whoever can connect to a
scheduler, a worker or a client can run code there. So nothing of ours listens beyond this machine without
TLS, by which both ends prove that they hold a certificate of the same authority.
"""

import contextlib
import importlib
import ipaddress
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from depl.models.foundation.errors import InvalidInputError

HERE = "127.0.0.1"
"""Where schedulers and workers listen that are started here."""
_SCHEDULER = "--scheduler"


class Tls(NamedTuple):
    """Paths of PEM files: of the authority, of the own certificate, and of its key.

    The key is None where it stands in the file of the certificate.
    """

    authority: str
    certificate: str
    key: str | None = None


def security_here(tls: Tls | None) -> Any:
    """The ``Security`` of dask.distributed for workers of this machine: these certificates, or none.

    Raises
    ------
    InvalidInputError
        If the certificates cannot be read, or do not fit their key; the message names the option.
    """
    distributed: Any = importlib.import_module("distributed")  # it has no types
    if tls is None:
        return distributed.Security(require_encryption=False)
    _require_usable(tls)
    roles = ("client", "scheduler", "worker")
    return distributed.Security(
        require_encryption=True,
        tls_ca_file=tls.authority,
        **{f"tls_{role}_cert": tls.certificate for role in roles},
        **{f"tls_{role}_key": tls.key for role in roles},
    )


def security_towards(address: str, tls: Tls | None) -> Any:
    """The ``Security`` of dask.distributed for a scheduler that runs at an address.

    Without certificates those of dask's configuration are taken.

    Raises
    ------
    InvalidInputError
        As `security_here`; and if the address is neither one of TLS, with certificates at hand, nor one on
        this machine's loopback.
    """
    scheme, host = _parts(address)
    if scheme == "tcp":
        _require_loopback(address, host)
        if tls is not None:
            raise InvalidInputError(
                f"{address} is in plain text, where certificates are of no use; write tls://", _SCHEDULER
            )
        return security_here(None)
    distributed: Any = importlib.import_module("distributed")  # it has no types
    security = distributed.Security(require_encryption=True) if tls is None else security_here(tls)
    if not (security.tls_ca_file and security.tls_client_cert):
        raise InvalidInputError(
            "TLS needs certificates; give --tls-ca, --tls-cert and --tls-key, or set distributed.comm.tls in "
            "the configuration of dask",
            _SCHEDULER,
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
            "run code; start scheduler and workers with TLS and write tls://HOST:PORT with --tls-ca, "
            f"--tls-cert and --tls-key (docs/benchmarks.rst), or forward its port to {HERE} by ssh",
            _SCHEDULER,
        )


def _require_usable(tls: Tls) -> None:
    context = ssl.create_default_context()
    with _named("--tls-ca", tls.authority):
        context.load_verify_locations(tls.authority)
    with _named("--tls-cert", tls.certificate):
        Path(tls.certificate).read_bytes()
    with _named("--tls-key", tls.key or tls.certificate):
        context.load_cert_chain(tls.certificate, tls.key, password=_no_password)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, which may be anybody's
        return False


def _no_password() -> str:
    raise ValueError("is encrypted by a password, which nobody could type for the workers; decrypt it")


@contextlib.contextmanager
def _named(option: str, path: str) -> Iterator[None]:
    try:
        yield
    except ssl.SSLError as error:
        raise InvalidInputError(f"{path} cannot be used ({error.reason or error})", option) from error
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror or error})", option) from error
    except ValueError as error:
        raise InvalidInputError(f"{path} {error}", option) from error
