# Toolchain file: programs for Linux on arm64, compiled on x86-64 (images/cross). ESPALIER_SYSROOT is a folder with Debian 12's
# packages for arm64.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ESPALIER_SYSROOT)
if(NOT IS_DIRECTORY "${ESPALIER_SYSROOT}")
  message(FATAL_ERROR "ESPALIER_SYSROOT is '${ESPALIER_SYSROOT}'; expected the folder that images/cross makes")
endif()
set(CMAKE_SYSROOT ${ESPALIER_SYSROOT})

# Libraries and headers are those of arm64 alone; protoc and its plugin run on the machine that compiles.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${ESPALIER_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${ESPALIER_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${ESPALIER_SYSROOT}/usr/share/pkgconfig)

# The cross compiler finds the linker of its own package alone.
set(ESPALIER_MOLD OFF CACHE FILEPATH "")
# GCC 12 for arm64 crashes (during IPA pass: cp) where a precompiled header of one level of optimization is used at another.
set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
