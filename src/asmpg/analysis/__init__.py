"""From runs to results: statistics, tables, figures, reports, and checks of environments."""

from asmpg.analysis._claims import Verdict as Verdict
from asmpg.analysis._claims import environments_where as environments_where
from asmpg.analysis._claims import judge as judge
from asmpg.analysis._results import Curves as Curves
from asmpg.analysis._results import Results as Results
from asmpg.analysis._results import SeedCurve as SeedCurve
from asmpg.analysis._results import collect as collect
from asmpg.analysis._results import common_grid as common_grid
from asmpg.analysis._results import read_lines as read_lines
from asmpg.analysis._results import seed_curves as seed_curves
from asmpg.analysis._summary import Summary as Summary
from asmpg.analysis._summary import summarise as summarise
from asmpg.analysis._tables import claim_rows as claim_rows
from asmpg.analysis._tables import write_table as write_table
from asmpg.analysis._tables import write_tables as write_tables
