# Headers that programs of other projects include, as "espalier/client/dist_graph.h": of services/client/dist_graph.h.

# In the folder of the library: espalier_declare_public_headers(dist_graph.h dist_tensor.h).
function(espalier_declare_public_headers)
  foreach(header IN LISTS ARGN)
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/services OUTPUT_VARIABLE folder)
    set_property(GLOBAL APPEND PROPERTY ESPALIER_PUBLIC_HEADERS ${folder}/${header})
  endforeach()
endfunction()

# The same names in this build, for what is written as users write it: the targets of this folder.
function(espalier_use_public_headers)
  get_property(headers GLOBAL PROPERTY ESPALIER_PUBLIC_HEADERS)
  foreach(header IN LISTS headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/espalier/${header}
      CONTENT "#include \"services/${header}\"  // IWYU pragma: export\n")
  endforeach()
  include_directories(${PROJECT_BINARY_DIR}/include)
endfunction()
