"""Edits from allotments: rootful, rootful with a user namespace, rootless."""

from __future__ import annotations

import pytest

from oci_udev_hook.edit import KEEP_GROUPS, CgroupRule, Edit, Group, Mount, Node, Variable
from oci_udev_hook.errors import ConfigurationError, HookError, UnavailableError, UsageError
from oci_udev_hook.frozen import replace
from oci_udev_hook.injection.edits import _default_variable, edits, in_time
from oci_udev_hook.injection.notes import notes
from oci_udev_hook.injection.placing import place
from oci_udev_hook.injection.rights import unusable
from oci_udev_hook.model import Allotment, Container, Device, DeviceNumber, DeviceType, HostNode, Request, Resource, Unit

FOO = Resource("hardware-vendor.example/foo", source="/etc/oci-udev-hook/resources.d/50-foo.toml")
DIALOUT = 20
NOBODY = 65534
MAP = ((0, 200000, 65536),)
ROOTFUL = Container("c" * 64, "web")
MAPPED = replace(ROOTFUL, user_namespace=True, uid_map=MAP, gid_map=MAP)
ROOTLESS = replace(ROOTFUL, rootless=True)
WITHOUT_LINKS = replace(FOO, links=False)


def number(minor: int, major: int = 188) -> DeviceNumber:
    return DeviceNumber(DeviceType.CHAR, major, minor)


def serial(minor: int = 0, *, links: tuple[str, ...] = (), node: HostNode | None = None, **properties: str) -> Device:
    """/dev/ttyUSB<MINOR>, as udev's own rules leave it."""
    name = f"ttyUSB{minor}"
    host = HostNode(0o660, 0, DIALOUT) if node is None else node
    return Device(
        f"/sys/devices/{name}", "tty", name, devnode=f"/dev/{name}", number=number(minor), properties=properties, links=links, node=host
    )


def seen_rootless(mode: int = 0o660, uid: int = NOBODY, gid: int = NOBODY, *, access: bool = True) -> HostNode:
    """A node as a rootless hook sees it."""
    return HostNode(mode, uid, gid, readable=access, writable=access)


def allotted(*devices: Device, resource: Resource = FOO) -> tuple[Allotment, ...]:
    units = tuple(Unit(resource.name, f"port:{device.sysname}", (), (device,)) for device in devices)
    return (Allotment(Request(resource.name, len(units)), resource, units),)


def given(container: Container, *devices: Device, resource: Resource = FOO) -> tuple[Edit, ...]:
    return changes(container, allotted(*devices, resource=resource))


def changes(container: Container, allotments: tuple[Allotment, ...]) -> tuple[Edit, ...]:
    return edits(container, allotments, place(container, allotments))


def noted(container: Container, *devices: Device, resource: Resource = FOO) -> tuple[str, ...]:
    """The notes on what CONTAINER gets."""
    allotments = allotted(*devices, resource=resource)
    return notes(container, place(container, allotments), changes(container, allotments))


def refused(container: Container, *devices: Device, resource: Resource = FOO) -> HookError:
    with pytest.raises(HookError) as caught:
        given(container, *devices, resource=resource)
    return caught.value


VARIABLE = "OCI_UDEV_HARDWARE_VENDOR_EXAMPLE_FOO"


@pytest.mark.parametrize("container", [ROOTFUL, MAPPED], ids=["rootful", "with a user namespace"])
def test_a_node_and_its_rule_come_as_a_pair(container: Container) -> None:
    """Case 8: a node without a rule gives "Operation not permitted", with a user namespace under runc as well."""
    assert given(container, serial(0), serial(1)) == (
        Node("/dev/ttyUSB0", number(0), 0o660, 0, DIALOUT),
        CgroupRule(number(0), "rw"),
        Node("/dev/ttyUSB1", number(1), 0o660, 0, DIALOUT),
        CgroupRule(number(1), "rw"),
        Variable(VARIABLE, "/dev/ttyUSB0,/dev/ttyUSB1"),
    )


LINKS = ("/dev/serial/by-id/usb-FTDI_A1B2-if00", "/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0", "/dev/zigbee")


