"""Processor time per request, of all processes that take part."""
