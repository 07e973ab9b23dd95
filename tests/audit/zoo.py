"""The zoo: dishonest ledgers, each with what it does wrong and the rule that it must be caught by.

Each is built on a real chain by a real but altered contract, or by a custodian or worker who lies to the real one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from audit.altered import SOURCE, Changes, added, bytecode
from audit.cage import ANALYST, CUSTODIAN, NAMES, OTHER, OVER_30, OVER_60, TOWNS, WORKER, Cage
from audit.hostile import unreadable_logs
from noiseledger.audit import Rule
from noiseledger.core.privacy import UNITS, classic_precision_for
from noiseledger.core.query import Query
from noiseledger.core.sensitivity import sensitivity


@dataclass(frozen=True)
class Beast:
    """A kind of dishonest ledger."""

    name: str
    #: Builds one, and returns the transaction in which it misbehaves, or "" if none does.
    build: Callable[[Cage], str]
    rule: Rule
    #: Part of the sentence that must be found.
    word: str
    #: What else must be broken: its consequences.
    also: frozenset[Rule]

    def __str__(self) -> str:
        return self.name


BEASTS: list[Beast] = []


def beast(
    rule: Rule, word: str, *also: Rule, changes: Changes | None = None
) -> Callable[[Callable[[Cage], str]], Callable[[Cage], str]]:
    """Take a builder into the zoo; with changes, its contract is altered, which its code always shows too."""

    def enter(build: Callable[[Cage], str]) -> Callable[[Cage], str]:
        def published(cage: Cage) -> str:
            if changes is not None:
                cage.publish(changes)
            return build(cage)

        code = [] if changes is None or rule is Rule.BYTECODE else [Rule.BYTECODE]
        BEASTS.append(Beast(build.__name__, published, rule, word, frozenset([*also, *code])))
        return build

    return enter


def _units(precision: str) -> int:
    return int(Fraction(precision) * UNITS)


# Prices.

_LOGGED_COST, _CHARGED = "            cost=cost,\n", "            total += cost\n"
_SOLD = "return CASE_2B if TERMS.reuses and bought > 0 else CASE_1, goal - bought"
_FREE = "return CASE_2A if precision == bought else CASE_2C, 0"
_PRICE = "if TERMS.reuses and precision <= bought:"


@beast(Rule.PRICE, "it is case 1 for 0.25", Rule.STATE, changes=[(_LOGGED_COST, "            cost=cost // 2,\n")])
def says_less_than_it_charges(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    return cage.ask((OVER_60, "1/4"))


@beast(Rule.STATE, "what was spent", changes=[(_CHARGED, "            total += cost // 2\n")])
def charges_less_than_it_says(cage: Cage) -> str:
    cage.live()
    return ""


@beast(
    Rule.PRICE,
    "it is case 2B for 0.25",
    Rule.REVEAL,
    Rule.STATE,
    changes=[
        (_CHARGED, "            total += 0 if case == CASE_2B else cost\n"),
        (_LOGGED_COST, "            cost=0 if case == CASE_2B else cost,\n"),
    ],
)
def goes_further_for_nothing(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    asked = cage.ask((OVER_60, "1/2"))
    cage.reveal(OVER_60, 0, "1/2")
    return asked


@beast(Rule.PRICE, "recorded as case 1", changes=[(_SOLD, "return CASE_1, goal - bought")])
def says_another_case(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    return cage.ask((OVER_60, "1/2"))


@beast(Rule.PRICE, "recorded as case 7", changes=[("CASE_2B: constant(uint256) = 3", "CASE_2B: constant(uint256) = 7")])
def says_a_case_that_there_is_not(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    return cage.ask((OVER_60, "1/2"))


@beast(
    Rule.PRICE,
    "it is case 1 for 0.123456789",
    changes=[(_SOLD, _SOLD.replace("goal - bought", f"(goal - bought) // {UNITS // 10**4} * {UNITS // 10**4}"))],
)
def truncates_costs(cage: Cage) -> str:
    """Cuts the cost to four decimals."""
    cage.register(OVER_60, TOWNS)
    return cage.ask((OVER_60, "0.123456789"))


@beast(
    Rule.PRICE,
    "recorded as case 2A for 0.25; it is case 2A for 0",
    changes=[(_FREE, "return CASE_2A if precision == bought else CASE_2C, precision if precision == bought else 0")],
)
def charges_again_for_what_is_known(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    return cage.ask((OVER_60, "1/4"))


_REUSES = [
    (_PRICE, "if precision <= bought:"),
    ("if TERMS.reuses else bought + precision", "if True else bought + precision"),
    (_SOLD, "return CASE_2B if bought > 0 else CASE_1, goal - bought"),
]


@beast(Rule.PRICE, "it is case 1 for 0.5", Rule.BYTECODE)
def reuses_where_it_says_it_does_not(cage: Cage) -> str:
    cage.with_terms(reuses=False)
    cage.publish(_REUSES)
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    return cage.ask((OVER_60, "1/2"))


@beast(
    Rule.PRICE,
    "recorded as case 1 for 0.5; it is case 2B for 0.25",
    changes=[
        (_PRICE, "if False and precision <= bought:"),
        ("precision if TERMS.reuses else bought + precision", "bought + precision"),
        (_SOLD, "return CASE_1, goal - bought"),
    ],
)
def charges_in_full_where_it_says_it_reuses(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    return cage.ask((OVER_60, "1/2"))


@beast(
    Rule.PRICE,
    "it is case 1 for 0.125",
    changes=[("            precision=request.precision,", "            precision=request.precision // 2,")],
)
def records_half_the_precision(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    return cage.ask((OVER_60, "1/4"))


@beast(
    Rule.PRICE,
    "precision 0 after 0.25",
    changes=[("assert 0 < precision and precision <= MAX_PRECISION", "assert precision <= MAX_PRECISION")],
)
def sells_a_precision_of_nothing(cage: Cage) -> str:
    """No answer has the precision 0, so nobody can have asked for it."""
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    return cage.ask((OVER_60, 0))


_ASKED = """        log Asked(
            query=request.query,
            analyst=msg.sender,
            precision=request.precision,
            epsilon=request.epsilon,
            delta=request.delta,
            case=case,
            cost=cost,
        )
