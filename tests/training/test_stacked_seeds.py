"""What is done while a device computes the next chunk of all seeds."""

import threading

import pytest

from asmpg.training import Callback, train
from asmpg.training._checkpointer import Checkpointer
from asmpg.training._seed_batches import StackedSeeds
from runs import small_config


class FirstEvaluation(Callback):
    """Waits for the chunk after the first evaluation to begin."""

    def __init__(self, begun):
        self.begun = begun
        self.in_time = None

    def on_evaluation(self, seed, row):
        del seed, row
        if self.in_time is None:
            self.in_time = self.begun.wait(timeout=20)


@pytest.fixture
def chunks(monkeypatch):
    """Set while the second chunk, after that of the first evaluation, is being computed."""
    advance, begun, count = StackedSeeds.advance, threading.Event(), []

    def watched(batch, state, until):
        count.append(until)
        if len(count) == 3:  # the first one warmed up
            begun.set()
        return advance(batch, state, until)

    monkeypatch.setattr("asmpg.training._loop._in_one_program", lambda: True)
    monkeypatch.setattr(StackedSeeds, "advance", watched)
    return begun


def test_the_next_chunk_begins_before_an_evaluation_is_made_known(chunks):
    callback = FirstEvaluation(chunks)
    train(small_config(steps=1000), callbacks=[callback], verbose=0)
    assert callback.in_time


def test_folders_are_made_while_the_second_chunk_is_computed(chunks, tmp_path, monkeypatch):
    make, begun_by_then = Checkpointer.make_folders, []

    def watched(checkpointer):
        begun_by_then.append(chunks.wait(timeout=20))
        make(checkpointer)
        assert (tmp_path / "run" / "checkpoints" / "seed-1952").is_dir()

    monkeypatch.setattr(Checkpointer, "make_folders", watched)
    train(small_config(steps=1000), tmp_path / "run", verbose=0)
    assert begun_by_then[0]
