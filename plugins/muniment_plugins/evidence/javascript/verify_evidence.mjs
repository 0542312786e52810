// Verifies an evidence bundle: for Node 20 and newer, and for browsers with WebCrypto.
//
//     node verify_evidence.mjs evidence.zip --key SHA256:bbXpuKG6zhzd…
//     import { verify } from "./verify_evidence.mjs";  await verify(files, { root })
//
// It follows docs/spec (event, checkpoint, canonical, evidence), depends on nothing, and stops
// at the first fault, whose file it names. It does not check what needs the whole rules of a
// ledger: places of effects, which of equal requests an answer of a fork is for, facts of forks,
// decisions, the fields of events. A copy of it that came with a bundle proves nothing against whoever sent it: take it from where muniment is published.
// Exit codes: 0 holds, 1 wrong, 2 usage, 3 could not be checked.

export class Wrong extends Error {}
export class Unchecked extends Error {}

const EVENTS = "events.intoto.jsonl", SERIES = "series.intoto.jsonl";
const RELATED = "related.intoto.jsonl";
const NON_CERTIFIABLE = "non_certifiable", MOST_MARKS = 20; // others, of each run
const WITHHELD = "withheld.jsonl", PROOFS = "proofs.jsonl", CLOSING = "evidence.sigstore.json";
const GIVEN = ["ledger.pub", "ledger.vkey", "trusted_root.json", "policy"];
const ALWAYS = ["MANIFEST", EVENTS, PROOFS, "checkpoint", ...GIVEN];
const CLOSED = [CLOSING, "closing.checkpoint", "consistency", "run.json"];
const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]$/; // the last stands for four bits
const REPORT = "report.html", OF_CLOSED = [...CLOSED, REPORT, SERIES, WITHHELD, "bundle.json"];
const UNLISTED = ["MANIFEST", PROOFS, "checkpoint", CLOSING, "closing.checkpoint", "consistency"];
const HANDED_OVER = ["MANIFEST", EVENTS, REPORT, "run.json", "bundle.json"];
const BLOB = /^blobs\/sha256-[0-9a-f]{64}$/, TAG = /^sha256:[0-9a-f]{64}$/;
const KEY_TYPES = ["ledger.opened", "key.enrolled", "key.revoked", "key.rotated"];
const ENDS = ["completed", "failed", "interrupted", "paused", "canceled"];
const AFTER_END = ["decision.", "policy.amended", "replay.judged"];
const VERSIONS = { checkpoint: 1, event: 4, layout: 1 };
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const FOREVER = Infinity, EMPTY = new Uint8Array(0);
const LONGEST = 100_000, LONG = 8192, MOST_PAYLOAD = 65_536, DEEPEST = 64, MOST_DIGITS = 4300;
const SHORT_LINES = ["MANIFEST", PROOFS, WITHHELD];
const MOST_BYTES = { ...Object.fromEntries(
  [...GIVEN, "checkpoint", CLOSING, "closing.checkpoint", "consistency"].map((name) => [name, 2 ** 20])),
"run.json": 8 * 2 ** 20, [REPORT]: 32 * 2 ** 20 }; // the other files grow with their run

function require(holds, file, what) {
  if (!holds) throw new Wrong(`${file}: ${what}`);
}

// Whatever a step stumbles over is a fault of the file that it judges.
async function within(file, step) {
  try {
    return await step();
  } catch (error) {
    if (error instanceof Wrong || error instanceof Unchecked) throw error;
    throw new Wrong(`${file}: of another form (${error.name})`);
  }
}

// -- bytes ---------------------------------------------------------------------------------

const utf8 = (text) => new TextEncoder().encode(text);
const text = (data) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
const hex = (data) => Array.from(data, (one) => one.toString(16).padStart(2, "0")).join("");
const unhex = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (two) => parseInt(two, 16));
const digest = async (name, data) => new Uint8Array(await crypto.subtle.digest(name, data));
const sha256 = (data) => digest("SHA-256", data);

function equal(one, other) {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((size, one) => size + one.length, 0));
  let at = 0;
  for (const one of parts) { whole.set(one, at); at += one.length; }
  return whole;
}

function base64(data) {
  let binary = "";
  for (let at = 0; at < data.length; at += 8192)
    binary += String.fromCharCode(...data.subarray(at, at + 8192));
  return btoa(binary);
}

function unbase64(value, size, file) {
  let data = EMPTY;
  try { data = Uint8Array.from(atob(value), (one) => one.charCodeAt(0)); } catch { /* below */ }
  const good = typeof value === "string" && data.length > 0 && base64(data) === value;
  require(good && (size === null || data.length === size), file, "not base64 of the right size");
  return data;
}

// -- canonical JSON (RFC 8785, and docs/spec/canonical.md) ---------------------------------------

function spelled(value, depth = 0) {
  if (depth >= DEEPEST && value !== null && typeof value === "object")
    throw new RangeError("nested too deep");
  if (typeof value === "string") {
    if (/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(value))
      throw new RangeError("a lone surrogate");
    return JSON.stringify(value);
  }
  if (typeof value === "number") {
    const told = JSON.stringify(value);
    if (!/[.e]/.test(told) && !Number.isSafeInteger(value)) throw new RangeError("too large");
    return told;
  }
  if (Array.isArray(value)) return `[${value.map((one) => spelled(one, depth + 1)).join(",")}]`;
  if (value === null || typeof value === "boolean") return String(value);
  const names = Object.keys(value).sort(); // by UTF-16 code units
  return `{${names.map((one) => `${spelled(one)}:${spelled(value[one], depth + 1)}`).join(",")}}`;
}

const canonical = (value) => utf8(spelled(value));

function parse(data, file) {
  let value = null, same = false;
  try {
    value = JSON.parse(text(data)); // a member __proto__ is one like all others
    same = equal(canonical(value), data);
  } catch { /* below */ }
  require(same, file, "not canonical JSON");
  return value;
}

// The value of JSON that has other spellings, too: each text and each number in it as a text that
// says which it was, and loses nothing. 4 is "i4", 4.0 is "f4", and "4" is "t4".
function exactly(written) {
  JSON.parse(written);
  const tokens = /"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*/g;
  const told = JSON.parse(written.replace(tokens, (one) =>
    (one[0] === '"' ? `"t${one.slice(1)}` : `"${numberKept(one)}"`)));
  const colons = written.replace(tokens, "").split(":").length - 1;
  if (membersOf(told) !== colons) throw new RangeError("a name stands twice, and the first is lost");
  return told;
}

function numberKept(told) { // what is an integer, and what is a double, its spelling says
  if (/[.eE]/.test(told)) return `f${Number(told)}`;
  if (told.replace("-", "").length > MOST_DIGITS) throw new RangeError("too many digits");
  return `i${BigInt(told)}`;
}

function membersOf(value, depth = 0) {
  if (value === null || typeof value !== "object") return 0;
  if (depth >= DEEPEST) throw new RangeError("nested too deep");
  const all = Object.values(value), own = Array.isArray(value) ? 0 : all.length;
  return all.reduce((sum, one) => sum + membersOf(one, depth + 1), own);
}

// Equal texts for equal values, whatever the order of members: of what `exactly` returns.
const comparable = (value) => JSON.stringify(value, (_, one) =>
  (isObject(one) ? Object.fromEntries(Object.entries(one).sort()) : one));

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function hasExactly(value, names) {
  return isObject(value) && spelled(Object.keys(value).sort()) === spelled([...names].sort());
}

function lines(data, file) {
  const found = [];
  const longest = SHORT_LINES.includes(file) ? LONG : LONGEST;
  let at = 0;
  for (let end; (end = data.indexOf(10, at)) >= 0; at = end + 1) {
    require(end - at <= longest, file, "a line is too long");
    found.push(data.subarray(at, end));
  }
  require(at === data.length, file, "the last line has no end");
  return found;
}

// -- files -----------------------------------------------------------------------------------

