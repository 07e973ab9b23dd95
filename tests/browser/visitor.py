"""A visitor of the site, such as an analyst: one browser window, one wallet, and what the visitor does and sees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, expect

from browser.wallet import Wallet

#: Waiting for a chain, a worker and a browser on a busy machine.
PATIENCE_MILLISECONDS = 30_000
#: The name of the button that asks begins like this; then it says how much of the budget that uses.
ASK = "Ask, using"
expect.set_options(timeout=PATIENCE_MILLISECONDS)


class Visitor:
    """What an analyst does, and what they see."""

    def __init__(self, context: BrowserContext, site: str, wallet: Wallet | None = None) -> None:
        """Sit down; a wallet is part of the browser from the beginning."""
        self.context = context
        self.site = site
        self.wallet = wallet
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE_MILLISECONDS)
        #: What the browser complains about: scripts that fail, policies that are broken.
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        _listen(self.page, self)

    def open(self, path: str = "/") -> Page:
        """Go to a page."""
        self.page.goto(self.site + path)
        return self.page

    def connect(self, name: str = "Test Wallet") -> None:
        """Connect a wallet by its name."""
        self.page.get_by_role("button", name="Connect a wallet").click()
        self.page.get_by_role("dialog").get_by_role("button", name=name).click()

    def want(self, query: str, within: object) -> None:
        """Fill in the form, and wait for its price."""
        self.choose(query)
        field = self.page.get_by_label("Largest acceptable error", exact=True)
        with self.page.expect_response(lambda reply: "/quote?" in reply.url and f"within={within}&" in reply.url):
            field.fill(str(within))
        self.expect_priced()

    def expect_priced(self) -> None:
        """Wait until no price is on its way: a reply that has arrived is on the page only a moment later."""
        expect(self.page.locator("#ask-form")).not_to_have_class(re.compile("htmx-request"))

    def want_new(self, query: str) -> str:
        """Choose a query with the error that the page suggests, which is never free; return that error."""
        self.choose(query)
        assert self.price > 0
        return self.page.get_by_label("Largest acceptable error", exact=True).input_value()

    def choose(self, query: str) -> None:
        """Choose a query, and wait until the rest of the form fits it."""
        field = self.page.get_by_label("Query", exact=True)
        if field.input_value() != query:
            with self.new_query(), self.page.expect_response(lambda reply: "/quote?" in reply.url):
                field.select_option(query)
            self.expect_priced()

    @contextmanager
    def new_query(self) -> Iterator[None]:
        """Wait at the end of the block for the fields that fit another query."""
        meaning = self.page.locator("#accuracy .meaning")
        before = meaning.inner_text()
        yield
        expect(meaning).not_to_have_text(before)

    def ask(self) -> None:
        """Press the button that asks."""
        self.page.get_by_role("button", name=ASK).click()

    @property
    def quote(self) -> str:
        """What the page says about the price."""
        return self.page.locator("#quote").inner_text()

    @property
    def message(self) -> str:
        """What the page says on the side."""
        return self.page.locator("#message").inner_text()

    def clear_message(self) -> None:
        """Take the message away, so that the same one again is seen to be new."""
        self.page.locator("#message").evaluate("place => place.replaceChildren()")

    def expect_message(self, text: str) -> None:
        """Wait until the page says something on the side."""
        expect(self.page.locator("#message")).to_contain_text(text)

    def expect_quote(self, text: str | re.Pattern[str]) -> None:
        """Wait until the page says something about the price."""
        expect(self.page.locator("#quote")).to_contain_text(text)

    def expect_step(self, name: str) -> None:
        """Wait until a step of the request is done."""
        expect(self.page.locator(f'#progress [data-step="{name}"].done')).to_be_visible()

    def expect_answer(self) -> tuple[float, float]:
        """Wait for the answer; return the number and its error bar."""
        self.expect_step("answered")
        text = self.page.locator("#progress .answer .big").first.inner_text()
        return read_answer(text)

    def published(self, place: str) -> float:
        """Return the number as published, which is one hover away from the one that is shown."""
        title = self.page.locator(f"{place} .answer .big strong").first.get_attribute("title")
        assert title is not None
        return float(title.removeprefix("published: "))

    @property
    def price(self) -> Fraction:
        """The privacy that the page says the answer uses, as a precision; 0 if it is free."""
        found = re.search(r"Uses\s+(?:free|<?[\d.,]+% of the privacy budget[\s\S]*?precision ([\d.,e-]+);)", self.quote)
        assert found, self.quote
        return Fraction(found[1].replace(",", "")) if found[1] else Fraction(0)


def read_answer(text: str) -> tuple[float, float]:
    """Read a number and its error bar; those of a share are in per cent."""
    value, _, width = text.replace(",", "").partition("±")
    if "%" not in value:
        return float(value), float(width)
    return float(value.strip().rstrip("%")) / 100, float(width.removesuffix("points")) / 100


def _listen(page: Page, visitor: Visitor) -> None:
    page.on("pageerror", lambda error: visitor.complaints.append(f"script: {error}"))
    page.on("console", lambda said: visitor.complaints.append(said.text) if _is_complaint(said) else None)
    page.on("request", lambda request: visitor.hosts.add(request.url.split("/")[2]) if "//" in request.url else None)


def _is_complaint(said: ConsoleMessage) -> bool:
    """Say whether the browser complains; a question that a newer one replaced is none, though htmx logs it as an error."""
    return said.type == "error" and not said.text.startswith(("htmx:sendAbort,", "htmx:afterRequest,"))
