"""Environments: the contract, the paper's five, finite models, the registry."""

from asmpg.environments._environment import Action as Action
from asmpg.environments._environment import Environment as Environment
from asmpg.environments._environment import Observation as Observation
from asmpg.environments._environment import PaperSizes as PaperSizes
from asmpg.environments._episode import Episode as Episode
from asmpg.environments._episode import random_episode as random_episode
from asmpg.environments._finite_environment import (
    AbstractFiniteEnvironment as AbstractFiniteEnvironment,
)
from asmpg.environments._finite_environment import FiniteEnvironment as FiniteEnvironment
from asmpg.environments._finite_model import FiniteModel as FiniteModel
from asmpg.environments._nmdp import NMDP as NMDP
from asmpg.environments._registry import PAPER_ENVIRONMENTS as PAPER_ENVIRONMENTS
from asmpg.environments._registry import is_pomdp_file as is_pomdp_file
from asmpg.environments._registry import make as make
from asmpg.environments._registry import paper_sizes as paper_sizes
from asmpg.environments._registry import register as register
from asmpg.environments._registry import registered_names as registered_names
from asmpg.environments._spaces import ActionSpace as ActionSpace
from asmpg.environments._spaces import Box as Box
from asmpg.environments._spaces import Discrete as Discrete
from asmpg.environments._spaces import MultiDiscrete as MultiDiscrete
from asmpg.environments._spaces import Space as Space
