"""What is made of results: statistics, tables, figures, reports."""

from asmpg.analysis._environment_figures import draw_environments as draw_environments
from asmpg.analysis._environment_figures import draw_yardsticks as draw_yardsticks
from asmpg.analysis._learning_curve import draw_run as draw_run
from asmpg.analysis._learning_curve import plot as plot
from asmpg.analysis._results import Results as Results
from asmpg.analysis._results import SeedCurve as SeedCurve
from asmpg.analysis._results import collect as collect
from asmpg.analysis._results import common_grid as common_grid
from asmpg.analysis._results import read_lines as read_lines
from asmpg.analysis._results import seed_curves as seed_curves
from asmpg.analysis._summary import Summary as Summary
from asmpg.analysis._summary import summarise as summarise
from asmpg.analysis._tables import write_tables as write_tables
from asmpg.analysis._verify_figures import draw_convergence as draw_convergence
from asmpg.analysis._verify_figures import draw_looseness as draw_looseness
from asmpg.analysis._words import interval_text as interval_text
from asmpg.analysis._words import number as number
