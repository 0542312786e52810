// Part of an independent verifier of evidence bundles: a witness for the tests. It was written from
// docs/spec by somebody who had not read the code. It is kept apart: it shares nothing with the other
// verifiers, and changes where the specification does, or where it fell short of that.
// An independent verifier of muniment evidence bundles, for Node 20 and browsers (WebCrypto).
//   node verify.mjs BUNDLE --key FINGERPRINT_OR_FILE [--json]
// Exit codes: 0 holds, 1 wrong, 2 usage, 3 could not be checked.
import { Unknown, Wrong, base64, bytes, byUnits, canonical, checkpoint, concat, consistent, entry,
  equal, exact, hashes, hex, included, isInt, isTag, isText, lines, must, parse,
  publicKey, same, sha256, tag, text, unbase64, within } from './core.mjs';
import { Ledger, isKeyEvent, readEvent, references, ENDS } from './ledger.mjs';
import { related } from './related.mjs';
import { report } from './report.mjs';
import { unzip } from './zip.mjs';

const EVENTS = ['events', 'related', 'series'].map(name => `${name}.intoto.jsonl`);
const LISTED = [...EVENTS, 'withheld.jsonl', 'ledger.pub', 'ledger.vkey', 'trusted_root.json',
  'policy', 'report.html', 'run.json', 'bundle.json'];
const CLOSING = ['evidence.sigstore.json', 'closing.checkpoint', 'consistency'];
const ALWAYS = ['MANIFEST', EVENTS[0], 'proofs.jsonl', 'checkpoint', 'ledger.pub', 'ledger.vkey',
  'trusted_root.json', 'policy'];
const BLOB = /^blobs\/sha256-([0-9a-f]{64})$/;

/** Verify a bundle. Throws Wrong or Unknown; returns what holds, and what was not compared. */
export async function verify(files, { root } = {}) {
  const closed = files.has(CLOSING[0]);
  checkNames(files, closed);
  const manifest = await checkManifest(files);
  const read = await readEvents(files);
  const withheld = within('withheld.jsonl', null, () => readWithheld(files));
  const closing = closed ? await readClosing(files, manifest) : null;
  const runId = closing ? closing.event.data.run : onlyRun(read[0]);
  const ledger = new Ledger();
  const all = [...read.flat(), ...withheld.events, ...(closing ? [closing.event] : [])];
  must(new Set(all.map(e => e.seq)).size === all.length, 'bundle/twice');
  for (const e of all.sort((a, b) => a.seq - b.seq)) {
    if (e.held) within('withheld.jsonl', e.seq, () => ledger.hold({ ...e, run: runId }));
    else await ledger.judge(e, e.file !== EVENTS[2]);
  }
  must(!closing || all.at(-1) === closing.event, 'closing/seq');
  const trust = { ledger, files, closing, runId };
  const head = await within('checkpoint', null, () => checkpoint(files.get('checkpoint'), ledger));
  checkMembers(read[0], runId, ledger, closing, head);
  const relation = await related({ ...trust, events: read[1], own: read[0], withheld });
  const tries = await checkSeries(trust, read);
  checkBlobs(files, read, withheld, ledger);
  await checkBlobBytes(files, ledger);
  await checkProofs(files, head, [...read.flat(), ...withheld.events]);
  const log = await checkClosing(trust, head, manifest);
  await checkTrustFiles(trust, head, log);
  const roots = [...ledger.keys.values()].filter(k => k.roles.includes('root')).map(k => k.id);
  within(EVENTS[0], 0, () => must(root === undefined || ledger.keys.has(root), 'root'));
  if (root && !roots.includes(root)) throw new Unknown('the key that is given is no root');
  const counted = files.has('report.html')
    ? await report({ ...trust, head, withheld, read, tries }) : 0;
  const run = ledger.runs.get(runId);
  const whole = run?.covered && run.last.type === run.ended;
  const complete = whole && !relation.incomplete.length;
  return { ok: true, run: runId, ledger: ledger.id, authenticity: root ? 'given' : 'self-asserted',
    completeness: complete ? 'checked' : 'unchecked', incomplete: relation.incomplete,
    events: ledger.events.length, unchecked: withheld.events.length, values: counted,
    series: tries, notes: relation.notes };
}

