"""The last part of the standalone verifier: files, the closing event, the whole."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any, cast

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
)

from muniment.verification.page.run_view import MOST_VIEW
from muniment_plugins.evidence.standalone.bundle_files import SMALL, Files, read
from muniment_plugins.evidence.standalone.events import (
    BLOB,
    EVENTS,
    WITHHELD,
    BundleLines,
    EnvelopedEvent,
    Hidden,
)
from muniment_plugins.evidence.standalone.formats import (
    Refused,
    SignedHead,
    Unchecked,
    b64,
    canonical,
    grow,
    keyid,
    parse,
    require,
    spki,
    unbase64,
    within,
)
from muniment_plugins.evidence.standalone.kin import RELATED
from muniment_plugins.evidence.standalone.other_runs import SERIES, OtherRuns
from muniment_plugins.evidence.standalone.related_runs import RunsBelow
from muniment_plugins.evidence.standalone.report_page import (
    LARGEST_PAGE,
    REPORT,
    compare_page,
)

__all__ = ["main", "verify"]

PROOFS, CLOSING = "proofs.jsonl", "evidence.sigstore.json"
VIEW = "run.json"
ALWAYS = {
    *("MANIFEST", EVENTS, PROOFS, "checkpoint"),
    *("ledger.pub", "ledger.vkey", "trusted_root.json", "policy"),
}
CLOSED = {CLOSING, "closing.checkpoint", "consistency", VIEW}
UNLISTED = {
    *("MANIFEST", PROOFS, "checkpoint"),
    *(CLOSING, "closing.checkpoint", "consistency"),
}
GROWING = {"MANIFEST", EVENTS, RELATED, SERIES, WITHHELD, PROOFS, "bundle.json"}
"""The files that grow with the run, as blobs do."""
MOST_BYTES = {VIEW: MOST_VIEW, REPORT: LARGEST_PAGE}
"""How many bytes a file can have; of the others that do not grow, `SMALL`."""
FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]")
"""The last character stands for four bits."""
HANDED_OVER = ("MANIFEST", EVENTS, REPORT, VIEW, "bundle.json")


def check_names(files: Files) -> bool:
    """Judge the names and MANIFEST; return whether the bundle is closed."""
    optional = {REPORT, SERIES, WITHHELD, "bundle.json"}
    closed = bool(files.keys() & {*CLOSED, *optional})
    known = ALWAYS | CLOSED | optional | {RELATED}
    for name in sorted(files):
        blob = BLOB.fullmatch(name)
        require(name in known or blob, name, "no bundle has this file")
        fits = blob or name in GROWING
        fits = fits or files.size(name) <= MOST_BYTES.get(name, SMALL)
        require(fits, name, "too large for such a file")
    for name in sorted(ALWAYS | CLOSED if closed else ALWAYS):
        require(name in files, name, "the file is missing")
    listed = sorted(files.keys() - UNLISTED)
    told: dict[str, str] = {}
    last = ""
    for line in map(bytes.decode, files.lines("MANIFEST")):
        digest, name = line[:64], line[66:]
        good = f"{digest}  {name}" == line and name > last
        require(good, "MANIFEST", "not in its one form")
        told[name], last = digest, name
    for name in sorted({*listed, *told}):
        good = name in listed and told.get(name) == files.digest(name).hex()
        require(good, name[:80], "not what MANIFEST says")
    return closed


def listed(hashes: object, name: str) -> list[bytes]:
    """Return the hashes of a list in JSON."""
    require(type(hashes) is list, name, "no list of hashes")
    return [unbase64(one, 32, name) for one in cast("list[object]", hashes)]


def check_proofs(
    files: Files, events: list[EnvelopedEvent | Hidden], head: SignedHead
) -> None:
    """Require a proof of every event."""
    lines = files.lines(PROOFS)
    for event in events:
        line = next(lines, None)
        require(line is not None, PROOFS, "not one for each event")
        told = parse(line or b"", PROOFS)
        good = told.keys() == {"hashes", "seq"} and type(told["seq"]) is int
        good = good and told["seq"] == event.seq
        require(good, PROOFS, f"not a proof of event {event.seq}")
        hashes = listed(told["hashes"], PROOFS)
        head.check(event.leaf, event.seq, hashes, PROOFS)
    require(next(lines, None) is None, PROOFS, "more than one for each event")


def check_closing(
    files: Files, record: BundleLines, last: EnvelopedEvent, over: SignedHead
) -> tuple[EnvelopedEvent, SignedHead]:
    """Judge the closing event; return it and its tree head."""
    sigstore = parse(files[CLOSING].removesuffix(b"\n"), CLOSING)
    (told,) = sigstore["verificationMaterial"]["tlogEntries"]
    event = EnvelopedEvent(canonical(sigstore["dsseEnvelope"]), record.keys, CLOSING)
    require(event.kind == "bundle.closed", CLOSING, "not a closing event")
    require(event.run is None and event.seq > last.seq, CLOSING, "not after all others")
    require(event.chain["time"] >= last.chain["time"], CLOSING, "its time goes back")
    chained = event.seq > last.seq + 1 or event.chain["prev"] == last.leaf.hex()
    require(chained, CLOSING, "another prev")
    manifest = f"sha256:{files.digest('MANIFEST').hex()}"
    told_of = event.data.keys() - {"series"}
    require(told_of == {"manifest", "run"}, CLOSING, "other members")
    require(event.data["manifest"] == manifest, "MANIFEST", "not what was signed")
    require(event.data["run"] == record.run, CLOSING, "it closes another run")
    about = [
        {"digest": {"sha256": files.digest(name).hex()}, "name": name}
        for name in HANDED_OVER
        if name in files
    ]
    require(event.statement["subject"] == about, CLOSING, "not about these files")
    head = head_in(files, "closing.checkpoint", record)
    hashes = told["inclusionProof"]["hashes"]
    head.check(event.leaf, event.seq, listed(hashes, CLOSING), CLOSING)
    same = files[CLOSING] == sigstore_bundle(event, head, hashes)
    require(same, CLOSING, "not what event, proof and closing.checkpoint give")
    with within("consistency"):
        check_consistency(files["consistency"], over, head)
    return event, head


def head_in(files: Files, name: str, record: BundleLines) -> SignedHead:
    """Return the tree head in a file."""
    with within(name):
        return SignedHead(files[name], record.keys, name)


def sigstore_bundle(event: EnvelopedEvent, head: SignedHead, hashes: Any) -> bytes:
    """Return ``evidence.sigstore.json``."""
    envelope = json.loads(event.line)
    index, size = str(event.seq), str(head.size)
    note = {"envelope": head.note.decode()}
    proof = {"checkpoint": note, "hashes": hashes, "logIndex": index}
    entry = {
        "canonicalizedBody": b64(event.message_entry()),
        "inclusionProof": {**proof, "rootHash": b64(head.root), "treeSize": size},
        "integratedTime": "0",
        "kindVersion": {"kind": "hashedrekord", "version": "0.0.2"},
        "logId": {"keyId": b64(head.mark)},
        "logIndex": index,
    }
    hint = {"hint": envelope["signatures"][0]["keyid"]}
    whole = {
        "dsseEnvelope": envelope,
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {"publicKey": hint, "tlogEntries": [entry]},
    }
    return canonical(whole) + b"\n"


def check_consistency(data: bytes, over: SignedHead, head: SignedHead) -> None:
    """Require that the later tree head continues the earlier one."""
    name = "consistency"
    first, *lines = data.removesuffix(b"\n" + head.note).decode().split("\n")
    hashes = [unbase64(one, 32, name) for one in lines if one]
    again = f"old {over.size}\n" + "".join(f"{b64(one)}\n" for one in hashes) + "\n"
    require(again.encode() + head.note == data, name, "not in its one form")
    require(0 < over.size <= head.size and first, name, "it leads backwards")
    proof = iter(hashes)
    roots = grow(over.size, head.size, proof, over.root)
    good = roots == (over.root, head.root) and next(proof, None) is None
    require(good, name, "it leads to another tree head")


def check_closed(
    files: Files, record: BundleLines, others: OtherRuns, over: SignedHead
) -> tuple[EnvelopedEvent, SignedHead]:
    """Judge what only a closed bundle has; return its closing event, and the tree head."""
    with within(CLOSING):
        signer, head = check_closing(files, record, others.all[-1], over)
        others.compare(signer, CLOSING)
    with within(VIEW):
        check_view(files, record)
    if REPORT in files:
        with within(REPORT):
            others.said.append(compare_page(files, record, others, over))
    return signer, head


def check_view(files: Files, record: BundleLines) -> None:
    """Require ``run.json`` to say what the events of the run give."""
    text = b"".join(files.pieces(VIEW))
    for what in record.view.wrong(text, len(record.hidden), len(record.kept)):
        require(None, VIEW, what)
    for name in record.view.unknown(text):
        raise Unchecked(f"{VIEW}: its member {name:.80} is not known here")


def check_given(files: Files, key: bytes, head: SignedHead) -> None:
    """Require the files for other tools to be what the keys give."""
    log = {
        "baseUrl": f"https://{head.origin}",
        "hashAlgorithm": "SHA2_256",
        "logId": {"keyId": b64(head.mark)},
        "publicKey": {
            "keyDetails": "PKIX_ED25519",
            "rawBytes": b64(spki(head.log)),
            "validFor": {"start": "2020-01-01T00:00:00Z"},
        },
    }
    kind = "application/vnd.dev.sigstore.trustedroot+json;version=0.1"
    none: dict[str, Any] = {"certificateAuthorities": [], "ctlogs": []}
    root = {**none, "mediaType": kind, "timestampAuthorities": [], "tlogs": [log]}
    pem = f"-----BEGIN PUBLIC KEY-----\n{b64(spki(key))}\n-----END PUBLIC KEY-----\n"
    given = {
        "ledger.pub": pem.encode(),
        "ledger.vkey": head.vkey.encode() + b"\n",
        "policy": f"log {head.vkey}\nquorum none\n".encode(),
        "trusted_root.json": canonical(root) + b"\n",
    }
    for name, data in given.items():
        require(files[name] == data, name, "not what the keys of this bundle give")


def verify(path: Path, key: str | None) -> str:
    """Verify the bundle at *path*; return what was found.

    Args:
        path: a directory or a zip file.
        key: the fingerprint of the ledger's root.

    Raises:
        Refused: the bundle is wrong; the text names the file.
        Unchecked: something is missing, or no root of the ledger was given.

    """
    if key and not FINGERPRINT.fullmatch(key):
        raise Unchecked(f"{key} is not a whole fingerprint")
    if not path.exists():
        raise Unchecked(f"{path}: there is nothing")
    files = read(path)
    with within("MANIFEST"):
        closed = check_names(files)
    with within(EVENTS):
        record = BundleLines(files)
    over = head_in(files, "checkpoint", record)
    with within(RELATED if RELATED in files else EVENTS):
        below = RunsBelow(files, record)
    with within(SERIES if SERIES in files else EVENTS):
        others = OtherRuns(files, record, below.events)
    shown = [*record.events, *below.events, *others.events]
    with within(PROOFS):
        check_proofs(files, [*shown, *record.hidden], over)
    signer, head = next(e for e in reversed(record.events) if e.run), over
    if closed:
        signer, head = check_closed(files, record, others, over)
    check_given(files, signer.key, head)
    known = record.keys.raw(key) if key else None
    require(known or not key, "keys", f"{key} is not a key of this ledger")
    if known is None or "root" not in record.keys.entries[known]["roles"]:
        raise Unchecked("self-asserted: nobody vouched for a root of this ledger")
    end = "its end covers them all" if record.own.complete else "the run is OPEN"
    seal = f"closed by event {signer.seq}" if closed else "raw, without views"
    if record.hidden or record.kept:
        hidden = f"{len(record.hidden)} events and {len(record.kept)} blobs"
        seal += f"; WITHHELD, so not checked: {hidden}"
    marked = [f"MARKED: {one}" for one in record.marks.said()]
    seal = "; ".join([seal, *marked, *others.said, *below.said])
    return f"run {record.run}: {len(record.own.leaves)} events, {end}; {seal}"


def given(text: str) -> str:
    """Return the fingerprint of a key that is given as such, or as a PEM file."""
    if FINGERPRINT.fullmatch(text):
        return text
    if not Path(text).is_file():
        raise Unchecked(f"{text} is neither a whole fingerprint nor a file with a key")
    public = load_pem_public_key(Path(text).read_bytes())
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    found = [raw for raw in (der[-32:], der[-65:]) if spki(raw) == der]
    if not found:
        raise Unchecked(f"{text} is neither an Ed25519 nor a P-256 key")
    return keyid(found[0])


def main(arguments: list[str] | None = None) -> int:
    """Verify what the command line names; print one line."""
    parser = argparse.ArgumentParser(description="Verifies an evidence bundle.")
    parser.add_argument("bundle", type=Path, help="a directory, or a zip file")
    parser.add_argument("--key", help="fingerprint or PEM file of the ledger's root")
    told = parser.parse_args(arguments)
    try:
        code, said = 0, f"intact. {verify(told.bundle, told.key and given(told.key))}"
    except Refused as error:
        code, said = 1, f"WRONG. {error}"
    except (Unchecked, OSError, ValueError) as error:
        code, said = 3, f"cannot tell. {error}"
    sys.stdout.write(f"{ascii(said)[1:-1]}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
