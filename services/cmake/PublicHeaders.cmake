# Headers that programs of other projects include, as "espalier/client/dist_graph.h": of services/client/graph/dist_graph.h.

# In the folder of the library: espalier_declare_public_headers(client dist_graph.h). Programs find them in that folder
# below espalier/; "": in the folder that they have below services/.
function(espalier_declare_public_headers public_folder)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/services OUTPUT_VARIABLE folder)
  if(NOT public_folder)
    set(public_folder ${folder})
  endif()
  foreach(header IN LISTS ARGN)
    set_property(GLOBAL APPEND PROPERTY ESPALIER_PUBLIC_HEADERS ${folder}/${header})
    set_property(GLOBAL APPEND PROPERTY ESPALIER_PUBLIC_NAMES ${public_folder}/${header})
  endforeach()
endfunction()

# Makes the public names of the headers available to the targets of this folder, which include them as users do.
function(espalier_use_public_headers)
  get_property(headers GLOBAL PROPERTY ESPALIER_PUBLIC_HEADERS)
  get_property(names GLOBAL PROPERTY ESPALIER_PUBLIC_NAMES)
  foreach(header name IN ZIP_LISTS headers names)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/espalier/${name}
      CONTENT "#include \"services/${header}\"  // IWYU pragma: export\n")
  endforeach()
  include_directories(${PROJECT_BINARY_DIR}/include)
endfunction()
