# Configuration of fastk's lit tests. `ninja check-fastk-lit` runs them.
import ctypes
import os
import platform
import shutil
import subprocess

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


def has_avx2():
    try:
        with open("/proc/cpuinfo") as file:
            return " avx2 " in file.read()
    except OSError:
        return False


if has_avx2():
    config.available_features.add("avx2")

# A library with sanitizers needs a program with them: mlir-opt, Python and what users build
# have none. And what attacks a process meets the sanitizer's own functions in it.
if config.fastk_sanitize:
    config.available_features.add("sanitized")


# Where CUDA's files are, and what must not be missing, is a matter of the machine, not of
# the user.
for name in ("FASTK_CUDA_PATH", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV",
             "FASTK_REQUIRE_SANITIZER"):
    if name in os.environ:
        config.environment[name] = os.environ[name]


def may_mount():
    """Whether a test may make a disk of its own, which it can fill."""
    return shutil.which("unshare") is not None and subprocess.run(
        ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
        capture_output=True).returncode == 0


if may_mount():
    config.available_features.add("small-disk")


def finds_libdevice():
    """Whether the compiler finds CUDA's math functions, by asking it."""
    test = os.path.join(config.test_source_root, "Conversion", "Cuda", "libdevice.mlir")
    folder = os.path.join(config.test_exec_root, "libdevice-probe")
    os.makedirs(folder, exist_ok=True)
    lowering = os.path.join(folder, "lowering.mlir")
    steps = [[test, "--fastk-form-workloads", "--fastk-lower-workloads", "-o", lowering],
             [lowering, "--compile-kernel=program", "--target=cuda:sm_90a", "-o",
              os.path.join(folder, "program")]]
    program = shutil.which("fastk-opt", path=config.environment["PATH"])
    return program is not None and all(
        subprocess.run([program, *step], env=config.environment,
                       capture_output=True).returncode == 0 for step in steps)


if finds_libdevice():
    config.available_features.add("libdevice")

# CUDA's assembler, where the compiler looks for it.
cuda_path = os.environ.get("FASTK_CUDA_PATH")
ptxas = shutil.which("ptxas", path=os.path.join(cuda_path, "bin") if cuda_path
                     else config.environment["PATH"])
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))

# CUDA's whole compiler, which only exports are for.
if shutil.which("nvcc", path=config.environment["PATH"]) and shutil.which("g++"):
    config.available_features.add("nvcc")


def finds_nvrtc():
    """Whether the compiler makes code of a winner in CUDA-C, by asking it."""
    driver = os.path.join(config.test_source_root, "Driver")
    program = shutil.which("fastk-opt", path=config.environment["PATH"])
    if program is None:
        return False
    result = subprocess.run(
        [program, os.path.join(driver, "Inputs", "relu.mlir"), "--target=cuda:sm_90a",
         "--bank=" + os.path.join(config.test_source_root, "Bank", "Inputs", "cuda-v1")],
        env=config.environment, capture_output=True, text=True)
    return "gpu.binary" in result.stdout


if finds_nvrtc():
    config.available_features.add("nvrtc")
