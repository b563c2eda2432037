"""What makes a variant of a kernel differ: the code generator, or a pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cutecc.errors import Error
from cutecc.kernel import Kernel
from cutecc.passes.pipeline import Pipeline
from cutecc.workbench.plan import Point, Variant
from cutecc.workbench.running import Device, KernelResult, Run, Settings, load_variant, run_point
from cutecc.workbench.searching import State
from cutecc.workbench.splice import Found, points, search, splice
from cutecc.workbench.variants import Choice, Source
from cutecc.workbench.workers import Workers

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Blame:
    """What makes the difference; neither a code generator nor a pass where the first pipeline did not compile."""

    variant: str
    run: Run
    """Where it was looked at."""
    backend: str | None = None
    """The code generator, where the first pipeline differs with it too."""
    opt_level: int | None = None
    """The lowest `--opt-level` at which the code generator makes the difference."""
    found: Found | None = None
    """The pass."""


class Bisection:
    """Looks for what makes one kernel's variants differ."""

    def __init__(
        self,
        source: Source,
        result: KernelResult,
        folder: Path,
        choice: Choice,
        device: Device,
        settings: Settings,
        workers: Workers,
    ) -> None:
        self._source = source
        self._result = result
        self._folder = folder
        self._choice = choice
        self._device = device
        self._settings = replace(settings, timed=False)
        self._workers = workers

    def blames(self, tell: Tell = lambda text: None) -> list[Blame]:
        """What makes each variant differ that does, at the first point where it does. `tell` hears what is tried.

        Where all variants are wrong, there is no right one that tells what makes the difference.
        """
        found: list[Blame] = []
        for variant in self._result.kernel.variants:
            wrong = next((run for run in self._result.of(variant) if self._differs(run)), None)
            if wrong and variant.pipeline == self._choice.pipelines[0]:
                if variant.backend != self._choice.backends[0]:
                    found.append(self._blame_backend(variant, wrong, tell))
            elif wrong:
                found.append(self._blame(variant, wrong, tell))
        return found

    def _differs(self, run: Run) -> bool:
        """Whether a run is wrong where another variant's is right, and not as one that it is compared with."""
        return not run.ok and not run.alike and any(each.ok for each in self._result.beside(run))

    def _blame(self, variant: Variant, wrong: Run, tell: Tell) -> Blame:
        """Of a variant of another pipeline than the first."""
        base = self._variant(self._choice.pipelines[0], variant)
        base_run = self._run_of(base, wrong) if base else None
        if base is None or base_run is None:
            return Blame(variant.name, wrong)
        if not base_run.ok:
            return self._blame_backend(variant, wrong, tell)
        pipeline, rest = Pipeline.parse(variant.passes), Pipeline.parse(base.passes)
        counts = points(pipeline, rest, variant.changing)
        point = self._point(wrong)

        def state_at(count: int) -> State:
            name = pipeline.selectors()[count - 1]
            state = self.state(splice(pipeline, count, rest), variant, base, point)
            tell(f"{variant.pipeline} up to {name}, then {base.pipeline}: {state}")
            return state

        return Blame(variant.name, wrong, found=search(pipeline, counts, state_at))

    def _blame_backend(self, variant: Variant, wrong: Run, tell: Tell) -> Blame:
        """Of a variant that is wrong through its code generator alone."""
        right = {each.variant for each in self._result.beside(wrong) if each.ok}
        base = next(each for each in self._result.kernel.variants if each.name in right)
        for level in range(3):
            wheel = replace(self._choice.options.wheel, opt_level=level)
            options = replace(self._choice.options, wheel=wheel)
            choice = replace(self._choice, options=options)
            state = self.state(None, variant, base, self._point(wrong), choice)
            tell(f"{variant.name} with --opt-level {level}: {state}")
            if state == "bad":
                return Blame(variant.name, wrong, backend=variant.backend, opt_level=level)
        return Blame(variant.name, wrong, backend=variant.backend, opt_level=3)

    def state(
        self,
        pipeline: Pipeline | None,
        variant: Variant,
        base: Variant,
        point: Point,
        choice: Choice | None = None,
    ) -> State:
        """Whether the kernel through `pipeline`, or the variant's own, differs from `base` as well."""
        options = (choice or self._choice).options_for(variant.pipeline, variant.backend)
        if pipeline:
            options = replace(options, pipeline=str(pipeline), edits=())
        try:
            compilation = self._workers.compile(self._source, options)
        except Error:
            return "unknown"
        # The names say which code generator it is.
        kernels = {base.name: load_variant(self._folder, base), f"hand-over/{variant.backend}": Kernel(compilation)}
        runs = run_point(kernels, point, self._folder, self._device, self._settings)
        return "good" if runs[-1].ok else "bad"

    def _variant(self, pipeline: str, like: Variant) -> Variant | None:
        """The variant of another pipeline with the same code generator, where it compiled."""
        return next(
            (
                each
                for each in self._result.kernel.variants
                if (each.pipeline, each.backend) == (pipeline, like.backend) and each.bundle
            ),
            None,
        )

    def _run_of(self, variant: Variant, like: Run) -> Run | None:
        return next((run for run in self._result.beside(like) if run.variant == variant.name), None)

    def _point(self, run: Run) -> Point:
        points_ = self._result.kernel.points
        return next(each for each in points_ if (each.sizes, each.seed) == (run.sizes, run.seed))
