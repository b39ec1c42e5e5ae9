"""Edits into an OCI config and out again, the mark, and what createRuntime checks."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from oci_udev_hook.edit import KEEP_GROUPS, Annotation, CgroupRule, Edit, Group, Mount, Node, Variable
from oci_udev_hook.errors import UsageError
from oci_udev_hook.frozen import replace
from oci_udev_hook.injection import checks, config, mark
from oci_udev_hook.leases import Leased
from oci_udev_hook.model import DeviceNumber, DeviceType, Holder, Lease, LeaseState, Process

DATA = Path(__file__).parents[1] / "data" / "oci"
USB0 = DeviceNumber(DeviceType.CHAR, 188, 0)
FUSE = DeviceNumber(DeviceType.CHAR, 10, 229)
NODE = Node("/dev/ttyUSB0", USB0, 0o660, 0, 20)
LINK = replace(NODE, path="/dev/serial/by-id/usb-FTDI")
RULE = CgroupRule(USB0, "rw")
MOUNT = Mount("/dev/ttyUSB0", "/dev/ttyUSB0", ("slave", "nosuid", "noexec", "rw", "rbind"))
VARIABLE = Variable("OCI_UDEV_X", "/dev/ttyUSB0")
GROUP = Group(20)
ALL: tuple[Edit, ...] = (NODE, LINK, RULE, MOUNT, VARIABLE, GROUP, KEEP_GROUPS)
LEASED = Leased("hardware-vendor.example/foo", "serial:A1B2", frozenset({USB0}), ("/dev/ttyUSB0",))
MARK = mark.Mark("c" * 64, "b0071d", "web", (LEASED,), ())
DENY = {"allow": False, "access": "rwm"}
EVERYTHING = {"allow": True, "access": "rwm"}


def patched(before: dict[str, Any], *edits: Edit) -> dict[str, Any]:
    return config.patch(before, replace(MARK, edits=edits))


def refusal(before: dict[str, Any], *edits: Edit) -> str:
    with pytest.raises(UsageError) as caught:
        patched(before, *edits)
    return str(caught.value)


def test_each_edit_has_its_place() -> None:
    """In the words of the OCI runtime spec, behind what is there."""
    before = {
        "ociVersion": "1.0.2",
        "process": {"user": {"uid": 1000, "gid": 1000, "additionalGids": [1000]}, "env": ["PATH=/bin"], "args": ["sh"]},
        "mounts": [{"destination": "/dev", "type": "tmpfs", "source": "tmpfs"}],
        "linux": {"resources": {"devices": [DENY]}, "namespaces": []},
        "x-unknown": {"kept": True},
    }

    after = patched(before, *ALL)

    assert after.pop("annotations").keys() == {"run.oci.keep_original_groups", "io.oci-udev-hook.injected"}
    assert after == {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": 1000, "gid": 1000, "additionalGids": [1000, 20]},
            "env": ["PATH=/bin", "OCI_UDEV_X=/dev/ttyUSB0"],
            "args": ["sh"],
        },
        "mounts": [
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
            {
                "destination": "/dev/ttyUSB0",
                "type": "bind",
                "source": "/dev/ttyUSB0",
                "options": ["slave", "nosuid", "noexec", "rw", "rbind"],
            },
        ],
        "linux": {
            "resources": {"devices": [DENY, {"allow": True, "type": "c", "major": 188, "minor": 0, "access": "rw"}]},
            "namespaces": [],
            "devices": [
                {"path": "/dev/ttyUSB0", "type": "c", "major": 188, "minor": 0, "fileMode": 432, "uid": 0, "gid": 20},
                {"path": "/dev/serial/by-id/usb-FTDI", "type": "c", "major": 188, "minor": 0, "fileMode": 432, "uid": 0, "gid": 20},
            ],
        },
        "x-unknown": {"kept": True},
    }


SHAPES: list[dict[str, Any]] = [
    {},
    {"linux": {}, "process": {}},
    {"linux": None, "process": None, "mounts": None, "annotations": None},
    {"linux": {"devices": None, "resources": None}, "process": {"env": None, "user": None}, "annotations": {}},
    {"linux": {"devices": [], "resources": {"devices": []}}, "process": {"env": [], "user": {"additionalGids": None}}, "mounts": []},
    {"linux": {"resources": {"devices": None, "pids": {"limit": 5}}}, "process": {"user": {"additionalGids": [20]}}},
]


@pytest.mark.parametrize("before", SHAPES, ids=[json.dumps(shape) for shape in SHAPES])
def test_what_is_absent_or_null_is_made_and_unmade(before: dict[str, Any]) -> None:
    """Go writes null for an empty list of its own; taking the edits out leaves exactly what was there."""
    before = {"ociVersion": "1.0.2", **before}
    kept = copy.deepcopy(before)

    after = patched(before, *ALL)

    assert before == kept
    assert NODE.path in [entry["path"] for entry in after["linux"]["devices"]]
    assert patched(after, *ALL) == after
    assert config.unpatch(after) == kept


PODMAN = sorted(path for path in DATA.glob("podman-*.json") if not path.stem.endswith("containers"))


@pytest.mark.parametrize("path", PODMAN, ids=lambda path: path.stem)
def test_podmans_own_configs_survive_the_way_in_and_out(path: Path) -> None:
    """Twice in is once in; the bytes that come out are those of the same document."""
    before = json.loads(path.read_bytes())

    after = patched(before, *ALL)

    assert patched(after, *ALL) == after
    assert json.dumps(config.unpatch(after)) == json.dumps(before)


class TestRules:
    """Rules are only appended: crun's systemd driver refuses deny rules that would change anything."""

    @pytest.mark.parametrize(
        "rules",
        [
            pytest.param([DENY], id="podman's own list"),
            pytest.param([], id="none, as with a user namespace"),
            pytest.param([EVERYTHING, DENY], id="all, but denied after it"),
            pytest.param([DENY, {"allow": True, "type": "c", "major": 188, "minor": 0, "access": "r"}], id="less access"),
            pytest.param([DENY, {"allow": True, "type": "b", "major": 188, "minor": 0, "access": "rwm"}], id="another type"),
            pytest.param([DENY, {"allow": True, "type": "c", "major": 188, "minor": 1, "access": "rwm"}], id="another number"),
            pytest.param([DENY, {"allow": True, "type": "c", "major": 188, "minor": 0, "access": "rw"}, DENY], id="denied again"),
        ],
    )
    def test_a_rule_is_appended(self, rules: list[object]) -> None:
        """Behind the others, which stay."""
        after = patched({"linux": {"resources": {"devices": rules}}}, RULE)

        assert after["linux"]["resources"]["devices"] == [*rules, {"allow": True, "type": "c", "major": 188, "minor": 0, "access": "rw"}]

    @pytest.mark.parametrize(
        "rules",
        [
            pytest.param([EVERYTHING], id="privileged"),
            pytest.param([DENY, EVERYTHING], id="all behind the deny"),
            pytest.param([{"allow": True, "type": "a", "major": -1, "minor": -1, "access": "rwm"}], id="all, spelled out"),
            pytest.param([DENY, {"allow": True, "type": "c", "major": 188, "minor": None, "access": "wr"}], id="all of the major"),
            pytest.param([DENY, {"allow": True, "type": "c", "major": 188, "minor": 0, "access": "rw"}], id="the same"),
        ],
    )
    def test_a_rule_that_is_there_is_not_doubled(self, rules: list[object]) -> None:
        """And it stays when the edits are taken out."""
        before = {"linux": {"resources": {"devices": rules}}}

        after = patched(before, RULE)

        assert after["linux"]["resources"]["devices"] == rules
        assert config.unpatch(after) == before


