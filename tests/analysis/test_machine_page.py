"""`asmpg show`: the table, the files, and a page that works in a browser."""

import json
import re

import jax
import numpy as np
import pytest

from asmpg import cli
from asmpg.agents import load
from asmpg.agents.machine import Machine, Setting
from asmpg.analysis.machine_page import View, machine_page, memory_history, write_history
from asmpg.analysis.machine_page._episodes import frames, play
from asmpg.environments import make
from asmpg.policies import KernelTables, TabularPolicy
from asmpg.training import train
from browser import CHROMIUM, browse
from compiled_environments import Corner
from controllers import cheese_maze_controller, machine_repair_controller
from runs import SEEDS, small_config

SEEN = ("corner", "corridor", "</script> junction", "corner 2", "passage", "dead end", "cheese")


def cheese_machine():
    setting = Setting(make("CheeseMaze"), 0.99)
    return Machine.of_policy(cheese_maze_controller(), setting, observation_names=SEEN)


@pytest.fixture(scope="module")
def page():
    policy = TabularPolicy(
        num_states=3, num_actions=4, num_observations=7, key=jax.random.key(0), nu_scale=2.0
    )
    environment = make("CheeseMaze", max_steps=12)
    learned = Machine.of_policy(policy, Setting(environment, 0.99))
    views = [View("minimised", cheese_machine()), View("as <learned>", learned)]
    return machine_page(views, environment, title="Cheese & more")


def test_an_episode_follows_the_machine_and_the_environment():
    machine = cheese_machine()
    played = play(machine, make("CheeseMaze"), seed=0, steps=100)
    episode = played.episode
    assert episode.terminated
    assert episode.rewards[-1] == 1
    state = None
    for time, action in enumerate(episode.actions):
        seen = int(episode.observations[time])
        row = machine.start[seen]
        if state is not None:
            row = machine.update[state, episode.actions[time - 1], seen]
        state = int(row.argmax())
        assert played.states[time] == state
        assert action == machine.control[0, state].argmax()
        assert played.beliefs[time][state] == 1
    made = frames(machine, played)
    assert len(made) == episode.steps + 1
    assert made[-1]["total"] == 1
    assert "state" not in made[-1]


def test_an_action_of_several_parts_is_played_in_parts():
    """The machine, and the page, number it by its combination."""
    corner = KernelTables.deterministic(start=[0], update=[[[0]] * 6], control=[5], num_actions=6)
    machine = Machine.of_policy(corner, Setting(Corner(), 0.99))
    played = play(machine, Corner(), seed=0, steps=100)
    assert [list(action) for action in played.episode.actions] == [[2, 1]] * 4
    made = frames(machine, played)
    assert [frame["action"] for frame in made[:-1]] == [5] * 4
    assert made[-1]["total"] == 4
    assert '"2,1"' in machine_page([View("all", machine)], Corner(), title="corner", episodes=1)


def test_the_page_needs_nothing_but_itself(page):
    assert not re.search(r"""(src|href)=["'](?!data:)""", page)
    assert "http" not in re.sub(r"base64,[\w+/=]+", "", page)
    assert len(page) < 1_000_000
    assert page.count("</script>") == 2
    assert "Cheese &amp; more" in page


def test_episodes_are_cut_where_their_pictures_would_take_too_much(monkeypatch):
    environment = make("MachineRepair")
    machine = Machine.of_policy(machine_repair_controller(), Setting(environment, 0.99))
    monkeypatch.setattr("asmpg.analysis.machine_page._page._MOST_BYTES", 100_000)
    text = machine_page([View("all", machine)], environment, title="long", episodes=2)
    assert len(text.encode()) < 150_000
    content = json.loads(re.search(r'application/json">(.*?)</script>', text, re.DOTALL)[1])
    (view,) = content["views"]
    assert len(view["episodes"]) == 2
    for episode in view["episodes"]:
        assert "steps are shown" in episode["ending"]
        assert 5 < len(episode["frames"]) < 20
        assert max(frame["picture"] for frame in episode["frames"]) < len(content["pictures"])


def test_without_an_environment_machines_are_shown_alone():
    machine = Machine.of_policy(cheese_maze_controller())
    text = machine_page([View("alone", machine)], None, title="alone")
    assert json.loads(re.search(r'json">(.*?)</script>', text)[1])["pictures"] == []


