"""Creates certificates: an authority, and server certificates that it signs or that sign themselves.

The authority is valid for private addresses, local names and this machine only (name constraints, RFC 5280, section
4.2.1.10): whoever steals its key cannot impersonate a bank to a phone that trusts it.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CERTIFICATE_DAYS = 397
"""Longest lifetime that browsers accept of a server (CA/Browser Forum, ballot SC31); Apple's limit is 398."""

AUTHORITY_DAYS = 3650
"""Lifetime of an authority: installing it on many phones again takes a morning."""

BACKDATE_DAYS = 2
"""The validity begins this far in the past, for phones whose clock is late."""

PRIVATE = tuple(
    ipaddress.ip_network(each)
    for each in (
        *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16", "127.0.0.0/8"),
        *("fc00::/7", "fe80::/10", "::1/128"),
    )
)
"""Networks that an authority covers: RFC 1918, 6598, 3927, 4193, IPv6 link-local (RFC 4291) and loopback."""

LOCAL = ("localhost", "local")
"""Names that an authority covers, with all their subdomains (RFC 6761, 6762)."""


@dataclass(frozen=True, slots=True)
class Signed:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def certificate_pem(self) -> bytes:
        """Return the certificate in PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def key_pem(self) -> bytes:
        """Return the key in PEM, unencrypted, since a server starts without anyone to type a password."""
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


def load(certificate_pem: bytes, key_pem: bytes) -> Signed:
    """Parse a stored pair. Raises `ValueError` for one that is not ours, `TypeError` for a key with a password."""
    key = serialization.load_pem_private_key(key_pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("the key is of another kind")  # noqa: TRY004 - found in a file, not handed in by a caller
    certificate = x509.load_pem_x509_certificate(certificate_pem)
    if certificate.public_key() != key.public_key():
        raise ValueError("certificate and key do not belong together")
    return Signed(certificate, key)


def authority(host: str, names: Sequence[str], now: datetime.datetime) -> Signed:
    """Create an authority for private addresses, local names, and this host's own `names` and addresses."""
    key = ec.generate_private_key(ec.SECP256R1())
    # A campus network may assign public addresses: each is permitted alone, without its network.
    own = [x509.IPAddress(ipaddress.ip_network(each)) for each in names if _is_address(each)]
    named = [x509.DNSName(each) for each in (*LOCAL, *names) if not _is_address(each)]
    permitted = dict.fromkeys([*(x509.IPAddress(each) for each in PRIVATE), *own, *named])
    builder = (
        _builder(_name(f"Siar on {host}"), key, now, days=AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.NameConstraints(list(permitted), excluded_subtrees=None), critical=True)
    )
    return Signed(builder.sign(key, hashes.SHA256()), key)


def server(names: Sequence[str], now: datetime.datetime, issuer: Signed | None = None) -> Signed:
    """Create a server certificate for these names and addresses, signed by `issuer` or else by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    signer = issuer.key if issuer else key
    builder = (
        _builder(_name(f"Siar at {names[0]}"), key, now, days=CERTIFICATE_DAYS, issuer=issuer)
        .add_extension(x509.SubjectAlternativeName([_general(each) for each in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    return Signed(builder.sign(signer, hashes.SHA256()), key)


def names_of(certificate: x509.Certificate) -> set[str]:
    """Return the names and addresses in a server certificate."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {str(each.value) for each in names}


def is_signed_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Return True if this authority signed it, and not an earlier one of the same name."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def permits(authority: x509.Certificate, name: str) -> bool:
    """Return True if the authority's constraints permit `name`. Raises `ValueError` if it is not ours."""
    try:
        constraints = authority.extensions.get_extension_for_class(x509.NameConstraints).value
    except x509.ExtensionNotFound as error:
        raise ValueError("the authority there has no name constraints, so that it is none of ours") from error
    permitted = constraints.permitted_subtrees or ()
    if not _is_address(name):
        names = [each.value for each in permitted if isinstance(each, x509.DNSName)]
        return any(name == each or name.endswith(f".{each}") for each in names)
    networks = [each.value for each in permitted if isinstance(each, x509.IPAddress)]
    return any(ipaddress.ip_address(name) in ipaddress.ip_network(network) for network in networks)


def _builder(
    name: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime.datetime,
    *,
    days: int,
    issuer: Signed | None = None,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer.certificate.subject if issuer else name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=BACKDATE_DAYS))
        .not_valid_after(now + datetime.timedelta(days=days - BACKDATE_DAYS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _general(name: str) -> x509.GeneralName:
    return x509.IPAddress(ipaddress.ip_address(name)) if _is_address(name) else x509.DNSName(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
