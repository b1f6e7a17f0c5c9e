# espalier_library(NAME graph LAYER 1 SOURCES a.cc DEPS espalier::base TESTS a_test.cc TEST_DEPS espalier::graph_testing)
#
# One folder, one library, one line in the drawing of services/README.md. A library depends only on libraries of
# lower layers, and on those of the same layer in the same folder of services/ or operator/ that are declared before it:
# anything else fails configuration. PRIVATE_DEPS do not reach the library's users. TESTS become one
# executable `espalier_<name>_test` whose tests carry the label `unit` (or TEST_LABEL). KERNELS: its loops decide how
# fast training is, so a release build optimizes them as far as it can; and its tests are IN_RELEASE (espalier_test).
# TESTS_WITH_TORCH: they are WITH_TORCH (espalier_test). PUBLIC_HEADERS: those that programs of other projects include,
# in PUBLIC_FOLDER below espalier/ if it is not the folder below services/ (PublicHeaders.cmake).
function(espalier_library)
  cmake_parse_arguments(ARG "KERNELS;TESTS_WITH_TORCH" "NAME;LAYER;TEST_LABEL;PUBLIC_FOLDER"
    "SOURCES;DEPS;PRIVATE_DEPS;TESTS;TEST_DEPS;PUBLIC_HEADERS" ${ARGN})
  espalier_refuse_words(${ARG_NAME} ${ARG_UNPARSED_ARGUMENTS})
  set(target espalier_${ARG_NAME})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PUBLIC ${ARG_DEPS}
      PRIVATE ${ARG_PRIVATE_DEPS} $<BUILD_INTERFACE:espalier_warnings>)
    espalier_may_share_common_headers(${target})
    espalier_tidy(${target})
  else()  # headers only
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
    target_link_libraries(${target} INTERFACE ${ARG_DEPS})
  endif()
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  espalier_declare_public_headers("${ARG_PUBLIC_FOLDER}" ${ARG_PUBLIC_HEADERS})
  add_library(espalier::${ARG_NAME} ALIAS ${target})
  espalier_folder(folder)
  set_target_properties(${target} PROPERTIES ESPALIER_LAYER ${ARG_LAYER} ESPALIER_FOLDER "${folder}")
  espalier_check_layers(${ARG_NAME} ${ARG_LAYER} ${ARG_DEPS} ${ARG_PRIVATE_DEPS})
  if(ARG_KERNELS)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3>)
  endif()
  set(kind "")
  if(ARG_TESTS_WITH_TORCH)
    set(kind WITH_TORCH)
  elseif(ARG_KERNELS)
    set(kind IN_RELEASE)
  endif()
  if(ESPALIER_TESTS AND ARG_TESTS)
    espalier_test(NAME ${ARG_NAME} ${kind} LABEL ${ARG_TEST_LABEL} SOURCES ${ARG_TESTS}
      DEPS espalier::${ARG_NAME} ${ARG_TEST_DEPS})
  endif()
endfunction()

# Fails for arguments that cmake_parse_arguments did not recognize.
function(espalier_refuse_words name)
  if(ARGN)
    message(FATAL_ERROR "${name}: '${ARGN}' means nothing here")
  endif()
endfunction()

# Compiles tests without optimization: half of a build's time is spent on tests, and half of that on optimizing code that
# runs once. The tested code keeps its level, except templates and inline functions, of which the linker may keep the
# test's copy.
function(espalier_compile_as_test target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" OR ESPALIER_SANITIZER)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# Reuses the precompiled header of `library` for targets with the same includes. GCC accepts the header of optimized code
# only for optimized code, so tests that share the header of a library are compiled with -O1.
function(espalier_share_header library)
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      target_precompile_headers(${target} REUSE_FROM ${library})
      if(target MATCHES "_test$" AND NOT library MATCHES "_test$")
        target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
      endif()
    endif()
  endforeach()
endfunction()

# Fakes, builders, matchers and conformance suites of a library: linked by tests, never by a binary.
function(espalier_testing_library)
  cmake_parse_arguments(ARG "" "NAME;LAYER" "SOURCES;DEPS" ${ARGN})
  set(target espalier_${ARG_NAME}_testing)
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(espalier::${ARG_NAME}_testing ALIAS ${target})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC ${ARG_DEPS} GTest::gmock GTest::gtest PRIVATE espalier_warnings)
  espalier_compile_as_test(${target})
  espalier_may_share_common_headers(${target})
  set_target_properties(${target} PROPERTIES ESPALIER_LAYER ${ARG_LAYER} EXCLUDE_FROM_ALL TRUE)  # built for its users
endfunction()

# Builds the executables of all unit tests; the sanitizers' presets build nothing else.
add_custom_target(espalier-unit-tests)

