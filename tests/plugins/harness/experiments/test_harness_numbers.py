"""Every numbered promise has its test: the table, and that nothing in it is missing.

3   what an experiment answers         6   what passes no test
5   what code may and may not do       7   what stays as evidence
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from refused_programs import BLOCKED, TROUBLE

TESTS = Path(__file__).parents[1]

ANSWERS, BOUNDS, PASSES = "harness_answers", "harness_bounds", "harness_passes"
PROMISES = "harness_promises"

PROMISED: dict[str, tuple[str, str]] = {
    "3.0": (ANSWERS, "test_3_0_every_name_is_at_the_front"),
    "3.1": (ANSWERS, "test_3_1_to_3_4_an_experiment_needs_no_ceremony"),
    "3.2": (ANSWERS, "test_3_1_to_3_4_an_experiment_needs_no_ceremony"),
    "3.3": (ANSWERS, "test_3_1_to_3_4_an_experiment_needs_no_ceremony"),
    "3.4": (ANSWERS, "test_3_1_to_3_4_an_experiment_needs_no_ceremony"),
    "3.5": (PROMISES, "test_the_example_prints_what_it_says"),
    "3.6": (ANSWERS, "test_3_6_a_verifier_may_be_called"),
    "3.7": (ANSWERS, "test_3_7_what_is_saved_is_what_came_out"),
    "3.8": (PROMISES, "test_only_numbers_are_metrics"),
    "3.9": ("harness_artifacts", "test_the_bundle_has_the_guides_keys"),
    "3.10": (PROMISES, "test_every_error_ends_a_run_with_its_words"),
    "3.11": (ANSWERS, "test_3_11_a_library_with_parts_of_its_own_runs"),
    "3.12": (PROMISES, "test_what_is_blocked_is_refused"),
    "3.13": (PROMISES, "test_what_is_blocked_is_refused"),
    "3.14": (BOUNDS, "test_5_3_every_end_has_its_name"),
    "3.15": (ANSWERS, "test_3_15_starting_is_not_computing"),
    "3.16": (ANSWERS, "test_3_16_every_execution_says_what_held_it"),
    "3.17": (ANSWERS, "test_3_17_acceptance_decides"),
    "3.18": (PROMISES, "test_every_error_has_its_words"),
    "3.19": ("harness_executors", "test_every_call_is_where_it_belongs"),
    "3.20": (ANSWERS, "test_3_20_models_may_be_closures"),
    "5.1": (BOUNDS, "test_5_1_nothing_leads_out_of_the_language"),
    "5.2": (BOUNDS, "test_5_2_allowed_modules_lead_nowhere_else"),
    "5.3": (BOUNDS, "test_5_3_every_end_has_its_name"),
    "5.4": (BOUNDS, "test_5_4_legitimate_code_runs"),
    "6.1": (PASSES, "test_6_1_a_metric_that_is_not_there"),
    "6.2": (PASSES, "test_6_2_a_metric_that_becomes_nan"),
    "6.3": (PASSES, "test_6_3_infinities"),
    "6.4": (PASSES, "test_6_4_a_metric_that_is_dropped"),
    "6.5": (PASSES, "test_6_5_outputs_without_a_number"),
    "6.6": (PASSES, "test_6_6_data_of_every_shape"),
    "6.7": (PASSES, "test_6_7_what_survives_a_reversal"),
    "6.8": (PASSES, "test_6_8_parts_that_cannot_be_aligned"),
    "6.9": (PASSES, "test_6_9_code_that_says_it_passed"),
    "6.10": (PASSES, "test_6_10_properties_that_are_none"),
    "6.11": (PASSES, "test_6_11_numbers_of_numpy_and_lists"),
    "6.12": (PASSES, "test_6_12_large_numbers"),
    "7.1": ("harness_artifacts", "test_failures_are_evidence_too"),
    "7.2": (ANSWERS, "test_7_2_files_are_copies"),
    "7.3": ("harness_executors", "test_every_call_is_where_it_belongs"),
    "7.4": ("harness_executors", "test_every_call_is_where_it_belongs"),
    "7.5": (ANSWERS, "test_7_5_chance_comes_from_the_seed"),
    "7.6": (ANSWERS, "test_7_6_an_experiment_is_the_same_everywhere"),
    "7.7": ("harness_experiments", "test_a_replay_needs_nothing_but_the_events"),
    "7.8": ("harness_artifacts", "test_a_later_run_changes_no_byte"),
    "7.9": (ANSWERS, "test_7_9_everything_has_its_time_and_place"),
}
"""Number → module and test."""

PARTS = {
    "5.1": [f'"E{number}"' for number in range(1, 17)],
    "5.2": ["itertools", "math", "json", "random", "collections", "numpy", "pandas"],
    "5.3": ["without end", "gigabyte", "itself", "nests", "nothing", "NaN", "bytes"],
    "5.4": ["classes", "match", "statistics", "decimal", "fractions", "random"],
}
"""Number → words that the cases of its test have to name."""


@cache
def source_of(module: str) -> str:
    """Return the text of a test module."""
    (file,) = TESTS.glob(f"*/test_{module}.py")
    return file.read_text()


@pytest.mark.parametrize("number", PROMISED)
def test_every_number_has_its_test(number: str) -> None:
    """What the table names is a test that stands in that module."""
    module, name = PROMISED[number]
    found = {
        node.name
        for node in ast.parse(source_of(module)).body
        if isinstance(node, ast.FunctionDef)
    }
    assert name in found


@pytest.mark.parametrize("number", PARTS)
def test_every_part_has_its_case(number: str) -> None:
    """A number with parts has a case for each of them."""
    text = source_of(PROMISED[number][0])
    assert [part for part in PARTS[number] if part not in text] == []


def test_the_numbers_are_whole() -> None:
    """No number is left out between the first and the last of its kind."""
    for kind, first, last in ((3, 0, 20), (5, 1, 4), (6, 1, 12), (7, 1, 9)):
        numbers = {f"{kind}.{number}" for number in range(first, last + 1)}
        assert {one for one in PROMISED if one.startswith(f"{kind}.")} == numbers


def test_what_is_blocked_is_told_in_full() -> None:
    """Five kinds of code are blocked, and five errors have their words."""
    assert (len(BLOCKED), len(TROUBLE)) == (5, 5)
    assert all(BLOCKED.values())
