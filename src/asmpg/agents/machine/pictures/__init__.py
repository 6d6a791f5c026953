"""Pictures of machines: a layout, and drawing it."""

from asmpg.agents.machine._graph import graph_of as graph_of
from asmpg.agents.machine.pictures._draw import draw_sheet as draw_sheet
from asmpg.agents.machine.pictures._draw import placed as placed
from asmpg.agents.machine.pictures._draw import plot_machine as plot_machine
from asmpg.agents.machine.pictures._svg import drawn as drawn
from asmpg.agents.machine.pictures._svg import svg_text as svg_text