# espalier_test(NAME x LABEL unit SOURCES x_test.cc DEPS ...): the executable espalier_x_test and its ctest entries, one
# per test; with a sanitizer, one per shard. IN_RELEASE: a release build has the tests even if ESPALIER_UNIT_TESTS is not ALL.
# WITH_TORCH: implies IN_RELEASE, because only the release build has libtorch, and shards, because libtorch loads in a second.
function(espalier_test)
  cmake_parse_arguments(ARG "IN_RELEASE;WITH_TORCH" "NAME;LABEL" "SOURCES;DEPS" ${ARGN})
  espalier_refuse_words(${ARG_NAME} ${ARG_UNPARSED_ARGUMENTS})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  set(target espalier_${ARG_NAME}_test)
  add_executable(${target} ${ARG_SOURCES})
  espalier_compile_as_test(${target})
  espalier_may_share_common_headers(${target})
  target_link_libraries(${target} PRIVATE ${ARG_DEPS} espalier_test_main GTest::gmock GTest::gtest espalier_warnings)
  if(ESPALIER_SANITIZER STREQUAL "address")
    # Checks of every pointer double the compile time of EXPECT_...; the tested libraries have them.
    target_compile_options(${target} PRIVATE -fno-sanitize=null,alignment,object-size,vptr)
  elseif(ESPALIER_SANITIZER STREQUAL "thread")
    target_link_libraries(${target} PRIVATE espalier_tsan_edges)  # rpc/testing/tsan
  endif()
  if(ARG_LABEL STREQUAL "unit")
    add_dependencies(espalier-unit-tests ${target})
  endif()
  if(ESPALIER_SANITIZER OR ARG_WITH_TORCH)
    list(LENGTH ARG_SOURCES sources)
    espalier_add_shards(${ARG_NAME} ${ARG_LABEL} ${sources})
    return()
  endif()
  if(NOT ESPALIER_UNIT_TESTS STREQUAL "ALL" AND ARG_LABEL STREQUAL "unit" AND NOT ARG_IN_RELEASE)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    return()
  endif()
  gtest_discover_tests(${target} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES TEST_PREFIX ${ARG_NAME}.
    PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 120)
endfunction()

# espalier_live_test(NAME ctl_crd_live TIMEOUT 600 SOURCES ... DEPS ...): the executable espalier_<name>_test, and one ctest
# entry with the label live for all its tests, because they share the server that they start. TIMEOUT is in seconds.
function(espalier_live_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SOURCES;DEPS" ${ARGN})
  espalier_refuse_words("${ARG_NAME}" ${ARG_UNPARSED_ARGUMENTS})
  set(target espalier_${ARG_NAME}_test)
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE ${ARG_DEPS} espalier_test_main GTest::gmock GTest::gtest espalier_warnings)
  add_test(NAME ${ARG_NAME} COMMAND ${target})
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS live TIMEOUT ${ARG_TIMEOUT})
endfunction()

# A program with a sanitizer, or with libtorch, takes longer to start than most tests to run: its tests run as
# four shards, each in one process. Shards of programs with many sources take longer and start first.
function(espalier_add_shards name label cost)
  set(shards 4)
  foreach(shard RANGE 1 ${shards})
    math(EXPR index "${shard} - 1")
    set(test ${name}.${shard}_of_${shards})
    add_test(NAME ${test} COMMAND espalier_${name}_test --gtest_brief=1)
    set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 900 COST ${cost}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# espalier_program(NAME sampling_bench SOURCES ... DEPS ...): build/<preset>/bin/<name>, for developers: benchmarks,
# tools, fakes.
function(espalier_program)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_DEPS} espalier_warnings)
  espalier_may_share_common_headers(${ARG_NAME})
endfunction()

# espalier_plugin_library(NAME espalier_example_degrees SOURCES ... [DEFINITIONS ...]): build/<preset>/bin/<name>.so, a
# plugin of graph servers (docs/server-plugins.md), for examples and tests. Users build theirs with a compiler alone.
function(espalier_plugin_library)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEFINITIONS" ${ARGN})
  add_library(${ARG_NAME} MODULE ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE espalier::plugin espalier_warnings)
  target_compile_definitions(${ARG_NAME} PRIVATE ${ARG_DEFINITIONS})
  set_target_properties(${ARG_NAME} PROPERTIES PREFIX "" SUFFIX .so CXX_VISIBILITY_PRESET hidden UNITY_BUILD OFF
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
endfunction()

# Everything that is shipped.
add_custom_target(espalier-binaries)

# A program that is shipped.
function(espalier_binary)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPS" ${ARGN})
  espalier_refuse_testing_libraries(${ARG_NAME} ${ARG_DEPS})
  espalier_program(${ARGN})
  espalier_tidy(${ARG_NAME})
  add_dependencies(espalier-binaries ${ARG_NAME})
endfunction()

function(espalier_refuse_testing_libraries name)
  foreach(dep IN LISTS ARGN)
    if(dep MATCHES "_testing$")
      message(FATAL_ERROR "${name} depends on ${dep}, which is for tests")
    endif()
  endforeach()
endfunction()

# Sets `result` to the folder below services/ or operator/ that the current list belongs to: services/sampler.
function(espalier_folder result)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX MATCH "^[^/]+/[^/]+" folder "${path}")
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# services/tests/layers_test.py checks the same of what files include.
function(espalier_check_layers name layer)
  espalier_refuse_testing_libraries(${name} ${ARGN})
  espalier_folder(folder)
  foreach(dep IN LISTS ARGN)
    if(dep MATCHES "^espalier::(.+)$")
      if(NOT TARGET ${dep})
        message(FATAL_ERROR "${name} (layer ${layer}) depends on ${dep}, which does not exist below it")
      endif()
      get_property(dep_layer TARGET espalier_${CMAKE_MATCH_1} PROPERTY ESPALIER_LAYER)
      get_property(dep_folder TARGET espalier_${CMAKE_MATCH_1} PROPERTY ESPALIER_FOLDER)
      if(dep_folder STREQUAL folder AND dep_layer LESS_EQUAL layer)
        continue()
      endif()
      if(NOT dep_layer LESS layer)
        message(FATAL_ERROR "${name} (layer ${layer}) must not depend on ${dep} (layer ${dep_layer})")
      endif()
    endif()
  endforeach()
endfunction()