def test_udevs_other_names_are_nodes_of_the_same_number() -> None:
    """Cases 5 and 40: OCI has no symlink entry, so a name made by SYMLINK+= or by-path is one more node that opens the same device."""
    found = given(ROOTFUL, serial(0, links=LINKS))

    assert [edit.path for edit in found if isinstance(edit, Node)] == ["/dev/ttyUSB0", *LINKS]
    assert {edit.number for edit in found if isinstance(edit, Node)} == {number(0)}
    assert [edit for edit in found if isinstance(edit, CgroupRule)] == [CgroupRule(number(0), "rw")]


def test_rootless_udevs_other_names_are_binds_of_the_same_node() -> None:
    """Cases 4, 5 and 40: the by-id name is there in a user namespace too."""
    found = given(ROOTLESS, serial(0, links=LINKS, node=seen_rootless(0o666)))

    assert found == (
        *[Mount("/dev/ttyUSB0", path, ("slave", "nosuid", "noexec", "rw", "rbind")) for path in ("/dev/ttyUSB0", *LINKS)],
        Variable(VARIABLE, "/dev/ttyUSB0"),
    )


def test_links_can_be_switched_off() -> None:
    """`links = false`."""
    assert [edit.path for edit in given(ROOTFUL, serial(0, links=LINKS), resource=WITHOUT_LINKS) if isinstance(edit, Node)] == [
        "/dev/ttyUSB0"
    ]


@pytest.mark.parametrize(
    "link",
    [
        pytest.param("/dev/ttyUSB0", id="the node itself"),
        pytest.param("/dev/ttyUSB0/x", id="below the node"),
        pytest.param("/dev/../etc/shadow", id="out of /dev"),
        pytest.param("/etc/shadow", id="not in /dev"),
        pytest.param("/dev/null", id="a device of the runtime's"),
        pytest.param("/dev/pts/0", id="a file system of the runtime's"),
        pytest.param("/dev/a\nb", id="two lines"),
        pytest.param("/dev//x", id="not normal"),
    ],
)
def test_a_link_that_leads_astray_is_left_out(link: str) -> None:
    """Links are made from a device's strings by whatever rules a host has."""
    assert [edit.path for edit in given(ROOTFUL, serial(0, links=(link,))) if isinstance(edit, Node)] == ["/dev/ttyUSB0"]


def test_a_link_of_two_devices_is_given_once() -> None:
    """The first of them has it."""
    found = given(ROOTFUL, serial(0, links=("/dev/gps",)), serial(1, links=("/dev/gps",)))

    assert [(edit.path, edit.number) for edit in found if isinstance(edit, Node)] == [
        ("/dev/ttyUSB0", number(0)),
        ("/dev/gps", number(0)),
        ("/dev/ttyUSB1", number(1)),
    ]


@pytest.mark.parametrize("path", ["/dev/iio:device0", "/dev/bsg/1:0:0:0", "/dev/my device"])
@pytest.mark.parametrize("container", [ROOTFUL, ROOTLESS], ids=["rootful", "rootless"])
def test_a_path_with_colons_is_given_as_it_is(path: str, container: Container) -> None:
    """Case 6: there is no `host:container:mode` to take apart."""
    device = replace(serial(0), devnode=path, node=HostNode(0o666, 0, 0))

    first = given(container, device)[0]

    assert isinstance(first, (Node, Mount))
    assert (first.path if isinstance(first, Node) else first.destination) == path


@pytest.mark.parametrize(
    ("container", "resource", "host", "expected"),
    [
        pytest.param(ROOTFUL, FOO, HostNode(0o660, 0, DIALOUT), (0o660, 0, DIALOUT), id="root: the host's group and mode"),
        pytest.param(ROOTFUL, FOO, HostNode(0o600, 1000, 1000), (0o600, 0, 1000), id="root owns, whoever does on the host"),
        pytest.param(
            replace(ROOTFUL, uid=1000, gid=1000), FOO, HostNode(0o660, 0, DIALOUT), (0o660, 1000, DIALOUT), id="the process's user owns"
        ),
        pytest.param(ROOTFUL, replace(FOO, uid=7, gid=8, mode=0o640), HostNode(0o660, 0, DIALOUT), (0o640, 7, 8), id="the definition says"),
        pytest.param(MAPPED, FOO, HostNode(0o660, 0, 70000), (0o660, 0, 0), id="a group that the user namespace has not"),
        pytest.param(MAPPED, replace(FOO, uid=70000), HostNode(0o660, 0, DIALOUT), (0o660, 0, DIALOUT), id="a user that it has not"),
    ],
)
def test_the_node_belongs_to_the_process(container: Container, resource: Resource, host: HostNode, expected: tuple[int, int, int]) -> None:
    """So that it opens without more rights; `podman exec` and health checks get it by group and mode."""
    node = given(container, serial(0, node=host), resource=resource)[0]

    assert isinstance(node, Node)
    assert (node.mode, node.uid, node.gid) == expected


