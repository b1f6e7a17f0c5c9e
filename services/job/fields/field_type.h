// The types of fields of the document. `max_length`, `values`, `minimum` and the like in comments are members of
// FieldSpec (field_table.h).
#pragma once

namespace espalier::job {

enum class FieldType {
  kObject,
  kString,      // text of at most `max_length` bytes
  kName,        // a name such as that of a node type, column or plugin: [A-Za-z0-9_][A-Za-z0-9_.-]{0,127}
  kEdgeType,    // "source:relation:destination" or "relation"
  kPluginItem,  // "plugin/name": the item `name` of a server plugin
  kJobName,     // metadata.name
  kUri,         // a path, a "file:" URI or "s3://bucket/prefix"
  kEndpoint,    // "http://host[:port][/path]" or "https://..."
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

}  // namespace espalier::job
