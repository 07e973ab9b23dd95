"""The API's request and response formats, except those that the command line prints too."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, StrictBool, StrictInt, WithJsonSchema
from typing_extensions import TypedDict

from noiseledger.contracts import constant
from noiseledger.core import address
from noiseledger.core.numbers import MAX_DIGITS, Number, positive
from noiseledger.core.privacy import DELTA_HELP
from noiseledger.core.request import Accuracy
from noiseledger.errors import InvalidInput
from noiseledger.ledger.shapes import (
    AnalystShape,
    AnswerShape,
    BudgetShape,
    PriceShape,
    QueryShape,
    RecordShape,
    ZoneShape,
)

MOST_RECORDS = 1000
#: A page of the history ends when its answers have this many numbers in total.
MOST_NUMBERS = 2000
HASH = r"^0x[0-9a-fA-F]{64}$"
IDENTIFIER = r"^[0-9a-f]{64}$"
ADDRESS = f"^{address.ADDRESS}$"
UNITS = r"^(0|[1-9][0-9]{0,77})$"
NUMBER = r"^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?(/[0-9]+)?$"


class ErrorBody(BaseModel):
    """An error; if the budget does not suffice, it contains the amounts."""

    type: str
    message: str
    requested: float | None = None
    remaining: float | None = None
    missing: float | None = None


class ErrorShape(BaseModel):
    """The format of all errors."""

    error: ErrorBody


class LedgerShape(TypedDict):
    """The ledger's address and its fixed terms."""

    address: str
    chain_id: int
    block: int
    final_block: int | None
    paused: bool
    #: Whether nothing is sold any more, for good; and the identifiers of the queries whose sales are paused.
    closed: bool
    paused_queries: list[str]
    #: The least precision that is sold at once, as an exact number.
    smallest_purchase: str
    custodian: str
    heir: str | None
    worker: str
    contact: str
    #: The address of the relay that brings signed requests to the chain; empty if there is none.
    relay: str
    commitment: str
    rows: int | None
    neighbours: str
    reuses: bool
    requires_allowance: bool
    #: What the zones are called; empty if there is only one.
    zones: list[str]
    catalogue_sha256: str | None
    unreadable: dict[str, str]


class ZonedBudgetShape(BudgetShape):
    """The budget, and what each zone has spent and left of it; no zones if there is only one."""

    zones: list[ZoneShape]


class OfferShape(QueryShape):
    """A query that may be asked."""

    meaning: str
    definition: str
    groups: list[str]
    cells: list[list[str]]
    labels: list[str]
    dimension: int
    #: The names of the zones that it is charged to; empty if the ledger has only one.
    reaches: list[str]
    sensitivity: float
    sensitivity_exact: str
    spent: float
    spent_exact: str
    public: float
    public_exact: str
    best: AnswerShape | None


class LeftShape(TypedDict):
    """The budget that would be left."""

    precision: float
    precision_exact: str
    epsilon: float


class QuoteShape(PriceShape):
    """The price and the accuracy of a request, and the best free answer."""

    affordable: bool
    left: LeftShape | None
    budget: BudgetShape
    best: AnswerShape | None


class TransactionShape(TypedDict):
    """A transaction for a wallet to sign; ``gas`` only if the signer was given."""

    chain_id: int
    to: str
    data: str
    value: str
    gas: str | None


class ChangeShape(TypedDict):
    """The effect of a change and its transaction; no transaction if the change is already in effect."""

    action: str
    says: list[str]
    warnings: list[str]
    transaction: TransactionShape | None


class AnalystsShape(TypedDict):
    """The analysts, each with the remaining allowance and the amount bought."""

    access: str
    analysts: list[AnalystShape]


class AskShape(TypedDict):
    """The answer if it is free, or the transaction that buys it; neither if it is bought but not yet answered."""

    quote: QuoteShape
    answer: AnswerShape | None
    transaction: TransactionShape | None


class SignedPartBody(BaseModel):
    """One of the things that a signed request asks for, in the contract's units."""

    model_config = ConfigDict(extra="forbid")

    query: Annotated[str, Field(pattern=IDENTIFIER)]
    edition: Annotated[str, Field(pattern=UNITS)]
    precision: Annotated[str, Field(pattern=UNITS)]
    epsilon: Annotated[str, Field(pattern=UNITS)]
    delta: Annotated[str, Field(pattern=UNITS)]


class UnsignedBody(BaseModel):
    """A request that is to be signed: the file of ``noiseledger ask --sign-only``, but for the signature."""

    model_config = ConfigDict(extra="forbid")

    format: Annotated[str, Field(max_length=40)]
    chain_id: Annotated[StrictInt, Field(ge=0, le=2**53 - 1)]
    ledger: Annotated[str, Field(pattern=ADDRESS)]
    analyst: Annotated[str, Field(pattern=ADDRESS)]
    requests: Annotated[list[SignedPartBody], Field(min_length=1, max_length=constant("MAX_BATCH"))]
    limit: Annotated[str, Field(pattern=UNITS)]
    nonce: Annotated[StrictInt, Field(ge=0, le=2**53 - 1)]
    deadline: Annotated[StrictInt, Field(ge=0, le=2**53 - 1)]


class SignedBody(UnsignedBody):
    """A signed request."""

    signature: Annotated[str, Field(pattern="^0x([0-9a-f]{2})+$", max_length=2 + 2 * constant("MAX_SIGNATURE"))]


class ToSignShape(TypedDict):
    """What a wallet signs with ``eth_signTypedData_v4``, and the request that the signature completes."""

    typed_data: dict[str, Any]
    request: UnsignedBody


