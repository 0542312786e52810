// Checks a Sigstore bundle with @sigstore/verify, through its public interface.
//
//     node verify.cjs MODULES BUNDLE TRUSTED_ROOT KEY       exit 0: nothing is wrong but
//                                                          the digest; 1: something is
//
// An entry of the log has the SHA-512 of what an Ed25519 key signed; the library compares
// with SHA-256 whatever the key is. It does so after the proof, the tree head and the
// signature in the entry, and before the envelope's own signature. So the bundle has to
// get as far as that comparison, and the envelope has to verify without its entry.
// With a P-256 key, nothing at all may be wrong.
'use strict';

const { createRequire } = require('node:module');
const { readFileSync } = require('node:fs');

const [modules, bundlePath, rootPath, keyPath] = process.argv.slice(2);
const load = createRequire(`${modules}/`);
const { bundleFromJSON } = load('@sigstore/bundle');
const { TrustedRoot } = load('@sigstore/protobuf-specs');
const { VerificationError, Verifier, toSignedEntity, toTrustMaterial } =
  load('@sigstore/verify');

const readJSON = (path) => JSON.parse(readFileSync(path, 'utf8'));
const json = readJSON(bundlePath);
const pem = readFileSync(keyPath, 'utf8').split('\n');
const rawBytes = Buffer.from(pem.slice(1, -2).join(''), 'base64');
const hint = json.verificationMaterial.publicKey.hint;
const trust = toTrustMaterial(TrustedRoot.fromJSON(readJSON(rootPath)), {
  [hint]: { rawBytes },
});

// Returns what is wrong; null if nothing is.
function fault(bundle, tlogThreshold) {
  const verifier = new Verifier(trust, { tlogThreshold, timestampThreshold: 0 });
  try {
    verifier.verify(toSignedEntity(bundleFromJSON(bundle)));
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    return `${error.code}: ${error.message}`;
  }
  return null;
}

const whole = fault(json, 1);
json.verificationMaterial.tlogEntries = [];
const envelope = fault(json, 0);
console.log(JSON.stringify({ whole, envelope }));
const P256 = 91; // bytes of a SubjectPublicKeyInfo
const wanted = rawBytes.length === P256 ? null : 'TLOG_BODY_ERROR: digest mismatch';
process.exit(whole === wanted && envelope === null ? 0 : 1);
