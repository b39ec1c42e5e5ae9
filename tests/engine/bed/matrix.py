"""The README's table of the stacks that createRuntime was tried on, made from what a run of test_live.py has found.

python3 tests/engine/bed/matrix.py    writes it, from .work/matrix.json
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from .cells import Cell, Cgroup, Mode
from .views import View

TOP = Path(__file__).resolve().parents[3]
FOUND = TOP / ".work/matrix.json"
README = TOP / "README.md"
BEGIN, END = "<!-- matrix: `make matrix` writes this -->", "<!-- end of matrix -->"
WORKS, FAILED = "✓", "failed"
COLUMNS = tuple(f"{cgroup} {mode}" for cgroup in Cgroup for mode in Mode)
Table = dict[str, dict[str, str]]  #: what stands in a row and a column: WORKS, FAILED or an engine's own words


@dataclass
class Results:
    """What a run has found up to now."""

    rows: Table = field(default_factory=dict)
    versions: dict[tuple[str, str], str] = field(default_factory=dict)

    def put(self, cell: Cell, view: View, result: str) -> None:
        """RESULT is what CELL has come to."""
        programs = [cell.runtime.value] if cell.plain else ["podman", cell.runtime.value]
        row = ", ".join(f"{program} {self.version(view, program)}" for program in programs)
        self.rows.setdefault(row, {})[f"{cell.cgroup} {cell.mode}"] = result

    def version(self, view: View, program: str) -> str:
        """The version of PROGRAM in VIEW, as it says itself."""
        key = view.tree, program
        if key not in self.versions:
            said = re.search(r"\d+(\.\d+)+", view.run(program, "--version").out)
            assert said, f"{program} --version tells none"
            self.versions[key] = said[0]
        return self.versions[key]

    def save(self) -> None:
        """Keep them for `make matrix`."""
        FOUND.parent.mkdir(exist_ok=True)
        FOUND.write_text(json.dumps(self.rows, indent=1, ensure_ascii=False))


def render(rows: Table) -> str:
    """ROWS as Markdown. What an engine said stands once, below, by a number."""
    said = list(dict.fromkeys([word for words in rows.values() for word in words.values() if word not in {WORKS, FAILED}]))
    lines = [f"| | {' | '.join(COLUMNS)} |", f"|---{'|:-:' * len(COLUMNS)}|"]
    for row in sorted(rows, key=natural):
        words = [rows[row].get(column, FAILED) for column in COLUMNS]
        shown = [f"[{said.index(word) + 1}]" if word in said else word for word in words]
        lines.append(f"| {row} | {' | '.join(shown)} |")
    return "\n".join([*lines, "", *(f"[{number}] {word}" for number, word in enumerate(said, 1))]).rstrip() + "\n"


def natural(row: str) -> tuple[bool, list[str | int]]:
    """How rows are sorted: runtimes alone first, 1.8 before 1.21."""
    return row.startswith("podman"), [int(word) if word.isdecimal() else word for word in re.split(r"(\d+)", row)]


def parse(text: str) -> Table:
    """The rows of what render made."""
    said = {f"[{number}]": word for number, word in re.findall(r"^\[(\d+)\] (.*)$", text, re.MULTILINE)}
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")]
    head, *rows = cells or [[]]
    return {row: {column: said.get(word, word) for column, word in zip(head[1:], words, strict=True)} for row, *words in rows}


def block(readme: str) -> tuple[str, str, str]:
    """What stands before, between and after the two marks of README."""
    before, begin, rest = readme.partition(f"{BEGIN}\n")
    between, end, after = rest.partition(END)
    assert begin, f"README.md has no line {BEGIN}"
    assert end, f"README.md has no line {END}"
    return before + begin, between, end + after


def main() -> None:
    """Write the table into README.md."""
    rows: Table = json.loads(FOUND.read_text())
    missing = [
        f"{row}, {column}: {words.get(column, 'was not run')}"
        for row, words in rows.items()
        for column in COLUMNS
        if words.get(column, FAILED) == FAILED
    ]
    if missing:
        raise SystemExit("\n".join(["the table is not written, for these did not work in the last run, or were not in it:", *missing]))
    before, _, after = block(README.read_text())
    README.write_text(f"{before}{render(rows)}{after}")


if __name__ == "__main__":
    main()
