"""What the description of a service says, without a client of it: a first client takes a tenth of a second to make."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from botocore import xform_name
from botocore.errorfactory import ClientExceptionsFactory
from botocore.model import ServiceModel
from moto.core.utils import get_service_model


def service_model(service: str) -> ServiceModel:
    """The description of a service, by its name in boto3."""
    model: ServiceModel = get_service_model(service)  # moto's: it has read it, or will
    return model


@functools.cache
def operations(service: str) -> Mapping[str, str]:
    """AWS's names of a service's actions, by those of boto3's methods."""
    return {xform_name(name): name for name in service_model(service).operation_names}


@functools.cache
def exceptions(service: str) -> Any:
    """The classes of a service's errors, as a client of it has them."""
    return ClientExceptionsFactory().create_client_exceptions(service_model(service))  # type: ignore[no-untyped-call]
