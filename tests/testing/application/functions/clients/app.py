"""Sends something to another system with the client that the payload names, which is imported only then."""

import asyncio
import contextlib
import http.client
import json
import smtplib
import socket
import ssl
import urllib.parse
import urllib.request
from collections.abc import Callable
from email.message import EmailMessage
from typing import Any

from once import JSON, PermanentError, Request, operation

BODY = {"amount": 7}


@operation()
def handler(request: Request) -> JSON:
    return CLIENTS[request.payload["client"]](request.payload["url"])


# ---- HTTP ----


def by_urllib(url: str) -> JSON:
    with urllib.request.urlopen(url, json.dumps(BODY).encode()) as answer:
        return json.load(answer)


def by_urllib3(url: str) -> JSON:
    import urllib3

    return urllib3.request("POST", url, json=BODY).json()


def by_requests(url: str) -> JSON:
    import requests

    return requests.post(url, json=BODY, timeout=10).json()


def by_httpx(url: str) -> JSON:
    import httpx

    return httpx.post(url, json=BODY).json()


def by_httpx_async(url: str) -> JSON:
    import httpx

    async def post() -> Any:
        async with httpx.AsyncClient() as client:
            return (await client.post(url, json=BODY)).json()

    return asyncio.run(post())


def by_aiohttp(url: str) -> JSON:
    import aiohttp

    async def post() -> Any:
        async with aiohttp.ClientSession() as session, session.post(url, json=BODY) as answer:
            return await answer.json()

    return asyncio.run(post())


def in_chunks(url: str) -> JSON:
    import httpx

    text = json.dumps(BODY).encode()
    return httpx.post(url, content=iter([text[:3], text[3:]])).json()


def over_one_connection(url: str) -> JSON:
    import httpx

    with httpx.Client() as client:
        first = client.post(f"{url}/first", json=BODY).json()
        return [first, client.post(f"{url}/second", json=BODY).json()]


def by_a_socket_with_tls(url: str) -> JSON:
    parts = urllib.parse.urlsplit(url)
    text = json.dumps(BODY)
    with socket.socket() as plain:
        plain.connect((parts.hostname, 443))
        with ssl.create_default_context().wrap_socket(plain, server_hostname=parts.hostname) as sock:
            head = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.hostname}\r\nContent-Length: {len(text)}\r\n\r\n"
            sock.sendall((head + text).encode())
            answer = http.client.HTTPResponse(sock)
            answer.begin()
            return json.loads(answer.read())


def by_a_client_of_openssl(url: str) -> JSON:
    """It has a context of its own, as pyOpenSSL does."""
    import _ssl

    context = _ssl._SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with socket.create_connection((urllib.parse.urlsplit(url).hostname, 443)) as sock:
        try:
            context._wrap_socket(sock, False, "api.provider.example").do_handshake()
        finally:
            sock.recv(1)  # until the other side has heard of it, and closes
    return "sent"


def whatever_comes_of_it(url: str) -> JSON:
    import requests

    with contextlib.suppress(Exception):
        requests.post(url, json=BODY, timeout=10).raise_for_status()
    return "sent"


def declined(url: str) -> JSON:
    import httpx

    answer = httpx.post(url, json=BODY)
    if answer.status_code == 402:
        raise PermanentError(answer.json()["error"], status=402)
    return answer.json()


def with_a_key(url: str) -> JSON:
    import httpx

    return httpx.post(url, json=BODY, headers={"Idempotency-Key": "k"}).raise_for_status().json()


# ---- anything else ----


def by_smtp(url: str) -> JSON:
    parts = urllib.parse.urlsplit(url)
    message = EmailMessage()
    message["From"], message["To"] = "us@example.com", "you@example.com"
    with smtplib.SMTP(parts.hostname or "", parts.port or 25) as server:
        server.send_message(message)
    return "sent"


def by_a_datagram(url: str) -> JSON:
    parts = urllib.parse.urlsplit(url)
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        return sock.sendto(b"hello", (parts.hostname, parts.port))


def below_socket(url: str) -> JSON:
    import _socket

    _socket.socket().connect((url.partition("://")[2], 443))
    return "sent"


def by_name_only(url: str) -> JSON:
    name = urllib.parse.urlsplit(url).hostname or ""
    found = socket.getaddrinfo(name, 443, proto=socket.IPPROTO_TCP)
    return [found[0][4][0], socket.gethostbyname(name), socket.getfqdn(name)]


def greeting(url: str) -> JSON:
    """Of a server that speaks first."""
    parts = urllib.parse.urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port)) as sock, sock.makefile("rw") as file:
        greeted = file.readline()
        file.write(greeted)
        file.flush()
        return file.readline()


CLIENTS: dict[str, Callable[[str], JSON]] = {
    name.replace("_", " "): function
    for name, function in globals().items()
    if callable(function) and getattr(function, "__module__", "") == __name__ and name != "handler"
}
