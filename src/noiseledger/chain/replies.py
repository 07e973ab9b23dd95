"""The form that a node's reply must have, method by method.

A reply of another form counts as no reply, and an endpoint that gives one is not used, so the rest of the code can rely on
the form of replies from any node. Whether a reply is true is a separate question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from noiseledger.core.address import ADDRESS

_Form: TypeAlias = Callable[[Any], bool]

_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_HASH = re.compile(r"0x[0-9a-fA-F]{64}")
_ADDRESS = re.compile(ADDRESS)


def answers(calls: Sequence[Mapping[str, Any]], replies: Sequence[Any]) -> bool:
    """Return whether each call has one reply, in a form that is valid for its method."""
    by_number = {reply["id"]: reply for reply in replies if isinstance(reply, dict) and type(reply.get("id")) is int}
    if len(by_number) != len(replies) or by_number.keys() != {call["id"] for call in calls}:
        return False
    return all(_fits(call, by_number[call["id"]]) for call in calls)


def _fits(call: Mapping[str, Any], reply: Mapping[str, Any]) -> bool:
    if "error" in reply:
        return isinstance(reply["error"], dict)
    form, result = _FORMS.get(call["method"]), reply.get("result")
    if form is None:
        return "result" in reply
    # There is always a newest block; any other block or its content may be absent.
    may_be_nothing = call["method"] in _THERE_OR_NOT and call["params"][:1] != ["latest"]
    if result is None:
        return "result" in reply and may_be_nothing
    return form(result) and _is_about(call, result)


def _is_about(call: Mapping[str, Any], result: Any) -> bool:
    """Return whether a transaction, a receipt or logs are those that were asked for."""
    if call["method"] == "eth_getLogs" and call["params"]:
        address = str(call["params"][0].get("address", "")).lower()
        return not address or all(log["address"].lower() == address for log in result)
    field = {"eth_getTransactionReceipt": "transactionHash", "eth_getTransactionByHash": "hash"}.get(call["method"])
    return field is None or not call["params"] or result[field].lower() == str(call["params"][0]).lower()


def _text(pattern: re.Pattern[str]) -> _Form:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _optional(form: _Form) -> _Form:
    return lambda value: value is None or form(value)


def _listed(form: _Form) -> _Form:
    return lambda value: isinstance(value, list) and all(map(form, value))


def _fields(forms: Mapping[str, _Form]) -> _Form:
    return lambda value: isinstance(value, dict) and all(form(value.get(name)) for name, form in forms.items())


#: Seconds; later than any date that Python has, a time is no time.
_time = _text(re.compile(r"0x0*[0-9a-fA-F]{1,9}"))
_quantity, _data, _hash, _address = _text(_QUANTITY), _text(_DATA), _text(_HASH), _text(_ADDRESS)
_log = _fields(
    {
        "address": _address,
        "topics": _listed(_hash),
        "data": _data,
        "blockNumber": _quantity,
        "blockHash": _hash,
        "logIndex": _quantity,
        "transactionHash": _hash,
    }
)
_block = _fields(
    {
        "number": _quantity,
        "hash": _hash,
        "timestamp": _time,
        "baseFeePerGas": _optional(_quantity),
        "transactions": _optional(_listed(lambda value: _hash(value) or isinstance(value, dict))),
    }
)
_receipt = _fields(
    {
        "transactionHash": _hash,
        "blockNumber": _quantity,
        "blockHash": _hash,
        "status": _quantity,
        "gasUsed": _quantity,
        "contractAddress": _optional(_address),
        "logs": _listed(_log),
    }
)
_THERE_OR_NOT: Mapping[str, _Form] = {
    "eth_getBlockByNumber": _block,
    "eth_getBlockByHash": _block,
    "eth_getTransactionReceipt": _receipt,
    "eth_getTransactionByHash": _fields({"hash": _hash}),
}
_FORMS: Mapping[str, _Form] = {
    **_THERE_OR_NOT,
    **dict.fromkeys(("eth_blockNumber", "eth_chainId", "eth_getBalance", "eth_getTransactionCount"), _quantity),
    **dict.fromkeys(("eth_estimateGas", "eth_maxPriorityFeePerGas"), _quantity),
    **dict.fromkeys(("eth_call", "eth_getCode"), _data),
    "eth_getLogs": _listed(_log),
    "eth_sendRawTransaction": _hash,
}
