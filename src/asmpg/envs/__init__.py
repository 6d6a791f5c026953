"""Environments: the contract, the paper's five, finite models, the registry, Gymnasium adapters."""

from asmpg.envs._environment import Environment as Environment
from asmpg.envs._episode import Episode as Episode
from asmpg.envs._episode import random_episode as random_episode
from asmpg.envs._finite_environment import (
    AbstractFiniteEnvironment as AbstractFiniteEnvironment,
)
from asmpg.envs._finite_environment import FiniteEnvironment as FiniteEnvironment
from asmpg.envs._finite_model import FiniteModel as FiniteModel
from asmpg.envs._gymnax import GymnaxEnvironment as GymnaxEnvironment
from asmpg.envs._gymnax import from_gymnax as from_gymnax
from asmpg.envs._nmdp import NMDP as NMDP
from asmpg.envs._registry import make as make
from asmpg.envs._registry import register as register
from asmpg.envs._registry import registered_names as registered_names
from asmpg.envs._spaces import Box as Box
from asmpg.envs._spaces import Discrete as Discrete
from asmpg.envs._spaces import Space as Space
from asmpg.envs.cheese_maze import CheeseMaze as CheeseMaze
from asmpg.envs.hallway_navigation import HallwayNavigation as HallwayNavigation
from asmpg.envs.healthcare_treatment import HealthcareTreatment as HealthcareTreatment
from asmpg.envs.machine_repair import MachineRepair as MachineRepair
from asmpg.envs.probes import CountModulo as CountModulo
from asmpg.envs.probes import RepeatFirst as RepeatFirst
from asmpg.envs.probes import TMaze as TMaze
from asmpg.envs.tiger import Tiger as Tiger
from asmpg.envs.velocity_only_cart_pole import VelocityOnlyCartPole as VelocityOnlyCartPole
from asmpg.envs.voicemail import Voicemail as Voicemail
