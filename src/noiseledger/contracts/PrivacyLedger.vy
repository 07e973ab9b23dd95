# pragma version 0.4.3
# pragma evm-version london
"""
@title PrivacyLedger
@license Apache-2.0
@author the noiseledger founders
@notice The privacy budget of one dataset. Analysts buy precision, the contract prices and refuses, the custodian's worker
        reveals noisy answers, and everyone can read and check everything. It cannot be upgraded.
@dev Each query is a path: its point at precision p, divided by p, is the answer with noise of deviation 1/sqrt(p), in
     units of the query's sensitivity. `bought` says how far the path is paid for, `revealed` how far it is known.

     Why the promise holds: `spent` grows by exactly what is bought, never beyond the budget, and never shrinks, since what
     was bought may already have been broadcast; a stretch of a path is revealed once, forward only, up to what was bought;
     and only the worker's increments enter a path, so nothing an analyst sends can influence an answer others will reuse.

     Precision is counted in units of 1/(3600 * 10**24), paths in units of 10**-18, epsilon and delta in units of 10**-36.
"""

struct Terms:
    commitment: bytes32  # to the data
    rows: uint256  # 0 where the number is private
    replaces: bool  # neighbours: one record replaced, else one added or removed
    reuses: bool  # the scheme: reuse, else naive, where every request pays in full
    requires_allowance: bool  # who may ask: those with an allowance, else anyone
    budget: uint256
    smallest: uint256  # a purchase of less is rounded up to it, 0 for none
    epsilon: uint256  # the promise that the budget came from
    delta: uint256

struct Request:
    query: bytes32
    precision: uint256
    epsilon: uint256  # what the analyst had in mind, or 0: recorded, not checked
    delta: uint256

event Published:
    terms: Terms
    custodian: address
    worker: address

event Registered:
    query: indexed(bytes32)
    dimension: uint256
    numerator: uint256
    denominator: uint256
    ceiling: uint256
    definition: String[MAX_DEFINITION]

event Asked:
    query: indexed(bytes32)
    analyst: indexed(address)
    precision: uint256
    epsilon: uint256
    delta: uint256
    case: uint256
    cost: uint256

event Revealed:
    query: indexed(bytes32)
    start: uint256
    end: uint256
    increments: DynArray[int256, MAX_COORDINATES]

event Allowed:
    analyst: indexed(address)
    change: int256  # what was added, or what was to be taken away as a negative number
    allowance: uint256  # what the analyst may still buy now

event Paused:
    paused: bool

event QueryPaused:
    query: indexed(bytes32)
    paused: bool

event Closed:
    pass

event Appointed:
    role: String[9]  # "custodian", "heir" or "worker"
    who: address

