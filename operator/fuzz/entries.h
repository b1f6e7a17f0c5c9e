// The fuzzers of this folder, by name. As fuzzers (ESPALIER_FUZZERS, Clang) each is a program whose entry is
// LLVMFuzzerTestOneInput; for the test, that name is replaced by one of these while compiling.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
int EspalierFuzzWatchEvent(const uint8_t* data, size_t size);
int EspalierFuzzApiError(const uint8_t* data, size_t size);
int EspalierFuzzKubeConfig(const uint8_t* data, size_t size);
int EspalierFuzzJsonObjects(const uint8_t* data, size_t size);
int EspalierFuzzJobDocument(const uint8_t* data, size_t size);
int EspalierFuzzDistTraining(const uint8_t* data, size_t size);
}