class TestPlacesTaken:
    """Something is there already."""

    def test_the_same_device_gets_our_owner_and_gives_it_back(self) -> None:
        """`--privileged` has all nodes with the host's owner."""
        theirs = {"path": "/dev/ttyUSB0", "type": "c", "major": 188, "minor": 0, "fileMode": 8624, "uid": 0, "gid": 5}
        other = {"path": "/dev/fuse", "type": "c", "major": 10, "minor": 229}
        before = {"linux": {"devices": [theirs, other]}}

        after = patched(before, NODE)

        assert after["linux"]["devices"] == [config._node(NODE), other]
        assert config.unpatch(after) == before

    @pytest.mark.parametrize("path", ["/dev/ttyUSB0", "/dev//ttyUSB0", "/dev/./ttyUSB0/", "dev/ttyUSB0"])
    def test_another_device_at_the_path_is_refused(self, path: str) -> None:
        """However the path is spelled."""
        assert refusal({"linux": {"devices": [{"path": path, "type": "c", "major": 10, "minor": 229}]}}, NODE) == (
            "the container has another device at /dev/ttyUSB0, c 10:229, where c 188:0 is to appear; "
            "leave that --device out or give it another path"
        )

    @pytest.mark.parametrize(
        ("entry", "number"),
        [
            ({"path": "/dev/ttyUSB0", "type": "b", "major": 188, "minor": 0}, "b 188:0"),
            ({"path": "/dev/ttyUSB0", "type": "p"}, "p 0:0"),
            ({"path": "/dev/ttyUSB0"}, "None 0:0"),
        ],
    )
    def test_another_type_is_another_device(self, entry: dict[str, object], number: str) -> None:
        """A disk, a pipe, garbage."""
        assert refusal({"linux": {"devices": [entry]}}, NODE).startswith(
            f"the container has another device at /dev/ttyUSB0, {number}, where"
        )

    def test_an_unbuffered_device_is_the_same(self) -> None:
        """mknod's `u` is `c`."""
        after = patched({"linux": {"devices": [{"path": "/dev/ttyUSB0", "type": "u", "major": 188, "minor": 0}]}}, NODE)

        assert after["linux"]["devices"] == [config._node(NODE)]

    def test_a_mount_of_the_same_is_left_as_it_is(self) -> None:
        """The asker's own options count."""
        before = {"mounts": [{"destination": "/dev/ttyUSB0", "type": "bind", "source": "/dev/ttyUSB0", "options": ["bind"]}]}

        after = patched(before, MOUNT)

        assert after["mounts"] == before["mounts"]
        assert config.unpatch(after) == before

    def test_a_mount_of_another_thing_is_refused(self) -> None:
        """Both cannot be there."""
        assert refusal({"mounts": [{"destination": "/dev/ttyUSB0/", "source": "/srv/x"}]}, MOUNT) == (
            "the container has another mount at /dev/ttyUSB0, of /srv/x, where /dev/ttyUSB0 is to appear; "
            "leave that volume out or give it another path"
        )

    def test_a_variable_is_set_wherever_it_is(self) -> None:
        """Some programs take the first of two, some the last."""
        before = {"process": {"env": ["OCI_UDEV_X=1", "OCI_UDEV_XY=2", "OCI_UDEV_X", "OCI_UDEV_X=/dev/ttyUSB0"]}}

        after = patched(before, VARIABLE)

        assert after["process"]["env"] == ["OCI_UDEV_X=/dev/ttyUSB0", "OCI_UDEV_XY=2", "OCI_UDEV_X=/dev/ttyUSB0", "OCI_UDEV_X=/dev/ttyUSB0"]
        assert config.unpatch(after) == before

    def test_an_annotation_gives_its_old_value_back(self) -> None:
        """In its old place."""
        before = {"annotations": {"a": "1", "run.oci.keep_original_groups": "0", "b": "2"}}

        after = patched(before, KEEP_GROUPS)

        assert after["annotations"]["run.oci.keep_original_groups"] == "1"
        assert json.dumps(config.unpatch(after)) == json.dumps(before)

    def test_what_is_there_already_stays_when_the_edits_go(self) -> None:
        """All of it was the asker's."""
        before = {
            "annotations": {KEEP_GROUPS.key: KEEP_GROUPS.value},
            "process": {"env": ["OCI_UDEV_X=/dev/ttyUSB0"], "user": {"additionalGids": [20]}},
            "linux": {"devices": [config._node(NODE)], "resources": {"devices": [config._rule(RULE)]}},
        }

        assert config.unpatch(patched(before, NODE, RULE, VARIABLE, GROUP, KEEP_GROUPS)) == before


