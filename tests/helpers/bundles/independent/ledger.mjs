// Part of an independent verifier of evidence bundles: a witness for the tests. It was written from
// docs/spec by somebody who had not read the code. It is kept apart: it shares nothing with the other
// verifiers, and changes where the specification does, or where it fell short of that.
// The events of a ledger, judged one after the other as rows: event.md.
import { Unknown, bytes, canonical, entry, envelope, exact, hex, isHex, isInt,
  isObject, isTag, isText, must, parse, publicKey, same, sha256, signed, tag, treeRoot, unbase64,
  within } from './core.mjs';
import { checkData } from './data.mjs';

const ROOT_TYPES = ['ledger.opened', 'key.enrolled', 'key.revoked', 'key.rotated'];
const KINDS = ['command', 'data', 'execution', 'human', 'llm', 'tool'];
export const ENDS = 'completed failed interrupted paused canceled'.split(' ').map(x => `run.${x}`);
const FINAL = ['run.completed', 'run.canceled'];
const LIFE = ['run.started', 'run.resumed', ...ENDS];
const DECISION = 'application/vnd.muniment.decision+json';
export const isKeyEvent = type => ROOT_TYPES.includes(type);

/** One line of a file of events: its envelope and statement, in the one spelling. */
export async function readEvent(file, value) {
  const sealed = envelope(value);
  must(sealed.payload.length <= 65536, 'event/size');
  const statement = parse(sealed.payload);
  exact(statement, ['_type', 'subject', 'predicateType', 'predicate'], [], 'event/members');
  const { data, muniment: m } = exact(statement.predicate, ['data', 'muniment']);
  must(isObject(data), 'event/data');
  must(isObject(m) && isInt(m.seq, 0), 'event/seq');
  const first = m.seq === 0 ? [] : ['ledger', 'prev'];
  const run = ['run', 'scope', 'ordinal'].some(k => Object.hasOwn(m, k))
    ? ['run', 'scope', 'ordinal'] : [];
  exact(m, ['seq', 'type', 'version', 'time', 'actor', 'tenant', ...first, ...run],
    m.seq === 0 ? [] : ['series'], 'event/members');
  must(isText(m.type) && /^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+$/.test(m.type), 'event/type');
  must(isInt(m.version, 1), 'event/version');
  must(isText(m.time) && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(m.time)
    && !Number.isNaN(Date.parse(m.time))
    && new Date(m.time).toISOString().slice(0, 19) === m.time.slice(0, 19), 'event/time');
  must(isText(m.actor) && isText(m.tenant), 'event/actor');
  if (run.length) {
    must(isText(m.run) && /^[A-Za-z0-9_-]{1,128}$/.test(m.run), 'event/run');
    must(isText(m.scope), 'event/scope');
    must(isInt(m.ordinal, 0), 'event/ordinal');
  }
  must(statement._type === 'https://in-toto.io/Statement/v1', 'event/type');
  must(statement.predicateType === `urn:muniment:event:${m.type}:v${m.version}`, 'event/type');
  return { ...m, m, data, subjects: statement.subject, file, sealed };
}

const isReference = x => isObject(x) && Object.hasOwn(x, '$blob');
export const references = data =>
  Object.entries(data).filter(([, v]) => isReference(v)).map(([field, v]) => ({ field, ...v }));

export class Ledger {
  keys = new Map(); runs = new Map(); blobs = new Map(); series = new Map(); asks = new Map();
  time = ''; events = []; last = null; withheld = new Map();

