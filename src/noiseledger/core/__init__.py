"""The mathematics: no files, no network, no clock. Nothing here depends on chains or databases."""
