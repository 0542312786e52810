// Part of an independent verifier of evidence bundles: a witness for the tests. It was written from
// docs/spec by somebody who had not read the code. It is kept apart: it shares nothing with the other
// verifiers, and changes where the specification does, or where it fell short of that.
// Each value on report.html, compared with the events: report.md.
import { Unknown, Wrong, base64, bytes, canonical, hex, isObject, isText, must, parse, sha256, text,
  within } from './core.mjs';

const STYLES = ['F1kEJt+o2bRiCH9mYU8yOdNkN0CfImlcOMtqfupNLUM=',
  'MFvoB0ZZ/Y1ubgwDkFpKe7LreXC8JDymRP4UVk4CwRM='];
// The SHA-256 of the head without its style sheet and the digest of that.
const HEAD = '389e17477d1ff34b57a5c3119178798f3919e6c379e8f4341399bb0fe63ab07e';
const TABLE = '<div class="wide" role="group" aria-label="Table" tabindex="0">';
const LINE = '<svg viewBox="0 0 360 20" role="img" aria-label="one mark each">';
const AXIS = '<line x1="0" x2="360" y1="10" y2="10"/>';
const HAS = { main: ['section', 'h1'], section: ['h2', 'h3', 'p', 'dl', 'figure', 'wide'],
  wide: ['table'], dl: ['dt', 'dd'], table: ['tr'], tr: ['th', 'td'],
  figure: ['div', 'figcaption', 'svg'], svg: ['mark'], figcaption: ['span', 'data'] };
const LEAVES = ['h1', 'h2', 'h3', 'p', 'dt', 'dd', 'div', 'th', 'td', 'span', 'figcaption'];
const ABOUT = ['run', 'type', 'scope', 'series', 'path', 'of'];
const RULES = { count: ['run', 'type', 'scope', 'series'], sum: ABOUT.slice(0, 5),
  mean: ABOUT.slice(0, 5), change: ABOUT, minus: ['path', 'of'], zero: [], one: [], runs: ['of'],
  checkpoint: ['of'], withheld: ['of'] };
const HIDDEN = new RegExp(`[${String.raw`
\u{0000}-\u{0009}\u{000b}-\u{001f}\u{007f}-\u{00a0}\u{00ad}\u{034f}\u{0600}-\u{0605}
\u{061c}\u{06dd}\u{070f}\u{0890}\u{0891}\u{08e2}\u{115f}\u{1160}\u{1680}\u{17b4}
\u{17b5}\u{180b}-\u{180f}\u{2000}-\u{200f}\u{2028}-\u{202f}\u{205f}-\u{206f}\u{2800}
\u{3000}\u{3164}\u{d800}-\u{f8ff}\u{fdd0}-\u{fdef}\u{fe00}-\u{fe0f}\u{feff}\u{ffa0}
\u{fff0}-\u{fffb}\u{fffe}\u{ffff}\u{110bd}\u{110cd}\u{13430}-\u{1345f}
\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{1fffe}\u{1ffff}\u{2fffe}\u{2ffff}
\u{3fffe}-\u{10ffff}`.replaceAll('\n', '')}]`, 'gu');
const TEXT =
  /^[\x20-\x2f\x3a-\x7e\n\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f–—‘’“”…]*$/;