const TABLE = Uint32Array.from({ length: 256 }, (_, at) => {
  let crc = at;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

function crc32(data) {
  let crc = 0xffffffff;
  for (const byte of data) crc = (crc >>> 8) ^ TABLE[(crc ^ byte) & 255];
  return (crc ^ 0xffffffff) >>> 0;
}

function little(...pairs) { // [bytes, number] …
  const data = [];
  for (const [size, number] of pairs)
    for (let at = 0; at < size; at += 1) data.push(Math.floor(number / 256 ** at) % 256);
  return Uint8Array.from(data);
}

/** Return name → content of a zip that is exactly what its members make it. */
export function unzip(data, file) {
  const files = new Map(), whole = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const what = "not a zip of `muniment bundle`", directory = [];
  let at = 0, last = "";
  const here = (size) => at + size <= data.length;
  while (here(30) && whole.getUint32(at, true) === 0x04034b50 && files.size < 65_535) {
    const size = whole.getUint32(at + 22, true), named = whole.getUint16(at + 26, true);
    require(here(30 + named + size), file, what);
    const raw = data.subarray(at + 30, at + 30 + named);
    require(raw.every((byte) => byte > 32 && byte < 127), file, what);
    const name = text(raw), content = data.subarray(at + 30 + named, at + 30 + named + size);
    require(name > last, file, what);
    const head = little([2, 20], [2, 0], [2, 0], [2, 0], [2, 33], [4, crc32(content)],
      [4, size], [4, size], [2, named]);
    const local = joined(unhex("504b0304"), head, unhex("0000"));
    require(equal(local, data.subarray(at, at + 30)), file, what);
    const where = little([2, 0], [2, 0], [2, 0], [2, 0], [4, 0o100644 * 65536], [4, at]);
    directory.push(joined(unhex("504b0102"), little([2, 0x0314]), head, where, raw));
    files.set(name, content);
    at += 30 + named + size;
    last = name;
  }
  const list = joined(...directory), count = files.size;
  const end = little([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, list.length],
    [4, at], [2, 0]);
  require(count && equal(joined(list, end), data.subarray(at)), file, what);
  return files;
}

function checkFile(name, size, count) { // before it is read
  const known = [...ALWAYS, ...OF_CLOSED, RELATED].includes(name) || BLOB.test(name);
  require(known, name, "no bundle has this file");
  const most = name === "MANIFEST" ? LONG * count : MOST_BYTES[name] ?? Infinity;
  require(size <= most, name, "too large for such a file");
}

async function checkManifest(files) {
  const closed = OF_CLOSED.some((name) => files.has(name));
  for (const [name, content] of files) checkFile(name, content.length, files.size);
  for (const name of closed ? [...ALWAYS, ...CLOSED] : ALWAYS)
    require(files.has(name), name, "the file is missing");
  const listed = new Map();
  let last = "";
  for (const line of lines(files.get("MANIFEST"), "MANIFEST")) {
    const match = /^([0-9a-f]{64}) {2}([!-~]+)$/.exec(text(line));
    require(match && match[2] > last, "MANIFEST", "not in its one form");
    listed.set(match[2], match[1]);
    last = match[2];
  }
  for (const name of new Set([...files.keys(), ...listed.keys()])) {
    if (UNLISTED.includes(name) && !listed.has(name)) continue;
    require(files.has(name) && !UNLISTED.includes(name), name, "not what MANIFEST says");
    const same = listed.get(name) === hex(await sha256(files.get(name)));
    require(same, name, "not what MANIFEST says");
  }
  return closed;
}

// -- keys --------------------------------------------------------------------------------------

const P = 2n ** 255n - 19n;
const ORDER_8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const LOW_ORDER = [0n, 1n, P - 1n, ORDER_8, P - ORDER_8];
const SPKI = unhex("302a300506032b6570032100");

const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n; // P-256
const SPKI_P256 = unhex("3059301306072a8648ce3d020106082a8648ce3d030107034200");
const isP256 = (raw) => raw.length === 65;
const spki = (raw) => joined(isP256(raw) ? SPKI_P256 : SPKI, raw);

async function keyid(raw) {
  const wire = isP256(raw)
    ? joined(unhex("00000013"), utf8("ecdsa-sha2-nistp256"), unhex("00000008"), utf8("nistp256"),
      unhex("00000041"), raw)
    : joined(unhex("0000000b"), utf8("ssh-ed25519"), unhex("00000020"), raw);
  return `SHA256:${base64(await sha256(wire)).replace(/=+$/, "")}`;
}

// Returns r and s, 32 bytes each, of strict DER with the lower s; null for all else.
function numbersOf(der) {
  const found = [];
  if (der.length < 8 || der.length > 72 || der[0] !== 0x30 || der[1] !== der.length - 2) return null;
  let at = 2;
  for (const most of [N - 1n, (N - 1n) / 2n]) {
    const size = der[at + 1], body = der.subarray(at + 2, at + 2 + size);
    if (der[at] !== 0x02 || !(size >= 1) || body.length !== size || body[0] >= 0x80) return null;
    if (body[0] === 0 && !(body[1] >= 0x80)) return null;
    const number = BigInt(`0x${hex(body)}`);
    if (number < 1n || number > most) return null;
    found.push(unhex(number.toString(16).padStart(64, "0")));
    at += 2 + size;
  }
  return at === der.length ? joined(...found) : null;
}

async function signedP256(raw, signature, message) {
  const numbers = numbersOf(signature), curve = { name: "ECDSA", namedCurve: "P-256" };
  if (raw[0] !== 4 || numbers === null) return false;
  try {
    const key = await crypto.subtle.importKey("raw", raw, curve, false, ["verify"]);
    return await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, numbers, message);
  } catch {
    return false; // no point of the curve
  }
}

async function signed(raw, signature, message) {
  if (isP256(raw)) return signedP256(raw, signature, message);
  const y = BigInt(`0x${hex(Uint8Array.from(raw).reverse())}`) & (2n ** 255n - 1n);
  if (raw.length !== 32 || LOW_ORDER.includes(y) || y >= P) return false;
  const key = await crypto.subtle.importKey("raw", raw, { name: "Ed25519" }, false, ["verify"]);
  return crypto.subtle.verify("Ed25519", key, signature, message);
}

function knownFormats(formats, place) {
  const good = hasExactly(formats, Object.keys(VERSIONS))
    && Object.values(formats).every((one) => Number.isSafeInteger(one) && one > 0);
  require(good, place, "not the versions of three formats");
  for (const [name, version] of Object.entries(formats))
    if (version > VERSIONS[name])
      throw new Unchecked(`version ${version} of the ${name} format is not known here`);
  return formats.event;
}

class Keys {
  ledger = ""; nextRoot = ""; format = 1; byId = new Map();

  holds(id, role, seq) {
    const one = this.byId.get(id);
    return one !== undefined && one.roles.includes(role) && one.since < seq && seq <= one.until;
  }

  async enrol(entry, context, seq, place) {
    const raw = unbase64(entry.public, null, place), id = await keyid(raw), roles = entry.roles;
    require(!isP256(raw) || !roles.includes("checkpoint"), place, "a log's key is not Ed25519");
    require(entry.keyid === id, place, "a key has another fingerprint");
    require(!this.byId.has(id), place, "a key is enrolled twice");
    require(roles.length && hasExactly(entry.possession, new Set(roles)), place, "odd roles");
    for (const role of roles) {
      const said = `muniment/key-possession/v1\n${context}\n${id}\n${role}\n`;
      const proof = unbase64(entry.possession[role], null, place);
      require(await signed(raw, proof, utf8(said)), place, "no proof of possession");
    }
    this.byId.set(id, { raw, roles, since: seq, until: FOREVER });
    return id;
  }

  async fold(event) {
    const { seq, kind, data, signer, place } = event;
    let newRoot = null;
    if (kind === "ledger.opened") {
      require(seq === 0, place, "a ledger is opened once");
      [this.nextRoot, this.format] = [data.next_root, knownFormats(data.formats, place)];
      for (const entry of data.keys) await this.enrol(entry, `nonce:${data.nonce}`, 0, place);
      const roots = [...this.byId].filter(([, one]) => one.roles.includes("root"));
      require(roots.length === 1 && roots[0][0] === signer, place, "not signed by its one root");
      return;
    }
    if (kind === "key.rotated") {
      const before = this.byId.get(data.old);
      require(before && before.until === FOREVER, place, "no such key");
      const id = await this.enrol(data.new, this.ledger, seq, place), after = this.byId.get(id);
      require(after.roles.every((one) => before.roles.includes(one)), place, "a new role");
      before.until = seq;
      if (before.roles.includes("root")) {
        const committed = `sha256:${hex(await sha256(after.raw))}` === this.nextRoot;
        require(committed && signer === id, place, "not the committed root");
        [this.nextRoot, newRoot] = [data.next_root, id];
      }
    } else if (kind === "key.enrolled") {
      const id = await this.enrol(data, this.ledger, seq, place);
      require(!this.byId.get(id).roles.includes("root"), place, "a root is enrolled");
    } else {
      const one = this.byId.get(data.keyid);
      const good = one && !one.roles.includes("root") && one.until === FOREVER;
      require(good, place, "revokes what is no key");
      one.until = seq;
    }
    const rooted = newRoot === signer || this.holds(signer, "root", seq);
    require(rooted, place, "not signed by the root");
  }
}

// -- the tree (RFC 6962, 2.1) and its heads --------------------------------------------------------

const node = (left, right) => sha256(joined(Uint8Array.of(1), left, right));
const leftOf = (size) => 1n << BigInt((size - 1n).toString(2).length - 1); // sizes are exact

async function rootOf(leaves) {
  if (leaves.length < 2) return leaves[0] ?? sha256(EMPTY);
  const left = Number(leftOf(BigInt(leaves.length)));
  return node(await rootOf(leaves.slice(0, left)), await rootOf(leaves.slice(left)));
}

async function climb(leaf, index, size, proof) {
  if (size === 1n) return leaf;
  const left = leftOf(size);
  if (index < left) return node(await climb(leaf, index, left, proof), proof.shift() ?? EMPTY);
  const right = await climb(leaf, index - left, size - left, proof);
  return node(proof.shift() ?? EMPTY, right);
}

async function grow(old, size, proof, known) {
  if (old === size) {
    const same = known ?? proof.shift() ?? EMPTY;
    return [same, same];
  }
  const left = leftOf(size);
  if (old <= left) {
    const [first, second] = await grow(old, left, proof, known);
    return [first, await node(second, proof.shift() ?? EMPTY)];
  }
  const [first, second] = await grow(old - left, size - left, proof, null);
  const beside = proof.shift() ?? EMPTY;
  return [await node(beside, first), await node(beside, second)];
}

async function readHead(note, keys, file) {
  const origin = `l-${keys.ledger.slice(7, 39)}.muniment.invalid`;
  const form = new RegExp(`^(${origin.replaceAll(".", "\\.")}\n(0|[1-9]\\d{0,18})\n(\\S+)\n)\n` +
    `— ${origin.replaceAll(".", "\\.")} (\\S+)\n$`);
  const match = form.exec(text(note));
  require(match, file, "not a checkpoint of this ledger with one signature");
  const size = BigInt(match[2]), root = unbase64(match[3], 32, file);
  const data = unbase64(match[4], 68, file);
  for (const one of keys.byId.values()) {
    const mark = await sha256(joined(utf8(`${origin}\n`), Uint8Array.of(1), one.raw));
    if (!equal(mark.subarray(0, 4), data.subarray(0, 4))) continue;
    if (!(await signed(one.raw, data.subarray(4), utf8(match[1])))) continue;
    const good = one.roles.includes("checkpoint") && one.since < size && size <= one.until;
    require(good && size < 2n ** 63n, file, "not by a checkpoint key at its size");
    const told = base64(joined(Uint8Array.of(1), one.raw));
    const vkey = `${origin}+${hex(mark.subarray(0, 4))}+${told}`;
    return { size, root, note, origin, mark, log: one.raw, vkey };
  }
  throw new Wrong(`${file}: no checkpoint key of the ledger signed it`);
}

const headIn = (files, name, keys) => within(name, () => readHead(files.get(name), keys, name));

async function checkProof(head, event, hashes, file) {
  require(Array.isArray(hashes) && hashes.length < 64, file, "no list of hashes");
  const proof = hashes.map((one) => unbase64(one, 32, file));
  const inside = event.seq >= 0 && event.seq < head.size;
  const good = inside && equal(await climb(event.leaf, BigInt(event.seq), head.size, proof), head.root);
  require(good && proof.length === 0, file, `it does not prove event ${event.seq}`);
}

// -- events ------------------------------------------------------------------------------------

async function readEvent(line, keys, file) {
  const envelope = parse(line, file), signature = envelope?.signatures?.[0];
  require(hasExactly(envelope, ["payload", "payloadType", "signatures"])
    && envelope.signatures.length === 1 && hasExactly(signature, ["keyid", "sig"])
    && envelope.payloadType === "application/vnd.in-toto+json", file, "not an envelope of ours");
  const payload = unbase64(envelope.payload, null, file), sig = unbase64(signature.sig, null, file);
  require(payload.length <= MOST_PAYLOAD, file, "its payload is too large");
  const statement = parse(payload, file), { data, muniment: chain } = statement.predicate;
  const { seq, type: kind, run } = chain, place = `${file}, event ${seq}`;
  keys.ledger ||= `sha256:${hex(await sha256(payload))}`;
  const event = { seq, kind, run, data, chain, place, envelope, signer: signature.keyid };
  await checkShape(statement, event, keys);
  const entries = kind === "ledger.opened" ? data.keys
    : KEY_TYPES.includes(kind) ? [data.new ?? data] : [];
  const own = entries.find((one) => one.keyid === event.signer && one.public !== undefined);
  event.raw = own ? unbase64(own.public, null, place) : keys.byId.get(event.signer)?.raw;
  const known = event.raw && (await keyid(event.raw)) === event.signer;
  require(known, place, `${event.signer} is not a key of this ledger`);
  const head = utf8(`DSSEv1 28 application/vnd.in-toto+json ${payload.length} `);
  const pae = joined(head, payload);
  require(await signed(event.raw, sig, pae), place, "not signed");
  if (KEY_TYPES.includes(kind)) await keys.fold(event);
  else require(keys.holds(event.signer, "writer", seq), place, "its key is not a writer here");
  const publicKey = { rawBytes: base64(spki(event.raw)) };
  const keyDetails = isP256(event.raw) ? "PKIX_ECDSA_P256_SHA_256" : "PKIX_ED25519_PH";
  event.entry = canonical({ apiVersion: "0.0.2", kind: "hashedrekord", spec: { hashedRekordV002: {
    data: isP256(event.raw) ? { algorithm: "SHA2_256", digest: base64(await digest("SHA-256", pae)) }
      : { algorithm: "SHA2_512", digest: base64(await digest("SHA-512", pae)) },
    signature: { content: signature.sig, verifier: { keyDetails, publicKey } },
  } } });
  event.leaf = await sha256(joined(Uint8Array.of(0), event.entry));
  event.subject = statement.subject;
  return event;
}

// Read the events of a file, and judge each; what is odd in one has its line.
async function eachEvent(files, name, keys, judge) {
  for (const [at, line] of (files.has(name) ? lines(files.get(name), name) : []).entries()) {
    const place = `${name}:${at + 1}`;
    await within(place, async () => judge(await readEvent(line, keys, place)));
  }
}

async function checkShape(statement, event, keys) {
  const { seq, kind, run, data, chain, place } = event;
  const names = ["actor", "seq", "tenant", "time", "type", "version"];
  if (seq !== 0) names.push("ledger", "prev");
  if (run !== undefined) names.push("run", "scope", "ordinal");
  if (seq !== 0 && "series" in chain) names.push("series");
  const own = hex(await sha256(canonical(data)));
  const about = statement.subject;
  require(hasExactly(statement, ["_type", "predicate", "predicateType", "subject"])
    && statement._type === "https://in-toto.io/Statement/v1"
    && hasExactly(statement.predicate, ["data", "muniment"])
    && statement.predicateType === `urn:muniment:event:${kind}:v${chain.version}`
    && hasExactly(chain, names) && Number.isSafeInteger(seq) && isObject(data)
    && (chain.ledger ?? keys.ledger) === keys.ledger && TIME.test(chain.time)
    && Array.isArray(about) && about.length > 0
    && about.every((one) => hasExactly(one, ["digest", "name"]) && isObject(one.digest)
      && (one.name !== "data.json" || one.digest.sha256 === own)),
  place, "not a statement of this ledger");
}

function checkNext(before, event) {
  const later = event.seq > before.seq && event.chain.time >= before.chain.time;
  require(later, event.place, "it does not come after the event before");
  const chained = event.seq > before.seq + 1 || event.chain.prev === hex(before.leaf);
  require(chained, event.place, "another prev");
}

function readWithheld(files) {
  const events = [], blobs = [];
  for (const line of files.has(WITHHELD) ? lines(files.get(WITHHELD), WITHHELD) : []) {
    const told = parse(line, WITHHELD);
    if (hasExactly(told, ["blob"]) && TAG.test(told.blob)) {
      require(!blobs.length || told.blob > blobs.at(-1), WITHHELD, "not in order");
      blobs.push(told.blob);
      continue;
    }
    const good = !blobs.length && hasExactly(told, ["leaf", "ordinal", "scope", "seq"])
      && Number.isSafeInteger(told.seq) && told.seq > (events.at(-1)?.seq ?? 0)
      && Number.isSafeInteger(told.ordinal) && told.ordinal >= 0 && typeof told.scope === "string";
    require(good, WITHHELD, "not an event or a blob that is withheld, in its order");
    events.push({ ...told, leaf: unbase64(told.leaf, 32, WITHHELD) });
  }
  const holds = events.length + blobs.length > 0 || !files.has(WITHHELD);
  require(holds, WITHHELD, "it withholds nothing");
  return { events, blobs: new Set(blobs) };
}

class RunState {
  leaves = []; counts = {}; asked = new Set(); complete = false; final = false;

  count(scope, leaf) {
    this.counts[`/${scope}`] = (this.counts[`/${scope}`] ?? 0) + 1;
    this.leaves.push(leaf);
  }

  async follow({ kind, data, place, chain, leaf }, format) {
    const first = this.leaves.length === 0, ends = ["run.completed", "run.failed"].includes(kind);
    require((kind === "run.started") === first, place, "a run starts once, at its beginning");
    if (this.final) {
      const may = format < 2 || AFTER_END.some((one) => kind.startsWith(one));
      require(may, place, "it follows the end of the run");
    } else {
      [this.complete, this.final] = [ends, kind === "run.completed"];
    }
    if (ends) {
      const stated = Object.entries(data.counts ?? {}).map(([scope, n]) => [`/${scope}`, n]);
      const counted = data.counts === undefined
        || spelled(Object.fromEntries(stated)) === spelled(this.counts);
      const good = counted && data.root === hex(await rootOf(this.leaves));
      require(good, place, "events of the run are missing");
    }
    if (kind === "decision.asked") this.asked.add(hex(leaf));
    this.count(chain.scope, leaf);
  }
}

class RunMarks { // the marks of some runs: of each mark, its first event
  found = new Map();

  take({ run, kind, seq, data }) {
    if (run === undefined || kind !== "run.marked") return;
    const { mark } = data, known = this.found.get(run) ?? new Map();
    this.found.set(run, known);
    const others = [...known.keys()].filter((one) => one !== NON_CERTIFIABLE).length;
    const kept = mark === NON_CERTIFIABLE || others < MOST_MARKS;
    if (typeof mark === "string" && kept && !known.has(mark)) known.set(mark, seq);
  }

  said() {
    const all = [...this.found].flatMap(([run, marks]) => [...marks].map(([mark, seq]) =>
      `MARKED: ${mark.slice(0, 80)}, event ${seq} of run ${run.slice(0, 80)}`));
    const more = all.length - MOST_MARKS;
    return more > 0 ? [...all.slice(0, MOST_MARKS), `MARKED: ${more} more`] : all;
  }

  check(run, cited) { // they are the first values on a page, each with its reason
    const marks = [...this.found.get(run) ?? []], first = cited.slice(0, 2 * marks.length);
    const shown = first.filter(({ marks: one }) => (one.get("data-as") ?? "block") === "block");
    const places = new Set(shown.map(({ marks: one }) => referenceOf(one)));
    for (const [mark, seq] of marks) {
      const said = places.has(`${seq}/mark`) && places.has(`${seq}/reason`);
      require(said, REPORT, `it does not say first that the run is ${mark.slice(0, 80)}`);
    }
  }
}

const VIEW = "run.json", FINAL = ["completed", "canceled"];
const AS_STARTED = ["name", "labels", "program", "plugins", "replay_of", "parent", "fork"];
const STATUS_AFTER = { "run.started": "open", "run.resumed": "open", "run.interrupted": "interrupted",
  "run.paused": "paused", "run.canceled": "canceled", "run.completed": "completed" };

class RunView { // what run.json has to say
  known = null; types = new Map(); effects = new Map();

  take({ run, seq, kind, data, chain }) {
    this.known ??= { id: run, name: "", status: "open", started: chain.time, ended: null, first: seq,
      last: seq, events: 0, generation: 0, tenant: chain.tenant, actor: chain.actor, labels: {},
      program: null, plugins: {}, effects: {}, failed_effects: 0, error_type: null, replay_of: null,
      parent: null, fork: null, types: {}, marks: [] };
    const { known } = this, has = (name) => Object.hasOwn(data, name);
    const count = (map, name) => map.set(name, (map.get(name) ?? 0) + 1);
    count(this.types, kind);
    known.events += 1;
    known.last = seq;
    if (!FINAL.includes(known.status)) {
      known.ended = chain.time;
      if (kind === "run.started") for (const name of AS_STARTED.filter(has)) known[name] = data[name];
      if (Object.hasOwn(STATUS_AFTER, kind)) known.status = STATUS_AFTER[kind];
      if (["run.resumed", "run.canceled"].includes(kind) && has("generation"))
        known.generation = data.generation;
      if (kind === "run.failed") {
        known.status = has("status") ? String(data.status) : "failed";
        known.error_type = has("error_type") ? data.error_type : null;
      }
    }
    const mark = kind === "run.marked" ? data.mark : null;
    if (typeof mark === "string" && mark && !known.marks.includes(mark)) known.marks.push(mark);
    const at = kind.lastIndexOf("."), asked = kind.slice(0, at), verb = kind.slice(at + 1);
    if (at >= 0 && verb === "requested") count(this.effects, asked);
    else if (at >= 0 && verb === "failed" && !["plugin", "run"].includes(asked))
      known.failed_effects += 1;
  }

  check(content, withheld) {
    let told = null;
    try { told = exactly(text(content)); } catch { /* below */ }
    require(isObject(told), VIEW, "it is no JSON object in which each name stands once");
    const known = { ...this.known, types: Object.fromEntries(this.types),
      effects: Object.fromEntries(this.effects) };
    if (known.status === "open") known.ended = null;
    const hidden = { blobs: withheld.blobs.size, events: withheld.events.length };
    if (Object.hasOwn(told, "twithheld") || hidden.blobs || hidden.events) known.withheld = hidden;
    const empty = { name: "", ended: null, generation: 0, labels: {}, program: null, plugins: {},
      effects: {}, failed_effects: 0, error_type: null, replay_of: null, parent: null, fork: null,
      types: {}, marks: [] };
    const given = exactly(spelled(known)), unsaid = exactly(spelled(empty));
    for (const name of Object.keys(given)) {
      const said = Object.hasOwn(told, name) ? told[name] : unsaid[name];
      const same = said !== undefined && comparable(said) === comparable(given[name]);
      require(same, VIEW, `${name.slice(1)} is not what the events give`);
    }
    for (const name of Object.keys(told))
      if (!Object.hasOwn(given, name))
        throw new Unchecked(`${VIEW}: its member ${name.slice(1, 81)} is not known here`);
  }
}

class Run {
  id = ""; events = []; blobs = new Map(); erased = new Map();
  own = new RunState(); kin = new Kin(); marks = new RunMarks(); view = new RunView();

  constructor(keys, withheld) { this.keys = keys; this.withheld = withheld; }

  static async read(files, keys) {
    const withheld = await within(WITHHELD, () => readWithheld(files));
    const run = new Run(keys, withheld), left = [...withheld.events].reverse();
    await eachEvent(files, EVENTS, keys, async (event) => {
      run.withhold(left, event);
      await run.add(event);
    });
    run.withhold(left, null);
    require(run.id, EVENTS, "no event of a run");
    return run;
  }

  withhold(left, event) {
    while (left.length && (event === null || left.at(-1).seq <= event.seq)) {
      const one = left.pop(), { own } = this;
      const good = own.leaves.length && !own.final && one.seq !== event?.seq;
      require(good, WITHHELD, `event ${one.seq} is here, or is not of the run`);
      own.count(one.scope, one.leaf);
      own.complete = false;
      const chained = one.seq + 1 !== event?.seq || event.chain.prev === hex(one.leaf);
      require(chained, event?.place, "another prev");
    }
  }

  async add(event) {
    const last = this.events.at(-1), { place } = event;
    if (last === undefined)
      require(event.kind === "ledger.opened", place, "not the opening of a ledger");
    else checkNext(last, event);
    require(this.belongs(event), place, "not of this run, nor about its keys");
    this.events.push(event);
    if (event.run !== undefined) {
      await this.own.follow(event, this.keys.format);
      this.view.take(event);
    }
    this.refer(event);
  }

  refer(event) {
    const { place, data } = event;
    this.kin.take(event);
    this.marks.take(event);
    const named = event.subject.map((one) => one.digest.sha256);
    for (const value of Object.values(data)) {
      if (!isObject(value) || !("$blob" in value)) continue;
      const known = this.blobs.get(value.$blob) ?? { size: value.size, seq: event.seq };
      const good = known.size === value.size && named.includes(value.$blob.slice(7));
      require(good && TAG.test(value.$blob), place, "an odd reference to a blob");
      this.blobs.set(value.$blob, known);
    }
  }

  belongs(event) {
    const { kind, run, data } = event;
    if (kind === "blob.erased")
      for (const tag of data.blobs) if (!this.erased.has(tag)) this.erased.set(tag, event.seq);
    if (run !== undefined) {
      this.id ||= run;
      return run === this.id;
    }
    if (kind === "decision.given")
      return event.subject.some((one) => this.own.asked.has(one.digest.sha256));
    if (kind === "blob.erased") return data.blobs.some((tag) => this.blobs.has(tag));
    return KEY_TYPES.includes(kind);
  }

  async checkBlobs(files) {
    for (const [tag, { size, seq }] of this.blobs) {
      const name = `blobs/${tag.replace(":", "-")}`, hidden = this.withheld.blobs.has(tag);
      if ((this.erased.get(tag) ?? -1) > seq) {
        require(!files.has(name) && !hidden, name, "it was erased, and is here or withheld");
      } else if (hidden) {
        require(!files.has(name), name, "it is withheld, and is here");
      } else {
        const data = files.get(name) ?? EMPTY;
        const good = data.length === size + 32 && `sha256:${hex(await sha256(data))}` === tag;
        require(good, name, "missing, or not what its commitment says");
      }
    }
    for (const tag of this.withheld.blobs)
      require(this.blobs.has(tag), WITHHELD, `no event refers to ${tag}`);
    for (const name of files.keys()) {
      const known = !BLOB.test(name) || this.blobs.has(name.slice(6).replace("-", ":"));
      require(known, name, "no event refers to it");
    }
  }
}

// -- related runs: children, and the origins of forks -----------------------------------------------

const GIVEN_BY = ["record", "change"], OWN = ["answered_by", "duration_us"];
const member = (value, ...path) =>
  path.reduce((one, name) => (isObject(one) && Object.hasOwn(one, name) ? one[name] : undefined), value);

function entered(map, key, one) {
  map.set(key, (map.get(key) ?? new Set()).add(one));
}

class Kin {
  starts = new Map(); ends = new Map(); calls = []; answers = []; known = new Map();
  going = new Map(); asked = new Map();

  take(event) {
    const { run, kind, data, chain } = event, verb = kind.split(".").at(-1);
    if (run === undefined) return;
    const who = member(data, "answered_by", "who"), place = spelled([run, chain.scope, chain.ordinal]);
    const performed = ![...GIVEN_BY, "plugin"].includes(who);
    if (kind === "run.started") this.starts.set(run, event);
    else if (kind === "run.completed") this.ends.set(run, event);
    if (GIVEN_BY.includes(who)) this.answers.push(event);
    if (["completed", "failed"].includes(verb) || kind === "clock.read") this.known.set(event.seq, event);
    if (kind === "child.completed" && performed) this.calls.push(event);
    if (verb === "requested" && !this.asked.has(place)) this.asked.set(place, event);
    if (kind === "child.requested") this.going.set(place, run);
    else if (kind === "child.completed" || (kind === "child.failed" && !performed))
      this.going.delete(place);
  }

  /** The runs that are here whole with a run, and those up to an event. */
  reached(id) {
    const called = new Map(), whole = new Set([id]), until = new Map(), left = [id];
    for (const one of this.starts.values()) {
      const parent = member(one.data, "parent", "run");
      if (typeof parent === "string") entered(called, parent, one.run);
    }
    for (const one of this.calls) entered(called, one.run, member(one.data, "about", "run"));
    while (left.length) {
      const run = left.pop();
      for (const child of called.get(run) ?? []) {
        if (whole.has(child)) continue;
        whole.add(child);
        left.push(child);
      }
      const { run: origin, at } = member(this.starts.get(run)?.data, "fork") ?? {};
      if (!Number.isSafeInteger(at) || whole.has(origin) || (until.get(origin) ?? -1) >= at) continue;
      until.set(origin, at);
      left.push(origin);
    }
    return [whole, new Map([...until].filter(([run]) => !whole.has(run)))];
  }

  async compare(files, leaves) {
    for (const start of this.starts.values()) {
      if ("parent" in start.data) await this.checkChild(start, start.data.parent);
      if ("fork" in start.data) this.checkFork(files, start, start.data.fork, leaves);
    }
    const taken = new Map(), used = new Set();
    for (const one of this.calls) {
      const { run: child, leaf } = one.data.about, start = this.starts.get(child);
      if (!start) continue;
      const key = spelled([one.run, child]), at = spelled([one.chain.scope, one.chain.ordinal]);
      const own = member(start.data, "parent", "run") === one.run && (taken.get(key) ?? at) === at;
      require(own, one.place, `${child} is no child of this call`);
      taken.set(key, at);
      const end = this.ends.get(child), good = end && hex(end.leaf) === leaf && end.seq < one.seq;
      require(good, one.place, `it does not name the end of its child ${child}`);
      const same = sameField(files, one.data.value, end.data.result);
      require(same, one.place, `it has another value than its child ${child}`);
    }
    for (const one of this.answers) this.checkAnswer(files, one, used);
  }

  async checkChild(start, told) {
    const good = hasExactly(told, ["key", "root", "run"])
      && Object.values(told).every((one) => typeof one === "string");
    require(good, start.place, "it does not name its parent, and nothing else");
    const above = this.starts.get(told.run);
    if (!above) return;
    const root = member(above.data, "parent", "root") ?? above.run;
    require(above.seq < start.seq && told.root === root, start.place, "it has another parent or root");
    const about = new Map(start.subject.map((one) => [one.name, one.digest.sha256]));
    const named = about.get("call") === told.key
      && about.get("parent") === hex(await sha256(utf8(above.run)));
    require(named, start.place, "it is not about its call and its parent");
  }

  checkFork(files, start, told, leaves) {
    const good = hasExactly(told, ["at", "changes", "leaf", "run"]) && Number.isSafeInteger(told.at);
    require(good, start.place, "it does not name its origin as it has to");
    const origin = this.starts.get(told.run);
    if (!origin) return;
    const here = leaves.get(told.at) === spelled([told.run, told.leaf]) && told.at < start.seq;
    require(here, start.place, "its origin is another one");
    const about = start.subject.some((one) => one.name === "fork" && one.digest.sha256 === told.leaf);
    require(about, start.place, "about another event");
    require(start.chain.tenant === origin.chain.tenant, start.place, "it has another tenant");
    for (const name of ["labels", "name", "params", "seed"]) {
      const same = sameField(files, start.data[name], origin.data[name]);
      require(same, start.place, `it has another ${name} than its origin`);
    }
    for (const one of told.changes) {
      const there = this.known.get(one.seq);
      const odd = there?.run !== told.run || hex(there.leaf) !== one.leaf || one.seq > told.at;
      require(!odd, start.place, "an odd change");
    }
  }

  checkAnswer(files, one, used) {
    const by = one.data.answered_by, fork = member(this.starts.get(one.run)?.data, "fork");
    require(fork, one.place, "it is answered from a record, and its run is no fork");
    if (!this.starts.has(member(fork, "run"))) return;
    const good = hasExactly(by, ["leaf", "run", "seq", "who"]), there = this.known.get(by.seq);
    const named = good && there?.run === by.run && hex(there.leaf) === by.leaf
      && by.run === fork.run && by.seq <= fork.at && there.chain.scope === one.chain.scope;
    require(named, one.place, "it names no answer of its origin");
    const key = spelled([one.run, by.seq]), again = used.has(key) && one.kind !== "clock.read";
    used.add(key);
    const changed = fork.changes.some((change) => change.seq === by.seq);
    const once = !again && (by.who === "change") === changed;
    require(once, one.place, "it answers twice, or is changed where that is not said");
    if (one.kind !== "clock.read") {
      const [mine, other] = [one, there].map(({ run, chain }) =>
        this.asked.get(spelled([run, chain.scope, chain.ordinal])));
      const same = mine && other && mine.kind === other.kind
        && sameEvent(files, mine, other, [...OWN, "attempt", "doubt"]);
      require(same, one.place, "it is the answer to another request");
    }
    if (changed) return this.checkChange(files, one, there);
    const same = one.kind === there.kind && sameEvent(files, one, there, OWN);
    require(same, one.place, "it says something else than the event that it names");
  }

  checkChange(files, one, there) {
    const { fork, changed } = this.starts.get(one.run).data, file = blobOf(changed);
    const good = one.kind === `${there.kind.split(".").slice(0, -1).join(".")}.completed`
      && beside(one) === beside(there)
      && Object.keys(one.data).every((name) => ["about", "value", ...OWN].includes(name));
    require(good, one.place, "it is no changed value");
    const values = files.get(file), given = contentOf(files, one.data.value);
    if (!values || !given) return;
    const declared = parse(values.subarray(32), file), { length } = fork.changes;
    const at = fork.changes.findIndex((change) => change.seq === there.seq);
    const same = declared.length === length && equal(canonical(declared[at]), given);
    require(same, one.place, "it has another value than its fork declares");
  }

  lacks(whole, here) {
    const named = new Map(), began = new Map(), left = new Map();
    const children = new Set(this.calls.map((one) => member(one.data, "about", "run")));
    for (const { run, data } of this.starts.values()) {
      const parent = member(data, "parent", "run");
      if ("fork" in data) named.set(`origin ${member(data, "fork", "run")}`, member(data, "fork", "run"));
      if (parent !== undefined && !children.has(run)) began.set(parent, (began.get(parent) ?? 0) + 1);
    }
    for (const child of children) named.set(`child run ${child}`, child);
    for (const run of this.going.values())
      if (whole.has(run)) left.set(run, (left.get(run) ?? 0) + 1);
    const told = [...left].map(([run, n]) => [run, n - (began.get(run) ?? 0)]).filter(([, n]) => n > 0);
    return [...[...named].filter(([, run]) => !here.has(run)).map(([what]) => what),
      ...told.map(([run, n]) => `what ${n} ${n === 1 ? "call" : "calls"} of run ${run} `
        + "without a result began, if anything")];
  }

  /** How many events name runs that are not here. */
  unchecked(here) {
    const absent = (run) => !here.has(run), of = (run) => this.starts.get(run)?.data ?? {};
    const answers = this.answers.filter(({ run }) => absent(member(of(run), "fork", "run")));
    const starts = [...this.starts.values()].flatMap(({ data }) => [
      ..."fork" in data ? [member(data, "fork", "run")] : [],
      ..."parent" in data ? [member(data, "parent", "run")] : []]);
    const calls = this.calls.map(({ data }) => member(data, "about", "run"));
    return answers.length + [...starts, ...calls].filter(absent).length;
  }
}

const isGiven = (value) => isObject(value) && "$blob" in value;
const blobOf = (value) => `blobs/${value.$blob.replace(":", "-")}`;
const contentOf = (files, value) =>
  (isGiven(value) ? files.get(blobOf(value))?.subarray(32) : canonical(value ?? null));

function beside({ chain, data, subject }) {
  const refs = Object.values(data).filter(isGiven).map((one) => one.$blob);
  const more = subject.map(({ name, digest: { sha256: told } }) => [name, told])
    .filter(([name, told]) => name !== "data.json" && !refs.includes(`sha256:${told}`));
  return spelled([chain.tenant, chain.version, more, Object.keys(chain.series ?? {}).sort()]);
}

function sameField(files, one, other) {
  if (isGiven(one) !== isGiven(other)) return false;
  if (isGiven(one) && (one.size !== other.size || one.media !== other.media)) return false;
  const [first, second] = [contentOf(files, one), contentOf(files, other)];
  return !first || !second || equal(first, second);
}

function sameEvent(files, one, other, but) {
  const [mine, theirs] = [one, other].map(({ data }) =>
    Object.keys(data).filter((name) => !but.includes(name)).sort());
  return beside(one) === beside(other) && spelled(mine) === spelled(theirs)
    && mine.every((name) => sameField(files, one.data[name], other.data[name]));
}

class RelatedRuns {
  runs = new Map(); events = []; whole = new Set();

  static async read(files, keys, run) {
    const found = new RelatedRuns(), blobs = new Set(run.blobs.keys());
    await eachEvent(files, RELATED, keys, async (event) => {
      const later = event.seq > (found.events.at(-1)?.seq ?? -1);
      require(later, event.place, "it comes after a later event");
      require(found.belongs(event, run, blobs), event.place, "it belongs to no related run");
      if (event.run !== undefined) {
        if (!found.runs.has(event.run)) found.runs.set(event.run, new RunState());
        await found.runs.get(event.run).follow(event, keys.format);
      }
      run.refer(event);
      found.events.push(event);
    });
    await run.checkBlobs(files);
    found.here = new Set([run.id, ...found.runs.keys()]);
    const [whole, until] = run.kin.reached(run.id);
    found.whole = whole;
    if (!files.has(RELATED)) return found;
    require(found.events.length, RELATED, "an empty file");
    require(!files.has(WITHHELD), RELATED, "a redacted bundle has none");
    for (const event of found.events) {
      const good = event.run === undefined || whole.has(event.run)
        || event.seq <= (until.get(event.run) ?? -1);
      require(good, event.place, "its run is not related, or it follows the fork");
    }
    const leaves = new Map([...run.events, ...found.events].map((one) =>
      [one.seq, spelled([one.run ?? "", hex(one.leaf)])]));
    await run.kin.compare(files, leaves);
    return found;
  }

  belongs(event, run, blobs) {
    const { kind, data } = event;
    if (event.run !== undefined) return event.run !== run.id;
    if (kind === "decision.given") {
      const asked = [...this.runs.values()].map((one) => one.asked);
      return event.subject.some((one) => asked.some((set) => set.has(one.digest.sha256)));
    }
    if (kind !== "blob.erased") return false;
    for (const tag of data.blobs) if (!run.erased.has(tag)) run.erased.set(tag, event.seq);
    return data.blobs.some((tag) => run.blobs.has(tag)) && !data.blobs.some((tag) => blobs.has(tag));
  }

  said(kin) {
    const children = [...this.runs].filter(([run]) => this.whole.has(run));
    const left = kin.unchecked(this.here), ends = children.filter(([, one]) => !one.complete);
    const lacks = [...kin.lacks(this.whole, this.here),
      ...ends.map(([run]) => `an end of child run ${run} that covers its events`)];
    return [
      ...children.length ? [`child runs here: ${children.length}`] : [],
      ...lacks.length ? [`INCOMPLETE, it lacks ${lacks.join(" and ")}`] : [],
      ...left ? [`NOT COMPARED with other runs: ${left} events`] : [],
    ];
  }
}

// -- series: the runs beside this one -------------------------------------------------------------

const seriesOf = (event) => event.chain.series ?? {};

class OtherRuns {
  said = []; shown = [];

  static async read(files, keys, run, related) {
    const others = new OtherRuns(), found = [];
    await eachEvent(files, SERIES, keys, (event) => found.push(event));
    require(found.length || !files.has(SERIES), SERIES, "an empty file");
    for (const [at, event] of found.entries()) {
      require(!at || event.seq > found[at - 1].seq, event.place, "it comes after a later event");
      const other = event.run !== run.id && !KEY_TYPES.includes(event.kind);
      require(other, event.place, "it belongs to the events of the run");
      run.marks.take(event);
    }
    others.events = found;
    others.all = [...run.events, ...related, ...found].sort((one, other) => one.seq - other.seq);
    others.all.slice(1).forEach((event, at) => checkNext(others.all[at], event));
    others.followParts();
    return others;
  }

  followParts() { // in each series numbers rise, and neighbours follow each other
    const last = new Map();
    for (const event of this.all) {
      for (const [key, { count, prev }] of Object.entries(seriesOf(event))) {
        const before = last.get(key) ?? { count: 0, leaf: undefined };
        const rises = Number.isSafeInteger(count) && count > before.count;
        require(rises, event.place, `${key}: its number does not rise`);
        const good = prev === before.leaf || count > before.count + 1;
        require(good && (count === 1) === (prev === undefined), event.place, `${key}: another prev`);
        last.set(key, { count, leaf: hex(event.leaf) });
      }
    }
  }

  compare(closing, run) {
    const own = run.events.filter((one) => one.run === run.id);
    const counting = own.filter((one) => ["run.started", "claim.stated"].includes(one.kind));
    const wanted = new Set(counting.flatMap((one) => Object.keys(seriesOf(one))));
    const stated = closing.data.series ?? [], runs = new Set(), members = new Set();
    require(Array.isArray(stated) && (stated.length || !("series" in closing.data)),
      CLOSING, "no list of series");
    let last = "";
    for (const one of stated) {
      const size = typeof one?.key === "string" ? utf8(one.key).length : 0;
      const good = hasExactly(one, ["count", "key", "shown"]) && typeof one.shown === "boolean"
        && Number.isSafeInteger(one.count) && one.count > 0 && size > 0 && size <= 256
        && (last === "" || compareCodePoints(last, one.key) < 0);
      require(good, CLOSING, "series of another form");
      require(wanted.delete(one.key), CLOSING, "it counts other series than the run's");
      this.compareOne(one, own, runs, members);
      last = one.key;
    }
    require(wanted.size === 0, CLOSING, "it does not count each series of the run");
    for (const event of this.events) {
      const life = ["started", "resumed", ...ENDS].some((one) => event.kind === `run.${one}`);
      const told = life || ["run.marked", "verdict.reached"].includes(event.kind);
      const tells = told && runs.has(event.run);
      require(tells || members.has(event.seq), event.place, "it tells of no run in a series");
    }
    const started = new Set(this.all.filter((one) => one.kind === "run.started").map((one) => one.run));
    for (const one of runs) require(started.has(one), SERIES, `the start of run ${one} is missing`);
  }

  compareOne({ key, count, shown }, own, runs, members) {
    const here = this.all.filter((one) => Object.hasOwn(seriesOf(one), key));
    const numbers = here.map((one) => seriesOf(one)[key].count);
    if (!shown) {
      require(numbers.every((one) => one <= count), CLOSING, `${key}: more than it counts`);
      const mine = own.filter((one) => here.includes(one)).map((one) => seriesOf(one)[key].count);
      this.said.push(`number ${mine.at(-1)} of ${count} in ${key}, not shown`);
      return;
    }
    let before = "";
    for (const [at, event] of here.entries()) {
      const link = before ? { count: at + 1, prev: before } : { count: at + 1 };
      const good = spelled(seriesOf(event)[key]) === spelled(link);
      require(good, event.place, `not number ${at + 1} of ${key}, or another prev`);
      before = hex(event.leaf);
      if (event.run !== undefined) runs.add(event.run);
      members.add(event.seq);
    }
    const which = `${key}: ${count} are counted, and ${here.length} are here`;
    require(here.length === count, CLOSING, which);
    const of = new Set(here.map((one) => one.run).filter((one) => one !== undefined));
    this.shown.push(key);
    this.said.push(`1 of ${of.size} runs in ${key}`);
  }
}

function compareCodePoints(one, other) {
  const [left, right] = [[...one], [...other]];
  for (let at = 0; at < Math.min(left.length, right.length); at += 1)
    if (left[at] !== right[at]) return left[at].codePointAt(0) - right[at].codePointAt(0);
  return left.length - right.length;
}

// -- the report: each value on it (docs/spec/report.md) --------------------------------------------

const TITLE = "Evidence report", PAGE_END = "</main>\n</body>\n</html>\n", LARGEST = 64 * 2 ** 20;
const STYLES = ["F1kEJt+o2bRiCH9mYU8yOdNkN0CfImlcOMtqfupNLUM=",
  "MFvoB0ZZ/Y1ubgwDkFpKe7LreXC8JDymRP4UVk4CwRM="];
const WIDE = '<div class="wide" role="group" aria-label="Table" tabindex="0">';
const AXIS = '<svg viewBox="0 0 360 20" role="img" aria-label="one mark each">'
  + '<line x1="0" x2="360" y1="10" y2="10"/>';
const literal = (told) => told.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const MARKS = '((?: [a-z-]+="[^"<>]*")+)', TAGS = "section|h2|h3|p|dl|dt|dd|div|table|tr|th|td";
const PLACE = "([0-9]{1,4}\\.[0-9])", TITLED = "<title>([^<]*)</title>";
const DOT = `<circle cx="${PLACE}" cy="10" r="5"${MARKS}>${TITLED}</circle>`;
const SPAN = `<line class="span" x1="${PLACE}" x2="${PLACE}" y1="10" y2="10"${MARKS}>${TITLED}</line>`;
const LINE = `<line class="(full|dashed)" x1="${PLACE}" x2="${PLACE}" y1="1" y2="19"${MARKS}>${TITLED}</line>`;
const TOKEN = new RegExp(`<data${MARKS}>([^<]*)</data>|${DOT}|${SPAN}|${LINE}`
  + `|(<figure>|<figure data-scale="log">)|</?(?:${TAGS}|figcaption|span)>|</figure>`
  + `|${literal(WIDE)}|${literal(AXIS)}|</svg>|([^<]+)`, "y");
const CONSTANTS = { zero: 0, one: 1 };
const ERASED = "erased", ABSENT = "not in this bundle", TOO_LARGE = "too large for a page";
const REFERENCES = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };
const SELECTING = ["run", "type", "scope", "series"];
const ALWAYS_PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~";
const IN_MARK = Array.from({ length: 95 }, (_, at) => String.fromCharCode(at + 32)).join("")
  .replace("%", "");

