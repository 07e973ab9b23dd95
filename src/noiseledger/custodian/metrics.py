"""Prometheus metrics and a health report over HTTP: only with ``--metrics``, and only on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from noiseledger.custodian.health import Health
from noiseledger.errors import InvalidInput

_REQUEST_SECONDS = 5.0


class HealthCollector(Collector):
    """Reads the health at every scrape."""

    def __init__(self, health: Health) -> None:
        """Collect from this health."""
        self._health = health

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        health = self._health
        yield CounterMetricFamily("noiseledger_reveals", "Stretches of paths revealed.", health.answered)
        yield CounterMetricFamily(
            "noiseledger_refused", "Number of times that a query changed to refused.", health.refusals
        )
        errors = CounterMetricFamily("noiseledger_errors", "Steps that failed, by the kind of error.", labels=["kind"])
        for kind, number in sorted(health.errors.items()):
            errors.add_metric([kind], number)
        yield errors
        gauges = (
            ("waiting_requests", "Queries of which more is bought than revealed.", health.waiting),
            ("refused_queries", "Queries that are refused now.", len(health.refused)),
            ("unanswered_queries", "Queries that are bought and not answered: refused, or overdue.", len(health.owed)),
            ("oldest_unanswered_seconds", "Age of the oldest final purchase without an answer.", health.oldest_due),
            (
                "catalogue_refused",
                "1 if a changed catalogue cannot be used, otherwise 0.",
                bool(health.catalogue_error),
            ),
            (
                "waits_for_gas_limit",
                "1 if the day's limit of gas is reached, otherwise 0.",
                health.waits_for == "GasLimit",
            ),
            ("journal_budget_remaining", "Precision left in the journal's own budget.", health.budget_left),
            ("chain_head_block", "The chain's newest block.", health.newest),
            ("chain_final_block", "The block up to which purchases are answered.", health.head),
            ("account_balance_wei", "The balance of the worker's account, for fees.", health.balance),
            ("last_step_timestamp", "When a step was last finished, in seconds since 1970.", health.last_step_time),
        )
        for name, text, value in gauges:
            if value is not None:
                yield GaugeMetricFamily(f"noiseledger_{name}", text, float(value))


@contextmanager
def serving(health: Health, port: int) -> Iterator[int]:
    """Serve /metrics and /health on 127.0.0.1, as a context manager; yield the port, a free one if ``port`` is 0."""
    registry = CollectorRegistry()
    registry.register(HealthCollector(health))

    class Handler(BaseHTTPRequestHandler):
        timeout = _REQUEST_SECONDS

        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._reply(HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(registry))
            elif self.path == "/health":
                status = HTTPStatus.OK if health.is_ok else HTTPStatus.SERVICE_UNAVAILABLE
                self._reply(status, "application/json", json.dumps(health.report()).encode())
            else:
                self._reply(HTTPStatus.NOT_FOUND, "text/plain", b"/metrics or /health\n")

        def _reply(self, status: HTTPStatus, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Do not log scrapes."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise InvalidInput(
            f"Metrics cannot be served on port {port} ({error.strerror}): choose another port with --metrics."
        ) from None
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
