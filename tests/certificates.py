"""Create a certificate authority and certificates for the time of a test; no key is ever in the repository."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

ADDRESS = "127.0.0.1"


@dataclass(frozen=True)
class Certificates:
    """The files of one certificate authority, in PEM format, which Kafka and PostgreSQL both read."""

    folder: Path
    authority: trustme.CA = field(default_factory=trustme.CA)

    def trusted(self) -> Path:
        path = self.folder / "authority.pem"
        self.authority.cert_pem.write_to_path(str(path))
        return path

    def identity(self, name: str) -> tuple[Path, Path]:
        issued = self.authority.issue_cert(ADDRESS, common_name=name)
        key, certificate = self.folder / f"{name}.key", self.folder / f"{name}.pem"
        # Kafka reads only keys in the format PKCS #8.
        pkcs8 = load_pem_private_key(issued.private_key_pem.bytes(), None).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )
        for path, content in ((key, pkcs8), (certificate, issued.cert_chain_pems[0].bytes())):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
        return key, certificate

    def identity_file(self, name: str) -> Path:
        """Return one file with the private key and the certificate, as Kafka's `ssl.keystore.location` needs it."""
        key, certificate = self.identity(name)
        both = self.folder / f"{name}.both.pem"
        with os.fdopen(os.open(both, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key.read_bytes() + certificate.read_bytes())
        return both