class OddContent extends Error {} // it is to be JSON, and not canonical: nothing passes it over

function canonicalValue(data) { // undefined, if there is more than one way to read it
  try {
    const value = JSON.parse(text(data));
    return equal(canonical(value), data) ? value : undefined;
  } catch {
    return undefined;
  }
}

class Lacking extends Error {} // a content that a page cannot have: its commitment, or why

function pageHead(style, sheet) {
  const policy = `default-src 'none'; style-src 'sha256-${sheet}'; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n`
    + `<meta http-equiv="Content-Security-Policy" content="${policy}">\n`
    + `<meta name="viewport" content="width=device-width, initial-scale=1">\n`
    + `<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n`
    + `<title>${TITLE}</title>\n<style>${style}</style>\n</head>\n`;
}

function unescaped(told, file) {
  return told.replace(/&([^;]{0,5};)?/g, (_, name) => {
    const plainly = REFERENCES[name?.slice(0, -1)];
    require(plainly !== undefined, file, "no report has such a reference");
    return plainly;
  });
}

function percent(told, kept) {
  let said = "";
  for (const one of told)
    said += kept.includes(one) ? one : hex(utf8(one)).toUpperCase().replace(/../g, "%$&");
  return said;
}

function unpercent(told, file) {
  let plainly = null;
  try { plainly = /%(?![0-9A-F]{2})/.test(told) ? null : decodeURIComponent(told); } catch { /* below */ }
  require(plainly !== null && percent(plainly, IN_MARK) === told, file, "another spelling");
  return plainly;
}

