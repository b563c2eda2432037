from typing import Any

class GreedyRewriteConfig:
    max_iterations: int
    max_num_rewrites: int
    use_top_down_traversal: bool
    enable_folding: bool
    strictness: Any
    region_simplification_level: Any
    enable_constant_cse: bool

class RewritePatternSet:
    def freeze(self) -> Any: ...
    def add(self, op: Any, fn: Any, benefit: int = 1) -> None: ...

def apply_patterns_and_fold_greedily(
    operation: Any, patterns: Any, config: GreedyRewriteConfig | None = None
) -> None: ...
def walk_and_apply_patterns(operation: Any, patterns: Any, listener: Any = None) -> None: ...

class ConversionTarget:
    def add_legal_dialect(self, *dialects: str) -> None: ...
    def add_illegal_op(self, *ops: str) -> None: ...

def apply_partial_conversion(operation: Any, target: ConversionTarget, patterns: Any, config: Any = None) -> None: ...
