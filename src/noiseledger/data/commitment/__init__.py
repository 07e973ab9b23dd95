"""A commitment to a dataset: it binds the custodian, tells nobody anything, and lets each person find their own record.

The record's text is hashed; this hash is hashed again with a salt of its own, which makes a leaf; each leaf has a place of
its own among 2^32 in a Merkle tree (:mod:`noiseledger.data.commitment.merkle`), whose top is hashed to the root, which is
published.
Salts, places and what fills the other places come from one secret of 256 bits that the custodian keeps and can show an
auditor: salt and place of the j-th of several equal records are a keyed hash of j and the record's hash. Leaves that meet
at one place draw again, all but one, until none meet. A proof holds the record, its salt, its place, and three siblings on
each of 16 levels.

Why the promise holds:

* It binds. All hashes are BLAKE2b of parts that are told apart by their lengths, and the four kinds (record, leaf, node,
  root) are personalised differently. The root of a dataset and a secret says what is at every place. So whoever opens one
  root to two datasets, or shows a record under it that is not there, has found a collision of BLAKE2b, or a secret whose
  fillers are hashes of something they know. Two people with equal records who compare proofs see whether they were given
  the same leaf.
* A proof tells its holder that the record is in, and nothing else. Nor do any number of holders who pool their proofs learn
  more than that their own records are in, not even how many others there are: all they hold could be made without the
  others (mathematics page, section 10). In short: a filler, and a leaf whose salt was not handed out, are 256 bits that
  nobody can tell from random ones without the secret, and so are all hashes above them; and the places of any k records are
  k different places drawn uniformly, whatever the number of the others. Every proof of a record has the same size and form,
  for every dataset of up to ``MOST_RECORDS``.
* It hides. Nobody can test guesses about a person against the root, nor against what is in the proofs that they or others
  hold, not even with a record equal to theirs. A secret serves one dataset: under a second, leaves that stayed would show.
* It does not depend on the order of the records: sorting brings equal ones together to be counted.

What is kept is 32 bytes a record at first and 36 in the end, never their texts, and twice as much while the tree is hashed:
ten million records need about one gigabyte.
"""

from noiseledger.data.commitment.commitment import MOST_RECORDS, Commitment
from noiseledger.data.commitment.proof import PUBLISHED, Proof, bind
from noiseledger.data.commitment.secret import SECRET_BYTES, new_secret, read_secret

__all__ = ["MOST_RECORDS", "PUBLISHED", "SECRET_BYTES", "Commitment", "Proof", "bind", "new_secret", "read_secret"]
