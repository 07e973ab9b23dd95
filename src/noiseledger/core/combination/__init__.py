"""Answers from answers: what all public answers of an edition together determine about other queries, and how accurately.

Why the promise holds: everything here is post-processing of public numbers. It sees definitions, precisions and answers that a
ledger has published, never data, so it costs no privacy and cannot weaken what the ledger guarantees.

It needs numpy (``pip install 'noiseledger[combine]'``), and no ledger uses it yet. ``docs/explanation/answers-from-answers.md``
proves what the modules compute. Start with :class:`noiseledger.core.combination.record.PublicAnswers`.
"""

from noiseledger.extras import require

require("combine", "To combine answers,")
