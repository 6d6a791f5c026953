"""Sizes and types are checked before anything is allocated; messages are one short line."""

import dataclasses
import typing

import pytest

from asmpg._support.checks import check_fields, check_integer, check_number
from asmpg.environments import make
from asmpg.interop import Interface
from asmpg.methods import ASMPG
from asmpg.methods._kernels import kernel_maker
from asmpg.methods.ais import AIS
from asmpg.methods.ppo import ASMPPO, GRUPPO, MemorylessPPO, MinGRUPPO
from asmpg.policies import Encoding
from asmpg.runs import RunConfig
from asmpg.studies import load_study
from asmpg.training import build_program

METHODS = (ASMPG, ASMPPO, GRUPPO, MinGRUPPO, MemorylessPPO, AIS)
NINES = int("9" * 30)
pytestmark = pytest.mark.usefixtures("as_user")


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def wrong_values(kind):
    """What no annotation of `kind` accepts."""
    kinds = typing.get_args(kind) or (kind,)
    yield from ({}, object(), b"x", nested(3))
    if str not in kinds:
        yield "x"
    if bool in kinds:
        yield from (5, 0, 1.0)
        if type(None) not in kinds:
            yield None
    else:
        yield from (True, False)
    if int in kinds or float in kinds:
        yield from (float("nan"), float("inf"), 10**400)
    if int in kinds:
        yield from (NINES, -NINES, 1.5, 2.0)


@pytest.mark.parametrize("method", METHODS)
def test_every_option_of_every_method_is_checked_against_its_type(method):
    hints = typing.get_type_hints(method)
    for field in dataclasses.fields(method):
        for value in wrong_values(hints[field.name]):
            with pytest.raises(ValueError, match=f"^{field.name} must be .*, got ") as caught:
                method(**{field.name: value})
            assert len(str(caught.value)) < 300


def test_the_right_types_pass():
    ASMPG(normalise=True, observation_scale=(1, 2.5), hidden=None, discount=1)
    AIS(input_width=0, policy_width=0)


def test_fields_of_other_types_are_left_alone():
    @dataclasses.dataclass
    class Custom:
        table: dict[str, int]
        number: "float | None" = None

    check_fields(Custom({"a": 1}))
    with pytest.raises(ValueError, match="number must be a finite number or None, got 'x'"):
        check_fields(Custom({}, "x"))


def test_huge_values_are_told_in_a_short_line():
    for check in (check_integer, check_number):
        for value in (10**400, 10**5000, -(10**5000), nested(900), "x" * 10_000):
            with pytest.raises(ValueError, match="size must be") as caught:
                check("size", value, low=1)
            assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (ASMPG, {"num_states": 10_001}, r"num_states must be an integer in \[1, 10000\]"),
        (ASMPG, {"hidden": 65_537}, "hidden must be an integer in"),
        (ASMPG, {"critic_width": 65_537}, "critic_width must be an integer in"),
        (ASMPPO, {"num_states": NINES}, "num_states must be an integer in"),
        (GRUPPO, {"width": NINES}, "width must be an integer in"),
        (MinGRUPPO, {"width": 0}, "width must be an integer in"),
        (AIS, {"dimension": NINES}, "dimension must be an integer in"),
        (AIS, {"head_width": 0}, "head_width must be an integer in"),
    ],
)
def test_widths_and_states_are_bounded(method, options, message):
    with pytest.raises(ValueError, match=message):
        method(**options)


def built(environment, **options):
    config = RunConfig(environment, **options)
    return build_program(config, config.resolve())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method_options": {"num_states": 9_000}}, "num_states must be smaller for policy='tabu"),
        (
            {"method_options": {"num_states": 9_000, "policy": "matrix"}},
            "num_states must be smaller for policy='matrix', got 9000: nu would take 77 GiB",
        ),
        ({"method": "gru-ppo", "method_options": {"width": 65_000}}, "one seed would take"),
        ({"method": "asmpg", "method_options": {"episodes_per_update": 2_000_000}}, "an update mu"),
        ({"method_options": {"rollout_steps": 2_000_000_000}}, "an update must play at most"),
        ({"method_options": {"num_environments": 10**9, "minibatches": 1}}, "must fit in memory"),
    ],
)
def test_what_does_not_fit_in_memory_is_refused_before_it_is_allocated(options, message):
    with pytest.raises(ValueError, match=message):
        built("CheeseMaze", **options)


def test_a_table_for_very_many_observations_is_refused():
    """By the sizes alone: listing its rows would take as much memory as the table."""
    options = {"num_states": 8, "hidden": None, "activation": "tanh", "nu_scale": 1.0}
    options |= {"groups": 1, "hold": 100.0, "window": 0, "counts": False}
    with pytest.raises(ValueError, match="num_states must be smaller for policy='tabular'"):
        kernel_maker(
            Interface.of(make("CheeseMaze")), "auto", encoding=Encoding(4, 10**9), **options
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": range(1_000_000_000)}, "seeds must be at most 100,000, got 1,000,000,000"),
        (
            {"steps": 2_000_000_000, "evaluate_every": 1},
            "evaluate_every must be at least 2000 for steps of 2000000000",
        ),
        ({"steps": NINES}, "steps must be an integer in"),
        ({"evaluation_episodes": 10**9}, "evaluation_episodes must be an integer in"),
        ({"method_options": {"observation_scale": nested(100)}}, "observation_scale must be neste"),
        ({"environment_options": {"max_steps": nested(5000)}}, "max_steps must be nested at most"),
    ],
)
def test_runs_are_bounded(options, message):
    with pytest.raises(ValueError, match=message) as caught:
        RunConfig("CheeseMaze", **options)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("RepeatFirst", {"delay": 10**9}),
        ("TMaze", {"length": 10**9}),
        ("CountModulo", {"modulus": 10**6}),
        ("CheeseMaze", {"max_steps": NINES}),
    ],
)
def test_environments_are_bounded(name, options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be an integer in"):
        make(name, **options)


def test_a_scale_of_zero_is_refused():
    config = RunConfig("VelocityOnlyCartPole", method_options={"observation_scale": (1, 0)})
    with pytest.raises(ValueError, match="observation_scale must be greater than 0, got 0"):
        build_program(config, config.resolve())


@pytest.mark.parametrize(
    "text",
    [
        "environments = " + "[" * 5000 + "]" * 5000,
        "environments = ['CheeseMaze']\n[entries.asmpg]\n"
        f"options = {{ observation_scale = {'[' * 200}{']' * 200} }}",
        "environments = ['CheeseMaze']\n" + "[" + ".".join(["a"] * 5000) + "]",
    ],
    ids=["list", "option", "table"],
)
def test_a_deeply_nested_study_is_refused_in_one_line(text, tmp_path):
    file = tmp_path / "deep.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"deep\.toml") as caught:
        load_study(str(file))
    assert len(str(caught.value)) < 600
