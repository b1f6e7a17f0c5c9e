# Every package that a target may link (the Debian names stand in debian-packages.txt).
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(CURL 7.88 REQUIRED)
find_package(LibArchive REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(pugixml REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(OpenMP COMPONENTS CXX)  # Debian's clang has none: builds without services/kernels, and so without the trainer

find_package(METIS REQUIRED)

if(ESPALIER_TRAINER)
  include(Torch)  # espalier_torch
endif()

if(ESPALIER_OPERATOR)
  find_package(cpprestsdk CONFIG REQUIRED)  # cpprestsdk::cpprest: operator/client/cpprest only
endif()

if(ESPALIER_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  if(NOT ESPALIER_PYTHON)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    set(ESPALIER_PYTHON ${Python3_EXECUTABLE})
  endif()
endif()
if(ESPALIER_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
