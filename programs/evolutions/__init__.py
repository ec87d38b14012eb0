"""The evolutions that a mix can ask for, by name, the plainest first."""

from collections.abc import Mapping

from programs.evolutions import (
    broaden,
    code,
    compare,
    concretise,
    conditional,
    constrain,
    deepen,
    formula,
    hypothetical,
    multi_context,
    reasoning,
    simple,
    simplify,
    table,
)
from programs.evolutions.base import Evolution

_MODULES = (
    simple,
    reasoning,
    conditional,
    multi_context,
    constrain,
    deepen,
    concretise,
    compare,
    hypothetical,
    broaden,
    simplify,
    table,
    code,
    formula,
)

EVOLUTIONS: Mapping[str, Evolution] = {module.EVOLUTION.name: module.EVOLUTION for module in _MODULES}
