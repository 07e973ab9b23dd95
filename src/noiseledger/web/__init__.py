"""The web application: pages for analysts, custodian and public, and a JSON API.

Why the promise holds: this process reads public information from the chain and from the ledger file, and prepares transactions
that others sign; it has no data, journal, secret or key that could leak.
"""

from noiseledger.extras import require

require("web", "For the web pages,")
