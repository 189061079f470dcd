// Values that Python passes to the core repeatedly, with the arrays they refer to.
#pragma once

#include "../lattice.h"
#include "../table.h"
#include "arrays.h"

namespace adtc {

/// A `Table` and the arrays that it looks at.
struct BoundTable : Table {
    Array<const std::uint64_t, 2> words_;
    Array<const Index, 1> offsets_, rows_, plane_group_, plane_shift_, totals_;

    BoundTable(Array<const std::uint64_t, 2> words, Array<const Index, 1> offsets, Array<const Index, 1> rows,
               Array<const Index, 1> plane_group, Array<const Index, 1> plane_shift, Array<const Index, 1> totals);
};

/// A `Lattice` and the arrays that it looks at.
struct BoundLattice : Lattice {
    Array<const Index, 2> binomial_;
    Array<const Index, 1> base_;

    BoundLattice(Array<const Index, 2> binomial, Array<const Index, 1> base, Index features, Index levels, Index rest);
};

void bind_types(nb::module_& module);

}  // namespace adtc