class SignShape(TypedDict):
    """The answer if it is free, or what to sign to buy it; neither if it is bought but not yet answered."""

    quote: QuoteShape
    answer: AnswerShape | None
    to_sign: ToSignShape | None


class HandedShape(TypedDict):
    """What became of a request that was handed to the relay."""

    identifier: str
    state: Literal["waiting", "brought", "replaced", "expired"]
    analyst: str
    nonce: int
    deadline: int
    transaction: str | None
    #: Why the relay says that it will not bring it; it may still be brought until the deadline.
    refusal: str | None


class ProgressShape(TypedDict):
    """The state of a transaction."""

    transaction: str
    state: Literal["unseen", "sent", "mined", "final", "answered", "refused", "dropped", "displaced"]
    final: bool
    block: int | None
    analyst: str | None
    answers: list[AnswerShape]
    error: ErrorBody | None


class HistoryShape(TypedDict):
    """A page of requests, and where the next page starts."""

    records: list[RecordShape]
    next: int | None


class UnansweredShape(TypedDict):
    """A query that is bought and not answered for too long, and why, if the worker reports it."""

    name: str
    identifier: str
    block: int
    since: str
    reason: str | None


class HealthShape(TypedDict):
    """The health of the worker and of this site."""

    worker_ok: bool | None
    worker: str
    waiting: int
    unanswered: list[UnansweredShape]
    chain_ok: bool
    block: int


def _checked(value: Number) -> Number:
    """Return a number above zero as it was written: a text is exact, and may be a fraction such as those the API returns."""
    if isinstance(value, str) and not re.fullmatch(NUMBER, value, re.ASCII):
        raise InvalidInput("Expected a number such as 0.05, 1e-4 or 2/3.")
    positive(value)
    return value


_TEXT = {"type": "string", "pattern": NUMBER, "maxLength": MAX_DIGITS}
_NUMBERS = [{"type": "number", "exclusiveMinimum": 0}, _TEXT]
_Positive = Annotated[Number, PlainValidator(_checked), WithJsonSchema({"anyOf": _NUMBERS})]


class AccuracyBody(BaseModel):
    """The accuracy, stated in one way: epsilon and delta; within (and confidence); sigma; or precision."""

    model_config = ConfigDict(extra="forbid")

    query: Annotated[str, Field(min_length=1, max_length=2000, description="Name, text or identifier of a query.")]
    epsilon: Annotated[_Positive | None, Field(description="With delta: the promise of this answer by itself.")] = None
    delta: Annotated[_Positive | None, Field(description=DELTA_HELP)] = None
    within: Annotated[_Positive | None, Field(description="Largest acceptable error, in the query's units.")] = None
    confidence: Annotated[_Positive | None, Field(description="Confidence of within; 0.95 by default.")] = None
    sigma: Annotated[_Positive | None, Field(description="Standard deviation of the noise.")] = None
    precision: Annotated[_Positive | None, Field(description="Squared sensitivity over the variance of the noise.")] = (
        None
    )

    @property
    def accuracy(self) -> Accuracy:
        """The accuracy as keywords for the client."""
        return Accuracy(
            epsilon=self.epsilon,
            delta=self.delta,
            within=self.within,
            confidence=self.confidence,
            sigma=self.sigma,
            precision=self.precision,
        )


class SignBody(AccuracyBody):
    """A request to sign."""

    analyst: Annotated[str, Field(pattern=ADDRESS, description="Who signs, and pays from their allowance.")]


class AskBody(AccuracyBody):
    """A request to buy."""

    analyst: Annotated[
        str | None, Field(pattern=ADDRESS, description="The signer's address, to simulate the call.")
    ] = None


_Signer = Annotated[str | None, Field(pattern=ADDRESS, description="The signer's address, to simulate the call.")]


class PauseBody(BaseModel):
    """Whether to pause sales."""

    model_config = ConfigDict(extra="forbid")

    paused: StrictBool
    query: Annotated[
        str | None, Field(pattern=IDENTIFIER, description="The identifier of one query; null means everything.")
    ] = None
    custodian: _Signer = None


class CloseBody(BaseModel):
    """Nothing but who signs."""

    model_config = ConfigDict(extra="forbid")

    custodian: _Signer = None


class AllowBody(BaseModel):
    """How much more an analyst may buy, stated in one way: epsilon and delta, or precision."""

    model_config = ConfigDict(extra="forbid")

    analyst: Annotated[str, Field(pattern=ADDRESS)]
    epsilon: Annotated[
        _Positive | None, Field(description="With delta: the promise of all these purchases together.")
    ] = None
    delta: Annotated[_Positive | None, Field(description=DELTA_HELP)] = None
    precision: Annotated[_Positive | None, Field(description="The precision.")] = None
    custodian: _Signer = None


class WithdrawBody(AllowBody):
    """How much less an analyst may buy, stated in one way, or not at all: then they may buy nothing any more."""


class RotateWorkerBody(BaseModel):
    """The new key of the worker."""

    model_config = ConfigDict(extra="forbid")

    worker: Annotated[str, Field(pattern=ADDRESS)]
    custodian: _Signer = None


class HandOverBody(BaseModel):
    """The account that custody is offered to; null withdraws an offer."""

    model_config = ConfigDict(extra="forbid")

    heir: Annotated[str | None, Field(pattern=ADDRESS)]
    custodian: _Signer = None


class AcceptCustodyBody(BaseModel):
    """The account that accepts custody."""

    model_config = ConfigDict(extra="forbid")

    heir: _Signer = None