function marksOf(told, file) {
  const marks = new Map();
  for (const [, name, value] of told.matchAll(/ ([a-z-]+)="([^"<>]*)"/g)) {
    require(!marks.has(name), file, "an attribute twice");
    marks.set(name, unpercent(unescaped(value, file), file));
  }
  return marks;
}

function hasOtherCharacters(words) {
  const left = words.replace(/SHA-256|(?<![0-9A-Za-z])[0-9a-f]{64}(?![0-9A-Za-z])/g, "");
  return !/^[\n -/:-~\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f\u2013\u2014\u2018\u2019\u201c\u201d\u2026]*$/.test(left);
}

async function readReport(page) {
  const sheet = /<style>([^<]*)<\/style>/.exec(page)?.[1] ?? "";
  const named = base64(await sha256(utf8(sheet))), head = pageHead(sheet, named);
  const about = new RegExp('^<body data-run="([0-9A-Z]{1,64})" data-size="(0|[1-9][0-9]{0,17})">\n'
    + `<main>\n<h1>${TITLE}</h1>\n`).exec(page.slice(head.length));
  const good = page.startsWith(head) && about && page.endsWith(PAGE_END);
  require(good, REPORT, "it does not begin and end as a report does");
  const cited = [], end = page.length - PAGE_END.length, nesting = new Nesting();
  const body = page.slice(0, end);
  TOKEN.lastIndex = head.length + about[0].length;
  for (let at; (at = TOKEN.lastIndex) < end;) {
    const found = TOKEN.exec(body);
    require(found, REPORT, `no report has ${page.slice(at, at + 40)} there`);
    nesting.take(found);
    const { figures: figure, rows: row, log } = nesting, isEnd = nesting.open.at(-1) === "figcaption";
    if (found[1] !== undefined)
      cited.push({ marks: marksOf(found[1], REPORT), text: unescaped(found[2], REPORT), figure, isEnd });
    else if (found[3] ?? found[6] ?? found[10]) {
      const drawn = markOf(found), written = found[0].slice(found[0].indexOf(" data-"));
      cited.push({ marks: marksOf(drawn.marks, REPORT), text: unescaped(drawn.title, REPORT),
        drawn, figure, log, twin: `${row} ${written}` });
    }
  }
  require(nesting.open.length === 0, REPORT, "an element is not closed");
  return { run: about[1], size: BigInt(about[2]), known: STYLES.includes(named), cited };
}

