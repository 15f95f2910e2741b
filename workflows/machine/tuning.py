"""The environment variables that a record may name.

Only these, by their whole names: a prefix such as `TF_` would also take tokens of other programs
(`TF_TOKEN_...` is Terraform's). Each changes how a framework computes, allocates or compiles.
Thread counts are left out, because the harness sets them for each worker.
"""

import os
import re

from workflows.records.private import last_parts

LONGEST = 200  # characters of a value

FLAGS = [
    "ATEN_CPU_CAPABILITY",
    "CUBLASLT_WORKSPACE_SIZE",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES",
    "CUDNN_CONV_WSCAP_DBG",
    "DNNL_CPU_ISA_HINTS",
    "DNNL_DEFAULT_FPMATH_MODE",
    "DNNL_MAX_CPU_ISA",
    "DNNL_PRIMITIVE_CACHE_CAPACITY",
    "GLIBC_TUNABLES",
    "GOMP_CPU_AFFINITY",
    "GOMP_SPINCOUNT",
    "JAX_COMPILATION_CACHE_DIR",
    "JAX_CPU_ENABLE_ASYNC_DISPATCH",
    "JAX_DEBUG_INFS",
    "JAX_DEBUG_NANS",
    "JAX_DEFAULT_DTYPE_BITS",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "JAX_DISABLE_JIT",
    "JAX_ENABLE_CHECKS",
    "JAX_ENABLE_COMPILATION_CACHE",
    "JAX_ENABLE_X64",
    "JAX_NUMPY_DTYPE_PROMOTION",
    "JAX_PLATFORMS",
    "JAX_PLATFORM_NAME",
    "KERAS_BACKEND",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "KMP_HW_SUBSET",
    "KMP_LIBRARY",
    "LD_PRELOAD",
    "MALLOC_ARENA_MAX",
    "MALLOC_ARENA_TEST",
    "MALLOC_CHECK_",
    "MALLOC_CONF",
    "MALLOC_MMAP_MAX_",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_PERTURB_",
    "MALLOC_TOP_PAD_",
    "MALLOC_TRIM_THRESHOLD_",
    "MKL_CBWR",
    "MKL_DEBUG_CPU_TYPE",
    "MKL_DISABLE_FAST_MM",
    "MKL_DYNAMIC",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_INTERFACE_LAYER",
    "MKL_THREADING_LAYER",
    "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES",
    "NVIDIA_TF32_OVERRIDE",
    "OMP_DYNAMIC",
    "OMP_PLACES",
    "OMP_PROC_BIND",
    "OMP_SCHEDULE",
    "OMP_STACKSIZE",
    "OMP_WAIT_POLICY",
    "ONEDNN_CPU_ISA_HINTS",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "ONEDNN_MAX_CPU_ISA",
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY",
    "OPENBLAS_CORETYPE",
    "PYTHONMALLOC",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_JIT",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "TF_CUDNN_DETERMINISTIC",
    "TF_CUDNN_USE_AUTOTUNE",
    "TF_CUDNN_USE_FRONTEND",
    "TF_DETERMINISTIC_OPS",
    "TF_DISABLE_MKL",
    "TF_ENABLE_ONEDNN_OPTS",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR",
    "TF_GPU_THREAD_MODE",
    "TF_MKL_ALLOC_MAX_BYTES",
    "TF_MKL_OPTIMIZE_PRIMITIVE_MEMUSE",
    "TF_USE_CUBLASLT",
    "TF_USE_LEGACY_KERAS",
    "TF_XLA_FLAGS",
    "TORCHDYNAMO_DISABLE",
    "TORCHINDUCTOR_CPP_WRAPPER",
    "TORCHINDUCTOR_FREEZING",
    "TORCHINDUCTOR_FX_GRAPH_CACHE",
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_BLAS_PREFER_CUBLASLT",
    "TORCH_COMPILE_DISABLE",
    "TORCH_CUDNN_V8_API_DISABLED",
    "TORCH_LINALG_PREFER_CUSOLVER",
    "XLA_CLIENT_MEM_FRACTION",
    "XLA_FLAGS",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
]

# Values of flags look like this. A password in one of them is possible, and an address with a
# user's name is not recorded.
ADDRESS = re.compile(r"\w+://\S+")


def variables() -> dict[str, str]:
    """Those that are set here, with the last part of each path in their values."""
    return {name: shown(os.environ[name]) for name in FLAGS if name in os.environ}


def shown(value: str) -> str:
    return last_parts(ADDRESS.sub("...", value))[:LONGEST]
