"""Reads a page as a browser does: which elements there are, and what is text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

#: What runs or loads something by itself.
ACTIVE = {
    "script",
    "style",
    "iframe",
    "object",
    "embed",
    "link",
    "base",
    "form",
    "img",
    "svg",
    "image",
    "video",
    "audio",
}
_NAME = re.compile(r"[a-z][a-z0-9:-]*")
_ADDRESSES = ("href", "src", "action", "formaction", "xlink:href", "hx-get", "data-send")


@dataclass(frozen=True)
class Element:
    """An element with its attributes."""

    tag: str
    attributes: dict[str, str]

    @property
    def addresses(self) -> list[str]:
        """Where it leads, or what it loads."""
        return [self.attributes[name] for name in _ADDRESSES if name in self.attributes]


@dataclass
class Page(HTMLParser):
    """A page, taken apart."""

    elements: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    #: Comments, declarations, and whatever else is neither.
    others: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    @classmethod
    def read(cls, html: str) -> Page:
        page = cls()
        page.feed(html)
        page.close()
        return page

    @property
    def text(self) -> str:
        """All of its text."""
        return "".join(self.texts)

    @property
    def values(self) -> list[str]:
        """All values of attributes."""
        return [value for element in self.elements for value in element.attributes.values()]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)

    def check_harmless(self) -> None:
        """Refuse what our content policy forbids and no page of ours has: scripts and styles inside, handlers, other sites."""
        assert not self.others
        for element in self.elements:
            # A value that has left its quotes turns into attributes with strange names.
            assert all(_NAME.fullmatch(name) for name in (element.tag, *element.attributes)), element
            assert not [name for name in element.attributes if name.startswith("on") or name == "style"], element
            if element.tag == "script":
                assert element.attributes["src"].startswith("/static/"), element
            if element.tag in ("style", "iframe", "object", "embed", "base"):
                raise AssertionError(element)
            assert all(address.startswith(("/", "#")) for address in element.addresses), element
