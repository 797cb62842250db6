"""What holds for every page: small, alone, named, captioned, and readable without its pictures."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Final

import pytest

import netloom as nl
from netloom.cli.main import main
from netloom.fabric.part_id import PartId
from netloom.ops.heal.snapshot import Snapshot
from netloom.ops.locate.findings import Finding
from netloom.ops.observe.audit import Audit, Difference
from netloom.report.goodput_page import goodput_page
from netloom.report.headroom_page import headroom_page
from netloom.report.ops.audit_page import audit_page
from netloom.report.ops.locate_page import findings_page
from netloom.report.predict_page import prediction_page
from netloom.report.size_page import sizing_page
from netloom.report.tune.page import tune_page
from netloom.report.whatif.place_page import placement_page
from netloom.spec.load import parse
from netloom.study.whatif.place import place

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAX_BYTES: Final = 700_000
FABRIC: Final = (
    "{technology: spectrum-x-400g, topology: {kind: fat-tree, tiers: 2, hosts_per_leaf: 32}}"
)
CLUSTER: Final = f"cluster: {{nodes: 8, fabric: {FABRIC}}}\n"
JOB: Final = "{model: llama-3.1-8b, training: {global_batch: 64}, parallel: {tensor: 8, zero: 3}}"
ONE: Final = f"{CLUSTER}job: {JOB}\n"
TWO: Final = (
    f"{CLUSTER}jobs:\n"
    f"  - {{name: a, nodes: 4, steps: 9, placement: {{kind: random, seed: 1}}, job: {JOB}}}\n"
    f"  - {{name: b, nodes: 4, arrival: 1s, placement: {{kind: random, seed: 2}}, job: {JOB}}}\n"
)
TRAFFIC: Final = (
    f"{CLUSTER}traffic: [{{kind: incast, target: 0, first: 8, fan_in: 8, size: 200KB}}]\n"
)
SWEEP: Final = (
    f"base: {{{CLUSTER.strip()}, job: {JOB}}}\n"
    "question: predict\n"
    "grid: {cluster.nodes: [4, 8, 16]}\n"
)
# What is asked of the command line, by the file that is asked about.
ASKED: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "compare": (ONE, ()),
    "expect": (CLUSTER, ("--collective", "all_reduce,all_to_all")),
    "plan": (ONE, ("--gpus", "8,16", "--technologies", "infiniband-ndr,tcp-400g")),
    "share": (TWO, ()),
    "whatif": (ONE, ("--fail", "spine:0")),
    "simulate": (TRAFFIC, ("--cc", "none")),
    "sweep": (SWEEP, ("--store", "store.db")),
}


def _asked(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    text, options = ASKED[command]
    (folder / "asked.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    assert main([command, "asked.yaml", *options, "--report", "page.html"]) == 0
    return (folder / "page.html").read_text(encoding="utf-8")


def _ranking(folder: Path) -> str:
    (folder / "asked.yaml").write_text(ONE, encoding="utf-8")
    page = folder / "page.html"
    options = ["--rank", "all", "--workers", "1", "--report", str(page)]
    assert main(["whatif", str(folder / "asked.yaml"), *options]) == 0
    return page.read_text(encoding="utf-8")


def _inference(folder: Path) -> str:
    page = folder / "page.html"
    assert main(["infer", "--report", str(page)]) == 0
    return page.read_text(encoding="utf-8")


def _validation(folder: Path) -> str:
    page = folder / "page.html"
    assert main(["validate", "gpu-steps", "--report", str(page)]) == 0
    return page.read_text(encoding="utf-8")


def _scenario(folder: Path) -> nl.Scenario:
    (folder / "asked.yaml").write_text(ONE, encoding="utf-8")
    return nl.load(folder / "asked.yaml")


def _findings(_: Path) -> str:
    finding = Finding(
        part=PartId("cable", 40, ends=("leaf:3", "spine:0")),
        kind="loss",
        magnitude=0.1,
        confidence=0.9,
        evidence=("12 of 13 flows across it lose packets",),
        hurts=(1, 2),
        predicted_gain=0.12,
        rivals=((PartId("leaf", 3), 0.05),),
    )
    return findings_page(
        Snapshot(findings=(finding,) * 2, taken_s=0.0, num_flows=13, doubts=("no counters",))
    )


def _audit(_: Path) -> str:
    differences = (
        Difference(kind="missing", cables=(3,), parts=("leaf:0[1]",), text="leaf:0 port 1: none"),
        Difference(kind="silent", cables=(1, 2), parts=("leaf:3",), text="leaf:3 is silent"),
    )
    return audit_page(
        Audit(
            differences=differences, num_devices=9, num_cables=10, num_right=7, num_unknown_speed=0
        )
    )


def _tuned(_: Path) -> str:
    request = nl.TuneRequest(budget=2, verdict_seeds=2, search_seeds=1, over=("qps",))
    text = TRAFFIC.replace("spectrum-x-400g", "rocev2-400g")
    return tune_page(nl.tune(parse(text, name="t.yaml"), request=request, workers=1))


MADE: Final[dict[str, Callable[[Path], str]]] = {
    "ranking": _ranking,
    "infer": _inference,
    "validate": _validation,
    "predict": lambda folder: prediction_page(nl.predict(_scenario(folder))),
    "size": lambda _: sizing_page(nl.size(nl.SizingRequest(num_gpus=1024))),
    "tune": _tuned,
    "headroom": lambda _: headroom_page(nl.headroom(nl.example("incast-rocev2"))),
    "goodput": lambda folder: goodput_page(nl.uptime(_scenario(folder))),
    "place": lambda folder: placement_page(
        place(_scenario(folder), free=range(6), num_nodes=4, tries=5)
    ),
    "locate": _findings,
    "audit": _audit,
}


class Parsed(HTMLParser):
    """What is looked at of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.headers: list[dict[str, str | None]] = []
        self.pictures: list[dict[str, str | None]] = []
        self.counts: dict[str, int] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.fetched += [named[key] or "" for key in ("src", "href", "srcset") if key in named]
        if "id" in named:
            self.ids.append(named["id"] or "")
        if tag == "th":
            self.headers.append(named)
        if tag == "svg" and (named.get("class") or "").startswith("chart"):
            self.pictures.append(named)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module", params=[*ASKED, *MADE])
