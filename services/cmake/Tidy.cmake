# services.tidy: clang-tidy on the sources of libraries and of programs that are shipped (services/tests/tidy_test.py), with
# the commands of the address sanitizer's build. That build is Clang's, and compiles files several at a time.

# Marks a target for espalier_add_tidy_test.
function(espalier_tidy target)
  set_property(GLOBAL APPEND PROPERTY ESPALIER_TIDY_TARGETS ${target})
endfunction()

# Call it after all targets are defined.
function(espalier_add_tidy_test)
  if(NOT ESPALIER_TESTS OR NOT ESPALIER_SANITIZER STREQUAL "address" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  espalier_find_clang_tool(ESPALIER_CLANG_TIDY clang-tidy services.tidy)  # it reads the headers of Clang 14
  if(NOT ESPALIER_CLANG_TIDY)
    return()
  endif()
  get_property(targets GLOBAL PROPERTY ESPALIER_TIDY_TARGETS)
  list(JOIN targets " " targets)
  cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
  espalier_python_test(NAME services.tidy MODULES tidy_test FOLDER ${PROJECT_SOURCE_DIR}/services/tests TIMEOUT 3600
    ENVIRONMENT ESPALIER_SOURCE=${PROJECT_SOURCE_DIR} ESPALIER_BUILD=${PROJECT_BINARY_DIR}
      ESPALIER_CLANG_TIDY=${ESPALIER_CLANG_TIDY} ESPALIER_COMPILER=${CMAKE_CXX_COMPILER} "ESPALIER_TIDY_TARGETS=${targets}")
  set_tests_properties(services.tidy PROPERTIES COST 200 PROCESSORS ${processors})
endfunction()