  /** Judge an event that is not before any so far. `place`: whether to judge its place in a run. */
  async judge(event, place = true) {
    return within(event.file, event.seq, async () => {
      const { type, seq, sealed } = event;
      must(!this.last || seq > this.last.seq, 'event/seq');
      must((seq === 0) === !this.id && (seq === 0) === (type === 'ledger.opened'), 'event/genesis');
      if (seq === 0) await this.#open(event);
      must(seq === 0 || event.m.ledger === this.id, 'event/ledger');
      must(this.last?.seq !== seq - 1 || event.m.prev === this.last.leafHex, 'event/prev');
      must(seq === 0 || isHex(event.m.prev), 'event/prev');
      must(event.time >= this.time, 'event/time');
      this.time = event.time;
      if (this.format >= 4) must(!isKeyEvent(type) || event.run === undefined, 'key/run');
      await this.#sign(event);
      if (this.unknown) throw new Unknown(this.unknown);  // its genesis is signed
      event.leaf = await sha256(Uint8Array.of(0, ...bytes(await entry(event.key, sealed))));
      event.leafHex = hex(event.leaf);
      await this.#keys(event);
      if (this.format >= 2) checkData(event, this.format);
      await this.#subjects(event);
      this.#series(event);
      if (event.run !== undefined && place) await this.#run(event);
      this.#outside(event);
      if (this.format >= 4) await this.#decide(event, place);
      this.#place(event);
      this.events.push(event);
      return event;
    });
  }
  /** Count an event of the run that is withheld. */
  hold({ seq, scope, ordinal, leaf, run }) {
    must(!this.last || seq > this.last.seq, 'withheld/seq');
    const state = this.runs.get(run);
    must(state, 'withheld/run');
    const event = { seq, scope, ordinal, leaf, leafHex: hex(leaf), run, held: true };
    this.last = event;
    state.leaves.push(leaf);
    state.counts[scope] = (state.counts[scope] ?? 0) + 1;
    state.held.add(`${ordinal} ${scope}`);
    state.last = event;
  }
  #place(event) {
    this.last = event;
    const state = this.runs.get(event.run);
    if (!state) return;
    state.leaves.push(event.leaf);
    state.counts[event.scope] = (state.counts[event.scope] ?? 0) + 1;
    state.last = event;
    state.events.push(event);
  }

  // Keys

  async #open({ data, sealed }) {
    exact(data, ['nonce', 'formats', 'keys', 'next_root'], ['continues'], 'genesis/members');
    const { event, checkpoint, layout } = exact(data.formats, ['event', 'checkpoint', 'layout']);
    must([event, checkpoint, layout].every(v => isInt(v, 1)), 'genesis/formats');
    if (event > 4 || checkpoint > 1 || layout > 1) {
      this.unknown = 'a ledger of a version that is not known here';
    }
    this.format = event;
    this.id = await tag(sealed.payload);
    this.origin = `l-${this.id.slice(7, 39)}.muniment.invalid`;
    must(isHex(data.nonce), 'genesis/nonce');
    must(isTag(data.next_root), 'genesis/next_root');
    this.nextRoot = data.next_root;
    must(Array.isArray(data.keys), 'genesis/keys');
    for (const key of data.keys) await this.#enrol(key, `nonce:${data.nonce}`, -1);
    const roots = [...this.keys.values()].filter(k => k.roles.includes('root'));
    must(roots.length === 1, 'genesis/root');
    if (data.continues !== undefined) {
      const { ledger, reason, checkpoint: note } =
        exact(data.continues, ['ledger', 'checkpoint', 'reason'], [], 'genesis/continues');
      must(isTag(ledger) && isText(reason) && isText(note), 'genesis/continues');
      must(note.startsWith(`l-${ledger.slice(7, 39)}.muniment.invalid\n`), 'genesis/continues');
    }
  }
  async #enrol(value, context, seq) {
    exact(value, ['keyid', 'public', 'roles', 'possession'], ['name'], 'key/members');
    const { keyid, roles, possession, name } = value;
    const key = await publicKey(unbase64(value.public));
    must(key.id === keyid, 'key/id');
    must(name === undefined || isText(name), 'key/name');
    must(Array.isArray(roles) && roles.length && new Set(roles).size === roles.length, 'key/roles');
    must(roles.every(r => ['approver', 'checkpoint', 'root', 'writer'].includes(r)), 'key/roles');
    must(key.ed || !roles.includes('checkpoint'), 'key/checkpoint');
    exact(possession, roles, [], 'key/possession');
    for (const role of roles) {
      const claim = bytes(`muniment/key-possession/v1\n${context}\n${keyid}\n${role}\n`);
      await signed(key, claim, unbase64(possession[role]));
    }
    must(!this.keys.has(keyid), 'key/again');
    this.keys.set(keyid, { ...key, roles, from: seq, to: Infinity, holder: keyid });
    return this.keys.get(keyid);
  }
  async #sign(event) {
    const { type, seq, data, sealed } = event;
    let key = this.keys.get(sealed.keyid);
    if (type === 'key.rotated' && isTag(data.next_root)) {  // the new root signs
      const old = this.keys.get(data.old);
      must(old?.roles.includes('root') && old.to >= seq, 'key/old');
      must(isObject(data.new) && isText(data.new.public), 'key/members');
      const raw = unbase64(data.new.public);
      must(await tag(raw) === this.nextRoot, 'key/next_root');
      must(data.next_root !== this.nextRoot, 'key/next_root');
      key = await this.#enrol(data.new, this.id, seq - 1);
      must(key.roles.includes('root') && key.roles.every(r => old.roles.includes(r)), 'key/roles');
      must(sealed.keyid === key.id, 'key/signer');
      this.nextRoot = data.next_root;
      old.to = seq;
      key.holder = old.holder;
    }
    must(key && key.from < seq && seq <= key.to, 'key/enrolled');
    must(key.roles.includes(isKeyEvent(type) ? 'root' : 'writer'), 'key/role');
    await signed(key, sealed.signedBytes, sealed.signature);
    event.key = key;
  }
  async #keys({ type, seq, data }) {
    const current = id => {
      const key = this.keys.get(id);
      must(key && key.from < seq && seq <= key.to, 'key/old');
      must(!key.roles.includes('root'), 'key/root');
      return key;
    };
    if (type === 'key.enrolled') {
      const key = await this.#enrol(data, this.id, seq);
      must(!key.roles.includes('root'), 'key/root');
    } else if (type === 'key.revoked') {
      exact(data, ['keyid', 'reason'], [], 'key/members');
      must(isText(data.reason), 'key/reason');
      current(data.keyid).to = seq;
    } else if (type === 'key.rotated' && data.next_root === undefined) {
      exact(data, ['old', 'new'], [], 'key/members');
      const old = current(data.old);
      const key = await this.#enrol(data.new, this.id, seq);
      must(key.roles.every(r => old.roles.includes(r)), 'key/roles');
      old.to = seq;
      key.holder = old.holder;
    } else if (type === 'key.rotated') exact(data, ['old', 'new', 'next_root'], [], 'key/members');
  }

  // Subjects, blobs, series

  async #subjects({ data, subjects, type, version, run, seq }) {
    must(Array.isArray(subjects) && subjects.length, 'event/subject');
    for (const subject of subjects) {
      exact(subject, ['name', 'digest'], [], 'event/subject');
      exact(subject.digest, ['sha256'], [], 'event/subject');
      must(isText(subject.name) && isHex(subject.digest.sha256), 'event/subject');
    }
    const refs = references(data);
    for (const ref of refs) {
      exact(data[ref.field], ['$blob', 'size'], ['media'], 'blob/reference');
      must(isTag(ref.$blob) && isInt(ref.size, 0), 'blob/reference');
      must(ref.media === undefined || isText(ref.media), 'blob/reference');
      must(subjects.some(s => s.digest.sha256 === ref.$blob.slice(7)), 'event/subject');
      const known = this.blobs.get(ref.$blob);
      must(!known || known.size === ref.size, 'blob/size');
      must(!known || this.format < 4 || [known.run, run].includes(undefined) || known.run === run,
        'blob/run');
      if (!known) this.blobs.set(ref.$blob, { size: ref.size, run, seq, media: ref.media });
    }
    const whole = hex(await sha256(bytes(canonical(data))));
    must(subjects.every(s => s.name !== 'data.json' || s.digest.sha256 === whole), 'event/subject');
    if (this.format >= 2 && type === 'synthesis.attempted' && version === 1 && isText(data.code)) {
      const digest = hex(await sha256(bytes(data.code)));
      must(same(subjects[0], { digest: { sha256: digest }, name: 'code' }), 'event/subject');
    }
  }
  #series({ seq, m, leafHex }) {
    if (m.series === undefined) return;
    must(this.format >= 3 && isObject(m.series) && Object.keys(m.series).length, 'event/series');
    for (const [key, value] of Object.entries(m.series)) {
      must(key && bytes(key).length <= 256, 'series/key');
      exact(value, ['count'], ['prev'], 'series/members');
      const { count, prev } = value;
      must(isInt(count, 1) && (count === 1) === (prev === undefined), 'series/count');
      must(prev === undefined || isHex(prev), 'series/prev');
      const known = this.series.get(key) ?? [];
      must(known.every(k => k.count < count), 'series/count');
      const before = known.find(k => k.count === count - 1);
      must(!before || before.leafHex === prev, 'series/prev');
      this.series.set(key, [...known, { count, leafHex, seq }]);
    }
  }

  // Runs

  run(id) {
    return this.runs.get(id) ?? this.runs.set(id, { id, leaves: [], counts: {}, held: new Set(),
      effects: new Map(), top: new Map(), events: [], resumed: [] }).get(id);
  }
  async #run(event) {
    const { type, scope, ordinal, seq, run: id } = event;
    if (this.format < 2) return this.#end(event, this.run(id));
    must((type === 'run.started') === !this.runs.has(id), 'run/start');
    const run = this.run(id);
    if (type === 'run.started') run.started = event;
    must(!(run.final && LIFE.includes(type)), 'run/final');
    const top = run.top.get(scope) ?? -1;
    if (run.ended) {
      const again = ['run.resumed', 'run.canceled'].includes(type);
      must(again || type.startsWith('decision.') || type === 'policy.amended'
        || (type === 'replay.judged' && event.data.replay_of !== id), 'run/after-end');
      must(!['decision.asked', 'decision.reached'].includes(type), 'run/after-end');
    }
    if (run.ended || type === 'run.canceled') must(scope === '' && ordinal > top, 'run/after-end');
    this.#scope(event, run);
    this.#effect(event, run);
    await this.#end(event, run);
    if (type === 'run.resumed') {
      run.ended = null;
      this.#supersede(event, run);
      run.resumed.push(seq);
    }
  }
  #scope({ scope }, run) {
    const parts = scope.split('/');
    parts.forEach((part, i) => {
      must(this.format < 4 || !part.startsWith('$'), 'scope/segment');
      if (!part.startsWith('@')) return;
      const match = /^@(.+)\.(0|[1-9][0-9]*)$/.exec(part);
      must(match, 'scope/segment');
      const outer = parts.slice(0, i).join('/');
      const place = `${match[2]} ${outer}`;
      must(run.effects.get(place)?.kind === match[1] || run.held.has(place), 'scope/effect');
    });
  }
  #effect(event, run) {
    const { type, scope, ordinal, seq } = event;
    const cut = type.lastIndexOf('.');
    const [kind, verb] = [type.slice(0, cut), type.slice(cut + 1)];
    const place = `${ordinal} ${scope}`;
    const effect = run.effects.get(place);
    const known = [...KINDS, ...(this.format >= 3 ? ['child', 'timer'] : [])].includes(kind);
    if (verb === 'requested') {
      if (effect) {
        must(effect.kind === kind, 'run/ordinal');
        const last = effect.outcome;
        must(last?.type !== `${kind}.completed` || (last.data.about?.secrets === true
          && run.resumed.some(r => r > last.seq)), 'effect/again');
        effect.requests.push(event);
        effect.outcome = null;
      } else {
        this.#next(event, run);
        run.effects.set(place, { kind, requests: [event], outcome: null, all: [] });
      }
      event.effect = run.effects.get(place);
    } else if (['streamed', 'completed', 'failed'].includes(verb) && kind !== 'run'
        && (effect?.kind === kind || known)) {
      must(effect?.kind === kind || run.held.has(place), 'effect/requested');
      must(!effect?.outcome, 'effect/outcome');
      event.effect = effect;
      if (verb !== 'streamed' && effect) {
        effect.outcome = event;
        effect.all.push(event);
      }
    } else {
      this.#next(event, run);
      event.fact = true;
    }
  }
  #next({ scope, ordinal }, run) {
    must(ordinal > (run.top.get(scope) ?? -1), 'run/ordinal');
    run.top.set(scope, ordinal);
  }
  #supersede({ data, seq }, run) {
    const list = data.supersedes ?? [];
    must(Array.isArray(list), 'run/supersedes');
    for (const pair of list) {
      must(Array.isArray(pair) && pair.length === 2, 'run/supersedes');
      const [scope, ordinal] = pair;
      must(isText(scope) && isInt(ordinal, 0), 'run/supersedes');
      const effect = run.effects.get(`${ordinal} ${scope}`);
      must(effect || run.held.has(`${ordinal} ${scope}`), 'run/supersedes');
      if (!effect) continue;
      must(effect.outcome?.type === `${effect.kind}.failed`, 'run/supersedes');
      const failed = effect.outcome.seq;
      for (const e of run.events) {
        const around = e.scope === scope || e.scope === '' || scope.startsWith(`${e.scope}/`);
        if (e.fact && e.seq > failed && e.seq < seq && around) e.superseded = seq;
      }
    }
  }
  async #end({ type, data, run: id }, run) {
    if (!ENDS.includes(type)) return;
    run.ended = type;
    if (FINAL.includes(type)) run.final = type;
    run.covered = false;
    if (type === 'run.completed' || type === 'run.failed') {
      must(data.root === hex(await treeRoot(run.leaves)), 'run/root');
      if (data.counts === undefined) {
        must(this.format < 2 || bytes(canonical(run.counts)).length > 32768, 'run/counts');
      } else must(same(data.counts, run.counts), 'run/counts');
      run.covered = true;
    }
  }
  #outside({ type, run }) {
    if (this.format < 2 || run !== undefined) return;
    const cut = type.lastIndexOf('.');
    const kinds = [...KINDS, ...(this.format >= 3 ? ['child', 'timer'] : [])];
    must(!LIFE.includes(type), 'run/outside');
    must(!(kinds.includes(type.slice(0, cut))
      && ['requested', 'streamed', 'completed', 'failed'].includes(type.slice(cut + 1))),
    'run/outside');
  }

  // Decisions

  async #decide(event, place) {
    const { type, data, run: id, leafHex } = event;
    const run = this.runs.get(id);
    if (type === 'decision.asked') {
      must(id !== undefined, 'decision/run');
      const of = data.of ?? [];
      must(Array.isArray(of) && of.every(isText) && of.length <= 16, 'decision/of');
      must(new Set(of).size === of.length, 'decision/of');
      must(isInt(data.quorum, 1) && data.quorum <= (of.length || 16), 'decision/quorum');
      must(isReference(data.subject), 'decision/subject');
      this.asks.set(leafHex, { event, of, quorum: data.quorum, answers: [], nonces: new Set() });
    } else if (type === 'decision.given') await this.#answer(event);
    else if (type === 'decision.reached') {
      const ask = this.asks.get(data.asked);
      must(id !== undefined && ask && ask.event.run === id && ask.event.scope === event.scope,
        'decision/asked');
      must(!ask.reached || ask.reached.superseded, 'decision/again');
      must(!ask.event.superseded, 'decision/superseded');
      must(data.outcome === this.#outcome(ask) && data.outcome, 'decision/outcome');
      must(same(data.answers, ask.answers), 'decision/answers');
      ask.reached = event;
    } else if (type === 'run.completed' && place) {
      for (const ask of this.asks.values()) {
        must(ask.event.run !== id || ask.reached || ask.event.superseded, 'decision/open');
      }
    }
  }
  #outcome({ of, quorum, answers }) {
    const count = outcome => answers.filter(a => a.outcome === outcome).length;
    if (count('approved') >= quorum) return 'approved';
    return count('denied') > (of.length ? of.length - quorum : 0) ? 'denied' : null;
  }
  async #answer(event) {
    const { data, seq, run, subjects, leafHex } = event;
    must(run === undefined, 'decision/run');
    const sealed = envelope(data.envelope, DECISION);
    const answer = parse(sealed.payload);
    exact(answer, ['ask', 'ledger', 'meaning', 'nonce', 'outcome', 'reason', 'subject'], [],
      'decision/members');
    for (const note of [answer.meaning, answer.reason]) {
      must(isText(note) && bytes(note).length <= 1000, 'decision/text');
      must(!/[\x00-\x09\x0b-\x1f\x7f-\x9f]/.test(note), 'decision/text');
    }
    must(isText(answer.nonce) && /^[0-9a-f]{32}$/.test(answer.nonce), 'decision/nonce');
    must(['approved', 'denied'].includes(answer.outcome), 'decision/outcome');
    const ask = this.asks.get(answer.ask);
    must(ask, 'decision/ask');
    must(same(subjects, [{ digest: { sha256: answer.ask }, name: 'asked' }]), 'decision/about');
    must(answer.ledger === this.id, 'decision/ledger');
    must(answer.subject === ask.event.data.subject.$blob, 'decision/subject');
    const key = this.keys.get(sealed.keyid);
    must(key && key.from < seq && seq <= key.to && key.roles.includes('approver'), 'decision/key');
    must(!ask.of.length || ask.of.includes(key.id), 'decision/key');
    await signed(key, sealed.signedBytes, sealed.signature);
    const holder = id => this.keys.get(id).holder;
    must(ask.answers.every(a => holder(a.key) !== key.holder), 'decision/holder');
    must(!ask.nonces.has(answer.nonce), 'decision/nonce');
    must(!this.#outcome(ask) && !this.runs.get(ask.event.run)?.final && !ask.event.superseded,
      'decision/late');
    event.ask = ask;
    ask.nonces.add(answer.nonce);
    const { outcome, reason, meaning } = answer;
    ask.answers.push({ key: key.id, outcome, reason, meaning, event: leafHex });
  }
}
