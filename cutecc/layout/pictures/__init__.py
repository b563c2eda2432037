"""Pictures of layouts: what to draw, and drawing it as SVG or as text for a terminal.

>>> from cutecc.layout import Layout
>>> from cutecc.layout.pictures import picture_of, svg, terminal
>>> print(terminal(picture_of(Layout.parse("(2,3):(3,1)"))), end="")
   0 1 2
 0│ 0 1 2
 1│ 3 4 5
"""

from cutecc.layout.pictures.banks import Banks
from cutecc.layout.pictures.drawing import Line, picture_of
from cutecc.layout.pictures.grid import Axis, Cell, LegendEntry, Panel, Picture
from cutecc.layout.pictures.svg import svg
from cutecc.layout.pictures.terminal import Colour, terminal
from cutecc.layout.pictures.threads import picture_of_threads
from cutecc.layout.pictures.tiles import Form, picture_of_tiles

__all__ = [
    "Axis",
    "Banks",
    "Cell",
    "Colour",
    "Form",
    "LegendEntry",
    "Line",
    "Panel",
    "Picture",
    "picture_of",
    "picture_of_threads",
    "picture_of_tiles",
    "svg",
    "terminal",
]
