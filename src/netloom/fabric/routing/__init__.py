"""Which links a packet may take, and which it takes.

``candidates`` gives the set that adaptive routing and spraying choose from, ``ecmp`` and
``dmodk`` the one path of each flow, and ``spread`` the load of flows split over all of them.
"""

from __future__ import annotations
