// Part of an independent verifier of evidence bundles: a witness for the tests. It was written from
// docs/spec by somebody who had not read the code. It is kept apart: it shares nothing with the other
// verifiers, and changes where the specification does, or where it fell short of that.
// The fields of the kernel's types, version 1: event.md, Data. Those that begin with decision. are
// compared from version 4 of the events on.
import { isInt, isObject, isText, must } from './core.mjs';

const ref = v => isObject(v) && Object.hasOwn(v, '$blob');
const texts = v => isObject(v) && Object.values(v).every(isText);
const tagged = (v, tag) => (isObject(v) && Object.keys(v).join() === tag && isText(v[tag])
  ? v[tag] : null);
function spelledInt(text) {  // beyond what JSON has
  if (text === null || !/^-?[1-9][0-9]{0,4299}$/.test(text)) return false;
  return !Number.isSafeInteger(Number(text));
}
function spelledFloat(text) {  // without a fraction: values.md
  if (['inf', '-inf', 'nan', '-0.0'].includes(text)) return true;
  const x = Number(text);
  if (text === null || !Number.isInteger(x)) return false;
  return text === (Math.abs(x) < 1e16 ? `${x}.0` : x.toExponential());
}
const integer = v => isInt(v) || spelledInt(tagged(v, '$int'));
const number = v => typeof v === 'number' || spelledFloat(tagged(v, '$float'));
const counts = v => isObject(v) && Object.values(v).every(integer);
const FIELD = { t: isText, r: ref, b: v => typeof v === 'boolean', i: integer, f: number, c: counts, o: isObject,
  l: Array.isArray, T: v => isText(v) || ref(v), L: v => Array.isArray(v) || ref(v),
  O: v => isObject(v) || ref(v), m: texts,
  s: v => Array.isArray(v) && v.every(isText), a: () => true };
const TYPES = Object.fromEntries(`
blob.erased blobs:s reason:T legal_basis?:t
claim.stated id:t text:T acceptance?:O
clock.read time:t answered_by?:o
decision.asked subject:r quorum:i prompt?:r of?:s visibility?:t
decision.given envelope:o
decision.reached asked:t outcome:t answers:l
decision.refused rule:t envelope:t asked?:t
note.added text:T details?:r
pause.stated reason:T
plugin.failed plugin:t hook:t error_type:t message:r event?:i
plugin.refused plugin:t event_type:t scope:t reason:r
property.tested name:t transform:t passed:b metric?:t tolerance?:f difference?:f details?:r
replay.judged replay_of:t mode:t verdict:t compared:i guards?:l findings?:r level?:t \
  details?:r children?:i
run.canceled reason:T generation:i
run.completed root:t counts?:c duration_us?:i result?:r visibility?:t
run.failed root:t error_type:t message:r counts?:c duration_us?:i status?:t cause?:l \
  visibility?:t
run.interrupted reason:t
run.marked mark:t reason:T
run.paused reason:T waits_for?:s
run.resumed generation:i program?:o owner?:o took_over?:b supersedes?:l
run.started name:t seed:t program?:o params?:r labels?:m replay_of?:t plugins?:m \
  environment?:o owner?:o parent?:m fork?:o changed?:r visibility?:t
synthesis.attempted code:T accepted:b attempt?:i entrypoint?:t origin?:t rule?:t message?:t \
  line?:i column?:i
verdict.reached hypothesis:t verifier:t passed?:b source?:t p_value?:f result?:a settings?:O \
  inputs?:L integrity?:t level?:t
`.trim().replace(/\\\n/g, ' ').split('\n').map(line => {
  const [type, ...fields] = line.split(/ +/);
  return [type, fields.map(f => /^(\w+)(\??):(\w)$/.exec(f).slice(1))];
}));

export function checkData({ type, version, data }, format) {
  if (type.startsWith('decision.') && format < 4) return;
  for (const [name, optional, kind] of (version === 1 && TYPES[type]) || []) {
    const value = data[name];
    must(value === undefined ? optional : FIELD[kind](value), 'event/data');
  }
}
