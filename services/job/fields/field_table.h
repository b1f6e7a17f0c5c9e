// The table of all fields of the document: the types, ranges and defaults that the parser uses, and the descriptions
// that docs/disttraining.md prints. Paths are dotted; "[]" marks the items of a list of objects.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "services/job/fields/field_type.h"
#include "services/job/fields/member.h"

namespace espalier::job {

enum class Availability {
  kEverywhere,
  kClusterOnly,  // only the operator uses the field; elsewhere it is validated, reported as ignored, and has no default
};

// The longest object key in S3, in bytes.
inline constexpr size_t kMaxKeyBytes = 1024;
// The longest prefix of an s3:// URI under which a run writes, in bytes. The rest of a key holds the run's folder, the
// partition key and names of relations.
inline constexpr size_t kMaxOutputPrefixBytes = 512;

// A row of the table. A row with a member takes `is_list` and the names of an enum from the member, and also the type
// and the default unless the row sets them. From a text member it takes the type kString; a row for text of a special
// kind sets another type.
struct FieldSpec {
  std::string path;
  // The member that the field sets. None for fields that only the operator reads and for objects without a struct.
  Member member;
  FieldType type = FieldType::kObject;
  bool is_list = false;      // a list with items of `type`
  size_t minimum_items = 0;  // of a list
  size_t maximum_items = 0;  // of a list, kStringMap or kQuantities
  std::string list_key;      // a list of objects: the required field that is unique among the items; "": none
  bool may_repeat = false;   // a list of values: duplicates are allowed
  bool required = false;     // must be set if its parent object is
  // The field has no default, even if its member has an initial value: some documents must not have the field, or its
  // default depends on other fields.
  bool stays_missing = false;
  // The default as JSON; "": none. If the row does not set it, it is the initial value of the member, unless that value
  // is invalid in a document: empty text, a list that is too short, an integer below the minimum, or the integer of a
  // memory size, which is text in a document.
  std::string default_json;
  std::vector<std::string> values;  // kEnum: the allowed values
  int64_t minimum_integer = 0;
  int64_t maximum_integer = 0;
  double minimum = 0;
  double maximum = 0;
  bool above_minimum = false;        // `minimum` itself is excluded
  bool below_maximum = false;        // `maximum` itself is excluded
  size_t max_length = 1024;          // of text, in bytes
  size_t max_prefix = kMaxKeyBytes;  // kUri: bytes after the bucket of an s3:// URI
  Availability availability = Availability::kEverywhere;
  std::string meaning;  // for docs/disttraining.md
};

// Returns all fields in document order, including the values that rows take from their members. An object comes before
// its fields.
const std::vector<FieldSpec>& FieldTable();

// Returns the description of valid values for messages and the docs: "an integer from 0 to 100000",
// "OGB | NPY | Triples", "a list of 1 to 64 items, each a name (...)".
std::string DescribeExpected(const FieldSpec& field);

std::vector<FieldSpec> TrainingFields();   // spec.training (field_table_training.cc)
std::vector<FieldSpec> EmbeddingFields();  // spec.training.inputs[].embedding (field_table_embedding.cc)
std::vector<FieldSpec> RunFields();        // spec.checkpoint to spec.runPolicy (field_table_run.cc)
// Returns the fields of a LearningRateSchedule at `path` (field_table_training.cc).
std::vector<FieldSpec> ScheduleFields(const std::string& path);
// Appends the fields that all four roles share, below `role_path` (field_table_roles.cc).
void AppendRoleFields(const std::string& role_path, std::vector<FieldSpec>* table);

}  // namespace espalier::job
