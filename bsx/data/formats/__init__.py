"""Formats of office and localisation programs as tables: spreadsheets, XLIFF and TMX; previews; XLSX as output."""
