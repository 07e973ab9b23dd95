# pragma version 0.4.3
# pragma evm-version london
"""
@title QueryMatch, a model
@license Apache-2.0
@author the noiseledger founders
@notice A model of the paper's contract, for an experiment only: a query whose answer is on the chain already still takes a
        transaction, which finds the answer and records query type, epsilon, delta, sigma and the answer once more.
@dev It does the least that such a transaction must do: one lookup and one record of five words. The paper's contract also
     compares noise levels, adds noise and accounts for the budget, so it needs more gas than this, never less.
     It protects nobody: the model holds no real answers.
"""

struct Record:
    kind: uint256
    epsilon: uint256
    delta: uint256
    sigma: uint256
    answer: int256

KINDS: constant(uint256) = 5

answers: public(HashMap[uint256, int256])
count: public(uint256)
records: public(HashMap[uint256, Record])


@deploy
def __init__():
    """
    @notice Begin with an answer to each kind of query.
    """
    for i: uint256 in range(KINDS):
        self.answers[i + 1] = 1
        self._record(i + 1, 1, 1, 1, 1)


@external
def query(kind: uint256, e: uint256, d: uint256, sigma: uint256):
    """
    @notice Answer a query by what is known, and record it.
    """
    answer: int256 = self.answers[kind]
    assert answer != 0, "match: no answer yet"
    self._record(kind, e, d, sigma, answer)


@internal
def _record(kind: uint256, e: uint256, d: uint256, sigma: uint256, answer: int256):
    number: uint256 = self.count
    self.count = number + 1
    self.records[number] = Record(kind=kind, epsilon=e, delta=d, sigma=sigma, answer=answer)
