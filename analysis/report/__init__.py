"""Reports that a person wants to read: one HTML file, or Markdown, from tables of scores and documents of results."""

from __future__ import annotations

from bsx.analysis.report.build import build_report
from bsx.analysis.report.documents import Document, parse_document, read_document
from bsx.analysis.report.result import Report

__all__ = ["Document", "Report", "build_report", "parse_document", "read_document"]
