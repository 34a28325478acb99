"""Create a certificate authority and certificates that exist only during a test; the repository contains no key."""

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
        return self._written("authority.pem", self.authority.cert_pem.bytes())

    def identity(self, name: str) -> tuple[Path, Path]:
        issued = self.authority.issue_cert(ADDRESS, common_name=name)
        # Kafka reads only keys in the format PKCS #8.
        pkcs8 = load_pem_private_key(issued.private_key_pem.bytes(), None).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )
        return self._written(f"{name}.key", pkcs8), self._written(f"{name}.pem", issued.cert_chain_pems[0].bytes())

    def identity_file(self, name: str) -> Path:
        """Return one file with the private key and the certificate, as Kafka's `ssl.keystore.location` needs it."""
        return self._written(f"{name}.both.pem", b"".join(path.read_bytes() for path in self.identity(name)))

    def _written(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.touch(0o600)
        path.write_bytes(content)
        return path
