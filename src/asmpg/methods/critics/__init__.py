"""Critics: values of histories and memories, used in training only."""

from asmpg.methods.critics._baseline import BaselineCritic as BaselineCritic
from asmpg.methods.critics._critic import Critic as Critic
from asmpg.methods.critics._critic import LatentCritic as LatentCritic
from asmpg.methods.critics._critic import LinearCritic as LinearCritic
from asmpg.methods.critics._critic import MemoryCritic as MemoryCritic
from asmpg.methods.critics._critic import RecurrentCritic as RecurrentCritic
from asmpg.methods.critics._kinds import CriticKind as CriticKind
from asmpg.methods.critics._kinds import latents_of as latents_of
from asmpg.methods.critics._kinds import make_critic as make_critic
from asmpg.methods.critics._value import MemoryValue as MemoryValue
from asmpg.methods.critics._value import ReturnScale as ReturnScale
from asmpg.methods.critics._value import rescale_output as rescale_output
