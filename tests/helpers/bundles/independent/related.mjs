// Part of an independent verifier of evidence bundles: a witness for the tests. It was written from
// docs/spec by somebody who had not read the code. It is kept apart: it shares nothing with the other
// verifiers, and changes where the specification does, or where it fell short of that.
// Related runs: what belongs to a bundle, calls and child runs, forks and origins (event.md).
import { bytes, canonical, equal, exact, hex, isHex, isInt, isObject, isText, must, parse, same,
  sha256, text, within } from './core.mjs';
import { ENDS, references } from './ledger.mjs';

const FILE = 'related.intoto.jsonl';
const LIFE = ['run.started', 'run.resumed', ...ENDS];
const inside = (scope, outer) => outer === '' || scope === outer || scope.startsWith(`${outer}/`);
const isReference = x => isObject(x) && Object.hasOwn(x, '$blob');
const lane = scope => scope.split('/')[0] === 'plugin';
const by = event => event.data.answered_by;
const recorded = event => isObject(by(event))
  && ['run', 'seq', 'leaf', 'who'].every(k => Object.hasOwn(by(event), k))
  && ['record', 'change'].includes(by(event).who);
const performed = event => !recorded(event);
const isOutcome = e => e.effect && !e.type.endsWith('.requested') && !e.type.endsWith('.streamed');

export async function related(context) {
  const { ledger, files, runId, events, own, withheld } = context;
  const notes = [];
  const here = [...ledger.runs.values()].filter(r => r.started);
  const limits = reach(ledger, runId);
  if (files.has(FILE)) within(FILE, null, () => must(events.length, 'related/empty'));
  const ownBlobs = new Set(own.filter(e => e.run === runId)
    .flatMap(e => references(e.data).map(r => r.$blob)));
  const blobs = new Set(events.flatMap(e => references(e.data).map(r => r.$blob)));
  for (const e of events) {
    within(FILE, e.seq, () => {
      const run = e.type === 'decision.given' ? e.ask.event.run : e.run;
      if (e.type === 'blob.erased' && e.run === undefined) {
        must(e.data.blobs.some(b => blobs.has(b)) && !e.data.blobs.some(b => ownBlobs.has(b)),
          'related/foreign');
      } else {
        must(run !== undefined && run !== runId && limits.has(run), 'related/foreign');
        must(e.type === 'decision.given' || e.seq <= limits.get(run), 'related/at');
      }
    });
  }
  const content = contents(files, ledger);
  for (const run of here) {
    const { fork } = run.started.data;
    for (const e of run.events.filter(e => by(e) !== undefined)) {
      within(e.file, e.seq, () => {
        const mayRepeat = isOutcome(e) || e.type === 'clock.read';
        must(!recorded(e) || (fork && mayRepeat), 'fork/answer');
        must(!isOutcome(e) || isObject(by(e)), 'fork/answer');
        const said = isObject(by(e)) ? by(e) : {};
        must(e.type !== 'clock.read' || (fork && recorded(e)), 'fork/answer');
        must(fork || !isOutcome(e) || !['record', 'change'].includes(said.who), 'fork/answer');
        if (!fork || !mayRepeat) return;
        must(recorded(e) ? Object.keys(said).length === 4 && isInt(said.seq) && isText(said.run)
          : isOutcome(e) && ['performer', 'plugin'].includes(said.who), 'fork/answer');
      });
    }
  }
  const incomplete = ledger.format >= 3 ? await children(ledger, here, content, limits) : [];
  for (const run of here.filter(r => r.started.data.fork)) {
    const origin = ledger.runs.get(run.started.data.fork?.run);
    if (origin?.started) await within('', null, () => compare(run, origin, content, ledger));
    else incomplete.push(`origin ${run.started.data.fork.run}`);
  }
  return { incomplete: withheld.events.length || withheld.blobs.size
    ? incomplete.filter(i => i.startsWith('origin') || i.startsWith('child')) : incomplete, notes };
}

