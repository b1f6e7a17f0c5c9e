// Initial values of parameters, a pure function of (seed, parameter name). They depend neither on the order in which
// modules are created nor on the number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace espalier::kernels {

// Fills `values` with uniform numbers in [-bound, bound).
void FillUniform(std::span<float> values, double bound, uint64_t seed, const std::string& name);
// Fills `values` with normal numbers of mean 0 and standard deviation `deviation`.
void FillNormal(std::span<float> values, double deviation, uint64_t seed, const std::string& name);

}  // namespace espalier::kernels
