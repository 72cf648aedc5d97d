"""Markdown, code, formulas and links, laid out as a document."""
