// The table of all fields of the document: the types, ranges and defaults that the parser uses, and the descriptions
// that docs/disttraining.md prints. Paths are dotted; "[]" marks the items of a list of objects.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace espalier::job {

enum class FieldType {
  kObject,
  kString,      // text of at most `max_length` bytes
  kName,        // a node type, column or split
  kEdgeType,    // "source:relation:destination" or "relation"
  kPluginItem,  // "plugin/name": the item `name` of a server plugin
  kJobName,     // metadata.name
  kUri,         // a path, "file:" or "s3://bucket/prefix"
  kEndpoint,    // "https://host:port"
  kObjectName,  // the name of a Kubernetes object
  kEnum,        // one of `values`
  kInteger,     // minimum_integer .. maximum_integer
  kNumber,      // minimum .. maximum
  kBool,        // true or false
  kMemorySize,  // a Kubernetes quantity of whole bytes, kept as text (scalars.h)
  kStringMap,   // an object with arbitrary keys and text values
  kQuantities,  // an object with resource names as keys and Kubernetes quantities as values
  kFreeObject,  // an object whose content is not checked
};

enum class Availability {
  kUsed,
  kClusterOnly,  // used by the operator only; elsewhere it is validated, reported as ignored, and gets no default
};

// The longest object key in S3, in bytes.
inline constexpr size_t kMaxKeyBytes = 1024;
// The longest prefix of an s3:// URI under which a run writes, in bytes. The rest of a key holds the run's folder, the
// partition key and names of relations.
inline constexpr size_t kMaxOutputPrefixBytes = 512;

struct FieldSpec {
  std::string path;
  FieldType type = FieldType::kObject;
  bool is_list = false;  // a list with items of `type`
  size_t minimum_items = 0;
  size_t maximum_items = 0;
  std::string list_key;      // a list of objects: the required field that is unique among the items; "": none
  bool may_repeat = false;   // a list of values: duplicates are allowed
  bool required = false;     // in every object that may hold it
  std::string default_json;  // the default as JSON; "": none
  std::vector<std::string> values;
  int64_t minimum_integer = 0;
  int64_t maximum_integer = 0;
  double minimum = 0;
  double maximum = 0;
  bool above_minimum = false;        // `minimum` itself is excluded
  bool below_maximum = false;        // `maximum` itself is excluded
  size_t max_length = 1024;          // bytes
  size_t max_prefix = kMaxKeyBytes;  // kUri: bytes after the bucket of an s3:// URI
  Availability availability = Availability::kUsed;
  std::string meaning;  // for docs/disttraining.md
};

// Returns all fields in document order; an object comes before its fields.
const std::vector<FieldSpec>& FieldTable();

// Returns the description of valid values for messages and the docs: "an integer from 0 to 100000",
// "OGB | NPY | Triples", "a list of 1 to 64 items, each a name (...)".
std::string DescribeExpected(const FieldSpec& field);

std::vector<FieldSpec> TrainingFields();   // spec.training (field_table_training.cc)
std::vector<FieldSpec> EmbeddingFields();  // spec.training.inputs[].embedding (field_table_embedding.cc)
std::vector<FieldSpec> RunFields();        // spec.checkpoint, output, tls, runPolicy (field_table_run.cc)
// Appends the fields that all four roles share, below `role_path` (field_table_roles.cc).
void AppendRoleFields(const std::string& role_path, std::vector<FieldSpec>* table);

}  // namespace espalier::job
