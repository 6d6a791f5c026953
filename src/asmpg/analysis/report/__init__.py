"""The report of a study, one self-contained page, and the parts that other pages share."""

from asmpg.analysis.report._answer import Answer as Answer
from asmpg.analysis.report._answer import answer as answer
from asmpg.analysis.report._html import definitions as definitions
from asmpg.analysis.report._html import table as table
from asmpg.analysis.report._html import text as text
from asmpg.analysis.report._page import document as document
from asmpg.analysis.report._page import figures_section as figures_section
from asmpg.analysis.report._page import page as page
from asmpg.analysis.report._page import sessions_part as sessions_part
