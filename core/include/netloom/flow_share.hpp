// Max-min fair sharing that is kept up to date while flows come and go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace netloom {

/// Flows that take the same way at the same terms, told apart by how many they are.
///
/// Class `c` puts `shares[i]` of its rate on `links[i]`, for `i` from `offsets[c]` up to
/// `offsets[c + 1] - 1`. Without shares every link carries the whole rate.
struct FlowClasses {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> links;
  std::vector<float> shares;
  std::vector<double> cap_bps;
  std::vector<double> weight;

  [[nodiscard]] std::size_t size() const { return cap_bps.size(); }

  [[nodiscard]] double share(std::uint64_t entry) const {
    return shares.empty() ? 1.0 : static_cast<double>(shares[entry]);
  }
};

/// The weighted max-min fair rate of every active class, kept up to date.
///
/// Rates are those of the definition (Bertsekas and Gallager, Data Networks, section 6.5.2): no
/// link is over its capacity, and every class is at its cap or crosses a full link on which no
/// other class has a higher rate for its weight. `solve` visits only classes that a change can
/// reach: those held back by a link whose load changed, those held back by the links of these,
/// and so on; where a link so reached ends up holding a class below one that was left alone, that
/// one is visited too, until the definition holds everywhere.
class FairShare {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// @throws std::invalid_argument if a class names a link that `capacity_bps` lacks.
  FairShare(std::span<const double> capacity_bps, const FlowClasses& classes);

  /// Let `count` more flows of a class start.
  void add(std::uint32_t flow_class, std::uint32_t count);
  /// Let `count` flows of a class end.
  void remove(std::uint32_t flow_class, std::uint32_t count);
  /// Make the rates fit what was added and removed since.
  void solve();

  /// Classes whose rate the last `solve` computed again; some may be as before.
  [[nodiscard]] std::span<const std::uint32_t> visited() const { return visited_; }

  /// Links whose load may have changed since the last call of `forget_moved`.
  [[nodiscard]] std::span<const std::uint32_t> moved() const { return moved_; }

  void forget_moved();

  /// Rate of one flow of a class.
  [[nodiscard]] double rate(std::uint32_t flow_class) const { return state_[flow_class].rate; }

  /// The link that holds a class back; `kNone` where its cap does.
  [[nodiscard]] std::uint32_t bottleneck(std::uint32_t flow_class) const {
    return state_[flow_class].bottleneck;
  }

  /// What a link carries.
  [[nodiscard]] double used(std::uint32_t link) const { return links_[link].used; }

  /// How many flows cross a link now.
  [[nodiscard]] std::uint32_t flows_on(std::uint32_t link) const { return links_[link].flows; }

  /// Classes visited by all calls of `solve` together.
  [[nodiscard]] std::uint64_t num_visits() const { return num_visits_; }

 private:
  struct Link {
    double capacity = 0;
    double used = 0;            ///< Of the active classes, at their rates.
    double left = 0;            ///< During filling: capacity that no frozen class uses.
    double weight = 0;          ///< During filling: of the classes that still grow.
    double whole = 0;           ///< During filling: that weight when it was last summed.
    double level = 0;           ///< During filling: where it was full.
    std::uint32_t growing = 0;  ///< During filling: entries that still grow.
    std::uint32_t held = 0;     ///< Active classes that this link holds back.
    std::uint32_t active = 0;   ///< Entries of active classes, first in its row.
    std::uint32_t flows = 0;
    std::uint32_t touched = 0;  ///< The last filling that met it.
    std::uint32_t spread = 0;   ///< The last solve that passed it on.
    bool dirty = false;         ///< Its load changed since the last solve.
    bool moved = false;
  };

  struct State {
    double rate = 0;
    double level = 0;  ///< Rate over weight.
    std::uint32_t count = 0;
    std::uint32_t bottleneck = kNone;
    std::uint32_t visited = 0;  ///< The last solve that worked it out.
    bool growing = false;
  };

  struct Level {
    double level;
    std::uint32_t link;
  };

  void index_links();
  void enter(std::uint32_t flow_class);
  void leave(std::uint32_t flow_class);
  void load(std::uint32_t flow_class, double flows);
  void visit(std::uint32_t flow_class);
  void spread(std::uint32_t link);
  void close();
  void prepare();
  void fill();
  void fill_link(std::uint32_t link, double level);
  [[nodiscard]] bool next_link(double below);
  void freeze(std::uint32_t flow_class, double level, std::uint32_t bottleneck);
  [[nodiscard]] bool check(bool whole_links);
  [[nodiscard]] double level_of(std::uint32_t index);
  [[nodiscard]] std::span<const std::uint32_t> row(std::uint32_t link) const;

  const FlowClasses& classes_;
  std::vector<Link> links_;
  std::vector<State> state_;
  std::vector<std::uint64_t> row_begin_;
  std::vector<std::uint32_t> rows_;   ///< Entries by link, the active ones first.
  std::vector<std::uint32_t> place_;  ///< Of each entry in its row.
  std::vector<std::uint32_t> entry_class_;
  std::vector<std::uint32_t> dirty_;
  std::vector<std::uint32_t> moved_;
  std::vector<std::uint32_t> started_;  ///< Classes that were added to.
  std::vector<std::uint32_t> visited_;
  std::vector<std::uint32_t> touched_;  ///< Links of the visited classes.
  std::vector<std::uint32_t> full_;     ///< Links that held some class back in this filling.
  std::vector<std::uint32_t> capped_;
  std::vector<Level> heap_;
  std::size_t closed_ = 0;
  std::uint32_t solve_ = 0;
  std::uint32_t filling_ = 0;
  std::uint64_t num_visits_ = 0;
  double reached_ = 0;
};

/// Flows of classes that start (a positive count) or end (a negative one).
struct FlowChanges {
  std::span<const std::uint32_t> flow_class;
  std::span<const std::int32_t> count;
  std::span<const std::uint64_t> batches;  ///< Where each batch begins, and the end of the last.
};

/// Rates and bottlenecks of all classes after each batch, batch by batch; 0 where none is active.
struct FairHistory {
  std::vector<double> rate_bps;
  std::vector<std::uint32_t> bottleneck;
};

/// Returns what `FairShare` says after each batch of changes.
[[nodiscard]] FairHistory fair_history(std::span<const double> capacity_bps,
                                       const FlowClasses& classes,
                                       const FlowChanges& changes);

}  // namespace netloom
