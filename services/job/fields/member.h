// The member of a struct of dist_training.h that a field of the document sets, with its type erased. A row of the field
// table takes the field's type and default from it, and to_training.h sets it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "services/base/check.h"
#include "services/job/enum_names.h"
#include "services/job/fields/field_type.h"

namespace espalier::job {

// A pointer to a struct of dist_training.h with its type, or null. Does not own the struct.
struct AnyStruct {
  template <class T>
  static AnyStruct Of(T* value) {
    return {value, &typeid(T)};
  }

  void* at = nullptr;
  const std::type_info* type = nullptr;
};

namespace internal {

using Json = nlohmann::ordered_json;

// The type of one value: of an item if T is a list, of the value if T is optional, otherwise T itself.
template <class T>
struct ValueOf {
  using Type = T;
};
template <class T>
struct ValueOf<std::vector<T>> {
  using Type = T;
};
template <class T>
struct ValueOf<std::optional<T>> {
  using Type = T;
};

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;

template <class T>
constexpr FieldType DeduceType() {
  if constexpr (Spelled<T>) {
    return FieldType::kEnum;
  } else if constexpr (std::is_same_v<T, bool>) {
    return FieldType::kBool;
  } else if constexpr (std::is_integral_v<T> || std::is_same_v<T, std::chrono::seconds>) {
    return FieldType::kInteger;
  } else if constexpr (std::is_floating_point_v<T>) {
    return FieldType::kNumber;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return FieldType::kString;
  } else {
    static_assert(std::is_class_v<T>, "an enum needs a Spelling");
    return FieldType::kObject;
  }
}

// Returns an integer, or the number of bytes of a memory size such as "2Gi". CheckFields has checked the value.
int64_t ToInteger(const Json& value);
// Returns the number as JSON, a whole number as an integer, so that messages and pages have "0" instead of "0.0".
Json ToJson(double value);

// Sets *out to a value that CheckFields has checked.
template <class T>
void Convert(const Json& value, T* out) {
  if constexpr (Spelled<T>) {
    ESPALIER_CHECK(ParseName(value.get<std::string>(), out)) << value << " is not a name of the member's enum";
  } else if constexpr (std::is_same_v<T, std::chrono::seconds>) {
    *out = std::chrono::seconds(ToInteger(value));
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    *out = static_cast<T>(ToInteger(value));
  } else {
    *out = value.get<T>();
  }
}
template <class T>
void Convert(const Json& value, std::optional<T>* out) {
  Convert(value, &out->emplace());
}
template <class T>
void Convert(const Json& value, std::vector<T>* out) {
  out->clear();
  for (const Json& item : value) Convert(item, &out->emplace_back());
}

// Returns the value as in the document; null for empty text and for a missing optional value.
template <class T>
Json ToDocument(const T& value) {
  if constexpr (Spelled<T>) {
    return ToString(value);
  } else if constexpr (std::is_same_v<T, std::chrono::seconds>) {
    return value.count();
  } else if constexpr (std::is_floating_point_v<T>) {
    return ToJson(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.empty() ? Json() : Json(value);
  } else {
    return value;
  }
}
template <class T>
Json ToDocument(const std::optional<T>& value) {
  return value.has_value() ? ToDocument(*value) : Json();
}
template <class T>
Json ToDocument(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(ToDocument(value));
  return list;
}

// Returns the struct that receives the fields of an object: the member itself, its new value if it is optional, or a
// new item if it is a list.
template <class T>
AnyStruct Open(T* member) {
  return AnyStruct::Of(member);
}
template <class T>
AnyStruct Open(std::optional<T>* member) {
  return AnyStruct::Of(&member->emplace());
}
template <class T>
AnyStruct Open(std::vector<T>* member) {
  return AnyStruct::Of(&member->emplace_back());
}

}  // namespace internal

// A member of a struct, or none. Immutable; thread-safe.
class Member {
 public:
  // No member.
  Member() = default;

  // A member of `Owner`, the struct of the object that contains the field. If the row of an object has no member, the
  // object has no struct of its own: its fields set members of the enclosing object's struct. Implicit, so that a row
  // can have `.member = &Task::label`.
  template <class Owner, class T>
  Member(T Owner::*member) {  // NOLINT(google-explicit-constructor)
    Describe<Owner, T>([member](Owner& owner) -> T& { return owner.*member; });
  }

  // A member of a struct inside `Owner`.
  template <class Owner, class Inner, class T>
  Member(Inner Owner::*inner, T Inner::*member) {
    Describe<Owner, T>([inner, member](Owner& owner) -> T& { return owner.*inner.*member; });
  }

  bool exists() const { return owner_ != nullptr; }
  FieldType type() const { return type_; }  // kString for all text; kInteger for a memory size
  bool is_list() const { return is_list_; }
  const std::vector<std::string>& names() const { return names_; }  // of the values of an enum, in its order

  // Returns the value that the member starts with, as in the document; null for empty text, a missing optional value
  // and a struct.
  const nlohmann::ordered_json& initial() const { return initial_; }

  // Sets the member of `owner` to a value that CheckFields has checked. For types other than kObject.
  void Set(const nlohmann::ordered_json& value, AnyStruct owner) const {
    CheckOwner(owner);
    set_(value, owner.at);
  }

  // kObject: returns the struct that receives the fields of one object, a new item if the member is a list.
  AnyStruct Open(AnyStruct owner) const {
    CheckOwner(owner);
    return open_(owner.at);
  }

 private:
  template <class Owner, class T, class Get>
  void Describe(const Get& get) {
    using Value = typename internal::ValueOf<T>::Type;
    owner_ = &typeid(Owner);
    type_ = internal::DeduceType<Value>();
    is_list_ = internal::kIsVector<T>;
    if constexpr (Spelled<Value>) names_ = EnumNames<Value>();
    if constexpr (internal::DeduceType<Value>() == FieldType::kObject) {
      open_ = [get](void* owner) { return internal::Open(&get(*static_cast<Owner*>(owner))); };
    } else {
      set_ = [get](const nlohmann::ordered_json& value, void* owner) {
        internal::Convert(value, &get(*static_cast<Owner*>(owner)));
      };
      Owner initial;
      initial_ = internal::ToDocument(get(initial));
    }
  }

  void CheckOwner(AnyStruct owner) const {
    ESPALIER_CHECK(*owner.type == *owner_)
        << "expected a struct " << owner_->name() << ", found " << owner.type->name();
  }

  const std::type_info* owner_ = nullptr;
  FieldType type_ = FieldType::kObject;
  bool is_list_ = false;
  std::vector<std::string> names_;
  nlohmann::ordered_json initial_;
  std::function<void(const nlohmann::ordered_json&, void*)> set_;
  std::function<AnyStruct(void*)> open_;
};

}  // namespace espalier::job
