"""The experiments: those of the paper, comparisons with other libraries, and attacks on the whole system.

They are not part of the installed package: run ``python -m evaluation`` in the repository. Some of them contain weaker schemes
for comparison, and they look at true answers. That is possible because the people in their data are invented.
"""
