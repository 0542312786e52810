"""Each sentence of the specification that demands something is tried by a test.

Most sentences are broken alone, by a forged ledger, proof, home or bundle: `spec_breaches`
and `all_breaches`. This names for each other sentence the test that breaks it; those are
about what a writer, a reader or a program does. A sentence that has neither fails here, as
does one that is worded anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from all_breaches import BREACHES
from normative import SPEC, Page
from spec_breaches import CASES

TESTS = Path(__file__).parents[2]

VALUES = {
    "Decoding what was encoded MUST give an equal value": (
        "ledger/values/test_values::test_every_accepted_value_comes_back_equal"
    ),
    "for which this does not hold MUST be refused": (
        "ledger/values/test_value_types::test_types_that_do_not_come_back_are_refused"
    ),
    "it MUST be handed the decoded form": (
        "ledger/values/test_value_forms"
        "::test_settle_shares_nothing_and_orders_keys_as_the_record_does"
    ),
    "contains itself MUST be refused": (
        "ledger/values/test_value_forms::test_refusals_name_rule_and_place"
    ),
    "MUST be refused unless its class is registered": (
        "ledger/values/test_value_forms::test_refusals_name_rule_and_place"
    ),
    "included, MUST NOT be nested deeper": (
        "ledger/values/test_value_forms::test_refusals_name_rule_and_place"
    ),
    "It MUST have a [canonical form]": (
        "ledger/values/test_value_forms::test_refusals_name_rule_and_place"
    ),
    "Arrays and columns of Python objects, and long doubles, MUST be refused. So MUST": (
        "ledger/values/test_value_forms::test_refusals_name_rule_and_place"
    ),
    "a decoder MUST call every other spelling wrong": (
        "ledger/values/test_value_forms::test_malformed_records_are_wrong"
    ),
    "A decoder MUST NOT import or call anything": (
        "ledger/values/test_value_types::test_a_record_says_nothing_to_import"
    ),
    "An encoder MUST build the value again": (
        "ledger/values/test_value_types::test_types_that_do_not_come_back_are_refused"
    ),
}

COPIES = "ledger/verifier/test_forged_copies::test_each_lie_is_found"
EVENT = {
    "the n-th of the fork MUST be answered by the outcome of the n-th": COPIES,
    "a further attempt MUST follow a `run.resumed` after the answer": COPIES,
    "the n-th of the fork MUST name the n-th of the origin up to `at`": COPIES,
    "an answer from a record MUST NOT stand in the lane of a plugin": (
        "ledger/forks/test_forged_facts::test_no_record_answers_in_a_plugins_lane"
    ),
    "a fork that completes MUST have one of the same type in the same scope": (
        "ledger/forks/test_forged_facts::test_a_fact_that_is_left_out"
    ),
    "and a fork that completes MUST have all outcomes and readings": (
        "ledger/verifier/test_forged_copies::test_an_answer_that_is_left_out"
    ),
    "a reader that meets one MUST keep the first end": (
        "promises/spec/test_a5_spec_each_alone::test_readers_keep_the_first_end"
    ),
    "A writer MUST NOT append to an event more than a day ahead": (
        "promises/key_holders/test_a5_time::test_a_writer_is_not_dragged_along"
    ),
    "A writer MUST take a fresh salt": (
        "promises/spec/test_a5_spec_each_alone::test_every_blob_has_a_salt_of_its_own"
    ),
    "A writer MUST read the head and insert in one transaction": (
        "ledger/storage/test_concurrency::test_eight_processes_and_a_thousand_appends_each"
    ),
    "and MUST have it durable before it reports": (
        "ledger/storage/test_crashes::test_two_hundred_kills_of_several_writers"
    ),
    "MUST NOT trust functions of its schema": (
        "promises/spec/test_a5_spec_each_alone::test_no_function_of_a_schema_is_called"
    ),
    "A verifier MUST open the file read-only": (
        "ledger/verifier/test_verifier::test_verify_leaves_what_was_not_yet_in_the_file"
    ),
    "and MUST compare the text of all objects": (
        "promises/verifier/test_a4_bounds::test_what_is_planted_between_two_looks"
    ),
}

TRUST_HOME = {
    "A writer MUST append whole lines and sync them": (
        "promises/spec/test_a5_spec_each_alone::test_a_line_is_synced_when_it_is_whole"
    ),
    "A JSON file MUST be changed by writing and syncing a new file": (
        "promises/spec/test_a5_spec_each_alone::test_a_json_file_is_renamed_into_place"
    ),
    "A writer MUST create missing directories": (
        "ledger/keys/test_trust::test_everything_is_for_this_user_alone"
    ),
    "A reader MUST NOT create anything, and MUST take": (
        "ledger/keys/test_trust::test_a_home_that_is_not_there_knows_nothing"
    ),
    "A writer MUST hold an exclusive advisory lock": (
        "ledger/keys/test_trust::test_many_processes_lose_no_word"
    ),
    "A writer MUST remember both": (
        "promises/strangers/test_b3_links_and_the_memory::test_both_spellings_are_known"
    ),
    "A writer MUST NOT store a password": (
        "ledger/keys/test_trust::test_no_password_in_a_location"
    ),
    "A writer MUST NOT give a location that is known": (
        "ledger/keys/test_trust::test_a_location_has_one_ledger_until_it_is_forgotten"
    ),
    "a writer MUST store the new head": "ledger/keys/test_heads::test_it_only_moves_forward",
    "it MUST report a fork": (
        "ledger/keys/test_heads::test_another_hash_at_the_same_size_is_a_fork"
    ),
    "and MUST sync it with each checkpoint": (
        "promises/spec/test_a5_spec_each_alone::test_a_checkpoint_syncs_the_head"
    ),
    "A verifier MUST read the head memory before": (
        "promises/spec/test_a5_spec_each_alone::test_a_snapshot_is_younger_than_the_memory"
    ),
    "a writer MUST NOT erase any but those": (
        "promises/key_holders/test_a5_erasures::test_a_list_destroys_nothing"
    ),
    "A successor MUST NOT quote a note": (
        "promises/key_holders/test_a5_proofs_and_notes::test_a_successor_quotes_no_such_note"
    ),
    "the next writer MUST cut it off": (
        "ledger/keys/test_trust::test_every_cut_of_an_appended_line"
    ),
    "A cache beside a ledger MUST NOT be trusted": (
        "promises/strangers/test_b4_poisoned_caches::test_a_poisoned_cache"
    ),
    "without the secret MUST derive the answer": (
        "promises/strangers/test_b4_poisoned_caches::test_a_stranger_leaves_no_trace"
    ),
    "of which it MUST warn": "ledger/keys/test_keys::test_permissions_of_a_key_file",
}

_LIES = "plugins/evidence/bundles/test_bundle_withheld_forged::test_each_lie"
_RELATED = "plugins/evidence/relatives/test_related_forged::test_"
_LIES_OF_RUNS = "plugins/evidence/relatives/test_related_lies::test_each_lie_of_a_"

_MARKED = (
    "plugins/evidence/marks/test_marks_on_pages"
    "::test_a_page_that_does_not_say_the_mark_first"
)
_MARK_SAID = (
    "plugins/evidence/marks/test_marks_in_bundles::test_two_verifiers_say_the_mark"
)
EVIDENCE = {
    "and MUST say how many it": (
        "plugins/evidence/pages/test_page_in_bundle::test_every_value_is_compared"
    ),
    "A verifier MUST compare each": (
        "plugins/evidence/pages/test_page_in_bundle::test_every_value_is_compared"
    ),
    "`related.intoto.jsonl` MUST have, in the order of the log": (
        "plugins/evidence/relatives/test_related_changes::test_each_line_of_related_runs"
    ),
    "It MUST have at least one event, and no other": (
        f"{_RELATED}a_file_without_events"
    ),
    "No event MUST stand in two files": f"{_RELATED}an_event_in_two_files",
    "A redacted bundle MUST NOT have the file": (
        f"{_RELATED}a_redacted_bundle_with_related_runs"
    ),
    "A verifier MUST judge each related run": f"{_RELATED}each_event_that_is_left_out",
    "and MUST compare calls with child runs": f"{_LIES_OF_RUNS}call",
    "It MUST refuse an event of a run that is not related": (
        f"{_RELATED}runs_that_are_not_related"
    ),
    "A verifier MUST name each of these": f"{_RELATED}related_runs_that_are_left_out",
    "and MUST NOT call the completeness *checked* then": (
        f"{_RELATED}related_runs_that_are_left_out"
    ),
    "Each line of `withheld.jsonl` MUST be canonical": (
        "plugins/evidence/bundles/test_bundle_spoiled::test_each_file_alone"
    ),
    "MUST come after its start, and MUST NOT be in `events.intoto.jsonl`": _LIES,
    "A verifier MUST count it in its place": _LIES,
    "A verifier MUST say how many signatures it left": (
        "plugins/evidence/bundles/test_bundle_redacted::test_every_run_of_every_kind"
    ),
    "A blob that is withheld MUST NOT be there, MUST be one": _LIES,
    "refers, and MUST NOT be erased by one": _LIES,
    "A writer MUST NOT append a second closing event": (
        "plugins/evidence/bundles/test_bundle_written::test_the_same_run_gives_the_same_bytes"
    ),
    "MUST say of each run in the bundle what it is [marked]": _MARK_SAID,
    "all others MUST be there. A verifier MUST derive each of them again, MUST refuse": (
        "plugins/evidence/views/test_view_of_a_run::test_each_member_is_compared"
    ),
    "MUST say *cannot tell* of a view that has other members": (
        "plugins/evidence/views/test_view_of_a_run"
        "::test_what_is_not_known_cannot_be_told"
    ),
    "A verifier MUST say of each series that is shown how many runs": (
        "plugins/evidence/bundles/test_bundle_series::test_one_of_twenty"
    ),
}

_FORGED = (
    "plugins/evidence/pages/test_page_in_bundle::test_each_forgery_is_refused_by_all"
)
_HONEST = "plugins/evidence/pages/test_page_in_bundle::test_every_value_is_compared"
_STYLE = (
    "plugins/evidence/pages/test_page_in_bundle::test_a_style_sheet_that_nobody_knows"
)
_PICTURES = (
    "plugins/harness/claims/test_graphs_in_bundles"
    "::test_three_verifiers_compare_pictures"
)
_CARRIES = (
    "plugins/evidence/pages/test_page_carries_evidence"
    "::test_the_command_refuses_each_lie"
)

REPORT = {
    "A page MUST be UTF-8 without a byte order mark": (
        "plugins/evidence/pages/test_page_in_bundle::test_a_page_that_is_no_text"
    ),
    "RUN MUST be the run of the": _FORGED,
    "a page MUST NOT have any other": _FORGED,
    "The style sheet MUST be one whose SHA-256": _STYLE,
    "A verifier that does not know it MUST say": _STYLE,
    "Elements MUST be nested": _FORGED,
    "It MUST consist of printable": (
        "plugins/evidence/pages/test_page_spellings::test_every_character"
    ),
    "text before a value MUST end with": _FORGED,
    "text behind one MUST begin": _FORGED,
    "Between two values there MUST be": _FORGED,
    "which MUST be canonical": (
        "plugins/evidence/pages/test_page_spellings"
        "::test_json_that_is_not_canonical_leads_nowhere"
    ),
    "they MUST name the run of": _FORGED,
    "a page MUST cite both numbers": _FORGED,
    "a page MUST cite `/mark` and `/reason`": _MARKED,
    "these MUST be the first values on the page": _MARKED,
    "A verifier MUST say which runs of the bundle have which mark": _MARK_SAID,
    "The same mark MUST NOT be": _FORGED,
    "they MUST be two": _FORGED,
    "The attribute MUST be the canonical JSON": _FORGED,
    "attribute and text MUST both be `erased`": _HONEST,
    "The text of a value MUST be this": _FORGED,
    "A rule MUST be one of these": _FORGED,
    "A full line MUST cite `zero` or `one`": _PICTURES,
    "MUST be where their numbers are": _FORGED,
    "A mark MUST have its numbers": _PICTURES,
    "A verifier MUST verify the bundle, and": _CARRIES,
    "MUST refuse a page that shows another run": _CARRIES,
    "It MUST NOT call": (
        "plugins/evidence/pages/test_page_carries_evidence"
        "::test_the_command_verifies_it_without_a_ledger"
    ),
}

TRIED = {
    "checkpoint": {},
    "event": EVENT,
    "evidence": EVIDENCE,
    "report": REPORT,
    "trust-home": TRUST_HOME,
    "values": VALUES,
}


def entered(name: str) -> Page:
    """Return a page with every sentence that is known of it."""
    page = Page(name)
    for label, case in CASES.items():
        if case.page == name:
            page.add(label, case.sentence, lambda _: None)
    for label, breach in BREACHES.items():
        if breach.page == name:
            page.add(label, breach.sentence, lambda _: None)
    for quote in TRIED[name]:
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
