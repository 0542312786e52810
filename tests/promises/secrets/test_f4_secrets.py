"""No secret is written in clear, whatever names it, wherever it stands, however spelt."""

from __future__ import annotations

import base64
import html
import json
import string
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment_plugins.providers.secrets.encodings import SHORTEST, forms, is_sought
from muniment_plugins.providers.secrets.names import NAMES, SecretNames
from muniment_plugins.providers.secrets.redaction import MASK, Redaction

SECRET = 'Tr0ub4dor & "3" <wörd>/x'  # noqa: S105 - of nobody
PLAIN = "Tr0ub4dor-and-3"


def table(text: str) -> list[str]:
    """Return the words of *text*."""
    return text.split()


HEADERS = table("""
    Authorization Proxy-Authorization Cookie Set-Cookie X-Api-Key Api-Key apikey
    X-Vault-Token DD-API-KEY DD-APPLICATION-KEY Private-Token X-Secret-Token
    X-Subscription-Token X-Figma-Token X-My-Auth X-Auth-Token X-Amz-Security-Token
    Ocp-Apim-Subscription-Key X-Goog-Api-Key X-Shopify-Access-Token X-Hub-Signature
    Circle-Token X-Auth-Key PRIVATE-TOKEN JOB-TOKEN X-Client-Secret Token
""")
PARAMETERS = table("""
    key token sig signature access_key subscription-key appid api_key access_token
    X-Amz-Security-Token X-Amz-Credential X-Amz-Signature client_secret sharedKey
    refresh_token auth_token password private_token hapikey2 oauth_token
""")
MEMBERS = table("""
    password passwd pwd secretKey accessToken clientSecret client_secret api_key apiKey
    API_KEY refresh_token idToken privateKey connectionPassword db.password newPassword
    password_confirmation session_token auth credentials GH_PAT webhookSecret signingKey
    encryption_key aws_secret_access_key bearerToken passphrase userPassword2 jwt
""")
HARMLESS = table("""
    sort_key nextPageToken next_page_token thoughtSignature thought_signature
    partition_key PARTITION_KEY foreignKey primary_key public_key publicKey cache_key
    prompt_cache_key idempotency_key Idempotency-Key eos_token mcp_session_id bos_token pad_token
    eosTokenId token_count
    tokenizer key keys signature author authors keyboard monkey secretary
    authority key_id keyword keywords signature_version token_type passenger compass
    designation mask_token cls_token continuationToken sync_token hash_key range_key
    key_points passed
""")


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_name_a_secret(name: str) -> None:
    """A header by any of these names is a credential."""
    ((_, value),) = Redaction().headers([(name, f"a={PLAIN}")])
    assert PLAIN not in value
    assert Redaction().is_secret_header(name)


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_that_name_a_secret(name: str) -> None:
    """A parameter of a URL or a form by any of these names is hidden."""
    redaction = Redaction()
    assert PLAIN not in redaction.url(f"https://h/x?page=2&{name}={PLAIN}&z=1")
    assert PLAIN not in redaction.text(f"{name}={PLAIN}&z=1")


BODIES: dict[str, Callable[[str, str], str]] = {
    "json": lambda name, value: json.dumps({"a": 1, name: value, "b": [2]}),
    "compact json": lambda name, value: json.dumps(
        {name: value}, separators=(",", ":")
    ),
    "json in json": lambda name, value: json.dumps({"a": json.dumps({name: value})}),
    "a list": lambda name, value: json.dumps({name: [value, value]}),
    "python": lambda name, value: repr({name: value}),
    "xml": lambda name, value: f"<a><{name}>{html.escape(value)}</{name}></a>",
    "cdata": lambda name, value: f"<a><{name}><![CDATA[{value}]]></{name}></a>",
    "attribute": lambda name, value: f'<a {name}="{html.escape(value)}"/>',
    "graphql": lambda name, value: f"mutation {{ f({name}: {json.dumps(value)}) }}",
    "pair": lambda name, value: json.dumps([{"name": name, "value": value}]),
    "multipart": lambda name, value: (
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n--b--'
    ),
}


@pytest.mark.parametrize("form", BODIES)
@pytest.mark.parametrize("name", MEMBERS)
def test_members_that_name_a_secret(name: str, form: str) -> None:
    """In every format of a body, what such a name has is hidden, however short."""
    for value in (PLAIN, SECRET, "x1"):
        body = BODIES[form](name, value)
        found = Redaction().text(body)
        assert found.count(MASK) >= 1, body
        spelt = BODIES[form]("n", value).partition("n")[2]
        assert value not in found.replace(MASK, "") or value in BODIES[form](name, "")
        assert spelt not in found


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_names(name: str) -> None:
    """Everyday words stay as they are, in every format that knows members."""
    for form in ("json", "json in json", "xml", "graphql", "a list", "python"):
        body = BODIES[form](name, PLAIN)
        assert Redaction().text(body) == body
    assert Redaction().value({name: PLAIN, "n": 1}) == {name: PLAIN, "n": 1}


