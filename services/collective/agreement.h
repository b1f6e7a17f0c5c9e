// Error propagation between ranks: an error of one rank becomes the same error on all ranks at their next
// synchronization point, so that the other ranks do not wait until their deadline.
#pragma once

#include <chrono>
#include <functional>

#include "services/collective/collective.h"

namespace espalier::collective {

// Exchanges statuses. Every rank passes its own status; all ranks return the error of the lowest rank that has one
// ("trainer 2: ..."), or OK if none has; the group stays usable. If the group itself fails, its error is returned
// unchanged. Blocks for at most `timeout`, counted from the call. (The parameter is not a Deadline, because C++ may
// evaluate a deadline argument before the work that produces `own`.)
Status AgreeOn(const Status& own, Collective& collective, std::chrono::nanoseconds timeout);

// Runs work on rank `root` in steps while the other ranks wait. Ranks synchronize after each step, so that no wait is
// longer than one step. Every rank must call it. Only `root` calls `step`, until it returns false (no work is left) or
// an error; each call must return well within `longest_step`. Returns an error as AgreeOn does.
Status WorkInSteps(Rank root, const std::function<Result<bool>()>& step, Collective& collective,
                   std::chrono::nanoseconds longest_step);

// Runs work that cannot be divided into steps and whose duration is unknown: `root` calls `work` on a separate thread
// and meanwhile synchronizes with the other ranks many times per `longest_step`, which is the timeout of one
// synchronization. Every rank must call it. Returns an error as AgreeOn does; an exception thrown by `work` becomes
// ResourceExhausted. `root` returns after `work` has ended: if the group fails first, `root` abandons the group at
// once, so that the other ranks do not wait, and then waits for `work`.
Status RunOnSideThread(Rank root, const std::function<Status()>& work, Collective& collective,
                       std::chrono::nanoseconds longest_step);

}  // namespace espalier::collective
