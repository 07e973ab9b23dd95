"""The mathematics: no files, no network, no clock. Nothing here knows of chains or databases."""
