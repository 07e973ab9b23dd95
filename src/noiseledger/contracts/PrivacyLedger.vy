# pragma version 0.4.3
# pragma evm-version london
"""
@title PrivacyLedger
@license Apache-2.0
@author the noiseledger founders
@notice The privacy budget of one dataset. Analysts buy precision, the contract prices and refuses, the custodian's worker
        reveals noisy answers, and everyone can read and check everything. It cannot be upgraded.
@dev The data comes in editions, which never change, and each record of an edition lies in one zone of a public list. Each query
     has one path in each edition: its point at precision p, divided by p, is the answer with noise of deviation 1/sqrt(p), in
     units of the query's sensitivity. `bought` says how far the path is paid for, `revealed` how far it is known.

     Why the promise holds: a record is in one zone of one edition, and only what is bought of queries that reach this zone
     depends on it. What the zone has spent grows by exactly that, never beyond the budget, and never shrinks, since what was
     bought may already have been broadcast; a stretch of a path is revealed once, forward only, up to what was bought; and
     only the worker's increments enter a path, so nothing an analyst sends can influence an answer others will reuse.

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
    zones: uint256  # how many there are: each of them, in each edition, has the whole budget
    zone_list: bytes32  # the SHA-256 of what says in which zone a record lies

struct Request:
    query: bytes32
    edition: uint256
    precision: uint256
    epsilon: uint256  # what the analyst had in mind, or 0: recorded, not checked
    delta: uint256

struct Edition:
    commitment: bytes32  # to the data that came with it
    rows: uint256  # 0 where the number is private

# What an order costs so far, and of that what the last requests reach, which is not charged yet.
struct Bill:
    edition: uint256
    reach: uint256
    due: uint256
    total: uint256

struct Stretch:
    query: bytes32
    edition: uint256
    start: uint256
    end: uint256

event Published:
    terms: Terms
    zone_list: String[MAX_DEFINITION]
    custodian: address
    worker: address

event Opened:
    edition: uint256
    commitment: bytes32
    rows: uint256

event Retired:
    edition: uint256

event Registered:
    query: indexed(bytes32)
    dimension: uint256
    numerator: uint256
    denominator: uint256
    reach: uint256  # one bit for each zone, from the lowest on
    ceiling: uint256
    definition: String[MAX_DEFINITION]

event Asked:
    query: indexed(bytes32)
    analyst: indexed(address)
    edition: uint256
    precision: uint256
    epsilon: uint256
    delta: uint256
    cost: uint256

event Revealed:
    query: indexed(bytes32)
    edition: uint256
    start: uint256
    end: uint256
    increments: DynArray[int256, MAX_STORED]

event RevealedPiece:
    query: indexed(bytes32)
    edition: uint256
    start: uint256
    end: uint256
    first: uint256  # which coordinate the first increment belongs to
    increments: DynArray[int256, MAX_PIECE]

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
MAX_COORDINATES: constant(uint256) = 512  # of small answers, revealed in one transaction
MAX_PIECE: constant(uint256) = 256  # coordinates of one large answer, revealed in one transaction
MAX_DIMENSION: constant(uint256) = 65536
MAX_STORED: constant(uint256) = 8  # the largest dimension of points that other contracts can read
MAX_ZONES: constant(uint256) = 256
MAX_DEFINITION: constant(uint256) = 24576
MAX_SIGNATURE: constant(uint256) = 1024  # of a contract wallet; that of a key has 65 bytes
MAX_PRECISION: constant(uint256) = 2**110 - 1
# In the first till of all, beside what two zones have spent.
SELLING: constant(uint256) = 2**255
CLOSED: constant(uint256) = 2**254
# In the first till of each edition.
OPEN: constant(uint256) = 2**253
TILLS: constant(uint256) = MAX_ZONES // 2
# Where what the second zone of a till has spent begins.
SECOND: constant(uint256) = 110
# In the meter of a query in the first edition: what is true of it in all of them.
QUERY_PAUSED: constant(uint256) = 2**255
SELECTIVE: constant(uint256) = 2**254
LIMITED: constant(uint256) = 2**253
# Where the parts of a meter begin. The lowest one is what was bought.
REVEALED: constant(uint256) = 110
DONE: constant(uint256) = 220
DIMENSION: constant(uint256) = 236
# EIP-712: what an analyst signs, so that somebody else can bring the request to the chain.
REQUEST_TYPE: constant(bytes32) = keccak256("Request(bytes32 query,uint256 edition,uint256 precision,uint256 epsilon,uint256 delta)")
ASK_TYPE: constant(bytes32) = keccak256(
    "Ask(Request[] requests,uint256 limit,uint256 nonce,uint256 deadline)Request(bytes32 query,uint256 edition,uint256 precision,uint256 epsilon,uint256 delta)"
)
DOMAIN_TYPE: constant(bytes32) = keccak256(
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
# What a contract wallet answers if it accepts a signature (ERC-1271), and the upper end of what is accepted of a key's.
ERC1271_VALID: constant(bytes32) = 0x1626ba7e00000000000000000000000000000000000000000000000000000000
HALF_ORDER: constant(uint256) = 57896044618658097711785492504343953926418782139537452191302581570759080747168

TERMS: immutable(Terms)
# The reach of a query that reaches every zone.
ALL: immutable(uint256)

custodian: public(address)
heir: public(address)
worker: public(address)
allowance: public(HashMap[address, uint256])
nonce: public(HashMap[address, uint256])
# How many editions were opened: they are numbered from 0.
editions: public(uint256)
_opened: HashMap[uint256, Edition]
# What zones have spent, two to a word, for each edition one word after the other.
_tills: HashMap[uint256, uint256]
# One word by edition and query, so that a purchase writes one slot: how far the path is bought and revealed, and how many numbers of
# the next stretch were revealed. In the first edition also the dimension of the query, whether it is paused, and whether it
# reaches only some zones.
_meters: HashMap[bytes32, uint256]
_later_meters: HashMap[uint256, HashMap[bytes32, uint256]]
_ceilings: HashMap[bytes32, uint256]
_reaches: HashMap[bytes32, uint256]
# What was revealed: the point of a small answer; of a large one, a hash over all of it, and the end of a stretch in pieces.
_points: HashMap[uint256, HashMap[bytes32, int256[MAX_STORED]]]
_digests: HashMap[uint256, HashMap[bytes32, bytes32]]
_ends: HashMap[uint256, HashMap[bytes32, uint256]]


@deploy
def __init__(terms: Terms, zone_list: String[MAX_DEFINITION], worker: address):
    """
    @notice Publish a budget, with the first edition of the data. The sender becomes its custodian.
    @param terms What is fixed for good
    @param zone_list What says in which zone a record lies
    @param worker The only key that may reveal
    """
    assert 0 < terms.budget and terms.budget <= MAX_PRECISION, "ledger: budget out of range"
    assert terms.smallest <= terms.budget, "ledger: smallest purchase out of range"
    assert 0 < terms.zones and terms.zones <= MAX_ZONES, "ledger: zones out of range"
    assert sha256(zone_list) == terms.zone_list, "ledger: another list of zones"
    assert worker != empty(address), "ledger: no worker"
    TERMS = terms
    ALL = max_value(uint256) >> (MAX_ZONES - terms.zones)
    self.custodian = msg.sender
    self.worker = worker
    self.editions = 1
    self._opened[0] = Edition(commitment=terms.commitment, rows=terms.rows)
    self._tills[0] = SELLING | OPEN
    log Published(terms=terms, zone_list=zone_list, custodian=msg.sender, worker=worker)


@external
def open_edition(commitment: bytes32, rows: uint256):
    """
    @notice Add data. It has a budget of its own, and every query can be asked of it.
    @param commitment To the data
    @param rows The number of records, 0 where it is private
    """
    self._only(self.custodian)
    self._not_closed()
    edition: uint256 = self.editions
    self.editions = edition + 1
    self._opened[edition] = Edition(commitment=commitment, rows=rows)
    self._tills[edition * TILLS] = OPEN
    log Opened(edition=edition, commitment=commitment, rows=rows)


@external
def retire(edition: uint256):
    """
    @notice Stop selling an edition for good. What was bought can still be revealed.
    @param edition Which edition
    """
    self._only(self.custodian)
    self._open(edition)
    self._tills[edition * TILLS] &= ~OPEN
    log Retired(edition=edition)


@external
def register(
    definition: String[MAX_DEFINITION],
    dimension: uint256,
    numerator: uint256,
    denominator: uint256,
    reach: uint256,
    ceiling: uint256,
):
    """
    @notice Add a query to the catalogue. None can be changed or removed.
    @param definition Its canonical form; the SHA-256 of it identifies the query
    @param dimension The number of coordinates of its answer
    @param numerator Of its sensitivity in the first edition
    @param denominator Of its sensitivity in the first edition
    @param reach The zones whose records can influence its answer, one bit each
    @param ceiling The furthest precision that may ever be bought in an edition, or 0 for none
    """
    self._only(self.custodian)
    self._not_closed()
    query: bytes32 = sha256(definition)
    assert self._meters[query] == 0, "ledger: query exists"
    assert 0 < dimension and dimension <= MAX_DIMENSION, "ledger: dimension out of range"
    assert 0 < numerator and 0 < denominator, "ledger: no sensitivity"
    assert 0 < reach and reach <= ALL, "ledger: reach out of range"
    assert ceiling <= MAX_PRECISION, "ledger: ceiling out of range"
    known: uint256 = dimension << DIMENSION
    if reach < ALL:
        known |= SELECTIVE
        self._reaches[query] = reach
    if ceiling > 0:
        known |= LIMITED
        self._ceilings[query] = ceiling
    self._meters[query] = known
    # Written here so that the first piece in the first edition costs no more than later ones.
    if dimension > MAX_STORED:
        self._digests[0][query] = query
    log Registered(
        query=query,
        dimension=dimension,
        numerator=numerator,
        denominator=denominator,
        reach=reach,
        ceiling=ceiling,
        definition=definition,
    )


@external
def ask(requests: DynArray[Request, MAX_BATCH], limit: uint256):
    """
    @notice Buy precision, all requests or none. A request at or below what was bought is free, and recorded all the same.
    @param requests What is asked
    @param limit The most that all of them may cost: others may have moved the paths since the price was read
    """
    self._selling()
    cost: uint256 = 0
    reach: uint256 = 0
    bill: Bill = empty(Bill)
    for request: Request in requests:
        cost, reach = self._sell(request, msg.sender)
        if cost > 0:
            bill = self._add(bill, cost, request.edition, reach)
    self._settle(bill, limit, msg.sender)


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
    cost: uint256 = 0
    reach: uint256 = 0
    bill: Bill = empty(Bill)
    for request: Request in requests:
        hashes.append(keccak256(abi_encode(REQUEST_TYPE, request)))
        cost, reach = self._sell(request, analyst)
        if cost > 0:
            bill = self._add(bill, cost, request.edition, reach)
    # The encoding of a list begins with its offset and its length, which are not signed.
    listed: bytes32 = keccak256(slice(abi_encode(hashes), 64, 32 * len(hashes)))
    nonce: uint256 = self.nonce[analyst]
    self.nonce[analyst] = nonce + 1
    ask: bytes32 = keccak256(abi_encode(ASK_TYPE, listed, limit, nonce, deadline))
    assert self._signed(keccak256(concat(b"\x19\x01", self._domain(), ask)), analyst, signature), "ledger: wrong signature"
    self._settle(bill, limit, analyst)


@external
def reveal(stretches: DynArray[Stretch, MAX_BATCH], increments: DynArray[int256, MAX_COORDINATES]):
    """
    @notice Extend paths of small answers, all of them or none: forward only, from where each one ends, to no more than was bought.
    @param stretches Which paths, where each one ends now, and where it is to end
    @param increments What is added to each coordinate, path after path
    """
    self._only(self.worker)
    used: uint256 = 0
    for stretch: Stretch in stretches:
        known: uint256 = self._known(stretch.query)
        meter: uint256 = self._due(known, stretch)
        dimension: uint256 = self._dimension(known)
        assert dimension <= MAX_STORED, "ledger: a large answer"
        assert used + dimension <= len(increments), "ledger: too few increments"
        part: DynArray[int256, MAX_STORED] = []
        for i: uint256 in range(dimension, bound=MAX_STORED):
            part.append(increments[used])
            self._points[stretch.edition][stretch.query][i] += increments[used]
            used += 1
        self._write_meter(meter + ((stretch.end - stretch.start) << REVEALED), stretch.query, stretch.edition)
        log Revealed(query=stretch.query, edition=stretch.edition, start=stretch.start, end=stretch.end, increments=part)
    assert used == len(increments), "ledger: too many increments"


@external
def reveal_piece(stretch: Stretch, first: uint256, increments: DynArray[int256, MAX_PIECE]):
    """
    @notice Extend the path of a large answer, or a piece of it: the next coordinates. It is revealed when all of them are.
    @param stretch Which path, where it ends now, and where it is to end
    @param first Which coordinate is the next one
    @param increments What is added to this coordinate and to those after it
    """
    self._only(self.worker)
    known: uint256 = self._known(stretch.query)
    meter: uint256 = self._due(known, stretch)
    dimension: uint256 = self._dimension(known)
    assert dimension > MAX_STORED, "ledger: a small answer"
    assert first == self._done(meter), "ledger: not the next coordinate"
    assert first == 0 or stretch.end == self._ends[stretch.edition][stretch.query], "ledger: not where the stretch ends"
    done: uint256 = first + len(increments)
    assert first < done and done <= dimension, "ledger: wrong number of increments"
    digest: bytes32 = self._digest(stretch.query, stretch.edition)
    self._digests[stretch.edition][stretch.query] = keccak256(abi_encode(digest, stretch.end, first, increments))
    if done < dimension:
        meter += len(increments) << DONE
        self._ends[stretch.edition][stretch.query] = stretch.end
    else:
        meter = meter - (first << DONE) + ((stretch.end - stretch.start) << REVEALED)
        if first > 0:
            self._ends[stretch.edition][stretch.query] = 0
    self._write_meter(meter, stretch.query, stretch.edition)
    log RevealedPiece(
        query=stretch.query, edition=stretch.edition, start=stretch.start, end=stretch.end, first=first, increments=increments
    )


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
    self._tills[0] = (self._tills[0] & ~SELLING) | (0 if paused else SELLING)
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
    self._tills[0] = (self._tills[0] & ~SELLING) | CLOSED
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
def edition(edition: uint256) -> (bytes32, uint256, bool):
    """
    @param edition Which edition
    @return The commitment to its data
    @return The number of its records, 0 where it is private
    @return Whether it is sold
    """
    found: Edition = self._opened[edition]
    return found.commitment, found.rows, self._tills[edition * TILLS] & OPEN != 0


@external
@view
def spent(edition: uint256) -> DynArray[uint256, MAX_ZONES]:
    """
    @param edition Which edition
    @return The precision that each zone has spent in it
    """
    found: DynArray[uint256, MAX_ZONES] = []
    for zone: uint256 in range(TERMS.zones, bound=MAX_ZONES):
        found.append((self._tills[edition * TILLS + zone // 2] >> (SECOND * (zone % 2))) & MAX_PRECISION)
    return found


@external
@view
def paused() -> bool:
    """
    @return Whether selling has stopped
    """
    return self._tills[0] < SELLING


@external
@view
def closed() -> bool:
    """
    @return Whether selling has stopped for good
    """
    return self._tills[0] & CLOSED != 0


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
def ceiling(query: bytes32) -> uint256:
    """
    @param query Which query
    @return The furthest precision that may ever be bought in an edition, or 0 for none
    """
    return self._ceilings[query]


@external
@view
def reach(query: bytes32) -> uint256:
    """
    @param query Which query
    @return The zones whose records can influence its answer, one bit each; none for an unknown query
    """
    known: uint256 = self._meters[query]
    return 0 if known == 0 else self._reach(query, known)


@external
@view
def price(query: bytes32, edition: uint256, precision: uint256) -> (uint256, uint256):
    """
    @notice Price a request, whether or not the budget can bear it.
    @param query Which query
    @param edition Which edition
    @param precision How precise
    @return The precision, rounded up to that of the smallest purchase
    @return The cost
    """
    known: uint256 = self._known(query)
    return self._price(known, self._meter(known, query, edition), query, precision)


@external
@view
def meter(query: bytes32, edition: uint256) -> (uint256, uint256, uint256):
    """
    @param query Which query
    @param edition Which edition
    @return Its dimension, 0 for an unknown query
    @return The precision bought
    @return The precision revealed
    """
    known: uint256 = self._meters[query]
    meter: uint256 = self._meter(known, query, edition)
    return self._dimension(known), meter & MAX_PRECISION, (meter >> REVEALED) & MAX_PRECISION


@external
@view
def piece(query: bytes32, edition: uint256) -> (uint256, uint256, bytes32):
    """
    @notice Read how far a large answer is revealed. What was revealed is in the events; each of them is hashed, with the hash
            before it, its end and its first coordinate.
    @param query Which query
    @param edition Which edition
    @return How many numbers of the next stretch were revealed
    @return Where that stretch ends, 0 if none was
    @return The hash over all that was revealed, which begins as the query's identifier
    """
    return self._done(self._meter(self._known(query), query, edition)), self._ends[edition][query], self._digest(query, edition)


@external
@view
def point(query: bytes32, edition: uint256) -> DynArray[int256, MAX_STORED]:
    """
    @notice Read the furthest point of a path: divided by the precision revealed, the best answer known. Of an answer with more
            numbers than are stored, nothing is returned: see `piece`.
    @param query Which query
    @param edition Which edition
    @return One number for each coordinate
    """
    values: DynArray[int256, MAX_STORED] = []
    dimension: uint256 = self._dimension(self._known(query))
    if dimension <= MAX_STORED:
        for i: uint256 in range(dimension, bound=MAX_STORED):
            values.append(self._points[edition][query][i])
    return values


@internal
@view
def _price(known: uint256, meter: uint256, query: bytes32, precision: uint256) -> (uint256, uint256):
    bought: uint256 = meter & MAX_PRECISION
    assert 0 < precision and precision <= MAX_PRECISION, "ledger: precision out of range"
    if TERMS.reuses and precision <= bought:
        return precision, 0
    reused: uint256 = bought if TERMS.reuses else 0
    cost: uint256 = max(precision - reused, TERMS.smallest)
    ceiling: uint256 = MAX_PRECISION if known & LIMITED == 0 else self._ceilings[query]
    assert bought + cost <= ceiling, "ledger: above the ceiling"
    return reused + cost, cost


@internal
def _sell(request: Request, analyst: address) -> (uint256, uint256):
    precision: uint256 = 0
    cost: uint256 = 0
    known: uint256 = self._known(request.query)
    meter: uint256 = known if request.edition == 0 else self._later_meters[request.edition][request.query]
    precision, cost = self._price(known, meter, request.query, request.precision)
    assert known < QUERY_PAUSED, "ledger: query paused"
    log Asked(
        query=request.query,
        analyst=analyst,
        edition=request.edition,
        precision=precision,
        epsilon=request.epsilon,
        delta=request.delta,
        cost=cost,
    )
    if cost == 0:
        return 0, 0
    # `bought` is in the lowest bits, and the price made sure that it stays there.
    self._write_meter(meter + cost, request.query, request.edition)
    return cost, self._reach(request.query, known)


@internal
def _add(bill: Bill, cost: uint256, edition: uint256, reach: uint256) -> Bill:
    if edition == bill.edition and reach == bill.reach:
        return Bill(edition=edition, reach=reach, due=bill.due + cost, total=bill.total + cost)
    self._charge(bill)
    self._open(edition)
    return Bill(edition=edition, reach=reach, due=cost, total=bill.total + cost)


@internal
def _settle(bill: Bill, limit: uint256, analyst: address):
    self._charge(bill)
    if bill.total > limit:
        raw_revert(abi_encode(bill.total, limit, method_id=method_id("LimitExceeded(uint256,uint256)")))
    if TERMS.requires_allowance:
        remaining: uint256 = self.allowance[analyst]
        if bill.total > remaining:
            raw_revert(abi_encode(bill.total, remaining, method_id=method_id("AllowanceExceeded(uint256,uint256)")))
        # Free requests too: each is recorded for ever, and strangers could write as many as they like.
        assert remaining > 0, "ledger: not invited"
        self.allowance[analyst] = remaining - bill.total


@internal
def _charge(bill: Bill):
    if bill.due > 0:
        for i: uint256 in range((TERMS.zones + 1) // 2, bound=TILLS):
            both: uint256 = (bill.reach >> (2 * i)) & 3
            if both != 0:
                till: uint256 = self._tills[bill.edition * TILLS + i]
                if both & 1 != 0:
                    self._afford(bill.due, till & MAX_PRECISION)
                    till += bill.due
                if both & 2 != 0:
                    self._afford(bill.due, (till >> SECOND) & MAX_PRECISION)
                    till += bill.due << SECOND
                self._tills[bill.edition * TILLS + i] = till


@internal
@view
def _afford(cost: uint256, spent: uint256):
    remaining: uint256 = TERMS.budget - spent
    if cost > remaining:
        raw_revert(abi_encode(cost, remaining, method_id=method_id("BudgetExceeded(uint256,uint256)")))


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
    known: uint256 = self._meters[query]
    assert known != 0, "ledger: unknown query"
    return known


@internal
@view
def _meter(known: uint256, query: bytes32, edition: uint256) -> uint256:
    return known if edition == 0 else self._later_meters[edition][query]


@internal
def _write_meter(meter: uint256, query: bytes32, edition: uint256):
    if edition == 0:
        self._meters[query] = meter
    else:
        self._later_meters[edition][query] = meter


@internal
@view
def _due(known: uint256, stretch: Stretch) -> uint256:
    meter: uint256 = self._meter(known, stretch.query, stretch.edition)
    assert stretch.start == (meter >> REVEALED) & MAX_PRECISION, "ledger: not where the path ends"
    assert stretch.start < stretch.end and stretch.end <= meter & MAX_PRECISION, "ledger: not bought"
    return meter


@internal
@view
def _digest(query: bytes32, edition: uint256) -> bytes32:
    digest: bytes32 = self._digests[edition][query]
    return query if digest == empty(bytes32) else digest


@internal
@view
def _reach(query: bytes32, known: uint256) -> uint256:
    return ALL if known & SELECTIVE == 0 else self._reaches[query]


@internal
@view
def _only(who: address):
    assert msg.sender == who, "ledger: not for you"


@internal
@view
def _selling():
    self._not_closed()
    assert self._tills[0] >= SELLING, "ledger: paused"


@internal
@view
def _not_closed():
    assert self._tills[0] & CLOSED == 0, "ledger: closed"


@internal
@view
def _open(edition: uint256):
    assert edition < max_value(uint256) // TILLS and self._tills[edition * TILLS] & OPEN != 0, "ledger: edition not open"


@internal
@pure
def _dimension(known: uint256) -> uint256:
    return (known >> DIMENSION) & (2 * MAX_DIMENSION - 1)


@internal
@pure
def _done(meter: uint256) -> uint256:
    return (meter >> DONE) & (MAX_DIMENSION - 1)