def page(request: pytest.FixtureRequest, folder: Path) -> str:
    name = request.param
    if name in MADE:
        return MADE[name](folder)
    with pytest.MonkeyPatch.context() as patch:
        return _asked(name, folder, patch)


def test_a_page_is_small(page: str) -> None:
    assert len(page.encode()) < MAX_BYTES


def test_a_page_fetches_nothing(page: str) -> None:
    assert Parsed(page).fetched == []
    assert "@import" not in page
    assert set(re.findall(r"url\((.*?)\)", page)) <= {"#lines", "#dots"}
    script = page.partition("<script>")[2]
    assert not re.search(r"fetch|XMLHttpRequest|import\(|https?:", script)


def test_every_id_is_there_once(page: str) -> None:
    ids = Parsed(page).ids
    assert len(ids) == len(set(ids))


def test_every_header_says_what_it_heads(page: str) -> None:
    headers = Parsed(page).headers
    assert headers
    assert {named.get("scope") for named in headers} == {"col", "row"}


def test_every_figure_and_table_has_a_caption(page: str) -> None:
    counts = Parsed(page).counts
    assert counts["caption"] == counts["table"]
    assert counts.get("figcaption", 0) == counts.get("figure", 0)
    assert "<caption><span></span>" not in page
    assert "<figcaption></figcaption>" not in page


def test_every_figure_has_its_numbers_as_a_table_or_in_words(page: str) -> None:
    for figure in re.findall(r"<figure.*?</figure>", page, re.DOTALL):
        assert ("Numbers of this figure" in figure) != ('<p class="words">' in figure)
    for named in Parsed(page).pictures:
        assert named["role"] == "img"
        assert named["aria-label"]


def test_a_page_has_one_heading_of_the_first_order_and_can_be_dark(page: str) -> None:
    assert Parsed(page).counts["h1"] == 1
    assert "prefers-color-scheme: dark" in page
