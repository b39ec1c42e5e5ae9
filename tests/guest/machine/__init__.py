"""A booted Debian 13 machine for tests: systemd, udev, podman with crun and runc, and hardware that can be plugged in."""
