# ===- triton_kernels.py - Triton kernels as variants of a search -*- Python -*-===#
#
# Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Makes a Triton kernel a folder that `--proposer=files:DIR` takes.

    fastk.from_triton(
        softmax, grid=(4096,), args=["in0: f32", "out0: f32", 1000],
        constexprs={"BLOCK": 1024}, configs=[{"num_warps": 4}, {"num_warps": 8}],
        to="kernels")

writes a variant for each config: kernel.ptx, plan.json and idea.md. Triton compiles for
`target` without a GPU. What the kernel computes is for the search to judge: nothing is
taken for granted here.

Arguments are what the plan of launches passes:

    "in0: f32"       input 0 of the workload, a pointer to f32; out1 is a result
    "in0+4096: f32"  the same, 4096 bytes on
    "ws0: f32"       workspace 0, whose bytes `workspaces` says
    12, 0.5          a number, i32 (i64 where it must be) or f32; None as in Triton

What a plan has no place for is an Error that says so: tensor descriptors (TMA), clusters
(num_ctas), hooks of an autotuner, heuristics, booleans.
"""

import contextlib
import io
import json
import math
import numbers
import os
import pathlib
import re
import warnings

from .triton_folders import HEAD, Error, write_variant

__all__ = ["Error", "from_triton"]

#: The versions whose PTX is understood here; python/pyproject.toml says the same.
OLDEST, NEWEST = (3, 3), (3, 9)

#: Triton's names of the elements of buffers, by fastk's.
POINTERS = {
    "f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16",
    "i64": "i64", "i32": "i32", "i8": "i8", "i1": "i1",
}  # fmt: skip
#: What numbers of a plan may be to a kernel: the plan's name, by Triton's.
NUMBERS = {
    "i32": "i32", "u32": "i32", "i64": "i64", "u64": "i64", "fp32": "f32", "fp64": "f64",
}  # fmt: skip
CATEGORIES = (
    "memory access", "async and latency hiding", "data type and precision",
    "compute and instructions", "parallelism and occupancy", "control flow and loops",
)  # fmt: skip
#: What ptxas of the oldest CUDA that fastk works with assembles, 12.4, and of the one that
#: it installs, 13.0: the first that a kernel can do with.
PTX_VERSIONS = (84, 90)
#: Workspaces are aligned to so many bytes, operands to as many as the second says.
WORKSPACE_ALIGNMENT, POINTER_ALIGNMENT = 256, 16


def from_triton(
    kernel,
    grid,
    args,
    *,
    to,
    target="cuda:sm_90a",
    constexprs=None,
    configs=None,
    workspaces=(),
    name=None,
    key=None,
    title=None,
    category="parallelism and occupancy",
    text=None,
    options=None,
):
    """Writes a folder below `to` for each config, and returns their paths.

    `kernel` is a function of @triton.jit or Gluon's, or an autotuner of one, whose configs are
    taken where `configs` is None. `args` has a value for each parameter that is no
    constexpr, in order, or by name. `grid` is up to three integers, or a function of the
    arguments by name that returns them. `configs` are dicts of constexprs, num_warps,
    num_stages and maxnreg, or triton.Config. `workspaces` are bytes; `name` and `key`
    restrict the variants to a workload; `title`, `category` and `text` are the idea's.
    `options` are Triton's own, of every config.

    A config that Triton does not compile is left out with a warning, unless none is left.
    Folders that this function wrote are written again; others, and those that were edited
    since, are an Error and stay as they are.
    """
    triton = _import_triton()
    arch = _arch_of(target)
    if category not in CATEGORIES:
        raise Error(f"category '{category}': choose one of {', '.join(CATEGORIES)}")
    kernel, configs = _kernel_and_configs(triton, kernel, configs)
    made, failed = [], []
    for config in configs:
        variant = _Variant(
            triton, kernel, arch, args, constexprs or {}, config, options or {}
        )
        try:
            variant.compile()
        except Error:
            raise
        except Exception as error:  # Triton's have no class in common.
            failed.append(f"{variant.label}: {_first_line(error)}")
            continue
        plan = variant.plan(grid, workspaces)
        plan.update(
            {field: value for field, value in (("name", name), ("key", key)) if value}
        )
        made.append((variant, plan))
    if not made:
        raise Error("Triton compiles none of the configs: " + "; ".join(failed))
    for each in failed:
        warnings.warn(
            f"left out, since Triton does not compile it: {each}", stacklevel=2
        )
    _check_labels([variant.label for variant, _ in made])
    return [
        write_variant(
            pathlib.Path(to) / variant.label,
            {
                "kernel.ptx": variant.ptx,
                "plan.json": _plan_text(plan),
                "idea.md": variant.idea(title, category, text),
            },
        )
        for variant, plan in made
    ]


def _import_triton():
    try:
        import triton
    except ImportError:
        raise Error(
            "Triton is not installed: run pip install 'fastk[triton]', or "
            f"pip install 'triton>={OLDEST[0]}.{OLDEST[1]}'"
        ) from None
    version = tuple(int(part) for part in re.findall(r"\d+", triton.__version__)[:2])
    if not OLDEST <= version <= NEWEST:
        warnings.warn(
            f"Triton {triton.__version__} is not among the versions that fastk.from_triton "
            f"knows, {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}",
            stacklevel=3,
        )
    return triton


def _arch_of(target):
    found = re.fullmatch(r"cuda:sm_(\d+)(a?)", target)
    if not found or int(found[1]) < 80:
        raise Error(
            f"target '{target}': write a GPU as fastk-opt --target does, cuda:sm_90a"
        )
    arch = int(found[1])
    if arch >= 90 and not found[2]:
        raise Error(
            f"target '{target}': Triton's code is for {target}a alone; write {target}a"
        )
    return arch


def _kernel_and_configs(triton, kernel, configs):
    """The function that Triton compiles, and dicts of what it is compiled with."""
    if isinstance(kernel, triton.runtime.Autotuner):
        if configs is None:
            configs = kernel.configs
        kernel = kernel.fn
    if isinstance(kernel, triton.runtime.Heuristics):
        raise Error(
            "a kernel of @triton.heuristics gets constexprs from host code: pass its own function "
            "(kernel.fn) and the values as constexprs"
        )
    if not isinstance(kernel, triton.runtime.JITFunction):
        raise Error(
            f"{kernel!r} is no function of @triton.jit"
            + (
                " (unset TRITON_INTERPRET)"
                if os.environ.get("TRITON_INTERPRET")
                else ""
            )
        )
    result = []
    for config in [{}] if configs is None else configs:
        if isinstance(config, triton.Config):
            if getattr(config, "pre_hook", None):
                raise Error(
                    "a config has a pre_hook, which is host code: a variant has none; launch a "
                    "kernel for what it prepares, or leave it out"
                )
            config = config.all_kwargs()
        result.append(dict(config))
    if not result:
        raise Error("configs is empty: leave it out, or name one")
    return kernel, result


class _Buffer:
    """A pointer of the plan."""

    def __init__(self, text):
        found = re.fullmatch(r"\s*((?:in|out|ws)\d+)(?:\+(\d+))?\s*:\s*(\w+)\s*", text)
        if not found or found[3] not in POINTERS:
            raise Error(
                f"argument '{text}': write a buffer and the type of its elements, as 'in0: f32'; "
                f"types are {', '.join(POINTERS)}"
            )
        self.offset = int(found[2] or 0)
        self.type = "*" + POINTERS[found[3]]
        self.text = found[1] + (f"+{self.offset}" if self.offset else "")


class _Variant:
    """One kernel with one config."""

    def __init__(self, triton, kernel, arch, args, constexprs, config, options):
        self.triton, self.kernel, self.arch = triton, kernel, arch
        known = _options_of_triton() - {each.name for each in kernel.params}
        for each in sorted(options.keys() - known):
            raise Error(
                f"Triton has no option '{each}'; it has {', '.join(sorted(known))}"
            )
        self.options = {**options, **{k: v for k, v in config.items() if k in known}}
        self._bind(
            args, {**constexprs, **{k: v for k, v in config.items() if k not in known}}
        )
        if self.options.pop("num_ctas", None) not in (None, 1):
            raise Error(
                "num_ctas above 1 makes clusters, whose launch fastk.from_triton does not know; "
                "use num_ctas=1"
            )
        # What says nothing, as a config of Triton's has much of, is not shown.
        shown = {**self.given, **{k: v for k, v in self.options.items() if v}}
        self.shown = ", ".join(
            f"{field}={_show(value)}" for field, value in shown.items()
        )
        label = "-".join(
            [kernel.__name__, *(f"{k}-{_show(v)}" for k, v in shown.items())]
        )
        self.label = re.sub(r"[^A-Za-z0-9_.-]+", "_", label).strip(".")[:120]

    def _bind(self, args, given):
        """What each parameter is: a constexpr, or an argument of the plan."""
        parameters = self.kernel.params
        names = [each.name for each in parameters]
        runtime = [each.name for each in parameters if not each.is_constexpr]
        if not isinstance(args, dict):
            if len(args) != len(runtime):
                raise Error(
                    f"{self.kernel.__name__} has {len(runtime)} parameters that are no constexprs "
                    f"({', '.join(runtime)}), but args has {len(args)}"
                )
            args = dict(zip(runtime, args))
        for each in [*args, *given]:
            if each not in names:
                raise Error(
                    f"{self.kernel.__name__} has no parameter '{each}'; it has {', '.join(names)}"
                )
        self.given = {each: given[each] for each in names if each in given}
        self.signature, self.constants, self.attributes, self.arguments = {}, {}, {}, []
        self.meta = {}
        for place, parameter in enumerate(parameters):
            each = parameter.name
            if each in given or each in args:
                value = given[each] if each in given else args[each]
            elif parameter.has_default:
                value = parameter.default
            else:
                what = "constexprs" if parameter.is_constexpr else "args"
                raise Error(
                    f"{what} has no value for '{each}' of {self.kernel.__name__}"
                )
            self.meta[each] = value
            self._bind_one(
                place,
                parameter,
                value,
                is_constant=parameter.is_constexpr or each in given,
            )

    def _bind_one(self, place, parameter, value, is_constant):
        each = parameter.name
        specialized = not getattr(parameter, "do_not_specialize", False)
        aligned = specialized and not getattr(
            parameter, "do_not_specialize_on_alignment", False
        )
        is_one = isinstance(value, numbers.Integral) and value == 1 and specialized
        if is_constant or value is None or (is_one and not isinstance(value, bool)):
            self.signature[each] = "constexpr"
            self.constants[(place,)] = value
            return
        if isinstance(value, str):
            buffer = _Buffer(value)
            self.signature[each] = buffer.type
            self.arguments.append(buffer.text)
            if aligned and buffer.offset % POINTER_ALIGNMENT == 0:
                self.attributes[(place,)] = [["tt.divisibility", 16]]
            return
        kind = self._kind_of(parameter, value)
        self.signature[each] = kind
        is_integer = NUMBERS[kind].startswith("i")
        self.arguments.append(
            {NUMBERS[kind]: int(value) if is_integer else float(value)}
        )
        if is_integer and aligned and value % 16 == 0:
            self.attributes[(place,)] = [["tt.divisibility", 16]]

    def _kind_of(self, parameter, value):
        """Triton's type of a number."""
        each = f"argument '{parameter.name}' of {self.kernel.__name__}"
        if isinstance(value, bool):
            raise Error(
                f"{each} is a bool, which no plan can pass: make the parameter a constexpr"
            )
        if not isinstance(value, numbers.Real):
            hint = ""
            if "Descriptor" in type(value).__name__:
                hint = (
                    ": descriptors of tensors that the host makes (TMA) are not supported; let the "
                    "kernel take pointers"
                )
            raise Error(
                f"{each} is a {type(value).__name__}, which no plan can pass{hint}"
            )
        is_integer = isinstance(value, numbers.Integral)
        if not math.isfinite(value):
            raise Error(
                f"{each} is {value}, which no plan can pass: make the parameter a constexpr"
            )
        kind = getattr(parameter, "annotation_type", "")
        if not kind:
            kind = "fp32"
            if is_integer:
                kind = "i32" if -(2**31) <= value < 2**31 else "i64"
        bits = 64 if "64" in kind else 32
        is_too_wide = is_integer and not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)
        if (
            kind not in NUMBERS
            or is_too_wide
            or (not is_integer and not kind.startswith("fp"))
        ):
            raise Error(
                f"{each} is {value}, which no plan can pass as {kind}: a kernel takes {', '.join(NUMBERS)}"
            )
        return kind

    def compile(self):
        """By Triton, for the target, up to PTX without lines of the source."""
        from triton.backends.compiler import GPUTarget

        source = _source_class(self.kernel)(
            self.kernel,
            self.signature,
            constexprs=self.constants,
            attrs=self.attributes,
        )
        options = {k: v for k, v in self.options.items() if v is not None}
        options.setdefault("enable_fp_fusion", True)
        target = GPUTarget("cuda", self.arch, 32)
        for version in PTX_VERSIONS:
            # Triton prints the program that ptxas does not take.
            with _without_line_info(), contextlib.redirect_stdout(io.StringIO()):
                try:
                    compiled = self.triton.compile(
                        source,
                        target=target,
                        options={"ptx_version": version, **options},
                    )
                    break
                except Exception as error:
                    if (
                        "requires PTX ISA" not in str(error)
                        or version == PTX_VERSIONS[-1]
                    ):
                        raise
        self.metadata = compiled.metadata
        if getattr(self.metadata, "tensordesc_meta", None):
            raise Error(
                f"{self.label} takes tensor descriptors, which no plan can pass: use pointers"
            )
        head = (
            f"{HEAD}Triton {self.triton.__version__}: "
            f"{self.kernel.__name__}({', '.join(self.signature)}), {self.shown or 'no options'}.\n"
        )
        self.ptx = head.encode("ascii", "backslashreplace").decode().replace(
            "\\", "/"
        ) + _stripped(compiled.asm["ptx"])
        for sign, why in (
            (
                "tensormap.",
                "makes tensor descriptors (TMA) on the device, which plans alone may: use pointers",
            ),
            (
                ".extern .func",
                "calls functions outside of it, as device_print and device_assert do: remove them",
            ),
        ):
            if sign in self.ptx:
                raise Error(f"{self.label} {why}")

    def plan(self, grid, workspaces):
        """The launch, and the memory behind it that Triton's launcher gives."""
        grid = grid(dict(self.meta)) if callable(grid) else grid
        grid = (
            [grid]
            if isinstance(grid, numbers.Integral)
            else [int(each) for each in grid]
        )
        if not 1 <= len(grid) <= 3 or min(grid) < 1:
            raise Error(
                f"grid {tuple(grid)}: write one to three numbers of blocks, each above 0"
            )
        blocks = 1
        for each in grid:
            blocks *= each
        spaces = [int(each) for each in workspaces]
        launch = {
            "launch": self.metadata.name,
            "grid": grid,
            "block": [self.metadata.num_warps * 32],
            "shared_bytes": self.metadata.shared,
            "arguments": [*self.arguments, *self._scratch(blocks, spaces)],
        }
        if not launch["shared_bytes"]:
            del launch["shared_bytes"]
        if getattr(self.metadata, "launch_cooperative_grid", False):
            launch["cooperative"] = True
        plan = {"format": 1}
        if spaces:
            plan["workspaces"] = [{"bytes": each} for each in spaces]
        return {**plan, "steps": [launch]}

    def _scratch(self, blocks, spaces):
        """Pointers behind the kernel's own: scratch memory, null where none is wanted."""
        found = re.search(r"\.entry\s+[\w$]+\s*\((.*?)\)", self.ptx, re.S)
        count = len(re.findall(r"\.param\b", found[1])) if found else 0
        extra = count - len(self.arguments)
        if not 0 <= extra <= 2:
            raise Error(
                f"{self.label} has {count} parameters in its PTX, where {len(self.arguments)} and up to two "
                f"for scratch memory are expected: this Triton ({self.triton.__version__}) is not known"
            )
        pointers = []
        for kind in ("global", "profile")[:extra]:
            size = getattr(self.metadata, f"{kind}_scratch_size", 0) or 0
            align = getattr(self.metadata, f"{kind}_scratch_align", 1) or 1
            if not size:
                pointers.append({"i64": 0})
                continue
            if align > WORKSPACE_ALIGNMENT:
                raise Error(
                    f"{self.label} wants scratch memory aligned to {align} bytes; workspaces are to 256"
                )
            pointers.append(f"ws{len(spaces)}")
            spaces.append(size * blocks)
        return pointers

    def idea(self, title, category, text):
        document = (
            text
            or (self.kernel.fn.__doc__ or "").strip()
            or "A kernel written in Triton."
        )
        title = title or f"Triton's {self.kernel.__name__}"
        return (
            f"# {title}{', ' + self.shown if self.shown else ''}\nCategory: {category}\n\n{document}\n\n"
            f"Compiled by Triton {self.triton.__version__}.\n"
        )


