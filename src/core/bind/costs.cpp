#include "costs.h"

#include <utility>

namespace adtc {

BoundCosts::BoundCosts(Array<const Index, 3> weights, Array<const Index, 1> constants,
                       Array<const Index, 1> group_label, Index infinity, Index minsup, bool majority, Index share_top,
                       Index share_bottom)
    : weights_(std::move(weights)), constants_(std::move(constants)), group_label_(std::move(group_label)) {
    Costs::weights = cube_of(weights_);
    Costs::constants = span_of(constants_);
    Costs::infinity = infinity;
    rule = {
        span_of(group_label_), labels(), minsup, majority, share_top, share_bottom, own_groups(span_of(group_label_))};
    bool fits = Costs::constants.size() == static_cast<std::size_t>(forms()) &&
                rule.group_label.size() == static_cast<std::size_t>(groups()) && share_top >= 0 && share_bottom > 0;
    if (!fits || !are_labels(rule.group_label, labels()))
        throw nb::value_error("the arrays of the costs do not belong together");
}

void bind_costs(nb::module_& module) {
    nb::class_<BoundCosts>(module, "Costs")
        .def(nb::init<Array<const Index, 3>, Array<const Index, 1>, Array<const Index, 1>, Index, Index, bool, Index,
                      Index>(),
             nb::arg("weights"), nb::arg("constants"), nb::arg("group_label"), nb::arg("infinity"), nb::arg("minsup"),
             nb::arg("majority"), nb::arg("share_top") = 0, nb::arg("share_bottom") = 1)
        .def_ro("weights", &BoundCosts::weights_)
        .def_ro("constants", &BoundCosts::constants_)
        .def_ro("group_label", &BoundCosts::group_label_)
        .def_ro("infinity", &BoundCosts::infinity)
        .def_prop_ro("minsup", [](const BoundCosts& costs) { return costs.rule.minsup; })
        .def_prop_ro("majority", [](const BoundCosts& costs) { return costs.rule.majority; })
        .def_prop_ro("share_top", [](const BoundCosts& costs) { return costs.rule.share_top; })
        .def_prop_ro("share_bottom", [](const BoundCosts& costs) { return costs.rule.share_bottom; });
}

}  // namespace adtc