@pytest.mark.parametrize(
    "url",
    [
        f"https://api.telegram.org/bot123456:{PLAIN}{PLAIN}/sendMessage",
        f"https://hooks.slack.com/services/T012AB/B345CD/{PLAIN.replace('-', '')}",
        f"https://discord.com/api/webhooks/123456/{PLAIN}{PLAIN}",
        f"https://ada:{PLAIN}@h/x",
    ],
)
def test_tokens_in_paths(url: str) -> None:
    """Services that put a token into the path are known by that path."""
    assert PLAIN.replace("-", "") not in Redaction().url(url).replace("-", "")


def spellings(value: str) -> dict[str, str]:
    """Return *value* as formats spell it, by encoders that the product does not use."""
    data = value.encode()
    return {
        "as it is": value,
        "json": json.dumps({"a": value}),
        "json in json": json.dumps({"a": json.dumps({"b": value})}),
        "json, utf-8": json.dumps({"a": value}, ensure_ascii=False),
        "url": f"https://h/{quote(value, safe='')}",
        "path": f"https://h/{quote(value)}",
        "form": f"a={quote_plus(value)}",
        "xml": f"<a>{html.escape(value)}</a>",
        "hex": data.hex(),
        **{
            f"base64 behind {n} bytes": base64.b64encode(
                b"x" * n + data + b"yz"
            ).decode()
            for n in range(4)
        },
        "base64 for URLs": base64.urlsafe_b64encode(data).decode(),
    }


@given(
    st.text(
        string.ascii_letters + string.digits + "&<>\"'/+-_ äß€", min_size=16
    ).filter(lambda value: value == value.strip() and len(set(value)) > 3)
)
def test_every_spelling(value: str) -> None:
    """A credential of the request is taken out of all that follows, in any spelling."""
    redaction = Redaction.of("https://h/", [("X-Vault-Token", value)])
    for spelling, text in spellings(value).items():
        found = redaction.text(text)
        assert value not in found, spelling
        assert MASK in found, spelling
        (sent,) = redaction.chunks([text.encode()])
        assert value.encode() not in sent
        assert MASK.encode() in sent, spelling


def test_short_and_ordinary_values_are_not_sought() -> None:
    """A variable ``PARTITION_KEY=customer_id`` changes no text."""
    said = "group by customer_id in production; hunter2 is not sought"
    redaction = Redaction.knowing("customer_id", "hunter2", "production")
    assert redaction.text(said) == said
    assert not is_sought("x" * (SHORTEST - 1))
    assert not NAMES.is_secret("PARTITION_KEY", alone=True)
    assert all(len(form) >= SHORTEST for form in forms("y" * SHORTEST))


@pytest.mark.parametrize("nested", [False, True])
def test_a_secret_in_a_list_is_sought_without_its_quotes(nested: bool) -> None:
    """What a list names a secret is hidden elsewhere too, and the rest stays JSON."""
    value: object = {"note": "hunter2-hunter2", "passwd": ["hunter2-hunter2"]}
    said = json.dumps({"in": json.dumps(value)} if nested else value)
    found = json.loads(Redaction().text(said))
    inner = json.loads(found["in"]) if nested else found
    assert inner == {"note": "[redacted]", "passwd": ["[redacted]"]}


def test_a_user_decides() -> None:
    """Names that are kept stay, names that are hidden go, in any spelling of words."""
    names = SecretNames.of(keep=("signing-key",), hide=("ssn",))
    redaction = Redaction(names=names)
    assert redaction.value({"signingKey": "a", "SSN": "1", "api_key": "b"}) == {
        "signingKey": "a",
        "SSN": MASK,
        "api_key": MASK,
    }
    assert redaction.text('{"ssn": "1", "signing_key": "a"}') == (
        f'{{"ssn": "{MASK}", "signing_key": "a"}}'
    )


@given(
    st.recursive(
        st.text(max_size=8) | st.integers() | st.none(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*MEMBERS, *HARMLESS]), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_json_stays_json(value: object) -> None:
    """What was JSON is JSON, has the same members, and differs in secrets only."""
    found = json.loads(Redaction().text(json.dumps(value)))
    assert shape(found) == shape(value)


def shape(value: object) -> object:
    """Return *value* without what a secret name has."""
    if isinstance(value, dict):
        return {k: None if NAMES.is_secret(k) else shape(v) for k, v in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return value
