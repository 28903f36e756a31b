"""Results that are too large for a reply or for the record: written to the response bucket, once."""

import hashlib
import random
import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Final, TypedDict

from once.errors import NeedsAttention

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PUT_ATTEMPTS: Final = 6
"""S3 answers 409 while another write of the same key is in progress, so a few tries with pauses are enough."""


class ResultRef(TypedDict):
    """Where a result is, and the hash to check it by."""

    bucket: str
    key: str
    sha256: str
    """Of the bytes, in hex."""
    bytes: int


class ResultStore:
    """Stores the text of a result under a key that only one attempt has: of id, fence and owner.

    The fence alone is not enough: after a record has expired and was deleted, fences start again, while an old object
    may still exist.

    The key begins with the number of days that the record refers to it, and the bucket has a lifecycle rule for each
    number. So an answer is kept for the time that was promised when it was given, even if RetentionDays changes later.
    Tenant and operation come next, so that a role can be given the answers of one operation.
    """

    def __init__(
        self, bucket: str, retention_days: int, s3: "S3Client", pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._bucket = bucket
        self._retention_days = retention_days
        self._s3 = s3
        self._pause = pause

    @classmethod
    def deployed(cls, bucket: str, retention_days: int) -> "ResultStore":
        """The store in this bucket, for results that are kept for this number of days."""
        # Imported here: a function whose results are small may never need a client, and botocore is slow to import.
        from once.clients import client

        return cls(bucket, retention_days, client("s3"))

    def put(self, *, id: str, fence: int, owner: str, text: str) -> ResultRef:
        """Writes the text, unless this attempt has written it before, and returns a reference to it.

        Raises NeedsAttention when an object with other bytes is there, and botocore's ClientError when S3 refuses for
        any other reason.
        """
        tenant, operation = id.split("#", 2)[:2]
        of_attempt = f"{_sha256(id)}/{fence}-{_sha256(owner)[:16]}.json"
        key = f"responses/{self._retention_days}d/{tenant}/{operation}/{of_attempt}"
        # The library's own text is ASCII. In another's, a lone surrogate has no UTF-8, but JSON has an escape for it.
        body = text.encode("utf-8", "backslashreplace")
        ref: ResultRef = {
            "bucket": self._bucket,
            "key": key,
            "sha256": hashlib.sha256(body).hexdigest(),
            "bytes": len(body),
        }
        for attempt in range(PUT_ATTEMPTS):
            try:
                self._s3.put_object(
                    Bucket=self._bucket, Key=key, Body=body, ContentType="application/json", IfNoneMatch="*"
                )
            except self._s3.exceptions.ClientError as error:
                status = error.response["ResponseMetadata"]["HTTPStatusCode"]
                if status == 412:
                    if self._is_there(ref):
                        break
                    raise NeedsAttention(
                        f"business logic succeeded, but {key} in the response bucket has other bytes than its result:"
                        " a second run of the same attempt wrote it, or somebody else who may write there"
                    ) from error
                if status != 409 or attempt == PUT_ATTEMPTS - 1:
                    raise
                self._pause(random.uniform(0, 0.1 * 2**attempt))  # noqa: S311 - spreads writers, hides nothing
            else:
                break
        return ref

    @staticmethod
    def read(ref: ResultRef) -> str:
        """The text of a result, checked by its hash. Raises ValueError for other bytes, and botocore's errors."""
        from once.clients import client

        with closing(client("s3").get_object(Bucket=ref["bucket"], Key=ref["key"])["Body"]) as body:
            text = body.read()
        if hashlib.sha256(text).hexdigest() != ref["sha256"]:
            raise ValueError(f"{ref['key']} has other bytes than the result that was stored")
        return text.decode("utf-8")

    def _is_there(self, ref: ResultRef) -> bool:
        """Whether the object has the bytes of this reference.

        They are read, in pieces: S3 tells the SHA-256 of an object only if its writer sent one (HeadObject,
        ChecksumSHA256), and everybody can make bytes with a given CRC. An object of another length is not read.
        """
        found = self._s3.get_object(Bucket=ref["bucket"], Key=ref["key"])
        with closing(found["Body"]) as body:
            if found["ContentLength"] != ref["bytes"]:
                return False
            there = hashlib.sha256()
            for piece in body.iter_chunks(65_536):
                there.update(piece)
        return there.hexdigest() == ref["sha256"]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