@pytest.mark.parametrize(
    ("container", "resource", "groups"),
    [
        pytest.param(ROOTFUL, FOO, [], id="root needs none"),
        pytest.param(replace(ROOTFUL, uid=1000, gid=1000), FOO, [DIALOUT], id="others get the node's"),
        pytest.param(replace(ROOTFUL, uid=1000, gid=DIALOUT), FOO, [], id="its own group already"),
        pytest.param(replace(ROOTFUL, uid=1000, groups=(5, DIALOUT)), FOO, [], id="there already"),
        pytest.param(replace(ROOTFUL, uid=1000), replace(FOO, gid=44), [44], id="the definition's"),
        pytest.param(replace(ROOTFUL, uid=1000, gid=1000), replace(FOO, gid=0), [], id="never root's"),
        pytest.param(replace(MAPPED, uid=1000, gid=1000), FOO, [DIALOUT], id="with a user namespace"),
        pytest.param(replace(MAPPED, uid=1000, gid=1000, gid_map=((0, 200000, 10),)), FOO, [], id="a group that it has not"),
    ],
)
def test_a_process_that_is_not_root_gets_the_nodes_group(container: Container, resource: Resource, groups: list[int]) -> None:
    """One for all nodes."""
    found = given(container, serial(0), serial(1), resource=resource)

    assert [edit.gid for edit in found if isinstance(edit, Group)] == groups


@pytest.mark.parametrize(("permissions", "access", "option"), [("rw", "rw", "rw"), ("r", "r", "ro"), ("rwm", "rwm", "rw")])
def test_permissions_become_access_and_mount_option(permissions: str, access: str, option: str) -> None:
    """The resource has them in the kernel's order already."""
    resource = replace(FOO, permissions=permissions)
    mount = given(ROOTLESS, serial(0, node=seen_rootless(0o666)), resource=resource)[0]

    assert CgroupRule(number(0), access) in given(ROOTFUL, serial(0), resource=resource)
    assert isinstance(mount, Mount)
    assert mount.options == ("slave", "nosuid", "noexec", option, "rbind")


def test_a_path_counts_the_units_of_all_requests_of_the_resource() -> None:
    """`foo: 1` and `foo=SERIAL` speak of one resource."""
    resource = replace(FOO, path="/dev/zigbee{index}")
    both = allotted(serial(4), resource=resource) + allotted(serial(2), serial(7), resource=resource)

    found = changes(ROOTFUL, both)

    assert [(edit.path, edit.number.minor) for edit in found if isinstance(edit, Node)] == [
        ("/dev/zigbee0", 4),
        ("/dev/zigbee1", 2),
        ("/dev/zigbee2", 7),
    ]
    assert found[-1] == Variable(VARIABLE, "/dev/zigbee0,/dev/zigbee1,/dev/zigbee2")


