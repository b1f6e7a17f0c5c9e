// Every field of the document in one table: what the parser accepts, what it puts where nothing is said, and what
// docs/disttraining.md prints. Paths are dotted; "[]" marks the items of a list of objects.
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
  kPluginItem,  // "plugin/name": what a plugin of the servers has under that name
  kJobName,     // metadata.name
  kUri,         // a path, "file:" or "s3://bucket/prefix"
  kEndpoint,    // "https://host:port"
  kObjectName,  // of a Kubernetes object
  kEnum,        // one of `values`
  kInteger,     // minimum_integer .. maximum_integer
  kNumber,      // minimum .. maximum
  kBool,        // true or false
  kStringMap,   // any names, text values
  kQuantities,  // resource names, Kubernetes quantities
  kFreeObject,  // an object that is not looked into
};

enum class Availability {
  kUsed,
  kClusterOnly,  // used by the operator; a laptop validates it and lists it as ignored, and fills in no default
};

// Of a key in S3.
inline constexpr size_t kMaxKeyBytes = 1024;
// Of a prefix that a run writes under: its folder, a partition's hash and the names of relations follow.
inline constexpr size_t kMaxOutputPrefixBytes = 512;

struct FieldSpec {
  std::string path;
  FieldType type = FieldType::kObject;
  bool is_list = false;  // of `type`
  size_t minimum_items = 0;
  size_t maximum_items = 0;
  std::string list_key;      // of a list of objects: the required field that tells its items apart; "": none
  bool may_repeat = false;   // of a list of values: the same one may stand in it twice
  bool required = false;     // wherever the object that holds it is given
  std::string default_json;  // "": none
  std::vector<std::string> values;
  int64_t minimum_integer = 0;
  int64_t maximum_integer = 0;
  double minimum = 0;
  double maximum = 0;
  bool above_minimum = false;  // the minimum itself is refused
  bool below_maximum = false;
  size_t max_length = 1024;
  size_t max_prefix = kMaxKeyBytes;  // kUri: bytes after the bucket of an s3:// URI
  Availability availability = Availability::kUsed;
  std::string meaning;
};

// In document order: an object before its fields.
const std::vector<FieldSpec>& FieldTable();

// "integer from 0 to 100000", "OGB | NPY | Triples", "list of names": for messages and the docs.
std::string DescribeExpected(const FieldSpec& field);

std::vector<FieldSpec> TrainingFields();   // spec.training (field_table_training.cc)
std::vector<FieldSpec> EmbeddingFields();  // spec.training.inputs[].embedding (field_table_embedding.cc)
std::vector<FieldSpec> RunFields();        // spec.checkpoint, output, tls, runPolicy (field_table_run.cc)
// Fields that all four roles share (field_table_roles.cc).
void AppendRoleFields(const std::string& role_path, std::vector<FieldSpec>* table);

}  // namespace espalier::job
