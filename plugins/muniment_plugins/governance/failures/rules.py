"""From the rule that an error names to the reason code of the failure.

    code_of_rule("store/full")      the code of exactly this rule
    code_of_rule("store/…")         that of its family, ``store/*``

Rules:

- Each rule has one code. A rule that is not listed has that of its family; a family is
  listed with the code that holds for its other rules.
- ``effect/<kind>`` says only that an effect failed: its outcome says more.
- Of a rule whose family is unknown, as of somebody else's plugin, the class of the error
  decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from muniment_plugins.governance.failures.codes import CODES, ReasonCode

__all__ = ["FAMILIES", "RULES", "code_of_rule", "rule_in"]

_FAMILIES = """
anchor         record_contradictory
append         fact_refused
attestation    call_invalid
backup         call_invalid
blob           record_contradictory
bundle         record_contradictory
canonical      value_unrecordable
capsule        code_out_of_bounds
checkpoint     record_contradictory
child          record_contradictory
claim          call_invalid
cli            call_invalid
compare        needed_missing
continues      call_invalid
cose           needed_missing
dataset        dataset_changed
decision       answer_refused
demo           call_invalid
diff           needed_missing
directory      call_invalid
dsse           record_contradictory
effect         effect_failed
erase          call_invalid
evals          document_invalid
event          record_contradictory
evidence       call_invalid
example        call_invalid
executor       call_invalid
export         call_invalid
file           needed_missing
flow           document_invalid
fork           call_invalid
harness        experiment_invalid
head           record_contradictory
inbox          call_invalid
judgement      call_invalid
key            key_refused
ledger         call_invalid
merkle         call_invalid
note           record_contradictory
observation    call_invalid
plugin         plugin_missing
policy         document_invalid
program        program_changed
proof          needed_missing
provider       call_invalid
query          call_invalid
record         call_invalid
replay         replay_diverged
report         call_invalid
resume         plugin_missing
run            call_invalid
schema         record_contradictory
scope          call_invalid
series         record_contradictory
signing        key_unusable
session        call_invalid
sigstore       record_contradictory
store          store_unusable
subject        record_contradictory
tile           record_contradictory
timer          call_invalid
tlog-proof     record_contradictory
trust          key_unusable
value          value_unrecordable
verify         worker_lost
vkey           record_contradictory
workflow       document_invalid
zip            record_contradictory
"""
_RULES = """
content_erased        attestation/erased blob/erased
needed_missing        anchor/format anchor/missing anchor/uncompared attestation/none
                      blob/missing blob/unreadable bundle/absent bundle/unreadable
                      bundle/withheld continues/no-checkpoint event/genesis
                      evals/file-gone evidence/blob evidence/checkpoint inbox/file judgement/nothing
                      key/elsewhere key/formats key/given record/missing replay/open
                      replay/unrecorded schema/version tlog-proof/beyond-ledger
                      tlog-proof/no-event verify/uncompared
key_unusable          attestation/no-key cose/no-key evidence/no-checkpoint-key
                      evidence/no-key key/missing key/passphrase key/unreadable
                      tlog-proof/no-key compare/no-key
place_unwritable      anchor/unwritable backup/unwritable checkpoint/output
                      cli/unwritable evidence/output harness/artifact key/unwritable
                      trust/unwritable head/unusable
store_unusable        blob/unremovable erase/wal
record_contradictory  demo/unexpected file/index file/size ledger/foreign
                      merkle/frontier report/carried report/checkpoint report/citation
                      report/content report/frame report/number report/value
                      run/after-end run/counts run/order run/ordinal run/root
                      run/scope run/start value/content value/json value/tag
                      fork/answer fork/origin evidence/changing
call_invalid          blob/directory blob/unknown checkpoint/ledger-id
                      cli/directory cli/name event/own event/plain event/reserved
                      event/type-model event/type-name event/type-twice
                      event/type-unknown event/unknown key/exists key/fingerprint
                      key/request key/root ledger/exists plugin/twice plugin/unknown
                      replay/mode replay/no-command replay/command store/url
                      trust/digest trust/keyid trust/ledger-id trust/location
                      value/register head/value signing/scheme decision/quorum
                      workflow/key workflow/run run/document program/path
                      evals/file evals/label evals/no-run evals/one-side
                      evals/unused-run
                      decision/payload effect/async effect/child effect/inside
                      effect/kind effect/kind-unknown effect/no-key
                      effect/own file/scheme
                      capsule/batch capsule/code capsule/policy capsule/request
                      capsule/workers policy/same policy/none policy/amendment
                      policy/run policy/size policy/told executor/unknown