"""


@beast(Rule.PRICE, "it is case 2A for 0", Rule.STATE, changes=[(_ASKED, _ASKED + _ASKED)])
def records_requests_twice(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    return cage.ask((OVER_60, "1/4"))


# The budget.

_REMAINING = "    remaining: uint256 = TERMS.budget - (self._till & MAX_PRECISION)\n    if cost > remaining:\n"
_BEYOND = "    remaining: uint256 = MAX_PRECISION\n    if cost > remaining:\n"


@beast(Rule.BUDGET, "What was spent, 4", changes=[(_REMAINING, _BEYOND)])
def spends_beyond_the_budget(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, 3))
    return cage.ask((TOWNS, 1))


_EXTRA = ("_till: uint256\n", "_till: uint256\n_extra: uint256\n")
_RAISE = added(
    "@external\ndef raise_budget(extra: uint256):\n    self._only(self.custodian)\n    self._extra = extra\n\n"
)


@beast(
    Rule.BUDGET,
    "is more than the budget of 3.39",
    changes=[_EXTRA, *_RAISE, (_REMAINING, _REMAINING.replace("TERMS.budget", "TERMS.budget + self._extra"))],
)
def raises_the_budget_by_a_hidden_function(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, 3))
    cage.send(CUSTODIAN, "raise_budget(uint256)", _units("10"))
    return cage.ask((TOWNS, 10))


_OTHER_TERMS = """    told: Terms = TERMS
    told.budget += self._extra
    return told
