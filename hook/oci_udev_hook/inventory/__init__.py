"""What the host has of what is asked for: definitions, devices, units."""

from __future__ import annotations

import os

from ..frozen import replace
from . import database, resources
from .catalog import Catalog
from .survey import Survey, reading, survey
from .sysfs import HOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .sysfs import Roots

__all__ = ["Catalog", "Survey", "load", "survey"]

_MARKS = "tags/oci-udev-hook"  #: below /run/udev: there if a device has, or had, the tag; most hosts have none


def load(config_dirs: tuple[str, ...], cache: str | None, roots: Roots = HOST) -> Catalog:
    """The resources that the files in CONFIG_DIRS define, and those that udev rules have marked devices for.

    CACHE is the file that keeps the validated form of the files. Raises ConfigurationError as `survey` does.
    """
    catalog = resources.load(config_dirs, cache)
    if not database.present(roots):
        return replace(catalog, unmarked=f"udev rules mark no device, since the udev database {roots.run}/data is not there")
    if not os.path.isdir(f"{roots.run}/{_MARKS}"):
        return catalog
    from . import marked

    devices = reading(marked.QUERY, roots, lambda reader: database.collect(reader, marked.QUERY, roots))
    return marked.join(catalog, devices)
