"""What programs that measure networks print: nccl-tests, perftest, OSU, sockperf, iperf3."""

from __future__ import annotations
