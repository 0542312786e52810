// Part of an independent verifier of evidence bundles: a witness for the tests. It was written from
// docs/spec by somebody who had not read the code. It is kept apart: it shares nothing with the other
// verifiers, and changes where the specification does, or where it fell short of that.
//   node server.mjs    a path and a key on each line, with a tab between → {"exit": …, "what": …}
import * as fs from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { judge } from './verify.mjs';

process.removeAllListeners('warning');
process.on('warning', () => {});
for await (const line of createInterface({ input: process.stdin })) {
  const [path, key] = line.split('\t');
  let told;
  try {
    const found = await judge(path, key, fs);
    const what = found.exit === 1 ? `${found.file} ${found.seq} ${found.rule}`
      : found.error ?? found.completeness;
    told = { exit: found.exit, what };
  } catch (error) { told = { exit: 99, what: String(error.stack).slice(0, 400) }; }
  console.log(JSON.stringify(told));
}
