"""What the API takes and gives, besides what the command line prints as well."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, StrictBool, WithJsonSchema
from typing_extensions import TypedDict

from noiseledger.core.numbers import MAX_DIGITS, Number, exact, positive
from noiseledger.core.request import Accuracy
from noiseledger.errors import InvalidInput
from noiseledger.ledger.shapes import AnalystShape, AnswerShape, BudgetShape, PriceShape, QueryShape, RecordShape

MOST_RECORDS = 1000
#: A part of the history ends with the request whose answer reaches so many numbers.
MOST_NUMBERS = 2000
HASH = r"^0x[0-9a-fA-F]{64}$"
ADDRESS = r"^0x[0-9a-fA-F]{40}$"
NUMBER = r"^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?(/[0-9]+)?$"


class ErrorBody(BaseModel):
    """What was wrong; a refusal by a budget carries its amounts."""

    type: str
    message: str
    requested: float | None = None
    remaining: float | None = None
    missing: float | None = None


class ErrorShape(BaseModel):
    """The one shape of all mistakes."""

    error: ErrorBody


class LedgerShape(TypedDict):
    """Where the ledger is, and what is fixed for good."""

    address: str
    chain_id: int
    block: int
    final_block: int | None
    paused: bool
    custodian: str
    heir: str | None
    worker: str
    contact: str
    commitment: str
    rows: int | None
    neighbours: str
    reuses: bool
    invites: bool
    catalogue_sha256: str | None
    unreadable: dict[str, str]


class OfferShape(QueryShape):
    """A query that may be asked."""

    meaning: str
    definition: str
    groups: list[str]
    dimension: int
    sensitivity: float
    sensitivity_exact: str
    spent: float
    spent_exact: str
    public: float
    public_exact: str
    best: AnswerShape | None


class LeftShape(TypedDict):
    """What would be left."""

    precision: float
    precision_exact: str
    epsilon: float


class QuoteShape(PriceShape):
    """What a request would cost and give, and what there is for free."""

    affordable: bool
    left: LeftShape | None
    budget: BudgetShape
    best: AnswerShape | None


class TransactionShape(TypedDict):
    """What a wallet is asked to sign; ``gas`` only if it was said who signs."""

    chain_id: int
    to: str
    data: str
    value: str
    gas: str | None


class ChangeShape(TypedDict):
    """What a change would do, and the transaction that makes it; none if things are so already."""

    action: str
    says: list[str]
    warnings: list[str]
    transaction: TransactionShape | None


class AnalystsShape(TypedDict):
    """Who may still buy how much, and who has bought how much."""

    access: str
    analysts: list[AnalystShape]


class AskShape(TypedDict):
    """Either the answer, if it is free, or the transaction that pays for it; neither if it is paid for, and on its way."""

    quote: QuoteShape
    answer: AnswerShape | None
    transaction: TransactionShape | None


class ProgressShape(TypedDict):
    """What became of a transaction."""

    transaction: str
    state: Literal["unseen", "sent", "mined", "final", "answered", "refused", "dropped", "displaced"]
    final: bool
    block: int | None
    analyst: str | None
    answers: list[AnswerShape]
    error: ErrorBody | None


class HistoryShape(TypedDict):
    """Some requests, and where to go on."""

    records: list[RecordShape]
    next: int | None


class HealthShape(TypedDict):
    """How the worker and this page are."""

    worker_ok: bool | None
    worker: str
    waiting: int
    chain_ok: bool
    block: int


def _written(value: Number) -> Number:
    """Return a number as it was written: a text holds it exactly, and may be a fraction such as the API itself gives."""
    if isinstance(value, str) and not re.fullmatch(NUMBER, value, re.ASCII):
        raise InvalidInput("Expected a number such as 0.05, 1e-4 or 2/3.")
    if exact(value) < 0:
        raise InvalidInput("Expected a number that is not below 0.")
    return value


def _checked(value: Number) -> Number:
    """Return a number above zero as it was written."""
    positive(_written(value))
    return value


_TEXT = {"type": "string", "pattern": NUMBER, "maxLength": MAX_DIGITS}
_NUMBERS = [{"type": "number", "exclusiveMinimum": 0}, _TEXT]
_Positive = Annotated[Number, PlainValidator(_checked), WithJsonSchema({"anyOf": _NUMBERS})]
_AMOUNTS = [{"type": "number", "minimum": 0}, _TEXT]
_Amount = Annotated[Number, PlainValidator(_written), WithJsonSchema({"anyOf": _AMOUNTS})]


class AccuracyBody(BaseModel):
    """How accurate, in one way: epsilon and delta; within (and confidence); sigma; or precision."""

    model_config = ConfigDict(extra="forbid")

    query: Annotated[str, Field(min_length=1, max_length=2000, description="Name, text or identifier of a query.")]
    epsilon: Annotated[_Positive | None, Field(description="With delta: the promise of this answer alone.")] = None
    delta: Annotated[_Positive | None, Field(description="The probability that epsilon fails.")] = None
    within: Annotated[_Positive | None, Field(description="So close to the truth, in the query's units.")] = None
    confidence: Annotated[_Positive | None, Field(description="With within; 0.95 if left out.")] = None
    sigma: Annotated[_Positive | None, Field(description="The noise's standard deviation.")] = None
    precision: Annotated[_Positive | None, Field(description="Sensitivity squared over deviation squared.")] = None

    @property
    def accuracy(self) -> Accuracy:
        """The same as the client takes it."""
        return Accuracy(
            epsilon=self.epsilon,
            delta=self.delta,
            within=self.within,
            confidence=self.confidence,
            sigma=self.sigma,
            precision=self.precision,
        )


class AskBody(AccuracyBody):
    """A request to be paid for."""

    analyst: Annotated[str | None, Field(pattern=ADDRESS, description="Who will sign, to try it beforehand.")] = None


_Signer = Annotated[str | None, Field(pattern=ADDRESS, description="Who will sign, to try it beforehand.")]


class PauseBody(BaseModel):
    """Whether to stop selling."""

    model_config = ConfigDict(extra="forbid")

    paused: StrictBool
    custodian: _Signer = None


class AllowBody(BaseModel):
    """How much an analyst may buy from now on, in one way: epsilon and delta, or precision (0 takes it away)."""

    model_config = ConfigDict(extra="forbid")

    analyst: Annotated[str, Field(pattern=ADDRESS)]
    epsilon: Annotated[_Positive | None, Field(description="With delta: what all of it together keeps.")] = None
    delta: Annotated[_Positive | None, Field(description="The probability that epsilon fails.")] = None
    precision: Annotated[_Amount | None, Field(description="The precision that may be bought.")] = None
    custodian: _Signer = None


class RotateWorkerBody(BaseModel):
    """Which key may reveal from now on."""

    model_config = ConfigDict(extra="forbid")

    worker: Annotated[str, Field(pattern=ADDRESS)]
    custodian: _Signer = None


class HandOverBody(BaseModel):
    """Who may become custodian; null takes an offer back."""

    model_config = ConfigDict(extra="forbid")

    heir: Annotated[str | None, Field(pattern=ADDRESS)]
    custodian: _Signer = None


class AcceptCustodyBody(BaseModel):
    """Who takes over."""

    model_config = ConfigDict(extra="forbid")

    heir: _Signer = None
