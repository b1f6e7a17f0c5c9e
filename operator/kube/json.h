// Parses JSON from API servers, kubectl and proxies within limits of size, depth and count, and reads values without
// exceptions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/status.h"

namespace espalier::ctl::kube {

using Json = nlohmann::json;  // keys sorted: equal values print the same

constexpr size_t kMaxJsonBytes = 64 << 20;
constexpr int kMaxJsonDepth = 100;
// Limits memory: in "[[],[],...", each value has 3 bytes of text but takes 80 bytes of memory, so the maximum number of
// values takes 160 MiB. The chart gives the operator 256 MiB.
constexpr size_t kMaxJsonValues = 2 << 20;

// Whether to keep metadata.managedFields, which makes up half of a parsed Pod object and is rarely read. kDrop skips it
// while parsing, so that it is never in memory.
enum class ManagedFields { kKeep, kDrop };

// Parses a JSON text. If a key occurs twice, the last value counts, as in Go. Returns InvalidArgument if the text is
// not JSON (the message has the offset, not the text), nests deeper than kMaxJsonDepth or is longer than kMaxJsonBytes,
// and ResourceExhausted if it has more than kMaxJsonValues values. Never throws.
Result<Json> ParseJson(std::string_view text, ManagedFields managed_fields = ManagedFields::kKeep);

// Where a response contains objects of the API server.
enum class ObjectsIn {
  kRoot,   // the response is an object
  kEvent,  // in "object" of a watch event
  kList    // in "items" of a list
};
// Like ParseJson with ManagedFields::kDrop, but drops values that nest deeper than kMaxJsonDepth (an array leaves them
// out, an object has null instead). NestsTooDeep then returns true for the API object that contained them. Such objects
// can exist if their resource keeps unknown fields. If one were an error, it would make the whole list unreadable.
Result<Json> ParseObjects(std::string_view text, ObjectsIn objects_in);
// Returns whether ParseObjects dropped values of the object because they nest too deep.
bool NestsTooDeep(const Json& object);

// Returns the value as JSON in one line. Invalid UTF-8 is printed with replacement characters.
std::string Print(const Json& value);

using JsonPath = std::initializer_list<std::string_view>;  // {"metadata", "labels"}

// Returns the value at `path`, or null if there is none.
const Json* Find(const Json& value, JsonPath path);
// Returns the string at `path`, or "" if there is no string.
std::string StringAt(const Json& value, JsonPath path);
// Returns the integer at `path`, or nullopt if there is none or it does not fit an int64_t. A float without a fraction
// is accepted, because some clients write 3.0.
std::optional<int64_t> IntegerAt(const Json& value, JsonPath path);
// Returns true if the value at `path` is true.
bool BoolAt(const Json& value, JsonPath path);
// Returns the list at `path`, or an empty list if there is none.
const Json& ListAt(const Json& value, JsonPath path);

}  // namespace espalier::ctl::kube
