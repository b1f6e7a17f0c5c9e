#pragma once

namespace espalier::client {

enum class LastBatch { kKeep, kDrop };  // what becomes of an epoch's last batch when it is not full

}  // namespace espalier::client
