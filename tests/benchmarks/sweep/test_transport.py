"""Nobody but this machine, or who holds a certificate, can talk to what a sweep starts."""

import asyncio
import contextlib
import socket

import dask
import distributed
import psutil
import pytest

from depl.benchmarks.sweep.cluster import Cluster
from depl.benchmarks.sweep.transport import HERE, security_towards
from depl.models.foundation.errors import InvalidInputError


def listening() -> dict[tuple[str, int], int]:
    """Where this process and all below it listen for TCP connections, and which process does."""
    here = psutil.Process()
    return {
        tuple(connection.laddr): process.pid
        for process in (here, *here.children(recursive=True))
        for connection in process.net_connections(kind="tcp")
        if connection.status == psutil.CONN_LISTEN
    }


def answers(address: str, security: distributed.Security) -> bool:
    """Whether a scheduler or worker answers the first question of dask's own protocol."""

    async def asked() -> bool:
        connection = await distributed.core.connect(
            address, timeout=3, **security.get_connection_args("client")
        )
        try:
            await connection.write({"op": "identity"})
            return "id" in await connection.read()
        finally:
            connection.abort()

    try:
        return asyncio.run(asyncio.wait_for(asked(), 3))
    except (OSError, RuntimeError, TypeError):
        return False


def serves(port: int) -> bool:
    """Whether an HTTP server shows anything at the places where dask has its pages."""
    with socket.create_connection((HERE, port), timeout=3) as connection:
        connection.sendall(b"GET /info/main/workers.html HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        return connection.recv(64).split()[1] != b"404"


def test_scheduler_and_workers_listen_on_loopback_alone():
    """Read from the sockets of the real processes."""
    before = listening()
    with contextlib.ExitStack() as stack:
        sweep = Cluster(1)
        client = sweep._client(stack)
        sweep._require_workers(client)
        found = {address: process for address, process in listening().items() if address not in before}
        assert {host for host, _ in found} == {HERE}
        speaking = [client.scheduler.address, *client.scheduler_info()["workers"]]
        assert len(speaking) == len(set(found.values())) == 2
        assert all(answers(address, security_towards(None)) for address in speaking)
        known = {int(address.rpartition(":")[2]) for address in speaking}
        assert not any(serves(port) for _, port in found if port not in known)


@pytest.mark.parametrize(
    "address", ["tcp://10.0.0.1:8786", "10.0.0.1:8786", "tcp://cluster.example:8786", "tcp://[::]:8786"]
)
def test_plain_text_beyond_this_machine_is_refused_with_what_to_do(address):
    with pytest.raises(
        InvalidInputError, match=r"--scheduler: .* neither encrypted nor on this machine"
    ) as told:
        Cluster(1, address)
    assert all(word in str(told.value) for word in ("distributed.comm.tls", "by ssh"))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "localhost:1", "tcp://[::1]:1", "127.9.9.9:1"])
def test_plain_text_on_loopback_is_accepted(address):
    assert not security_towards(address).require_encryption


def test_tls_needs_certificates_of_dasks_configuration():
    elsewhere = "tls://10.0.0.1:8786"
    with pytest.raises(InvalidInputError, match="--scheduler: TLS needs certificates"):
        security_towards(elsewhere)
    of_dask = {"ca-file": "ca.pem", "client.cert": "cert.pem", "client.key": "key.pem"}
    with dask.config.set({f"distributed.comm.tls.{name}": path for name, path in of_dask.items()}):
        security = security_towards(elsewhere)
    assert (security.tls_client_cert, security.require_encryption) == ("cert.pem", True)


@pytest.mark.parametrize("address", ["", "tcp://", "here", "here:port", "ws://here:1", "inproc://here/1/1"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(InvalidInputError, match=r"--scheduler: .* is no address of a scheduler"):
        Cluster(1, address)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--scheduler", "tcp://10.0.0.1:8786"), "--scheduler: tcp://10.0.0.1:8786 is neither encrypted"),
    ],
)
def test_the_command_refuses_before_anything_is_written(tmp_path, monkeypatch, ask, words, complaint):
    monkeypatch.chdir(tmp_path)
    code, text, told = ask("bench", "run", "paper", *words)
    assert (code, text) == (2, "")
    assert complaint in told
    assert list(tmp_path.iterdir()) == []
