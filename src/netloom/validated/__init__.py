"""What was compared with measurements: the axes and the error of each row or group of rows.

Predictions take their range from these two small tables; ``python tools/write_validated.py``
generates them from the validation suites, and a test holds them to what the suites find.
"""

from __future__ import annotations