TRY = """onload = async () => {
  const get = (id) => document.getElementById(id);
  const press = (key) => document.body.dispatchEvent(
    new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
  const lit = () => document.querySelector("#left .state.now")?.dataset.state;
  const seen = {wide: document.documentElement.scrollWidth <= innerWidth};
  seen.tabs = [...get("views").children].map((tab) => tab.textContent);
  const list = frames();
  seen.states = [lit()];
  seen.expected = list.map((frame) => frame.state === undefined ? undefined : String(frame.state));
  for (let i = 1; i < list.length; i++) { get("next").click(); seen.states.push(lit()); }
  seen.over = get("now").textContent;
  get("next").click();
  seen.stays = time === list.length - 1;
  press("Home"); seen.home = time;
  press("ArrowRight"); seen.right = time;
  seen.edge = document.querySelectorAll("#left .edge.now").length;
  press("End"); seen.end = time;
  press("ArrowLeft"); seen.left = time;
  get("scrub").value = 1; get("scrub").dispatchEvent(new Event("input")); seen.scrubbed = time;
  press("]"); seen.episode = get("episode").value;
  press("Home"); press(" "); seen.playing = get("play").textContent;
  await new Promise((done) => setTimeout(done, 1600));
  seen.moved = time;
  if (seen.playing === get("play").textContent) press(" ");
  seen.paused = get("play").textContent;
  const last = get("image");
  await last.decode();
  seen.picture = last.naturalWidth;
  get("views").children[1].click();
  seen.svg = document.querySelectorAll("#left .state").length;
  seen.chances = get("chances").tBodies[0].rows.length;
  seen.heads = [...document.querySelectorAll("marker")].map((marker) => marker.id);
  seen.strip = document.querySelectorAll("#strip svg").length;
  seen.title = document.title;
  tell(seen);
}"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium in the path to open the page with")
@pytest.mark.parametrize("width", [None, 400], ids=["desktop", "phone"])
def test_the_page_works_in_a_browser(page, tmp_path, width):
    seen = browse(page, TRY, tmp_path, width)
    assert seen["errors"] == []
    assert seen["width"] == (width or 1280)
    assert seen["wide"], "the page is wider than its window"
    assert seen["tabs"] == ["minimised", "as <learned>"]
    assert seen["states"] == seen["expected"]
    assert len(seen["states"]) > 3
    assert seen["over"].endswith("The episode is over: terminated.")
    assert seen["stays"]
    last = len(seen["states"]) - 1
    numbers = [seen[key] for key in ("home", "right", "end", "left", "scrubbed")]
    assert numbers == [0, 1, last, last - 1, 1]
    assert seen["edge"] == 1
    assert seen["episode"] == "1"
    assert (seen["playing"], seen["paused"]) == ("Pause", "Play")
    assert seen["moved"] >= 1
    assert seen["picture"] == 400
    assert seen["svg"] == 3
    assert seen["chances"] == 4
    assert len(set(seen["heads"])) == len(seen["heads"]) == 3
    assert seen["strip"] == 2
    assert seen["title"] == "as <learned>: Cheese & more"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "maze"
    train(small_config(steps=1000), out=folder, verbose=0)
    return folder


@pytest.fixture
def few_pictures(monkeypatch):
    """Of every episode the first steps: pictures are what pages cost."""
    monkeypatch.setattr("asmpg.analysis.machine_page._page._MOST_STEPS", 4)


@pytest.mark.usefixtures("few_pictures")
def test_show_prints_the_machine_and_writes_files(run, tmp_path, capsys):
    cli.main(["show", str(run), "--minimise", "--episodes=1", "--out", str(tmp_path / "pictures")])
    told = capsys.readouterr().out
    assert told.startswith("CheeseMaze: ")
    assert "minimised" in told
    names = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert names == {f"machine.{kind}" for kind in ("html", "svg", "png", "dot", "json")}
    assert Machine.load(tmp_path / "pictures" / "machine.json").deterministic
    text = (tmp_path / "pictures" / "machine.html").read_text()
    for seed in SEEDS:
        assert f"seed {seed}, minimised" in text


@pytest.mark.usefixtures("few_pictures")
def test_show_takes_the_seed_it_is_told(run, capsys):
    cli.main(["show", str(run), "--seed", str(SEEDS[1]), "--words", "--episodes=1"])
    assert "Plays " in capsys.readouterr().out
    text = (run / "machine.html").read_text()
    assert f"seed {SEEDS[1]}" in text
    assert f"seed {SEEDS[0]}" not in text
    with pytest.raises(SystemExit) as stopped:
        cli.main(["show", str(run), "--seed", "7"])
    assert stopped.value.code == 2
    assert "seed must be one of" in capsys.readouterr().err


def test_history_goes_through_the_machines_of_the_run(run, tmp_path):
    """Training repeats itself: the last machine is that of the last checkpoint, in every bit."""
    history = memory_history(run, seed=SEEDS[0], moments=3)
    assert history[0].steps == 0
    last = load(run, seed=SEEDS[0], which="last").machine()
    for part in ("start", "update", "control"):
        assert (getattr(history[-1].machine, part) == getattr(last, part)).all()
    assert history[0].machine.value != history[-1].machine.value
    for each in history:
        assert 1 <= each.states_in_use <= 2
        assert 0 < each.nu_entropy <= np.log(2)
    paths = write_history(history, tmp_path)
    assert {path.name for path in paths} == {"memory.csv", "memory.png", "memory.svg"}
    lines = (tmp_path / "memory.csv").read_text().splitlines()
    assert lines[0] == "steps,nu_entropy,states_in_use,discounted,reward_per_step"
    assert len(lines) == 4
