"""AIS: a learned approximate information state, and a policy on top of it."""

from asmpg.methods.ais._ais import AIS as AIS
from asmpg.methods.ais._ais import AISLearner as AISLearner
from asmpg.methods.ais._losses import ReturnBaseline as ReturnBaseline
from asmpg.methods.ais._losses import Segments as Segments
from asmpg.methods.ais._losses import ais_gradient as ais_gradient
from asmpg.methods.ais._losses import ais_loss as ais_loss
from asmpg.methods.ais._losses import encode_segments as encode_segments
from asmpg.methods.ais._losses import weigh_steps as weigh_steps
from asmpg.methods.ais._networks import AISNetworks as AISNetworks
from asmpg.methods.ais._networks import LSTMState as LSTMState
from asmpg.methods.ais._networks import Start as Start
from asmpg.methods.ais._networks import Variant as Variant
