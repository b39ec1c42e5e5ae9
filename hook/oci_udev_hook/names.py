"""Names of extended resources, as Kubernetes has them: `hardware-vendor.example/foo`.

The same name stands in a pod's limits and in a definition, so both are held to one rule: IsExtendedResourceName of
kubernetes/pkg/apis/core/v1/helper/helpers.go, which asks IsQualifiedName of `requests.` + the name.
"""

from __future__ import annotations

_DOMAIN_MAX = 253 - len("requests.")  #: Kubernetes puts `requests.` before the domain, which together is a DNS name
_KIND_MAX = 63

_LABEL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_KIND = _LABEL | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ_.")


def is_extended(name: str) -> bool:
    """Whether Kubernetes would take NAME for an extended resource."""
    return why_not(name) is None


def why_not(name: str) -> str | None:
    """Why NAME is no extended resource's name, a clause that follows on `…:`; None if it is one."""
    domain, slash, kind = name.partition("/")
    if not slash:
        return "it has no domain, a resource's name is DOMAIN/KIND as in hardware-vendor.example/foo"
    if "/" in kind:
        return "it has more than one slash, a resource's name is DOMAIN/KIND"
    if (domain + "/").endswith("kubernetes.io/"):
        return "kubernetes.io belongs to Kubernetes itself, take a domain of your own"
    if domain.startswith("requests."):
        return 'a domain that starts with "requests." is kept for Kubernetes\' quotas'
    return _bad_domain(domain) or _bad_kind(kind)


def _bad_domain(domain: str) -> str | None:
    """What is wrong with DOMAIN, a DNS-1123 subdomain (IsDNS1123Subdomain of k8s.io/apimachinery)."""
    if not domain:
        return "there is no domain before the slash"
    if len(domain) > _DOMAIN_MAX:
        return f"the domain has {len(domain)} characters, at most {_DOMAIN_MAX} are possible"
    for label in domain.split("."):
        if not label:
            return f'the domain "{domain}" has an empty part between its dots'
        if not _LABEL.issuperset(label):
            return f'the domain "{domain}" may hold only lower-case letters, digits, "-" and "."'
        if label[0] == "-" or label[-1] == "-":
            return f'the domain "{domain}" has a part that starts or ends with "-"'
    return None


def _bad_kind(kind: str) -> str | None:
    """What is wrong with KIND, the part behind the slash (IsQualifiedName of k8s.io/apimachinery)."""
    if not kind:
        return "there is no kind behind the slash"
    if len(kind) > _KIND_MAX:
        return f"the kind has {len(kind)} characters, at most {_KIND_MAX} are possible"
    if not _KIND.issuperset(kind):
        return f'the kind "{kind}" may hold only letters, digits, "-", "_" and "."'
    if kind[0] in "-_." or kind[-1] in "-_.":
        return f'the kind "{kind}" must start and end with a letter or a digit'
    return None
