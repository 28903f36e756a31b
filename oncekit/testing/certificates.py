"""Certificates for the hosts that a test answers for, of an authority that only its functions trust."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import tempfile
from functools import cached_property
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

VALID = [datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in (2000, 2100)]
"""A test may have set its clock."""
USAGE = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)
AUTHORITY, HOST = (
    x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    for name in ("once_cloud.outside", "a host of once_cloud.outside")
)


class Authority:
    """Its keys live as long as the process, and are in no file that stays."""

    def __init__(self) -> None:
        self._contexts: dict[str, ssl.SSLContext] = {}

    @cached_property
    def _key(self) -> ec.EllipticCurvePrivateKey:
        return ec.generate_private_key(ec.SECP256R1())

    @cached_property
    def certificate(self) -> bytes:
        """PEM. With what `VERIFY_X509_STRICT` asks for, Python's default from 3.13 on."""
        return self._signed(AUTHORITY, x509.BasicConstraints(ca=True, path_length=0), USAGE)

    def context(self, host: str) -> ssl.SSLContext:
        """What a server of the host needs."""
        if host not in self._contexts:
            self._contexts[host] = self._context(host)
        return self._contexts[host]

    def _context(self, host: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "certificate.pem"
            key = self._key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            path.write_bytes(key + self._signed(HOST, x509.SubjectAlternativeName([_general(host)])))
            context.load_cert_chain(path)
        return context

    def _signed(self, name: x509.Name, *extensions: x509.ExtensionType) -> bytes:
        public = self._key.public_key()
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(AUTHORITY)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(VALID[0])
            .not_valid_after(VALID[1])
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
        )
        for each in extensions:
            builder = builder.add_extension(each, critical=name == AUTHORITY)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