def test_the_hosts_names_are_given_beside_a_path_of_the_definitions() -> None:
    """The node itself appears under the definition's path only."""
    resource = replace(FOO, path="/dev/zigbee")

    found = given(ROOTFUL, serial(0, links=("/dev/serial/by-id/x",)), resource=resource)

    assert [edit.path for edit in found if isinstance(edit, Node)] == ["/dev/zigbee", "/dev/serial/by-id/x"]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        pytest.param(
            "dev/{name}",
            'gives "dev/ttyUSB0" for /dev/ttyUSB0, which is no absolute path of a file without "//", "." and ".."',
            id="relative",
        ),
        pytest.param(
            "/dev/x/../y",
            'gives "/dev/x/../y" for /dev/ttyUSB0, which is no absolute path of a file without "//", "." and ".."',
            id="dot dot",
        ),
        pytest.param(
            "/dev/x/", 'gives "/dev/x/" for /dev/ttyUSB0, which is no absolute path of a file without "//", "." and ".."', id="a folder"
        ),
        pytest.param("/", 'gives "/" for /dev/ttyUSB0, which is no absolute path of a file without "//", "." and ".."', id="root"),
        pytest.param(
            "/dev/{EVIL}/x",
            'gives "/dev/../x" for /dev/ttyUSB0, which is no absolute path of a file without "//", "." and ".."',
            id="hostile",
        ),
        pytest.param(
            "/dev/{NULL}", 'gives "/dev/null" for /dev/ttyUSB0, where each container has a device of the runtime\'s, c 1:3', id="null"
        ),
        pytest.param("/proc/{name}", 'gives "/proc/ttyUSB0" for /dev/ttyUSB0, which belongs to the container\'s runtime', id="proc"),
        pytest.param("/dev/pts/0", 'gives "/dev/pts/0" for /dev/ttyUSB0, which belongs to the container\'s runtime', id="pts"),
        pytest.param("/dev", 'gives "/dev" for /dev/ttyUSB0, which belongs to the container\'s runtime', id="dev itself"),
        pytest.param("/dev/a\tb", 'gives "/dev/a\tb" for /dev/ttyUSB0, which holds characters that cannot be printed', id="tab"),
        pytest.param(
            "/dev/{ID_X}",
            "names {ID_X}, a udev property that /dev/ttyUSB0 has not; `udevadm info /dev/ttyUSB0` shows those it has",
            id="unknown",
        ),
    ],
)
def test_a_path_that_should_not_be_is_an_error_of_the_definition(path: str, problem: str) -> None:
    """Exit 78, with the definition's name and file."""
    error = refused(ROOTFUL, serial(0, EVIL="..", NULL="null"), resource=replace(FOO, path=path))

    assert isinstance(error, ConfigurationError)
    assert str(error) == f'hardware-vendor.example/foo (/etc/oci-udev-hook/resources.d/50-foo.toml): path "{path}" {problem}'


@pytest.mark.parametrize("path", ["/dev/" + "x" * 256, "/dev" + "/x" * 2100])
def test_a_path_that_no_kernel_takes_is_an_error_of_the_definition(path: str) -> None:
    """PATH_MAX and NAME_MAX."""
    assert str(refused(ROOTFUL, serial(0), resource=replace(FOO, path=path))).endswith("which is too long for a path")


def test_two_nodes_at_one_path_are_an_error_of_the_definition() -> None:
    """The sentence has the way out."""
    assert str(refused(ROOTFUL, serial(0), serial(1), resource=replace(FOO, path="/dev/zigbee"))) == (
        "hardware-vendor.example/foo (/etc/oci-udev-hook/resources.d/50-foo.toml): /dev/ttyUSB0 of hardware-vendor.example/foo and "
        "/dev/ttyUSB1 of hardware-vendor.example/foo would both appear at /dev/zigbee; {index} or {serial} in the path tells them apart"
    )


def test_a_node_where_another_needs_a_folder_is_an_error_of_the_definition() -> None:
    """A path cannot be both."""
    resource = replace(FOO, path="/dev/{WHERE}")
    other = replace(FOO, name="b.example/bar", path="/dev/a/b")
    both = allotted(serial(0, WHERE="a"), resource=resource) + allotted(serial(1), resource=other)

    with pytest.raises(ConfigurationError, match=r"/dev/ttyUSB0 would appear at /dev/a, where /dev/a/b needs a folder; change one path$"):
        changes(ROOTFUL, both)


def test_the_runtimes_own_device_may_be_asked_for() -> None:
    """A definition of /dev/null itself."""
    device = replace(serial(0), devnode="/dev/null", number=number(3, 1), node=HostNode(0o666, 0, 0))

    assert given(ROOTFUL, device)[0] == Node("/dev/null", number(3, 1), 0o666, 0, 0)


def test_a_node_that_has_gone_meanwhile_is_missed_in_a_sentence() -> None:
    """Between the survey and now."""
    error = refused(ROOTFUL, replace(serial(0), node=None))

    assert isinstance(error, UnavailableError)
    assert (
        str(error) == "/dev/ttyUSB0 of hardware-vendor.example/foo has gone since udev told of it; plug it in again and start the container"
    )


