"""The door for third-party modules: pyudev, jsonschema, structlog, PyYAML.

The hook program starts Python without `site` (`-S`), which saves a quarter of the interpreter's start, and its success path needs no
third-party module. What does need one calls `allow()` first.
"""

from __future__ import annotations

import sys


def allow() -> None:
    """Make site-packages importable; nothing happens where they are already. The user's own site folder stays out (`-I`)."""
    if sys.flags.no_site and "site" not in sys.modules:
        import site

        site.main()
