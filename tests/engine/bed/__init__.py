"""The test bed: real podman, crun and runc of two Debian releases, in namespaces that leave the machine as it was."""
