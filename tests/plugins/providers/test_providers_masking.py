"""Of a secret no character stays, however secrets lie on each other; all else stays."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_plugins.providers.secrets.encodings import SHORTEST
from muniment_plugins.providers.secrets.error_texts import in_urls, without_secrets
from muniment_plugins.providers.secrets.issued import Issued
from muniment_plugins.providers.secrets.masking import cut, joined, masked
from muniment_plugins.providers.secrets.places import MASK, Span
from muniment_plugins.providers.secrets.redaction import Redaction

TEXT = "".join(chr(0x4E00 + number) for number in range(60))
"""No character of it comes twice, and none stands in a mask."""
SPANS = st.lists(
    st.tuples(st.integers(0, 59), st.integers(1, 25)).map(
        lambda one: Span(one[0], min(sum(one), 60))
    ),
    max_size=8,
)
VALUES = st.lists(
    st.tuples(st.integers(0, 60 - SHORTEST), st.integers(SHORTEST, 30)).map(
        lambda one: TEXT[one[0] : sum(one)]
    ),
    min_size=1,
    max_size=6,
)


def variables(values: list[str], text: str) -> str:
    """Hide *values* as those of variables, in the text of an error."""
    with pytest.MonkeyPatch.context() as patched:
        for number, value in enumerate(values):
            patched.setenv(f"SERVICE_{number}_TOKEN", value)
        return without_secrets(text)


def credentials(values: list[str], text: str) -> str:
    """Hide *values* as what a request carries."""
    return Redaction.knowing(*values).text(text)


def answers(values: list[str], text: str) -> str:
    """Hide *values* as what answers brought, in the text of an error."""
    issued = Issued()
    for number, value in enumerate(values):
        issued.learn(f"secret_{number}", [value])
    return issued.redacted(text)


def bodies(values: list[str], text: str) -> str:
    """Hide *values* in what is sent, chunk by chunk."""
    redaction, data = Redaction.knowing(*values), text.encode()
    chunks = redaction.chunks([data[at : at + 7] for at in range(0, len(data), 7)])
    return b"".join(chunks).decode()


HIDING = [variables, credentials, answers, bodies]


def stays(text: str, hidden: set[int]) -> list[str]:
    """Return the characters of *text*, but for those at *hidden*."""
    return [one for at, one in enumerate(text) if at not in hidden]


@given(SPANS)
def test_spans(spans: list[Span]) -> None:
    """What a span covers is gone; what none covers stands where it stood."""
    found = masked(TEXT, spans)
    hidden = {at for one in spans for at in range(one.start, one.stop)}
    assert [one for one in found if one in TEXT] == stays(TEXT, hidden)
    assert found.count(MASK) == len(joined(spans))
    for one, other in itertools.pairwise(joined(spans)):
        assert one.stop <= other.start


@given(SPANS, st.lists(st.integers(0, 60)))
def test_parts(spans: list[Span], cuts: list[int]) -> None:
    """Cut into parts, a text loses what it loses as a whole, and is masked once."""
    whole = joined(spans)
    bounds = itertools.pairwise(sorted({0, 60, *cuts}))
    assert "".join(cut(TEXT, whole, *one) for one in bounds) == masked(TEXT, spans)


@pytest.mark.parametrize("hide", HIDING)
@given(values=VALUES, times=st.integers(1, 3))
def test_values(hide: Callable[..., str], values: list[str], times: int) -> None:
    """Values that overlap, touch, hold each other or come again leave nothing."""
    text = " - ".join([TEXT] * times)
    hidden = {
        at
        for value in values
        for start in range(len(text))
        if text.startswith(value, start)
        for at in range(start, start + len(value))
    }
    found = hide(values, text)
    assert [one for one in found if one in TEXT + "-"] == [
        one for one in stays(text, hidden) if one != " "
    ]


@pytest.mark.parametrize("hide", HIDING)
@pytest.mark.parametrize("more", range(5))
def test_a_value_on_itself(hide: Callable[..., str], more: int) -> None:
    """Where a value begins again within itself, its end goes, too."""
    value = "沙龍" * 6
    text = "沙龍" * 6 + "沙龍沙龍沙"[:more]
    # One character alone is not the value.
    left = text[len(text) - more % 2 :] if more % 2 else ""
    found = hide([value], f"a {text} b")
    assert [one for one in found if one in "沙龍"] == [*left]


KEY = "sk-AbCdEfGhIjKlMnOpQrSt"
MET = {
    "a key within a variable": (["前!" + KEY + "!後"], "x 前!" + KEY + "!後 y"),
    "a variable within a key": ([KEY[3:20]], f"x {KEY} y"),
    "a variable over the end of a key": ([KEY[10:] + "!後後後"], f"x {KEY}!後後後 y"),
    "a variable over its beginning": (
        ["前前前前前!" + KEY[:9]],
        f"x 前前前前前!{KEY} y",
    ),
    "a parameter within a variable": (
        ["前&key=後&page=右左"],
        "?a=前&key=後&page=右左 y",
    ),
    "a variable over a parameter's end": (
        ["前前前前前前前&page=後"],
        "/x?key=左前前前前前前前&page=後 y",
    ),
    "a password within a variable": (
        ["ftp://前:後@左/右右右右"],
        "at ftp://前:後@左/右右右右 y",
    ),
    "a key as a password": (["前前"], f"at https://u:{KEY}@h/?sig={KEY} y"),
    "variables that overlap": ([TEXT[:20], TEXT[10:30]], f"x {TEXT[:30]} y"),
    "a mask before": ([TEXT[:20]], f"https://u:{MASK}左右@h/ {MASK}{TEXT[:20]} y"),
}


@pytest.mark.parametrize("met", MET)
def test_secrets_that_meet(met: str) -> None:
    """Whatever two rules find in one place of an error goes; hidden again, it is as is."""
    values, text = MET[met]
    found = variables(values, text)
    kept = [one for one in found if ord(one) > 0x4E00 or one in KEY[3:]]
    assert not {*kept} & {*"前後左右", *TEXT}, found
    assert KEY[:9] not in found
    assert KEY[10:] not in found
    assert MASK in found
    assert variables(values, found) == found


def test_urls_alone() -> None:
    """Where only URLs are looked at, what they name goes and the rest stays."""
    text = f"key={KEY} https://u:{KEY}@h/?page=2&sig=左&key={KEY}#x {KEY}"
    found = in_urls(text)
    assert found == (
        f"key={KEY} https://u:{KEY}@h/?page=2&sig={MASK}&key={MASK}#x {KEY}"
    )


@pytest.fixture(autouse=True)
def _nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no variable that holds a secret by its name."""
    for name in os.environ:
        if "KEY" in name or "TOKEN" in name or "SECRET" in name:
            monkeypatch.delenv(name)
