"""How kernels are compiled: one thread, no GIL, cached on disk where a cache can be written.

Left alone, Numba optimises and assembles every function in full, and then once more inside each of
its callers, and theirs, and so on. Here a function that another kernel calls is only translated to
LLVM's language, as a `_Part`; it is optimised and assembled once, inside the kernel that Python
calls. That halves the time of the first compilation, and speeds kernels up where the whole tells
more than its parts. Parts are kept on disk too, so that processes can share the work of translating
them. It leans on how Numba is built inside, hence the bound on its version.
"""

import os
from collections.abc import Callable
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, cast

from llvmlite import binding as llvm
from numba.core import types
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    NullCache,
)
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.errors import CompilerError
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes

F = TypeVar("F", bound=Callable[..., Any])

# error_model="numpy": no zero-division branches in inner loops; kernels never divide by data.
# No C callbacks are needed: without them each kernel is compiled once less.
OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

_at_work: list[Any] = []  # kernels that Python called and that are not ready yet

JIT_ENABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


def kernel(function: F) -> F:
    """Compile a kernel; without a writable cache directory it is compiled once per process."""
    return _cached(cast(F, _Kernel(function))) if JIT_ENABLED else function


def bare_kernel(function: F) -> F:
    """Compile a kernel that makes no arrays and returns none.

    As a part of others it counts no references: whoever called it holds its arrays. Counting them
    takes longer than most of these kernels work, since threads must agree on every count.
    """
    return _cached(cast(F, _Kernel(function, bare=True))) if JIT_ENABLED else function


def hot_kernel(function: F) -> F:
    """Compile a bare kernel where the time goes, with its loops unrolled and made of vectors.

    Loops elsewhere are compiled as they are written. Most of them run over two labels or three
    groups, and to unroll all of them took most of the time of compiling.
    """
    return _cached(cast(F, _Kernel(function, bare=True, hot=True))) if JIT_ENABLED else function


def kernel_of_this_process(function: F) -> F:
    """Compile a kernel that is not kept on disk, such as one made of a user's functions."""
    return cast(F, _Kernel(function, hot=True)) if JIT_ENABLED else function


def cache_folder(compiled: Callable[..., Any]) -> Path | None:
    """Return where a kernel is kept on disk; None if it is not compiled or nothing can be kept."""
    folder = cast(_Kernel, compiled).stats.cache_path if JIT_ENABLED else None
    return Path(folder) if folder else None


def compiling() -> bool:
    """Tell whether a kernel is being compiled, or loaded, for a call from Python."""
    return bool(_at_work)


def _cached(compiled: F) -> F:
    cast(_Kernel, compiled).enable_caching()
    return compiled


class _Kernel(CPUDispatcher):
    """Whole where Python calls it, a part where another kernel does."""

    def __init__(
        self, function: Callable[..., Any], *, bare: bool = False, hot: bool = False
    ) -> None:
        compiler = _HotKernelCompiler if hot else _KernelCompiler
        super().__init__(function, targetoptions=OPTIONS, pipeline_class=compiler)
        self._bare, self._hot, self._kept = bare, hot, False

    @cached_property
    def _part(self) -> Any:
        """What others call; most processes find all kernels compiled, and need none of these."""
        # said of every part: unsaid, it would be as for the caller that was compiled first
        options = OPTIONS | {"_nrt": not self._bare}
        compiler = _HotPartCompiler if self._hot and self._bare else _PartCompiler
        part = _Part(self.py_func, targetoptions=options, pipeline_class=compiler)
        if self._kept:
            part.enable_caching()
        return part

    def compile(self, sig: Any) -> Any:
        _at_work.append(self)
        try:
            return super().compile(sig)
        finally:
            _at_work.remove(self)

    def compile_part(self, sig: tuple[Any, ...]) -> None:
        """Translate this kernel as others call it."""
        self._part.compile(sig)

    def enable_caching(self) -> None:
        self._cache, self._kept = _CacheWhenNeeded(_KernelCache, self.py_func), True

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self._part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self._part.get_overload(sig)