const ENTITY = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#x27;' };
const escape = s => s.replace(/[&<>"']/g, c => ENTITY[c]);
const unescape = s => s.replace(/&[^;]*;?/g, e => {
  const [found] = Object.entries(ENTITY).find(([, v]) => v === e) ?? [];
  must(found, 'report/reference');
  return found;
});
const percent = (s, safe) => Array.from(bytes(s), b => (safe.test(String.fromCharCode(b))
  ? String.fromCharCode(b) : `%${b.toString(16).toUpperCase().padStart(2, '0')}`)).join('');
const attribute = s => escape(percent(s, /[\x20-\x24\x26-\x7e]/));
const inTitle = s => percent(s, /[A-Za-z0-9_.\-~/:,*[\]"{}]/);
function unpercent(s) {
  try { return decodeURIComponent(s); } catch { throw new Wrong('report/attribute'); }
}
class Absent { constructor(why) { this.why = why; } }

/** Verify the page; return how many values were compared. */
export function report(context) {
  return within('report.html', null, () => page(context));
}
async function page(context) {
  const { files, runId, head, withheld } = context;
  const source = text(files.get('report.html'));
  const at = source.indexOf('<body');
  const start = `<body data-run="${runId}" data-size="${head.size}">\n<main>\n`;
  const end = '</main>\n</body>\n</html>\n';
  const [, style] = /<style>([^<]*)<\/style>/.exec(source.slice(0, at)) ?? [];
  must(style, 'report/frame');
  const sheet = base64(await sha256(bytes(style)));
  const rest = source.slice(0, at).replace(style, () => '').replace(sheet, '');
  must(hex(await sha256(bytes(rest))) === HEAD, 'report/frame');
  if (!STYLES.includes(sheet)) throw new Unknown('report.html has a style sheet that is not known here');
  must(source.startsWith(start, at) && source.endsWith(end), 'report/frame');
  const state = { context, count: 0, cited: new Set(), figure: null, order: [] };
  const body = source.slice(at + start.length, -end.length);
  must(body.startsWith('<h1>Evidence report</h1>\n<section>'), 'report/frame');
  const tokens = body.match(/<[^>]*>|[^<]+|</g);
  const stack = ['main'];
  let before = null;  // what came before in this element: null, text, or a value
  for (let i = 0; i < tokens.length; i += 1) {
    const token = tokens[i];
    const top = stack.at(-1);
    const leaf = LEAVES.includes(top);
    if (token[0] !== '<') {
      const words = unescape(token);
      must(leaf || /^\n*$/.test(words), 'report/nesting');
      if (leaf) checkText(words, before, tokens[i + 1].startsWith('<data'));
      if (leaf) before = words;
    } else if (token.startsWith('<data')) {
      must(leaf && tokens[i + 2] === '</data>', 'report/nesting');
      must(before !== 'value', 'report/beside');
      const value = await checkValue(state, token, tokens[i + 1], 'data');
      if (top === 'figcaption') state.figure.caption.push(value);
      before = 'value';
      i += 2;
    } else if (token.startsWith('</')) {
      must(token === (top === 'wide' ? '</div>' : `</${top}>`), 'report/nesting');
      must(stack.length > 1, 'report/nesting');
      stack.pop();
      before = top === 'span' ? ' ' : null;
    } else if (token.startsWith('<circle') || token.startsWith('<line')) {
      must(top === 'svg', 'report/nesting');
      if (!token.startsWith('<circle')) throw new Unknown('report.html has a mark not known here');
      const around = [tokens[i + 1], ...tokens.slice(i + 3, i + 5)].join('');
      must(around === '<title></title></circle>', 'report/mark');
      state.figure.marks.push(await checkMark(state, token, tokens[i + 2]));
      i += 4;
    } else {
      const name = token === TABLE ? 'wide' : token === LINE ? 'svg'
        : token === '<figure data-scale="log">' ? 'figure' : /^<([a-z0-9]+)>$/.exec(token)?.[1];
      must(HAS[top]?.includes(name), 'report/nesting');
      if (name === 'svg') must(tokens[i += 1] === AXIS, 'report/line');
      if (name === 'figure') {
        checkFigure(state.figure);
        state.figure = { log: token !== '<figure>', marks: [], caption: [] };
      }
      stack.push(name);
      before = null;
    }
  }
  must(stack.length === 1, 'report/nesting');
  checkFigure(state.figure);
  if (withheld.events.length || withheld.blobs.size) {
    must(['events', 'blobs'].every(of => state.cited.has(`withheld ${of}`)), 'report/withheld');
  }
  checkMarks(state);
  return state.count;
}
/** The first values are the marks of the run, with their reasons. */
function checkMarks({ context: { ledger, runId }, order }) {
  const first = new Map();  // mark → the first event that gives it
  for (const e of ledger.events) {
    const { mark } = e.data;
    if (e.type === 'run.marked' && e.run === runId && !first.has(mark)) first.set(mark, e.seq);
  }
  const others = [...first].filter(([mark]) => mark !== 'non_certifiable').slice(0, 20);
  const due = new Set([...others, ...[...first].filter(([mark]) => mark === 'non_certifiable')]
    .flatMap(([, seq]) => [`${seq}/mark`, `${seq}/reason`]));
  for (const { event, path, rule, head, as } of order.slice(0, due.size)) {
    const plain = rule === undefined && head === undefined && !['name', 'path'].includes(as);
    must(plain && due.delete(`${event}${path}`), 'report/marks');
  }
  must(!due.size, 'report/marks');
}
function checkText(words, before, value) {
  const plain = words.replaceAll('SHA-256', 'SHA-').replace(/(?<![\w])[0-9a-f]{64}(?![\w])/g, '');
  must(TEXT.test(plain), 'report/text');
  if (value) must(/[ \n(]$/.test(words), 'report/beside');
  if (before !== 'value') return;
  must(/^[ \n,;:)]/.test(words) || /^\.([ \n]|$)/.test(words), 'report/beside');
  if (value) must(/[A-Za-z,:;]/.test(words), 'report/beside');
}

// Values ---------------------------------------------------------------------------------------

async function checkValue(state, tag, shown, kind) {
  const attributes = {};
  for (const [, name, value] of tag.matchAll(/ ([a-z-]+)="([^"]*)"/g)) {
    must(!(name in attributes), 'report/attribute');
    attributes[name] = unescape(value);
    must(/^[\x20-\x7e]*$/.test(value), 'report/attribute');
  }
  const get = name => (attributes[name] === undefined ? undefined : unpercent(attributes[name]));
  const value = get(kind === 'data' ? 'value' : 'data-value');
  const cite = { event: get('data-event'), head: get('data-head'), rule: get('data-rule'),
    as: get('data-as') };
  for (const name of ABOUT) cite[name] = get(`data-${name}`);
  const given = Object.keys(attributes).map(name => name.replace('data-', ''))
    .filter(name => name in cite).map(name => [name, cite[name]]);
  must(value !== undefined, 'report/attribute');
  const spelled = Object.fromEntries(given.map(([name, v]) => [`data-${name}`, v]));
  if (kind === 'data') Object.assign(spelled, { value, title: titleOf(cite, given) });
  else spelled['data-value'] = value;
  const order = Object.keys(attributes).filter(name => !['cx', 'cy', 'r'].includes(name));
  must(order.length === Object.keys(spelled).length && tag === `<${kind === 'data' ? 'data'
    : `circle cx="${attributes.cx}" cy="10" r="5"`}${
    order.map(n => ` ${n}="${attribute(spelled[n] ?? '')}"`).join('')}>`, 'report/attribute');
  const found = cite.rule === undefined ? lookUp(state, cite) : byRule(state, cite);
  if (found instanceof Absent) {
    must(value === found.why && unescape(shown) === found.why, 'report/value');
  } else {
    const json = canonical(found);
    const said = [...json].length > 200 ? `sha256:${hex(await sha256(bytes(json)))}` : json;
    must(value === said, 'report/value');
    must(unescape(shown) === shownAs(found, cite), 'report/shown');
  }
  state.count += 1;
  state.order.push(cite);
  if (cite.rule) state.cited.add(`${cite.rule} ${cite.of}`);
  return { found, cite, cx: attributes.cx };
}
function titleOf({ event, head, path, rule }, given) {
  if (rule === undefined) return inTitle(`${event}`) + (head === undefined
    ? inTitle(path ?? '') : `#${inTitle(head)}`);
  const about = given.filter(([k]) => ABOUT.includes(k)).map(([k, v]) => `${k}=${inTitle(v)}`);
  return `${rule}?${about.join('&')}`;
}
const steps = pointer => {
  must(pointer === '' || pointer[0] === '/', 'report/path');
  must(!/~(?![01])/.test(pointer), 'report/path');
  return pointer.split('/').slice(1).map(s => s.replace(/~1/g, '/').replace(/~0/g, '~'));
};
function follow(value, path) {
  for (const step of path) {
    if (Array.isArray(value)) must(/^(0|[1-9][0-9]*)$/.test(step), 'report/path');
    must(typeof value === 'object' && value !== null && Object.hasOwn(value, step), 'report/path');
    value = value[step];
  }
  return value;
}
function content({ files, ledger, withheld }, ref) {
  if (!isObject(ref) || !Object.hasOwn(ref, '$blob')) return ref;
  const data = files.get(`blobs/sha256-${ref.$blob.slice(7)}`)?.subarray(32);
  if (!data) {
    return new Absent(ledger.erased.has(ref.$blob) ? 'erased'
      : withheld.blobs.has(ref.$blob) ? 'withheld' : 'not in this bundle');
  }
  if (data.length > 64 * 2 ** 20) return new Absent('too large for a page');
  if ((ref.media ?? 'application/json') === 'application/json') return parse(data);
  const lossy = new TextDecoder('utf-8', { ignoreBOM: true });
  if (ref.media.startsWith('text/')) return lossy.decode(data);
  return { $bytes: base64(data) };
}
function inData(context, event, path) {
  const [first, ...rest] = steps(path);
  if (first === undefined) {
    const whole = {};
    for (const [k, v] of Object.entries(event.data)) {
      whole[k] = content(context, v);
      if (whole[k] instanceof Absent) return whole[k];
    }
    return whole;
  }
  const value = content(context, follow(event.data, [first]));
  return value instanceof Absent ? value : follow(value, rest);
}
function lookUp({ context }, cite) {
  const { ledger, withheld } = context;
  must(ABOUT.every(k => k === 'path' || cite[k] === undefined), 'report/attribute');
  must(/^(0|[1-9][0-9]*)$/.test(cite.event ?? ''), 'report/event');
  must((cite.path === undefined) !== (cite.head === undefined), 'report/attribute');
  const seq = Number(cite.event);
  const pointer = cite.path ?? cite.head;
  const path = steps(pointer);
  const named = ['name', 'path'].includes(cite.as);
  const event = ledger.events.find(e => e.seq === seq && e.type !== 'bundle.closed');
  let found;
  if (!event) {
    must(withheld.events.some(e => e.seq === seq), 'report/event');
    found = new Absent('withheld');
  } else if (cite.head !== undefined) {
    const { m } = event;
    const counts = m.series && Object.fromEntries(
      Object.entries(m.series).map(([k, v]) => [k, v.count]));
    found = follow({ actor: m.actor, hash: event.leafHex, key: event.key.id, tenant: m.tenant,
      time: m.time, type: m.type, seq, ledger: m.ledger ?? null, run: m.run ?? null,
      scope: m.scope ?? null, series: counts ?? null }, path);
  } else if (named && path.length === 1 && !pointer.includes('~')) {
    must(Object.hasOwn(event.data, path[0]), 'report/path');
  } else found = inData(context, event, cite.path);
  if (!named || found instanceof Absent) return found;
  must(path.length, 'report/path');
  return cite.as === 'name' ? path.at(-1) : pointer.slice(1);
}

// Texts ----------------------------------------------------------------------------------------

function sixDigits(x) {  // C's %.6g
  let digits = x.toPrecision(6);
  const exact = Math.abs(x).toPrecision(100).replace(/e.*/, '').replace('.', '').replace(/^0+/, '');
  if (/^.{6}50*$/.test(exact) && Number(exact[5]) % 2 === 0) {  // a tie, which rounds to even
    const e = Number(x.toExponential().split('e')[1]) - 5;
    digits = (Math.sign(x) * Number(`${exact.slice(0, 6)}e${e}`)).toPrecision(6);
  }
  const exponent = Number(Number(digits).toExponential(5).split('e')[1]);
  if (exponent < -4 || exponent >= 6) {
    const [m, e] = Number(digits).toExponential(5).split('e');
    const short = m.replace(/\.?0+$/, '');
    return `${short}e${e[0]}${e.slice(1).padStart(2, '0')}`;
  }
  const plain = Number(digits).toFixed(Math.max(0, 5 - exponent));
  return plain.includes('.') ? plain.replace(/\.?0+$/, '') : plain;
}
function escaped(c) {
  const short = { '\t': '\\t', '\r': '\\r', '\n': '↵' }[c];
  const n = c.codePointAt(0);
  const digits = (x, size) => x.toString(16).padStart(size, '0');
  return short ?? (n < 256 ? `\\x${digits(n, 2)}`
    : n < 65536 ? `\\u${digits(n, 4)}` : `\\U${digits(n, 8)}`);
}
function shownAs(value, { as, event, path }) {
  must(as === undefined || ['block', 'verdict', 'name', 'path'].includes(as), 'report/as');
  if (as === 'verdict') {
    must(path === '/passed', 'report/as');
    const words = new Map([[true, 'holds'], [false, 'refuted'], [null, 'undecided']]);
    if (words.has(value)) return words.get(value);
  }
  let shown = canonical(value);
  const [tagName, inner] = isObject(value) ? Object.entries(value)[0] ?? [] : [];
  const one = isObject(value) && Object.keys(value).length === 1;
  if (isText(value)) shown = value || '(empty)';
  else if (one && tagName === '$int' && /^-?(0|[1-9][0-9]*)$/.test(inner)) shown = inner;
  else if (one && tagName === '$float'
    && /^(-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?|-?inf|nan)$/.test(inner)) shown = inner;
  else if (typeof value === 'number' && !Number.isSafeInteger(value)) shown = sixDigits(value);
  const most = as === 'block' ? 4000 : 300;
  const letters = [...shown];
  let rest = '';
  if (letters.length > most) {
    const more = String(letters.length - most).replace(/\B(?=(\d{3})+$)/g, ',');
    rest = `… (${more} more characters: muniment events show ${event} --full)`;
    shown = letters.slice(0, most).join('');
  }
  return shown.replace(HIDDEN, c => (c === '\n' && as === 'block' ? c : escaped(c))) + rest;
}

// Rules ----------------------------------------------------------------------------------------

const UNIT = 1074n;  // every double is an integer times 2^-1074
function toUnits(value) {
  if (isObject(value) && Object.keys(value).length === 1) {
    if (/^-?(0|[1-9][0-9]*)$/.test(value.$int ?? '')) return BigInt(value.$int) << UNIT;
    if (isText(value.$float)) value = Number(value.$float);
  }
  if (typeof value !== 'number' || !Number.isFinite(value)) return null;
  let shift = 0n;
  while (!Number.isInteger(value)) { value *= 2; shift += 1n; }
  return (BigInt(value) << UNIT) >> shift;
}
function toDouble(units) {  // rounded once
  const sign = units < 0n ? -1 : 1;
  const n = units < 0n ? -units : units;
  const extra = n.toString(2).length - 64;
  if (extra <= 0) return sign * Number(n) * 2 ** -537 * 2 ** -537;
  const cut = BigInt(extra);
  const kept = (n >> cut) | ((n & ((1n << cut) - 1n)) ? 1n : 0n);
  const e = extra - 1074;
  return sign * Number(kept) * 2 ** Math.trunc(e / 2) * 2 ** (e - Math.trunc(e / 2));
}
function written(x) {
  if (Number.isInteger(x)) {
    return Math.abs(x) < 2 ** 53 ? x : { $int: String(BigInt(x)) };
  }
  return x;
}
function byRule({ context }, cite) {
  const { ledger, runId, head, withheld, closing } = context;
  const { rule, of } = cite;
  must(Object.hasOwn(RULES, rule), 'report/rule');
  for (const k of [...ABOUT, 'event', 'head']) {
    must(cite[k] === undefined || RULES[rule].includes(k), 'report/attribute');
  }
  must(cite.as === undefined, 'report/attribute');
  const events = ledger.events.filter(e => e !== closing.event);
  const choice = () => {
    must(cite.run === runId, 'report/run');
    return events.filter(e => e.run === cite.run && (cite.type ?? e.type) === e.type
      && (cite.scope === undefined || cite.scope === '' || e.scope === cite.scope
        || e.scope.startsWith(`${cite.scope}/`))
      && (cite.series === undefined || e.m.series?.[cite.series]));
  };
  const numbers = list => {
    must(cite.path !== undefined, 'report/path');
    const out = [];
    for (const e of list) {
      let value;
      try { value = inData(context, e, cite.path); } catch (error) {
        if (error.rule === 'report/path') continue;
        throw error;
      }
      if (value instanceof Absent) return value;
      const units = toUnits(value);
      if (units !== null) out.push(units);
    }
    return out;
  };
  const total = list => toDouble(list.reduce((a, b) => a + b, 0n));
  const single = seq => {
    const event = events.find(e => String(e.seq) === seq);
    must(event || withheld.events.some(e => String(e.seq) === seq), 'report/of');
    if (!event) return new Absent('withheld');
    const found = numbers([event]);
    must(found instanceof Absent || found.length === 1, 'report/of');
    return found instanceof Absent ? found : toDouble(found[0]);
  };
  if (rule === 'count') return choice().length;
  if (rule === 'zero') return 0;
  if (rule === 'one') return 1;
  if (rule === 'minus') {
    const x = single(of);
    return x instanceof Absent ? x : written(0 - x);
  }
  if (rule === 'checkpoint') {
    must(['size', 'root'].includes(of), 'report/of');
    return of === 'size' ? head.size : hex(head.root);
  }
  if (rule === 'withheld') {
    must(['events', 'blobs'].includes(of), 'report/of');
    return of === 'events' ? withheld.events.length : withheld.blobs.size;
  }
  if (rule === 'runs') {
    let keys;
    try { keys = JSON.parse(of); } catch { must(false, 'report/of'); }
    must(Array.isArray(keys) && keys.every(isText), 'report/of');
    const stated = closing.event.data.series ?? [];
    if (!keys.every(k => stated.some(s => s.key === k && s.shown))) {
      return new Absent('not in this bundle');
    }
    return new Set(events.filter(e => keys.some(k => e.m.series?.[k])).map(e => e.run)).size;
  }
  const list = numbers(choice());
  if (list instanceof Absent) return list;
  if (rule === 'sum') return written(total(list));
  must(list.length, 'report/mean');
  const mean = total(list) / list.length;
  if (rule === 'mean') return written(mean);
  const [a, b] = (of ?? '').split(',').map(single);
  must(/^\d+,\d+$/.test(of), 'report/of');
  for (const x of [a, b]) if (x instanceof Absent) return x;
  return written(100 * (a - b) / Math.abs(mean));
}

// Marks ----------------------------------------------------------------------------------------

async function checkMark(state, token, shown) {
  const mark = await checkValue(state, token, shown, 'mark');
  const units = mark.found instanceof Absent ? null : toUnits(mark.found);
  must(units !== null && !['zero', 'one'].includes(mark.cite.rule), 'report/mark');
  const number = toDouble(units);
  must(Math.abs(number) < 1e300, 'report/mark');
  return { ...mark, number, token };
}
function checkFigure(figure) {
  if (!figure) return;
  const { marks, caption, log } = figure;
  must(new Set(marks.map(m => m.token)).size === marks.length, 'report/mark');
  if (log) must(marks.every(m => m.number > 0), 'report/mark');
  const scale = marks.map(m => (log ? Math.log(m.number) : m.number));
  const [low, high] = [Math.min(...scale), Math.max(...scale)];
  marks.forEach(({ cx }, i) => {
    const x = low === high ? 180 : 8 + 344 * (scale[i] - low) / (high - low);
    must(/^\d+\.\d$/.test(cx) && Math.abs(Number(cx) - x) < 0.0500001, 'report/mark');
  });
  if (!caption.length) return;
  must(caption.length === 2 && marks.length, 'report/caption');
  const values = caption.map(c => toUnits(c.found)).map(u => (u === null ? NaN : toDouble(u)));
  const numbers = marks.map(m => m.number);
  must(values[0] === Math.min(...numbers) && values[1] === Math.max(...numbers), 'report/caption');
}
