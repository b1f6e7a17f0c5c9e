// Errors for values that a job cannot compute with, whether found in a source or recorded in a manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "services/base/status.h"
#include "services/base/tensor.h"
#include "services/graph/schema.h"

namespace espalier::partitioner {

// "node type 'paper'"
std::string OwnerName(NodeTypeId type, const graph::GraphSchema& schema);
// "edge type 'a:r:b'"
std::string OwnerName(EdgeTypeId type, const graph::GraphSchema& schema);

// A column that a field of the document names.
struct NamedColumn {
  std::string field;  // "spec.training.sampling.weight"
  std::string name;
  std::string owner;  // OwnerName
};

inline constexpr char kWeightField[] = "spec.training.sampling.weight";
inline constexpr char kSeedTimeField[] = "spec.training.sampling.seedTime";
inline constexpr char kUsableWeight[] = "a finite weight, 0 or larger";
inline constexpr char kUsableFeature[] = "a number that 32 bits can hold";
inline constexpr char kUsableTime[] = "a time below 2^63";
std::string FeatureField(size_t input, size_t feature);

// What element `element` of a column is: "row 17 is -2.5", with several values a row "row 17, value 1, is -2.5".
std::string ElementFact(const Tensor& column, int64_t element);

// `fact` is an ElementFact. "<field>: row 17 of column 'w' of edge type 'a:r:b' is -2.5: expected a finite weight, 0 or
// larger"
Status WrongValue(const NamedColumn& column, const std::string& fact, const std::string& expected);
// Some are NaN.
Status LacksValues(const NamedColumn& column);
Status AllWeightsAreZero(const std::string& column);

}  // namespace espalier::partitioner
