"""The report of a study, one self-contained page."""

from asmpg.analysis.report._answer import Answer as Answer
from asmpg.analysis.report._answer import answer as answer
from asmpg.analysis.report._page import page as page
