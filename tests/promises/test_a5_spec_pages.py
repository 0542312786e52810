"""Each sentence of the specification that demands something is tried by a test.

What a forged ledger can break stands in `breaches`; this names for each
other sentence the test that breaks it. A sentence that neither has is listed as untried:
a new one, or one that is worded anew, fails here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from evidence_sentences import EVIDENCE
from normative import SPEC, Page
from spec_breaches import CASES

TESTS = Path(__file__).parents[1]

VALUES = {
    "Decoding what was encoded MUST give an equal value": (
        "ledger/test_values::test_every_accepted_value_comes_back_equal"
    ),
    "for which this does not hold MUST be refused": (
        "ledger/test_value_types::test_types_that_do_not_come_back_are_refused"
    ),
    "it MUST be handed the decoded form": (
        "ledger/test_value_forms"
        "::test_settle_shares_nothing_and_orders_keys_as_the_record_does"
    ),
    "contains itself MUST be refused": (
        "ledger/test_value_forms::test_refusals_name_rule_and_place"
    ),
    "MUST be refused unless its class is registered": (
        "ledger/test_value_forms::test_refusals_name_rule_and_place"
    ),
    "included, MUST NOT be nested deeper": (
        "ledger/test_value_forms::test_sixty_four_levels_are_enough"
    ),
    "It MUST have a [canonical form]": (
        "ledger/test_value_forms::test_refusals_name_rule_and_place"
    ),
    "Arrays and columns of Python objects, and long doubles, MUST be refused. So MUST": (
        "ledger/test_value_forms::test_refusals_name_rule_and_place"
    ),
    "a decoder MUST call every other spelling wrong": (
        "ledger/test_value_forms::test_malformed_records_are_wrong"
    ),
    "A decoder MUST NOT import or call anything": (
        "ledger/test_value_types::test_a_record_says_nothing_to_import"
    ),
    "An encoder MUST build the value again": (
        "ledger/test_value_types::test_types_that_do_not_come_back_are_refused"
    ),
}

CHILDREN = "ledger/test_forged_children::test_each_lie_is_found"
EVENT = {
    "the `run` of `parent` MUST have started before the child": CHILDREN,
    "`root` MUST be the root of that run": CHILDREN,
    "the start of a child MUST be about its call and its parent": CHILDREN,
    "of a call that was performed MUST name a child whose `parent`": CHILDREN,
    "its `value` MUST have the content of the `result` there": CHILDREN,
    "Its `count` MUST be one more than that of the event before it in the series": (
        "ledger/test_forged_series::test_each_tampering_is_found"
    ),
    "and its `prev` MUST be that event's leaf hash": (
        "ledger/test_forged_series::test_a_false_place_is_found_wherever_it_is"
    ),
    "the same run, and MUST NOT from another one": (
        "promises/test_a5_spec_each_alone::test_no_blob_is_shared_by_two_runs"
    ),
    "A reader MUST keep events of types and versions that it does not know, and MUST": (
        "promises/test_a5_spec_each_alone::test_unknown_types_are_judged_like_all_others"
    ),
    "a reader that meets one MUST keep the first end": (
        "promises/test_a5_spec_each_alone::test_readers_keep_the_first_end"
    ),
    "a verifier MUST NOT conclude anything from them": (
        "promises/test_a5_spec_each_alone::test_an_actor_has_no_rights"
    ),
    "A writer MUST NOT append to an event more than a day ahead": (
        "promises/test_a5_time::test_a_writer_is_not_dragged_along"
    ),
    "a verifier MUST compare the known fields of the kernel's types": (
        "promises/test_a5_kernel_data::test_every_field_of_every_type"
    ),
    "Content that may be personal MUST NOT stand in the payload": (
        "ledger/test_spec_event::test_texts_that_may_be_personal"
    ),
    "A writer MUST take a fresh salt": (
        "ledger/test_erasure::test_a_guess_cannot_be_confirmed"
    ),
    "MUST NOT call an event wrong because its blob was erased": (
        "promises/test_a5_rules_of_the_spec::test_the_same_without_the_breach"
    ),
    "Public keys MUST be 32 bytes": "ledger/test_keys::test_what_is_no_public_key",
    "Readers MUST refuse the 14 encodings": (
        "ledger/test_keys::test_the_public_list_of_low_order_points"
    ),
    "an end) MUST follow": (
        "promises/test_a3_nothing_after_the_end::test_a_second_end_is_found"
    ),
    "no event of the run MUST follow": (
        "promises/test_a3_nothing_after_the_end::test_nothing_follows"
    ),
    "It MUST have exactly these objects": (
        "ledger/test_verifier_histories::test_planted_objects"
    ),
    "a verifier MUST recompute it": (
        "ledger/test_verifier_attacks::test_every_column_of_every_row"
    ),
    "A writer MUST read the head and insert in one transaction": (
        "ledger/test_concurrency::test_eight_processes_and_a_thousand_appends_each"
    ),
    "and MUST have it durable before it reports": (
        "ledger/test_crashes::test_two_hundred_kills_of_several_writers"
    ),
    "A verifier MUST open the file read-only": (
        "ledger/test_verifier::test_verify_writes_nothing"
    ),
    "and MUST compare the text of all objects": (
        "promises/test_a4_bounds::test_what_is_planted_between_two_looks"
    ),
}

CHECKPOINT = {
    "A verifier MUST choose the key from a source that it trusts and MUST NOT take": (
        "promises/test_a5_proofs_and_notes::test_no_forged_proof_verifies"
    ),
    "a verifier MUST NOT take them from a proof": (
        "ledger/test_tlog_proof::test_each_lie_of_a_proof_has_its_own_rule"
    ),
    "It MUST NOT accept an entry from elsewhere": (
        "promises/test_a5_spec_each_alone::test_an_entry_from_elsewhere_counts_for_nothing"
    ),
    "A verifier MUST build the entry from the stored payload": (
        "promises/test_a5_spec_each_alone::test_an_entry_from_elsewhere_counts_for_nothing"
    ),
    "A verifier MUST NOT conclude from it that Ed25519ph was used": (
        "promises/test_a5_spec_each_alone::test_a_signature_of_a_digest_is_none"
    ),
    "The signature MUST be Ed25519": (
        "ledger/test_signing::test_the_bytes_are_those_of_the_specification"
    ),
    "The envelope MUST have exactly one signature. Its `keyid` MUST be": (
        "ledger/test_signing::test_each_fault_has_its_own_rule"
    ),
    "it MUST refuse a signature under the `keyid` of another key": (
        "ledger/test_signing::test_a_signature_under_another_key_id_does_not_count"
    ),
    "The JSON of an envelope MUST be canonical": (
        "ledger/test_signing::test_only_canonical_json_is_read"
    ),
    "and MUST have these members only": (
        "ledger/test_signing::test_each_fault_has_its_own_rule"
    ),
    "`keyDetails` MUST be `PKIX_ED25519_PH`": (
        "ledger/test_signing::test_the_bytes_are_those_of_the_specification"
    ),
    "A verifier MUST check them as in": (
        "ledger/test_merkle::test_altered_inclusion_proofs_are_refused"
    ),
    "and MUST refuse a hash that is not 32 bytes": (
        "ledger/test_merkle::test_bytes_cannot_move_between_neighbours"
    ),
    "The origin of a ledger MUST be": (
        "ledger/test_checkpoint::test_only_a_ledger_id_has_an_origin"
    ),
    "The size MUST NOT be 0 unless": (
        "ledger/test_checkpoint::test_each_fault_of_a_checkpoint_has_its_own_rule"
    ),
    "One signature line MUST be the log's. Its name MUST be the origin": (
        "ledger/test_note::test_a_signature_under_another_name_does_not_count"
    ),
    "MUST refuse a note that is not UTF-8": (
        "ledger/test_note::test_each_fault_has_its_own_rule"
    ),
    "MUST refuse a note in which a line with the name and mark": (
        "ledger/test_note::test_a_wrong_line_of_a_known_key_spoils_the_note"
    ),
    "MUST ignore lines with other names and marks": (
        "ledger/test_checkpoint::test_a_witness_may_sign_below"
    ),
    "a verifier MUST NOT conclude anything from it before": (
        "promises/test_a5_proofs_and_notes::test_no_forged_proof_verifies"
    ),
    "A verifier MUST verify the checkpoint, MUST refuse an index": (
        "ledger/test_tlog_proof::test_each_lie_of_a_proof_has_its_own_rule"
    ),
    "and MUST recompute the leaf hash from the event": (
        "ledger/test_inclusion::test_another_event_in_the_proof"
    ),
    "It MUST refuse an event whose `seq`": (
        "promises/test_a5_proofs_and_notes::test_no_forged_proof_verifies"
    ),
    "Where the ledger is at hand, a verifier MUST refuse": (
        "promises/test_a5_proofs_and_notes::test_no_forged_proof_verifies"
    ),
    "Whatever is not written as described here MUST be refused": (
        "ledger/test_tlog_proof::test_each_fault_of_a_proof_has_its_own_rule"
    ),
}

TRUST_HOME = {
    "A writer MUST append whole lines and sync them": (
        "promises/test_a5_spec_each_alone::test_a_line_is_synced_when_it_is_whole"
    ),
    "It MUST NOT replace an entry": (
        "promises/test_a5_spec_each_alone::test_what_was_seen_is_not_replaced_by_less"
    ),
    "A JSON file MUST be changed by writing and syncing a new file": (
        "promises/test_a5_spec_each_alone::test_a_json_file_is_renamed_into_place"
    ),
    "A writer MUST create missing directories": (
        "ledger/test_trust::test_everything_is_for_this_user_alone"
    ),
    "A reader MUST NOT create anything, and MUST take": (
        "ledger/test_trust::test_a_home_that_is_not_there_knows_nothing"
    ),
    "MUST refuse a home that its group": (
        "ledger/test_trust::test_a_home_that_others_can_write_to"
    ),
    "MUST be reported as one that cannot be read": (
        "promises/test_b2_whose_files::test_every_kind_of_file"
    ),
    "A writer MUST hold an exclusive advisory lock": (
        "ledger/test_trust::test_many_processes_lose_no_word"
    ),
    "or empty, MUST report that it cannot tell": "ledger/test_trust::test_damage_is_named",
    "and MUST NOT go on as if the file were missing": (
        "ledger/test_trust::test_an_emptied_file_is_damage"
    ),
    "A writer MUST remember both": (
        "promises/test_b3_links_and_the_memory::test_both_spellings_are_known"
    ),
    "a reader MUST require the ledger that is known there, and MUST report": (
        "promises/test_b3_links_and_the_memory::test_both_spellings_are_known"
    ),
    "file itself MUST NOT be followed": (
        "promises/test_b3_links_and_the_memory::test_a_link_in_the_place_of_a_ledger"
    ),
    "A writer MUST NOT store a password": (
        "ledger/test_trust::test_no_password_whatever_it_looks_like"
    ),
    "A writer MUST NOT give a location that is known": (
        "ledger/test_trust::test_a_location_has_one_ledger_until_it_is_forgotten"
    ),
    "at a known location MUST report it as wrong": (
        "ledger/test_verifier::test_foreign_at_a_known_location"
    ),
    "A verifier that cannot write it MUST say so, and MUST NOT judge": (
        "promises/test_d3_what_a_verification_saw::test_an_unwritable_home_is_said"
    ),
    "A verifier MUST report as wrong - a ledger": (
        "promises/test_d3_what_a_verification_saw::test_a_fork_is_wrong_everywhere"
    ),
    "a verifier MUST say so, and MUST call its completeness unchecked": (
        "promises/test_d3_what_a_verification_saw"
        "::test_shorter_elsewhere_is_an_older_copy"
    ),
    "which MUST be a directory and no link": (
        "promises/test_a4_bounds::test_anything_in_the_place_of_the_folder"
    ),
    "A verifier MUST NOT write a pin that no person gave": (
        "ledger/test_verifier::test_verify_writes_nothing"
    ),
    "A verifier MUST NOT call a ledger pinned unless": (
        "promises/test_a5_pins_and_anchors::test_more_pins_never_weaken"
    ),
    "It MUST report a pin that is not a key of the ledger": (
        "promises/test_a5_pins_and_anchors::test_more_pins_never_weaken"
    ),
    "every other file is damaged: a reader MUST report": (
        "ledger/test_heads::test_two_bad_slots_are_damage"
    ),
    "a writer MUST store the new head": "ledger/test_heads::test_it_only_moves_forward",
    "it MUST report a fork": (
        "ledger/test_heads::test_another_hash_at_the_same_size_is_a_fork"
    ),
    "A verifier MUST read the head memory before": (
        "ledger/test_concurrency::test_verify_beside_eight_writers_raises_no_alarm"
    ),
    "a writer MUST NOT erase any but those": (
        "promises/test_a5_erasures::test_a_list_destroys_nothing"
    ),
    "a verifier MUST NOT take any other for a sign": (
        "promises/test_a5_pins_and_anchors::test_a_strangers_note_in_the_home"
    ),
    "a verifier MUST NOT call completeness checked, unless": (
        "promises/test_a5_pins_and_anchors::test_a_log_cut_below_its_checkpoint_key"
    ),
    "none of them counts, it MUST report that it cannot tell": (
        "promises/test_a5_pins_and_anchors::test_a_strangers_note_as_anchor"
    ),
    "A successor MUST NOT quote a note": (
        "promises/test_a5_proofs_and_notes::test_a_successor_quotes_no_such_note"
    ),
    "was never acknowledged: a reader MUST report that it cannot tell": (
        "ledger/test_trust::test_every_cut_of_an_appended_line"
    ),
    "the next writer MUST cut it off": (
        "ledger/test_trust::test_every_cut_of_an_appended_line"
    ),
    "A reader MUST NOT skip a malformed line": (
        "ledger/test_trust::test_a_bad_line_is_named"
    ),
    "A cache beside a ledger MUST NOT be trusted": (
        "promises/test_b4_poisoned_caches::test_a_poisoned_cache"
    ),
    "without the secret MUST derive the answer": (
        "promises/test_b4_poisoned_caches::test_a_stranger_leaves_no_trace"
    ),
    "A program MUST refuse a private key with any permission": (
        "ledger/test_keys::test_permissions_of_a_key_file"
    ),
    "of which it MUST warn": "ledger/test_keys::test_permissions_of_a_key_file",
    "It MUST NOT overwrite a key file": (
        "ledger/test_keys::test_a_saved_key_is_private_and_never_overwritten"
    ),
}

TRIED = {
    "checkpoint": CHECKPOINT,
    "event": EVENT,
    "evidence": EVIDENCE,
    "trust-home": TRUST_HOME,
    "values": VALUES,
}

UNTRIED = {
    "checkpoint": (
        "MUST NOT sign a checkpoint before the events under it are durable",
        "MUST have a checkpoint durable in its file",
        "MUST NOT sign a checkpoint smaller",
    ),
    "event": ("MUST NOT trust functions of its schema",),
    "evidence": (),
    "trust-home": ("and MUST sync it with each checkpoint",),
    "values": (),
}
"""Sentences that no test breaks alone."""


def entered(name: str) -> Page:
    """Return a page with every sentence that is known of it."""
    page = Page(name)
    for label, case in CASES.items():
        if case.page == name:
            page.add(label, case.sentence, lambda _: None)
    for quote in (*TRIED[name], *UNTRIED[name]):
        page.add(quote, quote, lambda _: None)
    return page


def test_every_page_is_looked_at() -> None:
    """Canonical JSON has a table of its own."""
    assert {one.stem for one in SPEC.glob("*.md")} == {*TRIED, "canonical"}
    assert {case.page for case in CASES.values()} <= TRIED.keys()


@pytest.mark.parametrize("name", TRIED)
def test_each_sentence_is_known(name: str) -> None:
    """No MUST of a page is unknown here, and each sentence stands on its page."""
    page = entered(name)
    assert not page.strangers()
    assert not page.unmet()


@pytest.mark.parametrize("name", TRIED)
def test_each_test_is_there(name: str) -> None:
    """What is said to try a sentence exists under that name."""
    for place in TRIED[name].values():
        file, _, function = place.partition("::")
        assert f"def {function}(" in (TESTS / f"{file}.py").read_text(), place
