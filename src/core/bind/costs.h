// `Costs` as Python makes them, with the arrays they refer to.
#pragma once

#include "../costs.h"
#include "arrays.h"

namespace adtc {

/// `Costs` and the arrays that they look at.
struct BoundCosts : Costs {
    Array<const Index, 3> weights_;
    Array<const Index, 1> constants_, group_label_;

    BoundCosts(Array<const Index, 3> weights, Array<const Index, 1> constants, Array<const Index, 1> group_label,
               Index infinity, Index minsup, bool majority, Index share_top, Index share_bottom);
};

void bind_costs(nb::module_& module);

}  // namespace adtc