class TestVariables:
    """What the container's process is told."""

    def test_nothing_allotted_leaves_it_empty(self) -> None:
        """`missing = "skip"`: a program can tell that it asked and got none."""
        assert given(ROOTFUL) == (Variable(VARIABLE, ""),)

    def test_templates_replace_the_default(self) -> None:
        """In the definition's order."""
        resource = replace(FOO, env=(("PORTS", "{paths}"), ("MODELS", "{ID_MODEL}")))

        found = given(ROOTFUL, serial(0, ID_MODEL="a,b\nLD_PRELOAD=/x"), serial(1, ID_MODEL="c"), resource=resource)

        assert found[-2:] == (Variable("PORTS", "/dev/ttyUSB0,/dev/ttyUSB1"), Variable("MODELS", "a_b_LD_PRELOAD=/x,c"))

    def test_no_templates_means_no_variables(self) -> None:
        """`env = {}`."""
        assert not any(isinstance(edit, Variable) for edit in given(ROOTFUL, serial(0), resource=replace(FOO, env=())))

    def test_an_unknown_property_is_an_error_of_the_definition(self) -> None:
        """With the variable's name."""
        assert str(refused(ROOTFUL, serial(0), resource=replace(FOO, env=(("X", "{ID_X}"),)))) == (
            'hardware-vendor.example/foo (/etc/oci-udev-hook/resources.d/50-foo.toml): env X = "{ID_X}" names {ID_X}, '
            "a udev property that /dev/ttyUSB0 has not; `udevadm info /dev/ttyUSB0` shows those it has"
        )

    def test_two_resources_may_not_set_one_differently(self) -> None:
        """Their default names can be alike."""
        one, other = replace(FOO, name="a.example/b-c", source=""), replace(FOO, name="a.example/b_c", source="")

        with pytest.raises(ConfigurationError) as caught:
            changes(ROOTFUL, allotted(serial(0), resource=one) + allotted(serial(1), resource=other))

        assert str(caught.value) == (
            "a.example/b-c and a.example/b_c both set OCI_UDEV_A_EXAMPLE_B_C, to different values; give one of them an env of its own"
        )

    @pytest.mark.parametrize(
        ("resource", "name"), [("hardware-vendor.example/foo", VARIABLE), ("a.b/C.d_e", "OCI_UDEV_A_B_C_D_E"), ("a/ß", "OCI_UDEV_A_SS")]
    )
    def test_the_default_name_is_the_resources(self, resource: str, name: str) -> None:
        """Whole, in upper case, all but letters and digits as `_`."""
        assert _default_variable(resource) == name


def test_two_definitions_of_one_device_give_one_node() -> None:
    """The first one's ownership counts, both variables name it."""
    other = replace(FOO, name="b.example/bar", uid=7, permissions="r")

    found = changes(ROOTFUL, allotted(serial(0)) + allotted(serial(0), resource=other))

    assert found == (
        Node("/dev/ttyUSB0", number(0), 0o660, 0, DIALOUT),
        CgroupRule(number(0), "rw"),
        CgroupRule(number(0), "r"),
        Variable(VARIABLE, "/dev/ttyUSB0"),
        Variable("OCI_UDEV_B_EXAMPLE_BAR", "/dev/ttyUSB0"),
    )


class TestMountsOfTheContainer:
    """A node below a bind mount would be made on the host; crun would change the owner of one that is there."""

    def test_what_the_container_sees_already_is_only_opened(self) -> None:
        """`-v /dev:/dev`: the rule is all that is missing."""
        container = replace(ROOTFUL, binds=(("/dev", "/dev"),))

        assert given(container, serial(0, links=LINKS)) == (CgroupRule(number(0), "rw"), Variable(VARIABLE, "/dev/ttyUSB0"))

    def test_rootless_nothing_is_missing(self) -> None:
        """The same with a bind of the node itself."""
        container = replace(ROOTLESS, binds=(("/dev/ttyUSB0", "/dev/ttyUSB0"),))

        assert given(container, serial(0, node=seen_rootless(0o666))) == (Variable(VARIABLE, "/dev/ttyUSB0"),)

    def test_links_may_be_seen_and_the_node_not(self) -> None:
        """`-v /dev/serial:/dev/serial`: the host's links lead to the container's own node."""
        container = replace(ROOTFUL, binds=(("/dev/serial", "/dev/serial"),))

        assert [edit.path for edit in given(container, serial(0, links=LINKS)) if isinstance(edit, Node)] == ["/dev/ttyUSB0", "/dev/zigbee"]

    @pytest.mark.parametrize("container", [ROOTFUL, ROOTLESS], ids=["rootful", "rootless"])
    def test_a_path_that_would_be_made_on_the_host_is_refused(self, container: Container) -> None:
        """The sentence names the mount."""
        error = refused(replace(container, binds=(("/dev", "/dev"),)), serial(0), resource=replace(FOO, path="/dev/zigbee{index}"))

        assert isinstance(error, UsageError)
        assert str(error) == (
            "web mounts the host's /dev at /dev, so /dev/zigbee0, where /dev/ttyUSB0 of hardware-vendor.example/foo is to appear, "
            "would be made on the host; take that mount out or mount less"
        )

    def test_a_mount_beside_it_does_not_matter(self) -> None:
        """/dev/ttyUSB is no folder of /dev/ttyUSB0."""
        container = replace(ROOTFUL, binds=(("/dev/ttyUSB", "/srv"), ("/data", "/dev")))

        assert given(container, serial(0))[0] == Node("/dev/ttyUSB0", number(0), 0o660, 0, DIALOUT)