const INLINE = ["h2", "h3", "p", "dt", "dd", "div", "th", "td", "span", "figcaption"];
const CHILDREN = { main: ["section"], section: ["h2", "h3", "p", "dl", "wide", "figure"],
  dl: ["dt", "dd"], wide: ["table"], table: ["tr"], tr: ["th", "td"],
  figure: ["div", "svg", "figcaption"], figcaption: ["span"] };

class Nesting { // how elements are nested, and what may be beside a value
  open = []; texts = []; figures = 0; rows = 0; log = false;

  take(found) {
    const [written] = found, inside = this.open.at(-1) ?? "main";
    if (found[16] !== undefined) this.words(unescaped(found[16], REPORT), inside);
    else if (found[1] !== undefined) this.value(inside);
    else if (found[3] ?? found[6] ?? found[10])
      require(inside === "svg", REPORT, "a mark outside of a picture");
    else if (written.startsWith("</")) {
      require(written.slice(2, -1) === (inside === "wide" ? "div" : inside), REPORT, "not nested");
      this.open.pop();
      this.texts.pop();
      if (this.texts.length) this.texts[this.texts.length - 1] = "";
    } else this.enter(written, inside);
  }

  enter(written, inside) {
    const figure = written.startsWith("<figure");
    const name = figure ? "figure" : { [WIDE]: "wide", [AXIS]: "svg" }[written] ?? written.slice(1, -1);
    if (figure) [this.figures, this.log] = [this.figures + 1, written.includes("log")];
    if (name === "svg") this.rows += 1;
    require((CHILDREN[inside] ?? []).includes(name), REPORT, `no report has ${name} in ${inside}`);
    this.open.push(name);
    this.texts.push("");
  }