@pytest.mark.parametrize(
    ("before", "edit", "sentence"),
    [
        ({"linux": []}, NODE, "the container's config: linux is [], not an object"),
        ({"linux": {"devices": {}}}, NODE, "the container's config: linux.devices is {}, not a list"),
        ({"linux": {"resources": 5}}, RULE, "the container's config: linux.resources is 5, not an object"),
        ({"mounts": "x"}, MOUNT, 'the container\'s config: mounts is "x", not a list'),
        ({"process": {"env": "A=1"}}, VARIABLE, 'the container\'s config: process.env is "A=1", not a list'),
        ({"process": {"user": {"additionalGids": 20}}}, GROUP, "the container's config: process.user.additionalGids is 20, not a list"),
        ({"annotations": []}, NODE, "the container's config: annotations is [], not an object"),
    ],
)
def test_another_shape_than_ocis_is_refused(before: dict[str, Any], edit: Edit, sentence: str) -> None:
    """With place and value."""
    assert refusal(before, edit) == sentence


def test_what_others_changed_meanwhile_stays() -> None:
    """podman leaves empty lists out when it writes the config anew, and may add to it."""
    after = patched({"ociVersion": "1.0.2"}, *ALL)
    del after["linux"]["devices"]
    after["process"]["env"].append("LATER=1")
    after["mounts"] = [{"destination": "/x"}]

    assert config.unpatch(after) == {"ociVersion": "1.0.2", "process": {"env": ["LATER=1"]}, "mounts": [{"destination": "/x"}]}


