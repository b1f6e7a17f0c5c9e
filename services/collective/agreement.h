// How ranks fail together: an error of one becomes the same error of all at the next point where they meet, instead
// of a wait until the deadline.
#pragma once

#include "services/collective/collective.h"

namespace espalier::collective {

// A barrier that carries errors. Every rank brings its own status and gets the error of the lowest rank that has
// one ("trainer 2: ..."), or ok where nobody has. An error of the group itself is returned as it is. The group stays
// alive.
Status AgreeOn(const Status& own, Collective& collective, Deadline deadline);

}  // namespace espalier::collective
