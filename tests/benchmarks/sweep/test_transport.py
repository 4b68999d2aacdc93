"""Nobody but this machine, or who holds a certificate, can talk to what a sweep starts."""

import asyncio
import contextlib
import re
import socket
import subprocess
from pathlib import Path

import dask
import distributed
import psutil
import pytest

from depl.benchmarks.sweep.cluster import Cluster
from depl.benchmarks.sweep.transport import HERE, Tls, security_here, security_towards
from depl.models.foundation.errors import InvalidInputError

PAGE = Path(__file__).resolve().parents[3] / "docs" / "benchmarks.rst"


def made_by_the_page(folder: Path) -> Tls:
    """A certificate and its key, made by the command that the page on benchmarks names."""
    (command,) = re.findall(r"^ +(openssl .*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return Tls(str(folder / "cert.pem"), str(folder / "cert.pem"), str(folder / "key.pem"))


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    return made_by_the_page(tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def of_others(tmp_path_factory):
    return made_by_the_page(tmp_path_factory.mktemp("theirs"))


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


@pytest.mark.parametrize("encrypted", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_scheduler_and_workers_listen_on_loopback_alone_and_with_tls_to_their_own_alone(
    tls, of_others, encrypted
):
    """Read from the sockets of the real processes; who has no certificate of the authority gets no answer."""
    before = listening()
    ours = security_here(tls if encrypted else None)
    with contextlib.ExitStack() as stack:
        sweep = Cluster(1, tls=tls if encrypted else None)
        client = sweep._client(stack)
        sweep._require_workers(client)
        found = {address: process for address, process in listening().items() if address not in before}
        assert {host for host, _ in found} == {HERE}
        speaking = [client.scheduler.address, *client.scheduler_info()["workers"]]
        assert len(speaking) == len(set(found.values())) == 2
        assert {address[:3] for address in speaking} == {"tls" if encrypted else "tcp"}
        assert all(answers(address, ours) for address in speaking)
        if encrypted:
            assert not any(answers(address, security_here(of_others)) for address in speaking)
            assert not any(answers(f"tcp{address[3:]}", security_here(None)) for address in speaking)
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
    assert all(word in str(told.value) for word in ("--tls-ca", "--tls-cert", "--tls-key", "by ssh"))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "localhost:1", "tcp://[::1]:1", "127.9.9.9:1"])
def test_plain_text_on_loopback_is_accepted(address):
    assert not security_towards(address, None).require_encryption


def test_tls_needs_certificates_of_the_options_or_of_dasks_configuration(tls):
    elsewhere = "tls://10.0.0.1:8786"
    with pytest.raises(InvalidInputError, match="--scheduler: TLS needs certificates"):
        security_towards(elsewhere, None)
    assert security_towards(elsewhere, tls).tls_client_key == tls.key
    of_dask = {"ca-file": tls.authority, "client.cert": tls.certificate, "client.key": tls.key}
    with dask.config.set({f"distributed.comm.tls.{name}": path for name, path in of_dask.items()}):
        security = security_towards(elsewhere, None)
    assert (security.tls_client_cert, security.require_encryption) == (tls.certificate, True)


@pytest.mark.parametrize("address", ["", "tcp://", "here", "here:port", "ws://here:1", "inproc://here/1/1"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(InvalidInputError, match=r"--scheduler: .* is no address of a scheduler"):
        Cluster(1, address)


def test_certificates_that_cannot_be_used_are_refused_by_their_option(tls, of_others, tmp_path):
    (tmp_path / "text").write_text("no certificate", encoding="utf-8")
    text, none = str(tmp_path / "text"), str(tmp_path / "none")
    wrong = {
        "--tls-ca: .*none cannot be read": tls._replace(authority=none),
        "--tls-ca: .*text cannot be used": tls._replace(authority=text),
        "--tls-cert: .*none cannot be read": tls._replace(certificate=none),
        "--tls-key: .*none cannot be read": tls._replace(key=none),
        "--tls-key: .*key.pem cannot be used": tls._replace(key=of_others.key),
        "--tls-key: .*cert.pem cannot be used": tls._replace(key=None),
        "--tls-key: .*locked.pem is encrypted": tls._replace(key=locked(tls.key, tmp_path)),
    }
    for complaint, certificates in wrong.items():
        with pytest.raises(InvalidInputError, match=complaint):
            Cluster(2, tls=certificates)
    with pytest.raises(InvalidInputError, match=r"--scheduler: .* write tls://"):
        Cluster(1, "tcp://127.0.0.1:8786", tls)


def locked(key: str, folder: Path) -> str:
    """The same key under a password."""
    path = str(folder / "locked.pem")
    words = ["openssl", "pkey", "-in", key, "-aes256", "-passout", "pass:secret", "-out", path]
    subprocess.run(words, check=True, capture_output=True)
    return path


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--scheduler", "tcp://10.0.0.1:8786"), "--scheduler: tcp://10.0.0.1:8786 is neither encrypted"),
        (("--tls-cert", "x.pem"), "--tls-ca: is needed too"),
        (("--tls-key", "x.pem", "--tls-ca", "x.pem"), "--tls-cert: is needed too"),
        (("--tls-cert", "x.pem", "--tls-ca", "x.pem"), "--tls-cert: a single worker talks to nobody"),
        (("--workers", "2", "--tls-cert", "x.pem", "--tls-ca", "x.pem"), "--tls-ca: x.pem cannot be read"),
    ],
)
def test_the_command_refuses_before_anything_is_written(tmp_path, monkeypatch, ask, words, complaint):
    monkeypatch.chdir(tmp_path)
    code, text, told = ask("bench", "run", "paper", *words)
    assert (code, text) == (2, "")
    assert complaint in told
    assert list(tmp_path.iterdir()) == []
