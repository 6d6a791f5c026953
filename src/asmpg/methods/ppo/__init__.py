"""Actor-critics: PPO with a finite memory, with a recurrent one, with none."""

from asmpg.methods.ppo._ppo import PPO as PPO
from asmpg.methods.ppo._ppo import PPOLearner as PPOLearner
from asmpg.methods.ppo._variants import ASMPPO as ASMPPO
from asmpg.methods.ppo._variants import GRUPPO as GRUPPO
from asmpg.methods.ppo._variants import MemorylessPPO as MemorylessPPO
from asmpg.methods.ppo._variants import MinGRUPPO as MinGRUPPO
