"""The weakened systems that a membership attack must see through: each breaks its promise."""

from __future__ import annotations

from math import inf

from attacks.weakened_paths import FloatNoiseJournal, HalfTheNoiseJournal, NoNoiseJournal, PaperJournal
from evaluation.membership.trials import (
    THIRD_PARTY_EPSILON,
    System,
    spend_with_hidden_best,
    worth_of_the_papers_pool,
)

NOISE_OFF = System("noise off", NoNoiseJournal, worth=inf, keeps_its_promise=False)
#: Half the deviation is four times the precision.
HALF_THE_NOISE = System("half the noise", HalfTheNoiseJournal, worth=4, keeps_its_promise=False)
THE_PAPERS_2C = System(
    "the paper's 2C, pooled",
    PaperJournal,
    spend_with_hidden_best,
    THIRD_PARTY_EPSILON,
    worth=worth_of_the_papers_pool(),
    keeps_its_promise=False,
)
FLOATING_POINT = System("floating-point noise", FloatNoiseJournal, worth=inf, keeps_its_promise=False)

WEAKENED = (NOISE_OFF, HALF_THE_NOISE, THE_PAPERS_2C, FLOATING_POINT)
