// Part of an independent verifier of evidence bundles: a witness for the tests. It was written from
// docs/spec by somebody who had not read the code. It is kept apart: it shares nothing with the other
// verifiers, and changes where the specification does, or where it fell short of that.
// A zip file in its one spelling: read the members, write the file again, compare the bytes.
import { byUnits, bytes, concat, equal, must, text } from './core.mjs';

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k += 1) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});
const crc = data => ~data.reduce((c, b) => TABLE[(c ^ b) & 255] ^ (c >>> 8), -1) >>> 0;
function pack(...fields) {  // [size in bytes, value]…, little-endian
  return Uint8Array.from(fields.flatMap(([size, value]) =>
    Array.from({ length: size }, (_, i) => Math.floor(value / 256 ** i) % 256)));
}
function zip(files) {
  const [local, central] = [[], []];
  let at = 0;
  for (const [name, data] of files) {
    const common = [[2, 20], [2, 0], [2, 0], [2, 0], [2, 0x21], [4, crc(data)], [4, data.length],
      [4, data.length], [2, bytes(name).length], [2, 0]];
    const header = concat(pack([4, 0x04034b50], ...common), bytes(name), data);
    central.push(pack([4, 0x02014b50], [2, 0x0314], ...common, [2, 0], [2, 0], [2, 0],
      [4, 0o100644 * 65536], [4, at]), bytes(name));
    local.push(header);
    at += header.length;
  }
  const directory = concat(...central);
  const end = pack([4, 0x06054b50], [2, 0], [2, 0], [2, files.size], [2, files.size],
    [4, directory.length], [4, at], [2, 0]);
  return concat(...local, directory, end);
}
export function unzip(data) {
  const files = new Map();
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const sign = (at, value) => at + 30 <= data.length && view.getUint32(at, true) === value;
  for (let at = 0; sign(at, 0x04034b50);) {
    const [size, n] = [view.getUint32(at + 18, true), view.getUint16(at + 26, true)];
    const name = text(data.subarray(at + 30, at + 30 + n));
    must(!files.has(name), 'zip/twice');
    files.set(name, data.subarray(at + 30 + n, at + 30 + n + size));
    at += 30 + n + size;
  }
  must(files.size <= 65535, 'zip/members');
  must(equal([...files.keys()], [...files.keys()].sort(byUnits)), 'zip/order');
  must(equal(zip(files), data), 'zip/spelling');
  return files;
}
