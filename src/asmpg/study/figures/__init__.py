"""The figures of a study: one colour, line and marker for each method in all of them."""

from asmpg.study.figures._draw import Picture as Picture
from asmpg.study.figures._draw import draw_figures as draw_figures
from asmpg.study.figures._save import save as save
from asmpg.study.figures._save import short_number as short_number
from asmpg.study.figures._style import Style as Style
from asmpg.study.figures._style import styles as styles
from asmpg.study.figures._yardsticks import draw_yardsticks as draw_yardsticks
