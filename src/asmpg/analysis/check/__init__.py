"""Does an environment fit, what does it cost, does it need memory?"""

from asmpg.analysis.check._check import check as check
from asmpg.analysis.check._comparison import Comparison as Comparison
from asmpg.analysis.check._play import RandomPlay as RandomPlay
from asmpg.analysis.check._report import CheckReport as CheckReport
