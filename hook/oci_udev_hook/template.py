"""Templates of a definition, how they are written: `{NAME}` stands for a value, `{{` and `}}` are plain braces. Pure.

What is checked when a definition is read is what is filled in when a container starts: both ask this module.
"""

from __future__ import annotations

IN_PATHS = ("name", "index", "serial")  #: what can be named besides udev's properties
IN_VARIABLES = (*IN_PATHS, "paths", "count")


class TemplateError(ValueError):
    """A text that is no template, or one that cannot be filled in; a predicate, the caller says which definition's it is."""


def split(text: str) -> tuple[tuple[str, str], ...]:
    """The parts of the template TEXT: plain text, and the name in braces behind it, which is empty at the end. Raises TemplateError."""
    parts = []
    plain = ""
    here = 0
    while here < len(text):
        letter = text[here]
        if letter not in "{}":
            plain += letter
            here += 1
        elif text.startswith(letter * 2, here):
            plain += letter
            here += 2
        else:
            end = text.find("}", here)
            name = text[here + 1 : end] if letter == "{" and end > here else ""
            if not name or "{" in name:
                raise TemplateError("has a brace without its partner or with nothing in it; a plain brace is written twice")
            parts.append((plain, name))
            plain = ""
            here = end + 1
    return (*parts, (plain, ""))
