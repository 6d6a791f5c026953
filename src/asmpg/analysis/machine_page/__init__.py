"""The page on which a machine plays: `asmpg show`."""

from asmpg.analysis.machine_page._history import Moment as Moment
from asmpg.analysis.machine_page._history import memory_history as memory_history
from asmpg.analysis.machine_page._history import write_history as write_history
from asmpg.analysis.machine_page._page import View as View
from asmpg.analysis.machine_page._page import machine_page as machine_page
