"""The cgroups of a container's own are found from what /proc says, whatever runtime, engine and hierarchy made them."""

from __future__ import annotations

import pytest

from oci_udev_hook.errors import ConfigurationError
from oci_udev_hook.injection import levels

ID = "64a769e9376a65820af5a0df9ae373fd10c3cecfc24c2aaa595cf4921f1c3557"
POD = "e51b31ca131d2a3f56d3f1359be500bf980c3f8b9b5de6d21431a50ea6aa6b0d"
#: What /proc/self/mountinfo shows of a machine: its root, sysfs, and the cgroup file systems.
ROOT = "23 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n24 23 0:21 / /sys rw,nosuid,nodev shared:2 - sysfs sysfs rw\n"
TMPFS = "31 24 0:28 / /sys/fs/cgroup rw,relatime shared:3 - tmpfs tmpfs rw,mode=755\n"
CPU = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:4 - cgroup cgroup rw,cpu,cpuacct\n"
DEVICES = "36 31 0:33 / /sys/fs/cgroup/devices rw,relatime shared:5 - cgroup cgroup rw,devices\n"
UNIFIED = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:6 - cgroup2 cgroup2 rw\n"
V1 = ROOT + TMPFS + CPU + DEVICES
V2 = ROOT + "31 24 0:28 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:3 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
HYBRID = V1 + UNIFIED
FOLDERS = {1: "/sys/fs/cgroup/devices", 2: "/sys/fs/cgroup"}


def owned(cgroup: str, mountinfo: str, cgroups_path: str = "", container: str = ID) -> list[str]:
    """The levels, each as `VERSION FOLDER`."""
    return [f"{level.version} {level.folder}" for level in levels.levels(cgroup, mountinfo, cgroups_path, container)]


def v1(path: str) -> str:
    """/proc/PID/cgroup of a process on cgroup v1 alone."""
    return f"12:pids:{path}\n5:devices:{path}\n4:memory:/other\n3:cpu,cpuacct:{path}\n1:name=systemd:{path}\n0::/\n"


def v2(path: str) -> str:
    """The same on cgroup v2 alone."""
    return f"0::{path}\n"


