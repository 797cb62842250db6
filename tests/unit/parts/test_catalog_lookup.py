"""Finding parts, and showing them."""

from __future__ import annotations

import json
import tomllib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from netloom.cli.about.catalog import catalog as print_catalog
from netloom.cli.options import Output
from netloom.errors import CatalogError
from netloom.parts import load, read, shipped, show
from netloom.parts.load import KINDS, load_catalog

if TYPE_CHECKING:
    from collections.abc import Callable

CATALOG = load_catalog()


@pytest.mark.parametrize(
    ("find", "name"),
    [
        (CATALOG.gpu, "h100-sxm-80gb"),
        (CATALOG.scale_up, "NVL72"),
        (CATALOG.node, "DGX-H100"),
        (CATALOG.nic, "connectx-7"),
        (CATALOG.switch, "qm9700"),
        (CATALOG.transceiver, "OSFP-400G-SR4"),
        (CATALOG.cable, "DAC-400g"),
        (CATALOG.model, "Llama-3.1-405B"),
        (CATALOG.technology, "InfiniBand-NDR"),
    ],
)
def test_a_part_is_found_in_any_case(find: Callable[[str], object], name: str) -> None:
    assert getattr(find(name), "name").casefold() == name.casefold()  # noqa: B009


def test_an_unknown_name_gets_the_closest_and_where_to_list_them() -> None:
    with pytest.raises(CatalogError, match=r"did you mean 'QM9700'.*netloom catalog switches"):
        CATALOG.switch("QM9800")
    with pytest.raises(CatalogError, match=r"no such technology; .*infiniband-ndr"):
        CATALOG.technology("infiniband-400")


def test_the_shipped_parts_name_parts_that_there_are() -> None:
    load.check(CATALOG)


def test_a_part_and_its_sources_are_read_when_they_are_asked_for_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert load_catalog() is CATALOG
    assert all(dict(CATALOG.parts(kind)) for kind in KINDS)  # all of them read
    parsed, checked = [], []

    def parse(text: str) -> dict[str, Any]:
        parsed.append(text)
        return tomllib.loads(text)

    def check(*given: Any, **more: Any) -> Any:
        checked.append(given)
        return read.part(*given, **more)

    monkeypatch.setattr(shipped, "tomllib", SimpleNamespace(loads=parse))
    monkeypatch.setattr(load, "read", SimpleNamespace(part=check, sources=read.sources))
    monkeypatch.setattr(load, "_SOURCES", load._ShippedSources())
    shipped.shipped_tables.cache_clear()
    fresh = load._shipped.__wrapped__()
    assert (len(parsed), len(checked)) == (0, 0)
    assert fresh.switch("qm9700") is fresh.switches["QM9700"]
    num_sources = len({source.citation for source in fresh.switch("qm9700").sources.values()})
    assert (len(parsed), len(checked)) == (1 + num_sources, 1)
    assert fresh == CATALOG
    num_parts = sum(len(CATALOG.parts(kind)) for kind in KINDS)
    assert len(checked) == num_parts
    # Each part once, and each source once that a part names.
    assert len(parsed) == len(set(parsed)) <= num_parts + len(shipped.shipped_tables("sources"))


@pytest.mark.parametrize("stem", [*KINDS, "sources"])
def test_tables_read_one_by_one_are_those_of_the_whole_file(stem: str) -> None:
    whole = tomllib.loads((shipped.FOLDER / f"{stem}.toml").read_text("utf-8"))
    assert dict(shipped.shipped_tables(stem)) == (whole if stem == "sources" else whole[stem])
    assert list(whole) == [stem] or stem == "sources"


def test_a_search_looks_through_all_kinds() -> None:
    assert [part.name for part in CATALOG.search("qm9700")] == ["QM9700"]
    assert CATALOG.search("nothing") == []


def test_the_overview_counts_every_kind() -> None:
    rows = show.overview(CATALOG)
    assert len(rows) == len(KINDS)
    assert {row.kind: row.count for row in rows}["technologies"] == 27


@pytest.mark.parametrize("word", ["switches", "switch", "Switches"])
def test_a_kind_is_understood_in_singular_and_plural(word: str) -> None:
    assert show.find_kind(word) == "switches"


def test_words_that_are_no_kind_are_not_taken_for_one() -> None:
    assert show.find_kind("scale-ups") == "scale_ups"
    assert show.find_kind("technology") == "technologies"
    assert show.find_kind("QM9700") is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_a_row_for_each_part_and_no_value_is_blank(kind: str) -> None:
    rows = show.kind_rows(CATALOG, kind)
    assert [row["name"] for row in rows] == list(CATALOG.parts(kind))
    assert all(all(row.values()) for row in rows)


def test_a_part_shows_each_value_with_unit_source_and_note() -> None:
    rows = {row.key: row for row in show.part_rows(CATALOG.switch("QM9700"))}
    latency = rows["latency"]
    assert (latency.value, latency.unit, latency.confidence) == ("130ns", "s", "secondary")
    assert latency.number == pytest.approx(130e-9)
    assert "330 ns" in latency.note
    assert rows["modes"].value == "64x400Gbps, 128x200Gbps"
    assert rows["modes"].source
    assert rows["vendor"].source == ""


def test_values_inside_tables_are_shown_under_dotted_keys() -> None:
    rows = {row.key: row for row in show.part_rows(CATALOG.technology("rocev2-400g"))}
    assert rows["latency.switch"].value == "667ns"
    assert rows["loss"].value == "1e-06%"
    assert rows["operations.vendors"].confidence == ""
    assert {row.key: row.value for row in show.part_rows(CATALOG.gpu("H200-SXM"))}[
        "peak.bf16"
    ] == "989TFLOPS"


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_that_is_shown_names_its_source(kind: str) -> None:
    for part in CATALOG.parts(kind).values():
        for row in show.part_rows(part):
            assert row.number is None or (row.source and row.confidence), (part.name, row.key)


def test_a_word_that_is_neither_part_nor_kind_gets_a_hint() -> None:
    with pytest.raises(CatalogError, match=r"no such part or kind; did you mean .*QM9700"):
        show.find_parts(CATALOG, "QM970")


def test_the_command_prints_tables_that_lose_no_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_catalog("QM9700")
    out = capsys.readouterr().out
    assert all(word in out for word in ("130ns", "36kUSD", "747W", "recalled"))
    print_catalog("nodes")
    assert "24.8MUSD" in capsys.readouterr().out


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_catalog(output=Output(json=True))
    assert len(json.loads(capsys.readouterr().out)["result"]["kinds"]) == len(KINDS)
    print_catalog("switches", output=Output(json=True))
    assert json.loads(capsys.readouterr().out)["result"]["switches"][0]["name"] == "SB7800"
    print_catalog("QM9700", output=Output(json=True))
    part = json.loads(capsys.readouterr().out)["result"]["parts"][0]
    price = next(field for field in part["fields"] if field["key"] == "price")
    assert (price["number"], price["unit"]) == (36_000, "USD")
