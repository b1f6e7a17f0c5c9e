# espalier_torch: libtorch of PyTorch's wheel, with its OpenMP. torch's own CMake package fails where there is no CUDA
# toolkit, and links CUDA's libraries, of which a program for CPUs needs none but the two that libtorch_cpu.so loads.
if(ESPALIER_TORCH)
  get_filename_component(torch_folder "${ESPALIER_TORCH}" ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
  set(torch_beside "")
else()
  set(torch_folder ${PROJECT_SOURCE_DIR}/build/torch)
  set(torch_beside ":$ORIGIN/../../torch/torch/lib")
endif()
foreach(library libtorch_cpu.so libc10.so libgomp.so.1)
  if(NOT EXISTS ${torch_folder}/torch/lib/${library})
    message(FATAL_ERROR "There is no torch/lib/${library} in ${torch_folder}: quickstart.sh and test.sh put it into "
      "build/torch (services/cmake/install-torch.sh), and -DESPALIER_TORCH=FOLDER names another place")
  endif()
endforeach()
file(READ ${torch_folder}/torch/include/torch/headeronly/version.h torch_version)
if(NOT torch_version MATCHES "MAJOR 2\n.*MINOR 11\n")
  message(WARNING "The torch in ${torch_folder} is not 2.11, which Espalier is tested with")
endif()

# The wheel's OpenMP library has the name of GCC's and lies beside libtorch_cpu.so: programs find it first, so that
# there is one in a process, though at::parallel_for is compiled into our code.
find_package(OpenMP REQUIRED COMPONENTS CXX)
add_library(espalier_torch INTERFACE)
# Beside its own headers the wheel has those of another Protobuf and another fmt, which must not be found.
foreach(headers ATen c10 torch)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/torch-headers)
  file(CREATE_LINK ${torch_folder}/torch/include/${headers} ${PROJECT_BINARY_DIR}/torch-headers/${headers} SYMBOLIC)
endforeach()
target_include_directories(espalier_torch SYSTEM INTERFACE
  ${PROJECT_BINARY_DIR}/torch-headers ${torch_folder}/torch/include/torch/csrc/api/include)
# Where programs look for libraries: beside themselves, as in an image or a copy of build; then, as a program that was
# copied elsewhere, where this machine and the image have them.
set(torch_rpath "$ORIGIN/../lib/espalier${torch_beside}:${torch_folder}/torch/lib:/usr/lib/espalier")
# In a file, which the compiler reads by itself: generators do not agree on how to write $ORIGIN in a command.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/torch-link-options @ONLY CONTENT
"-Wl,-rpath,@torch_rpath@
-Wl,-rpath-link,@torch_folder@/torch/lib -Wl,-rpath-link,@torch_folder@/nvidia/cu13/lib
")
target_link_options(espalier_torch INTERFACE @${PROJECT_BINARY_DIR}/torch-link-options)
set(CMAKE_SKIP_BUILD_RPATH ON)  # CMake would put this machine's folder before these
target_link_libraries(espalier_torch INTERFACE
  ${torch_folder}/torch/lib/libtorch_cpu.so ${torch_folder}/torch/lib/libc10.so OpenMP::OpenMP_CXX)
