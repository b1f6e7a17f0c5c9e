// JSON as it comes from an API server, kubectl or a proxy: parsed within bounds, read without surprises.
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
// "[[],[],...": 3 bytes of text are 80 of memory, and so many 160 MiB of the 256 that the chart gives the operator.
constexpr size_t kMaxJsonValues = 2 << 20;

// metadata.managedFields is half of a pod's memory, and nobody here reads it. kDrop leaves it out while parsing, so
// that it is never in memory.
enum class ManagedFields { kKeep, kDrop };

// InvalidArgument for what is no JSON (with the offset, without the text), nests deeper than kMaxJsonDepth or is longer
// than kMaxJsonBytes; ResourceExhausted where it has more than kMaxJsonValues values. Of a key that comes twice the
// last value counts, as in Go. Never throws.
Result<Json> ParseJson(std::string_view text, ManagedFields managed_fields = ManagedFields::kKeep);

// Where in an answer objects begin: it is one, or has one below "object", or many below "items".
enum class ObjectsIn { kAnswer, kEvent, kList };
// As ParseJson, without managedFields; but an object that makes the text nest too deep does not spoil the others: what
// lies deeper is left out of it, and NestsTooDeep tells. (A resource that keeps unknown fields holds whatever somebody
// has put there.)
Result<Json> ParseObjects(std::string_view text, ObjectsIn objects_in);
bool NestsTooDeep(const Json& object);

// One line. Text that is not UTF-8 is printed with replacement characters.
std::string Print(const Json& value);

using JsonPath = std::initializer_list<std::string_view>;  // {"metadata", "labels"}

// What is at `path`; null where there is nothing or a value on the way is no object.
const Json* Find(const Json& value, JsonPath path);
// Empty, nullopt, false where there is nothing or a value of another kind.
std::string StringAt(const Json& value, JsonPath path);
// A float without a fraction is an integer too: some clients write 3.0.
std::optional<int64_t> IntegerAt(const Json& value, JsonPath path);
bool BoolAt(const Json& value, JsonPath path);
// The items of a list; an empty list where there is none.
const Json& ListAt(const Json& value, JsonPath path);

}  // namespace espalier::ctl::kube