  words(said, inside) {
    if (!this.open.length || !INLINE.includes(inside)) {
      require(/^\n*$/.test(said), REPORT, "words where no report has any");
      return;
    }
    require(!hasOtherCharacters(said), REPORT, "its words have digits, or other letters than words may have");
    const before = this.texts.pop();
    require(before !== null || /^(?:[ \n,;:)]|\.(?:[ \n]|$))/.test(said), REPORT, "words continue a value");
    this.texts.push((before ?? "\0") + said);
  }

  value(inside) {
    const what = "two values without words between them", before = this.texts.pop();
    require(INLINE.includes(inside) && before !== null && before !== undefined, REPORT, what);
    const said = before.startsWith("\0") ? before.slice(1) : before;
    require(said === "" || /[ \n(]$/.test(said), REPORT, "words run into a value");
    require(said === before || /[A-Za-z,;:]/.test(said), REPORT, what);
    this.texts.push(null);
  }
}

function markOf(found) { // a dot, a span, or an upright line
  if (found[3]) return { kind: "dot", places: [found[3]], marks: found[4], title: found[5] };
  if (found[6]) return { kind: "span", places: [found[6], found[7]], marks: found[8], title: found[9] };
  require(found[11] === found[12], REPORT, "a line that is not upright");
  return { kind: found[10], places: [found[11]], marks: found[13], title: found[14] };
}

function numbersShown(value, kind, log) { // none, if it has no place on the scale
  const both = kind === "span" && Array.isArray(value) && value.length === 2;
  const numbers = (both ? value : [value]).map(plainly);
  const fits = (one) => isNumber(one) && Math.abs(Number(one)) < 1e300 && (!log || one > 0);
  return both === (kind === "span") && numbers.every(fits) ? numbers.map(Number) : [];
}

