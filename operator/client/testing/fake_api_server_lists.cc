// A list with a limit keeps its matching objects as a snapshot, and its continue token names the snapshot and an
// offset. Only kMaxSnapshots snapshots are kept. A token of an older snapshot gets 410 with a new token, which
// continues after the last returned object in the current state, as in the real server.
#include "operator/client/testing/fake_api_server_lists.h"

#include <algorithm>
#include <optional>

#include "services/base/parse_number.h"

namespace espalier::ctl::client::fake {
namespace {

using kube::Json;

constexpr size_t kMaxSnapshots = 64;

// A continue token, "<snapshot>/<offset>/<namespace>/<name>", for the next object. Snapshot 0 is the current state.
struct Token {
  uint64_t snapshot = 0;
  size_t offset = 0;
  kube::ObjectKey next;

  std::string Text() const {
    return std::to_string(snapshot) + "/" + std::to_string(offset) + "/" + next.name_space + "/" + next.name;
  }
  static std::optional<Token> Parse(const std::string& text) {
    const size_t a = text.find('/'), b = text.find('/', a + 1), c = text.find('/', b + 1);
    if (a == std::string::npos || b == std::string::npos || c == std::string::npos) return std::nullopt;
    const std::optional<uint64_t> snapshot = ParseNumber<uint64_t>(text.substr(0, a)),
                                  offset = ParseNumber<uint64_t>(text.substr(a + 1, b - a - 1));
    if (!snapshot || !offset) return std::nullopt;
    return Token{*snapshot, *offset, {text.substr(b + 1, c - b - 1), text.substr(c + 1)}};
  }
};

Refusal TooLarge(uint64_t requested, uint64_t newest) {
  Refusal refusal{504, "Timeout",
                  "Too large resource version: " + std::to_string(requested) + ", current: " + std::to_string(newest)};
  refusal.details["causes"] =
      Json::array({{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}}});
  refusal.details["retryAfterSeconds"] = 1;
  return refusal;
}

}  // namespace

std::optional<Refusal> Lister::Take(const ApiRequest& request, ObjectStore::Listing* listing) const {
  Selectors selectors;
  if (std::optional<Refusal> refusal = Selectors::Parse(request, &selectors)) return refusal;
  *listing = store_.List(*request.kind, request.key.name_space);
  std::erase_if(listing->objects, [&](const StoredPtr& object) { return !selectors.Match(*object); });
  return std::nullopt;
}

std::optional<Refusal> Lister::Begin(const ApiRequest& request, Place* place) {
  if (const std::string version = request.Query("resourceVersion"); !version.empty()) {
    const std::optional<uint64_t> requested = ParseNumber<uint64_t>(version);
    if (!requested) return BadRequest("invalid resource version: \"" + version + "\"");
    if (*requested > store_.newest()) return TooLarge(*requested, store_.newest());
  }
  ObjectStore::Listing listing;
  if (std::optional<Refusal> refusal = Take(request, &listing)) return refusal;
  place->listing = std::make_shared<const ObjectStore::Listing>(std::move(listing));
  return std::nullopt;
}

std::optional<Refusal> Lister::Continue(const ApiRequest& request, const std::string& text, Place* place) {
  const std::optional<Token> token = Token::Parse(text);
  if (!token) return BadRequest("continue key is not valid");
  if (token->snapshot == 0) {  // a token from a 410 response: the rest of the current state
    if (std::optional<Refusal> refusal = Begin(request, place)) return refusal;
    const auto& objects = place->listing->objects;
    const auto first =
        std::lower_bound(objects.begin(), objects.end(), token->next,
                         [](const StoredPtr& object, const kube::ObjectKey& key) { return object->key < key; });
    place->offset = static_cast<size_t>(first - objects.begin());
    return std::nullopt;
  }
  MutexLock lock(&mutex_);
  for (const Snapshot& snapshot : snapshots_) {
    if (snapshot.id != token->snapshot) continue;
    *place = {snapshot.listing, snapshot.id, std::min(token->offset, snapshot.listing->objects.size())};
    return std::nullopt;
  }
  Refusal expired{410, "Expired",
                  "The provided continue parameter is too old to display a consistent list result. You can start a new "
                  "list without the continue parameter, or use the continue token in this response to retrieve the "
                  "remainder of the results."};
  expired.continue_token = Token{0, 0, token->next}.Text();
  return expired;
}

uint64_t Lister::Keep(std::shared_ptr<const ObjectStore::Listing> listing) {
  MutexLock lock(&mutex_);
  snapshots_.push_back({next_id_++, std::move(listing)});
  if (snapshots_.size() > kMaxSnapshots) snapshots_.pop_front();
  return snapshots_.back().id;
}

void Lister::Forget() {
  MutexLock lock(&mutex_);
  snapshots_.clear();
}

HttpResponse Lister::List(const ApiRequest& request) {
  Place place;
  const std::string token = request.Query("continue");
  const std::optional<Refusal> refusal = token.empty() ? Begin(request, &place) : Continue(request, token, &place);
  if (refusal) return AnswerOf(*refusal);
  const KindTraits& kind = *request.kind;
  const auto& objects = place.listing->objects;
  // A list with resourceVersion "0" comes from the cache as a whole, without pages.
  const bool is_whole = token.empty() && request.Query("resourceVersion") == "0";
  const uint64_t limit = is_whole ? 0 : ParseNumber<uint64_t>(request.Query("limit")).value_or(0);
  const size_t left = objects.size() - place.offset;
  const size_t end = place.offset + (limit == 0 ? left : std::min<size_t>(left, limit));
  Json metadata = {{"resourceVersion", std::to_string(place.listing->version)}};
  if (end < objects.size()) {
    if (place.snapshot == 0) place.snapshot = Keep(place.listing);
    metadata["continue"] = Token{place.snapshot, end, objects[end]->key}.Text();
    if (request.Query("labelSelector").empty() && request.Query("fieldSelector").empty()) {
      metadata["remainingItemCount"] = objects.size() - end;
    }
  }
  HttpResponse answer{200, {{"Content-Type", "application/json"}}, ""};
  answer.body = "{\"apiVersion\":\"" + kind.resource->api_version() + "\",\"kind\":\"" +
                std::string(kind.resource->kind) + "List\",\"metadata\":" + kube::Print(metadata) + ",\"items\":[";
  for (size_t i = place.offset; i < end; ++i) {
    if (i > place.offset) answer.body += ',';
    answer.body += ItemTextOf(kind, *objects[i]);
  }
  answer.body += "]}";
  return answer;
}

}  // namespace espalier::ctl::client::fake
