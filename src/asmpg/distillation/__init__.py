"""Handing a behaviour on: from any teacher to a finite memory, from a large one to a small one."""

from asmpg.distillation._compress import compress as compress
from asmpg.distillation._distil import distil as distil
from asmpg.distillation._distil import distil_by as distil_by
from asmpg.distillation._fit import Fitted as Fitted
from asmpg.distillation._fit import fit as fit
from asmpg.distillation._fit import loss as loss
from asmpg.distillation._histories import Examples as Examples
from asmpg.distillation._histories import Histories as Histories
from asmpg.distillation._histories import Labels as Labels
from asmpg.distillation._histories import cross_entropy as cross_entropy
from asmpg.distillation._histories import log_probabilities as log_probabilities
from asmpg.distillation._lesson import DISTIL_REPORT as DISTIL_REPORT
from asmpg.distillation._lesson import Distilled as Distilled
from asmpg.distillation._lesson import Lesson as Lesson
from asmpg.distillation._sampler import Sampler as Sampler
from asmpg.distillation._teachers import PolicyTeacher as PolicyTeacher
from asmpg.distillation._teachers import PredictTeacher as PredictTeacher
from asmpg.distillation._teachers import Teacher as Teacher
from asmpg.distillation._teachers import teacher_of as teacher_of
