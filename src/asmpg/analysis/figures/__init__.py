"""Figures: of a study, of one run, of the environments, of the theorems."""

from asmpg.analysis.figures._claims import draw_claims as draw_claims
from asmpg.analysis.figures._controllers import draw_controller_values as draw_controller_values
from asmpg.analysis.figures._environments import draw_environments as draw_environments
from asmpg.analysis.figures._environments import draw_yardstick_chart as draw_yardstick_chart
from asmpg.analysis.figures._panels import label_below as label_below
from asmpg.analysis.figures._panels import panels as panels
from asmpg.analysis.figures._panels import save as save
from asmpg.analysis.figures._panels import styles as styles
from asmpg.analysis.figures._run import draw_run as draw_run
from asmpg.analysis.figures._run import plot as plot
from asmpg.analysis.figures._sizes import draw_sizes as draw_sizes
from asmpg.analysis.figures._study import Picture as Picture
from asmpg.analysis.figures._study import StudyFigure as StudyFigure
from asmpg.analysis.figures._study import draw_figures as draw_figures
from asmpg.analysis.figures._study import draw_pictures as draw_pictures
from asmpg.analysis.figures._study import figures as figures
from asmpg.analysis.figures._theory import draw_convergence as draw_convergence
from asmpg.analysis.figures._theory import draw_looseness as draw_looseness
