"""Pictures and texts of a running episode; matplotlib is imported only when one is drawn."""

from asmpg.envs.drawing._cart_pole import draw_cart_pole as draw_cart_pole
from asmpg.envs.drawing._chart import draw_chart as draw_chart
from asmpg.envs.drawing._machine import draw_machine as draw_machine
from asmpg.envs.drawing._maze import draw_maze as draw_maze
from asmpg.envs.drawing._patient import draw_patient as draw_patient
from asmpg.envs.drawing._picture import picture as picture
from asmpg.envs.drawing._text import text as text
