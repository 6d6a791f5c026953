"""POMDPs in files: read, written, and played; and files of controllers for them."""

from asmpg.environments.pomdp_files._controller_files import ControllerFile as ControllerFile
from asmpg.environments.pomdp_files._controller_files import fsc_text as fsc_text
from asmpg.environments.pomdp_files._controller_files import read_fsc as read_fsc
from asmpg.environments.pomdp_files._controller_files import write_fsc as write_fsc
from asmpg.environments.pomdp_files._environment import NOTHING_YET as NOTHING_YET
from asmpg.environments.pomdp_files._environment import PomdpEnvironment as PomdpEnvironment
from asmpg.environments.pomdp_files._model import ObservationRewards as ObservationRewards
from asmpg.environments.pomdp_files._model import PomdpModel as PomdpModel
from asmpg.environments.pomdp_files._parser import classic_names as classic_names
from asmpg.environments.pomdp_files._parser import parse_pomdp as parse_pomdp
from asmpg.environments.pomdp_files._parser import read_pomdp as read_pomdp
from asmpg.environments.pomdp_files._tokens import PomdpFileError as PomdpFileError
from asmpg.environments.pomdp_files._writer import write_pomdp as write_pomdp
