"""Stage 2: one recorded call -> Recording (the RefGraph, the tape, the effects)."""