"""


@beast(
    Rule.TERMS,
    "The terms that the contract tells",
    changes=[_EXTRA, *_RAISE, ("    return TERMS\n", _OTHER_TERMS)],
)
def raises_the_budget_that_it_tells(cage: Cage) -> str:
    cage.live()
    cage.send(CUSTODIAN, "raise_budget(uint256)", _units("10"))
    return ""


@beast(Rule.CONVERSION, "and the budget is 4")
def budget_is_more_than_promised(cage: Cage) -> str:
    cage.with_terms(budget=Fraction(4))
    cage.publish()
    cage.live()
    return cage.published


@beast(Rule.CONVERSION, "means a budget of 3.39062975 or less, and the budget is 3.392172")
def budget_by_the_classic_formula(cage: Cage) -> str:
    """The paper's own numbers and formula, which keeps a little less than it promises."""
    cage.with_terms(budget=classic_precision_for(8, "1e-4"))
    cage.publish()
    cage.live()
    return cage.published


@beast(Rule.CONVERSION, "cannot be converted")
def promise_that_means_nothing(cage: Cage) -> str:
    cage.with_terms(delta=Fraction(2))
    cage.publish()
    cage.live()
    return cage.published


_REFUND = """@external
def refund(amount: uint256):
    self._only(self.custodian)
    self._till -= amount

"""


@beast(Rule.STATE, "what was spent", changes=added(_REFUND))
def refunds(cage: Cage) -> str:
    cage.live()
    cage.send(CUSTODIAN, "refund(uint256)", _units("1/2"))
    return ""


@beast(Rule.STATE, "what was spent", changes=[("    return self._till & MAX_PRECISION\n", "    return 0\n")])
def tells_that_nothing_was_spent(cage: Cage) -> str:
    cage.live()
    return ""


_GIFT = """@external
def give(query: bytes32, cost: uint256):
    self._only(self.custodian)
    self._meters[query] += cost
    self._charge(cost)

"""


@beast(Rule.STATE, "what was spent", changes=added(_GIFT))
def sells_without_a_record(cage: Cage) -> str:
    cage.live()
    cage.send(CUSTODIAN, "give(bytes32,uint256)", bytes.fromhex(OVER_60.identifier), _units("1"))
    return ""


# Terms.

_AGAIN = """@external
def again(worker: address):
    log Published(terms=TERMS, custodian=msg.sender, worker=worker)

"""


@beast(Rule.TERMS, "a second time", changes=added(_AGAIN))
def is_published_twice(cage: Cage) -> str:
    cage.live()
    return cage.send(CUSTODIAN, "again(address)", WORKER.address)


_PUBLISHED = "    log Published(terms=terms, custodian=msg.sender, worker=worker)\n"


@beast(Rule.TERMS, "The terms that the contract tells")
def is_published_with_other_terms_than_its_code_has(cage: Cage) -> str:
    """Nothing but the constructor is altered, so the code is that of the published contract."""
    small = "    small: Terms = terms\n    small.budget *= 2\n    TERMS = small\n"
    cage.publish([("    TERMS = terms\n", small)])
    cage.live()
    return ""


@beast(Rule.TERMS, "before the ledger was published", Rule.STATE)
def is_never_published(cage: Cage) -> str:
    """Again only the constructor is altered: it says nothing."""
    cage.publish([(_PUBLISHED, "")])
    registered = cage.register(OVER_60)
    cage.register(TOWNS)
    return registered


@beast(Rule.TERMS, "is the first block too late?", Rule.RECORD, Rule.CATALOGUE, Rule.STATE)
def its_file_names_too_late_a_block(cage: Cage) -> str:
    """The custodian would like to hide how it began."""
    cage.publish()
    cage.register(OVER_60)
    cage.ask((OVER_60, "1/4"))
    cage.first_block = int(cage.rpc.call("eth_blockNumber"), 16)
    cage.register(TOWNS)
    cage.reveal(OVER_60, 0, "1/4")
    return ""


