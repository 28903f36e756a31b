"""Its one effect is in a bucket, under another name in each attempt."""

import os
import uuid

from once import JSON, Request, operation
from once.clients import client


@operation()
def handler(request: Request) -> JSON:
    client("s3").put_object(Bucket=os.environ["PAPERS"], Key=str(uuid.uuid4()), Body=b"{}")
    return None
