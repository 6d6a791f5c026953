"""The report of a study: one page that needs nothing else."""

from asmpg.study.report._answer import Answer as Answer
from asmpg.study.report._answer import answer as answer
from asmpg.study.report._page import page as page
