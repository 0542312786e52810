"""The tables that decide what a program may contain: node types, names, attributes.

Both sides read them: the validator before anything runs, the guard in the child for
names that exist only at run time (``getattr``). They are allow-lists where a complete
list is possible (node types, data-model methods); names and attributes that lead out of
the language (frames, code objects, class graphs) are listed one by one.
"""

from __future__ import annotations

__all__ = [
    "CLASS_VARIABLES",
    "EXPOSED",
    "FORBIDDEN_NAMES",
    "FRAMES",
    "GUARDED",
    "HOOKS",
    "METHODS",
    "MODULE_VARIABLES",
    "NARROWED",
    "NODES",
    "READABLE",
    "SEPARATELY_NAMED",
    "SHARED",
    "TEXTS",
    "WITHHELD",
    "is_dunder",
    "is_guarded",
    "is_kept",
    "is_private",
    "words",
]


def words(text: str) -> frozenset[str]:
    """Return the words of *text*, so that tables can be written as text."""
    return frozenset(text.split())


NODES = words(
    """
    Module Expression Interactive FunctionDef ClassDef Return Delete Assign AugAssign
    AnnAssign TypeAlias For While If Match Raise Assert Import ImportFrom Expr Pass
    Break Continue BoolOp NamedExpr BinOp UnaryOp Lambda IfExp Dict Set ListComp SetComp
    DictComp GeneratorExp Yield YieldFrom Compare Call FormattedValue JoinedStr Constant
    Attribute Subscript Starred Name List Tuple Slice Load Store Del And Or Add Sub Mult
    MatMult Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv Invert Not UAdd USub
    Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn comprehension arguments arg keyword alias
    match_case MatchValue MatchSingleton MatchSequence MatchMapping MatchClass MatchStar
    MatchAs MatchOr TypeVar ParamSpec TypeVarTuple Try ExceptHandler With withitem Global
    Nonlocal
    """
)
"""Node types of ordinary synchronous programs; all others are refused."""

SEPARATELY_NAMED = {
    "AsyncFor": "async",
    "AsyncFunctionDef": "async",
    "AsyncWith": "async",
    "Await": "async",
    "TryStar": "try",
}

NARROWED = {
    "Global": "global",
    "Nonlocal": "nonlocal",
    "Try": "try",
    "With": "with",
}
"""Node types that a policy with narrow syntax refuses."""

FORBIDDEN_NAMES = words(
    """
    breakpoint compile copyright credits delattr dir eval exec exit globals help input
    license locals memoryview open quit vars
    """
)

FRAMES = words(
    """
    ag_await ag_code ag_frame ag_running ag_suspended co_argcount co_branches co_cellvars
    co_code co_consts co_exceptiontable co_filename co_firstlineno co_flags co_freevars
    co_kwonlyargcount co_lines co_linetable co_lnotab co_name co_names co_nlocals
    co_positions co_posonlyargcount co_qualname co_stacksize co_varnames cr_await cr_code
    cr_frame cr_origin cr_running cr_suspended f_back f_builtins f_code f_generator
    f_globals f_lasti f_lineno f_locals f_trace f_trace_lines f_trace_opcodes func_closure
    func_code func_defaults func_globals gi_code gi_frame gi_running gi_suspended
    gi_yieldfrom tb_frame tb_lasti tb_lineno tb_next
    """
)
"""Attributes that hold the interpreter's own state. No program reads them, or uses such
a name for anything: a class with such a field would read it from a generator."""

TEXTS = words("to_csv to_html to_json to_markdown to_string")
"""Methods of tables that write a file, or return text if none is named."""

GUARDED = TEXTS | words(
    """
    _attach_argparser_methods _attach_methods _construct_argparser _convert_
    _export_to_c _import_from_c _parse_arg_template args cffi ctypes dump env eval exec
    format format_map from_custom_template from_string mro obj style tofile
    """
)
"""Attributes that a program may use on its own objects only: evaluation of text and
templates, methods that write files, the method by which enumerations read the table of
any module, what errors expose, and private methods of packages that run text, or take
memory by its address."""

_CONVERSIONS = words(
    """
    to_bytes to_coo to_datetime to_datetime64 to_dense to_dict
    to_eng_string to_flat_index to_frame to_integral to_integral_exact to_integral_value
    to_julian_date to_list to_mi to_numeric to_numpy to_offset to_period to_pydatetime
    to_pytimedelta to_records to_series to_timedelta to_timedelta64 to_timestamp to_tree
    to_tuples
    """
)
"""Methods that turn one value into another; other methods of packages with such names
write somewhere, today or in the next version."""