/** The related runs that can be reached, and up to which event each may be here. */
function reach(ledger, runId) {
  const limits = new Map([[runId, Infinity]]);
  for (let size = -1, seen = ''; seen !== `${size}`;) {
    seen = `${size}`;
    const raise = (run, at) =>
      isText(run) && limits.set(run, Math.max(isInt(at) || at === Infinity ? at : -1,
        limits.get(run) ?? -1));
    for (const run of [...ledger.runs.values()]) {
      const parent = run.started?.data.parent?.run;
      if (limits.has(parent)) raise(run.id, Infinity);
      if (!limits.has(run.id)) continue;
      const fork = run.started?.data.fork;
      if (fork) raise(fork.run, fork.at);
      for (const e of run.events) {
        if (e.type === 'child.completed' && performed(e)) raise(e.data.about?.run, Infinity);
      }
    }
    size = [...limits.values()].filter(x => x === Infinity).length * 1e6 + limits.size;
  }
  return limits;
}
function contents(files, ledger) {  // the content of a reference, or null where it is not here
  return ref => {
    const data = isObject(ref) && files.get(`blobs/sha256-${String(ref.$blob).slice(7)}`);
    return data ? data.subarray(32) : null;
  };
}
const sameContent = (content, a, b) => {
  if (!isReference(a) || !isReference(b)) return a === undefined && b === undefined;
  const [x, y] = [content(a), content(b)];
  return (!x || !y) || (equal(x, y) && (a.media ?? '') === (b.media ?? ''));
};

// Calls and children ---------------------------------------------------------------------------

async function children(ledger, here, content, limits) {
  const incomplete = [];
  const answered = new Set();
  for (const run of here) {
    const { started } = run;
    const { parent } = started.data;
    if (parent !== undefined) {
      await within(started.file, started.seq, async () => {
        must(isObject(parent) && Object.keys(parent).sort().join() === 'key,root,run'
          && isText(parent.run) && isText(parent.root) && isHex(parent.key), 'child/parent');
        const about = { call: parent.key, parent: hex(await sha256(bytes(parent.run))) };
        for (const [name, sha] of Object.entries(about)) {
          must(started.subjects.some(s => same(s, { digest: { sha256: sha }, name })),
            'child/about');
        }
        const caller = ledger.runs.get(parent.run);
        if (!caller?.started) return;
        must(caller.started.seq < started.seq, 'child/parent');
        must(caller.events.some(e => e.type === 'child.requested' && e.seq < started.seq),
          'child/call');
        must(parent.root === (caller.started.data.parent?.root ?? caller.id), 'child/root');
      });
    }
    for (const e of run.events.filter(e => e.type === 'child.completed' && performed(e))) {
      const about = isObject(e.data.about) ? e.data.about : {};
      const child = ledger.runs.get(about.run);
      await within(e.file, e.seq, () => {
        must(isText(about.run) && isHex(about.leaf), 'child/answer');
        must(!answered.has(about.run), 'child/twice');
        answered.add(about.run);
        if (!child?.started) { incomplete.push(`child ${about.run}`); return; }
        must(child.started.data.parent?.run === run.id, 'child/answer');
        const end = child.events.find(x => x.leafHex === about.leaf && x.type === 'run.completed');
        must(end && end.seq < e.seq, 'child/answer');
        must(sameContent(content, e.data.value, end.data.result), 'child/value');
      });
    }
  }
  for (const run of here) {
    const kids = here.filter(k => k.started.data.parent?.run === run.id);
    if (limits.get(run.id) === Infinity) {
      const open = [...run.effects.values()].filter(x => x.kind === 'child')
        .reduce((n, x) => n + x.requests.length - x.all.filter(o => o.type === 'child.completed'
          || recorded(o)).length, 0);
      const loose = kids.filter(k => !answered.has(k.id)).length;
      if (open > loose) incomplete.push(`child of ${run.id}`);
    }
    if (run.started.data.parent && limits.get(run.id) === Infinity && limits.size > 1
      && run.id !== [...limits.keys()][0]
      && !(run.covered && run.last.type === run.ended)) incomplete.push(`child end ${run.id}`);
  }
  return incomplete;
}

// Forks and origins ----------------------------------------------------------------------------

function repeats(content, a, b, except) {
  const rest = e => Object.keys(e.data).filter(k => !except.includes(k)).sort().join();
  const about = e => {
    const refs = references(e.data).map(r => r.$blob.slice(7));
    return e.subjects.filter(s => s.name !== 'data.json' && !refs.includes(s.digest.sha256));
  };
  return a.type === b.type && a.m.version === b.m.version && a.m.tenant === b.m.tenant
    && same(seriesOf(a), seriesOf(b)) && same(about(a), about(b)) && rest(a) === rest(b)
    && Object.keys(a.data).filter(k => !except.includes(k)).every(k =>
      (isReference(a.data[k])
        ? isReference(b.data[k]) && sameContent(content, a.data[k], b.data[k])
        : same(a.data[k], b.data[k])));
}
const seriesOf = e => Object.keys(e.m.series ?? {}).sort();

