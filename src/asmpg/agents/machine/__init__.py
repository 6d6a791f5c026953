"""The memory of an agent as a finite machine: made, made smaller, printed, drawn, taken along."""

from asmpg.agents.machine._cases import Cases as Cases
from asmpg.agents.machine._machine import Machine as Machine
from asmpg.agents.machine._machine import Step as Step
from asmpg.agents.machine._setting import Setting as Setting
from asmpg.agents.machine._setting import Value as Value
from asmpg.agents.machine._visits import Visits as Visits
