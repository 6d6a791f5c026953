"""Pictures of environments, drawn when asked for."""

from asmpg.environments.drawing._cart_pole import draw_cart_pole as draw_cart_pole
from asmpg.environments.drawing._chart import draw_chart as draw_chart
from asmpg.environments.drawing._machine import draw_machine as draw_machine
from asmpg.environments.drawing._maze import draw_maze as draw_maze
from asmpg.environments.drawing._patient import draw_patient as draw_patient
from asmpg.environments.drawing._picture import picture as picture
from asmpg.environments.drawing._picture import text as text
