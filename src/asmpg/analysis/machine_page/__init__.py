"""The page on which a machine plays: `asmpg show`."""

from asmpg.analysis.machine_page._page import View as View
from asmpg.analysis.machine_page._page import machine_page as machine_page