class TestGroupsOfTheUser:
    """Case 9: rootless, the node is crw-rw---- nobody nogroup, and the user is in its group."""

    @pytest.mark.parametrize(
        ("container", "host", "kept"),
        [
            pytest.param(ROOTLESS, seen_rootless(), True, id="by group"),
            pytest.param(ROOTLESS, seen_rootless(0o666), False, id="open to all"),
            pytest.param(ROOTLESS, seen_rootless(0o600, 0), False, id="the user's own"),
            pytest.param(ROOTLESS, seen_rootless(0o600, 0, 0), False, id="the user's own, of the user's group"),
            pytest.param(replace(ROOTLESS, groups=(1, 2, 10)), seen_rootless(), True, id="root of an image with groups"),
            pytest.param(
                replace(ROOTLESS, uid=1000, gid=1000, groups=(1000,)), seen_rootless(), True, id="another user, podman's own list"
            ),
            pytest.param(replace(ROOTLESS, uid=1000, gid=1000, groups=(1000, 44)), seen_rootless(), False, id="another user with groups"),
            pytest.param(replace(ROOTLESS, uid=1000, uid_map=((1000, 0, 1),)), seen_rootless(0o600, 0), False, id="keep-id: the user"),
            pytest.param(replace(ROOTLESS, uid=NOBODY, gid=NOBODY), seen_rootless(), True, id="nobody is not the node's owner"),
        ],
    )
    def test_they_are_kept_where_the_node_needs_one(self, container: Container, host: HostNode, kept: bool) -> None:
        """crun's annotation; it leaves out the container's own groups, which must not be missed."""
        assert (KEEP_GROUPS in given(container, serial(0, node=host))) == kept

    def test_once_for_all_nodes(self) -> None:
        """Beside nodes that need none."""
        found = given(ROOTLESS, serial(0, node=seen_rootless(0o666)), serial(1, node=seen_rootless()), serial(2, node=seen_rootless()))

        assert [edit for edit in found if edit == KEEP_GROUPS] == [KEEP_GROUPS]

    def test_rootful_containers_need_none(self) -> None:
        """They have nodes of their own."""
        assert KEEP_GROUPS not in given(ROOTFUL, serial(0, node=seen_rootless()))


