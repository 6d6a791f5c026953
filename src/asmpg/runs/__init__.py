"""A run on disk: its configuration, its folder, checkpoints and metrics."""

from asmpg.runs._checkpoint import Arrays as Arrays
from asmpg.runs._checkpoint import Contents as Contents
from asmpg.runs._checkpoint import is_array as is_array
from asmpg.runs._checkpoint import is_key as is_key
from asmpg.runs._checkpoint import load_checkpoint as load_checkpoint
from asmpg.runs._checkpoint import load_meta as load_meta
from asmpg.runs._checkpoint import named_arrays as named_arrays
from asmpg.runs._checkpoint import raw as raw
from asmpg.runs._checkpoint import save_checkpoint as save_checkpoint
from asmpg.runs._config import RunConfig as RunConfig
from asmpg.runs._config import default_seeds as default_seeds
from asmpg.runs._config import own_discount as own_discount
from asmpg.runs._folder import Checkpoint as Checkpoint
from asmpg.runs._folder import RunFolder as RunFolder
from asmpg.runs._folder import Which as Which
from asmpg.runs._folder import check_unused as check_unused
from asmpg.runs._metrics import MEASURES as MEASURES
from asmpg.runs._metrics import MEMORY_MEASURES as MEMORY_MEASURES
from asmpg.runs._metrics import MetricsWriter as MetricsWriter
from asmpg.runs._metrics import Row as Row
from asmpg.runs._metrics import columns as columns
from asmpg.runs._metrics import make_rows as make_rows
from asmpg.runs._packing import can_be_packed as can_be_packed
from asmpg.runs._packing import packed as packed
from asmpg.runs._status import SavedSeed as SavedSeed
from asmpg.runs._status import SeedStatus as SeedStatus
