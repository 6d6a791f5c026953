"""Shapes and types are checked while testing: jaxtyping annotations, enforced by beartype."""

import gc
import os
import sys
from pathlib import Path

# Before numpy and scipy are loaded: on small matrices threads cost more than they compute.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import jax
import pytest
from jaxtyping import config, install_import_hook

from quick import LONG, QUICK

install_import_hook("asmpg", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")

# What Python compiles is kept for the processes that tests start, even where that is switched off.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Most time goes into compiling programs that run once, here and in the processes that tests start:
# their code need not be good.
jax.config.update("jax_disable_most_optimizations", True)
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
# Nor need it say where it comes from.
jax.config.update("jax_traceback_in_locations_limit", 0)
os.environ["JAX_TRACEBACK_IN_LOCATIONS_LIMIT"] = "0"
# Tracing makes many small objects that live: looking for garbage among them seldom finds any.
gc.set_threshold(50_000, 20, 50)
os.environ["XLA_FLAGS"] = " ".join(
    (
        os.environ.get("XLA_FLAGS", ""),
        # A flag that XLA does not know ends the process: newer ones no longer have this.
        *(["--xla_cpu_use_fusion_emitters=false"] if jax.__version_info__ < (0, 11) else []),
        # One piece of code a program: programs are small, and other workers have the other cores.
        "--xla_cpu_parallel_codegen_split_count=1",
    )
)


#: How much of compiled programs is kept.
_MOST_BYTES = 2**30


def pytest_configure(config):
    """Keep what is compiled, for the other worker, for processes that are started, for next time.

    In the folder `build`, or where `ASMPG_TEST_PROGRAMS` says.
    """
    from asmpg._support.compile_cache import processor_digest, prune

    if hasattr(config, "workerinput"):
        return
    root = Path(os.environ.get("ASMPG_TEST_PROGRAMS", config.rootpath / "build" / "test-programs"))
    folder = root / processor_digest()
    folder.mkdir(parents=True, exist_ok=True)
    prune(root, _MOST_BYTES)
    # However little time it took to compile.
    settings = {"compilation_cache_dir": str(folder), "persistent_cache_min_compile_time_secs": 0.0}
    for name, value in settings.items():
        os.environ[f"JAX_{name.upper()}"] = str(value)
        jax.config.update(f"jax_{name}", value)


#: Linux lets a process have about 65,000 memory mappings; every compiled program takes some.
_MANY_MAPPINGS = 50_000


def pytest_collection_modifyitems(items):
    """Mark what is quick, and begin with what takes long."""
    for item in items:
        if item.path.as_posix().endswith(QUICK) and item.get_closest_marker("long") is None:
            item.add_marker(pytest.mark.quick)
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONG))


@pytest.fixture(autouse=True)
def optimisation(request):
    """Optimise what tests compile that say `pytest.mark.long_running`."""
    if request.node.get_closest_marker("long_running") is None:
        yield
        return
    jax.config.update("jax_disable_most_optimizations", False)
    os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "0"
    yield
    jax.config.update("jax_disable_most_optimizations", True)
    os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"


@pytest.fixture(scope="module", autouse=True)
def few_mappings():
    """Forget compiled programs before there are too many: the compiler would crash."""
    yield
    mappings = Path("/proc/self/maps")
    if mappings.exists() and mappings.read_bytes().count(b"\n") > _MANY_MAPPINGS:
        jax.clear_caches()
        gc.collect()


@pytest.fixture
def as_user():
    """Switch the checks off, as they are for users: wrong types must meet our own messages."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.fixture
def x64():
    """Compute in double precision."""
    with jax.enable_x64(True):
        yield
