"""The figures of a study."""

from asmpg.analysis.figures._draw import Picture as Picture
from asmpg.analysis.figures._draw import draw_figures as draw_figures
from asmpg.analysis.figures._draw import figures as figures
from asmpg.analysis.figures._panels import Style as Style
from asmpg.analysis.figures._panels import draw_yardsticks as draw_yardsticks
from asmpg.analysis.figures._panels import save as save
from asmpg.analysis.figures._panels import short_number as short_number
from asmpg.analysis.figures._panels import styles as styles