# The catalogue.


@beast(
    Rule.CATALOGUE,
    "is not the hash",
    changes=[("query: bytes32 = sha256(definition)", "query: bytes32 = keccak256(definition)")],
)
def registers_under_another_identifier(cage: Cage) -> str:
    cage.named = {}
    return cage.register(OVER_60)


@beast(Rule.CATALOGUE, "not in canonical form")
def definition_is_not_canonical(cage: Cage) -> str:
    cage.publish()
    definition = OVER_60.canonical.replace(",", ", ")
    cage.live()
    cage.named["again"] = definition
    return cage.register_as(definition, 1, (1, 2000))


@beast(Rule.CATALOGUE, "not in canonical form")
def definition_is_no_text(cage: Cage) -> str:
    cage.publish()
    cage.live()
    cage.named["odd"] = "\x00'; DROP TABLE \N{RIGHT-TO-LEFT OVERRIDE}"
    return cage.register_as(cage.named["odd"], 1, (1, 2000))


@beast(Rule.CATALOGUE, "or the query is hidden")
def hides_a_query(cage: Cage) -> str:
    cage.publish()
    cage.live()
    registered = cage.register(OVER_30)
    cage.ask((OVER_30, "1/2"))
    return registered


@beast(Rule.CATALOGUE, "The ledger file names 'over_30', which the ledger does not have")
def names_a_query_that_it_lacks(cage: Cage) -> str:
    cage.publish()
    cage.live()
    cage.named["over_30"] = OVER_30.canonical
    return ""


@beast(
    Rule.CATALOGUE,
    "registered twice",
    Rule.STATE,
    changes=[('    assert self._meters[query] == 0, "ledger: query exists"\n', "")],
)
def registers_a_query_anew(cage: Cage) -> str:
    """So that a path begins again, and what was spent on it is forgotten."""
    cage.live()
    return cage.register(OVER_60)


@beast(Rule.SENSITIVITY, "The sensitivity of 'share of rows where age > 60' is 0.0005, and 0.00025 was registered")
def halves_the_sensitivity(cage: Cage) -> str:
    cage.publish()
    cage.register(TOWNS)
    return cage.register_as(OVER_60.canonical, 1, (1, 4000))


@beast(
    Rule.SENSITIVITY,
    "and none was registered",
    changes=[('assert 0 < numerator and 0 < denominator, "ledger: no sensitivity"', "pass")],
)
def has_no_sensitivity(cage: Cage) -> str:
    cage.register(TOWNS)
    return cage.register_as(OVER_60.canonical, 1, (1, 0))


@beast(Rule.SENSITIVITY, "is 2, and 1 was registered")
def registers_another_dimension(cage: Cage) -> str:
    cage.publish()
    cage.register(OVER_60)
    return cage.register_as(TOWNS.canonical, 1, _fraction(TOWNS, cage))


@beast(
    Rule.SENSITIVITY,
    f"is 2, and {2**200} was registered",
    Rule.STATE,
    changes=[
        ('assert 0 < dimension and dimension <= MAX_COORDINATES, "ledger: dimension out of range"', "pass"),
        ("    self._meters[query] = dimension << 224\n", "    self._meters[query] = 2 << 224\n"),
    ],
)
def registers_a_dimension_that_fits_no_memory(cage: Cage) -> str:
    cage.register(OVER_60)
    return cage.register_as(TOWNS.canonical, 2**200, _fraction(TOWNS, cage))


@beast(Rule.SENSITIVITY, "is unknown")
def has_no_rows(cage: Cage) -> str:
    """A share of no rows has no sensitivity that anybody knows."""
    none = "    empty_: Terms = terms\n    empty_.rows = 0\n    TERMS = empty_\n"
    cage.publish([("    TERMS = terms\n", none), (_PUBLISHED, _PUBLISHED.replace("terms=terms", "terms=empty_"))])
    cage.named = {"over_60": OVER_60.canonical}
    return cage.register(OVER_60)