muniment_bug          cli/bug
owner_gone            cli/left
effect_in_doubt       effect/doubt effect/secret fork/secret fork/cancelled
effect_refused        effect/plugin effect/request effect/response
write_refused         event/claim event/counts event/data event/series event/size
                      event/time-ahead head/rolled-back ledger/unpinned
                      ledger/process program/beside program/importing query/forbidden
                      query/size run/dry-end run/process store/read-only
                      fork/decision
ownership_lost        run/canceled run/complete run/ended run/fenced run/owned
program_changed       plugin/stable-name replay/program run/import harness/function
                      harness/import flow/functions flow/function
plugin_missing        evals/plugin record/plugin replay/plugin policy/plugin judgement/plugin
                      run/labelled
                      flow/plugin
package_missing       executor/package export/package provider/missing value/package
                      value/unregistered
isolation_missing     capsule/level capsule/spawn capsule/engine replay/isolation
                      replay/untrusted
code_over_limit       capsule/cpu capsule/memory capsule/result-size
                      capsule/signal capsule/system-call capsule/protocol
                      capsule/wall replay/starved replay/timeout
code_failed           capsule/raised capsule/refused capsule/result
                      capsule/non-finite capsule/prepare capsule/entrypoint
                      capsule/syntax harness/output harness/entrypoint
experiment_incomplete harness/failed harness/replicates
replay_non_certifiable evals/marked
hypothesis_unjudged   harness/verifier harness/vacuous
provider_failed       harness/llm harness/llm-refused provider/answer provider/failed flow/llm
provider_refused      provider/no-key
dataset_changed       harness/data flow/dataset
environment_changed   flow/environment
verification_failed   flow/verification
decision_denied       flow/denied policy/denied
decision_awaited      run/paused
budget_exhausted      flow/budget
policy_refused        flow/policy flow/state flow/strict policy/flow
                      policy/forged policy/held run/plugin run/strict
flow_step_broken      flow/agent flow/artifact flow/artifact-id flow/artifact-scope
                      flow/artifact-type program/async flow/evidence flow/import
                      flow/lineage flow/reasoner flow/reasoning flow/retriever
                      flow/rule flow/statement
node_failed           session/hard-limit workflow/session workflow/transcript
node_failed           workflow/answer workflow/condition workflow/failed
                      workflow/agent-stopped workflow/input-schema
                      workflow/inputs workflow/lineage
                      workflow/output-schema workflow/outputs workflow/own-id
                      workflow/own-kind
                      workflow/steps workflow/verify-path workflow/visits
verification_failed   workflow/unverified
decision_denied       workflow/tool-denied
policy_refused        workflow/ceiling workflow/other-start
                      workflow/recursion-limit workflow/started
program_changed       workflow/changed workflow/function
needed_missing        workflow/folder workflow/model workflow/needs workflow/tool
plugin_missing        workflow/kind workflow/kind-missing
needed_missing        workflow/not-committed session/unknown
record_contradictory  workflow/history workflow/record session/history
call_invalid          workflow/continue workflow/mail-answered workflow/mail-kind workflow/mail-name
                      workflow/onto workflow/mail-race workflow/mail-size workflow/plan-done
                      workflow/plan-size
                      workflow/query replay/reader
needed_missing        workflow/update-open
node_failed           workflow/update-refused
write_refused         workflow/undelivered
write_refused         session/closed session/exists session/held session/no-series
                      session/open session/written-meanwhile session/in-use session/left
write_refused         workflow/committed-meanwhile workflow/edits workflow/no-series
                      workflow/not-following workflow/patch-test workflow/unchanged
replay_diverged       child/result
isolation_missing     replay/memory
needed_missing        replay/child replay/denied replay/lacking replay/secret
"""

FAMILIES: Mapping[str, ReasonCode] = {
    family: CODES[code]
    for family, code in (line.split() for line in _FAMILIES.split("\n") if line)
}
"""First half of a rule → the code of those that are not listed one by one."""


def _listed() -> dict[str, ReasonCode]:
    found: dict[str, ReasonCode] = {}
    code = ""
    for word in _RULES.split():
        if "/" not in word:
            code = word
        elif word in found:
            raise AssertionError(f"{word} has two codes")
        else:
            found[word] = CODES[code]
    return found


RULES: Mapping[str, ReasonCode] = _listed()
"""Rule → its code, where that is not the family's."""

_AT_THE_END = re.compile(r"\[([a-z][a-z-]*/[a-z][a-z0-9_.-]*)\](?=;|$|\n)")


def code_of_rule(rule: str) -> ReasonCode | None:
    """Return the code of *rule*; None if nothing is known of its family."""
    return RULES.get(rule) or FAMILIES.get(rule.partition("/")[0])


def rule_in(message: str) -> str | None:
    """Return the rule that the message of an error names: ``… [rule/name]; …``.

    Of several, as in an error that quotes another one, it is the last of the first line.
    """
    found = _AT_THE_END.findall(message.partition("\n")[0])
    return found[-1] if found else None
