"""Devices for containers, by kind and count: an OCI runtime hook that finds them through udev."""

__version__ = "0.1.0"
