"""How S3 is reached: Hadoop's settings `fs.s3a.*`, read for boto3. Pure.

In: settings of a session or of Spark's configuration. Out: an `S3Settings`. What it leaves open, boto3 takes
from the environment (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL_S3`, …), `~/.aws`, or the machine's role.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from audit.core.errors import ConfigInvalid

_PREFIXES = ("fs.s3a.", "spark.hadoop.fs.s3a.")
# hadoop-aws 3.4: the region's endpoint follows from the region.
_CENTRAL = "s3.amazonaws.com"


@dataclass(frozen=True, slots=True)
class S3Settings:
    """How S3 is reached.

    Attributes:
        endpoint: its URL; None for the region's own.
        region: None for that of the environment.
        access_key: None for the credentials of the environment.
        secret_key: of the access key.
        session_token: of temporary credentials.
        is_path_style: buckets stand in the path of the URL, not in its host.
    """

    endpoint: str | None = None
    region: str | None = None
    access_key: str | None = None
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    is_path_style: bool = False


def s3_settings(settings: Mapping[str, str], bucket: str = "") -> S3Settings:
    """The settings of a bucket.

    >>> s3_settings({"fs.s3a.endpoint": "localhost:9000", "fs.s3a.connection.ssl.enabled": "false"}).endpoint
    'http://localhost:9000'
    >>> s3_settings({"fs.s3a.bucket.b.endpoint.region": "eu-west-1"}, "b").region
    'eu-west-1'

    Args:
        settings: with the names of Hadoop, or of Spark (`spark.hadoop.…`); others are passed over.
        bucket: `fs.s3a.bucket.<bucket>.…` counts before `fs.s3a.…`.

    Raises:
        ConfigInvalid: of the two keys of an access key one is missing.
    """

    def value(name: str) -> str | None:
        names = [f"{prefix}{own}{name}" for own in (f"bucket.{bucket}.", "") for prefix in _PREFIXES]
        return next((found.strip() for one in names if (found := settings.get(one))), None)

    access, secret = value("access.key"), value("secret.key")
    if (access is None) != (secret is None):
        raise ConfigInvalid(
            "of fs.s3a.access.key and fs.s3a.secret.key one alone is set", "set both or none of them"
        )
    return S3Settings(
        endpoint=_url(value("endpoint"), value("connection.ssl.enabled")),
        region=value("endpoint.region"),
        access_key=access,
        secret_key=secret,
        session_token=value("session.token") if access is not None else None,
        is_path_style=(value("path.style.access") or "").lower() == "true",
    )


def _url(endpoint: str | None, ssl: str | None) -> str | None:
    if endpoint is None or endpoint == _CENTRAL:
        return None
    scheme = "http" if (ssl or "").lower() == "false" else "https"
    return endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