MAX_BATCH: constant(uint256) = 100  # requests, or queries revealed, in one transaction
MAX_COORDINATES: constant(uint256) = 512  # revealed in one transaction, so also the largest dimension
MAX_DEFINITION: constant(uint256) = 24576
MAX_SIGNATURE: constant(uint256) = 1024  # of a contract wallet; that of a key has 65 bytes
MAX_PRECISION: constant(uint256) = 2**112 - 1
SELLING: constant(uint256) = 2**255
CLOSED: constant(uint256) = 2**254
QUERY_PAUSED: constant(uint256) = 2**255
# The paper's cases as they are recorded. A request below what was bought is 2C, whatever points are known there.
CASE_1: constant(uint256) = 1
CASE_2A: constant(uint256) = 2
CASE_2B: constant(uint256) = 3
CASE_2C: constant(uint256) = 4
# EIP-712: what an analyst signs, so that somebody else can bring the request to the chain.
REQUEST_TYPE: constant(bytes32) = keccak256("Request(bytes32 query,uint256 precision,uint256 epsilon,uint256 delta)")
ASK_TYPE: constant(bytes32) = keccak256(
    "Ask(Request[] requests,uint256 limit,uint256 nonce,uint256 deadline)Request(bytes32 query,uint256 precision,uint256 epsilon,uint256 delta)"
)
DOMAIN_TYPE: constant(bytes32) = keccak256(
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
# What a contract wallet answers if it accepts a signature (ERC-1271), and the upper end of what is accepted of a key's.
ERC1271_VALID: constant(bytes32) = 0x1626ba7e00000000000000000000000000000000000000000000000000000000
HALF_ORDER: constant(uint256) = 57896044618658097711785492504343953926418782139537452191302581570759080747168

TERMS: immutable(Terms)

custodian: public(address)
heir: public(address)
worker: public(address)
allowance: public(HashMap[address, uint256])
nonce: public(HashMap[address, uint256])
ceiling: public(HashMap[bytes32, uint256])
# Whether precision is sold (bit 255), whether selling has ended (bit 254), and what was spent: one word, so that a purchase
# writes one slot.
_till: uint256
# One word a query, for the same reason: whether it is paused (bit 255), dimension (from bit 224), revealed (from bit 112), bought.
_meters: HashMap[bytes32, uint256]
_points: HashMap[bytes32, HashMap[uint256, int256]]


@deploy
def __init__(terms: Terms, worker: address):
    """
    @notice Publish a budget. The sender becomes its custodian.
    @param terms What is fixed for good
    @param worker The only key that may reveal
    """
    assert 0 < terms.budget and terms.budget <= MAX_PRECISION, "ledger: budget out of range"
    assert terms.smallest <= terms.budget, "ledger: smallest purchase out of range"
    assert worker != empty(address), "ledger: no worker"
    TERMS = terms
    self.custodian = msg.sender
    self.worker = worker
    self._till = SELLING
    log Published(terms=terms, custodian=msg.sender, worker=worker)


@external
def register(definition: String[MAX_DEFINITION], dimension: uint256, numerator: uint256, denominator: uint256, ceiling: uint256):
    """
    @notice Add a query to the catalogue. None can be changed or removed.
    @param definition Its canonical form; the SHA-256 of it identifies the query
    @param dimension The number of coordinates of its answer
    @param numerator Of its sensitivity
    @param denominator Of its sensitivity
    @param ceiling The furthest precision that may ever be bought, or 0 for none
    """
    self._only(self.custodian)
    self._not_closed()
    query: bytes32 = sha256(definition)
    assert self._meters[query] == 0, "ledger: query exists"
    assert 0 < dimension and dimension <= MAX_COORDINATES, "ledger: dimension out of range"
    assert 0 < numerator and 0 < denominator, "ledger: no sensitivity"
    self._meters[query] = dimension << 224
    self.ceiling[query] = ceiling
    log Registered(
        query=query, dimension=dimension, numerator=numerator, denominator=denominator, ceiling=ceiling, definition=definition
    )


@external
def ask(requests: DynArray[Request, MAX_BATCH], limit: uint256):
    """
    @notice Buy precision, all requests or none. A request at or below what was bought is free, and recorded all the same.
    @param requests What is asked
    @param limit The most that all of them may cost: others may have moved the paths since the price was read
    """
    self._selling()
    total: uint256 = 0
    for request: Request in requests:
        total += self._sell(request, msg.sender)
    self._charge(total, limit, msg.sender)


@external
def ask_signed(
    requests: DynArray[Request, MAX_BATCH],
    limit: uint256,
    deadline: uint256,
    analyst: address,
    signature: Bytes[MAX_SIGNATURE],
):
    """
    @notice Buy what an analyst has signed, whoever sends it. Each signature counts once, in the order of the nonces.
    @param requests What is asked
    @param limit The most that all of them may cost
    @param deadline The last second in which the signature counts
    @param analyst Who has signed, and pays from their allowance
    @param signature Of EIP-712 typed data, by a key or by a contract wallet (ERC-1271)
    """
    self._selling()
    assert block.timestamp <= deadline, "ledger: signature expired"
    hashes: DynArray[bytes32, MAX_BATCH] = []
    total: uint256 = 0
    for request: Request in requests:
        hashes.append(keccak256(abi_encode(REQUEST_TYPE, request)))
        total += self._sell(request, analyst)
    # The encoding of a list begins with its offset and its length, which are not signed.
    listed: bytes32 = keccak256(slice(abi_encode(hashes), 64, 32 * len(hashes)))
    nonce: uint256 = self.nonce[analyst]
    self.nonce[analyst] = nonce + 1
    ask: bytes32 = keccak256(abi_encode(ASK_TYPE, listed, limit, nonce, deadline))
    assert self._signed(keccak256(concat(b"\x19\x01", self._domain(), ask)), analyst, signature), "ledger: wrong signature"
    self._charge(total, limit, analyst)


@external
def reveal(
    queries: DynArray[bytes32, MAX_BATCH],
    starts: DynArray[uint256, MAX_BATCH],
    ends: DynArray[uint256, MAX_BATCH],
    increments: DynArray[int256, MAX_COORDINATES],
):
    """
    @notice Extend paths, all of them or none: forward only, from where each one ends, to no more than was bought.
    @param queries Which paths
    @param starts Where each one ends now
    @param ends Where each one is to end
    @param increments What is added to each coordinate, query after query
    """
    self._only(self.worker)
    assert len(starts) == len(queries) and len(ends) == len(queries), "ledger: lists differ in length"
    used: uint256 = 0
    for i: uint256 in range(len(queries), bound=MAX_BATCH):
        meter: uint256 = self._known(queries[i])
        assert starts[i] == (meter >> 112) & MAX_PRECISION, "ledger: not where the path ends"
        assert starts[i] < ends[i] and ends[i] <= meter & MAX_PRECISION, "ledger: not bought"
        self._meters[queries[i]] = meter + ((ends[i] - starts[i]) << 112)
        part: DynArray[int256, MAX_COORDINATES] = []
        for j: uint256 in range(self._dimension(meter), bound=MAX_COORDINATES):
            assert used < len(increments), "ledger: too few increments"
            part.append(increments[used])
            self._points[queries[i]][j] += increments[used]
            used += 1
        log Revealed(query=queries[i], start=starts[i], end=ends[i], increments=part)
    assert used == len(increments), "ledger: too many increments"


@external
def allow(analyst: address, change: int256):
    """
    @notice Add to what an analyst may still buy, or take away from it, where an allowance is needed to ask. A change does
            not depend on what is left, so a purchase that comes in between cannot turn it into a larger allowance.
    @param analyst Who may buy
    @param change The precision to add, or, as a negative number, to take away: at most what is left
    """
    self._only(self.custodian)
    assert abs(change) <= convert(MAX_PRECISION, int256), "ledger: allowance out of range"
    allowance: int256 = max(convert(self.allowance[analyst], int256) + change, 0)
    self.allowance[analyst] = convert(allowance, uint256)
    log Allowed(analyst=analyst, change=change, allowance=convert(allowance, uint256))


@external
def pause(paused: bool):
    """
    @notice Stop selling, or go on. What was bought can still be revealed.
    @param paused Whether to stop
    """
    self._only(self.custodian)
    self._not_closed()
    self._till = (self._till & MAX_PRECISION) | (0 if paused else SELLING)
    log Paused(paused=paused)


@external
def pause_query(query: bytes32, paused: bool):
    """
    @notice Stop selling one query, or go on. What was bought can still be revealed.
    @param query Which query
    @param paused Whether to stop
    """
    self._only(self.custodian)
    self._meters[query] = (self._known(query) & ~QUERY_PAUSED) | (QUERY_PAUSED if paused else 0)
    log QueryPaused(query=query, paused=paused)


@external
def close():
    """
    @notice Stop selling for good. What was bought can still be revealed.
    """
    self._only(self.custodian)
    self._not_closed()
    self._till = (self._till & MAX_PRECISION) | CLOSED
    log Closed()


@external
def change_worker(worker: address):
    """
    @notice Give the right to reveal to another key.
    @param worker The key
    """
    self._only(self.custodian)
    assert worker != empty(address), "ledger: no worker"
    self.worker = worker
    log Appointed(role="worker", who=worker)


@external
def offer_custody(heir: address):
    """
    @notice Name who may take over; nothing changes until they do.
    @param heir Who, or the zero address to take an offer back
    """
    self._only(self.custodian)
    self.heir = heir
    log Appointed(role="heir", who=heir)


@external
def take_custody():
    """
    @notice Take over, if it was offered to you.
    """
    self._only(self.heir)
    self.custodian = msg.sender
    self.heir = empty(address)
    log Appointed(role="custodian", who=msg.sender)


@external
@view
def terms() -> Terms:
    """
    @return What is fixed for good
    """
    return TERMS


@external
@view
def spent() -> uint256:
    """
    @return The precision spent in all
    """
    return self._till & MAX_PRECISION


@external
@view
def paused() -> bool:
    """
    @return Whether selling has stopped
    """
    return self._till < SELLING


@external
@view
def closed() -> bool:
    """
    @return Whether selling has stopped for good
    """
    return self._till & CLOSED != 0


@external
@view
def query_paused(query: bytes32) -> bool:
    """
    @param query Which query
    @return Whether selling it has stopped
    """
    return self._meters[query] >= QUERY_PAUSED


@external
@view
def price(query: bytes32, precision: uint256) -> (uint256, uint256, uint256):
    """
    @notice Price a request, whether or not the budget can bear it.
    @param query Which query
    @param precision How precise
    @return The case
    @return The precision, rounded up to that of the smallest purchase
    @return The cost
    """
    return self._price(self._known(query), query, precision)


@external
@view
def meter(query: bytes32) -> (uint256, uint256, uint256):
    """
    @param query Which query
    @return Its dimension, 0 for an unknown query
    @return The precision bought
    @return The precision revealed
    """
    word: uint256 = self._meters[query]
    return self._dimension(word), word & MAX_PRECISION, (word >> 112) & MAX_PRECISION


@external
@view
def point(query: bytes32) -> DynArray[int256, MAX_COORDINATES]:
    """
    @notice Read the furthest point of a path: divided by the precision revealed, the best answer known.
    @param query Which query
    @return One number for each coordinate
    """
    values: DynArray[int256, MAX_COORDINATES] = []
    for j: uint256 in range(self._dimension(self._known(query)), bound=MAX_COORDINATES):
        values.append(self._points[query][j])
    return values


@internal
@view
def _price(meter: uint256, query: bytes32, precision: uint256) -> (uint256, uint256, uint256):
    bought: uint256 = meter & MAX_PRECISION
    assert 0 < precision and precision <= MAX_PRECISION, "ledger: precision out of range"
    if TERMS.reuses and precision <= bought:
        return CASE_2A if precision == bought else CASE_2C, precision, 0
    reused: uint256 = bought if TERMS.reuses else 0
    cost: uint256 = max(precision - reused, TERMS.smallest)
    ceiling: uint256 = self.ceiling[query]
    assert bought + cost <= (MAX_PRECISION if ceiling == 0 else min(ceiling, MAX_PRECISION)), "ledger: above the ceiling"
    return CASE_2B if reused > 0 else CASE_1, reused + cost, cost


@internal
def _sell(request: Request, analyst: address) -> uint256:
    case: uint256 = 0
    precision: uint256 = 0
    cost: uint256 = 0
    meter: uint256 = self._known(request.query)
    case, precision, cost = self._price(meter, request.query, request.precision)
    assert meter < QUERY_PAUSED, "ledger: query paused"
    if cost > 0:
        # `bought` is in the lowest bits, and the price made sure that it stays there.
        self._meters[request.query] = meter + cost
    log Asked(
        query=request.query,
        analyst=analyst,
        precision=precision,
        epsilon=request.epsilon,
        delta=request.delta,
        case=case,
        cost=cost,
    )
    return cost


@internal
def _charge(cost: uint256, limit: uint256, analyst: address):
    remaining: uint256 = TERMS.budget - (self._till & MAX_PRECISION)
    if cost > remaining:
        raw_revert(abi_encode(cost, remaining, method_id=method_id("BudgetExceeded(uint256,uint256)")))
    if cost > limit:
        raw_revert(abi_encode(cost, limit, method_id=method_id("LimitExceeded(uint256,uint256)")))
    self._till += cost
    if TERMS.requires_allowance:
        remaining = self.allowance[analyst]
        if cost > remaining:
            raw_revert(abi_encode(cost, remaining, method_id=method_id("AllowanceExceeded(uint256,uint256)")))
        # Free requests too: each is recorded for ever, and strangers could write as many as they like.
        assert remaining > 0, "ledger: not invited"
        self.allowance[analyst] = remaining - cost


@internal
@view
def _domain() -> bytes32:
    # Not stored: after a split of the chain, a signature counts on one of the two alone.
    return keccak256(abi_encode(DOMAIN_TYPE, keccak256("noiseledger"), keccak256("2"), chain.id, self))


@internal
@view
def _signed(digest: bytes32, analyst: address, signature: Bytes[MAX_SIGNATURE]) -> bool:
    if len(signature) == 65:
        r: uint256 = extract32(signature, 0, output_type=uint256)
        s: uint256 = extract32(signature, 32, output_type=uint256)
        v: uint256 = convert(slice(signature, 64, 1), uint256)
        signer: address = ecrecover(digest, v, r, s)
        if s <= HALF_ORDER and signer == analyst and signer != empty(address):
            return True
    if not analyst.is_contract:
        return False
    success: bool = False
    answer: Bytes[32] = b""
    success, answer = raw_call(
        analyst,
        abi_encode(digest, signature, method_id=method_id("isValidSignature(bytes32,bytes)")),
        max_outsize=32,
        is_static_call=True,
        revert_on_failure=False,
    )
    return success and len(answer) == 32 and convert(answer, bytes32) == ERC1271_VALID


@internal
@view
def _known(query: bytes32) -> uint256:
    meter: uint256 = self._meters[query]
    assert meter != 0, "ledger: unknown query"
    return meter


@internal
@view
def _only(who: address):
    assert msg.sender == who, "ledger: not for you"


@internal
@view
def _selling():
    self._not_closed()
    assert self._till >= SELLING, "ledger: paused"


@internal
@view
def _not_closed():
    assert self._till & CLOSED == 0, "ledger: closed"


@internal
@pure
def _dimension(meter: uint256) -> uint256:
    return (meter & ~QUERY_PAUSED) >> 224
