"""Round times for an axis, in UTC: seconds, minutes, hours, days, months or years apart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import ceil, floor

from noiseledger.web.charts.axes import Tick

MINUTE, HOUR, DAY = 60, 3600, 86400
#: Round spans below a month, in seconds.
SPANS = [
    *(1, 2, 5, 10, 15, 30),
    *(minutes * MINUTE for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * HOUR for hours in (1, 2, 3, 6, 12)),
    *(days * DAY for days in (1, 2, 7, 14)),
]
#: Round spans from a month on, in months.
MONTHS = [1, 2, 3, 6, *(12 * years for years in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000))]
# Not from the locale: the pages are in English.
_NAMES = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def seconds(moment: datetime) -> float:
    """Return the seconds since 1970; a time without a zone is taken as UTC.

    >>> seconds(datetime(1970, 1, 2))
    86400.0
    """
    return (_in_utc(moment) - _EPOCH).total_seconds()


def time_ticks(low: float, high: float, most: int = 4) -> list[Tick]:
    """Return the round times between two, in seconds since 1970, with labels as fine as their span needs.

    >>> noon = seconds(datetime(2026, 3, 12, 12))
    >>> [tick.label for tick in time_ticks(noon, noon + 2 * HOUR)]
    ['12:00', '13:00', '14:00']
    >>> [tick.label for tick in time_ticks(noon, noon + 100 * DAY)]
    ['Apr 2026', 'May 2026', 'Jun 2026']
    """
    for span in SPANS:
        first, last = ceil(low / span), floor(high / span)
        if last - first < most:
            return [Tick(index * span, _label(index * span, span)) for index in range(first, last + 1)]
    return _month_ticks(_moment(low), _moment(high), most)


def day(moment: datetime) -> str:
    """Format the day for people, in UTC.

    >>> day(datetime(2026, 3, 12))
    '12 Mar 2026'
    """
    there = _in_utc(moment)
    return f"{there.day} {_NAMES[there.month - 1]} {there.year}"


def _month_ticks(low: datetime, high: datetime, most: int) -> list[Tick]:
    start, end = low.year * 12 + low.month, high.year * 12 + high.month - 1
    for months in MONTHS:
        # The month that the range starts in began before it, so the first tick is a later one.
        found = range(-(-start // months) * months, end + 1, months)
        if len(found) <= most:
            return [_month_tick(*divmod(index, 12), by_year=months >= 12) for index in found]
    return []


def _month_tick(year: int, month: int, by_year: bool) -> Tick:
    return Tick(seconds(datetime(year, month + 1, 1)), str(year) if by_year else f"{_NAMES[month]} {year}")


def _label(since_1970: float, span: int) -> str:
    moment = _moment(since_1970)
    if span >= DAY:
        return f"{moment.day} {_NAMES[moment.month - 1]}"
    return f"{moment:%H:%M:%S}" if span < MINUTE else f"{moment:%H:%M}"


def _moment(since_1970: float) -> datetime:
    return _EPOCH + timedelta(seconds=since_1970)


def _in_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
