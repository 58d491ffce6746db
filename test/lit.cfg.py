# Configuration of fastk's lit tests. `ninja check-fastk-lit` runs them.
import ctypes
import os
import platform

import lit.formats

config.name = "fastk"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt"]
config.test_source_root = os.path.join(config.fastk_source_dir, "test")
config.test_exec_root = os.path.join(config.fastk_build_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.fastk_build_dir, "bin"), config.llvm_tools_dir,
     os.environ.get("PATH", "")])
# A user's own settings must not reach a test.
for name in ("FASTK_BANK", "FASTK_CACHE_DIR", "OMP_NUM_THREADS"):
    config.environment.pop(name, None)
config.environment["HOME"] = os.path.join(config.fastk_build_dir, "test", "home")
config.environment["XDG_CACHE_HOME"] = os.path.join(config.environment["HOME"], ".cache")
# Variables of one CHECK-LABEL block must not leak into the next.
config.environment["FILECHECK_OPTS"] = "-enable-var-scope"

fastk_opt = "fastk-opt"
# One switch tests every printer and parser.
if os.environ.get("FASTK_CHECK_ROUNDTRIP"):
    fastk_opt += " --verify-roundtrip"
config.substitutions.append((r"\bfastk-opt\b", fastk_opt))
config.substitutions.append(("%golden", os.path.join(config.test_source_root, "Inputs", "golden")))
config.substitutions.append(("%fastk_libs", os.path.join(config.fastk_build_dir, "lib")))
config.substitutions.append(("%fastk_src", config.fastk_source_dir))
config.substitutions.append(("%shlibext", ".so"))


def has_gpu():
    """A driver is installed, starts, and has a device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return (driver.cuInit(0) == 0
            and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
            and count.value > 0)


if has_gpu():
    config.available_features.add("cuda")