#: Where the process is, `linux.cgroupsPath`, the container's id, and the owned levels.
PLACES = [
    pytest.param(f"/libpod_parent/libpod-{ID}", f"/libpod_parent/libpod-{ID}", ID, [f"/libpod_parent/libpod-{ID}"], id="podman, cgroupfs"),
    pytest.param(
        f"/libpod_parent/{POD}/libpod-{ID}",
        f"/libpod_parent/{POD}/libpod-{ID}",
        ID,
        [f"/libpod_parent/{POD}/libpod-{ID}"],
        id="podman, cgroupfs, the pod's cgroup is not the container's",
    ),
    pytest.param(
        f"/machine.slice/libpod-{ID}.scope/container",
        f"machine.slice:libpod:{ID}",
        ID,
        [f"/machine.slice/libpod-{ID}.scope", f"/machine.slice/libpod-{ID}.scope/container"],
        id="podman, systemd, crun",
    ),
    pytest.param(
        f"/machine.slice/libpod-{ID}.scope",
        f"machine.slice:libpod:{ID}",
        ID,
        [f"/machine.slice/libpod-{ID}.scope"],
        id="podman, systemd, runc",
    ),
    pytest.param(
        f"/machine.slice/machine-libpod_pod_{POD}.slice/libpod-{ID}.scope/container",
        f"machine-libpod_pod_{POD}.slice:libpod:{ID}",
        ID,
        [
            f"/machine.slice/machine-libpod_pod_{POD}.slice/libpod-{ID}.scope",
            f"/machine.slice/machine-libpod_pod_{POD}.slice/libpod-{ID}.scope/container",
        ],
        id="podman, systemd, the pod's slice is not the container's",
    ),
    pytest.param(
        f"/machine.slice/libpod-{ID}.scope/container/init.scope",
        f"machine.slice:libpod:{ID}",
        ID,
        [
            f"/machine.slice/libpod-{ID}.scope",
            f"/machine.slice/libpod-{ID}.scope/container",
            f"/machine.slice/libpod-{ID}.scope/container/init.scope",
        ],
        id="systemd in the container",
    ),
    pytest.param(
        f"/system.slice/web.service/libpod-payload-{ID}",
        f"/system.slice/web.service/libpod-payload-{ID}",
        ID,
        [f"/system.slice/web.service/libpod-payload-{ID}"],
        id="podman, --cgroups=split",
    ),
    pytest.param("/libpod_parent/conmon", "", ID, [], id="podman, --cgroups=disabled"),
    pytest.param(f"/machine.slice/libpod-conmon-{ID}.scope", "", ID, [], id="the monitor's scope, which has the id in its name"),
    pytest.param("/system.slice/podman.service", f"/libpod_parent/libpod-{ID}", ID, [], id="not where its config says"),
    pytest.param(
        f"/kubepods.slice/kubepods-pod1.slice/crio-{ID}.scope",
        f"kubepods-pod1.slice:crio:{ID}",
        ID,
        [f"/kubepods.slice/kubepods-pod1.slice/crio-{ID}.scope"],
        id="CRI-O, systemd",
    ),
    pytest.param(f"/kubepods/pod1/crio-{ID}", f"/kubepods/pod1/crio-{ID}", ID, [f"/kubepods/pod1/crio-{ID}"], id="CRI-O, cgroupfs"),
    pytest.param("/my-id", "", "my-id", ["/my-id"], id="runc and crun without cgroupsPath"),
    pytest.param("/user.slice/my-id", "", "my-id", ["/user.slice/my-id"], id="the same below the caller's cgroup"),
    pytest.param("/system.slice/runc-my-id.scope", "", "my-id", ["/system.slice/runc-my-id.scope"], id="runc, systemd, no cgroupsPath"),
    pytest.param(
        "/system.slice/crun-my-id.scope/container",
        "",
        "my-id",
        ["/system.slice/crun-my-id.scope", "/system.slice/crun-my-id.scope/container"],
        id="crun, systemd, no cgroupsPath",
    ),
    pytest.param("/:youki:my-id", "", "my-id", ["/:youki:my-id"], id="youki without cgroupsPath"),
    pytest.param("/user.slice/session-3.scope", "", "3", [], id="a short id that another's name has by chance"),
    pytest.param(f"/engine_{ID}.work", "", ID, [f"/engine_{ID}.work"], id="a long id in an unknown runtime's name"),
    pytest.param("/rel/x", "rel/x", ID, ["/rel/x"], id="relative cgroupsPath"),
    pytest.param("/own/rel/x/sub", "./rel/x/", ID, ["/own/rel/x", "/own/rel/x/sub"], id="relative, below the caller's cgroup"),
    pytest.param("/rel/y", "rel/x", ID, [], id="relative, elsewhere"),
    pytest.param("/test/session/test", "test", ID, ["/test/session/test"], id="the caller's cgroup has the same name"),
    pytest.param("/test", "/test/../test//", ID, ["/test"], id="cgroupsPath that is not plain"),
    pytest.param("/tester", "/test", ID, [], id="a name that only begins alike"),
    pytest.param("/a/b", "/a/b/c", ID, [], id="above its cgroupsPath"),
    pytest.param("/", "/", ID, [], id="cgroupsPath is the root"),
    pytest.param("/system.slice", "/", ID, [], id="below the root that cgroupsPath names"),
    pytest.param("/", "", ID, [], id="in the root"),
    pytest.param(
        "/machine.slice:libpod:abc", "machine.slice:libpod:abc", ID, ["/machine.slice:libpod:abc"], id="systemd's form, cgroupfs runtime"
    ),
    pytest.param("/system.slice/-abc.scope", "system.slice::abc", ID, ["/system.slice/-abc.scope"], id="empty prefix, runc"),
    pytest.param("/system.slice/abc.scope", "system.slice::abc", ID, ["/system.slice/abc.scope"], id="empty prefix, crun"),
    pytest.param(
        "/system.slice/_memory.scope", "system.slice::memory", ID, ["/system.slice/_memory.scope"], id="name that systemd escapes"
    ),
    pytest.param("/a.slice/a-b.slice", "a.slice:x:a-b.slice", ID, ["/a.slice/a-b.slice"], id="slice as the unit"),
    pytest.param(
        "/system.slice/one.scope/container",
        "one",
        ID,
        ["/system.slice/one.scope", "/system.slice/one.scope/container"],
        id="crun, bare name",
    ),
    pytest.param(f"/kubepods/pod:1/a:b:{ID}", f"/kubepods/pod:1/a:b:{ID}", ID, [f"/kubepods/pod:1/a:b:{ID}"], id='":" in the path'),
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("path", "cgroups_path", "container", "expected"), PLACES)
def test_a_container_owns_its_cgroup_and_what_is_below(
    path: str, cgroups_path: str, container: str, expected: list[str], version: int
) -> None:
    """Case 32 among them: the path may have ":" in it."""
    cgroup, mountinfo = (v1(path), V1) if version == 1 else (v2(path), V2)

    assert owned(cgroup, mountinfo, cgroups_path, container) == [f"{version} {FOLDERS[version]}{level}" for level in expected]


