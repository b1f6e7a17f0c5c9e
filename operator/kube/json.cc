// The parser is nlohmann's SAX parser with TreeBuilder, which applies the limits during parsing, so that a hostile text
// fails before it fills the memory. Dropped values (managedFields, and values that nest too deep) are never built;
// dropped_depth_ tracks how deep the parser is inside a dropped container.
#include "operator/kube/json.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace espalier::ctl::kube {
namespace {

// Key that ParseObjects adds to objects that nest too deep. Objects of an API server have no such top-level key.
constexpr char kTooDeepMark[] = "espalier.io/nests-too-deep";

// Builds the tree from the parser's events, so that the limits are checked before a value is stored. `object_level` is
// the depth at which the text contains API objects: values that nest too deep are dropped, and the object at this depth
// that contains them is marked. Without `object_level` such values are an error.
class TreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit TreeBuilder(ManagedFields managed_fields, std::optional<size_t> object_level = std::nullopt)
      : drops_managed_fields_(managed_fields == ManagedFields::kDrop), object_level_(object_level) {}

  Json Root() && { return std::move(root_); }
  const std::string& error() const { return error_; }
  bool has_too_many_values() const { return num_values_ > kMaxJsonValues; }

  bool null() override { return AddScalar(nullptr); }
  bool boolean(bool value) override { return AddScalar(value); }
  bool number_integer(int64_t value) override { return AddScalar(value); }
  bool number_unsigned(uint64_t value) override { return AddScalar(value); }
  bool number_float(double value, const std::string&) override { return AddScalar(value); }
  bool string(std::string& value) override { return AddScalar(std::move(value)); }
  bool binary(Json::binary_t&) override { return Fail("binary data"); }

  bool start_object(size_t) override { return Open(Json::object()); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(std::string& key) override {
    if (dropped_depth_ > 0) return true;
    OpenValue& object = open_.back();
    if (drops_managed_fields_ && object.is_metadata && key == "managedFields") {
      drops_next_ = true;
      return true;
    }
    next_is_metadata_ = key == "metadata";
    next_ = &(*object.value)[std::move(key)];
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return Fail("not JSON at byte " + std::to_string(position));
  }

 private:
  struct OpenValue {
    Json* value;
    bool is_metadata;
  };

  bool Fail(std::string why) {
    error_ = std::move(why);
    return false;
  }

  bool AddScalar(Json value) {
    if (dropped_depth_ > 0) return true;
    if (std::exchange(drops_next_, false)) return true;
    return Add(std::move(value)) != nullptr;
  }

  bool Open(Json container) {
    const bool is_too_deep = static_cast<int>(open_.size()) + dropped_depth_ >= kMaxJsonDepth;
    if (is_too_deep && !object_level_) return Fail("nests deeper than " + std::to_string(kMaxJsonDepth) + " levels");
    const bool is_dropped = dropped_depth_ > 0 || std::exchange(drops_next_, false);
    if (is_dropped || is_too_deep) {
      if (!is_dropped) MarkObject();
      ++dropped_depth_;
      return true;
    }
    const bool is_metadata = std::exchange(next_is_metadata_, false) && container.is_object();
    Json* const added = Add(std::move(container));
    if (added != nullptr) open_.push_back({added, is_metadata});
    return added != nullptr;
  }

  bool Close() {
    if (dropped_depth_ > 0) {
      --dropped_depth_;
    } else {
      open_.pop_back();
    }
    return true;
  }

  void MarkObject() {
    Json& object = *open_[std::min(*object_level_, open_.size() - 1)].value;
    if (object.is_object()) object[kTooDeepMark] = true;
  }

  // Adds the value and returns its address, or null if there are too many values. The address stays valid until the
  // value is complete, because an array that contains it gets its next item only then.
  Json* Add(Json value) {
    if (++num_values_ > kMaxJsonValues) {
      Fail("more than " + std::to_string(kMaxJsonValues) + " values");
      return nullptr;
    }
    next_is_metadata_ = false;
    if (open_.empty()) return &(root_ = std::move(value));
    Json& container = *open_.back().value;
    if (container.is_object()) return &(*next_ = std::move(value));
    container.push_back(std::move(value));
    return &container.back();
  }

  const bool drops_managed_fields_;
  const std::optional<size_t> object_level_;  // depth of the objects to mark; nullopt: too deep is an error
  Json root_;
  std::vector<OpenValue> open_;
  Json* next_ = nullptr;  // place of the next value in the open object
  bool next_is_metadata_ = false;
  bool drops_next_ = false;
  int dropped_depth_ = 0;
  size_t num_values_ = 0;
  std::string error_;
};

Result<Json> Parse(std::string_view text, TreeBuilder builder) {
  if (text.size() > kMaxJsonBytes) {
    return InvalidArgument("JSON of " + std::to_string(text.size()) + " bytes, expected at most " +
                           std::to_string(kMaxJsonBytes));
  }
  if (!Json::sax_parse(text.data(), text.data() + text.size(), &builder)) {
    return builder.has_too_many_values() ? ResourceExhausted(builder.error()) : InvalidArgument(builder.error());
  }
  return std::move(builder).Root();
}

}  // namespace

Result<Json> ParseJson(std::string_view text, ManagedFields managed_fields) {
  return Parse(text, TreeBuilder(managed_fields));
}

Result<Json> ParseObjects(std::string_view text, ObjectsIn objects_in) {
  const size_t level = objects_in == ObjectsIn::kRoot ? 0 : objects_in == ObjectsIn::kEvent ? 1 : 2;
  return Parse(text, TreeBuilder(ManagedFields::kDrop, level));
}

bool NestsTooDeep(const Json& object) { return object.is_object() && object.contains(kTooDeepMark); }

std::string Print(const Json& value) {
  return value.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

const Json* Find(const Json& value, JsonPath path) {
  const Json* found = &value;
  for (const std::string_view key : path) {
    if (!found->is_object()) return nullptr;
    const auto entry = found->find(key);
    if (entry == found->end()) return nullptr;
    found = &*entry;
  }
  return found;
}

std::string StringAt(const Json& value, JsonPath path) {
  const Json* const found = Find(value, path);
  return found != nullptr && found->is_string() ? found->get_ref<const std::string&>() : std::string();
}

std::optional<int64_t> IntegerAt(const Json& value, JsonPath path) {
  const Json* const found = Find(value, path);
  if (found == nullptr) return std::nullopt;
  if (const auto* const natural = found->get_ptr<const uint64_t*>()) {
    return *natural <= INT64_MAX ? std::optional<int64_t>(static_cast<int64_t>(*natural)) : std::nullopt;
  }
  if (const auto* const integer = found->get_ptr<const int64_t*>()) return *integer;
  if (const auto* const real = found->get_ptr<const double*>()) {
    // -2^63 is the smallest double that fits an int64_t, 2^63 the smallest positive one that does not.
    if (*real >= -0x1p63 && *real < 0x1p63 && std::trunc(*real) == *real) return static_cast<int64_t>(*real);
  }
  return std::nullopt;
}

bool BoolAt(const Json& value, JsonPath path) {
  const Json* const found = Find(value, path);
  return found != nullptr && found->is_boolean() && *found->get_ptr<const bool*>();
}

const Json& ListAt(const Json& value, JsonPath path) {
  static const Json& empty = *new Json(Json::array());  // never destroyed, because destructors of statics may use it
  const Json* const found = Find(value, path);
  return found != nullptr && found->is_array() ? *found : empty;
}

}  // namespace espalier::ctl::kube
