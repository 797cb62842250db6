"""The register that every kind of thing uses."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from netloom.errors import SpecError
from netloom.registers import Register

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Colour:
    name: str
    wavelength_nm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pale:
    """An entry of a careless package: no wavelength."""

    name: str


def colours(**more: str) -> Register[Colour]:
    return Register[Colour](kind="colour", traits=Colour, **more)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Install a package of one module that declares one colour, as pip leaves it on the path."""

    def put(package: str, name: str, code: str) -> None:
        root = tmp_path / package
        info = root / f"{package}-1.2.dist-info"
        info.mkdir(parents=True)
        (root / f"{package}.py").write_text(code)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[test.colours]\n{name} = {package}:ENTRY\n")
        monkeypatch.syspath_prepend(str(root))

    return put


def test_an_entry_is_found_by_its_name() -> None:
    register = colours()
    red = register.add(Colour(name="red", wavelength_nm=700.0))
    assert register.get("red") is red
    assert register.names() == ("red",)
    assert "red" in register
    assert len(register) == 1


def test_names_come_in_order_whatever_order_they_were_added_in() -> None:
    register = colours()
    for name in ("violet", "green", "red"):
        register.add(Colour(name=name, wavelength_nm=1.0))
    assert list(register) == ["green", "red", "violet"]
    assert [entry.name for entry in register.entries()] == ["green", "red", "violet"]


def test_an_unknown_name_gets_the_closest_or_all() -> None:
    register = colours()
    register.add(Colour(name="green", wavelength_nm=550.0))
    register.add(Colour(name="red", wavelength_nm=700.0))
    with pytest.raises(SpecError, match=r"^colour: 'Gren' is not known; did you mean 'green'\?$"):
        register.get("Gren")
    with pytest.raises(SpecError, match=r"^colour: 'x' is not known; choose one of green, red$"):
        register.get("x")


def test_an_entry_that_lacks_a_trait_is_refused_by_the_traits_name() -> None:
    with pytest.raises(TypeError, match="lacks wavelength_nm"):
        colours().add(Pale(name="pink"))  # type: ignore[arg-type]


def test_two_entries_cannot_share_a_name() -> None:
    register = colours()
    register.add(Colour(name="red", wavelength_nm=700.0))
    with pytest.raises(ValueError, match="'red' is empty or taken"):
        register.add(Colour(name="red", wavelength_nm=650.0))
    with pytest.raises(ValueError, match="'' is empty or taken"):
        register.add(Colour(name="", wavelength_nm=650.0))


def test_a_home_package_gives_its_entries_when_a_name_is_first_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "colour_home"
    home.mkdir()
    (home / "__init__.py").write_text("")
    (home / "helper.py").write_text("WAVE = 470.0\n")
    (home / "blue.py").write_text(
        "from types import SimpleNamespace\n"
        "from colour_home.helper import WAVE\n"
        "ENTRY = SimpleNamespace(name='blue', wavelength_nm=WAVE)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    register = colours(home="colour_home")
    assert "colour_home" not in sys.modules
    assert register.get("blue").wavelength_nm == 470.0
    assert register.shipped() == ("blue",)


GREEN = "from types import SimpleNamespace as N\nENTRY = N(name='green', wavelength_nm=550.0)\n"


def test_another_package_is_named_without_loading_and_loaded_when_asked_for(
    install: Callable[[str, str, str], None],
) -> None:
    install("greens", "green", GREEN)
    register = colours(entry_point_group="test.colours")
    assert register.names() == ("green",)
    assert "greens" not in sys.modules
    assert register.get("green").wavelength_nm == 550.0
    assert "greens" in sys.modules
    assert register.get("green") is register.get("green")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise OSError('no paint')\n", "OSError: no paint"),
        ("from types import SimpleNamespace as N\nENTRY = N(name='grue')\n", "is called 'grue'"),
        ("from types import SimpleNamespace as N\nENTRY = N(name='lime')\n", "lacks wavelength_nm"),
    ],
)
def test_a_package_that_does_not_load_is_named_with_the_reason(
    install: Callable[[str, str, str], None], code: str, reason: str
) -> None:
    package = f"bad_{len(reason)}_{len(code)}"
    install(package, "lime", code)
    register = colours(entry_point_group="test.colours")
    with pytest.raises(SpecError, match=rf"{package} 1\.2 as {package}:ENTRY.*{reason}"):
        register.get("lime")


def test_what_does_not_load_is_left_out_of_what_can_be_used(
    install: Callable[[str, str, str], None],
) -> None:
    install("bad_olive", "olive", "raise OSError('no paint')\n")
    register = colours(entry_point_group="test.colours")
    red = register.add(Colour(name="red", wavelength_nm=700.0))
    assert register.names() == ("olive", "red")
    assert register.usable() == (red,)


def test_two_packages_that_declare_one_name_are_both_named(
    install: Callable[[str, str, str], None],
) -> None:
    install("limes_a", "lime", GREEN)
    install("limes_b", "lime", GREEN)
    register = colours(entry_point_group="test.colours")
    with pytest.raises(SpecError, match=r"limes_. 1\.2 and limes_. 1\.2 both declare 'lime'"):
        register.get("lime")


def test_a_shipped_name_stays_netlooms_own(install: Callable[[str, str, str], None]) -> None:
    install("other_reds", "red", GREEN)
    register = colours(entry_point_group="test.colours")
    red = register.add(Colour(name="red", wavelength_nm=700.0))
    assert register.get("red") is red
    assert register.entries() == (red,)
