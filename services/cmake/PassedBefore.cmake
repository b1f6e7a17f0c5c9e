# espalier_skip_if_passed_before(NAME helm TESTS helm.lint INPUTS ${CMAKE_CURRENT_SOURCE_DIR} $<TARGET_FILE:espalier>)
#
# Lets test.sh skip TESTS that passed before with the same INPUTS (e2e/tools/passed_before.py). INPUTS are files
# and folders; generator expressions are allowed. They must cover everything that the tests read and run, but for Debian's
# packages, Python and the machine: those are inputs of every group. The CMakeLists.txt that calls this is an input too.
file(GLOB former_groups ${CMAKE_BINARY_DIR}/passed-before/*.group)
if(former_groups)  # one that is registered no longer would stay
  file(REMOVE ${former_groups})
endif()

function(espalier_skip_if_passed_before)
  cmake_parse_arguments(ARG "" "NAME" "TESTS;INPUTS" ${ARGN})
  if(NOT ARG_NAME OR NOT ARG_TESTS OR NOT ARG_INPUTS OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "espalier_skip_if_passed_before: expected NAME, TESTS and INPUTS, found '${ARGN}'")
  endif()
  if(ESPALIER_SANITIZER)  # its build has no programs, and unit tests alone
    return()
  endif()
  set(lines "")
  foreach(test IN LISTS ARG_TESTS)
    string(APPEND lines "test ${test}\n")
  endforeach()
  foreach(input IN LISTS ARG_INPUTS ITEMS ${CMAKE_CURRENT_LIST_FILE})
    string(APPEND lines "input ${input}\n")
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/passed-before/${ARG_NAME}.group CONTENT "${lines}")
endfunction()
