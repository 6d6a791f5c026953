"""Policy-gradient estimators: pure functions of a policy and its episodes."""

from asmpg.gradients._episodes import Episodes as Episodes
from asmpg.gradients._sampled import Spread as Spread
from asmpg.gradients._sampled import sampled_gradient as sampled_gradient
from asmpg.gradients._weights import reward_to_go as reward_to_go
