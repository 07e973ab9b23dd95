"""Data engines: each answers the same queries with the same whole numbers, where the data lives."""
