// Errors for values that a job cannot use, found in a source or recorded in a manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "services/base/status.h"
#include "services/base/tensor.h"
#include "services/graph/schema.h"

namespace espalier::partitioner {

// Returns the description of a type for messages: "node type 'paper'".
std::string DescribeType(NodeTypeId type, const graph::GraphSchema& schema);
// Returns the description of a type for messages: "edge type 'a:r:b'".
std::string DescribeType(EdgeTypeId type, const graph::GraphSchema& schema);

// A column that a field of the document names.
struct NamedColumn {
  std::string field;  // "spec.training.sampling.weight"
  std::string name;
  std::string type;  // DescribeType of its node or edge type
};

inline constexpr char kWeightField[] = "spec.training.sampling.weight";
inline constexpr char kSeedTimeField[] = "spec.training.sampling.seedTime";
inline constexpr char kUsableWeight[] = "a finite weight, 0 or larger";
inline constexpr char kUsableFeature[] = "a number in the range of 32-bit floats";
inline constexpr char kUsableTime[] = "a time below 2^63";
// Returns the path of a feature in the document: "spec.training.inputs[0].features[2]".
std::string FeatureField(size_t input, size_t feature);

// Returns a description of an element: "row 17 is -2.5", or "row 17, at index 1, is -2.5" if a row has several values.
std::string DescribeElement(const Tensor& column, int64_t element);

// Returns InvalidArgument for the element that `fact`, a result of DescribeElement, describes: "<field>: row 17 of
// column 'w' of edge type 'a:r:b' is -2.5: expected a finite weight, 0 or larger".
Status WrongValue(const NamedColumn& column, const std::string& fact, const std::string& expected);
// Returns InvalidArgument for a column that contains NaN but must not.
Status LacksValuesError(const NamedColumn& column);
// Returns InvalidArgument for the weight column `column`, whose values are all 0.
Status AllWeightsAreZeroError(const std::string& column);

}  // namespace espalier::partitioner
