"""Our ids in Gymnasium's registry, without importing Gymnasium, or jax, before the user does."""

import importlib.machinery
import sys
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

_ADAPTERS = "asmpg.interop.adapters"
#: The `gymnasium_id` of every environment that declares one, and the arguments behind it. The last
#: one builds whatever its argument `environment` names.
GYMNASIUM_IDS: dict[str, dict[str, str]] = {
    "asmpg/CheeseMaze-v0": {"environment": "CheeseMaze"},
    "asmpg/HallwayNavigation-v0": {"environment": "HallwayNavigation"},
    "asmpg/HealthcareTreatment-v0": {"environment": "HealthcareTreatment"},
    "asmpg/MachineRepair-v0": {"environment": "MachineRepair"},
    "asmpg/VelocityOnlyCartPole-v0": {"environment": "VelocityOnlyCartPole"},
    "asmpg/Environment-v0": {},
}


def register_with_gymnasium() -> None:
    """Make `gymnasium.make` and `make_vec` know our environments, as soon as it is imported.

    That is at once if it already is. Calling this again changes nothing.
    """
    if sys.modules.get("gymnasium") is not None:
        _register_ids()
    elif not any(isinstance(finder, _AfterGymnasium) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterGymnasium())


def _register_ids() -> None:
    import gymnasium

    for name, arguments in GYMNASIUM_IDS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point=f"{_ADAPTERS}:GymnasiumEnv",
                vector_entry_point=f"{_ADAPTERS}:GymnasiumVectorEnv",
                kwargs=arguments,
            )


class _AfterGymnasium(MetaPathFinder):
    """Finds Gymnasium as the other finders do, and registers our ids once it has been imported.

    Only looking for it (`importlib.util.find_spec`) registers nothing and leaves the finder in
    place, as does an import that fails.
    """

    def find_spec(
        self, fullname: str, path: Any, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        others = [getattr(finder, "find_spec", None) for finder in sys.meta_path]
        finds = [find for find in others if find is not None and find != self.find_spec]
        found = (find(fullname, path, target) for find in finds)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            self._follow(spec.loader)
        return spec

    def _follow(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            if module.__name__ == "gymnasium":
                loader.exec_module = execute
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                _register_ids()

        loader.exec_module = exec_module
