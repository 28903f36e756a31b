"""response_cache: writes a result that a record should not hold to the response bucket, once and byte for byte."""

from once.clients import client
from once.result_store import ResultRef, ResultStore
from response import Response
from settings import settings


def handler(event: object, context: object) -> ResultRef:
    response = Response.of(event)
    store = ResultStore(settings().response_bucket, client("s3"))
    return store.put(
        id=response.id, tenant=response.tenant, fence=response.fence, owner=response.owner, text=response.text
    )
