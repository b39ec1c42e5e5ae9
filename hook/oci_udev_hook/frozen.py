"""`@frozen`: frozen dataclasses without importing `dataclasses`.

An engine waits for the hook at each container start. Importing `dataclasses` (which imports
`inspect`) alone takes about as long as all that the hook does, see `make bench`; `typing.NamedTuple`
takes a third of that and compares equal to any other tuple.
To a type checker this is a dataclass with `frozen=True` (PEP 681).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, dataclass_transform

    _T = TypeVar("_T")

    @dataclass_transform(frozen_default=True)
    def frozen(cls: type[_T]) -> type[_T]:
        """Make CLS a frozen record of its annotated fields."""
        ...

    def replace(record: _T, **changes: Any) -> _T:
        """A copy of RECORD with some fields changed."""
        ...

else:

    def frozen(cls):
        """Make CLS a frozen record of its annotated fields, those with a value being optional."""
        fields = tuple(cls.__annotations__)
        defaults = {name: cls.__dict__[name] for name in fields if name in cls.__dict__}
        assign = object.__setattr__

        def __init__(self, *values, **named):
            given = dict(zip(fields, values))
            if len(values) > len(fields) or given.keys() & named.keys():
                raise TypeError(f"{cls.__name__}: a field is given twice, or there are too many values")
            given = {**defaults, **given, **named}
            if given.keys() != self.__fields__.keys():
                wrong = sorted(given.keys() ^ self.__fields__.keys())
                raise TypeError(f"{cls.__name__}: missing or unknown fields: {', '.join(wrong)}")
            for name in fields:
                assign(self, name, given[name])

        def values(self):
            return tuple([getattr(self, name) for name in fields])

        def __setattr__(self, name, value):
            raise AttributeError(f"{cls.__name__} is frozen: cannot set {name!r}")

        def __eq__(self, other):
            return values(self) == values(other) if type(other) is type(self) else NotImplemented

        def __hash__(self):
            return hash((cls.__name__, values(self)))

        def __repr__(self):
            return f"{cls.__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in fields)})"

        cls.__fields__ = dict.fromkeys(fields)
        cls.__match_args__ = fields
        cls.__init__, cls.__setattr__, cls.__delattr__ = __init__, __setattr__, __setattr__
        cls.__eq__, cls.__hash__, cls.__repr__ = __eq__, __hash__, __repr__
        return cls

    def replace(record, **changes):
        """A copy of RECORD with some fields changed."""
        fields = type(record).__fields__
        return type(record)(**{**{name: getattr(record, name) for name in fields}, **changes})