# Ceilings, allowances, pauses.


@beast(
    Rule.CEILING,
    "up to 0.5, beyond its ceiling of 0.25",
    changes=[("(ceiling == 0 or goal <= ceiling)", "(ceiling == 0 or goal <= 2 * ceiling)")],
)
def ignores_a_ceiling(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS, ceiling="1/4")
    return cage.ask((OVER_60, "1/2"))


_LIFT = """@external
def lift(query: bytes32, ceiling: uint256):
    self._only(self.custodian)
    self.ceiling[query] = ceiling

"""


@beast(Rule.CEILING, "beyond its ceiling", Rule.STATE, changes=added(_LIFT))
def lifts_a_ceiling_and_sells(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS, ceiling="1/4")
    cage.send(CUSTODIAN, "lift(bytes32,uint256)", bytes.fromhex(OVER_60.identifier), 0)
    return cage.ask((OVER_60, "1/2"))


@beast(Rule.STATE, "the ceiling of query", changes=added(_LIFT))
def lowers_a_ceiling_in_secret(cage: Cage) -> str:
    cage.live()
    cage.send(CUSTODIAN, "lift(bytes32,uint256)", bytes.fromhex(OVER_60.identifier), 1)
    return ""


@beast(Rule.ALLOWANCE, "0.25 more than was allowed", Rule.STATE, Rule.BYTECODE)
def ignores_allowances(cage: Cage) -> str:
    cage.with_terms(invites=True)
    cage.publish([("    if TERMS.invites:\n", "    if TERMS.invites and msg.sender != self.custodian:\n")])
    cage.register(OVER_60, TOWNS)
    cage.as_(CUSTODIAN).allow(CUSTODIAN.address, Fraction(1, 4))
    return cage.ask((OVER_60, "1/2"), key=CUSTODIAN)


@beast(Rule.ALLOWANCE, "0.5 more than was allowed", Rule.STATE)
def has_an_allowance_from_birth(cage: Cage) -> str:
    """Nothing but the constructor is altered, so the code is that of the published contract."""
    cage.with_terms(invites=True)
    birth = f"    self.allowance[{ANALYST.address}] = {_units('1')}\n"
    cage.publish([(_PUBLISHED, birth + _PUBLISHED)])
    cage.register(OVER_60, TOWNS)
    return cage.ask((OVER_60, "1/2"))


_ENDOW = """@external
def endow(analyst: address, allowance: uint256):
    self._only(self.custodian)
    self.allowance[analyst] = allowance

"""


@beast(Rule.STATE, "how much", changes=added(_ENDOW))
def raises_an_allowance_in_secret(cage: Cage) -> str:
    """Nothing was bought with it yet."""
    cage.live()
    cage.as_(CUSTODIAN).allow(OTHER.address, Fraction(1, 4))
    cage.send(CUSTODIAN, "endow(address,uint256)", OTHER.address, _units("1"))
    return ""


