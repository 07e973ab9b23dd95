"""The experiments: those of the paper, comparisons with other libraries, and attacks on the whole system.

They are not part of the installed package: run ``python -m evaluation`` in the repository. Some of them contain weaker schemes
for comparison, and they look at true answers. That is possible because the people in their data are invented.

suite.py lists the experiments that this command runs and docs/explanation/evaluation.md shows. The attack in membership/ is not
one of them: it has its own command, ``make membership`` (scripts/membership.py), because it also attacks the weakened systems
in tests/attacks, and its own page, docs/explanation/attack.md.
"""