@pytest.mark.parametrize(
    ("cgroup", "expected"),
    [
        pytest.param("5:devices:/c\n0::/c\n", ["1 /sys/fs/cgroup/devices/c", "2 /sys/fs/cgroup/unified/c"], id="in both"),
        pytest.param("5:devices:/c\n0::/\n", ["1 /sys/fs/cgroup/devices/c"], id="only in v1"),
        pytest.param("5:devices:/\n0::/c\n", ["2 /sys/fs/cgroup/unified/c"], id="only in v2"),
        pytest.param("5:cpu:/c\n1:name=devices:/c\n", [], id="no hierarchy that decides on devices"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_on_a_hybrid_host_both_hierarchies_count(cgroup: str, expected: list[str]) -> None:
    assert owned(cgroup, HYBRID, "/c") == expected


@pytest.mark.parametrize(
    ("cgroup", "mountinfo", "expected"),
    [
        pytest.param(
            "5:devices,freezer:/c\n",
            ROOT + TMPFS + "36 31 0:33 / /sys/fs/cgroup/devices,freezer rw - cgroup cgroup rw,devices,freezer\n",
            ["1 /sys/fs/cgroup/devices,freezer/c"],
            id="controllers mounted together",
        ),
        pytest.param(
            "5:devices:/docker/x/c\n",
            ROOT + TMPFS + "36 31 0:33 /docker/x /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n",
            ["1 /sys/fs/cgroup/devices/c"],
            id="the mount shows a part of the hierarchy",
        ),
        pytest.param(
            "5:devices:/docker/x/c\n",
            V1 + "50 23 0:33 /docker/x /mnt rw - cgroup cgroup rw,devices\n",
            ["1 /mnt/c"],
            id="of two mounts, the one that the runtime's path begins at",
        ),
        pytest.param(
            "0::/../c\n",
            ROOT + "31 24 0:28 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ["2 /sys/fs/cgroup/c"],
            id="in a cgroup namespace, whose parent is mounted",
        ),
        pytest.param(
            "0::/c\n",
            ROOT + r"31 23 0:28 / /my\040cgroup\134s rw - cgroup2 cgroup2 rw" + "\n",
            ["2 /my cgroup\\s/c"],
            id="mount point with a space and a backslash",
        ),
        pytest.param(
            "0::/c\n",
            HYBRID + "60 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ["2 /sys/fs/cgroup/c"],
            id="a mount that lies over others",
        ),
        pytest.param("0::/c\n", "1 1 0:1 / / rw - rootfs rootfs rw\n31 1 0:28 / /cg rw - cgroup2 none rw\n", ["2 /cg/c"], id="initramfs"),
        pytest.param("0::/c\n", "31 7 0:28 / /cg rw - cgroup2 none rw\n", ["2 /cg/c"], id="root that is no mount"),
        pytest.param("0::/c\n", "31 7 0:28 / / rw - cgroup2 none rw\n", ["2 /c"], id="mounted at the root"),
    ],
)
def test_a_level_is_where_a_mount_shows_it(cgroup: str, mountinfo: str, expected: list[str]) -> None:
    assert owned(cgroup, mountinfo, "/c") == expected


@pytest.mark.parametrize(
    ("cgroup", "mountinfo", "version"),
    [
        pytest.param("0::/c\n", ROOT, 2, id="not mounted"),
        pytest.param("5:devices:/c\n", ROOT + TMPFS + CPU, 1, id="only other controllers are mounted"),
        pytest.param("5:devices:/c\n", V1 + "60 31 0:50 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", 1, id="another mount lies over it"),
        pytest.param("0::/c\n", ROOT + "31 24 0:28 /other /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", 2, id="the mount shows another part"),
    ],
)
def test_an_owned_cgroup_that_no_mount_shows_is_an_error(cgroup: str, mountinfo: str, version: int) -> None:
    with pytest.raises(ConfigurationError) as caught:
        owned(cgroup, mountinfo, "/c")

    assert str(caught.value) == (
        f"the container is in the cgroup /c, and no mount here shows cgroup v{version} as far as that; "
        "its engine must run where the cgroup file system is mounted"
    )


def test_a_hierarchy_that_is_not_mounted_does_not_matter_where_the_container_owns_nothing_in_it() -> None:
    assert owned("5:devices:/c\n0::/\n", V1, "/c") == ["1 /sys/fs/cgroup/devices/c"]


def test_a_level_keeps_the_path_that_proc_shows() -> None:
    mountinfo = ROOT + "31 24 0:28 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"

    assert levels.levels("0::/docker/x/c/sub\n", mountinfo, "/c", ID) == (
        levels.Level(2, "/docker/x/c", "/sys/fs/cgroup/c"),
        levels.Level(2, "/docker/x/c/sub", "/sys/fs/cgroup/c/sub"),
    )


@pytest.mark.parametrize(
    ("path", "cgroups_path", "expected"),
    [
        pytest.param(f"/machine.slice/libpod-{ID}.scope/container", f"machine.slice:libpod:{ID}", f"libpod-{ID}.scope", id="crun"),
        pytest.param(f"/machine.slice/libpod-{ID}.scope", f"machine.slice:libpod:{ID}", f"libpod-{ID}.scope", id="runc"),
        pytest.param("/system.slice/_memory.scope", "system.slice::memory", "memory.scope", id="escaped"),
        pytest.param("/one.scope", "-.slice::one", "one.scope", id="in the root slice"),
        pytest.param("/libpod_parent/c", "/libpod_parent/c", "", id="cgroupfs"),
        pytest.param("/libpod_parent/c/init.scope", "/libpod_parent/c", "", id="systemd in a container of cgroupfs"),
        pytest.param("/libpod_parent/c/system.slice/x.scope", "/libpod_parent/c", "", id="the same, another unit of it"),
        pytest.param("/libpod_parent/init.scope", "/libpod_parent/init.scope", "", id="cgroupfs, a name like a scope's"),
        pytest.param("/system.slice/web.service/libpod-payload-c", "/system.slice/web.service/libpod-payload-c", "", id="split"),
        pytest.param(
            f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope", f"user.slice:libpod:{ID}", "", id="a user's"
        ),
        pytest.param("/a.slice/a-b.slice", "a.slice:x:a-b.slice", "", id="slice"),
        pytest.param("/shared", "", "", id="no level"),
    ],
)
def test_the_scope_is_the_hosts_systemds_unit(path: str, cgroups_path: str, expected: str) -> None:
    assert levels.scope(levels.levels(v1(path), V1, cgroups_path, ID)) == expected
    assert levels.scope(levels.levels(v2(path), V2, cgroups_path, ID)) == expected


@pytest.mark.parametrize("path", ["../b3h", "b3h", "/b3h", "//b3h/", "./x/../b3h"])
def test_a_path_that_leads_out_is_cleaned_as_runtimes_do(path: str) -> None:
    """Runtimes keep each below the root."""
    assert owned(v2("/b3h"), V2, path, "c") == ["2 /sys/fs/cgroup/b3h"]


def test_the_seat_of_a_process_is_told_whosever_it_is() -> None:
    """`--cgroups=disabled`: the container sits in its engine's cgroup."""
    assert [f"{seat.version} {seat.folder}" for seat in levels.seats(v1("/session-3.scope"), HYBRID)] == [
        "1 /sys/fs/cgroup/devices/session-3.scope",
        "2 /sys/fs/cgroup/unified/",
    ]


def test_a_seat_that_no_mount_shows_is_left_out() -> None:
    assert levels.seats(v2("/x"), ROOT) == ()