@beast(Rule.PAUSE, "while selling was stopped", changes=[('    assert self._till >= SELLING, "ledger: paused"\n', "")])
def sells_while_it_is_paused(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.as_(CUSTODIAN).pause(True)
    return cage.ask((OVER_60, "1/4"))


@beast(Rule.STATE, "whether selling is stopped")
def is_paused_from_birth(cage: Cage) -> str:
    """Nothing but the constructor is altered."""
    cage.publish([("    self._till = SELLING\n", "    self._till = 0\n")])
    cage.register(OVER_60, TOWNS)
    return ""


# Answers.

_START = '        assert starts[i] == (meter >> 112) & MAX_PRECISION, "ledger: not where the path ends"\n'
_END = '        assert starts[i] < ends[i] and ends[i] <= meter & MAX_PRECISION, "ledger: not bought"\n'
_MOVED = "        self._meters[queries[i]] = meter + ((ends[i] - starts[i]) << 112)\n"
_ANYWHERE = "        self._meters[queries[i]] = (meter & ~(MAX_PRECISION << 112)) | (ends[i] << 112)\n"
_CARELESS = [(_START, ""), (_END, ""), (_MOVED, _ANYWHERE)]


@beast(Rule.REVEAL, "a second time: from 0, where the path was known up to 0.25", changes=_CARELESS)
def answers_twice(cage: Cage) -> str:
    """Two answers to one question, with noise that averages out, for the price of one."""
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    cage.reveal(OVER_60, 0, "1/4")
    return cage.reveal(OVER_60, 0, "1/4")


@beast(Rule.REVEAL, "up to 0.5, and bought up to 0.25 only", changes=_CARELESS)
def reveals_more_than_was_bought(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    return cage.reveal(OVER_60, 0, "1/2")


@beast(Rule.REVEAL, "up to 0.25, and bought up to 0 only", changes=_CARELESS)
def reveals_what_nobody_bought(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    return cage.reveal(OVER_60, 0, "1/4")


@beast(Rule.REVEAL, "from 0.25 to 0.125, which is not forward", changes=_CARELESS)
def reveals_backwards(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    cage.reveal(OVER_60, 0, "1/4")
    return cage.reveal(OVER_60, "1/4", "1/8")


@beast(Rule.REVEAL, "goes on at 0.5, and was left at 0.25", changes=_CARELESS)
def skips_a_stretch(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, 1))
    cage.reveal(OVER_60, 0, "1/4")
    return cage.reveal(OVER_60, "1/2", 1)


_LOGGED_PART = "        log Revealed(query=queries[i], start=starts[i], end=ends[i], increments=part)\n"


@beast(
    Rule.REVEAL,
    "1 numbers were revealed where the query has 2",
    Rule.STATE,
    changes=[(_LOGGED_PART, "        part.pop()\n" + _LOGGED_PART)],
)
def reveals_too_few_numbers(cage: Cage) -> str:
    cage.register(TOWNS, OVER_60)
    cage.ask((TOWNS, "1/4"))
    return cage.reveal(TOWNS, 0, "1/4")


@beast(
    Rule.STATE,
    "is not the sum of what was revealed",
    changes=[
        ("self._points[queries[i]][j] += increments[used]", "self._points[queries[i]][j] += increments[used] + 1")
    ],
)
def adds_to_answers(cage: Cage) -> str:
    cage.live()
    return ""


@beast(
    Rule.STATE,
    "is not the sum of what was revealed",
    changes=[("        values.append(self._points[query][j])\n", "        values.append(self._points[query][0])\n")],
)
def tells_another_answer(cage: Cage) -> str:
    cage.live()
    return ""


@beast(Rule.STATE, "is not the sum of what was revealed")
def has_an_answer_from_birth(cage: Cage) -> str:
    """Nothing but the constructor is altered: the path does not begin at 0."""
    birth = f"    self._points[0x{TOWNS.identifier}][1] = 10 ** 18\n"
    cage.publish([(_PUBLISHED, birth + _PUBLISHED)])
    cage.live()
    return ""


@beast(
    Rule.STATE,
    "how far query",
    changes=[("return word >> 224, word & MAX_PRECISION,", "return word >> 224, (word & MAX_PRECISION) // 2,")],
)
def tells_another_meter(cage: Cage) -> str:
    cage.live()
    return ""


_HUSHED = _LOGGED_PART.replace("        log", "        if starts[i] > 0:\n            log")


@beast(Rule.STATE, "how far query", Rule.REVEAL, changes=[(_LOGGED_PART, _HUSHED)])
def reveals_without_a_record(cage: Cage) -> str:
    """The first answer is known to who reads transactions; TOWNS has no other, OVER_60 goes on where nothing is."""
    cage.live()
    return ""


# Roles.


@beast(
    Rule.ROLES,
    "became custodian, and it was not offered to them",
    changes=[("    self._only(self.heir)\n    self.custodian = msg.sender\n", "    self.custodian = msg.sender\n")],
)
def custody_is_taken(cage: Cage) -> str:
    cage.live()
    return cage.as_(OTHER).take_custody().transaction


@beast(
    Rule.ROLES,
    "became custodian, and it was not offered to them",
    changes=[
        (
            "    self._only(self.heir)\n    self.custodian = msg.sender\n",
            "    self._only(self.custodian)\n    self.custodian = empty(address)\n",
        ),
        ('log Appointed(role="custodian", who=msg.sender)', 'log Appointed(role="custodian", who=self.custodian)'),
    ],
)
def custody_is_given_up(cage: Cage) -> str:
    """To nobody, who was offered nothing."""
    cage.live()
    return cage.as_(CUSTODIAN).take_custody().transaction


@beast(
    Rule.ROLES,
    "the role 'janitor', which there is not",
    changes=[('log Appointed(role="worker", who=worker)', 'log Appointed(role="janitor", who=worker)')],
)
def appoints_to_an_unknown_role(cage: Cage) -> str:
    cage.live()
    return cage.as_(CUSTODIAN).change_worker(WORKER.address).transaction


@beast(Rule.STATE, "who is worker", changes=[('    log Appointed(role="worker", who=worker)\n', "")])
def worker_changes_in_secret(cage: Cage) -> str:
    cage.live()
    cage.as_(CUSTODIAN).change_worker(OTHER.address)
    return ""


@beast(Rule.STATE, "who is custodian")
def has_another_custodian_from_birth(cage: Cage) -> str:
    """Nothing but the constructor is altered: who says to have published the ledger does not hold it."""
    cage.publish(
        [
            (
                "    self.custodian = msg.sender\n    self.worker = worker\n",
                f"    self.custodian = {OTHER.address}\n    self.worker = worker\n",
            )
        ]
    )
    for query in NAMES.values():
        cage.as_(OTHER).register(query, Fraction(*_fraction(query, cage)))
    return ""


# The record.

_NEWS = ("event Allowed:\n", "event News:\n    text: String[9]\n\nevent Allowed:\n")
_SPEAK = added('@external\ndef speak():\n    log News(text="all well")\n\n')


@beast(Rule.RECORD, "never writes such an event", changes=[_NEWS, *_SPEAK])
def writes_another_event(cage: Cage) -> str:
    cage.live()
    return cage.send(OTHER, "speak()")


_GARBLED = """@external
def garble(topics: DynArray[bytes32, 4], data: Bytes[1024]):
    if len(topics) == 1:
        raw_log([topics[0]], data)
    else:
        raw_log([topics[0], topics[1]], data)

"""


@beast(Rule.RECORD, "never writes such an event", changes=added(_GARBLED))
def writes_events_that_cannot_be_read(cage: Cage) -> str:
    cage.live()
    sent = [cage.send(OTHER, "garble(bytes32[],bytes)", topics, data) for topics, data in unreadable_logs()]
    return sent[0]


@beast(
    Rule.RECORD,
    "A request for a query that is not registered",
    changes=[('    assert meter != 0, "ledger: unknown query"\n', "")],
)
def sells_what_is_not_registered(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    return cage.ask((OVER_30, "1/4"))


@beast(
    Rule.RECORD,
    "An answer to a query that is not registered",
    changes=[('    assert meter != 0, "ledger: unknown query"\n', ""), *_CARELESS],
)
def answers_what_is_not_registered(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    return cage.reveal(OVER_30, 0, "1/4", [])


# The code.


@beast(
    Rule.BYTECODE,
    "is not that of the published contract",
    changes=[("MAX_BATCH: constant(uint256) = 100", "MAX_BATCH: constant(uint256) = 101")],
)
def behaves_well_with_other_code(cage: Cage) -> str:
    """Who knows what it will do tomorrow."""
    cage.live()
    return ""


@beast(Rule.BYTECODE, "is not that of the published contract")
def stands_behind_a_proxy(cage: Cage) -> str:
    """Every call is passed on to the real contract's code, until somebody passes it on to another one's."""
    cage.publish()
    cage.publish(code=bytecode(proxy(cage.address)))
    cage.live()
    return ""


@beast(Rule.BYTECODE, "The terms in the contract's code are not those that it tells")
def has_more_code_behind_the_terms(cage: Cage) -> str:
    """Only the constructor is altered: it puts another number there."""
    cage.publish(
        [
            ("TERMS: immutable(Terms)\n", "TERMS: immutable(Terms)\nMORE: immutable(uint256)\n"),
            ("    TERMS = terms\n", "    TERMS = terms\n    MORE = 7\n"),
        ]
    )
    cage.live()
    return ""


_NEVER = "    assert msg.sender == self\n"


@beast(
    Rule.TERMS,
    "The terms that the contract tells",
    Rule.STATE,
    changes=[
        ("    return TERMS\n", f"{_NEVER}    return TERMS\n"),
        ("    return self._till & MAX_PRECISION\n", f"{_NEVER}    return 0\n"),
        ("    return self._till < SELLING\n", f"{_NEVER}    return True\n"),
        ("    word: uint256 = self._meters[query]\n", f"{_NEVER}    word: uint256 = self._meters[query]\n"),
        ("    values: DynArray[int256, ", f"{_NEVER}    values: DynArray[int256, "),
    ],
)
def does_not_answer(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    return ""


_METER = """def meter(query: bytes32) -> (uint256, uint256, uint256):
    \"\"\"
    @param query Which query
    @return Its dimension, 0 for an unknown query
    @return The precision bought
    @return The precision revealed
    \"\"\"
    word: uint256 = self._meters[query]
    return word >> 224, word & MAX_PRECISION, (word >> 112) & MAX_PRECISION
"""
_POINT = """def point(query: bytes32) -> DynArray[int256, MAX_COORDINATES]:
    \"\"\"
    @notice Read the furthest point of a path: divided by the precision revealed, the best answer known.
    @param query Which query
    @return One number for each coordinate
    \"\"\"
    values: DynArray[int256, MAX_COORDINATES] = []
    for j: uint256 in range(self._known(query) >> 224, bound=MAX_COORDINATES):
        values.append(self._points[query][j])
    return values
"""


@beast(
    Rule.TERMS,
    "The terms that the contract tells",
    Rule.STATE,
    changes=[
        ("def terms() -> Terms:", "def terms() -> uint256:"),
        ("    return TERMS\n", "    return max_value(uint256)\n"),
        ("def spent() -> uint256:", "def spent() -> String[100]:"),
        ("    return self._till & MAX_PRECISION\n", '    return "a lot"\n'),
        (_METER, "def meter(query: bytes32) -> uint256:\n    return 0\n"),
        # The list would begin, and end, far behind the end of the world.
        (
            _POINT,
            "def point(query: bytes32) -> (uint256, uint256):\n    return max_value(uint256), max_value(uint256)\n",
        ),
    ],
)
def answers_with_garbage(cage: Cage) -> str:
    cage.register(OVER_60, TOWNS)
    cage.ask((OVER_60, "1/4"))
    return ""


def proxy(implementation: str) -> str:
    """Return the source of a contract with the same beginning, which then leaves everything to another one's code."""
    start, end = SOURCE.index("@external\ndef register("), len(SOURCE)
    fallback = f"""@external
@raw_return
def __default__() -> Bytes[65536]:
    return raw_call({implementation}, msg.data, max_outsize=65536, is_delegate_call=True)
"""
    return SOURCE[:start] + fallback + SOURCE[end:]


def _fraction(query: Query, cage: Cage) -> tuple[int, int]:
    return sensitivity(query, cage.terms.population).as_integer_ratio()
