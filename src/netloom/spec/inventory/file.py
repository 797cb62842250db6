"""The inventory file: every device that a watch asks, each by kind, address and credentials.

A secret never stands in the file: it is named by an environment variable or by a file that only
its owner can read.
"""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import Field, ValidationError, model_validator

from netloom.errors import SpecError
from netloom.spec.compose import compose
from netloom.spec.nodes import MalformedError, plain
from netloom.spec.problems import explain, refusal
from netloom.spec.quantity import TimeS
from netloom.spec.strict import Strict

__all__ = [
    "MAX_INVENTORY_BYTES",
    "Credentials",
    "Inventory",
    "InventoryDefaults",
    "InventoryDevice",
    "parse_inventory",
]

MAX_INVENTORY_BYTES: Final = 8 << 20  # 20,000 devices at some 200 bytes are 4 MB

Word = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Deadline = Annotated[TimeS, Field(ge=0.1, le=300)]
Rest = Annotated[TimeS, Field(ge=0.1, le=86400)]
Port = Annotated[int, Field(ge=1, le=99_999)] | Word


class Credentials(Strict):
    """Who asks, and where the secret is; at most one place."""

    user: Word | None = Field(default=None, description="The account; none where the device asks")
    env: Word | None = Field(default=None, description="Environment variable with the secret")
    file: Word | None = Field(
        default=None, description="File with the secret, of mode 0600, relative to the inventory"
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.env and self.file:
            message = "a secret has one place: env or file"
            raise ValueError(message)
        return self


class InventoryDefaults(Strict):
    """What holds for every device that does not say otherwise. All defaults are assumed."""

    deadline_s: Deadline = Field(default=5.0, description="A look that takes longer has failed")
    rest_s: Rest = Field(default=5.0, description="Rest after a first failure; doubles with each")
    most_rest_s: Rest = Field(default=300.0, description="The longest rest")
    credentials: Credentials = Field(default=Credentials(), description="Who asks")
    certificate: Word | None = Field(
        default=None, description="PEM file of the authority that devices are certified by"
    )


class InventoryDevice(Strict):
    """One device and one way to ask it; a device asked in two ways stands there twice."""

    name: Word = Field(description="What it is called there; it opens every message")
    kind: Word = Field(description="The collector, such as sonic, snmp or lldp")
    address: Word = Field(description="Where it answers: HOST, HOST:PORT or a URL, as the kind has")
    part: Word | None = Field(
        default=None, description="What the design calls it, such as leaf:3; default: by --names"
    )
    labels: Word | None = Field(
        default=None, description="How its ports are numbered, such as sonic:8; default: the kind's"
    )
    ports: dict[Word, Port] = Field(
        default={},
        description="Its ports by label: a number, or a part such as nic:3 where ports of a host "
        "are parts of their own",
    )
    credentials: Credentials | None = Field(default=None, description="Instead of the default")
    certificate: Word | None = Field(default=None, description="Instead of the default")
    deadline_s: Deadline | None = Field(default=None, description="Instead of the default")
    write: bool = Field(default=False, description="Whether netloom may ever change it")


class Inventory(Strict):
    """All of them."""

    defaults: InventoryDefaults = InventoryDefaults()
    devices: Annotated[
        tuple[InventoryDevice, ...], Field(min_length=1, max_length=100_000, strict=False)
    ]


def parse_inventory(text: str, *, name: str) -> Inventory:
    """Return the inventory in a YAML or JSON text; *name* opens the messages.

    Raises:
        SpecError: the text is wrong; the message lists every problem, with its line and remedy.
    """
    try:
        root, problems = compose(text)
    except MalformedError as error:
        raise refusal(name, [error.problem]) from error
    if not isinstance(root.value, dict) or root.child("devices") is None:
        raise SpecError(
            file=name,
            what="has no key 'devices'",
            remedy="list them: devices: [{name: leaf01, kind: sonic, address: 10.0.0.11}]",
        )
    try:
        found = Inventory.from_file(plain(root))
    except ValidationError as error:
        raise refusal(name, [*problems, *explain(error, root, Inventory)]) from error
    if problems:
        raise refusal(name, problems)
    _check_once(found, name)
    return found


def _check_once(found: Inventory, name: str) -> None:
    seen: set[tuple[str, str]] = set()
    for number, one in enumerate(found.devices):
        if (one.kind, one.name) in seen:
            raise SpecError(
                file=name,
                key=f"devices[{number}]",
                what=f"{one.name!r} is there twice as {one.kind!r}",
                remedy="keep one",
            )
        seen.add((one.kind, one.name))
