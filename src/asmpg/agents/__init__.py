"""What a user holds after training: the agent, saved and loaded."""

from asmpg.agents._agent import Agent as Agent
from asmpg.agents._evaluation import MOST_EPISODES as MOST_EPISODES
from asmpg.agents._evaluation import Evaluation as Evaluation
from asmpg.agents._evaluation import play_fresh_episodes as play_fresh_episodes
from asmpg.agents._load import agent_of as agent_of
from asmpg.agents._load import chosen_seed as chosen_seed
from asmpg.agents._load import kept_at as kept_at
from asmpg.agents._load import load as load
from asmpg.agents._load import load_learner as load_learner
from asmpg.agents._load import moment_of as moment_of
from asmpg.agents._load import read_recipe as read_recipe
from asmpg.agents._load import statuses as statuses
from asmpg.agents._recipe import Recipe as Recipe
