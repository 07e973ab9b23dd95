"""The whole system on one machine, for ``noiseledger demo``, tests and experiments; and the paper's worked example.

Nothing here is for real data: people are invented or long published, and all files are deleted at the end.
"""
