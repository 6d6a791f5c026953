"""Our environments for Gymnasium: single, and as one compiled batch."""

from asmpg.interop.adapters._single import GymnasiumEnv as GymnasiumEnv
from asmpg.interop.adapters._vector import GymnasiumVectorEnv as GymnasiumVectorEnv
