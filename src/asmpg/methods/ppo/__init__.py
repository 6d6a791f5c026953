"""Actor-critics: PPO with a finite memory, with a recurrent one, with none."""

from asmpg.methods.ppo._asm_ppo import ASMPPO as ASMPPO
from asmpg.methods.ppo._method import PPO as PPO
from asmpg.methods.ppo._method import PPOLearner as PPOLearner
from asmpg.methods.ppo._peers import GRUPPO as GRUPPO
from asmpg.methods.ppo._peers import MemorylessPPO as MemorylessPPO
