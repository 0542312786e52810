"""The reason codes of failures: each has one class, a meaning, and what to do.

    CODES["budget_exhausted"].failure_class     "authority"
    CODES["timed_out"].retry                    True: the same again may succeed

Rules:

- A code is stable: programs may depend on its name and its class. What it means, and what
  to do, are words, which may get better.
- *structural*: a program, a flow or a call is built wrongly. *semantic*: what was made,
  said or compared does not hold. *environmental*: what is around the program failed it.
  *authority*: a policy, a person or the ledger's own rules did not allow it.
- ``retry`` says whether trying again, with nothing changed, can help.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

__all__ = ["CODES", "FAILURE_CLASSES", "FailureClass", "ReasonCode"]

FailureClass: TypeAlias = Literal[
    "structural", "semantic", "environmental", "authority"
]

FAILURE_CLASSES: tuple[FailureClass, ...] = get_args(FailureClass)


@dataclass(frozen=True, slots=True)
class ReasonCode:
    """One reason for which runs fail."""

    code: str
    failure_class: FailureClass
    means: str
    remedy: str
    """What to do, as a sentence for people."""
    retry: bool = False


def _of(failure_class: FailureClass, *rows: tuple[str, str, str]) -> list[ReasonCode]:
    """Return the codes in *rows*; a name with ``*`` is one that a retry may help."""
    return [
        ReasonCode(name.rstrip("*"), failure_class, means, remedy, name.endswith("*"))
        for name, means, remedy in rows
    ]


_STRUCTURAL = _of(
    "structural",
    (
        "call_invalid",
        "muniment was asked for something that cannot be: a wrong argument or name",
        "correct the call that the message names",
    ),
    (
        "code_failed",
        "code in a capsule raised, or returned nothing that counts as a result",
        "correct the code, or ask the model for other code",
    ),
    (
        "document_invalid",
        "a flow, a graph or a policy has a mistake, or does not fit what it belongs to",
        "correct the document at the key that the message names; `muniment plan` checks",
    ),
    (
        "experiment_incomplete",
        "an experiment ended, and not everything in it was measured and judged",
        "look at the failures of its replicates; a resume measures those again",
    ),
    (
        "experiment_invalid",
        "a claim, a spec, a step or a verifier of an experiment is built wrongly",
        "correct the experiment, as the message says",
    ),
    (
        "flow_step_broken",
        "a function of a flow raised, or made something that a flow may not make",
        "correct the function that the message names",
    ),
    (
        "muniment_bug",
        "muniment itself failed, where it should not have",
        "report it, with what --debug prints",
    ),
    (
        "node_failed",
        "a node of a graph came to a bad end, and no edge leads on from there",
        "look at what the node did; let an edge take its failure, if it may fail",
    ),
    (
        "program_changed",
        "the program is not the one of the record, or cannot be found under its name",
        "give the program of the record with --program, or start a new run",
    ),
    (
        "program_exited",
        "a recorded program ended with an exit code other than 0",
        "look at what the program printed; a resume runs it again",
    ),
    (
        "program_raised",
        "the program raised an error of its own, which no effect had caused",
        "correct the program; a replay runs into the same error",
    ),
    (
        "value_unrecordable",
        "a value has no exact form in a record: a foreign class, a lone surrogate",
        "give the value in another form, or register its class",
    ),
)
_SEMANTIC = _of(
    "semantic",
    (
        "contradiction_detected",
        "verification failed, since claims contradict each other",
        "correct the claims, or what they rest on; the verdict names them",
    ),
    (
        "hypothesis_unjudged",
        "a verifier refused to judge a hypothesis, or failed",
        "look at the verifier, and at the numbers that it was given",
    ),
    (
        "nondeterminism_undeclared",
        "an effect is less certain than was declared: no intent, or a magnitude too large",
        "declare it in the flow or the policy, with a justification, or leave it out",
    ),
    (
        "record_contradictory",
        "evidence contradicts itself, or what is remembered of it",
        "rely on none of it; `muniment verify` says what is wrong, and where",
    ),
    (
        "replay_diverged",
        "the program did something else than the record holds",
        "find what the program takes from outside its effects; compare the first divergence",
    ),
    (
        "replay_non_certifiable",
        "the run cannot be certified, whatever its replay comes to",
        "look at its marks: they say why; start a new run without them",
    ),
    (
        "verification_failed",
        "the rules of a policy judged what a step or a flow made, and it does not hold",
        "correct what was made, or the evidence; each verdict says what is wrong",
    ),
)
_ENVIRONMENTAL = _of(
    "environmental",
    (
        "code_over_limit*",
        "code in a capsule was stopped: time, memory, output or a forbidden system call",
        "raise the limit if the code may need so much, or correct the code",
    ),
    (
        "content_erased",
        "content that is needed was erased, and an event says so",
        "nothing brings it back; start a new run",
    ),
    (
        "dataset_changed",
        "the data of a flow is missing, or not the data of its digest",
        "bring the data of the digest back, or declare a new version",
    ),
    (
        "effect_cancelled*",
        "the program stopped waiting for an effect",
        "look at why it stopped; it may wait longer",
    ),
    (
        "effect_failed*",
        "what performs an effect failed: a tool, a command, a read of data",
        "look at the error of the effect; a resume performs it again",
    ),
    (
        "effect_in_doubt",
        "an effect may have happened, and nobody said whether to perform it again",
        "find out whether it happened; resume with --repeat-doubtful if it may be repeated",
    ),
    (
        "environment_changed",
        "the run would continue in another environment than it began in",
        "restore what the fingerprint of the run names, or allow the change by policy",
    ),
    (
        "interrupted*",
        "somebody, or the system, stopped the run from outside",
        "resume it: completed effects are not repeated",
    ),
    (
        "isolation_missing",
        "isolation that was asked for is not to be had on this machine",
        "`muniment doctor` says what is missing, and how to get it",
    ),
    (
        "key_unusable",
        "a key is missing here, locked, or cannot be read",
        "bring the key, or its passphrase; `muniment keys` lists what is known",
    ),
    (
        "needed_missing",
        "something that is needed for an answer is missing or unreadable",
        "bring what the message names",
    ),
    (
        "owner_gone*",
        "the process that ran it is gone, without having written an end",
        "resume it: completed effects are not repeated",
    ),
    (
        "owner_unseen",
        "the process that ran it is on another machine, and cannot be looked at from here",
        "look there; once it is gone, resume with --take-over",
    ),
    (
        "package_missing",
        "a Python package that is needed is not installed",
        "install what the message names",
    ),
    (
        "place_unwritable",
        "a file could not be written where it was to be",
        "make room, or give another place",
    ),
    (
        "plugin_missing",
        "a plugin that is needed is not active, or did not load",
        "allow it in MUNIMENT_PLUGINS; `muniment plugins` says why one did not load",
    ),
    (
        "provider_failed*",
        "a model's provider could not be reached, or gave no usable answer",
        "try again later; a resume asks again",
    ),
    (
        "provider_refused",
        "a model's provider refused the request: its key, its model, its content",
        "look at the status and the message: key, model's name, request",
    ),
    (
        "store_unusable*",
        "the ledger's file could not be read or written: locked, full, damaged",
        "make the file usable; `muniment doctor` says what is wrong with it",
    ),
    (
        "timed_out*",
        "an answer did not come in time",
        "try again, or wait longer",
    ),
    (
        "worker_lost*",
        "a process that did a part of the work ended too early",
        "try again; look at the memory of the machine",
    ),
)
_AUTHORITY = _of(
    "authority",
    (
        "answer_refused",
        "an answer to a decision does not count: its key, its signature, its form",
        "let a person who may decide sign again: `muniment approve`, `muniment deny`",
    ),
    (
        "budget_exhausted",
        "a budget of the run's policy or flow is used up, and it halts",
        "have its policy amended by those who may, or start a new run",
    ),
    (
        "canceled",
        "somebody gave the run up",
        "start a new run; a canceled run is not resumed",
    ),
    (
        "code_out_of_bounds",
        "code asks for more than its spec allows: an import, a name, syntax",
        "leave it out, or allow it in the spec",
    ),
    (
        "decision_awaited",
        "the run waits for people to decide",
        "approve or deny what it asks: `muniment inbox` lists it",
    ),
    (
        "decision_denied",
        "people were asked, and denied it",
        "change what they denied, and ask them in a new run",
    ),
    (
        "effect_refused",
        "a plugin refused an effect before it was performed, or its answer",
        "change the request, or the rules of the plugin that the event names",
    ),
    (
        "fact_refused",
        "a plugin refused an event that the program wanted to record",
        "change what is recorded, or the rules of the plugin that the event names",
    ),
    (
        "key_refused",
        "a key is weak, exposed, revoked, or may not sign this",
        "use a key that is enrolled for it; `muniment keys` says which are",
    ),
    (
        "ownership_lost",
        "another process took the run over, or it was given up, or it is complete",
        "let whoever owns it finish",
    ),
    (
        "paused",
        "the program asked for a pause",
        "resume it when that is over",
    ),
    (
        "policy_refused",
        "a policy does not allow the run, the flow, or what it declares",
        "change the flow, or have its policy changed by those who may",
    ),
    (
        "refused",
        "a rule said no",
        "do what the message says; the rule has a name there",
    ),
    (
        "source_not_allowed",
        "an effect is of a source of uncertainty that its budget does not list",
        "leave the effect out, or have the source allowed",
    ),
    (
        "write_refused",
        "the ledger's own rules do not take an event, or a change of the ledger",
        "do what the message says: trust, place, size, order",
    ),
)

CODES: Mapping[str, ReasonCode] = MappingProxyType(
    {
        one.code: one
        for one in sorted(
            [*_STRUCTURAL, *_SEMANTIC, *_ENVIRONMENTAL, *_AUTHORITY],
            key=lambda one: (FAILURE_CLASSES.index(one.failure_class), one.code),
        )
    }
)
"""Code → what it is: by class, then by name."""
