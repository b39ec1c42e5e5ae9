"""Making the nodes of one live container, by the steps that `nodes.look` has given."""

from __future__ import annotations

import os
import stat

from ..errors import ConfigurationError, RefusedError, UsageError
from ..model import number_of
from . import linux, mounts, rootfs
from .nodes import How, is_there
from .rights import outside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .nodes import NodeStep
    from .target import Target
    from .undo import UndoLog


class Making:
    """The nodes of one container, on their way."""

    def __init__(self, target: Target, undo: UndoLog) -> None:
        self.target = target
        self.undo = undo
        self.path = "/dev"  #: what is worked on, for errors
        self.dev = self.tmpfs = -1
        self.attachments: list[mounts.Attachment] = []
        self.bound: set[str] = set()  #: paths whose owner and mode are the host's
        self.notes: list[str] = []  #: sentences on nodes that are not as the steps say
        self.opened: list[int] = []

    def close(self) -> None:
        """Close what is open."""
        for descriptor in self.opened:
            os.close(descriptor)

    def keep(self, descriptor: int) -> int:
        """DESCRIPTOR, which is closed with the others."""
        self.opened.append(descriptor)
        return descriptor

    def all(self, steps: list[NodeStep]) -> None:
        """Do STEPS, then look at each anew. Raises OSError, HookError."""
        self.dev = self.keep(rootfs.own_dev(self.target))
        for step in steps:
            self.path = step.path
            try:
                self.one(step)
            except FileExistsError:
                if not is_there(self.target, self.dev, step.path, step.number):
                    raise
                self.bound.add(step.path)  # someone else's, so its owner is his affair
        if self.attachments:
            mounts.attach(self.target, self.attachments, None if self.tmpfs < 0 else self.tmpfs)
        for step in steps:
            self.path = step.path
            self.verify(step)

    def one(self, step: NodeStep) -> None:
        """Make the node of STEP, or its place and what will be mounted there."""
        if step.how is How.MAKE:
            folder = self.keep(rootfs.make_folder(self.target, self.dev, step.path, self.undo))
            try:
                mounts.make_node(folder, step.path.rpartition("/")[2], step.number, step.mode, (step.uid, step.gid))
            except PermissionError:
                pass
            else:
                self.taken_away(step, place=True)
                return
        place = self.place(step)  # first: where another hook has been quicker, no node of ours is in the tmpfs under the next one's name
        tree, name = self.node(step)
        self.attachments.append(mounts.Attachment(place, tree, name))

    def taken_away(self, step: NodeStep, *, place: bool) -> None:
        """Put the way back of STEP on the undo log; PLACE: what it is at or mounted on goes, too."""
        self.undo.add(
            f"{step.number} at {step.path} in the container",
            lambda: mounts.take_away(self.target, step.path, step.number, place=place),
        )

    def node(self, step: NodeStep) -> tuple[int | None, str]:
        """What is mounted for STEP: a detached mount of the host's node, or the name of a new one in the private tmpfs."""
        if step.how is How.MOUNT:
            name = str(len(self.attachments))
            try:
                if self.tmpfs < 0:
                    self.tmpfs = self.keep(mounts.private_tmpfs(self.target.mount_label))
                mounts.make_node(self.tmpfs, name, step.number, step.mode, (step.uid, step.gid))
            except PermissionError:
                pass
            else:
                return None, name
        self.bound.add(step.path)
        source = step.source or mounts.host_node(step.number)
        if source is None:
            raise ConfigurationError(
                f"the hook may not make {step.number} for the container (its own device cgroup or capabilities forbid it), "
                "and the host has no node of it to mount instead; run the engine outside the service or container that narrows its rights"
            )
        # On a read-only mount a device opens for writing all the same, but the container changes no owner or mode of the host's node.
        tree = self.keep(mounts.host_tree(source, step.number, read_only=step.read_only or step.how is not How.BIND))
        if step.how is not How.BIND:
            status = os.fstat(tree)
            self.notes.append(
                f"{step.path} in the container is the host's own {source}, since the hook may not make {step.number} (its own device "
                f"cgroup or capabilities forbid it): mode {stat.S_IMODE(status.st_mode):04o}, owner {status.st_uid}:{status.st_gid} and "
                "SELinux label are the host's"
            )
        return tree, ""

    def place(self, step: NodeStep) -> int:
        """The empty file that the node is mounted on: a new one, or the one that the image or an earlier run has left there."""
        try:
            place = self.new_place(step)
        except FileExistsError:
            found = rootfs.empty_file(self.keep(rootfs.folder(self.target, self.dev, step.path)), step.path)
            if found is None:
                raise
            self.taken_away(step, place=False)
            return self.keep(found)
        self.taken_away(step, place=True)
        return place

    def new_place(self, step: NodeStep) -> int:
        """A new one. In a user namespace it is its root's: no other can own files of its tmpfs."""
        if self.target.user_namespace:
            linux.set_fs_ids(*self.root())
        try:
            folder = self.keep(rootfs.make_folder(self.target, self.dev, step.path, self.undo))
            return self.keep(mounts.make_place(folder, step.path))
        finally:
            if self.target.user_namespace:
                linux.set_fs_ids(os.geteuid(), os.getegid())

    def root(self) -> tuple[int, int]:
        """The ids of the user namespace's root, as the hook sees them. Raises UsageError."""
        uid, gid = outside(self.target.uid_map, 0), outside(self.target.gid_map, 0)
        if uid is None or gid is None:
            raise UsageError("the container's user namespace has no root, who would own the places of its devices; map user and group 0")
        return uid, gid

    def verify(self, step: NodeStep) -> None:
        """Look at what is at the place of STEP now. Raises RefusedError, OSError."""
        folder = self.keep(rootfs.folder(self.target, self.dev, step.path))
        found = rootfs.status(folder, step.path)
        if found is not None and number_of(found) == step.number:
            exact = (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (step.mode, step.uid, step.gid)
            if exact or step.path in self.bound:
                return
        raise RefusedError(
            f"{step.path} in the container is not the node that was made there; something in it changes its /dev meanwhile, "
            f"so look what that is and start the container again"
        )
