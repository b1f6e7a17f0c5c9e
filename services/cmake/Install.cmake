# What `cmake --install` installs: the libraries that programs of other projects link, their headers, and the package that
# find_package(Espalier) finds (docs/programs.md). Programs come in images.
include(CMakePackageConfigHelpers)
set(espalier_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Espalier)

# The libraries of this project that `roots` link, `roots` included.
function(espalier_linked_libraries out)
  set(left ${ARGN})
  set(reached "")
  while(left)
    list(POP_FRONT left target)
    get_target_property(aliased ${target} ALIASED_TARGET)
    if(aliased)
      set(target ${aliased})
    endif()
    if(target IN_LIST reached)
      continue()
    endif()
    list(APPEND reached ${target})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      get_target_property(linked ${target} INTERFACE_LINK_LIBRARIES)
    else()
      get_target_property(linked ${target} LINK_LIBRARIES)
    endif()
    list(FILTER linked INCLUDE REGEX "^espalier(::|_)")
    list(APPEND left ${linked})
  endwhile()
  set(${out} ${reached} PARENT_SCOPE)
endfunction()

# Exports `targets` as Espalier::client of espalier_client and so on.
function(espalier_install_libraries export)
  foreach(target IN LISTS ARGN)
    string(REGEX REPLACE "^espalier_" "" name ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  endforeach()
  install(TARGETS ${ARGN} EXPORT ${export} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(EXPORT ${export} NAMESPACE Espalier:: DESTINATION ${espalier_package_folder} COMPONENT development)
endfunction()

espalier_linked_libraries(libraries espalier_client espalier_plugin)
espalier_install_libraries(EspalierTargets ${libraries})
if(ESPALIER_TRAINER)
  espalier_linked_libraries(with_torch espalier_torch_adapters)
  list(REMOVE_ITEM with_torch ${libraries})
  espalier_install_libraries(EspalierTorchTargets ${with_torch})
endif()

if(TARGET espalier_kernels)
  espalier_install_libraries(EspalierKernelsTargets espalier_kernels)
endif()

get_property(headers GLOBAL PROPERTY ESPALIER_PUBLIC_HEADERS)
get_property(names GLOBAL PROPERTY ESPALIER_PUBLIC_NAMES)
install(CODE "
  set(espalier_headers \"${headers}\")
  set(espalier_public_names \"${names}\")
  set(espalier_source_folder \"${PROJECT_SOURCE_DIR}\")
  set(espalier_include_folder \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")" COMPONENT development)
install(SCRIPT ${PROJECT_SOURCE_DIR}/services/cmake/install-headers.cmake COMPONENT development)

configure_package_config_file(${PROJECT_SOURCE_DIR}/services/cmake/EspalierConfig.cmake.in
  ${PROJECT_BINARY_DIR}/EspalierConfig.cmake INSTALL_DESTINATION ${espalier_package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/EspalierConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/EspalierConfig.cmake ${PROJECT_BINARY_DIR}/EspalierConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/services/cmake/FindMETIS.cmake ${PROJECT_SOURCE_DIR}/services/cmake/TorchTarget.cmake
  DESTINATION ${espalier_package_folder} COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