def _options_of_triton():
    from triton.backends.nvidia.compiler import CUDAOptions

    return set(CUDAOptions.__dataclass_fields__)


def _source_class(kernel):
    is_gluon = getattr(kernel, "is_gluon", None)
    if is_gluon and is_gluon():
        from triton.experimental.gluon._runtime import GluonASTSource

        return GluonASTSource
    from triton.compiler import ASTSource

    return ASTSource


@contextlib.contextmanager
def _without_line_info():
    """Names of files and lines are no part of a variant."""
    name = "TRITON_DISABLE_LINE_INFO"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _stripped(ptx):
    """Without the comment lines that LLVM puts first."""
    return ptx[ptx.index(".version") :]


def _plan_text(plan):
    """JSON with a line for each field, as a person writes it."""
    lines = [
        f" {json.dumps(field)}: {json.dumps(value)}" for field, value in plan.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _show(value):
    value = getattr(value, "value", value)
    return str(getattr(value, "__name__", value))


def _first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = (
        [line for line in lines if re.search(r"\berror\b", line)]
        or lines[-1:]
        or ["no reason given"]
    )
    return f"{type(error).__name__}: {told[0]}"


def _check_labels(labels):
    for label in labels:
        if labels.count(label) > 1:
            raise Error(
                f"two configs have the name '{label}': make them differ, or leave one out"
            )