function referenceOf(marks) {
  const own = (name) => marks.get(`data-${name}`);
  if (own("rule") === undefined)
    return own("event") + (own("head") === undefined ? "" : `#${percent(own("head"), IN_MARK)}`)
      + percent(own("path") ?? "", IN_MARK);
  const about = [...marks].filter(([name]) => name.startsWith("data-")
    && !["data-rule", "data-as", "data-value"].includes(name))
    .map(([name, one]) => `${name.slice(5)}=${percent(one, `${ALWAYS_PLAIN}/:,*.[]"{}`)}`);
  return percent(own("rule"), IN_MARK) + (about.length ? `?${about.join("&")}` : "");
}

const TOLD = { $int: /^-?(?:0|[1-9][0-9]*)$/,
  $float: /^(?:-?(?:inf|[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)|nan)$/ };

function numberTold(value) { // the text of a tagged number; nothing if it is none
  if (!isObject(value) || Object.keys(value).length !== 1) return undefined;
  const [[tag, said]] = Object.entries(value);
  const told = typeof said === "string" && Object.hasOwn(TOLD, tag);
  return told && TOLD[tag].test(said) ? said : undefined;
}

const HIDDEN = new RegExp("[\\0-\\t\\x0b-\\x1f\\x7f-\\xa0\\xad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891"
  + "\\u08e2\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800"
  + "\\u3000\\u3164\\ud800-\\uf8ff\\ufdd0-\\ufdef\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff"
  + "\\u{110bd}\\u{110cd}\\u{13430}-\\u{1345f}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}"
  + "\\u{1fffe}\\u{1ffff}\\u{2fffe}\\u{2ffff}\\u{3fffe}-\\u{10ffff}]", "gu");

const visible = (told) => told.replace(HIDDEN, (one) => {
  if (one === "\t" || one === "\r") return one === "\t" ? "\\t" : "\\r";
  const code = one.codePointAt(0), digits = code.toString(16);
  if (code < 0x100) return `\\x${digits.padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
});

function sixDigits(value) { // as C writes it with %.6g, rounding a tie to even
  const long = value.toExponential(60), tie = /^-?\d\.(\d{5})50*e/.exec(long);
  let [digits, power] = value.toExponential(5).split("e");
  if (tie && Number(tie[1].at(-1)) % 2 === 0) digits = long.slice(0, long.indexOf(".") + 6);
  const at = Number(power), short = (told) => told.replace(/(\.\d*?)0*$/, "$1").replace(/\.$/, "");
  if (at < -4 || at >= 6)
    return `${short(digits)}e${at < 0 ? "-" : "+"}${String(Math.abs(at)).padStart(2, "0")}`;
  const [sign, figures] = [digits.startsWith("-") ? "-" : "", digits.replace(/[-.]/g, "")];
  const padded = at < 0 ? "0".repeat(-at) + figures : figures;
  return sign + short(`${padded.slice(0, Math.max(at, 0) + 1)}.${padded.slice(Math.max(at, 0) + 1)}`);
}

function shownAs(value, form, event) {
  const verdicts = { true: "holds", false: "refuted", null: "undecided" };
  let said = typeof value === "string" ? value || "(empty)" : "";
  if (numberTold(value) !== undefined) said = numberTold(value);
  else if (typeof value === "number" && !Number.isSafeInteger(value)) said = sixDigits(value);
  else if (typeof value !== "string") said = spelled(value);
  if (form === "verdict" && [true, false, null].includes(value)) return verdicts[said];
  const most = form === "block" ? 4000 : 300, all = [...said];
  if (all.length > most) {
    const where = event === undefined ? "" : `: muniment events show ${event} --full`;
    const more = (all.length - most).toLocaleString("en-US");
    said = `${all.slice(0, most).join("")}\u2026 (${more} more characters${where})`;
  }
  return form === "block" ? visible(said) : visible(said).replaceAll("\n", "\u21b5");
}

async function valued(value) {
  const said = spelled(value);
  return [...said].length <= 200 ? said : `sha256:${hex(await sha256(utf8(said)))}`;
}

const isPointer = (path) => path === "" || (path.startsWith("/") && !/~(?![01])/.test(path));

function follow(document, path, content) {
  if (path === "")
    return Object.fromEntries(Object.entries(document).map(([name, one]) =>
      [name, isObject(one) && "$blob" in one ? content(one) : one]));
  if (!isPointer(path)) throw new RangeError("no JSON pointer");
  let value = document;
  for (const [depth, part] of path.split("/").slice(1).entries()) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    const inList = Array.isArray(value) && /^(0|[1-9]\d*)$/.test(name) && Number(name) < value.length;
    if (!inList && !(isObject(value) && Object.hasOwn(value, name)))
      throw new RangeError("the path leads nowhere");
    value = value[name];
    if (!depth && isObject(value) && "$blob" in value) value = content(value);
  }
  return value;
}

function plainly(value) { // the number of a tagged one; a BigInt, if it is an integer
  const said = numberTold(value);
  if (said === undefined) return Number.isSafeInteger(value) ? BigInt(value) : value;
  if ("$int" in value && said.length <= 300) return BigInt(said);
  return { inf: Infinity, "-inf": -Infinity, nan: NaN }[said] ?? Number(said);
}

const isNumber = (value) => typeof value === "number" || typeof value === "bigint";

function scaled(value) { // in units of 2^-1074, of which every double is a multiple
  if (typeof value === "bigint") return value << 1074n;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0), exponent = (bits >> 52n) & 2047n, low = bits & (2n ** 52n - 1n);
  const size = exponent ? (low | 2n ** 52n) << (exponent - 1n) : low;
  return bits >> 63n ? -size : size;
}

function toDouble(units, power = 1074) { // units * 2^-power, rounded once, a tie to even
  const size = units < 0n ? -units : units, more = BigInt(Math.max(size.toString(2).length - 53, 0));
  let kept = size >> more;
  const rest = size - (kept << more), half = more ? 1n << (more - 1n) : 1n;
  if (rest > half || (rest === half && kept & 1n)) kept += 1n;
  const found = Number(kept) * 2 ** (Number(more) - power);
  return units < 0n ? -found : found;
}

function total(numbers) {
  if (numbers.every((one) => typeof one === "bigint")) return numbers.reduce((sum, one) => sum + one, 0n);
  if (!numbers.every((one) => typeof one === "bigint" || Number.isFinite(one)))
    return numbers.reduce((sum, one) => sum + Number(one), 0);
  return toDouble(numbers.reduce((sum, one) => sum + scaled(one), 0n));
}

function mean(numbers) {
  const sum = total(numbers), count = BigInt(numbers.length);
  if (typeof sum === "number") return sum / numbers.length;
  if (Number.isSafeInteger(Number(sum))) return Number(sum) / numbers.length;
  const size = (sum < 0n ? -sum : sum) << 1074n, units = (size / count << 1n) | (size % count ? 1n : 0n);
  return toDouble(sum < 0n ? -units : units, 1075);
}

function tagged(number) {
  if (typeof number === "bigint") {
    const safe = number > -(2n ** 53n) && number < 2n ** 53n;
    return safe ? Number(number) : { $int: String(number) };
  }
  if (!Number.isFinite(number))
    return { $float: Number.isNaN(number) ? "nan" : number > 0 ? "inf" : "-inf" };
  return Math.abs(number) < 2 ** 53 ? number + 0 : { $float: number.toExponential() };
}

const OF_RULE = { count: SELECTING, sum: [...SELECTING, "path"], mean: [...SELECTING, "path"],
  change: [...SELECTING, "path", "of"], minus: ["path", "of"], runs: ["of"], checkpoint: ["of"],
  withheld: ["of"], zero: [], one: [] };
const OF_RUN = ["count", "sum", "mean", "change"]; // of the bundle's own run, which is all here

class Computed {
  count = 0; numbers = []; named = new Map(); runs = new Set(); lacking = "";

  constructor(marks, run) {
    this.marks = marks;
    const own = [...marks.keys()].filter((name) => name.startsWith("data-")
      && !["data-rule", "data-value"].includes(name)).map((name) => name.slice(5));
    const rule = marks.get("data-rule"), about = Object.hasOwn(OF_RULE, rule) ? OF_RULE[rule] : [];
    const whole = !OF_RUN.includes(rule) || marks.get("data-run") === run;
    require(whole && own.every((name) => about.includes(name)), REPORT, "it names what the rule does not");
    const names = { minus: 1, change: 2 }[marks.get("data-rule")];
    this.events = names ? (marks.get("data-of") ?? "").split(",", 3) : [];
    require(!names || this.events.length === names, REPORT, "it names other events");
    this.keys = marks.get("data-rule") === "runs" ? JSON.parse(marks.get("data-of") ?? "") : [];
    const good = Array.isArray(this.keys) && this.keys.every((one) => typeof one === "string");
    require(good && (this.keys.length || marks.get("data-rule") !== "runs"), REPORT, "odd series");
  }

  take({ chain, data }, content) {
    const rule = this.marks.get("data-rule"), series = chain.series ?? {};
    if (rule === "runs") {
      const inside = this.keys.some((key) => Object.hasOwn(series, key));
      if (chain.run !== undefined && inside) this.runs.add(chain.run);
      return;
    }
    const seq = String(chain.seq);
    if (["change", "minus"].includes(rule) && this.events.includes(seq))
      for (const one of this.numberOf(data, content)) this.named.set(seq, one);
    if (rule === "minus") return;
    for (const name of SELECTING) {
      const wanted = this.marks.get(`data-${name}`), own = chain[name];
      if (wanted === undefined) continue;
      const inside = name === "scope" && `${own ?? ""}/`.startsWith(`${wanted}/`);
      if (!(own === wanted || inside || (name === "series" && Object.hasOwn(series, wanted)))) return;
    }
    this.count += 1;
    if (["sum", "mean", "change"].includes(rule)) this.numbers.push(...this.numberOf(data, content));
  }

  numberOf(data, content) { // none, if the path leads to none
    if (this.lacking) return [];
    try {
      const value = plainly(follow(data, this.marks.get("data-path") ?? "/", content));
      return isNumber(value) ? [value] : [];
    } catch (error) {
      if (error instanceof Lacking) this.lacking = error.message;
      this.spoiled ||= error instanceof OddContent;
      return [];
    }
  }

  value(over, withheld) {
    const rule = this.marks.get("data-rule"), of = this.marks.get("data-of");
    if (rule === "checkpoint" && of === "size") {
      if (over.size >= 2n ** 53n) throw new RangeError("no JSON has such an integer");
      return Number(over.size);
    }
    if (rule === "checkpoint" && of === "root") return hex(over.root);
    if (rule === "withheld" && of === "events") return withheld.events.length;
    if (rule === "withheld" && of === "blobs") return withheld.blobs.size;
    if (Object.hasOwn(CONSTANTS, rule)) return CONSTANTS[rule];
    if (rule === "runs") return this.runs.size;
    if (rule === "count") return this.count;
    if (this.spoiled) throw new RangeError("a content that it needs is not canonical JSON");
    if (rule === "sum") return tagged(total(this.numbers));
    if (rule === "mean" && this.numbers.length) return tagged(mean(this.numbers));
    const named = this.events.filter((one) => this.named.has(one)).map((one) => this.named.get(one));
    if (rule === "minus" && named.length === 1) return tagged(-named[0]);
    if (rule === "change" && named.length === 2 && this.numbers.length) {
      const [first, second, middle] = [...named, mean(this.numbers)].map(Number);
      if ([first, second, middle].every(Number.isFinite) && middle !== 0)
        return tagged(100 * (first - second) / Math.abs(middle));
    }
    throw new RangeError("no such rule, or nothing to apply it to");
  }
}

class Comparison {
  events = new Map(); computed = new Map(); figures = new Map(); compared = 0;
  ends = new Map(); twins = new Set();

  constructor(files, run, others, over) {
    Object.assign(this, { files, run, others, over });
    this.content = (reference) => this.blob(reference);
  }

  blob({ $blob: tag, size, media = "application/json" }) {
    if (size > LARGEST) throw new Lacking(TOO_LARGE);
    const data = this.files.get(`blobs/${tag.replace(":", "-")}`)?.subarray(32);
    if (data === undefined) throw new Lacking(tag);
    if (media === "" || media.startsWith("application/json")) {
      const value = canonicalValue(data);
      if (value === undefined) throw new OddContent("not canonical JSON");
      return value;
    }
    if (media.startsWith("text/"))
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(data);
    return { $bytes: base64(data) };
  }

  state(tag) {
    if (tag === TOO_LARGE) return tag;
    if (this.run.erased.has(tag)) return ERASED;
    return this.run.withheld.blobs.has(tag) ? "withheld" : ABSENT;
  }

  sort(one) {
    const { marks } = one, what = "it does not cite as a report does";
    const beside = one.drawn === undefined ? ["value", "title"] : ["data-value"];
    const named = [...marks.keys()].filter((name) => !beside.includes(name));
    const constant = Object.hasOwn(CONSTANTS, marks.get("data-rule") ?? "");
    const fits = one.drawn === undefined || (one.drawn.kind === "full") === constant;
    require(fits, REPORT, "a full line stands for zero or one, and nothing else does");
    require(beside.every((name) => marks.has(name)), REPORT, what);
    require(named.every((name) => name.startsWith("data-") && name !== "data-value"), REPORT, what);
    const pointers = ["data-path", "data-head"].map((name) => marks.get(name) ?? "");
    require(pointers.every(isPointer), REPORT, what);
    const form = marks.get("data-as") ?? "block";
    require(["block", "verdict", "name", "path"].includes(form), REPORT, what);
    const only = (names) => named.every((name) => names.includes(name.slice(5)));
    if (marks.has("data-rule")) {
      const key = referenceOf(marks), computed = new Computed(marks, this.run.id);
      const known = this.computed.get(key) ?? [computed, []];
      known[1].push(one);
      this.computed.set(key, known);
      require(this.computed.size <= 1000, REPORT, "too many values of many events");
    } else {
      const event = marks.get("data-event") ?? "";
      const good = /^(0|[1-9][0-9]{0,17})$/.test(event) && only(["event", "path", "head", "as"]);
      require(good && !(marks.has("data-path") && marks.has("data-head")), REPORT, what);
      const verdict = form !== "verdict" || marks.get("data-path") === "/passed";
      require(verdict, REPORT, "it shows as a verdict what is none");
      if (!this.events.has(Number(event))) this.events.set(Number(event), []);
      this.events.get(Number(event)).push(one);
    }
  }

  async take(event, ledger) {
    const contents = new Map(), told = new Map(); // each is read and spelled once
    this.content = (reference) => {
      const key = `${reference.$blob} ${reference.media ?? ""}`;
      if (!contents.has(key)) contents.set(key, this.blob(reference));
      return contents.get(key);
    };
    for (const one of this.events.get(event.seq) ?? []) {
      const key = `${one.marks.get("data-as") ?? ""} ${referenceOf(one.marks)}`;
      try {
        if (!told.has(key)) {
          const value = this.value(one.marks, event, ledger);
          told.set(key, [value, ...await this.spelledAs(one, value)]);
        }
      } catch (error) {
        require(error instanceof Lacking, REPORT, `${referenceOf(one.marks)} leads nowhere`);
        this.judge(one, this.state(error.message));
        continue;
      }
      this.judgeValue(one, ...told.get(key));
    }
    this.events.delete(event.seq);
    for (const [one] of this.computed.values()) one.take(event, this.content);
  }

  value(marks, event, ledger) {
    const form = marks.get("data-as"), path = marks.get("data-head") ?? marks.get("data-path") ?? "";
    let value;
    if (marks.has("data-head")) {
      const { chain, leaf, signer } = event;
      const series = Object.entries(chain.series ?? {}).map(([key, one]) => [key, one.count]);
      const head = { hash: hex(leaf), key: signer, ledger, series: Object.fromEntries(series) };
      for (const name of ["actor", "run", "scope", "seq", "tenant", "time", "type"])
        head[name] = chain[name] ?? null;
      value = follow(head, path, this.content);
    } else if (form === "path" && path.split("/").length === 2 && !path.includes("~")) {
      if (path[0] !== "/" || !Object.hasOwn(event.data, path.slice(1))) throw new RangeError("nowhere");
      return path.slice(1); // a name is shown, whether its content is here or not
    } else {
      value = follow(event.data, path, this.content);
    }
    if (form === "name") return path.split("/").at(-1).replaceAll("~1", "/").replaceAll("~0", "~");
    return form === "path" ? path.slice(1) : value;
  }

  async spelledAs({ marks }, value) {
    const form = marks.get("data-as") ?? "line";
    return [await valued(value), shownAs(value, form, marks.get("data-event"))];
  }

  async compare(one, value) { this.judgeValue(one, value, ...await this.spelledAs(one, value)); }

  judgeValue(one, value, stated, said) {
    const { figure, log, drawn, isEnd, twin } = one;
    this.judge(one, stated, said);
    if (isEnd) {
      const [number] = numbersShown(value, "dot", false);
      this.ends.set(one, number);
    }
    if (drawn === undefined) return;
    const numbers = numbersShown(value, drawn.kind, log);
    require(numbers.length === drawn.places.length, REPORT, "a mark without a number");
    require(!this.twins.has(twin), REPORT, "the same mark is drawn twice");
    this.twins.add(twin);
    if (!this.figures.has(figure)) this.figures.set(figure, []);
    this.figures.get(figure).push({ numbers, log, places: drawn.places.map(Number) });
  }

  judge({ marks, text: own, drawn }, value, said = value) {
    const where = `${REPORT}, ${referenceOf(marks)}`;
    const told = marks.get(drawn === undefined ? "value" : "data-value");
    require(told === value, where, `the record has ${value.slice(0, 80)}`);
    require(own === said, where, `the record is shown as ${said.slice(0, 80)}`);
    const cites = drawn !== undefined || marks.get("title") === referenceOf(marks);
    require(cites, where, "its title is not its citation");
    const missing = [ERASED, "withheld", ABSENT, TOO_LARGE].includes(value);
    require(drawn === undefined || !missing, where, "a mark without a number");
    this.compared += 1;
  }

  async finish() {
    const hidden = this.run.withheld.events.map((one) => one.seq);
    for (const [seq, cited] of this.events) {
      require(hidden.includes(seq), REPORT, `event ${seq} is not here`);
      for (const one of cited) this.judge(one, "withheld");
    }
    for (const [computed, cited] of this.computed.values()) {
      for (const one of cited) {
        const known = computed.keys.every((key) => this.others.shown.includes(key));
        if (computed.lacking) this.judge(one, this.state(computed.lacking));
        else if (!known) this.judge(one, ABSENT);
        else await this.compare(one, computed.value(this.over, this.run.withheld));
      }
    }
    const kept = this.run.withheld.events.length + this.run.withheld.blobs.size === 0;
    const said = ["blobs", "events"].every((one) => this.computed.has(`withheld?of=${one}`));
    require(kept || said, REPORT, "it does not say how much is withheld");
    this.run.marks.check(this.run.id, this.cited);
    const beside = new Map();
    for (const one of this.cited.filter(({ isEnd }) => isEnd))
      beside.set(one.figure, [...beside.get(one.figure) ?? [], this.ends.get(one)]);
    for (const [figure, ends] of beside) {
      const every = (this.figures.get(figure) ?? []).flatMap(({ numbers }) => numbers);
      const least = every.reduce((one, other) => Math.min(one, other), Infinity);
      const most = every.reduce((one, other) => Math.max(one, other), -Infinity);
      const good = ends.length === 2 && ends[0] === least && ends[1] === most;
      require(good, REPORT, "the ends of a scale are not its numbers");
    }
    for (const all of this.figures.values()) {
      const on = all[0].log ? Math.log10 : (one) => one;
      const every = all.flatMap(({ numbers }) => numbers).map(on);
      const low = every.reduce((one, other) => Math.min(one, other));
      const high = every.reduce((one, other) => Math.max(one, other));
      for (const { numbers, places } of all) {
        for (const [at, number] of numbers.entries()) {
          const share = high <= low ? 0.5 : (on(number) - low) / (high - low);
          const good = Math.abs(places[at] - 8 - share * 344) <= 0.0501;
          require(good, REPORT, "a mark is not where its number belongs");
        }
      }
    }
  }
}

async function checkReport(files, run, others, keys, over) {
  const page = await readReport(text(files.get(REPORT)));
  const comparison = new Comparison(files, run, others, over);
  const about = page.run === run.id && page.size === over.size;
  require(about, REPORT, `it is not about ${run.id} in the first ${over.size} events`);
  comparison.cited = page.cited;
  for (const one of page.cited) comparison.sort(one);
  for (const event of others.all) await comparison.take(event, keys.ledger);
  await comparison.finish();
  const { compared } = comparison;
  require(compared > 0 && compared === page.cited.length, REPORT, "not every value was compared");
  if (!page.known)
    throw new Unchecked(`${REPORT}: its style sheet is not known here; a later muniment may have it`);
  return `${compared} values of the report`;
}

/** How values are spelled, for tests that compare it with the other verifiers. */
export const spellings = { visible, hasOtherCharacters, sixDigits, numberTold, sum: (all) => tagged(total(all.map(plainly))),
  mean: (all) => tagged(mean(all.map(plainly))) };

// -- the closing event, and what follows from keys ---------------------------------------------------

async function checkClosing(files, run, keys, last, over) {
  const bundle = parse(files.get(CLOSING).subarray(0, -1), CLOSING);
  const [told] = bundle.verificationMaterial.tlogEntries;
  const event = await readEvent(canonical(bundle.dsseEnvelope), keys, CLOSING);
  require(event.kind === "bundle.closed", CLOSING, "not a closing event");
  require(event.run === undefined, CLOSING, "it is in a run");
  checkNext(last, event);
  const names = ["manifest", "run", ..."series" in event.data ? ["series"] : []];
  require(hasExactly(event.data, names), CLOSING, "other members");
  const manifest = `sha256:${hex(await sha256(files.get("MANIFEST")))}`;
  require(event.data.manifest === manifest, "MANIFEST", "not what was signed");
  require(event.data.run === run.id, CLOSING, "it closes another run");
  const about = [];
  for (const name of HANDED_OVER.filter((one) => files.has(one)))
    about.push({ digest: { sha256: hex(await sha256(files.get(name))) }, name });
  require(spelled(event.subject) === spelled(about), CLOSING, "not about these files");
  const head = await headIn(files, "closing.checkpoint", keys);
  const { hashes } = told.inclusionProof, index = String(event.seq);
  await checkProof(head, event, hashes, CLOSING);
  const proof = { checkpoint: { envelope: text(head.note) }, hashes, logIndex: index,
    rootHash: base64(head.root), treeSize: String(head.size) };
  const entry = { canonicalizedBody: base64(event.entry), inclusionProof: proof,
    integratedTime: "0", kindVersion: { kind: "hashedrekord", version: "0.0.2" },
    logId: { keyId: base64(head.mark) }, logIndex: index };
  const again = { dsseEnvelope: event.envelope,
    mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
    verificationMaterial: { publicKey: { hint: event.signer }, tlogEntries: [entry] } };
  const same = equal(joined(canonical(again), utf8("\n")), files.get(CLOSING));
  require(same, CLOSING, "not what event, proof and closing.checkpoint give");
  await within("consistency", () => checkConsistency(files.get("consistency"), over, head));
  return [event, head];
}

async function checkConsistency(data, over, head) {
  const file = "consistency", told = text(data.subarray(0, data.length - head.note.length));
  const hashes = told.split("\n").slice(1).filter(Boolean).map((one) => unbase64(one, 32, file));
  const again = `old ${over.size}\n${hashes.map((one) => `${base64(one)}\n`).join("")}\n`;
  require(equal(joined(utf8(again), head.note), data), file, "not in its one form");
  require(over.size > 0n && over.size <= head.size, file, "it leads backwards");
  const proof = [...hashes], [first, second] = await grow(over.size, head.size, proof, over.root);
  const good = equal(first, over.root) && equal(second, head.root) && proof.length === 0;
  require(good, file, "it leads to another tree head");
}

function checkGiven(files, raw, head) {
  const log = { baseUrl: `https://${head.origin}`, hashAlgorithm: "SHA2_256",
    logId: { keyId: base64(head.mark) },
    publicKey: { keyDetails: "PKIX_ED25519", rawBytes: base64(spki(head.log)),
      validFor: { start: "2020-01-01T00:00:00Z" } } };
  const root = { certificateAuthorities: [], ctlogs: [],
    mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
    timestampAuthorities: [], tlogs: [log] };
  const pem = base64(spki(raw));
  const given = {
    "ledger.pub": `-----BEGIN PUBLIC KEY-----\n${pem}\n-----END PUBLIC KEY-----\n`,
    "ledger.vkey": `${head.vkey}\n`,
    "policy": `log ${head.vkey}\nquorum none\n`,
    "trusted_root.json": `${spelled(root)}\n`,
  };
  for (const name of GIVEN)
    require(equal(files.get(name), utf8(given[name])), name, "not what the keys give");
}

async function checkProofs(files, events, over) {
  const proofs = lines(files.get(PROOFS), PROOFS);
  require(proofs.length === events.length, PROOFS, "not one for each event");
  for (const [at, line] of proofs.entries()) {
    const told = parse(line, PROOFS);
    const good = hasExactly(told, ["hashes", "seq"]) && told.seq === events[at].seq;
    require(good, PROOFS, `not a proof of event ${events[at].seq}`);
    await checkProof(over, events[at], told.hashes, PROOFS);
  }
}

async function checkBundle(files, run, keys, closed) {
  const over = await headIn(files, "checkpoint", keys);
  const beside = files.has(RELATED) ? RELATED : EVENTS;
  const related = await within(beside, () => RelatedRuns.read(files, keys, run));
  const others = await within(files.has(SERIES) ? SERIES : beside,
    () => OtherRuns.read(files, keys, run, related.events));
  const events = [...run.events, ...related.events, ...others.events, ...run.withheld.events];
  await within(PROOFS, () => checkProofs(files, events, over));
  let head = over, signer = run.events.findLast((one) => one.run !== undefined);
  if (closed) {
    [signer, head] = await within(CLOSING,
      () => checkClosing(files, run, keys, others.all.at(-1), over));
    await within(CLOSING, () => others.compare(signer, run));
    await within(VIEW, () => run.view.check(files.get(VIEW), run.withheld));
    if (files.has(REPORT))
      others.said.push(await within(REPORT, () => checkReport(files, run, others, keys, over)));
  }
  checkGiven(files, signer.raw, head);
  const { events: hidden, blobs } = run.withheld;
  return [
    `run ${run.id}: ${run.own.leaves.length} events`,
    run.own.complete ? "its end covers them all" : "the run is OPEN",
    closed ? `closed by event ${signer.seq}` : "raw, without views",
    ...hidden.length + blobs.size
      ? [`WITHHELD, so not checked: ${hidden.length} events and ${blobs.size} blobs`] : [],
    ...run.marks.said(),
    ...others.said,
    ...related.said(run.kin),
  ].join("; ");
}

// -- the whole ------------------------------------------------------------------------------------

/**
 * Verify a bundle.
 * @param {Map<string, Uint8Array>} files name → content
 * @param {{root?: string}} given the fingerprint of the ledger's root, from its keeper
 * @returns {Promise<string>} what was found; throws Wrong, or Unchecked
 */
export async function verify(files, { root } = {}) {
  if (root && !FINGERPRINT.test(root)) throw new Unchecked(`${root} is not a whole fingerprint`);
  let said, keys;
  try {
    const closed = await within("MANIFEST", () => checkManifest(files));
    keys = new Keys();
    const run = await within(EVENTS, () => Run.read(files, keys));
    said = await checkBundle(files, run, keys, closed);
  } catch (error) {
    if (error instanceof Wrong || error instanceof Unchecked) throw error;
    throw new Wrong(`the bundle: of another form (${error.name})`);
  }
  const known = root ? keys.byId.get(root) : undefined;
  require(known || !root, "keys", `${root} is not a key of this ledger`);
  if (!known?.roles.includes("root"))
    throw new Unchecked("self-asserted: nobody vouched for a root of this ledger");
  return said;
}

/** Verify, and return [exit code, one line]. */
export async function judged(files, root) {
  try {
    return [0, `intact. ${await verify(await files(), { root })}`];
  } catch (error) {
    const code = error instanceof Wrong ? 1 : 3;
    return [code, `${code === 1 ? "WRONG" : "cannot tell"}. ${error.message}`];
  }
}

// -- for Node -------------------------------------------------------------------------------------

const TELLING = ["MANIFEST", "events.intoto.jsonl", "proofs.jsonl", "evidence.sigstore.json"];

// Names in a directory are bytes, and need not be UTF-8: places are bytes, too.
async function fromDisk(path) {
  const fs = await import("node:fs");
  const content = (place, name, known) => {
    require(known.isFile(), name, "not a file");
    if (known.size >= 2 ** 31) throw new Unchecked(`${name}: too large for this verifier`);
    return new Uint8Array(fs.readFileSync(place));
  };
  const below = (place, name) => Buffer.concat([place, Buffer.from("/"), name]);
  const inside = (place) => fs.readdirSync(place, { encoding: "buffer" }).sort(Buffer.compare);
  if (!fs.existsSync(path)) throw new Unchecked(`${path}: there is nothing`);
  const known = fs.statSync(path), whole = Buffer.from(path);
  if (!known.isDirectory()) {
    const start = Buffer.alloc(2), name = path.split("/").at(-1), none = "neither a directory nor a zip file";
    if (!known.isFile()) throw new Unchecked(`${path}: ${none}`);
    const file = fs.openSync(path);
    fs.readSync(file, start, 0, 2, 0);
    fs.closeSync(file);
    if (!/.\.zip$/i.test(name) && start.toString() !== "PK") throw new Unchecked(`${path}: ${none}`);
    return unzip(content(path, name, known), name);
  }
  const files = new Map(), names = inside(whole), places = new Map();
  if (!names.some((name) => TELLING.includes(name.toString())))
    throw new Unchecked(`${path}: nothing of a bundle is in there`);
  for (const bytes of names) {
    const place = below(whole, bytes), name = bytes.toString();
    if (name !== "blobs" || !fs.lstatSync(place).isDirectory()) { places.set(name, place); continue; }
    const blobs = inside(place);
    require(blobs.length, name, "an empty folder");
    for (const one of blobs) places.set(`blobs/${one}`, below(place, one));
  }
  for (const [name, place] of places) {
    const known = fs.lstatSync(place);
    checkFile(name, known.size, places.size);
    files.set(name, content(place, name, known));
  }
  return files;
}

const plain = (said) => said.replace(/[^\x20-\x7e]/g, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);

async function main([bundle, ...rest]) {
  if (!bundle || (rest.length && (rest[0] !== "--key" || rest.length !== 2))) {
    console.error("usage: node verify_evidence.mjs BUNDLE [--key SHA256:…]");
    return 2;
  }
  if (bundle !== "-") { // one bundle
    const [code, said] = await judged(() => fromDisk(bundle), rest[1]);
    console.log(plain(said));
    return code;
  }
  const { createInterface } = await import("node:readline"); // a path on each line
  for await (const path of createInterface({ input: process.stdin })) {
    const [code, said] = await judged(() => fromDisk(path), rest[1]);
    console.log(JSON.stringify([code, plain(said)]));
  }
  return 0;
}

// Whether node was started with this file, whatever it is called, and not one that imports it.
async function isProgram() {
  if (!globalThis.process?.versions?.node) return false;
  if (/\[(eval|stdin)\d*\]$/.test(import.meta.url)) return true; // it came by a pipe
  const fs = await import("node:fs"), { fileURLToPath } = await import("node:url");
  const own = fs.realpathSync(fileURLToPath(import.meta.url)), started = process.argv[1];
  return Boolean(started) && fs.existsSync(started) && fs.realpathSync(started) === own;
}

if (await isProgram()) process.exitCode = await main(process.argv.slice(2));
