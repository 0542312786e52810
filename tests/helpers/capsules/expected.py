"""The effects that attacks are known to have although one of the layers holds.

    IN_SPITE_OF_THE_SYSTEM["metadata/stat_size"]    {"metadata"}

Rules: the lists are exact, so that any effect that comes or goes fails a test. Where the
system's layers hold, only effects inside the process may be listed. The language layer
alone isolates nothing; its list says how much it lets through.
"""

from __future__ import annotations

__all__ = ["IN_SPITE_OF_THE_LANGUAGE", "IN_SPITE_OF_THE_SYSTEM"]


def _read(tables: dict[str, str]) -> dict[str, set[str]]:
    """Return the effects of each attack; a table has families, and names after each."""
    found: dict[str, set[str]] = {}
    for effects, table in tables.items():
        family = ""
        for word in table.split():
            if word.endswith(":"):
                family = word.removesuffix(":")
            else:
                found[f"{family}/{word}"] = set(effects.split())
    return found


IN_SPITE_OF_THE_SYSTEM = _read(
    {
        "forged": """
    forged_results: frame_on_the_pipe patched_worker
""",
        "inside": """
    decorators_and_metaclasses: abc_hook set_name
    descriptors: class_cell dict_slot property_fget slots_member
    dunders: class_assignment init_subclass
    environment_secrets: own_stack
    evaluated_text: match_on_private numpy_bmat
    format_strings: attrgetter dataclass_field format_globals format_map formatter_class
        fstring_expression getattr_format mapped_format match_args_method match_method
        methodcaller nested_spec numpy_char pandas_str subclass_format unbound_format
        user_string variable_format
    frames_and_tracebacks: object_of_error unraisable_hook
    guard_tampering: garbage hook_of_audit type_instance type_subclass view_class
        view_table walls_of_python worker_frame worker_modules
    imports: posixpath_os
    pivots: collections_sys dataclasses_sys dir_of_module enum_sys itemgetter_globals
        methodcaller numbers_builtins random_system re_enum_sys statistics_sys
        typing_globals typing_sys update_wrapper_copies update_wrapper_globals
        update_wrapper_plants wraps_globals
""",
        "metadata": """
    metadata: genericpath_getsize lstat ntpath_getsize path_getsize pathlib posixpath_getsize
        stat_size statx through_proc
""",
    }
)
IN_SPITE_OF_THE_LANGUAGE = _read(
    {
        "read": """
    pivots: numpy_freed_memory scipy_sparse_memory
""",
    }
)
