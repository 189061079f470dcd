#include "../pairs.h"

#include <numeric>

#include "types.h"

namespace adtc {
namespace {

/// Count, by group, the rows of a path where two features are both 1, for all pairs.
NumpyArray<Index> pair_counts(const BoundTable& table, Array<const Index, 1> features, Array<const bool, 1> negative) {
    const Index n = table.features(), lanes = padded(n), groups = table.groups();
    Buffer<Index> out(groups * n * n);
    {
        nb::gil_scoped_release release;
        Rows rows = records_of(table), kept;
        for (std::size_t i = 0; i < features.shape(0); ++i) {
            select_rows(rows, features(i), negative(i), kept);
            std::swap(rows, kept);
        }
        Slices slices;
        slice_rows(rows, n, slices);
        std::vector<Index> chosen(static_cast<std::size_t>(n));
        std::iota(chosen.begin(), chosen.end(), 0);
        std::vector<Index> wide(static_cast<std::size_t>(groups * n * lanes));
        count_pairs(slices, table, chosen, Cube<Index>{wide.data(), groups, n, lanes});
        for (Index r = 0; r < groups * n; ++r) std::copy_n(wide.data() + r * lanes, n, out.data() + r * n);
    }
    const auto size = static_cast<std::size_t>(n);
    return to_numpy(std::move(out), {static_cast<std::size_t>(groups), size, size});
}

}  // namespace

void bind_pairs(nb::module_& module) {
    module.def("pair_counts", &pair_counts, nb::arg("table"), nb::arg("features"), nb::arg("negative"));
}

}  // namespace adtc
