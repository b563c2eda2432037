"""Dialect conversion: operations and the types of their values change together.

    types = TypeConversion()
    types.add(lambda type: ir.IntegerType.get_signless(32) if str(type).startswith("!cute.int_tuple") else None)

    @converts("cute.tuple_add")
    def lower_add(op: ir.Operation, operands: Sequence[ir.Value], rewriter: ConversionRewriter) -> None:
        rewriter.replace(op, arith.addi(operands[0], operands[1]))

    convert(module, [lower_add], types, illegal=["cute.*"])

`operands` have converted types already. Where a value crosses between converted and other operations, a
`builtin.unrealized_conversion_cast` stands; a later conversion, or the wheel's `reconcile-unrealized-casts`, takes it
away. The driver is Python, for the reasons that `rewriting` gives; the bindings' own also cannot be told what is legal
by type, nor how to cast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from cutecc.ir.names import check_names, matcher
from cutecc.passes.diagnostics import error
from cutecc.passes.rewriting import Pattern, Patterns

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir

_CAST = "builtin.unrealized_conversion_cast"

# These mean the same whatever the types of the values that they pass on.
_STRUCTURAL = ("func.*", "scf.*", "cf.*", "gpu.func", "gpu.return", "cuda.kernel", "cuda.return", "arith.select")


_MOST_ROUNDS = 100


class TypeConversion:
    """What becomes of each type."""

    def __init__(self) -> None:
        self._rules: list[Callable[[ir.Type], ir.Type | None]] = []
        self._known: dict[ir.Type, ir.Type] = {}

    def add(self, rule: Callable[[ir.Type], ir.Type | None]) -> Callable[[ir.Type], ir.Type | None]:
        """Add a rule: from a type to what becomes of it, or `None` for types that it says nothing about.

        Later rules go first. Usable as a decorator.
        """
        self._rules.insert(0, rule)
        self._known.clear()
        return rule

    def __call__(self, type: ir.Type) -> ir.Type:
        """What becomes of `type`; itself when no rule says otherwise."""
        if type not in self._known:
            results = (rule(type) for rule in self._rules)
            self._known[type] = next((result for result in results if result is not None), type)
        return self._known[type]


def converts(*names: str) -> Callable[[Callable[..., bool | None]], Pattern[bool | None]]:
    """Make a conversion pattern for operations called one of `names` (`cute.*`: a dialect) of a function or method.

    It takes the operation, its operands with converted types, and a `ConversionRewriter`, with which it replaces or
    erases the operation; otherwise it did not match, and must not have built anything.
    """
    check_names(names)
    return lambda function: Pattern(names, function)


class ConversionRewriter:
    """By what a conversion pattern replaces its operation."""

    def __init__(self, types: TypeConversion) -> None:
        self.types = types
        self.replaced: list[ir.Operation] = []
        """They stay where they are until the conversion ends."""
        self._values: dict[ir.Value, ir.Value] = {}

    def replace(self, operation: ir.Operation | ir.OpView, values: ir.Value | Sequence[ir.Value]) -> None:
        """Have `values`, of the converted types, stand for the results of `operation`.

        Raises `PassError` when there are not as many values as results, one has another type, or they stand for one
        another in a circle.
        """
        from cutecc.ir.editing import check_replacements
        from cutecc.ir.mlir import ir

        operation = operation.operation
        new = [values] if isinstance(values, ir.Value) else list(values)
        check_replacements(operation, [self.types(result.type) for result in operation.results], new)
        for value in new:
            while (following := self._values.get(value)) is not None:
                if any(following == result for result in operation.results):
                    raise error(operation, f"{operation.name} is replaced by what it replaced itself")
                value = following
        self._values.update(zip(operation.results, new, strict=True))
        self.replaced.append(operation)

    def erase(self, operation: ir.Operation | ir.OpView) -> None:
        """Take away `operation`, which has no results."""
        self.replace(operation, [])

    def converted(self, value: ir.Value) -> ir.Value:
        """What stands for `value`, its type converted; a cast of it, built here, when nothing does yet."""
        while (new := self._values.get(value)) is not None:
            value = new
        return _cast(value, self.types(value.type))

    def has_types_to_convert(self, operation: ir.Operation) -> bool:
        """Whether an operand or result of `operation` has a type that is to become another."""
        types = [value.type for values in (operation.operands, operation.results) for value in values]
        return any(self.types(type) != type for type in types)

    def retype(self, value: ir.Value) -> None:
        """Convert the type of a result or block argument in place; its users see a cast back."""
        old = value.type
        if self.types(old) == old:
            return
        value.set_type(self.types(old))
        back = _cast(value, old)
        value.replace_all_uses_except(back, back.owner.operation)
        self._values[back] = value


def convert(
    root: ir.Module | ir.Operation,
    patterns: Iterable[Pattern[bool | None]],
    types: TypeConversion | None = None,
    *,
    illegal: Iterable[str] = (),
) -> None:
    """Convert the operations in `root` for which there is a pattern.

    What patterns build is converted too when it is illegal, or has types to convert. Functions, calls, branches and
    `scf` pass converted values on as they are. Raises `PassError` at the first operation left whose name is in
    `illegal` (`cute.*`: a dialect), and at one that patterns build again and again.
    """
    from cutecc.ir.building import before
    from cutecc.ir.casters import plain_values
    from cutecc.ir.editing import address_of, is_inside, keeping_erased
    from cutecc.ir.walking import walk

    chosen = Patterns(patterns)
    is_structural = matcher(_STRUCTURAL)
    illegal = tuple(illegal)
    check_names(illegal)
    is_illegal = matcher(illegal) if illegal else _nothing
    rewriter = ConversionRewriter(types or TypeConversion())
    visited: set[int] = set()
    gone: set[int] = set()

    def visit(operation: ir.Operation) -> None:
        name = operation.name
        with before(operation):
            matching = [] if chosen.spent else chosen.of(name)
            operands = [rewriter.converted(operand) for operand in operation.operands] if matching else []
            for pattern in matching:
                pattern(operation, operands, rewriter)
                if rewriter.replaced and rewriter.replaced[-1] == operation:
                    gone.add(address_of(operation))
                    chosen.count(pattern, name, operation.location)
                    return
            if is_structural(name):
                _convert_structure(operation, rewriter)

    def is_left(operation: ir.Operation) -> bool:
        is_new = bool(operation.parent) and address_of(operation) not in visited
        return is_new and (is_illegal(operation.name) or rewriter.has_types_to_convert(operation))

    with plain_values(), keeping_erased():
        new: list[ir.Operation] = [operation for operation in walk(root) if operation.parent]
        for _ in range(_MOST_ROUNDS):
            for operation in new:
                visited.add(address_of(operation))
                if not is_inside(operation, gone):
                    visit(operation)
            new = [*filter(is_left, walk(root))]
            if not new:
                break
        else:
            raise error(new[0], f"the patterns do not end: they still build {new[0].name}")
        _erase_replaced(rewriter)
        _fold_casts(root)
        if not chosen.spent:
            _check_all_converted(root, is_illegal)


def _erase_replaced(rewriter: ConversionRewriter) -> None:
    """Erase what was converted; who still uses a result gets it back from the converted value."""
    from cutecc.ir.building import before
    from cutecc.ir.editing import erase

    for operation in reversed(rewriter.replaced):
        with before(operation):
            for result in operation.results:
                if any(True for _ in result.uses):
                    result.replace_all_uses_with(_cast(rewriter.converted(result), result.type))
        erase(operation)


def _check_all_converted(root: ir.Module | ir.Operation, is_illegal: Callable[[str], bool]) -> None:
    from cutecc.ir.walking import walk

    if left := [operation for operation in walk(root) if is_illegal(operation.name)]:
        others = f", and {len(left) - 1} more operations" if len(left) > 1 else ""
        raise error(left[0], f"nothing converts {left[0].name}{others}")


def _nothing(name: str) -> bool:
    return False


def _convert_structure(operation: ir.Operation, rewriter: ConversionRewriter) -> None:
    """Have an operation that only passes values on take and give converted ones."""
    from cutecc.ir.building import after, at_start
    from cutecc.ir.mlir import ir

    for index, operand in enumerate(operation.operands):
        if (new := rewriter.converted(operand)) != operand:
            operation.operands[index] = new
    if len(operation.results):
        with after(operation):
            for result in operation.results:
                rewriter.retype(result)
    for region in operation.regions:
        for block in region.blocks:
            with at_start(block):
                for argument in block.arguments:
                    rewriter.retype(argument)
    if "function_type" in operation.attributes:
        type = ir.FunctionType(operation.attributes["function_type"].value)
        inputs, results = ([rewriter.types(each) for each in part] for part in (type.inputs, type.results))
        operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))


def _cast(value: ir.Value, type: ir.Type) -> ir.Value:
    from cutecc.ir.mlir import ir

    return value if value.type == type else ir.Operation.create(_CAST, [type], [value]).result


def _fold_casts(root: ir.Module | ir.Operation) -> None:
    """Take away casts that nobody uses, and those that cast back what another cast gave."""
    from cutecc.ir.editing import erase, replace
    from cutecc.ir.mlir import ir
    from cutecc.ir.walking import walk

    casts = [cast for cast in walk(root, _CAST) if len(cast.operands) == len(cast.results) == 1]
    for cast in casts:
        source = cast.operands[0].owner
        source = source.operation if isinstance(source, ir.OpView | ir.Operation) else None
        if source is None or source.name != _CAST or len(source.operands) != 1:
            continue
        if source.operands[0].type == cast.result.type:
            replace(cast, source.operands[0])
    for cast in reversed(list(walk(root, _CAST))):
        if not any(True for result in cast.results for _ in result.uses):
            erase(cast)