// Files ---------------------------------------------------------------------------------------

function checkNames(files, closed) {
  const known = [...LISTED, 'MANIFEST', 'proofs.jsonl', 'checkpoint', ...CLOSING];
  for (const name of files.keys()) {
    within(name, null, () => must(known.includes(name) || BLOB.test(name), 'file/unknown'));
  }
  const needed = [...ALWAYS, ...(closed ? [...CLOSING, 'run.json'] : [])];
  for (const name of needed) within(name, null, () => must(files.has(name), 'file/missing'));
  const only = [EVENTS[2], 'withheld.jsonl', 'report.html', 'run.json', 'bundle.json', ...CLOSING];
  for (const name of closed ? [] : only) {
    within(name, null, () => must(!files.has(name), 'file/raw'));
  }
  within(EVENTS[1], null,
    () => must(!files.has(EVENTS[1]) || !files.has('withheld.jsonl'), 'file/redacted'));
}
async function checkManifest(files) {
  const listed = [...files.keys()].filter(n => LISTED.includes(n) || BLOB.test(n)).sort(byUnits);
  let expected = '';
  for (const name of listed) expected += `${hex(await sha256(files.get(name)))}  ${name}\n`;
  return within('MANIFEST', null, () => {
    const found = text(files.get('MANIFEST'));
    const [wrong] = expected.split('\n').filter(line => !found.split('\n').includes(line));
    if (wrong) throw new Wrong('manifest/digest', wrong.slice(66));
    must(found === expected, 'manifest/lines');
    return expected;
  });
}
async function readEvents(files) {
  const read = [];
  for (const name of EVENTS) {
    const events = [];
    await within(name, null, async () => {
      if (!files.has(name)) return;
      for (const line of lines(files.get(name), 'events/lines')) {
        const event = await readEvent(name, parse(line));
        must(!events.length || event.seq > events.at(-1).seq, 'events/order');
        events.push(event);
      }
    });
    read.push(events);
  }
  return read;
}
function readWithheld(files) {
  const found = { events: [], blobs: new Set() };
  if (!files.has('withheld.jsonl')) return found;
  let last = '';
  for (const line of lines(files.get('withheld.jsonl'), 'withheld/lines')) {
    const value = parse(line);
    if (Object.hasOwn(value, 'blob')) {
      exact(value, ['blob'], [], 'withheld/members');
      must(isTag(value.blob) && value.blob > last, 'withheld/blob');
      found.blobs.add(last = value.blob);
      continue;
    }
    const { seq, scope, ordinal } = exact(value, ['seq', 'scope', 'ordinal', 'leaf'], [],
      'withheld/members');
    must(!last && isInt(seq, 0) && seq > (found.events.at(-1)?.seq ?? -1), 'withheld/order');
    must(isText(scope) && isInt(ordinal, 0), 'withheld/place');
    const leaf = unbase64(value.leaf);
    must(leaf.length === 32, 'withheld/leaf');
    found.events.push({ seq, scope, ordinal, leaf, held: true, file: 'withheld.jsonl' });
  }
  return found;
}
function onlyRun(events) {
  const runs = [...new Set(events.map(e => e.run).filter(r => r !== undefined))];
  within(EVENTS[0], null, () => must(runs.length === 1, 'events/run'));
  return runs[0];
}

// What belongs ---------------------------------------------------------------------------------

