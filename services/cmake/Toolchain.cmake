# Compiler, linker and warnings.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(ESPALIER_CCACHE ccache)
if(ESPALIER_CCACHE)
  # Objects are shared between checkouts, and files that use a precompiled header are cached too.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${ESPALIER_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()
find_program(ESPALIER_MOLD mold)
if(ESPALIER_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # By default GCC collects garbage from 128 MiB on, which takes an eighth of its time. A source needs at most 1.5 GB.
  add_compile_options("SHELL:--param ggc-min-heapsize=1048576")
endif()

# Vector code for any x86-64 machine of the last decade; bit-equality holds between machines that run the same code.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_compile_options(-march=x86-64-v3)
endif()
# For arm64, GCC 12 vectorizes some sums of comparisons in straight-line code wrongly: it adds lane masks, in which true is
# -1. Weighted draws returned positions outside of the row.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fno-tree-slp-vectorize)
endif()
# Results must not depend on which expressions the compiler fuses into multiply-adds.
add_compile_options(-ffp-contract=off)

# Some libraries require -pthread. All targets get it, because a precompiled header needs equal options.
add_compile_options(-pthread)
# One build of each library for programs and for shared libraries (docs/programs.md). Functions are not replaced at load
# time, so they may be inlined as in a program.
add_compile_options(-fPIC -fno-semantic-interposition)

add_library(espalier_warnings INTERFACE)
target_compile_options(espalier_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wextra-semi
  -Wno-missing-field-initializers -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(espalier_warnings INTERFACE -Wthread-safety)  # ABSL_GUARDED_BY and its like (base/mutex.h)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns wrongly about inlined std::string operations (gcc.gnu.org/PR105651, PR105329).
  target_compile_options(espalier_warnings INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds
    $<$<CONFIG:Release,RelWithDebInfo>:-Wno-maybe-uninitialized>)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # In a unity build every source is an included file, and GCC warns about anonymous namespaces in included files.
  target_compile_options(espalier_warnings INTERFACE -Wno-subobject-linkage)
endif()

if(ESPALIER_SANITIZER STREQUAL "address")
  # Omits the checks of undefined behavior that the address sanitizer makes too.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,object-size,vptr -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
  add_compile_definitions(ESPALIER_ADDRESS_SANITIZER)  # compilers have no common name for it
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options(-fno-sanitize=function)  # a plugin's function is called by the type that its version promises
  endif()
elseif(ESPALIER_SANITIZER STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -Wno-tsan)
  add_link_options(-fsanitize=thread)
  add_compile_definitions(ESPALIER_THREAD_SANITIZER)
elseif(ESPALIER_SANITIZER)
  message(FATAL_ERROR "ESPALIER_SANITIZER is '${ESPALIER_SANITIZER}'; expected address, thread or nothing")
endif()
