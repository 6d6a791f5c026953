"""Exact values: of policies, of the best policies of several kinds, and their gradients."""

from asmpg.exact._asm_value import exact_returns as exact_returns
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
from asmpg.exact._history_derivatives import HistoryDerivatives as HistoryDerivatives
from asmpg.exact._history_derivatives import history_derivatives as history_derivatives
from asmpg.exact._history_value import history_optimum as history_optimum
from asmpg.exact._history_value import history_q as history_q
from asmpg.exact._history_value import history_value as history_value
from asmpg.exact._history_value import history_visits as history_visits
from asmpg.exact._memoryless import best_stochastic_memoryless as best_stochastic_memoryless
from asmpg.exact._memoryless import (
    deterministic_memoryless_returns as deterministic_memoryless_returns,
)
from asmpg.exact._memoryless import memoryless_returns as memoryless_returns
from asmpg.exact._returns import ExactReturns as ExactReturns
from asmpg.exact._yardsticks import Yardstick as Yardstick
from asmpg.exact._yardsticks import Yardsticks as Yardsticks