function checkMembers(events, runId, ledger, closing, head) {
  const own = events.filter(e => e.run === runId);
  within(EVENTS[0], null, () => must(own.length, 'events/run'));
  const blobs = new Set(own.flatMap(e => references(e.data).map(r => r.$blob)));
  for (const e of events) {
    within(e.file, e.seq, () => {
      const answers = e.type === 'decision.given' && e.ask?.event.run === runId;
      const erases = e.type === 'blob.erased' && e.run === undefined
        && e.data.blobs.some(b => blobs.has(b));
      must(e.run === runId || isKeyEvent(e.type) || answers || erases, 'events/foreign');
      must(closing || e.seq < head.size, 'events/size');
    });
  }
}
function checkBlobs(files, read, withheld, ledger) {
  const due = new Set([...read[0], ...read[1]].flatMap(e => references(e.data).map(r => r.$blob)));
  const erased = new Set();
  for (const e of ledger.events.filter(e => e.type === 'blob.erased')) {
    for (const b of e.data.blobs) if (ledger.blobs.get(b)?.seq < e.seq) erased.add(b);
  }
  ledger.erased = erased;
  for (const blob of withheld.blobs) {
    within('withheld.jsonl', null, () => must(due.has(blob) && !erased.has(blob), 'withheld/blob'));
  }
  for (const blob of due) {
    const name = `blobs/sha256-${blob.slice(7)}`;
    within(name, null, () => must(
      files.has(name) === !(erased.has(blob) || withheld.blobs.has(blob)),
      files.has(name) ? 'blob/present' : 'blob/missing'));
  }
  for (const name of files.keys()) {
    const match = BLOB.exec(name);
    if (match) within(name, null, () => must(due.has(`sha256:${match[1]}`), 'blob/unknown'));
  }
}
async function checkBlobBytes(files, ledger) {
  for (const [name, data] of files) {
    const match = BLOB.exec(name);
    if (!match) continue;
    const blob = ledger.blobs.get(`sha256:${match[1]}`);
    await within(name, null, async () => {
      must(hex(await sha256(data)) === match[1], 'blob/digest');
      must(data.length === blob.size + 32, 'blob/size');
    });
  }
}
async function checkSeries({ ledger, closing, runId, files }, [own, others, extra]) {
  const counted = own.filter(e => e.run === runId
    && ['run.started', 'claim.stated'].includes(e.type));
  const wanted = new Set(counted.flatMap(e => Object.keys(e.m.series ?? {})));
  if (!closing) return [];
  const stated = closing.event.data.series ?? [];
  within(CLOSING[0], closing.event.seq, () => {
    must(same(stated.map(s => s.key), [...wanted].sort(byUnits)), 'series/keys');
  });
  const runs = new Set();
  for (const { key, count, shown } of stated) {
    const known = ledger.series.get(key) ?? [];
    within(EVENTS[2], null, () => {
      must(known.every(k => k.count <= count), 'series/count');
      must(!shown || known.length === count, 'series/missing');
    });
    for (const e of ledger.events) if (shown && e.m.series?.[key]) runs.add(e.run);
  }
  within(EVENTS[2], null, () => must(files.has(EVENTS[2]) === extra.length > 0, 'series/file'));
  const shown = stated.filter(s => s.shown).map(s => s.key);
  const life = ['run.started', 'run.resumed', ...ENDS, 'run.marked', 'verdict.reached'];
  for (const e of extra) {
    within(e.file, e.seq, () => {
      const inSeries = shown.some(key => e.m.series?.[key]);
      must(inSeries || (runs.has(e.run) && life.includes(e.type)), 'series/foreign');
      must(e.run !== runId, 'series/run');
    });
  }
  const started = new Set(ledger.events.filter(e => e.type === 'run.started').map(e => e.run));
  for (const run of runs) within(EVENTS[2], null, () => must(started.has(run), 'series/start'));
  return stated.map(s => ({ ...s, runs: new Set(ledger.events.filter(
    e => s.shown && e.m.series?.[s.key]).map(e => e.run)).size }));
}

// Proofs, the closing event, files for other tools ---------------------------------------------

