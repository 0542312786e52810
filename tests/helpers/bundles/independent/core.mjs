// Part of an independent verifier of evidence bundles: a witness for the tests. It was written from
// docs/spec by somebody who had not read the code. It is kept apart: it shares nothing with the other
// verifiers, and changes where the specification does, or where it fell short of that.
// Bytes, canonical JSON, keys, envelopes, the tree and checkpoints: canonical.md, checkpoint.md.

export class Wrong extends Error {
  constructor(rule, file = '', seq = null) {
    super(rule);
    Object.assign(this, { rule, file, seq });
  }
}
export class Unknown extends Error {}
export const must = (ok, rule) => { if (!ok) throw new Wrong(rule); };

/** Run `fn`; a fault in it that names no file yet is one of `file` (and of event `seq`). */
export function within(file, seq, fn) {
  const name = error => {
    if (error instanceof Wrong) { error.file ||= file; error.seq ??= seq; }
    throw error;
  };
  try {
    const value = fn();
    return value instanceof Promise ? value.catch(name) : value;
  } catch (error) { return name(error); }
}

// Bytes ---------------------------------------------------------------------------------------

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
export const bytes = text => new TextEncoder().encode(text);
export const text = data => {
  try { return utf8.decode(data); } catch { throw new Wrong('text/utf-8'); }
};
export const hex = data => Array.from(data, b => b.toString(16).padStart(2, '0')).join('');
export const unhex = digits => Uint8Array.from(digits.match(/../g) ?? [], d => parseInt(d, 16));
export const equal = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);
export function concat(...parts) {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const part of parts) { out.set(part, at); at += part.length; }
  return out;
}
export function base64(data) {
  let s = '';
  for (let i = 0; i < data.length; i += 8192) {
    s += String.fromCharCode(...data.subarray(i, i + 8192));
  }
  return btoa(s);
}
export function unbase64(string) {
  must(typeof string === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(string), 'base64');
  let s;
  try { s = atob(string); } catch { throw new Wrong('base64'); }
  must(btoa(s) === string, 'base64');
  return Uint8Array.from(s, c => c.charCodeAt(0));
}
const digest = async (name, data) => new Uint8Array(await crypto.subtle.digest(name, data));
export const sha256 = data => digest('SHA-256', data);
export const tag = async data => `sha256:${hex(await sha256(data))}`;
export const isTag = x => typeof x === 'string' && /^sha256:[0-9a-f]{64}$/.test(x);
export const isHex = x => typeof x === 'string' && /^[0-9a-f]{64}$/.test(x);

// Canonical JSON ------------------------------------------------------------------------------

export const isObject = x => typeof x === 'object' && x !== null && !Array.isArray(x);
export const isText = x => typeof x === 'string';
export const isInt = (x, least = -Infinity) => Number.isSafeInteger(x) && x >= least;
export const byUnits = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

