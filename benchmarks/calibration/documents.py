"""Segments that come from documents: systems' and metrics' tests and intervals over whole documents."""

from __future__ import annotations

from benchmarks.calibration.worlds import Section

SECTION = Section("documents", "Documents", [])