async function checkProofs(files, head, events) {
  await within('proofs.jsonl', null, async () => {
    const proofs = lines(files.get('proofs.jsonl'), 'proofs/lines');
    must(proofs.length === events.length, 'proofs/lines');
    for (const [i, line] of proofs.entries()) {
      const proof = exact(parse(line), ['seq', 'hashes'], [], 'proofs/members');
      const { seq, leaf } = events[i];
      must(proof.seq === seq, 'proofs/seq');
      await within('', seq, () => included(leaf, seq, head, hashes(proof.hashes)));
    }
  });
}
async function readClosing(files, manifest) {
  const file = CLOSING[0];
  return within(file, null, async () => {
    const data = files.get(file);
    must(data.at(-1) === 10, 'sigstore/end');
    const sigstore = parse(data.subarray(0, -1));
    const event = await readEvent(file, sigstore.dsseEnvelope);
    must(event.type === 'bundle.closed' && event.run === undefined, 'closing/type');
    exact(event.data, ['run', 'manifest'], ['series'], 'closing/members');
    must(event.data.manifest === await tag(bytes(manifest)), 'closing/manifest');
    const subjects = [];
    for (const name of ['MANIFEST', EVENTS[0], 'report.html', 'run.json', 'bundle.json']) {
      if (!files.has(name)) continue;
      subjects.push({ name, digest: { sha256: hex(await sha256(files.get(name))) } });
    }
    must(same(event.subjects, subjects), 'closing/subjects');
    const { series } = event.data;
    must(series === undefined || (Array.isArray(series) && series.length), 'closing/series');
    for (const s of series ?? []) {
      exact(s, ['key', 'count', 'shown'], [], 'closing/series');
      must(isText(s.key) && isInt(s.count, 1) && typeof s.shown === 'boolean', 'closing/series');
    }
    return { event, sigstore };
  });
}
async function checkClosing({ ledger, files, closing }, head) {
  if (!closing) return head;
  const file = CLOSING[1];
  const later = await within(file, null, () => checkpoint(files.get(file), ledger));
  const { event, sigstore } = closing;
  await within(CLOSING[2], null, async () => {
    const [proof, ...note] = text(files.get('consistency')).split('\n\n');
    const [old, ...list] = proof.split('\n');
    must(old === `old ${head.size}` && note.join('\n\n') === later.note, 'consistency/shape');
    await consistent(head, later, hashes(list));
  });
  await within(CLOSING[0], event.seq, async () => {
    const proof = sigstore.verificationMaterial?.tlogEntries?.[0]?.inclusionProof?.hashes;
    await included(event.leaf, event.seq, later, hashes(proof));
    const index = String(event.seq);
    must(same(sigstore, {
      mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
      dsseEnvelope: event.sealed.value,
      verificationMaterial: { publicKey: { hint: event.key.id }, tlogEntries: [{
        canonicalizedBody: base64(bytes(await entry(event.key, event.sealed))),
        inclusionProof: { checkpoint: { envelope: later.note }, hashes: proof, logIndex: index,
          rootHash: base64(later.root), treeSize: String(later.size) },
        integratedTime: '0', kindVersion: { kind: 'hashedrekord', version: '0.0.2' },
        logId: { keyId: later.logId }, logIndex: index,
      }] },
    }), 'sigstore/content');
  });
  return later;
}
async function checkTrustFiles({ ledger, files, closing, runId }, head, log) {
  const last = closing?.event ?? ledger.events.filter(e => e.run === runId).at(-1);
  const spki = base64(last.key.spki);  // one line, whatever RFC 7468 says
  const spkiOfLog = concat(Uint8Array.from([48, 42, 48, 5, 6, 3, 43, 101, 112, 3, 33, 0]),
    log.key.raw);
  const written = {
    'ledger.pub': `-----BEGIN PUBLIC KEY-----\n${spki}\n-----END PUBLIC KEY-----\n`,
    'ledger.vkey': `${log.vkey}\n`,
    'policy': `log ${log.vkey}\nquorum none\n`,
    'trusted_root.json': `${canonical({
      mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
      certificateAuthorities: [], ctlogs: [], timestampAuthorities: [], tlogs: [{
        baseUrl: `https://${ledger.origin}`, hashAlgorithm: 'SHA2_256',
        logId: { keyId: log.logId },
        publicKey: { keyDetails: 'PKIX_ED25519', rawBytes: base64(spkiOfLog),
          validFor: { start: '2020-01-01T00:00:00Z' } } }] })}\n`,
  };
  for (const [name, content] of Object.entries(written)) {
    within(name, null, () => must(equal(files.get(name), bytes(content)), 'trust/content'));
  }
}

// The command line -----------------------------------------------------------------------------

export async function fingerprint(key, readFile) {
  if (/^SHA256:[A-Za-z0-9+/]{43}$/.test(key)) return key;
  const content = text(await readFile(key)).trim();
  const ssh = /^(ssh-ed25519|ecdsa-sha2-nistp256) ([A-Za-z0-9+/=]+)/.exec(content);
  if (ssh) return `SHA256:${base64(await sha256(unbase64(ssh[2]))).replace(/=+$/, '')}`;
  const der = unbase64(content.replace(/-----[^-]+-----|\s/g, ''));
  return (await publicKey(der.subarray(der.length === 44 ? 12 : 26))).id;
}
async function load(path, fs) {
  if ((await fs.stat(path)).isFile()) {
    return within(path, null, async () => unzip(new Uint8Array(await fs.readFile(path))));
  }
  const files = new Map();
  for (const name of await fs.readdir(path, { recursive: true })) {
    const info = await fs.lstat(`${path}/${name}`);
    within(name, null, () => must(!info.isDirectory() || name === 'blobs', 'file/directory'));
    if (info.isDirectory()) continue;
    within(name, null, () => must(info.isFile(), 'file/regular'));
    files.set(name, new Uint8Array(await fs.readFile(`${path}/${name}`)));
  }
  return files;
}
export async function judge(path, root, fs) {
  try {
    const result = await verify(await load(path, fs), { root });
    return root ? { exit: 0, ...result } : { exit: 3, ...result, error: 'no key is given' };
  } catch (error) {
    if (error instanceof Wrong) {
      const { rule, file, seq } = error;
      return { exit: 1, ok: false, rule, file, seq };
    }
    if (error instanceof Unknown) return { exit: 3, error: error.message };
    throw error;
  }
}
async function main(args) {
  const fs = await import('node:fs/promises');
  const json = args.includes('--json');
  const rest = args.filter(a => a !== '--json');
  const at = rest.indexOf('--key');
  const [key] = at < 0 ? [] : rest.splice(at, 2).slice(1);
  if (rest.length !== 1 || rest[0].startsWith('-') || (at >= 0 && !key)) {
    console.error('usage: verify.mjs BUNDLE --key FINGERPRINT_OR_FILE [--json]');
    return 2;
  }
  let result;
  try {
    result = await judge(rest[0], key && await fingerprint(key, fs.readFile), fs);
  } catch (error) { result = { exit: 3, error: error.message }; }
  const { exit, rule, file, seq, error } = result;
  if (json) console.log(JSON.stringify(result));
  else if (exit === 1) {
    console.log(`wrong: ${file}${seq === null ? '' : `, event ${seq}`}: ${rule}`);
  }
  else if (exit) console.log(`could not be checked: ${error}`);
  else {
    console.log(`holds: run ${result.run}, ${result.events} events, ${result.unchecked} withheld, `
      + `${result.values} values of the report; completeness ${result.completeness}`);
  }
  return exit;
}
if (typeof process !== 'undefined' && process.argv[1]?.endsWith('verify.mjs')) {
  process.exitCode = await main(process.argv.slice(2));
}