def test_a_config_without_a_mark_is_left_as_it_is() -> None:
    """Nothing of it is the hook's."""
    before = {"linux": {"devices": [config._node(NODE)]}}

    assert config.mark_of(before) is None
    assert config.unpatch(before) == before


def test_the_mark_tells_whose_it_is_and_what_was_done() -> None:
    """It goes through JSON whole."""
    after = patched({"process": {"env": ["OCI_UDEV_X=1"]}, "linux": {"resources": {"devices": [EVERYTHING]}}}, *ALL)

    found = config.mark_of(json.loads(json.dumps(after)))

    assert found == mark.Mark(
        "c" * 64,
        "b0071d",
        "web",
        (LEASED,),
        ALL,
        mark.Undo(
            made={
                "linux.devices": "absent",
                "mounts": "absent",
                "process.user": "absent",
                "process.user.additionalGids": "absent",
                "annotations": "absent",
            },
            kept=(2,),
            was={4: ["OCI_UDEV_X=1"]},
        ),
    )


def test_the_marks_form_is_compact() -> None:
    """It is an annotation: one line."""
    text = patched({}, NODE, RULE)["annotations"]["io.oci-udev-hook.injected"]

    assert text == (
        '{"version":1,"container":"' + "c" * 64 + '","boot":"b0071d","name":"web",'
        '"leases":[{"resource":"hardware-vendor.example/foo","unit":"serial:A1B2","numbers":["c 188:0"],"nodes":["/dev/ttyUSB0"]}],'
        '"edits":[{"node":"/dev/ttyUSB0","number":"c 188:0","mode":432,"uid":0,"gid":20},{"rule":"c 188:0","access":"rw"}],'
        '"made":{"linux":"absent","linux.devices":"absent","linux.resources":"absent","linux.resources.devices":"absent","annotations":"absent"}}'
    )


def test_a_mark_is_made_from_leases() -> None:
    """Their holder is the container itself."""
    holder = Holder("c" * 64, "web", LeaseState.RESERVED, Process(1, 2), "b0071d", 0.0)
    lease = Lease(LEASED.resource, LEASED.unit, frozenset({FUSE, USB0}), LEASED.nodes, holder)

    assert mark.make("c" * 64, "b0071d", "web", (lease,), (NODE,)) == replace(
        MARK, leases=(replace(LEASED, numbers=frozenset({FUSE, USB0})),), edits=(NODE,)
    )


