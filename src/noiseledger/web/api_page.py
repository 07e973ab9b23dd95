"""The API's description for people, made from the OpenAPI document that programs get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Field:
    """A parameter of an operation."""

    name: str
    is_needed: bool
    description: str


@dataclass(frozen=True)
class Operation:
    """One operation of the API."""

    method: str
    path: str
    description: str
    fields: list[Field]


def operations(openapi: dict[str, Any]) -> list[Operation]:
    """Return the operations that an OpenAPI document describes."""
    return [
        Operation(method.upper(), path, found["description"], [*_parameters(found), *_body(found, openapi)])
        for path, methods in openapi["paths"].items()
        for method, found in methods.items()
    ]


def _parameters(operation: dict[str, Any]) -> Iterator[Field]:
    for found in operation.get("parameters", ()):
        yield Field(found["name"], found.get("required", False), found.get("description", ""))


def _body(operation: dict[str, Any], openapi: dict[str, Any]) -> Iterator[Field]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return
    schema = openapi["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
    for name, found in schema["properties"].items():
        yield Field(name, name in schema.get("required", ()), found.get("description", ""))
