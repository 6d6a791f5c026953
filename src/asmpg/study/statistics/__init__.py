"""What can be said of a few seeds: robust averages, intervals, comparisons, steps to a goal."""

from asmpg.study.statistics._bootstrap import Interval as Interval
from asmpg.study.statistics._bootstrap import stratified_bootstrap as stratified_bootstrap
from asmpg.study.statistics._improvement import (
    improvement_interval as improvement_interval,
)
from asmpg.study.statistics._improvement import (
    probability_of_improvement as probability_of_improvement,
)
from asmpg.study.statistics._interquartile_mean import difference_interval as difference_interval
from asmpg.study.statistics._interquartile_mean import interquartile_mean as interquartile_mean
from asmpg.study.statistics._interquartile_mean import (
    interquartile_mean_interval as interquartile_mean_interval,
)
from asmpg.study.statistics._steps_to import steps_to as steps_to