class TestRights:
    """Rootless, the user's own rights are the limit."""

    @pytest.mark.parametrize(
        ("container", "host", "permissions", "reason"),
        [
            pytest.param(ROOTFUL, seen_rootless(0, access=False), "rw", None, id="rootful: no question"),
            pytest.param(ROOTLESS, seen_rootless(), "rw", None, id="by group"),
            pytest.param(ROOTLESS, HostNode(0o664, NOBODY, NOBODY, readable=True, writable=False), "r", None, id="reading is enough"),
            pytest.param(ROOTLESS, seen_rootless(access=False), "m", None, id="nobody makes nodes"),
            pytest.param(
                ROOTLESS,
                seen_rootless(access=False),
                "rw",
                "/dev/ttyUSB0 is crw-rw---- 65534:65534 and you may not read and write it: join its group (`ls -l` names it) "
                'and log in anew, or let a udev rule give it to you (MODE=, GROUP=, or TAG+="uaccess")',
                id="no rights",
            ),
            pytest.param(
                ROOTLESS,
                HostNode(0o664, NOBODY, NOBODY, readable=True, writable=False),
                "rw",
                "/dev/ttyUSB0 is crw-rw-r-- 65534:65534 and you may not write it: join its group (`ls -l` names it) "
                'and log in anew, or let a udev rule give it to you (MODE=, GROUP=, or TAG+="uaccess")',
                id="no right to write",
            ),
            pytest.param(
                ROOTLESS,
                HostNode(0o640, NOBODY, NOBODY, readable=False, writable=False),
                "rw",
                "/dev/ttyUSB0 is crw-r----- 65534:65534 and you may not read and write it: "
                'let a udev rule give it to you (MODE=, GROUP=, or TAG+="uaccess")',
                id="its group may not write either",
            ),
            pytest.param(
                ROOTLESS,
                HostNode(0o660, NOBODY, 0, readable=False, writable=False),
                "r",
                "/dev/ttyUSB0 is crw-rw---- 65534:0 and you may not read it: "
                'let a udev rule give it to you (MODE=, GROUP=, or TAG+="uaccess")',
                id="its group is root's",
            ),
            pytest.param(
                replace(ROOTLESS, uid=1000, gid=1000),
                seen_rootless(0o600, 0),
                "rw",
                "/dev/ttyUSB0 is crw------- 0:65534, whose owner you are, but the container's process is user 1000 and may not "
                "read and write it: start the container with --userns=keep-id or as root inside, or let a udev rule give the node "
                "to a group of yours",
                id="the user's, but the process is another",
            ),
            pytest.param(
                replace(ROOTLESS, uid=1000, uid_map=((0, 1, 1000), (1000, 0, 1))), seen_rootless(0o600, 0), "rw", None, id="keep-id"
            ),
            pytest.param(replace(ROOTLESS, uid=1000, gid=1000), seen_rootless(0o606, 0), "rw", None, id="open to others"),
            pytest.param(
                replace(ROOTLESS, uid=1000, gid=1000, groups=(44,), keeps_groups=True), seen_rootless(), "rw", None, id="keep-groups"
            ),
            pytest.param(replace(ROOTLESS, uid=1000, gid=5), seen_rootless(0o660, 0, 5), "rw", None, id="the process's own group"),
            pytest.param(
                replace(ROOTLESS, uid=1000, gid=1000, groups=(1000, 44)),
                seen_rootless(),
                "rw",
                "/dev/ttyUSB0 is crw-rw---- 65534:65534 and your right to read and write it comes from a group of yours, but the "
                "container's process, user 1000, has groups of its own (44) that it would lose with yours: leave those out "
                "(--group-add) or run it as root inside",
                id="groups on both sides",
            ),
        ],
    )
    def test_a_unit_that_would_not_open_is_unusable(
        self, container: Container, host: HostNode, permissions: str, reason: str | None
    ) -> None:
        """The reason has the node as `ls -l` shows it, and the way out."""
        (allotment,) = allotted(serial(0, node=host))

        assert unusable(container, allotment.units[0], replace(FOO, permissions=permissions)) == reason

    def test_a_disk_is_shown_as_one(self) -> None:
        """b, not c."""
        disk = replace(serial(0, node=seen_rootless(access=False)), devnode="/dev/sda", number=DeviceNumber(DeviceType.BLOCK, 8, 0))

        reason = unusable(ROOTLESS, allotted(disk)[0].units[0], FOO)

        assert reason is not None
        assert reason.startswith("/dev/sda is brw-rw---- 65534:65534 and you may not")


