"""Cutting documents into chunks."""
