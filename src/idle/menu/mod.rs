//! menu: how long will this idle period last, and which state pays off until then?
//!
//! **What it believes.** The next timer bounds the idle period, but interrupts end it earlier. How
//! much earlier is a property of the workload that changes slowly, so a running ratio of "how long it
//! lasted" to "how long the timer said" corrects the bound. Besides, many interrupts come at regular
//! intervals, and then the last eight intervals say more than any timer.
//!
//! **What it measures.** After each period the time slept without the exit latency, at most the time
//! to the timer. From it
//! * a correction factor for each decade of the time to the timer (below 10 us, 100 us, 1, 10 and
//!   100 ms, and above), until 6.5 twice: with and without tasks in I/O wait;
//! * a ring of the last eight intervals, from which outliers are taken off at the top (since 7.2 at
//!   either end) until the rest agree or too few are left.
//!
//! **How it decides.**
//! 1. Learn from the period before, if its outcome was told.
//! 2. A latency limit of zero, or (since 5.0) a timer or limit that rules out state 1, settles state
//!    0. 4.18 skips the polling state when the timer is beyond 20 us.
//! 3. Predict: the smaller of the corrected time to the timer and the typical interval. With a stopped
//!    tick a prediction below a tick is not trusted. Since 6.12 the typical interval comes first, and
//!    if it is at most 15 us the timer is not even looked up.
//! 4. Until 6.1 a busy system lowers the latency limit: to the prediction divided by one plus ten per
//!    I/O waiter (4.18: and twenty per unit of load).
//! 5. Scan from shallow to deep for the deepest state that fits prediction and limit. A polling state
//!    gives way to the next one if the timer allows it. With a stopped tick a state deep enough for
//!    the next event is taken instead.
//! 6. If the choice polls or the expected time is below one tick, keep the tick; if the chosen state
//!    does not fit before that tick, go shallower.
//!
//! **What it ignores.** Which interrupt will come, what other CPUs do, and whether the deepest state
//! saves anything.
//!
//! **Source.** Linux 4.18, 4.18.20, 5.0, 5.3, 5.10, 6.1, 6.12 and 7.2,
//! drivers/cpuidle/governors/menu.c. 4.18 (first release) is 4.18.20 with two later fixes of the tick
//! handling undone.
//!
//! **Differences.** 4.18 reads one load figure per CPU, given as `cpu_load`.
//!
//! The files: `history` learns and corrects, `intervals` holds the ring, `legacy` selects as in 4.18, `classic` as in 5.0 to 6.1,
//! `intervals_first` as in 6.12 and later.

mod classic;
mod history;
mod intervals;
mod intervals_first;
mod legacy;

pub use classic::{Menu50, Menu53, Menu61, Menu510};
pub use intervals_first::{Menu72, Menu612};
pub use legacy::{Menu418First, Menu418Last};