KEY = "io.oci-udev-hook.injected"
MADE_OF = "made is {{{}}}, not an object of places that edits make, each absent or null"
WHOLE: dict[str, Any] = {"version": 1, "container": "c", "boot": "b", "name": "n", "leases": [], "edits": []}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param("x", f"the config's annotation {KEY} is no JSON: Expecting value: line 1 column 1 (char 0)", id="garbage"),
        pytest.param("[]", f"the config's annotation {KEY} is no JSON object but []", id="a list"),
        pytest.param(
            "\ud800", f"the config's annotation {KEY} is no JSON: Expecting value: line 1 column 1 (char 0)", id="half a character"
        ),
        pytest.param({**WHOLE, "version": 2}, f"the config's annotation {KEY}: version is 2, and this program knows 1", id="newer"),
        pytest.param({**WHOLE, "boot": None}, f"the config's annotation {KEY}: boot is null, not a string", id="no boot"),
        pytest.param(
            {**WHOLE, "edits": [{"odd": 1}]}, f'the config\'s annotation {KEY}: edits[0] is {{"odd": 1}}, which is no edit', id="odd edit"
        ),
        pytest.param(
            {**WHOLE, "edits": [{"node": "/x", "rule": "c 1:1"}]},
            f'the config\'s annotation {KEY}: edits[0] is {{"node": "/x", "rule": "c 1:1"}}, which is no edit',
            id="two in one",
        ),
        pytest.param(
            {**WHOLE, "edits": [{"rule": "c 1:x", "access": "r"}]},
            f'the config\'s annotation {KEY}: edits[0].rule is "c 1:x", not a device number such as "c 188:0"',
            id="odd number",
        ),
        pytest.param(
            {**WHOLE, "edits": [{"mount": "/x", "source": "/dev/a\0b", "options": []}]},
            f'the config\'s annotation {KEY}: edits[0].source is "/dev/a\\u0000b", not a path',
            id="no path",
        ),
        pytest.param(
            {**WHOLE, "leases": [{"resource": "r", "unit": "u", "numbers": [], "nodes": ["\ud800"]}]},
            f'the config\'s annotation {KEY}: leases[0].nodes is ["\ud800"], not a list of paths',
            id="half a character in a node",
        ),
        pytest.param(
            {**WHOLE, "version": 10**4000},
            f"the config's annotation {KEY}: version is 1{'0' * 56}…, and this program knows 1",
            id="much newer",
        ),
    ],
)
def test_a_mark_that_cannot_be_read_is_refused(value: object, problem: str) -> None:
    """Its edits cannot be told from the asker's own."""
    text = json.dumps(value) if isinstance(value, dict) else value
    with pytest.raises(UsageError) as caught:
        config.mark_of({"annotations": {KEY: text}})

    assert str(caught.value) == f"{problem}; make the container anew, so that it gets a config without this mark"


EDITS = [mark.edit_as_json(edit) for edit in (NODE, VARIABLE, KEEP_GROUPS, GROUP)]


@pytest.mark.parametrize(
    ("undo", "problem"),
    [
        pytest.param({"kept": ["x"]}, 'kept is ["x"], not a list of whole numbers', id="kept: a text"),
        pytest.param({"kept": [True]}, "kept is [true], not a list of whole numbers", id="kept: true"),
        pytest.param({"kept": [4]}, "kept is [4], not a list of edits by their numbers", id="kept: no edit"),
        pytest.param({"kept": [-1]}, "kept is [-1], not a list of edits by their numbers", id="kept: negative"),
        pytest.param({"made": {"ociVersion": "absent"}}, MADE_OF.format('"ociVersion": "absent"'), id="made: a place of no edit's"),
        pytest.param({"made": {"linux": "x"}}, MADE_OF.format('"linux": "x"'), id="made: neither absent nor null"),
        pytest.param({"was": {"x": 1}}, 'was is {"x": 1}, not an object whose keys are numbers of edits', id="was: no number"),
        pytest.param({"was": {"4": 1}}, 'was is {"4": 1}, not an object whose keys are numbers of edits', id="was: no edit"),
        pytest.param({"was": {"00": 1}}, 'was is {"00": 1}, not an object whose keys are numbers of edits', id="was: another spelling"),
        pytest.param({"was": {"0": [1]}}, "was.0 is [1], not an object", id="was: a device is an object"),
        pytest.param({"was": {"0": {}}}, "was.0.path is missing, it must be a string", id="was: a device has a path"),
        pytest.param({"was": {"1": "A=1"}}, 'was.1 is "A=1", not a list', id="was: variables are a list"),
        pytest.param({"was": {"1": [5]}}, "was.1 is [5], not a list of strings", id="was: variables are strings"),
        pytest.param({"was": {"2": 1}}, "was.2 is 1, not a string", id="was: an annotation is a string"),
        pytest.param({"was": {"3": 1}}, "was.3 is 1, but edit 3 takes the place of nothing", id="was: of a group"),
    ],
)
def test_what_a_mark_would_put_back_must_be_of_ocis_shape(undo: dict[str, object], problem: str) -> None:
    """It is written into the config when the edits are taken out."""
    with pytest.raises(UsageError) as caught:
        config.unpatch({"annotations": {KEY: json.dumps({**WHOLE, "edits": EDITS, **undo})}})

    assert str(caught.value) == (
        f"the config's annotation {KEY}: {problem}; make the container anew, so that it gets a config without this mark"
    )


@pytest.mark.parametrize(
    ("annotations", "problem"),
    [([], "annotations is [], not an object"), ({KEY: 5}, f"annotations.{KEY} is 5, not a string")],
    ids=["a list", "a number"],
)
def test_annotations_of_another_shape_have_no_mark(annotations: object, problem: str) -> None:
    """They are no texts."""
    with pytest.raises(UsageError) as caught:
        config.mark_of({"annotations": annotations})

    assert str(caught.value) == f"the container's config: {problem}"


