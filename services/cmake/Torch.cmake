# espalier_torch: libtorch of build/torch, which install-torch.sh makes, or of ESPALIER_TORCH.
include(TorchTarget)
if(ESPALIER_TORCH)
  get_filename_component(ESPALIER_TORCH_FOLDER "${ESPALIER_TORCH}" ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
  espalier_add_torch(${ESPALIER_TORCH_FOLDER} "")
else()
  set(ESPALIER_TORCH_FOLDER ${PROJECT_SOURCE_DIR}/build/torch)
  espalier_add_torch(${ESPALIER_TORCH_FOLDER} ":$ORIGIN/../../torch/torch/lib")
endif()
set(CMAKE_SKIP_BUILD_RPATH ON)  # CMake would put this machine's folder before espalier_torch's
