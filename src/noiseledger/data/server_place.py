"""One text for one table of a server, however its url was written, and without anything that only says how to log in."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote

_PORTS = {"postgres": "5432", "mongodb": "27017"}
_HERE = "localhost"
_NAMES_OF_HERE = ("", _HERE, "127.0.0.1", "::1")


def server_place(engine: str, url: str, table: str) -> str:
    """Return the same text for the same table of a server: its hosts and ports, its database and the table.

    Who reads it and with which options does not matter. Two names of one server, other than this machine's, stay two.

    >>> server_place("postgres", "postgres://ann:pw@127.0.0.1/study?sslmode=require", "public.people")
    'postgres://localhost:5432/study people'
    """
    scheme, _, rest = url.partition("://")
    user, server, query = split(rest)
    options = {name: values[-1] for name, values in parse_qs(query).items()} if engine == "postgres" else {}
    hosts, _, path = server.partition("/")
    given = _addresses(options.get("hostaddr") or options.get("host") or hosts, options.get("port"))
    default = "" if scheme == "mongodb+srv" else _PORTS.get(engine, "")
    where = ",".join(sorted(f"{host}:{port or default}" for host, port in given))
    database = unquote(path) or options.get("dbname") or options.get("user") or unquote(user.partition(":")[0])
    name = table.removeprefix("public.") if engine == "postgres" else table
    srv = "+srv" if scheme == "mongodb+srv" else ""
    return f"{engine}{srv}://{where}/{database} {name}"


def split(rest: str) -> tuple[str, str, str]:
    """Split what follows ``://`` into user and password, hosts and database, and options."""
    before, slash, after = rest.partition("/")
    user, at, hosts = before.rpartition("@")
    if not at and "@" in after.partition("?")[0]:
        # A password with a slash: no engine accepts it, but it is not to be shown.
        user, _, server = rest.partition("?")[0].rpartition("@")
        return user, server, ""
    server, _, query = (hosts + slash + after).partition("?")
    return user, server, query


def _addresses(hosts: str, port: str | None) -> list[tuple[str, str]]:
    found = []
    for one in hosts.split(","):
        bracket, closing, rest = one.partition("]")
        if closing:
            name, given = bracket.removeprefix("["), rest.removeprefix(":")
        elif one.count(":") == 1:
            name, _, given = one.partition(":")
        else:
            name, given = one, ""
        name = unquote(name).lower().rstrip(".")
        # A path is the folder of a socket of this machine.
        is_here = name in _NAMES_OF_HERE or name.startswith("/")
        found.append((_HERE if is_here else name, given or port or ""))
    return found
