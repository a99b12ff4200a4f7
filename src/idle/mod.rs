//! Idle governors: the list, and the replay that runs them on recorded or generated idle periods.
//!
//! One file (or folder) per governor, one entry in [`GOVERNORS`].

mod catalogue;
mod entry;
mod era;
pub mod foreign;
mod governor;
mod haltpoll;
mod ladder;
mod menu;
mod replay;
mod stream;
mod teo;
mod versions;

pub use catalogue::GOVERNORS;
pub use entry::{Confidence, Exactness, GovernorEntry};
pub use governor::{
    Device, Governor, IdleContext, IdleOutcome, NO_PREDICTION, RULES, Rule, Selection,
};
pub use replay::{Chosen, Decisions, HZ, Options, replay};
pub use stream::{ABOVE, BELOW, FITS};
pub use versions::{Claim, Nearest, nearest};