class _CacheWhenNeeded(NullCache):
    """A cache that is opened when it is first asked: to find its place takes a while.

    Where there is no place for it, nothing is kept.
    """

    def __init__(self, kind: type[FunctionCache], function: Callable[..., Any]) -> None:
        self._kind, self._function = kind, function

    @cached_property
    def opened(self) -> NullCache | FunctionCache:
        """The cache itself."""
        try:
            return self._kind(self._function)
        except RuntimeError:  # Numba found no place
            return NullCache()

    @property
    def cache_path(self) -> str | None:
        return cast(str | None, self.opened.cache_path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        return self.opened.load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        self.opened.save_overload(sig, data)


class _KernelCache(FunctionCache):
    """A cache that is out of date as soon as any kernel has changed.

    A kernel holds the code of those that it calls, and Numba would look at its own file only.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp(), digest_of_kernels()
        self._cache_file = _CacheFile(self._cache_path, self._impl.filename_base, stamp)


class _CacheFile(IndexDataCacheFile):
    """Data that say what they are.

    Two processes that keep a kernel for different types at once may choose the same place, and one
    finds what the other has put there.
    """

    def __init__(self, *place: Any) -> None:
        super().__init__(*place)
        # Numba looks at the version first: types that other kernels had may be gone by now, and
        # the index that names them could not even be read
        self._version = self._version, digest_of_kernels()

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        stamp, of, data = super().load(key) or (None, None, None)
        return data if (stamp, of) == (self._source_stamp, key) else None


class _PartCacheImpl(CompileResultCacheImpl):
    """What is kept of a part: its text in LLVM's language, and how it is called."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        return f"{super().get_filename_base(fullname, abiflags)}.part"

    def reduce(self, cres: Any) -> tuple[Any, ...]:
        cres.fndesc.typemap = cres.fndesc.calltypes = None
        return cres.library.serialize_using_bitcode(), cres.fndesc, cres.signature

    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> Any:
        (name, _, bitcode), fndesc, signature = payload
        missing: dict[str, Any] = dict.fromkeys(CompileResult._fields)
        part = {
            "typing_context": target_context.typing_context,
            "target_context": target_context,
            "entry_point": _Name(),
            "signature": signature,
            "fndesc": fndesc,
            "library": _PartLibrary.of_bitcode(target_context.codegen(), name, bitcode),
        }
        return CompileResult(**missing | part)

    def check_cachable(self, cres: Any) -> bool:
        return not cres.reload_init and super().check_cachable(cres)


class _PartCache(_KernelCache):
    _impl_class: Any = _PartCacheImpl


@cache
def digest_of_kernels() -> str:
    """Return a digest of the text of all kernels."""
    modules = sorted(files(__package__).iterdir(), key=lambda module: module.name)
    texts = [module.read_bytes() for module in modules if module.name.endswith(".py")]
    return sha256(b"".join(texts)).hexdigest()


class _Part(CPUDispatcher):
    """Code that kernels call, never Python: there is no machine code to register for its sake."""

    def enable_caching(self) -> None:
        self._cache = _CacheWhenNeeded(_PartCache, self.py_func)

    def add_overload(self, cres: Any) -> None:
        self.overloads[tuple(cres.signature.args)] = cres


class _PartLibrary(JITCodeLibrary):
    """Linked into callers as it is: they optimise it, with what they know, and assemble it."""

    @classmethod
    def of_bitcode(cls, codegen: Any, name: str, bitcode: bytes) -> "_PartLibrary":
        """Make a library of what `serialize_using_bitcode` said of another."""
        library = cls(codegen, name)
        library._final_module = llvm.parse_bitcode(bitcode)
        library._finalize_final_module()
        return library

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _HotPartLibrary(_PartLibrary):
    """Optimised once, before it is linked into any caller."""

    def _optimize_final_module(self) -> None:
        super(_PartLibrary, self)._optimize_final_module()


class _KernelLibrary(JITCodeLibrary):
    """Optimised as far as it pays: parts get no more than they use, loops stay as they are."""

    def _optimize_final_module(self) -> None:
        parts = {
            function.name
            for function in self._final_module.functions
            if function.linkage == llvm.Linkage.linkonce_odr and not _of_numba(function.name)
        }
        # A tuple of arrays is handed over as some hundred numbers, of which most parts use a few.
        # To leave out the others, the parts must be this kernel's own.
        self._link(parts, "internal")
        dropping = llvm.create_new_module_pass_manager()
        dropping.add_dead_arg_elimination_pass()
        dropping.run(self._final_module, self._pass_builder(0))
        # Of its own parts, LLVM would take in each that is called once, which takes long.
        self._link(parts, "linkonce_odr")
        builder = self._pass_builder(3)
        passes = builder.getModulePassManager()
        passes.add_refprune_pass()  # references of arrays that stay within a kernel
        passes.run(self._final_module, builder)
        # A part is called in another way in each kernel, so no other may find it by its name.
        self._link(parts, "private")

    def _link(self, parts: set[str], linkage: str) -> None:
        for function in self._final_module.functions:
            if function.name in parts and not function.is_declaration:
                function.linkage = linkage

    def _pass_builder(self, level: int) -> Any:
        tuning = llvm.create_pipeline_tuning_options(speed_level=level)
        tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_unrolling = False
        return llvm.create_pass_builder(self._codegen._tm, tuning)


def _of_numba(name: str) -> bool:
    """Tell whether a function counts references: the pass that prunes these looks for it."""
    return name.startswith("NRT_")


class _KernelCompiler(CompilerBase):
    """Numba's own passes, except for those that look for what none of our kernels has.

    A user's functions may have all of it.
    """

    library: type[JITCodeLibrary] = _KernelLibrary
    # functions within functions; operators between whole arrays
    left_out = frozenset({InlineClosureLikes, NopythonRewrites})

    def define_pipelines(self) -> list[PassManager]:
        of, codegen = self.state.func_id, self.state.targetctx.codegen()
        self.state.library = self.library(codegen, of.func_qualname)
        self.state.library.enable_object_caching()
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        left_out = self.left_out if of.modname.startswith(f"{__package__}.") else ()
        passes.passes = [
            (self.taken(step), text) for step, text in passes.passes if step not in left_out
        ]
        passes.finalize()
        return [passes]

    def taken(self, step: Any) -> Any:
        """Return the pass to take in a pass's place."""
        return step


class _HotKernelCompiler(_KernelCompiler):
    library = JITCodeLibrary


class _PartCompiler(_KernelCompiler):
    """The last pass differs."""

    library = _PartLibrary

    def taken(self, step: Any) -> Any:
        return _PartLowering if step is NativeLowering else step


class _HotPartCompiler(_PartCompiler):
    library = _HotPartLibrary


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Translate to LLVM's language, and tell the compiler that calls may be made."""

    _name = "adtc_part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.flags.no_compile = True
        state.flags.no_cpython_wrapper = True
        if not state.flags.nrt:
            _check_bare(state)
        super().run_pass(state)
        name = _Name()
        state.targetctx.insert_user_function(name, state.cr.fndesc, [state.library])
        state["cr"] = state.cr._replace(cfunc=name)
        return True


def _check_bare(state: Any) -> None:
    """Refuse a bare kernel that would lose or leak an array; making one is refused by Numba."""
    returned = {"the caller": state.return_type}
    for call, signature in state.calltypes.items():
        callee = state.typemap.get(call.func.name) if getattr(call, "op", "") == "call" else None
        if isinstance(callee, types.Dispatcher):
            returned[callee.dispatcher.py_func.__name__] = signature.return_type
    for function, kind in returned.items():
        if state.targetctx.data_model_manager[kind].contains_nrt_meminfo():
            raise CompilerError(
                f"{state.func_id.func_name} is a bare kernel, but hands over an array: "
                f"{function}, {kind}"
            )


class _Name:
    """What a part is known by among the compiler's functions, where others have an address."""
