"""The paper's constants, step sizes and bounds, and the checks that run them."""

from asmpg.theory._constants import KernelBounds as KernelBounds
from asmpg.theory._constants import discounted_beta as discounted_beta
from asmpg.theory._constants import discounted_noise as discounted_noise
from asmpg.theory._constants import episodic_beta as episodic_beta
from asmpg.theory._constants import episodic_noise as episodic_noise
from asmpg.theory._constants import factored_softmax_bounds as factored_softmax_bounds
from asmpg.theory._constants import joint_softmax_bounds as joint_softmax_bounds
from asmpg.theory._constants import truncation_bias as truncation_bias
from asmpg.theory._effort import FULL as FULL
from asmpg.theory._effort import QUICK as QUICK
from asmpg.theory._effort import Effort as Effort
from asmpg.theory._enumeration import Enumeration as Enumeration
from asmpg.theory._enumeration import enumerate_trajectories as enumerate_trajectories
from asmpg.theory._rates import decreasing_bound as decreasing_bound
from asmpg.theory._rates import decreasing_step_size as decreasing_step_size
from asmpg.theory._rates import expected_bound as expected_bound
from asmpg.theory._rates import expected_step_size as expected_step_size
from asmpg.theory._rates import likely_bound as likely_bound
from asmpg.theory._rates import likely_step_size as likely_step_size
from asmpg.theory._rates import summable_bound as summable_bound
from asmpg.theory._row import Curve as Curve
from asmpg.theory._row import Row as Row
from asmpg.theory._verify import verify as verify
