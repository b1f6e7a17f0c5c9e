# espalier_fuzzer(NAME npy SOURCE npy_fuzz.cc DEPS espalier::source_format INSTRUMENTED source_format)
#
# bin/espalier-fuzz-<name>, a libFuzzer program, and the test fuzz.<name>, which runs it over its seeds for some seconds
# (services/fuzz/run). Clang builds them in the presets of the address sanitizer; elsewhere there are none.
# INSTRUMENTED: the libraries whose branches steer the fuzzer.
if(ESPALIER_SANITIZER STREQUAL "address" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(ESPALIER_FUZZERS ON)
  add_custom_target(espalier-fuzzers)  # all of them
else()
  set(ESPALIER_FUZZERS OFF)
endif()
set(ESPALIER_FUZZ_SECONDS 5)

function(espalier_fuzzer)
  cmake_parse_arguments(ARG "" "NAME;SOURCE" "DEPS;INSTRUMENTED" ${ARGN})
  espalier_refuse_words(${ARG_NAME} ${ARG_UNPARSED_ARGUMENTS})
  if(NOT ESPALIER_FUZZERS)
    return()
  endif()
  espalier_count_branches(${ARG_INSTRUMENTED})
  set(target espalier-fuzz-${ARG_NAME})
  add_executable(${target} EXCLUDE_FROM_ALL ${ARG_SOURCE})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE ${ARG_DEPS} espalier_warnings)
  target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  espalier_may_share_common_headers(${target})
  add_dependencies(espalier-fuzzers ${target})
  if(ESPALIER_TESTS)
    add_dependencies(espalier-unit-tests ${target})
    add_test(NAME fuzz.${ARG_NAME} COMMAND ${ESPALIER_PYTHON} ${PROJECT_SOURCE_DIR}/services/fuzz/run
      --bin ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} --seconds ${ESPALIER_FUZZ_SECONDS} ${ARG_NAME})
    set_tests_properties(fuzz.${ARG_NAME} PROPERTIES LABELS unit TIMEOUT 300)
  endif()
endfunction()

# Sets the options that -fsanitize=fuzzer-no-link implies. With that option itself, Clang would refuse precompiled headers
# that were compiled without it.
function(espalier_count_branches)
  foreach(library IN LISTS ARGN)
    get_target_property(counts espalier_${library} ESPALIER_COUNTS_BRANCHES)
    if(NOT counts)
      set_target_properties(espalier_${library} PROPERTIES ESPALIER_COUNTS_BRANCHES ON)
      target_compile_options(espalier_${library} PRIVATE
        -fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp,indirect-calls)
    endif()
  endforeach()
endfunction()
