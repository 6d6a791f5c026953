"""Policy-gradient estimators, their baselines and weights."""

from asmpg.gradients._marginal import beliefs_before as beliefs_before
from asmpg.gradients._marginal import marginal_gradient as marginal_gradient
from asmpg.gradients._sampled import Spread as Spread
from asmpg.gradients._sampled import sampled_gradient as sampled_gradient
from asmpg.gradients._weights import BarrierSchedule as BarrierSchedule
from asmpg.gradients._weights import barrier_at as barrier_at
from asmpg.gradients._weights import discounting as discounting
from asmpg.gradients._weights import generalised_advantages as generalised_advantages
from asmpg.gradients._weights import leave_one_out as leave_one_out
from asmpg.gradients._weights import normalised as normalised
from asmpg.gradients._weights import return_to_go as return_to_go
from asmpg.gradients._weights import reward_to_go as reward_to_go
