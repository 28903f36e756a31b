"""Certificates for the hosts that a test answers for: each signs itself, and only the test's functions trust it."""

from __future__ import annotations

import datetime
import functools
import ipaddress
import ssl
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

VALID = [datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in (2000, 2100)]
"""A test may have set its clock."""
LONGEST_NAME = 64
"""Characters: RFC 5280, appendix A.1, ub-common-name."""


@functools.cache
def _key() -> ec.EllipticCurvePrivateKey:
    """It lives as long as the process, and is in no file that stays."""
    return ec.generate_private_key(ec.SECP256R1())


@functools.cache
def certificate(host: str) -> bytes:
    """PEM."""
    # Of one name, another host's would be taken for its issuer.
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host[:LONGEST_NAME])])
    made = (
        x509.CertificateBuilder(name, name, _key().public_key(), x509.random_serial_number())
        .not_valid_before(VALID[0])
        .not_valid_after(VALID[1])
        .add_extension(x509.SubjectAlternativeName([_general(host)]), critical=False)
        .sign(_key(), hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


@functools.cache
def context(host: str) -> ssl.SSLContext:
    """What a server of the host needs."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    key = _key().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.pem"
        path.write_bytes(key + certificate(host))
        made.load_cert_chain(path)
    return made


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
