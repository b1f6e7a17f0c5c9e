// First values of parameters: a pure function of (seed, parameter name), whatever order modules are built in and
// however many threads there are.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace espalier::kernels {

// Fills with uniform numbers in (-bound, bound).
void FillUniform(std::span<float> values, double bound, uint64_t seed, const std::string& name);
// Fills with normal numbers of mean 0.
void FillNormal(std::span<float> values, double deviation, uint64_t seed, const std::string& name);

}  // namespace espalier::kernels
