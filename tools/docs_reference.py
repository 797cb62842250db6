"""Write the reference pages of the site from the code, so that they cannot go stale.

``mkdocs`` calls the hooks at the end of this module (``mkdocs.yml``); the pages exist only in the
built site.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

import netloom
from netloom.cli.main import build_app
from netloom.commands import CommandActs
from netloom.spec.schema import schema as scenario_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT: Final = Path(__file__).parents[1]
NO_DEFAULT: Final = re.compile(r' \*\[default: (""|False|\(\))\]\*')
SECTION: Final = re.compile(r"^(Args|Returns|Raises|Yields|Attributes|Example|Examples):$")
LINE: Final = 90
ARGUMENT: Final = re.compile(r"^(\w+): (.*)$")
CODE: Final = re.compile(r"``([^`]+)``|:\w+:`~?([^`]+)`")
PAGE_NAMES: Final = re.compile(r"\bdocs/((?:models/)?[\w-]+\.md)")
API_HEAD: Final = (
    "# Python API\n\nGenerated from `netloom.__all__`. Everything below is `netloom.NAME`; "
    "by habit, `import netloom as nl`.\n"
)
KEYS_HEAD: Final = (
    "# Scenario keys\n\nGenerated from the schema that `netloom schema` prints. "
    "A quantity is text with its unit: `400Gbps`, `2us`, `16MiB`.\n"
)
PLAIN_TYPES: Final = {"string": "text", "integer": "count", "object": "table"}
EXTENDING: Final = "# Extending netloom\n\nThis page is not written yet.\n"


def command_line() -> str:
    """Return the page of every command, from what ``--help`` prints."""
    text = build_app().generate_docs(output_format="markdown", heading_level=1)
    start = text.index("\n## netloom ")
    commands = "\n".join(_command_rows())
    body = PAGE_NAMES.sub(r"[\1](../\1)", NO_DEFAULT.sub("", text[start:]))
    return (
        "# Command line\n\n"
        "Generated from the commands themselves; `netloom COMMAND --help` prints the same.\n"
        "Exit codes are [on a page of their own](../exit-codes.md).\n\n"
        f"| command | what it does |\n|---|---|\n{commands}\n{body}"
    )


def _command_rows() -> Iterator[str]:
    app = build_app()
    for name in sorted(app):
        if not name.startswith("-"):
            yield f"| [`{name}`](#netloom-{name}) | {app[name].help} |"


def python_api() -> str:
    """Return the page of every public name, from signatures and docstrings."""
    names = [(name, getattr(netloom, name)) for name in netloom.__all__]
    functions = [(name, value) for name, value in names if inspect.isfunction(value)]
    groups = [(name, value) for name, value in names if isinstance(value, CommandActs)]
    classes = [(name, value) for name, value in names if inspect.isclass(value)]
    errors = [(name, value) for name, value in classes if issubclass(value, Exception)]
    types = [pair for pair in classes if pair not in errors]
    parts = [
        API_HEAD,
        "## Functions\n",
        *(_function(name, value) for name, value in functions),
        *(_acts(name, value) for name, value in groups),
        "## Results and inputs\n",
        *(_class(name, value) for name, value in types),
        "## Errors\n",
        *(f"### {name}\n\n{prose(inspect.getdoc(value) or '')}\n" for name, value in errors),
    ]
    return PAGE_NAMES.sub(r"[\1](../\1)", "\n".join(parts))


def _function(name: str, function: Callable[..., object]) -> str:
    return f"### {name}\n\n{_signature(name, function)}\n{prose(inspect.getdoc(function) or '')}\n"


def _acts(name: str, group: CommandActs) -> str:
    """Return the functions of a command that has several, under one heading."""
    parts = [f"### {name}\n"]
    for act in dir(group):
        function = getattr(group, act)
        parts += [_signature(f"{name}.{act}", function), prose(inspect.getdoc(function) or "")]
    return "\n".join(parts) + "\n"


def _signature(name: str, function: Callable[..., object]) -> str:
    asked = inspect.signature(function)
    returns = _plain(asked.return_annotation)
    end = f") -> {returns}" if returns else ")"
    given = list(_parameters(asked))
    whole = f"{name}({', '.join(given)}{end}"
    if len(whole) > LINE:
        whole = f"{name}(\n    " + ",\n    ".join(given) + f",\n{end}"
    return f"```python\n{whole}\n```\n"


def _parameters(asked: inspect.Signature) -> Iterator[str]:
    in_keywords = False
    for one in asked.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not in_keywords:
            in_keywords = True
            yield "*"
        default = "" if one.default is one.empty else f" = {_default_of(one.default)}"
        yield f"{one.name}: {_plain(one.annotation)}{default}"


def _default_of(value: object) -> str:
    """Return how a signature writes a default: functions and objects have no short form."""
    return repr(value) if isinstance(value, str | int | float | tuple | NoneType) else "..."


def _plain(annotation: object) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text)


def _class(name: str, value: type) -> str:
    doc = inspect.getdoc(value) or ""
    generated = doc.startswith(f"{name}(")
    parts = [f"### {name}\n", "" if generated else prose(doc) + "\n", _fields(value)]
    for member, function in inspect.getmembers(value, inspect.isfunction):
        if not member.startswith("_") and function.__module__.startswith("netloom"):
            first = (inspect.getdoc(function) or "").split("\n\n", maxsplit=1)[0]
            parts.append(f"- `{member}()`: {prose(first)}\n")
    return "\n".join(part for part in parts if part)


def _fields(value: type) -> str:
    if not dataclasses.is_dataclass(value):
        return ""
    rows = [
        f"| `{field.name}` | `{_plain(field.type).replace('|', 'or')}` |"
        for field in dataclasses.fields(value)
        if not field.name.startswith("_")
    ]
    return "| field | type |\n|---|---|\n" + "\n".join(rows) + "\n" if rows else ""


def prose(doc: str) -> str:
    """Return a google docstring as Markdown."""
    lines: list[str] = []
    in_section = in_code = False
    for raw in CODE.sub(lambda found: f"`{found[1] or found[2]}`", doc).splitlines():
        line = raw.strip()
        starts_code = line.startswith(">>>") and not in_code
        ends_code = in_code and not line
        if starts_code:
            lines.append("```python")
        if ends_code:
            lines.append("```")
        in_code = (in_code or starts_code) and not ends_code
        if in_code:
            lines.append(line.split("  # doctest:")[0])
        elif heading := SECTION.match(line):
            in_section = True
            lines.append(f"**{heading[1]}**\n")
        elif in_section and (argument := ARGUMENT.match(line)):
            lines.append(f"- `{argument[1]}`: {argument[2]}")
        elif in_section and line and lines[-1].startswith("- "):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return "\n".join([*lines, "```"] if in_code else lines).rstrip()


def scenario_keys() -> str:
    """Return the page of every key of a scenario, from its JSON schema."""
    schema = scenario_schema()
    parts = [
        KEYS_HEAD,
        "## The file\n",
        _keys(schema),
    ]
    for name, place in _places(schema):
        part = schema["$defs"][name]
        parts.append(f"## {heading(name)}\n\n{part.get('description', '')} Written at `{place}`.\n")
        parts.append(_keys(part))
    return "\n".join(parts)


def _places(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield every definition and a path where a scenario has it, outermost first."""
    seen: set[str] = set()
    waiting = [("", schema)]
    while waiting:
        above, part = waiting.pop(0)
        for key, value in part.get("properties", {}).items():
            place = f"{above}.{key}".lstrip(".") + ("[]" if value.get("type") == "array" else "")
            for name in re.findall(r'"#/\$defs/(\w+)"', json.dumps(value)):
                if name not in seen:
                    seen.add(name)
                    waiting.append((place, schema["$defs"][name]))
                    yield name, place


