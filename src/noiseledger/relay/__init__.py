"""The relay: a service of the custodian's that brings to the chain what analysts without coins have signed.

Why it can do no harm: its key owns coins for fees and has no role in the ledger. It cannot buy, alter, reorder or repeat
anything, because the contract checks every signature itself; at worst it wastes its own coins, within bounds, or does nothing.
"""
