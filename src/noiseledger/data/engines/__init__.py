"""Data engines: each computes the same whole-numbered totals for the same queries, where the data is stored."""
