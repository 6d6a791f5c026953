"""Pictures of machines: nothing overlaps, every state and edge is there, files are written."""

import itertools
import os
import shutil

import jax
import numpy as np
import pytest

from asmpg.agents.machine import Machine, Setting
from asmpg.agents.machine._graph import Edge, graph_of
from asmpg.agents.machine.pictures import placed, svg_text
from asmpg.agents.machine.pictures._graphviz import read_plain
from asmpg.environments import make
from asmpg.policies import KernelTables, TabularPolicy
from controllers import cheese_maze_controller, machine_repair_controller


def machine(num_states):
    policy = TabularPolicy(
        num_states=num_states,
        num_actions=4,
        num_observations=7,
        key=jax.random.key(num_states),
        nu_scale=3.0,
    )
    return Machine.of_policy(policy, Setting(make("CheeseMaze"), 0.99))


@pytest.fixture(scope="module", params=[1, 3, 8, 16])
def graph(request):
    return graph_of(machine(request.param).harden(), threshold=0.0)


def test_states_do_not_overlap_and_lie_on_the_sheet(graph):
    sheet = placed(graph, "layered")
    for node in sheet.nodes:
        assert node.width / 2 <= node.x <= sheet.width - node.width / 2
        assert node.height / 2 <= node.y <= sheet.height - node.height / 2
    for one, other in itertools.combinations(sheet.nodes, 2):
        apart_x = abs(one.x - other.x) >= (one.width + other.width) / 2
        assert apart_x or abs(one.y - other.y) >= one.height


def test_every_edge_begins_and_ends_at_its_states(graph):
    sheet = placed(graph, "layered")
    assert [edge.edge for edge in sheet.edges] == list(graph.edges)
    for each in sheet.edges:
        assert len(each.points) % 3 == 1
        ends = [(each.edge.target, each.points[-1])]
        if each.edge.source is not None:
            ends.append((each.edge.source, each.points[0]))
        for state, (x, y) in ends:
            node = next(each for each in sheet.nodes if each.node.state == state)
            assert abs(x - node.x) <= node.width / 2 + 1e-6
            assert abs(y - node.y) <= node.height / 2 + 1e-6


def test_the_labels_of_edges_between_states_do_not_overlap(graph):
    sheet = placed(graph, "layered")
    between = [e for e in sheet.edges if e.edge.source not in (None, e.edge.target)]
    for one, other in itertools.combinations(between, 2):
        if one.label[1] == other.label[1]:
            room = 3.2 * (len(one.edge.label) + len(other.edge.label))
            assert abs(one.label[0] - other.label[0]) >= room


def test_most_flows_downwards():
    setting = Setting(make("MachineRepair"), 0.99)
    graph = graph_of(Machine.of_policy(machine_repair_controller(), setting))
    sheet = placed(graph, "layered")
    heights = [node.y for node in sheet.nodes]
    assert heights == sorted(heights)
    assert len(set(heights)) == 5


def test_states_that_are_not_used_are_not_drawn():
    setting = Setting(make("MachineRepair"), 0.99)
    tables = machine_repair_controller()
    never = machine_repair_controller(6)
    assert graph_of(Machine.of_policy(tables, setting)).unused == 0
    start = np.asarray(jax.numpy.exp(never.log_nu[0, :2]))
    update = np.asarray(jax.numpy.exp(never.log_nu[0, 2:])).reshape(7, 2, 2, 7).copy()
    update[3, :, 0] = np.eye(7)[6]  # repair before the states 4 and 5 are reached
    control = np.asarray(jax.numpy.exp(never.log_phi[0]))
    machine = Machine.of_policy(
        KernelTables.from_probabilities(start=start, update=update, control=control[0]), setting
    )
    graph = graph_of(machine)
    assert graph.unused == 2
    sheet = placed(graph, "layered")
    assert [each.node.state for each in sheet.nodes] == [0, 1, 2, 3, 6]
    assert {each.edge.target for each in sheet.edges} == {0, 1, 2, 3, 6}


def test_a_share_that_is_not_known_is_not_made_up():
    graph = graph_of(Machine.of_policy(cheese_maze_controller()))
    assert [node.label[0] for node in graph.nodes] == ["s0", "s1", "s2", "s3"]


def test_rare_edges_are_hidden_and_counted():
    whole = machine(3)
    every, few = graph_of(whole, 0.0), graph_of(whole, 0.02)
    assert every.hidden == every.unused == 0
    assert few.hidden == len(every.edges) - len(few.edges) > 0
    assert sum(edge.share for edge in every.edges) == pytest.approx(1)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_picture_is_written(ending, tmp_path):
    setting = Setting(make("CheeseMaze"), 0.99)
    small = Machine.of_policy(cheese_maze_controller(), setting)
    path = tmp_path / f"machine.{ending}"
    figure = small.plot(path, layout="layered")
    assert path.stat().st_size > 3000
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {"north", "south", "east", "west"} <= texts


def test_svg_names_its_parts():
    graph = graph_of(machine(3).harden())
    text = svg_text(placed(graph, "layered"), title="a <maze>", identifier="one")
    assert text.count("data-state=") == len(graph.nodes) == 3 - graph.unused
    assert text.count("data-from=") == len(graph.edges)
    assert "a &lt;maze&gt;" in text


PLAIN = """graph 1 2 3
node start 0.1 2.9 0.1 0.1 "" solid point black black
node s0 1 2 1 0.5 "s0" solid box black white
edge start s0 4 0.1 2.9 0.2 2.8 0.3 2.7 0.5 2.2 "0, 1" 0.4 2.6 solid black
edge s0 s0 4 1 2 1.5 2 1.5 2.2 \\
1 2.1 "0, 1" 1.6 2.1 solid black
stop
"""


def test_what_graphviz_says_is_read():
    ones = np.ones
    one = Machine(ones((2, 1)), ones((1, 1, 2, 1)), ones((1, 1, 1)), ("go",), ("0", "1"))
    graph = graph_of(one)
    sheet = read_plain(PLAIN, graph)
    assert (sheet.nodes[0].x, sheet.nodes[0].y) == (82, 82)
    assert [each.edge for each in sheet.edges] == list(graph.edges)
    assert sheet.edges[1].points[-1] == pytest.approx((82, 74.8))
    assert sheet.edges[0].label == pytest.approx((38.8, 38.8))


def test_without_graphviz_our_own_layout_is_taken(graph, monkeypatch):
    monkeypatch.setenv("PATH", os.devnull)
    assert placed(graph) == placed(graph, "layered")
    with pytest.raises(ValueError, match="layout must be 'layered' or 'auto' where dot is not"):
        placed(graph, "graphviz")
    with pytest.raises(ValueError, match="layout must be one of"):
        placed(graph, "circle")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_places_every_state_and_edge(graph):
    sheet = placed(graph, "graphviz")
    assert len(sheet.nodes) == len(graph.nodes)
    assert {each.edge for each in sheet.edges} == set(graph.edges)


def test_the_label_of_an_edge_has_whole_names_and_says_a_common_word_once():
    def label(*names):
        return Edge(None, 0, 1.0, names).label

    assert label("walls N", "walls S") == "walls N, S"
    assert label("health 1.9", "health 1.8", "corridor") == "health 1.9, health 1.8 +1"
    assert label("cart 1, pole 2", "cart 3, pole 4") == "cart 1, pole 2 +1"
    assert label("0", "1", "2", "3", "4") == "0, 1, 2, 3 +1"
