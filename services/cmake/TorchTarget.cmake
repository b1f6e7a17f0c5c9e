# espalier_add_torch(FOLDER BESIDE): the target espalier_torch, libtorch of PyTorch's wheel with its OpenMP, of a folder
# with torch/include and torch/lib. torch's own CMake package fails where there is no CUDA toolkit, and links CUDA's
# libraries, of which a program for CPUs needs none but the two that libtorch_cpu.so loads. BESIDE: further folders in
# which programs look for libraries, as ":FOLDER:FOLDER".
function(espalier_add_torch folder beside)
  get_filename_component(folder "${folder}" ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
  foreach(library libtorch_cpu.so libc10.so libgomp.so.1)
    if(NOT EXISTS ${folder}/torch/lib/${library})
      message(FATAL_ERROR "There is no torch/lib/${library} in ${folder}. ESPALIER_TORCH names a folder with torch/include "
        "and torch/lib, such as the site-packages of a Python that has torch 2.11.0. In Espalier's source tree quickstart.sh "
        "and test.sh make one, build/torch (services/cmake/install-torch.sh)")
    endif()
  endforeach()
  file(READ ${folder}/torch/include/torch/headeronly/version.h version)
  if(NOT version MATCHES "MAJOR 2\n.*MINOR 11\n")
    message(WARNING "The torch in ${folder} is not 2.11, which Espalier is tested with")
  endif()

  # The wheel's OpenMP library has the name of GCC's and lies beside libtorch_cpu.so: programs find it first, so that
  # there is one in a process, though at::parallel_for is compiled into our code.
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  add_library(espalier_torch INTERFACE)
  # Beside its own headers the wheel has those of another Protobuf and another fmt, which must not be found.
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/torch-headers)
  foreach(headers ATen c10 caffe2 torch)
    file(CREATE_LINK ${folder}/torch/include/${headers} ${PROJECT_BINARY_DIR}/torch-headers/${headers} SYMBOLIC)
  endforeach()
  target_include_directories(espalier_torch SYSTEM INTERFACE
    ${PROJECT_BINARY_DIR}/torch-headers ${folder}/torch/include/torch/csrc/api/include)
  # Where programs look for libraries: beside themselves, as in an image or a copy of build; then, as a program that was
  # copied elsewhere, where this machine and the image have them.
  set(rpath "$ORIGIN/../lib/espalier${beside}:${folder}/torch/lib:/usr/lib/espalier")
  # In a file, which the compiler reads by itself: generators do not agree on how to write $ORIGIN in a command.
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/torch-link-options @ONLY CONTENT
"-Wl,-rpath,@rpath@
-Wl,-rpath-link,@folder@/torch/lib -Wl,-rpath-link,@folder@/nvidia/cu13/lib
")
  target_link_options(espalier_torch INTERFACE @${PROJECT_BINARY_DIR}/torch-link-options)
  target_link_libraries(espalier_torch INTERFACE
    ${folder}/torch/lib/libtorch_cpu.so ${folder}/torch/lib/libc10.so OpenMP::OpenMP_CXX)
endfunction()
