"""`asmpg check`: does an environment fit, what does it cost, and does it need memory?"""

from asmpg.study.check._check import check as check
from asmpg.study.check._comparison import Comparison as Comparison
from asmpg.study.check._play import RandomPlay as RandomPlay
from asmpg.study.check._report import CheckReport as CheckReport
