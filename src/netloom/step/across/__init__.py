"""What a step does over a cut between sites: gradients, activations, local updates."""

from __future__ import annotations
