//! teo: the timer events oriented governor, from its first posting to 7.2.
//!
//! Two families share the name. `early_hits` holds the revisions posted in 2018 and the kernels 5.1
//! to 5.10; `bins` the kernels from 5.14 on, which count hits and intercepts per bin. Each file opens
//! with its own essay.

mod bins;
mod bins_6_12;
mod bins_7_2;
mod early_hits;
mod metrics;
mod pattern;
mod refine;
mod refine_stable;

pub use bins::{Teo61, Teo65};
pub use bins_6_12::Teo612;
pub use bins_7_2::Teo72;
pub use early_hits::EarlyHits;
pub use early_hits::revisions::{
    Rfc1, Rfc1Tolerant, Rfc2, Rfc2Strict, Rfc3, Rfc4, Rfc5, Rfc6, Rfc8, V51, V53, V54, V510,
};
