"""One update of a method by hand, as training does it."""

import equinox as eqx
import jax

from asmpg.experience import collect, open_stream
from asmpg.interop import Interface

#: In one program, not operation by operation.
open_compiled = eqx.filter_jit(open_stream)


def initialise(method, environment, key):
    interface = Interface.of(environment)
    return method.settled(interface).initialise(interface, key)


@eqx.filter_jit
def improve(method, environment, learner, key, *, stream=None, progress=0.0):
    """Play what the method asks for and learn from it: learner, experience, metrics."""
    method = method.settled(Interface.of(environment))
    open_key, play_key, update_key = jax.random.split(key, 3)
    actor = method.actor(learner, training=True)
    stream = stream or open_stream(environment, actor, method.collects, open_key)
    _, experience = collect(environment, actor, method.collects, stream, play_key)
    learner, metrics = method.update(learner, experience, update_key, progress=progress)
    return learner, experience, metrics
