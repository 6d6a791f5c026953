"""Sweeps: options of a method tried out, from a file to the sensitivity of each option."""

from asmpg.sweeps._best import study_entry as study_entry
from asmpg.sweeps._best import train_commands as train_commands
from asmpg.sweeps._dimensions import Choice as Choice
from asmpg.sweeps._dimensions import Range as Range
from asmpg.sweeps._report import SweepReport as SweepReport
from asmpg.sweeps._report import write_sweep_report as write_sweep_report
from asmpg.sweeps._results import TrialResult as TrialResult
from asmpg.sweeps._results import collect_trials as collect_trials
from asmpg.sweeps._search import plan_next as plan_next
from asmpg.sweeps._search import statuses as statuses
from asmpg.sweeps._sensitivity import explained as explained
from asmpg.sweeps._sensitivity import sensitivities as sensitivities
from asmpg.sweeps._sweep import Sweep as Sweep
from asmpg.sweeps._sweep import Trial as Trial
from asmpg.sweeps._sweep_file import load_sweep as load_sweep
from asmpg.sweeps._sweep_folder import SweepFolder as SweepFolder
from asmpg.sweeps._sweep_folder import check_sweep_folder as check_sweep_folder
from asmpg.sweeps._sweep_folder import is_sweep as is_sweep
