"""Studies: environments × methods × seeds, from a file to runs on disk."""

from asmpg.studies._progress import JobState as JobState
from asmpg.studies._progress import StudyProgress as StudyProgress
from asmpg.studies._progress import seconds_left as seconds_left
from asmpg.studies._progress import share_done as share_done
from asmpg.studies._runner import Runner as Runner
from asmpg.studies._runner import longest_first as longest_first
from asmpg.studies._study import Claim as Claim
from asmpg.studies._study import Job as Job
from asmpg.studies._study import Published as Published
from asmpg.studies._study import Study as Study
from asmpg.studies._study_file import load_study as load_study
from asmpg.studies._study_file import parse_study as parse_study
from asmpg.studies._study_file import shipped_studies as shipped_studies
from asmpg.studies._study_file import study_text as study_text
from asmpg.studies._study_folder import StudyFolder as StudyFolder
from asmpg.studies._study_folder import best_episodes as best_episodes
from asmpg.studies._study_folder import best_scores as best_scores
from asmpg.studies._study_folder import check_folder as check_folder
from asmpg.studies._study_folder import study_lock as study_lock
from asmpg.studies._study_folder import write_best_scores as write_best_scores
from asmpg.studies._study_folder import write_text as write_text
from asmpg.studies._study_tables import read_study as read_study
