"""Training: the compiled chunk, seeds side by side, the loop."""

from asmpg.training._agent import Agent as Agent
from asmpg.training._callback import Callback as Callback
from asmpg.training._callback import Row as Row
from asmpg.training._checkpoint import load_meta as load_meta
from asmpg.training._checkpoint import save as save
from asmpg.training._config import RunConfig as RunConfig
from asmpg.training._config import default_seeds as default_seeds
from asmpg.training._evaluate import evaluate as evaluate
from asmpg.training._host_lane import HostLane as HostLane
from asmpg.training._learn import learn as learn
from asmpg.training._learn import preset_name as preset_name
from asmpg.training._load import load as load
from asmpg.training._load import read_recipe as read_recipe
from asmpg.training._loop import train as train
from asmpg.training._loop import with_progress as with_progress
from asmpg.training._program import Evaluation as Evaluation
from asmpg.training._program import Program as Program
from asmpg.training._program import SeedState as SeedState
from asmpg.training._progress import Progress as Progress
from asmpg.training._result import TrainingResult as TrainingResult
from asmpg.training._run_folder import RunFolder as RunFolder
from asmpg.training._run_folder import Which as Which
from asmpg.training._score import Score as Score
from asmpg.training._score import score_of as score_of
from asmpg.training._standing import Standing as Standing
from asmpg.training._tensorboard import TensorBoardLogger as TensorBoardLogger
