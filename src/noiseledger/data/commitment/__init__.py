"""A commitment to a dataset: it binds the custodian, reveals nothing, and lets each person verify their own record.

The record's text is hashed; this hash is hashed again with its own salt, which makes a leaf; each leaf has its own place
among 2^32 in a Merkle tree (:mod:`noiseledger.data.commitment.merkle`), whose top is hashed to the published root.
Salts, places and the fillers of empty places are derived from one secret of 256 bits that the custodian keeps and can show to
an auditor: salt and place of the j-th of several equal records are a keyed hash of j and the record's hash. If leaves collide
at one place, all but one draw another place, until none collide. A proof of inclusion contains the record, its salt, its
place, and three siblings on each of 16 levels.

Why the promise holds:

* It is binding. All hashes are BLAKE2b of parts that are distinguished by their lengths, and the four kinds (record, leaf,
  node, root) are personalised differently. The root of a dataset and a secret determine the content of every place. So
  whoever opens one root to two datasets, or proves a record that is not in the dataset, has found a collision of BLAKE2b, or
  a secret whose fillers are hashes of something they know. Two people with equal records can compare their proofs to see
  whether they were given the same leaf.
* A proof shows its holder that the record is included, and nothing else. Holders who pool their proofs learn only that their
  own records are included, not even how many others there are: everything they hold could be generated without the
  others (mathematics page, section 10). In short: without the secret, a filler, and a leaf whose salt was not given out, are
  256 bits that cannot be distinguished from random ones, and so are all hashes above them; and the places of any k records
  are k different places drawn uniformly, whatever the number of the others. Every proof of a record has the same size and
  form, for every dataset of up to ``MOST_RECORDS``.
* It is hiding. Nobody can test guesses about a person against the root, nor against the proofs that they or others hold, not
  even with a record equal to theirs. A secret serves one dataset: under a second one, unchanged leaves would be visible.
* It does not depend on the order of the records: sorting brings equal ones together to be counted.

Memory: 32 bytes per record at first and 36 in the end, never the texts, and twice as much while the tree is hashed: ten
million records need about one gigabyte.
"""

from noiseledger.data.commitment.commitment import MOST_RECORDS, Commitment
from noiseledger.data.commitment.proof import PUBLISHED, Proof, bind
from noiseledger.data.commitment.secret import SECRET_BYTES, new_secret, read_secret

__all__ = ["MOST_RECORDS", "PUBLISHED", "SECRET_BYTES", "Commitment", "Proof", "bind", "new_secret", "read_secret"]
