// How ranks fail together: an error of one becomes the same error of all at the next point where they meet, instead
// of a wait until the deadline.
#pragma once

#include <chrono>
#include <functional>

#include "services/collective/collective.h"

namespace espalier::collective {

// A barrier that carries errors. Every rank brings its own status and gets the error of the lowest rank that has
// one ("trainer 2: ..."), or ok where nobody has. An error of the group itself is returned as it is. The group stays
// alive. The others are waited for as long as `timeout` from the call on: a duration, because a deadline that stands
// beside the work in a call may be older than the work.
Status AgreeOn(const Status& own, Collective& collective, std::chrono::nanoseconds timeout);

// Work that one rank does while the others wait for it, in steps: the ranks meet after each, so that no wait is for
// more than a step, however many there are. Every rank calls it; `step` is called on `root` alone, until it says that
// nothing is left (false) or fails, and returns well within `longest_step`. The error, if any, is that of AgreeOn.
Status WorkInSteps(Rank root, const std::function<Result<bool>()>& step, Collective& collective,
                   std::chrono::nanoseconds longest_step);

// The same for work of one piece and unknown length: it has a thread of its own on `root`, which only says meanwhile
// that it is still at it. What it throws is ResourceExhausted. Returns when the work has ended, after an error of the
// group too, which it then leaves at once.
Status WorkAside(Rank root, const std::function<Status()>& work, Collective& collective,
                 std::chrono::nanoseconds longest_step);

}  // namespace espalier::collective