export function canonical(value, depth = 0) {
  must(depth <= 64 || typeof value !== 'object' || value === null, 'json/depth');
  if (typeof value === 'string') must(value.isWellFormed(), 'json/surrogate');
  if (typeof value === 'number') {
    const digits = JSON.stringify(value);
    must(Number.isFinite(value) && (isInt(value) || /[.e]/.test(digits)), 'json/number');
    return digits;
  }
  if (Array.isArray(value)) return `[${value.map(v => canonical(v, depth + 1)).join()}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value).sort(byUnits);
  return `{${members.map(k => `${canonical(k)}:${canonical(value[k], depth + 1)}`).join()}}`;
}
export function parse(data) {
  const string = text(data);
  let value;
  try { value = JSON.parse(string); } catch { throw new Wrong('json/syntax'); }
  must(canonical(value) === string, 'json/canonical');
  return value;
}
/** Require an object with all the members `needed` (a list) and maybe some of `optional`. */
export function exact(value, needed, optional = [], rule = 'json/members') {
  must(isObject(value), rule);
  must(needed.every(k => Object.hasOwn(value, k)), rule);
  must(Object.keys(value).every(k => needed.includes(k) || optional.includes(k)), rule);
  return value;
}
export const same = (a, b) => canonical(a ?? null) === canonical(b ?? null);
export const lines = (data, rule) => {
  must(data.length && data.at(-1) === 10, rule);
  const out = [];
  for (let at = 0, end; at < data.length; at = end + 1) {
    out.push(data.subarray(at, end = data.indexOf(10, at)));
  }
  return out;
};

// Keys and signatures -------------------------------------------------------------------------

const ED = { p: 2n ** 255n - 19n, low: [0n, 1n, 2n ** 255n - 20n,
  0x7ac02a79c7fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n] };
const P = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
const B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;
const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const big = data => BigInt(`0x${hex(data) || '0'}`);

export async function publicKey(raw) {
  const ed = raw.length === 32;
  if (ed) {
    const y = big(Uint8Array.from(raw).reverse()) & (2n ** 255n - 1n);
    must(y < ED.p && !ED.low.includes(y), 'key/point');
  } else {
    const [x, y] = [big(raw.subarray(1, 33)), big(raw.subarray(33))];
    must(raw.length === 65 && raw[0] === 4, 'key/encoding');
    must(x < P && y < P && (y * y - x * x * x + 3n * x - B) % P === 0n, 'key/point');
  }
  const field = data => concat(Uint8Array.of(0, 0, 0, data.length), data);
  const names = ed ? ['ssh-ed25519'] : ['ecdsa-sha2-nistp256', 'nistp256'];
  const ssh = concat(...names.map(n => field(bytes(n))), field(raw));
  const id = `SHA256:${base64(await sha256(ssh)).replace(/=+$/, '')}`;
  const spki = concat(unhex(ed ? '302a300506032b6570032100'
    : '3059301306072a8648ce3d020106082a8648ce3d030107034200'), raw);
  const how = ed ? { name: 'Ed25519' } : { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  let key = null;  // of a point that is none
  try { key = await crypto.subtle.importKey('raw', raw, how, false, ['verify']); } catch {}
  return { id, raw, ed, spki, how, key };
}
function fromDer(der) {  // r and s of an ECDSA signature, 32 bytes each
  must(der.length >= 8 && der[0] === 0x30 && der[1] === der.length - 2, 'dsse/signature');
  const out = new Uint8Array(64);
  let at = 2;
  for (const end of [32, 64]) {
    const n = der[at + 1];
    const number = der.subarray(at + 2, at + 2 + n);
    must(der[at] === 2 && n > 0 && number.length === n && number[0] < 0x80, 'dsse/signature');
    must(number[0] || number[1] >= 0x80, 'dsse/signature');
    const value = big(number);
    must(value > 0n && value < N && (end === 32 || value <= (N - 1n) / 2n), 'dsse/signature');
    const short = number.subarray(number[0] ? 0 : 1);
    out.set(short, end - short.length);
    at += 2 + n;
  }
  must(at === der.length, 'dsse/signature');
  return out;
}
export async function signed(key, message, signature) {
  must(key.key && (!key.ed || signature.length === 64), 'dsse/signature');
  const sig = key.ed ? signature : fromDer(signature);
  must(await crypto.subtle.verify(key.how, key.key, sig, message), 'dsse/signature');
}

// Envelopes, entries, the tree ----------------------------------------------------------------

const TYPE = 'application/vnd.in-toto+json';
const pae = (type, payload) =>
  concat(bytes(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload);
export function envelope(value, type = TYPE) {
  exact(value, ['payload', 'payloadType', 'signatures'], [], 'dsse/members');
  must(value.payloadType === type, 'dsse/type');
  must(Array.isArray(value.signatures) && value.signatures.length === 1, 'dsse/signatures');
  const [{ keyid, sig }] = [exact(value.signatures[0], ['keyid', 'sig'], [], 'dsse/members')];
  const payload = unbase64(value.payload);
  return { payload, keyid, signature: unbase64(sig), signedBytes: pae(type, payload), value };
}
export async function entry(key, { signedBytes, signature }) {
  const hash = key.ed ? 'SHA-512' : 'SHA-256';
  const keyDetails = key.ed ? 'PKIX_ED25519_PH' : 'PKIX_ECDSA_P256_SHA_256';
  return canonical({ apiVersion: '0.0.2', kind: 'hashedrekord', spec: { hashedRekordV002: {
    data: { algorithm: key.ed ? 'SHA2_512' : 'SHA2_256',
      digest: base64(await digest(hash, signedBytes)) },
    signature: { content: base64(signature),
      verifier: { keyDetails, publicKey: { rawBytes: base64(key.spki) } } } } } });
}
const node = (left, right) => sha256(concat(Uint8Array.of(1), left, right));
export async function treeRoot(leaves) {
  if (!leaves.length) return sha256(new Uint8Array());
  while (leaves.length > 1) {
    const above = [];
    for (let i = 0; i < leaves.length; i += 2) {
      above.push(i + 1 < leaves.length ? await node(leaves[i], leaves[i + 1]) : leaves[i]);
    }
    leaves = above;
  }
  return leaves[0];
}
export const hashes = list => {
  must(Array.isArray(list) && list.length <= 63, 'proof/hashes');
  return list.map(unbase64).map(h => (must(h.length === 32, 'proof/hashes'), h));
};
export async function included(leaf, index, { size, root }, proof) {  // RFC 9162, 2.1.3.2
  must(index < size, 'proof/index');
  let [fn, sn, r] = [BigInt(index), BigInt(size) - 1n, leaf];
  for (const p of proof) {
    must(sn > 0n, 'proof/inclusion');
    const left = (fn & 1n) === 1n || fn === sn;
    r = left ? await node(p, r) : await node(r, p);
    if (left) while (!(fn & 1n) && fn) { fn >>= 1n; sn >>= 1n; }
    fn >>= 1n; sn >>= 1n;
  }
  must(sn === 0n && equal(r, root), 'proof/inclusion');
}
export async function consistent(first, second, proof) {  // RFC 9162, 2.1.4.2
  const rule = 'consistency/proof';
  must(first.size <= second.size, rule);
  if (first.size === second.size || first.size === 0) {
    return must(!proof.length && (first.size === 0 || equal(first.root, second.root)), rule);
  }
  must(proof.length, rule);
  let [fn, sn] = [BigInt(first.size) - 1n, BigInt(second.size) - 1n];
  while (fn & 1n) { fn >>= 1n; sn >>= 1n; }
  const path = fn === 0n ? [first.root, ...proof] : proof;
  let [fr, sr] = [path[0], path[0]];
  for (const c of path.slice(1)) {
    must(sn > 0n, rule);
    if ((fn & 1n) || fn === sn) {
      fr = await node(c, fr);
      sr = await node(c, sr);
      while (!(fn & 1n) && fn) { fn >>= 1n; sn >>= 1n; }
    } else sr = await node(sr, c);
    fn >>= 1n; sn >>= 1n;
  }
  must(sn === 0n && equal(fr, first.root) && equal(sr, second.root), rule);
}

// Checkpoints ---------------------------------------------------------------------------------

export async function checkpoint(data, ledger) {
  must(data.length <= 1e6, 'note/size');
  const note = text(data);
  must(!/[\x00-\x09\x0b-\x1f]/.test(note) && note.endsWith('\n'), 'note/text');
  const match = /^([^\n]*)\n(0|[1-9][0-9]*)\n([^\n]*)\n\n((?:[^\n]*\n)+)$/.exec(note);
  must(match, 'note/shape');
  const [, origin, digits, rootText, block] = match;
  must(origin === ledger.origin, 'checkpoint/origin');
  const [size, root] = [Number(digits), unbase64(rootText)];
  must(isInt(size) && root.length === 32, 'checkpoint/shape');
  must(size || equal(root, await treeRoot([])), 'checkpoint/empty');
  const signatures = block.slice(0, -1).split('\n');
  must(signatures.length === 1, 'checkpoint/signatures');
  const line = /^— ([^ ]+) ([^ ]+)$/.exec(signatures[0]);
  must(line && line[1] === origin, 'note/signature');
  const sig = unbase64(line[2]);
  for (const key of ledger.keys.values()) {
    if (!key.roles.includes('checkpoint') || key.from >= size || key.to < size) continue;
    const log = concat(bytes(`${origin}\n`), Uint8Array.of(1), key.raw);
    const logId = await sha256(log);
    if (sig.length !== 68 || !equal(sig.subarray(0, 4), logId.subarray(0, 4))) continue;
    const body = bytes(`${origin}\n${digits}\n${rootText}\n`);
    await within('', null, () => signed(key, body, sig.subarray(4)));
    const mark = hex(logId.subarray(0, 4));
    const vkey = `${origin}+${mark}+${base64(concat(Uint8Array.of(1), key.raw))}`;
    return { origin, size, root, note, key, logId: base64(logId), vkey };
  }
  throw new Wrong('checkpoint/key');
}
