"""The sentences of ``docs/spec/evidence.md`` that demand something, and their tests."""

from __future__ import annotations

__all__ = ["EVIDENCE"]

SPOILED = "plugins/evidence/test_bundle_spoiled"
ALONE = f"{SPOILED}::test_each_file_alone"
SEALED = f"{SPOILED}::test_each_file_with_a_manifest_that_agrees"
ZIP = "plugins/evidence/test_bundle_zip"
FORGED = "plugins/evidence/test_bundle_forged"
WRITTEN = "plugins/evidence/test_bundle_written"

EVIDENCE = {
    "It MUST have these files, and": ALONE,
    "A file in a directory MUST be a regular file": (
        f"{ZIP}::test_what_is_no_file_in_a_directory"
    ),
    "A zip file MUST be exactly": f"{ZIP}::test_every_hundredth_byte",
    "Each line MUST be the 64": ALONE,
    "The lines MUST be in the order of the names": ALONE,
    "The events MUST be, in the order of the log": (
        f"{FORGED}::test_an_event_of_another_run"
    ),
    "A verifier MUST judge each as a row of the ledger": SEALED,
    "the later one MUST name the leaf hash of the earlier": SEALED,
    "It MUST take the keys from the events alone": SEALED,
    "and MUST refuse an event that belongs to none": (
        f"{FORGED}::test_an_event_of_another_run"
    ),
    "Each blob that an event refers to MUST be there": SEALED,
    "names it; then it MUST NOT be there": f"{FORGED}::test_a_blob_that_was_erased",
    "A blob to which no event refers MUST NOT be there": SEALED,
    "`proofs.jsonl` MUST be the canonical JSON": f"{FORGED}::test_proofs_of_another_form",
    "Both checkpoints MUST have one signature line": (
        f"{FORGED}::test_proofs_of_another_form"
    ),
    "A verifier MUST check that it leads from the one": ALONE,
    "Its subjects MUST be the files": f"{SPOILED}::test_parts_of_two_honest_bundles",
    "A verifier MUST judge it like": ALONE,
    "MUST refuse one whose number is not above theirs": (
        f"{FORGED}::test_a_closing_event_before_the_last"
    ),
    "and MUST refuse one that states another run": (
        f"{FORGED}::test_a_closing_event_that_lies"
    ),
    "A verifier MUST write them again and compare the bytes": SEALED,
    "A writer MUST NOT append a second closing event": (
        f"{WRITTEN}::test_the_same_run_gives_the_same_bytes"
    ),
    "MUST NOT take a key that came with the bundle": (
        f"{SPOILED}::test_keys_that_come_with_a_bundle_prove_nothing"
    ),
    "MUST name the file in each finding": ALONE,
    "MUST compare a checkpoint that its user kept": f"{FORGED}::test_an_anchor",
    "and MUST NOT call the bundle intact if it was given": f"{FORGED}::test_an_anchor",
    "MUST call the completeness of the run *checked* only": (
        f"{WRITTEN}::test_a_run_that_goes_on"
    ),
}
