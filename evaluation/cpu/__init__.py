"""Processor time per request, of all processes involved."""
