"""Learning methods."""

from asmpg.methods._asmpg import ASMPG as ASMPG
from asmpg.methods._asmpg import Learner as Learner
from asmpg.methods._kernels import PAPER_SEEDS as PAPER_SEEDS
from asmpg.methods._kernels import KernelFactory as KernelFactory
from asmpg.methods._kernels import PolicyKind as PolicyKind
from asmpg.methods._method import Method as Method
from asmpg.methods._method import Metrics as Metrics
from asmpg.methods._method import structure as structure
from asmpg.methods._method import with_array_numbers as with_array_numbers
from asmpg.methods._rates import adam_by_kind as adam_by_kind
from asmpg.methods._registry import PRESETS as PRESETS
from asmpg.methods._registry import Preset as Preset
from asmpg.methods._registry import preset_name as preset_name
from asmpg.methods._registry import register_method as register_method
from asmpg.methods.ais import AIS as AIS
from asmpg.methods.ppo import ASMPPO as ASMPPO
from asmpg.methods.ppo import GRUPPO as GRUPPO
from asmpg.methods.ppo import MemorylessPPO as MemorylessPPO
from asmpg.methods.ppo import MinGRUPPO as MinGRUPPO
