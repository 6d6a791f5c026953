"""Exact values, gradients, optima and yardsticks."""

from asmpg.exact._cart_pole import IntegratingRule as IntegratingRule
from asmpg.exact._cart_pole import StateRule as StateRule
from asmpg.exact._cart_pole import VelocityRule as VelocityRule
from asmpg.exact._cart_pole import cart_pole_yardsticks as cart_pole_yardsticks
from asmpg.exact._controller import BestController as BestController
from asmpg.exact._controller import best_controller as best_controller
from asmpg.exact._controller import exact_gradient as exact_gradient
from asmpg.exact._decision_process import DecisionProcess as DecisionProcess
from asmpg.exact._decision_process import belief_process as belief_process
from asmpg.exact._decision_process import latent_process as latent_process
from asmpg.exact._decision_process import optimal_returns as optimal_returns
from asmpg.exact._decision_process import optimal_reward_per_step as optimal_reward_per_step
from asmpg.exact._environment_yardsticks import yardsticks as yardsticks
from asmpg.exact._finite_yardsticks import finite_yardsticks as finite_yardsticks
from asmpg.exact._healthcare import HealthcareEffort as HealthcareEffort
from asmpg.exact._healthcare import HealthcareSolution as HealthcareSolution
from asmpg.exact._healthcare import ValuedTable as ValuedTable
from asmpg.exact._healthcare import healthcare_yardsticks as healthcare_yardsticks
from asmpg.exact._healthcare_chain import GridSize as GridSize
from asmpg.exact._healthcare_memoryless import HealthTable as HealthTable
from asmpg.exact._healthcare_memoryless import evaluate_table as evaluate_table
from asmpg.exact._healthcare_memoryless import search_table as search_table
from asmpg.exact._healthcare_memoryless import striped as striped
from asmpg.exact._healthcare_optimum import healthcare_optimum as healthcare_optimum
from asmpg.exact._history_value import HistoryDerivatives as HistoryDerivatives
from asmpg.exact._history_value import history_derivatives as history_derivatives
from asmpg.exact._history_value import history_optimum as history_optimum
from asmpg.exact._history_value import history_q as history_q
from asmpg.exact._history_value import history_value as history_value
from asmpg.exact._history_value import history_visits as history_visits
from asmpg.exact._memoryless import best_stochastic_memoryless as best_stochastic_memoryless
from asmpg.exact._memoryless import (
    deterministic_memoryless_returns as deterministic_memoryless_returns,
)
from asmpg.exact._memoryless import memoryless_returns as memoryless_returns
from asmpg.exact._reference_values import load_memoryless_tables as load_memoryless_tables
from asmpg.exact._reference_values import load_reference_values as load_reference_values
from asmpg.exact._reference_values import write_reference_values as write_reference_values
from asmpg.exact._returns import ExactReturns as ExactReturns
from asmpg.exact._returns import exact_returns as exact_returns
from asmpg.exact._simulation import UniformAct as UniformAct
from asmpg.exact._simulation import play as play
from asmpg.exact._simulation import simulate as simulate
from asmpg.exact._yardsticks import Yardstick as Yardstick
from asmpg.exact._yardsticks import Yardsticks as Yardsticks
