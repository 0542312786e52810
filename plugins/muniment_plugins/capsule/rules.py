"""The tables that decide what a program may say: node types, names, attributes.

Both sides read them: the validator before anything runs, the guard in the child for
names that exist only at run time (``getattr``). Allow-lists where a list can be
written down (node types, data-model methods); names and attributes that lead out of
the language (frames, code objects, class graphs) are listed one by one.
"""

from __future__ import annotations

__all__ = [
    "CLASS_VARIABLES",
    "FORBIDDEN_ATTRIBUTES",
    "FORBIDDEN_NAMES",
    "HOOKS",
    "METHODS",
    "NODES",
    "READABLE",
    "SEPARATELY_NAMED",
    "SHARED",
    "WITHHELD",
    "is_dunder",
    "is_private",
    "words",
]


def words(text: str) -> frozenset[str]:
    """Return the words of *text*; a table stays a table."""
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
    MatchAs MatchOr TypeVar ParamSpec TypeVarTuple
    """
)
"""Node types of ordinary synchronous programs; all others are refused."""

SEPARATELY_NAMED = {
    "AsyncFor": "async",
    "AsyncFunctionDef": "async",
    "AsyncWith": "async",
    "Await": "async",
    "Global": "global",
    "Nonlocal": "nonlocal",
    "Try": "try",
    "TryStar": "try",
    "With": "with",
}

FORBIDDEN_NAMES = words(
    """
    breakpoint compile copyright credits delattr dir eval exec exit globals help input
    license locals memoryview open quit vars
    """
)

FORBIDDEN_ATTRIBUTES = words(
    """
    _attach_argparser_methods _attach_methods _construct_argparser _convert_
    _export_to_c _import_from_c _parse_arg_template ag_await ag_code ag_frame ag_running
    cffi co_code co_consts co_names cr_await cr_code cr_frame cr_origin cr_running
    ctypes dump eval exec f_back f_builtins f_code f_globals f_lasti f_lineno f_locals
    f_trace format_map func_closure func_code func_defaults func_globals gi_code
    gi_frame gi_running gi_suspended gi_yieldfrom mro tb_frame tb_lasti tb_lineno
    tb_next to_clipboard to_csv to_excel to_feather to_gbq to_hdf to_html to_iceberg
    to_json to_latex to_markdown to_orc to_parquet to_pickle to_sql to_stata to_string
    to_xml tofile
    """
)
"""Frames, code objects and class graphs; evaluation of text; methods of arrays and
tables that write files, which only a layer of the operating system could let pass; the
method by which enumerations read the table of any module; private methods of packages
that run text, or take memory by its address."""

SHARED = words(
    """
    _asdict _field_defaults _fields _generate_next_value_ _ignore_ _make _missing_
    _name_ _order_ _replace _value_
    """
)
"""Attributes that begin with an underscore, and are for everybody."""

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
        "class_getitem copy deepcopy delete get init_subclass set set_name"
    )
)
"""Further methods that a class may define: descriptors, copies, hooks of classes. Not
``__getattr__``: NumPy asks objects for addresses by name, and would get an answer."""

CLASS_VARIABLES = frozenset({"__match_args__", "__slots__"})

READABLE = frozenset({"__name__", "__qualname__"})
"""Dunder attributes that may be read, never written."""

WITHHELD: dict[str, frozenset[str]] = {
    "abc": frozenset({"ABCMeta"}),
    "dataclasses": frozenset({"make_dataclass"}),
    "enum": words("EnumDict EnumMeta EnumType global_enum"),
    "functools": frozenset({"singledispatchmethod"}),
    "json": frozenset({"dump", "load"}),
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
    "tokenize": frozenset({"open"}),
    "typing": words("ForwardRef evaluate_forward_ref get_type_hints"),
    "warnings": words(
        "catch_warnings deprecated formatwarning showwarning warn_explicit"
    ),
    "zoneinfo": frozenset({"reset_tzpath"}),
}
"""Public names that views of a module leave out: they reach files, evaluate text, or
make classes with hooks that a class statement may not define."""


def is_dunder(name: str) -> bool:
    """Tell whether *name* belongs to the interpreter."""
    return name.startswith("__") and name.endswith("__")


def is_private(name: str) -> bool:
    """Tell whether *name* is for whoever defined it."""
    if not name.startswith("_") or is_dunder(name) or name in SHARED:
        return False
    return not name[1:].isdigit()  # as named tuples call what has no name