def _keys(part: dict[str, Any]) -> str:
    required = set(part.get("required", ()))
    rows = [
        f"| `{key}` | {_cell(value.get('description', ''))} | {_type(value)} "
        f"| {_default(key, value, required)} |"
        for key, value in part.get("properties", {}).items()
    ]
    return "| key | meaning | value | default |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"


def _default(key: str, value: dict[str, Any], required: set[str]) -> str:
    if key in required:
        return "**required**"
    default = value.get("default")
    return "" if default in (None, "", [], {}) else f"`{_cell(json.dumps(default))}`"


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        return _link(value["$ref"])
    if choices := value.get("anyOf") or value.get("oneOf"):
        kinds = [_type(choice) for choice in choices if choice.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if value.get("type") == "array":
        return f"list of {_type(value.get('items', {}))}"
    return _plain_type(value)


def _plain_type(value: dict[str, Any]) -> str:
    words = value.get("enum") or ([value["const"]] if "const" in value else [])
    if words:
        return ", ".join(f"`{word}`" for word in words)
    if examples := value.get("examples"):
        return f"text such as `{examples[0]}`"
    kind = str(value.get("type", "any"))
    return PLAIN_TYPES.get(kind, kind)


def _link(reference: str) -> str:
    title = heading(reference.rsplit("/", maxsplit=1)[1])
    return f"[{title}](#{title.lower()})"


def heading(name: str) -> str:
    """Return a heading for a definition; of two that share a class name, the module tells."""
    *_, module, last = ("", *name.split("__"))
    return f"{last}-of-{module}" if module else last


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def notebook() -> str:
    """Return the notebook ``docs/tour.ipynb`` as a page: its text and its code."""
    cells = json.loads((ROOT / "docs" / "tour.ipynb").read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        shown = "".join(_shown(output) for output in cell.get("outputs", ()))
        if shown:
            parts.append(f"```text\n{shown.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def _shown(output: dict[str, Any]) -> str:
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", ""))


PAGES: Final[dict[str, Callable[[], str]]] = {
    "reference/cli.md": command_line,
    "reference/api.md": python_api,
    "reference/scenario.md": scenario_keys,
    "tour.md": notebook,
}


def on_config(config: Any) -> Any:
    """Write out the entries ``folder/*`` of the navigation: a hook of mkdocs."""
    config.nav = _expanded(config.nav)
    return config


def _expanded(nav: Any) -> Any:
    if isinstance(nav, dict):
        return {title: _expanded(entry) for title, entry in nav.items()}
    if not isinstance(nav, list):
        return nav
    found: list[Any] = []
    for entry in nav:
        if isinstance(entry, str) and entry.endswith("/*"):
            pages = sorted((ROOT / "docs" / entry[:-2]).glob("*.md"))
            names = [page.name for page in pages if page.name != "index.md"]
            found += [f"{entry[:-1]}{name}" for name in names]
        else:
            found.append(_expanded(entry))
    return found


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages: a hook of mkdocs."""
    from mkdocs.structure.files import File  # noqa: PLC0415  (only mkdocs calls this)

    if not files.get_file_from_path("extending.md"):
        files.append(File.generated(config, "extending.md", content=EXTENDING))
    for path, make in PAGES.items():
        files.append(File.generated(config, path, content=make()))
    return files
