// Errors of a leaf over hybrid rows, which take one column from a donor and all else from another row.
//
// Such a row reaches a leaf iff the donor fulfils the path's literals of that column and the row all
// others. So the errors over all pairs of rows are a product of two counts, each of a shorter path.
#pragma once

#include <array>

#include "cache.h"
#include "good_cells.h"

namespace adtc {

/// Measures leaves for several columns at once. Not for several threads at once.
template <class Key>
class HybridLeaves {
public:
    /// `column_of[feature]` is the column that a distinct feature belongs to, −1 if to none of them.
    /// `most_bytes`: what counts of pairs may hold.
    HybridLeaves(const CircuitView<Key>& circuit, std::span<const Index> column_of, Index columns, Index most_bytes)
        : circuit_(circuit),
          column_of_(column_of),
          columns_(columns),
          labels_(circuit.leaves.labels()),
          rows_(support_of(circuit.table->totals, circuit.leaves.rule)),
          opener_(circuit),
          shorter_(most_bytes) {
        if (circuit.lattice->levels == 0) return;
        for (Index literal = 0; literal < 2 * circuit.lattice->features; ++literal) {
            const Index id = Path{}.then(literal / 2, literal % 2 == 1).number(*circuit.lattice);
            donors_.push_back(support_of(circuit.counts.row(id), circuit.leaves.rule));
        }
    }

    Index columns() const { return columns_; }
    Index labels() const { return labels_; }

    /// Write the errors of a leaf, weighted, over all pairs of rows: [label][column].
    void measure(const LeafPlace<Key>& place, Index* out) {
        const Literals every = literals_of(place);
        count(place, every, by_label_);
        Index total = sum_of(by_label_);
        for (Index l = 0; l < labels_; ++l) std::fill_n(out + l * columns_, columns_, rows_ * (total - by_label_[l]));
        for (Index i = 0; i < every.size; ++i) {
            const Index column = column_of_[every.feature[i]];
            if (column < 0) continue;
            Literals own, others;
            bool again = false;
            for (Index j = 0; j < every.size; ++j) {
                const bool same = column_of_[every.feature[j]] == column;
                again = again || (same && j < i);
                (same ? own : others).add(every.feature[j], every.negative[j]);
            }
            if (again) continue;
            const Index donors = count_donors(place, own);
            count(place, others, by_label_);
            total = sum_of(by_label_);
            for (Index l = 0; l < labels_; ++l) out[l * columns_ + column] = donors * (total - by_label_[l]);
        }
    }

private:
    /// Some of a leaf's literals: those of its path by ascending feature, then those below it.
    struct Literals {
        Index size = 0;
        Index feature[Path::kLongest + 2];
        bool negative[Path::kLongest + 2];

        void add(Index f, bool is_negative) {
            feature[size] = f;
            negative[size++] = is_negative;
        }
    };

    static Literals literals_of(const LeafPlace<Key>& place) {
        Literals found;
        for (Index i = 0; i < place.path.length; ++i)
            found.add(place.path.features[i], (place.path.signs >> i & 1) != 0);
        if (place.a >= 0) found.add(place.node->pairs.features[place.a], place.s == 1);
        if (place.b >= 0) found.add(place.node->pairs.features[place.b], place.t == 1);
        return found;
    }

    Index count_donors(const LeafPlace<Key>& place, const Literals& literals) {
        if (literals.size == 1 && !donors_.empty()) return donors_[2 * literals.feature[0] + literals.negative[0]];
        count(place, literals, by_label_);
        return sum_of(by_label_);
    }

    /// Count by label the rows that fulfil some of a leaf's literals. As many as the numbered paths have
    /// are looked up; beyond that, two of them are looked up among the pairs of the path of all others.
    void count(const LeafPlace<Key>& place, const Literals& literals, std::vector<Index>& by_label) {
        const Lattice& lattice = *circuit_.lattice;
        if (literals.size <= lattice.levels) {
            const auto counts = circuit_.counts.row(path_of(literals, literals.size).number(lattice));
            by_label.assign(static_cast<std::size_t>(labels_), 0);
            for (Index g = 0; g < circuit_.leaves.rule.own; ++g) by_label[label_of(g)] += counts[g];
            return;
        }
        const Index last = literals.size - 1;
        const bool whole = std::equal(place.path.features, place.path.features + lattice.levels, literals.feature);
        if (whole && literals.size == lattice.levels + 1)
            corner(*place.node, literals, last, last, by_label);
        else if (whole)
            corner(*place.node, literals, last - 1, last, by_label);
        else  // a literal of the path is missing, and both of those below it are there
            corner(shorter(path_of(literals, last - 1)), literals, last - 1, last, by_label);
    }

    Index label_of(Index group) const { return circuit_.leaves.rule.group_label[group]; }

    /// Make a path of the first literals.
    static Path path_of(const Literals& literals, Index size) {
        Path path;
        for (Index i = 0; i < size; ++i) {
            Index at = path.length++;
            for (; at > 0 && path.features[at - 1] > literals.feature[i]; --at)
                path.features[at] = path.features[at - 1];
            path.features[at] = literals.feature[i];
        }
        for (Index i = 0; i < size; ++i) {
            const Index at = std::lower_bound(path.features, path.features + size, literals.feature[i]) - path.features;
            path.signs |= Index{literals.negative[i]} << at;
        }
        return path;
    }

    /// Count by label the rows of a path that also fulfil two of some literals, or one named twice.
    void corner(const Node<Key>& node, const Literals& literals, Index i, Index j, std::vector<Index>& by_label) const {
        const auto& active = node.pairs.features;
        const auto place = [&](Index at) {
            return std::lower_bound(active.begin(), active.end(), literals.feature[at]) - active.begin();
        };
        const Index a = place(i), b = place(j);
        by_label.assign(static_cast<std::size_t>(labels_), 0);
        for (Index g = 0; g < circuit_.leaves.rule.own; ++g) {
            const Index one = node.pairs.at(g, a, a), side = literals.negative[i] ? node.counts[g] - one : one;
            const Index both = node.pairs.at(g, a, b);
            const Index with = literals.negative[i] ? node.pairs.at(g, b, b) - both : both;
            by_label[label_of(g)] += i == j ? side : literals.negative[j] ? side - with : with;
        }
    }

    /// Count the pairs of a path that is shorter than those of the last level.
    const Node<Key>& shorter(const Path& path) {
        const Index id = path.number(*circuit_.lattice);
        std::shared_ptr<Node<Key>>& recent = recent_[static_cast<std::size_t>(id) % recent_.size()];
        if (recent && recent->id == id) return *recent;
        recent = shorter_.find(id);
        if (recent) return *recent;
        recent = std::make_shared<Node<Key>>();
        recent->path = path;
        recent->id = id;
        recent->counts = circuit_.counts.row(id);
        opener_.count(*recent);
        shorter_.insert(id, recent, recent->bytes());
        return *recent;
    }

    const CircuitView<Key>& circuit_;
    std::span<const Index> column_of_;
    Index columns_, labels_;
    Index rows_;  ///< of the table itself, by weight
    LastOpener<Key> opener_;
    Cache<Node<Key>> shorter_;
    std::array<std::shared_ptr<Node<Key>>, 16> recent_;
    std::vector<Index> donors_;  ///< [literal]: rows that fulfil it, if one literal is a numbered path
    std::vector<Index> by_label_;
};

}  // namespace adtc
