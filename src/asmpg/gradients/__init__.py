"""Policy-gradient estimators, their baselines and weights."""

from asmpg.gradients._advantages import generalised_advantages as generalised_advantages
from asmpg.gradients._barrier import BarrierSchedule as BarrierSchedule
from asmpg.gradients._barrier import barrier_at as barrier_at
from asmpg.gradients._baselines import discounting as discounting
from asmpg.gradients._baselines import leave_one_out as leave_one_out
from asmpg.gradients._baselines import normalised as normalised
from asmpg.gradients._blocks import Spread as Spread
from asmpg.gradients._episodes import Episodes as Episodes
from asmpg.gradients._marginal import beliefs_before as beliefs_before
from asmpg.gradients._marginal import marginal_gradient as marginal_gradient
from asmpg.gradients._memory_value import MemoryValue as MemoryValue
from asmpg.gradients._memory_value import rescale_output as rescale_output
from asmpg.gradients._return_scale import ReturnScale as ReturnScale
from asmpg.gradients._sampled import sampled_gradient as sampled_gradient
from asmpg.gradients._weights import return_to_go as return_to_go
from asmpg.gradients._weights import reward_to_go as reward_to_go
