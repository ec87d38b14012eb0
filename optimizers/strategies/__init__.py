"""The strategies that compile a step, one file each."""

from collections.abc import Mapping

from optimizers.strategies import finetune, fit_ensemble, fit_head, gepa, knn, labeled, mipro, random_search, reanchor
from optimizers.strategies.base import Strategy

_MODULES = (labeled, random_search, mipro, gepa, knn, reanchor, fit_head, fit_ensemble, finetune)

STRATEGIES: Mapping[str, Strategy] = {module.STRATEGY.name: module.STRATEGY for module in _MODULES}
