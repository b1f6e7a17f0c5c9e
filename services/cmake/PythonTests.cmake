# espalier_python_test(NAME images.sigstore MODULES sigstore_test LABEL live TIMEOUT 60 NEEDS ESPALIER_SIGSTORE)
#
# Adds one ctest test, which runs MODULES with Python's unittest in FOLDER. NEEDS: the names of variables with the place of a
# program that the test runs. If one of them is empty, the test is left out with a message; otherwise the test has them in its
# environment, besides those of ENVIRONMENT (NAME=value). Defaults: the folder of the current list, ESPALIER_PYTHON for
# PYTHON, LABEL unit, TIMEOUT 60 (seconds). Other properties are set by set_tests_properties after the call.
function(espalier_python_test)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME;FOLDER;PYTHON;LABEL;TIMEOUT" "MODULES;NEEDS;ENVIRONMENT")
  espalier_refuse_words("${ARG_NAME}" ${ARG_UNPARSED_ARGUMENTS})
  set(environment ${ARG_ENVIRONMENT} PYTHONDONTWRITEBYTECODE=1)
  foreach(variable IN LISTS ARG_NEEDS)
    if(NOT ${variable})
      message(STATUS "${variable} is not set: leaving out ${ARG_NAME}")
      return()
    endif()
    list(APPEND environment "${variable}=${${variable}}")
  endforeach()
  foreach(default IN ITEMS "FOLDER ${CMAKE_CURRENT_SOURCE_DIR}" "PYTHON ${ESPALIER_PYTHON}" "LABEL unit" "TIMEOUT 60")
    string(REGEX MATCH "^([A-Z]+) (.*)$" matched "${default}")
    if(NOT ARG_${CMAKE_MATCH_1})
      set(ARG_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
    endif()
  endforeach()
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_PYTHON} -m unittest -v ${ARG_MODULES} WORKING_DIRECTORY ${ARG_FOLDER})
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${environment}")
endfunction()
