"""A user's own file: what it changes, and what it is told when it is wrong."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netloom.errors import CatalogError
from netloom.parts.load import KINDS, Catalog, load_catalog
from netloom.parts.show import part_rows

DOCS = Path(__file__).parents[3] / "docs" / "catalogue.md"


@pytest.fixture
def write(tmp_path: Path) -> Path:
    return tmp_path / "mine.toml"


def load(path: Path, text: str) -> Catalog:
    path.write_text(text, encoding="utf-8")
    return load_catalog(path)


def test_one_key_is_overridden_and_all_else_stays(write: Path) -> None:
    ours = load(write, '[switches.QM9700]\nprice = "50000USD"').switch("QM9700")
    shipped = load_catalog().switch("QM9700")
    assert ours.price_usd == 50_000
    assert ours.modes == shipped.modes
    assert ours.source("latency_s") == shipped.source("latency_s")


def test_a_price_of_ones_own_does_away_with_the_range_of_others(write: Path) -> None:
    assert load_catalog().switch("QM9700").price_range_usd == (36_000, 50_000)
    switch = load(write, '[switches.QM9700]\nprice = "45000USD"').switch("QM9700")
    assert switch.price_range_usd is None
    assert switch.source("price_range_usd") is None
    text = '[switches.QM9700]\nprice = "45000USD"\nprice_range = ["40000USD", "48000USD"]'
    assert load(write, text).switch("QM9700").price_range_usd == (40_000, 48_000)


def test_an_overridden_value_says_it_is_the_users_assumption(write: Path) -> None:
    switch = load(write, '[switches.QM9700]\nprice = "50000USD"').switch("QM9700")
    source = switch.source("price_usd")
    assert source is not None
    assert source.citation == "your file mine.toml"
    assert source.confidence == "assumed"
    assert switch.note("price_usd") == "Instead of the shipped 36000USD"


def test_the_shipped_catalogue_is_left_alone(write: Path) -> None:
    load(write, '[switches.QM9700]\nprice = "1USD"')
    assert load_catalog().switch("QM9700").price_usd == 36_000


def test_a_price_source_speaks_for_prices_only(write: Path) -> None:
    text = 'price_source = "Quote 17"\n[switches.QM9700]\nprice = "50000USD"\npower = "800W"'
    switch = load(write, text).switch("qm9700")
    assert (price := switch.source("price_usd"))
    assert (power := switch.source("power_w"))
    assert (price.citation, price.confidence) == ("Quote 17", "published")
    assert power.citation == "your file mine.toml"


def test_a_named_source_of_ones_own_speaks_for_its_key(write: Path) -> None:
    text = (
        '[sources.lab]\ncitation = "Our lab"\nconfidence = "measured"\n'
        '[switches.QM9700]\nlatency = "210ns"\nsources = { latency = "lab" }'
    )
    source = load(write, text).switch("QM9700").source("latency_s")
    assert source is not None
    assert source.confidence == "measured"


def test_a_value_inside_a_table_is_overridden_alone(write: Path) -> None:
    text = '[technologies.rocev2-400g.latency]\nswitch = "0.5us"'
    technology = load(write, text).technology("rocev2-400g")
    shipped = load_catalog().technology("rocev2-400g")
    assert technology.latency.switch_s == pytest.approx(0.5e-6)
    assert technology.latency.post_s == shipped.latency.post_s
    assert (ours := technology.source("latency.switch_s"))
    assert ours.confidence == "assumed"
    assert technology.source("latency.post_s") == shipped.source("latency.post_s")


def test_the_case_of_a_name_does_not_matter(write: Path) -> None:
    ours = load(write, '[switches.qm9700]\nprice = "1USD"')
    assert len(ours.switches) == len(load_catalog().switches)
    assert ours.switch("Qm9700").price_usd == 1


def test_a_new_part_joins_the_shipped_ones(write: Path) -> None:
    text = '[cables.dac-1.6t]\ntitle = "x"'
    with pytest.raises(CatalogError, match=r"\[cables.dac-1\] 6t = .*unknown key"):
        load(write, text)
    text = (
        '[nics.mine]\nvendor = "us"\nprotocols = ["rocev2"]\nrate = "400Gbps"\n'
        '[nodes.ours]\ngpu = "H100-SXM-80GB"\nnum_gpus = 8\nscale_up = "nvswitch3"\n'
        'nic = "mine"\nnum_nics = 8\nhost_rate = "63GB/s"\npower = "11kW"'
    )
    catalog = load(write, text)
    assert catalog.node("ours").nic == "mine"
    assert (source := catalog.nic("mine").source("rate_bps"))
    assert source.confidence == "assumed"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[switches.QM9700\n", ["mine.toml", "not TOML", "line 1"]),
        ('[switch.A]\nprice = "1USD"', ["[switch]", "did you mean 'switches'?"]),
        ("switches = 3", ["[switches]", "[switches.NAME]"]),
        ('[switches.QM9700]\nprce = "1USD"', ["[switches.QM9700]", "prce", "'1USD'", "'price'?"]),
        ("[switches.QM9700]\nprice = 50000", ["price = 50000", "has no unit", "36000USD"]),
        ('[switches.QM9700]\nprice = "-1USD"', ["price", "it must be at least 0"]),
        ('[switches.QM9700]\nprice = "nanUSD"', ["price", "not a price"]),
        ('[switches.QM9700]\nlatency = "3W"', ["latency = '3W'", "the unit 'W'"]),
        ('[nics.ConnectX-7]\nrate = "0Gbps"', ["rate", "it must be more than 0"]),
        ('[switches.New]\nvendor = "x"', ["[switches.New]", "asic", "missing"]),
        ('[nodes.dgx-h100]\ngpu = "H101"', ["nodes.dgx-h100", "gpu = 'H101'", "catalog gpus"]),
        ('[technologies.infiniband-ndr]\nswitch = "SB7800"', ["no ports of 400Gbps", "100Gbps"]),
        ("[sources.q]\nconfidence = 'high'\ncitation = 'x'", ["[sources.q]", "confidence"]),
        ("[sources.recalled]\nconfidence = 'measured'\ncitation = 'x'", ["shipped source"]),
        ("[nics.E810]\nsources = { rate = 'q' }", ["sources.rate = 'q'", "no such source"]),
        ("[nics.E810]\nsources = { rat = 'recalled' }", ["sources.rat", "'rate'?"]),
        ("[nics.E810]\nsources = 'recalled'", ["sources = 'recalled'", "write a table"]),
        ("[nics.E810]\nnotes = 'hello'", ["notes", "dictionary"]),
        ("price_source = 3", ["price_source = 3", "quotes"]),
        ("[models.mixtral-8x7b]\nexperts_per_token = 9", ["experts_per_token"]),
        ("[models.llama-2-7b]\nnum_layers = 99999999999", ["num_layers", "it must be at most"]),
        ("[nics.E810]\na" + ".a" * 50 + " = 1", ["nested too deeply"]),
        ("[nics.E810]\nprotocols = " + "[" * 3000 + "]" * 3000, ["mine.toml"]),
    ],
)
def test_a_wrong_file_is_told_where_what_and_the_remedy(
    write: Path, text: str, words: list[str]
) -> None:
    with pytest.raises(CatalogError) as caught:
        load(write, text)
    message = str(caught.value)
    assert "mine.toml" in message
    assert all(word in message for word in words), message
    assert len(message) < 1000


def test_a_missing_huge_or_binary_file_is_refused(write: Path) -> None:
    with pytest.raises(CatalogError, match="cannot be read"):
        load_catalog(write)
    with pytest.raises(CatalogError, match="a folder; name a TOML file"):
        load_catalog(write.parent)
    write.write_bytes(b"#" * (4 * 2**20 + 1))
    with pytest.raises(CatalogError, match="larger than 4194304 bytes"):
        load_catalog(write)
    write.write_bytes(b"\xff\xfe")
    with pytest.raises(CatalogError, match="not UTF-8"):
        load_catalog(write)


_VALUES = st.recursive(
    st.one_of(
        st.integers(),
        st.booleans(),
        st.sampled_from(["'1USD'", "'-5W'", "'400Gbps'", "'x'", "nan", "inf", "1979-05-27", "''"]),
    ).map(lambda value: str(value).lower() if isinstance(value, bool) else str(value)),
    lambda inner: st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
    max_leaves=5,
)
_KEYS = st.sampled_from(
    [
        *("price", "power", "rate", "modes", "latency", "latency.switch", "peak.bf16", "sources"),
        *("sources.price", "notes", "title", "name", "vendor", "protocols", "num_gpus", "gpu"),
        *("parameters", "operations"),
    ]
)


@given(
    kind=st.sampled_from(
        ["switches", "gpus", "nodes", "technologies", "models", "nics", "sources"]
    ),
    name=st.sampled_from(["QM9700", "H100-SXM-80GB", "dgx-h100", "rocev2-400g", "E810", "new"]),
    key=_KEYS,
    value=_VALUES,
)
def test_no_value_of_any_type_gets_past_the_errors_netloom_means(
    tmp_path_factory: pytest.TempPathFactory, kind: str, name: str, key: str, value: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(f"[{kind}.{name}]\n{key} = {value}\n", encoding="utf-8")
    with suppress(CatalogError):
        load_catalog(path)


def test_the_example_in_the_documentation_loads(write: Path) -> None:
    examples = re.findall(r"```toml\n(.*?)```", DOCS.read_text("utf-8"), flags=re.DOTALL)
    assert len(examples) == 1
    catalog = load(write, examples[0])
    assert catalog.switch("QM9700").price_usd == 48_500
    assert catalog.technology("rocev2-400g").latency.switch_s == pytest.approx(0.55e-6)
    assert catalog.switch("our-th5").radix(400e9) == 128
    assert catalog.technology("our-roce").switch == "our-th5"


def test_the_documentation_counts_the_numbers_as_they_are() -> None:
    catalog = load_catalog()
    rows = [
        row
        for kind in KINDS
        for part in catalog.parts(kind).values()
        for row in part_rows(part)
        if row.source
    ]
    counts = Counter(row.confidence for row in rows)
    prices = Counter(row.confidence for row in rows if row.key.startswith("price"))
    text = " ".join(DOCS.read_text("utf-8").split())
    assert f"Of the {len(rows):,} numbers that ship" in text
    assert all(f"{count} `{confidence}`" in text for confidence, count in counts.items())
    unsure = prices["recalled"] + prices["assumed"]
    assert f"Of the {prices.total()} prices {unsure} are" in text
