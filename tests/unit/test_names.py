"""Resource names are Kubernetes' extended resource names."""

from __future__ import annotations

import pytest

from oci_udev_hook import names


@pytest.mark.parametrize(
    "name",
    [
        "hardware-vendor.example/foo",
        "squat/a",
        "nvidia.com/gpu.shared",
        "a.b/Foo_bar-1.2",
        "0.1/2",
        "my-kubernetes.iot/x",
        "d" * names._DOMAIN_MAX + "/" + "k" * names._KIND_MAX,
    ],
)
def test_names_that_kubernetes_takes_are_taken(name: str) -> None:
    """No clause is given for a good name."""
    assert names.why_not(name) is None
    assert names.is_extended(name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("cpu", "it has no domain, a resource's name is DOMAIN/KIND as in hardware-vendor.example/foo", id="no domain"),
        pytest.param("", "it has no domain, a resource's name is DOMAIN/KIND as in hardware-vendor.example/foo", id="empty"),
        pytest.param("a.b/c/d", "it has more than one slash, a resource's name is DOMAIN/KIND", id="two slashes"),
        pytest.param("kubernetes.io/x", "kubernetes.io belongs to Kubernetes itself, take a domain of your own", id="kubernetes"),
        pytest.param("a.kubernetes.io/x", "kubernetes.io belongs to Kubernetes itself, take a domain of your own", id="below kubernetes"),
        pytest.param("requests.b/x", 'a domain that starts with "requests." is kept for Kubernetes\' quotas', id="quota"),
        pytest.param("/x", "there is no domain before the slash", id="empty domain"),
        pytest.param("d" * 245 + "/x", "the domain has 245 characters, at most 244 are possible", id="long domain"),
        pytest.param("a..b/x", 'the domain "a..b" has an empty part between its dots', id="empty label"),
        pytest.param("A.b/x", 'the domain "A.b" may hold only lower-case letters, digits, "-" and "."', id="upper-case domain"),
        pytest.param("é.b/x", 'the domain "é.b" may hold only lower-case letters, digits, "-" and "."', id="domain not ASCII"),
        pytest.param("a-.b/x", 'the domain "a-.b" has a part that starts or ends with "-"', id="hyphen ends a label"),
        pytest.param("a.b/", "there is no kind behind the slash", id="empty kind"),
        pytest.param("a.b/" + "k" * 64, "the kind has 64 characters, at most 63 are possible", id="long kind"),
        pytest.param("a.b/gpu=0", 'the kind "gpu=0" may hold only letters, digits, "-", "_" and "."', id="device of a CDI kind"),
        pytest.param("a.b/x\n", 'the kind "x\n" may hold only letters, digits, "-", "_" and "."', id="newline"),
        pytest.param("a.b/_x", 'the kind "_x" must start and end with a letter or a digit', id="underscore first"),
        pytest.param("a.b/x.", 'the kind "x." must start and end with a letter or a digit', id="dot last"),
    ],
)
def test_other_names_are_refused_with_the_reason(name: str, why: str) -> None:
    """Case 35: a bad name is refused as Kubernetes does, and the clause says why."""
    assert names.why_not(name) == why
    assert not names.is_extended(name)