SHARED = words(
    """
    _asdict _field_defaults _fields _generate_next_value_ _ignore_ _make _missing_
    _name_ _order_ _replace _value_
    """
)
"""Attributes that begin with an underscore and are public."""

METHODS = frozenset(
    f"__{name}__"
    for name in words(
        """
    abs add and bool bytes call ceil complex contains delitem divmod enter eq exit
    float floor floordiv format ge getitem gt hash iadd iand ifloordiv ilshift imatmul
    imod imul index init int invert ior ipow irshift isub iter itruediv ixor le len
    length_hint lshift lt matmul missing mod mul ne neg new next or pos post_init pow
    radd rand rdivmod repr reversed rfloordiv rlshift rmatmul rmod rmul ror round rpow
    rrshift rshift rsub rtruediv rxor setitem str sub truediv trunc xor
    """
    )
)
"""Data-model methods that a class may define, and call through ``super()``."""

HOOKS = frozenset(
    f"__{name}__"
    for name in words(
        """
        class_getitem copy deepcopy delete get init_subclass set set_name
        sklearn_is_fitted sklearn_tags
        """
    )
)
"""Further methods that a class may define: descriptors, copies, class hooks. Not
``__getattr__``: NumPy asks objects for addresses by name, and would get an answer."""

CLASS_VARIABLES = frozenset({"__match_args__", "__slots__"})

MODULE_VARIABLES = words("__all__ __author__ __license__ __version__")
"""Names by which a module may describe itself."""

READABLE = words("__doc__ __members__ __name__ __qualname__ __version__")
"""Dunder attributes that may be read, never written."""

WITHHELD: dict[str, frozenset[str]] = {
    "abc": frozenset({"ABCMeta"}),
    "contextlib": words("chdir redirect_stderr redirect_stdout"),
    "dataclasses": frozenset({"make_dataclass"}),
    "enum": words("EnumDict EnumMeta EnumType global_enum"),
    "functools": frozenset({"singledispatchmethod"}),
    "numpy": words(
        """
        DataSource add_docstring add_newdoc as_strided fromfile fromregex genfromtxt
        get_include info load loadtxt memmap open_memmap save savetxt savez
        savez_compressed show_config show_runtime source test
        """
    ),
    "pandas": words("ExcelFile ExcelWriter HDFStore eval show_versions test"),
    "bz2": frozenset({"BZ2File", "open"}),
    "gzip": frozenset({"GzipFile", "open"}),
    "lzma": frozenset({"LZMAFile", "open"}),
    "random": frozenset({"SystemRandom"}),
    "scipy": frozenset({"LowLevelCallable", "load_npz", "save_npz"}),
    "sklearn": words(
        """
        Parallel all_estimators check_memory clear_data_home dump_svmlight_file
        fetch_20newsgroups fetch_20newsgroups_vectorized fetch_california_housing
        fetch_covtype fetch_file fetch_kddcup99 fetch_lfw_pairs fetch_lfw_people
        fetch_olivetti_faces fetch_openml fetch_rcv1 fetch_species_distributions
        get_data_home load_files load_sample_image load_sample_images
        load_svmlight_file load_svmlight_files parallel_backend
        register_parallel_backend show_versions
        """
    ),
    "shlex": frozenset({"shlex"}),
    "string": frozenset({"Formatter"}),
    "typing": words("ForwardRef evaluate_forward_ref get_type_hints"),
    "uuid": words("getnode main"),
    "warnings": words("deprecated formatwarning showwarning warn_explicit"),
    "zoneinfo": frozenset({"reset_tzpath"}),
}
"""Public names that views of a module leave out: they reach files, evaluate text, or
make classes with hooks that a class statement may not define."""


EXPOSED: dict[str, frozenset[str]] = {
    "io": words("BytesIO SEEK_CUR SEEK_END SEEK_SET StringIO UnsupportedOperation")
}
"""Module → its only harmless public names, if the others may lead anywhere."""


def is_dunder(name: str) -> bool:
    """Tell whether *name* belongs to the interpreter."""
    return name.startswith("__") and name.endswith("__")


def is_guarded(name: str) -> bool:
    """Tell whether the use of *name* depends on the object."""
    return name in GUARDED or (name[:3] == "to_" and name not in _CONVERSIONS)


def is_kept(name: str) -> bool:
    """Tell whether templates must not use *name*: it is private, or guarded."""
    return name[:1] == "_" or name in FRAMES or is_guarded(name)


def is_private(name: str) -> bool:
    """Tell whether *name* is private to whoever defined it."""
    if not name.startswith("_") or is_dunder(name) or name in SHARED:
        return False
    return not name[1:].isdigit()  # named tuples number nameless fields so
