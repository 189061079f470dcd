// Leaves, pools and levels of tensors, as Python holds them.
#pragma once

#include <optional>
#include <variant>

#include "../leaves.h"
#include "../tensors.h"
#include "types.h"

namespace adtc {

/// Numbers of either width: int64 [..., n], or int64 [..., n, 2] with the lower words first.
using AnyKeys = nb::ndarray<const Index, nb::c_contig, nb::device::cpu>;

/// Split a Python integer, or put one together.
WideKey wide_of(nb::int_ value);
nb::int_ int_of(WideKey value);

/// `Leaves` with the arrays that they look at, and keys of 64 bits or of 128.
struct BoundLeaves {
    AnyKeys key_weights_;
    Array<const Index, 3> cost_weights_;
    Array<const Index, 1> cost_constants_, group_label_;
    Array<const Index, 3> coarse_weights_;
    Array<const Index, 1> coarse_constants_, coarse_widths_, coarse_strides_;
    WideKey key_constant_;
    std::variant<Leaves<Index>, Leaves<WideKey>> leaves;

    BoundLeaves(AnyKeys key_weights, nb::int_ key_constant, Array<const Index, 3> cost_weights,
                Array<const Index, 1> cost_constants, Array<const Index, 1> group_label, Index minsup, bool majority,
                bool trivial_splits, bool dense, Index most_leaves, Index share_top, Index share_bottom,
                bool root_leaf);

    /// Let keys be coarse: see `CoarseKeys`.
    void coarsen(Array<const Index, 3> weights, Array<const Index, 1> constants, Array<const Index, 1> widths,
                 Array<const Index, 1> strides);

    bool wide() const { return leaves.index() == 1; }
    /// What does not depend on the keys.
    template <class Use>
    auto any(Use use) const {
        return std::visit(use, leaves);
    }
};

/// The tensors of one level in numpy arrays.
struct BoundLevel {
    AnyKeys keys_;
    Array<const Limb, 2> values_;
    Array<const Index, 2> costs_;
    Array<const Index, 1> starts_, stops_;
    std::variant<Level<Index>, Level<WideKey>> level;

    BoundLevel(AnyKeys keys, Array<const Limb, 2> values, Array<const Index, 2> costs, Array<const Index, 1> starts,
               Array<const Index, 1> stops);
};

}  // namespace adtc
