"""Checks an environment: does it fit, what does it cost, does it need memory?"""

from asmpg.analysis.check._check import CheckReport as CheckReport
from asmpg.analysis.check._check import check as check
from asmpg.analysis.check._comparison import Comparison as Comparison
from asmpg.analysis.check._play import RandomPlay as RandomPlay