async function compare(run, origin, content) {
  const { started } = run;
  const { fork } = started.data;
  const of = origin.events.filter(e => e.seq <= fork.at);
  const at = seq => of.find(e => e.seq === seq);
  const changes = new Map();
  within(started.file, started.seq, () => {
    must(Object.keys(fork).sort().join() === 'at,changes,leaf,run' && isInt(fork.at, 0)
      && Array.isArray(fork.changes), 'fork/members');
    must(at(fork.at)?.leafHex === fork.leaf && fork.at < started.seq && run !== origin, 'fork/at');
    must(started.subjects.some(s => same(s, { digest: { sha256: fork.leaf }, name: 'fork' })),
      'fork/about');
    const before = origin.started;
    for (const k of ['seed', 'name', 'labels']) {
      must(same(started.data[k] ?? {}, before.data[k] ?? {}), `fork/${k}`);
    }
    must(sameContent(content, started.data.params, before.data.params), 'fork/params');
    must(started.m.tenant === before.m.tenant, 'fork/tenant');
    const declared = started.data.changed && content(started.data.changed);
    must(!fork.changes.length === !started.data.changed, 'fork/changes');
    const values = declared ? parse(declared) : null;
    must(!values || (Array.isArray(values) && values.length === fork.changes.length),
      'fork/changes');
    fork.changes.forEach((change, i) => {
      const { seq, leaf } = exact(change, ['seq', 'leaf'], [], 'fork/changes');
      const outcome = at(seq);
      must(outcome && isOutcome(outcome) && outcome.leafHex === leaf, 'fork/changes');
      must(!i || seq > fork.changes[i - 1].seq, 'fork/changes');
      changes.set(seq, { value: values?.[i] });
    });
  });
  // The effects of both, by scope, kind and content of the request; the n-th answers the n-th.
  const effects = (r, limit) => [...r.effects.values()].filter(x => x.requests[0].seq <= limit)
    .sort((a, b) => a.requests[0].seq - b.requests[0].seq);
  const answerOf = x => {
    const last = x.all.filter(o => o.seq <= fork.at).at(-1);
    const again = x.requests.some(r => r.seq <= fork.at && r.seq > (last?.seq ?? -1));
    return last && !again && last.data.reason !== 'cancelled' ? last : null;
  };
  const nth = new Map();
  const unknown = new Set();
  const slot = (x, count) => {
    const { scope, data } = x.requests[0];
    const bytes_ = content(data.request);
    if (data.request && !bytes_) { unknown.add(`${scope} ${x.kind}`); return null; }
    const key = `${scope}\n${x.kind}\n${bytes_ ? Array.from(bytes_).join() : ''}`;
    const n = count.get(key) ?? 0;
    count.set(key, n + 1);
    return `${key}\n${n}`;
  };
  const counted = new Map();
  for (const x of effects(origin, fork.at)) { const s = slot(x, counted); if (s) nth.set(s, x); }
  const used = new Set();
  const paths = [];  // { scope, from: seq in the fork, of: seq in the origin, wide }
  const other = e => paths.some(p => inside(e.scope, p.scope) && e.seq >= p.from);
  const mine = new Map();
  const lookup = new Map();
  for (const x of effects(run, Infinity)) lookup.set(x, slot(x, mine));
  for (const x of effects(run, Infinity)) {
    const [request] = x.requests;
    const s = lookup.get(x);
    const known = s !== null && !unknown.has(`${request.scope} ${x.kind}`);
    const target = known ? nth.get(s) : null;
    for (const e of x.all.filter(recorded)) {
      within(e.file, e.seq, () => {
        const { who, run: id, seq, leaf } = by(e);
        const outcome = at(seq);
        must(id === origin.id && outcome && isOutcome(outcome) && outcome.leafHex === leaf
          && outcome.scope === e.scope, 'fork/answer');
        must(!used.has(seq), 'fork/twice');
        used.add(seq);
        must(!lane(e.scope), 'fork/lane');
        const asked = outcome.effect.requests[0];
        must(repeats(content, request, asked, ['attempt', 'doubt']), 'fork/request');
        must(!known || target === outcome.effect, 'fork/nth');
        must(answerOf(outcome.effect) === outcome, 'fork/answers');
        must((request.data.attempt === undefined || request.data.attempt === 1), 'fork/attempt');
        must(e === x.all[0] && !(x.requests[1]?.seq < e.seq), 'fork/attempt');
        must(!run.events.some(p => p.effect === x && p.type.endsWith('.streamed') && p.seq < e.seq),
          'fork/streamed');
        const next = x.requests.find(r => r.seq > e.seq);
        must(!next || run.resumed.some(r => r > e.seq && r < next.seq), 'fork/again');
        if (next) paths.push({ scope: e.scope, from: next.seq, of: asked.seq, wide: true });
        const changed = changes.get(seq);
        if (who === 'record') {
          must(!changed, 'fork/changed');
          must(repeats(content, e, outcome, ['answered_by', 'duration_us']), 'fork/outcome');
          return;
        }
        must(changed && e.type === `${x.kind}.completed`, 'fork/change');
        must(['tenant', 'version'].every(k => e.m[k] === outcome.m[k])
          && same(seriesOf(e), seriesOf(outcome)), 'fork/change');
        const value = content(e.data.value);
        must(changed.value === undefined || !value
          || text(value) === canonical(changed.value), 'fork/value');
        const { answered_by: _, duration_us: __, value: ___, about, ...more } = e.data;
        must(!Object.keys(more).length && (about === undefined || same(about, { secrets: true })),
          'fork/value');
        const { value: declared } = changed;
        must(about === undefined || declared === undefined || (isObject(declared)
          && Object.hasOwn(declared, 'secrets') && declared.secrets), 'fork/value');
        paths.push({ scope: e.scope, from: request.seq, of: asked.seq });
      });
    }
    const refused = x.all.find(o => performed(o) && o.type.endsWith('.failed')
      && o.data.reason === 'refused');
    if (refused) {
      const of_ = target?.requests[0].seq ?? 0;
      paths.push({ scope: request.scope, from: request.seq, of: of_, wide: true });
    }
    if (target && answerOf(target) && !refused && !other(request)) {
      for (const e of x.all.slice(0, 1)) {
        within(e.file, e.seq, () => must(recorded(e), 'fork/performed'));
      }
      for (const e of run.events) {
        const parts = e.effect === x && e.type.endsWith('.streamed');
        if (parts && !(e.seq > x.requests[1]?.seq)) {
          within(e.file, e.seq, () => must(false, 'fork/performed'));
        }
      }
    }
  }
  // Readings of the clock: the n-th names the n-th.
  const readings = (list, scope) => list.filter(e => e.type === 'clock.read' && e.scope === scope);
  for (const scope of new Set(run.events.filter(e => e.type === 'clock.read').map(e => e.scope))) {
    const before = readings(of, scope);
    readings(run.events, scope).forEach((e, n) => within(e.file, e.seq, () => {
      const resumed = run.resumed.some(r => r < e.seq);
      if (recorded(e)) {
        const { seq, leaf, run: id } = by(e);
        const named = at(seq);
        must(id === origin.id && named?.type === 'clock.read' && named.leafHex === leaf,
          'fork/clock');
        must(named === before[n], 'fork/clock');
        must(repeats(content, e, named, ['answered_by']), 'fork/clock');
        used.add(seq);
      } else must(!before[n] || resumed || other(e), 'fork/clock');
    }));
  }
  if (run.ended !== 'run.completed' && run.final !== 'run.completed') return;
  const end = run.events.find(e => e.type === 'run.completed');
  const excused = e => lane(e.scope) || e.superseded <= fork.at || paths.some(p =>
    inside(e.scope, p.scope) || (p.wide && e.seq >= p.of && (inside(p.scope, e.scope)
      || lane(e.scope) || e.scope.includes('@'))));
  const isFact = e => e.fact && !LIFE.includes(e.type) && e.type !== 'clock.read';
  within(end.file, end.seq, () => {
    for (const x of effects(origin, fork.at)) {
      const outcome = answerOf(x);
      must(!outcome || used.has(outcome.seq) || excused(outcome)
        || unknown.has(`${outcome.scope} ${x.kind}`), 'fork/missing');
    }
    for (const e of of.filter(e => e.type === 'clock.read')) {
      must(used.has(e.seq) || excused(e) || run.resumed.length, 'fork/missing');
    }
    const left = new Map();
    const name = e => (e.type === 'plugin.refused'
      ? `${e.data.event_type} ${e.data.scope}` : `${e.type} ${e.scope}`);
    for (const e of run.events.filter(isFact)) left.set(name(e), (left.get(name(e)) ?? 0) + 1);
    for (const e of of.filter(e => isFact(e) && !excused(e))) {
      const n = left.get(name(e)) ?? 0;
      must(n > 0, 'fork/fact');
      left.set(name(e), n - 1);
    }
  });
}
