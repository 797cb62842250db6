"""The scenario's ``site``: the switches' system, management, time, logs, monitoring, logins.

Secrets are given by the name of an environment variable. Files carry ``${NAME}``, which
``envsubst`` replaces where they are loaded, so that neither scenario nor files hold a secret.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from netloom.spec.strict import Strict

__all__ = [
    "AaaSettings",
    "ManagementSettings",
    "SiteSettings",
    "SnmpSettings",
    "SyslogSettings",
    "ZeroTouchSettings",
]

MAX_SERVERS: Final = 8
BufferModel = Literal["traditional", "dynamic"]
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?", re.ASCII)
_URL: Final = re.compile(r"https?://[A-Za-z0-9.-]{1,253}(?::\d{1,5})?(?:/[A-Za-z0-9._~/-]{0,200})?")


def _address(text: str) -> str:
    try:
        return str(IPv4Address(text))
    except ValueError:
        message = f"{text!r} is not an IPv4 address; write it as 10.0.0.1"
        raise ValueError(message) from None


def _network(text: str) -> str:
    try:
        return str(IPv4Network(text))
    except ValueError:
        message = f"{text!r} is not an IPv4 network; write it as 10.0.0.0/22"
        raise ValueError(message) from None


def _host(text: str) -> str:
    if not _HOST.fullmatch(text):
        message = f"{text!r} is neither an address nor a host name"
        raise ValueError(message)
    return text


def _url(text: str) -> str:
    if not _URL.fullmatch(text):
        message = f"{text!r} is not a URL of HTTP; write it as http://10.0.0.2:8080/day0"
        raise ValueError(message)
    return text.rstrip("/")


Address = Annotated[str, AfterValidator(_address)]
Network = Annotated[str, AfterValidator(_network)]
HostName = Annotated[str, AfterValidator(_host)]
Url = Annotated[str, AfterValidator(_url)]
Servers = Annotated[tuple[HostName, ...], Field(max_length=MAX_SERVERS)]
Addresses = Annotated[tuple[Address, ...], Field(max_length=MAX_SERVERS)]
Text = Annotated[str, Field(pattern=r"^[A-Za-z0-9 .,:/@_+-]{0,100}$")]
Variable = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,63}$")]
System = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
Device = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]{0,31}$")]


class ManagementSettings(Strict):
    """The management port of each switch."""

    network: Network = Field(description="Its network, such as 10.0.0.0/22")
    gateway: Address = Field(description="Its gateway")
    first: Annotated[int, Field(ge=1, le=2**24)] = Field(
        default=10, description="Which address of the network the first switch gets; others follow"
    )
    vrf: bool = Field(default=True, description="Whether the port has a VRF of its own")

    @model_validator(mode="after")
    def _gateway_inside(self) -> Self:
        if IPv4Address(self.gateway) not in IPv4Network(self.network):
            message = f"'gateway' {self.gateway} lies outside of 'network' {self.network}"
            raise ValueError(message)
        return self


class SyslogSettings(Strict):
    """Where switches send their logs."""

    servers: Servers = Field(description="Names or addresses")
    level: Literal["debug", "info", "notice", "warning", "error", "critical"] = Field(
        default="info", description="The least severity that is sent"
    )


class SnmpSettings(Strict):
    """How switches answer SNMP: version 2c, to read alone."""

    community_variable: Variable = Field(
        default="SNMP_COMMUNITY",
        description="The environment variable that has the community where files are loaded",
    )
    location: Text = Field(default="", description="sysLocation")
    contact: Text = Field(default="", description="sysContact")


class AaaSettings(Strict):
    """Who may log in to switches: TACACS+ first, local accounts where no server answers."""

    tacacs: Addresses = Field(description="TACACS+ servers, by address, first to last")
    key_variable: Variable = Field(
        default="TACACS_KEY",
        description="The environment variable that has the servers' key where files are loaded",
    )


class ZeroTouchSettings(Strict):
    """Where a switch that boots for the first time finds its files."""

    url: Url = Field(description="Of the HTTP folder that 'deploy ztp' wrote")
    interface: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,15}$")] = Field(
        default="eth0", description="On which Kea listens"
    )


class SiteSettings(Strict):
    """What the switches of a site have in common besides the fabric."""

    system: System | None = Field(
        default=None,
        description="Operating system of the switches: cumulus, eos, frr, sonic; by the switch "
        "when left out",
    )
    systems: Annotated[dict[Device, System], Field(max_length=10_000)] = Field(
        default={},
        description="Those of some switches, by name (leaf003) or kind (spine)",
    )
    buffer_model: BufferModel = Field(
        default="traditional",
        description="SONiC's: traditional takes headroom and pools from the file; dynamic works "
        "them out on the switch from speed and cable length (NVIDIA's default since 202012)",
    )
    domain: HostName | None = Field(default=None, description="DNS domain of the switches")
    dns: Addresses = Field(default=(), description="DNS servers, by address")
    ntp: Servers = Field(default=(), description="NTP servers")
    management: ManagementSettings | None = Field(
        default=None, description="The management port; as it is when left out"
    )
    syslog: SyslogSettings | None = Field(default=None, description="Where logs go")
    snmp: SnmpSettings | None = Field(default=None, description="How SNMP is answered")
    aaa: AaaSettings | None = Field(default=None, description="Who may log in")
    admin_secret_variable: Variable | None = Field(
        default=None,
        description="The environment variable with the hashed password of the account 'admin', for "
        "files that replace whole configurations (EOS)",
    )
    zero_touch: ZeroTouchSettings | None = Field(
        default=None, description="Where a switch that boots for the first time finds its files"
    )