class TestChecks:
    """What createRuntime looks at before it confirms."""

    def test_a_config_that_has_all_edits_is_as_it_was_marked(self) -> None:
        """The usual case."""
        after = patched({}, *ALL)

        assert checks.changed(config.mark_of(after) or MARK, after) is None

    @pytest.mark.parametrize(
        ("edit", "change", "sentence"),
        [
            (
                NODE,
                {"linux": {"devices": [{"path": "/dev/ttyUSB0", "type": "c", "major": 188, "minor": 1}]}},
                "the container's config has c 188:1 at /dev/ttyUSB0, not the leased c 188:0; start the container again",
            ),
            (
                NODE,
                {"linux": None},
                "the container's config has nothing at /dev/ttyUSB0, not the leased c 188:0; start the container again",
            ),
            (
                MOUNT,
                {"mounts": [{"destination": "/dev/ttyUSB0", "source": "/dev/sda"}]},
                "the container's config has /dev/sda at /dev/ttyUSB0, not /dev/ttyUSB0; start the container again",
            ),
            (MOUNT, {"mounts": []}, "the container's config has nothing at /dev/ttyUSB0, not /dev/ttyUSB0; start the container again"),
            (
                replace(NODE, number=FUSE),
                {},
                "the config's mark gives c 10:229, which is not among its leases; make the container anew",
            ),
            (CgroupRule(FUSE, "r"), {}, "the config's mark gives c 10:229, which is not among its leases; make the container anew"),
            (
                replace(MOUNT, source="/dev/sda"),
                {},
                "the config's mark binds /dev/sda, which is not among its leases; make the container anew",
            ),
        ],
    )
    def test_a_config_with_another_device_is_not(self, edit: Edit, change: dict[str, object], sentence: str) -> None:
        """Whether somebody changed the config or the mark."""
        after = patched({}, edit)

        assert checks.changed(config.mark_of(after) or MARK, {**after, **change}) == sentence

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            ({"linux": []}, "the container's config: linux is [], not an object"),
            ({"linux": {"devices": [5]}}, "the container's config: linux.devices[0] is 5, not an object"),
            ({"mounts": {}}, "the container's config: mounts is {}, not a list"),
        ],
    )
    def test_a_config_of_another_shape_than_ocis_is_refused(self, change: dict[str, object], sentence: str) -> None:
        """In a sentence, not passed over."""
        with pytest.raises(UsageError) as caught:
            checks.changed(MARK, change)

        assert str(caught.value) == sentence

    @pytest.mark.parametrize(
        ("path", "is_now"),
        [
            ("/dev/null", "was c 188:0 when it was allotted and is c 1:3 now; start the container again"),
            ("/dev", "was c 188:0 when it was allotted and is no device now; start the container again"),
            (
                "/dev/none-of-that-name",
                "has gone since it was allotted (No such file or directory); plug it in again and start the container",
            ),
        ],
    )
    def test_a_host_whose_node_is_another_device_now_is_told(self, path: str, is_now: str) -> None:
        """Case 3's reason: a node's name is given to the next that comes."""
        leased = replace(MARK, leases=(replace(LEASED, nodes=(path,)),))

        assert checks.moved(leased) == f"{path}, unit serial:A1B2 of hardware-vendor.example/foo, {is_now}"

    def test_a_host_whose_node_is_the_leased_one_is_not(self) -> None:
        """The usual case."""
        null = replace(LEASED, nodes=("/dev/null",), numbers=frozenset({DeviceNumber(DeviceType.CHAR, 1, 3)}))

        assert checks.moved(replace(MARK, leases=(null,))) is None

    def test_a_disk_is_told_from_a_serial_line(self) -> None:
        """Type and number, both."""
        status = os.stat_result((0o060660, *[0] * 9), {"st_rdev": os.makedev(188, 0)})

        assert checks.moved(replace(MARK, leases=(LEASED,)), lambda _: status) == (
            "/dev/ttyUSB0, unit serial:A1B2 of hardware-vendor.example/foo, was c 188:0 when it was allotted and is b 188:0 now; "
            "start the container again"
        )


def test_other_annotations_are_edits_too() -> None:
    """Any that a runtime reads."""
    after = patched({}, Annotation("run.oci.x", "y"))

    assert after["annotations"]["run.oci.x"] == "y"
    assert config.unpatch(after) == {}