class TestNotes:
    """What the edits do not show."""

    def test_a_rootful_container_has_none(self) -> None:
        """There is nothing to say."""
        assert noted(ROOTFUL, serial(0)) == ()

    def test_crun_keeps_groups_and_runc_does_not(self) -> None:
        """Case 9: the way out is said."""
        (note,) = noted(ROOTLESS, serial(0, node=seen_rootless()))

        assert note == (
            "/dev/ttyUSB0 is crw-rw---- 65534:65534, which you may use by a group of yours or an access list: crun keeps your "
            "groups for the container, runc does not; start it with --runtime crun, or let a udev rule give you the node itself "
            '(OWNER=, MODE=, or TAG+="uaccess")'
        )

    def test_groups_that_crun_leaves_out_are_named(self) -> None:
        """Of an image whose root has some."""
        assert noted(replace(ROOTLESS, groups=(1, 10)), serial(0, node=seen_rootless()))[-1] == (
            "the container keeps your groups for its devices, so crun leaves out its image's own (1, 10)"
        )

    def test_a_bound_node_keeps_the_hosts_owner(self) -> None:
        """What the definition sets cannot be had."""
        resource = replace(FOO, uid=1, mode=0o600)

        (note,) = noted(ROOTLESS, serial(0, node=seen_rootless(0o666)), resource=resource)

        assert note == (
            "hardware-vendor.example/foo (/etc/oci-udev-hook/resources.d/50-foo.toml) sets uid, mode, "
            "which a rootless container cannot have: its node is the host's, with the host's owner and mode"
        )

    def test_nothing_enforces_reading_only(self) -> None:
        """A read-only bind mount does not: the kernel asks that of files and folders only."""
        resource = replace(FOO, permissions="r")

        (note,) = noted(ROOTLESS, serial(0, node=seen_rootless(0o666)), resource=resource)

        assert note == (
            "hardware-vendor.example/foo (/etc/oci-udev-hook/resources.d/50-foo.toml) gives r only, which nothing enforces rootless: "
            "there is no device cgroup, so your own rights count"
        )

    def test_runc_binds_the_hosts_node_into_a_user_namespace(self) -> None:
        """With the host's owner and mode."""
        (note,) = noted(MAPPED, serial(0))

        assert note == (
            "crun gives the container a /dev/ttyUSB0 of its own in its user namespace, but runc binds the host's, crw-rw---- 0:20, "
            "whose owner and group are nobody there, so that its process may not open it: use crun, or let a udev rule give the node "
            'MODE="0666"'
        )

    def test_runc_has_no_node_of_another_name_there(self) -> None:
        """It binds the host's file of the container's path."""
        (note,) = noted(MAPPED, serial(0), resource=replace(FOO, path="/dev/zigbee", source=""))

        assert note == (
            "crun makes /dev/zigbee in the container's user namespace, but runc binds the host's file of that path, and there is none: "
            "use crun, or leave path out of hardware-vendor.example/foo"
        )

    def test_a_node_open_to_all_needs_no_note(self) -> None:
        """Both runtimes do."""
        assert noted(MAPPED, serial(0, node=HostNode(0o666, 0, 0))) == ()


class TestACreatedContainer:
    """createRuntime comes too late for its process's environment and groups."""

    def test_it_is_given_nodes_and_rules_and_told_of_the_rest(self) -> None:
        container = replace(ROOTFUL, created=True, uid=1000)
        allotments = allotted(serial(0))
        possible, late = in_time(container, changes(container, allotments))

        assert possible == (Node("/dev/ttyUSB0", number(0), 0o660, 1000, DIALOUT), CgroupRule(number(0), "rw"))
        assert late == (Group(DIALOUT), Variable(VARIABLE, "/dev/ttyUSB0"))
        variable, group = notes(container, place(container, allotments), possible, late)
        assert variable == (
            f"{VARIABLE} cannot be set for a container that is created already, so it must know where its devices are; "
            "podman's precreate hook, where it is installed, sets variables too"
        )
        assert group == (
            "the container's process, user 1000, cannot be given the group 20 of its devices any more; "
            "podman's precreate hook, where it is installed, adds groups too"
        )

    def test_one_that_is_not_is_given_all(self) -> None:
        found = given(ROOTFUL, serial(0))

        assert in_time(ROOTFUL, found) == (found, ())

    def test_its_nodes_in_a_user_namespace_are_its_own_whatever_the_runtime(self) -> None:
        """The hook makes them itself, so there is nothing to say of runc."""
        allotments = allotted(serial(0))
        possible, _ = in_time(replace(MAPPED, created=True), changes(MAPPED, allotments))

        assert notes(replace(MAPPED, created=True), place(MAPPED, allotments), possible) == ()

    @pytest.mark.parametrize(("keeps", "usable"), [(False, False), (True, True)], ids=["groups dropped", "groups kept"])
    def test_rootless_a_right_from_a_group_needs_the_groups_kept(self, keeps: bool, usable: bool) -> None:
        """Case 9: crun is asked for them before it starts, or never."""
        container = replace(ROOTLESS, created=True, keeps_groups=keeps)
        reason = unusable(container, Unit(FOO.name, "port:x", (), (serial(0, node=seen_rootless()),)), FOO)

        assert reason == (
            None
            if usable
            else "/dev/ttyUSB0 is crw-rw---- 65534:65534 and your right to read and write it comes from a group of yours, "
            "which a container that is created already cannot be given: start it with --group-add keep-groups and crun, "
            "or let podman run the precreate hook, which asks crun for it"
        )
