"""Training: rollouts, the compiled chunk, evaluation, runs on disk."""

from asmpg.training._program import Evaluation as Evaluation
from asmpg.training._program import Program as Program
from asmpg.training._program import SeedState as SeedState
from asmpg.training._rollout import play_episodes as play_episodes
