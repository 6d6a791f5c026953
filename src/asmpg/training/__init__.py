"""Training: the compiled chunk, seeds side by side, the loop, `learn` and `train`."""

from asmpg.training._callbacks import Callback as Callback
from asmpg.training._callbacks import Score as Score
from asmpg.training._callbacks import score_of as score_of
from asmpg.training._continue import starting_from as starting_from
from asmpg.training._evaluate import episode_statistics as episode_statistics
from asmpg.training._evaluate import evaluate as evaluate
from asmpg.training._host_seed import HostSeed as HostSeed
from asmpg.training._learn import learn as learn
from asmpg.training._loggers import TensorBoardLogger as TensorBoardLogger
from asmpg.training._loggers import WandbLogger as WandbLogger
from asmpg.training._loop import train as train
from asmpg.training._loop import train_together as train_together
from asmpg.training._loop import with_progress as with_progress
from asmpg.training._program import Program as Program
from asmpg.training._program import SeedState as SeedState
from asmpg.training._program import build_program as build_program
from asmpg.training._program import seed_shapes as seed_shapes
from asmpg.training._program import start_seed as start_seed
from asmpg.training._progress import Progress as Progress
from asmpg.training._result import TrainingResult as TrainingResult
from asmpg.training._seed_batches import Seat as Seat
from asmpg.training._stopping import StopRule as StopRule
