"""An episode as an image."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import UInt8

from asmpg._check import check_integer

if TYPE_CHECKING:
    from asmpg.envs._environment import Environment
    from asmpg.envs._episode import Episode

#: The size that the drawings are laid out for; others are scaled.
_WIDTH, _HEIGHT, _DOTS_PER_INCH = 480, 360, 100


def picture(
    environment: "Environment[Any]", episode: "Episode", size: tuple[int, int] = (640, 480)
) -> UInt8[np.ndarray, "height width 3"]:
    """What `environment.draw` draws; `size` is width and height in pixels."""
    width = check_integer("size[0]", size[0], low=16)
    height = check_integer("size[1]", size[1], low=16)
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError as error:
        raise ImportError("matplotlib is needed to draw: pip install matplotlib") from error
    dots = _DOTS_PER_INCH * min(width / _WIDTH, height / _HEIGHT)
    # A tenth of a pixel more, for the canvas rounds down.
    inches = ((width + 0.1) / dots, (height + 0.1) / dots)
    figure = Figure(figsize=inches, dpi=dots, layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08))
    canvas = FigureCanvasAgg(figure)
    environment.draw(figure.add_subplot(), episode)
    canvas.draw()
    return np.array(canvas.buffer_rgba())[:, :, :3].copy()
