# Precompiles the third-party headers that most files include. This saves a fifth of Clang's time with sanitizers and less
# of GCC's. Only in unity builds: in other builds (debug) each file has to include the headers that it uses.

# Marks a target for espalier_share_common_headers.
function(espalier_may_share_common_headers target)
  set_property(GLOBAL APPEND PROPERTY ESPALIER_MAY_SHARE_COMMON_HEADERS ${target})
endfunction()

# Call it after all targets are defined. Targets that have a precompiled header of their own keep it.
function(espalier_share_common_headers)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  # CLI11 is included by few files, but it is slow to compile.
  espalier_add_common_headers(espalier_common_headers <CLI/CLI.hpp>)
  if(ESPALIER_TESTS)
    espalier_add_common_headers(espalier_common_test_headers <gmock/gmock.h> <gtest/gtest.h>)
    target_link_libraries(espalier_common_test_headers PRIVATE GTest::gmock GTest::gtest)
    espalier_compile_as_test(espalier_common_test_headers)
  endif()

  get_property(targets GLOBAL PROPERTY ESPALIER_MAY_SHARE_COMMON_HEADERS)
  foreach(target IN LISTS targets)
    get_target_property(own ${target} PRECOMPILE_HEADERS)
    get_target_property(shared ${target} PRECOMPILE_HEADERS_REUSE_FROM)
    if(own OR shared)
      continue()
    endif()
    if(target MATCHES "_(test|testing)$")
      target_precompile_headers(${target} REUSE_FROM espalier_common_test_headers)
    else()
      target_precompile_headers(${target} REUSE_FROM espalier_common_headers)
    endif()
  endforeach()
endfunction()

function(espalier_add_common_headers target)
  set(source ${CMAKE_BINARY_DIR}/${target}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// A library has a source, also one for the sake of its precompiled header.\n")
  add_library(${target} OBJECT ${source})
  target_link_libraries(${target} PRIVATE espalier_warnings)
  target_precompile_headers(${target} PRIVATE
    <algorithm> <chrono> <condition_variable> <filesystem> <functional> <map> <optional> <ranges> <span> <sstream>
    <string> <thread> <unordered_map> <variant> <vector> <nlohmann/json.hpp> ${ARGN})
endfunction()
