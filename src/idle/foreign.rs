//! Governors from outside: a C function pointer, or an object the border wraps.
//!
//! # The C function
//!
//! ```c
//! int64_t governor(int64_t *memory, const int64_t *context, const int64_t *table);
//! ```
//!
//! is called once per idle period, without the interpreter, on any thread. It learns from the outcome
//! of the period before and chooses for the next, as kernel governors do.
//!
//! * `memory`: [`MEMORY`] numbers of its own for this CPU, zero at first, untouched between calls.
//! * `context`: one number for each name in [`CONTEXT`].
//! * `table`: exit latencies at 0..10, target residencies at 10..20 (both ns), 1 for a polling state
//!   at 20..30; 0 beyond the last state.
//! * It returns the index of the state, plus [`KEEP_TICK`] if the tick has to stay on.

use std::sync::{Arc, Mutex};

use super::governor::{Device, Governor, IdleContext, IdleOutcome, NO_PREDICTION, Rule, Selection};
use super::stream::Asked;
use crate::error::{Error, Result};
use crate::machine::{IdleTable, MAX_STATES};
use crate::watch::Watch;

/// Numbers a C governor may keep per CPU.
pub const MEMORY: usize = 64;
/// Added by a C governor to the state to keep the tick.
pub const KEEP_TICK: i64 = 256;

/// Names of the numbers a C governor is given, in order. Times in ns. The `last_` ones tell the outcome
/// of the period before; `last_state` is -1 before the first period and after a refused entry.
pub const CONTEXT: [&str; 16] = [
    "n_states",
    "sleep_length_ns",
    "delta_tick_ns",
    "latency_limit_ns",
    "tick_stopped",
    "disabled",
    "nr_iowait",
    "cpu_util",
    "cpu_load",
    "last_state",
    "last_residency_ns",
    "last_span_ns",
    "last_got_tick",
    "poll_timed_out",
    "hz",
    "cpu",
];

type Signature = extern "C" fn(*mut i64, *const i64, *const i64) -> i64;

/// The address of a governor in C.
#[derive(Debug, Clone, Copy)]
pub struct CFunction(Signature);

impl CFunction {
    /// Takes the address of a function with the signature of this module.
    ///
    /// Nothing can check what lies at an address: whoever hands it in vouches that it is such a
    /// function, that it may be called from several threads at once with different arguments, and
    /// that it outlives the replay.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for address 0.
    #[allow(unsafe_code)]
    pub fn new(address: usize) -> Result<Self> {
        if address == 0 {
            return Err(Error::invalid("governors", "a C function cannot be at address 0"));
        }
        // SAFETY: a function pointer has the size of an address, 0 is refused above, and the caller
        // vouches for signature, thread safety and lifetime. Calling native code at an address from
        // outside is what this type is for.
        Ok(Self(unsafe { std::mem::transmute::<usize, Signature>(address) }))
    }
}

/// A C governor on one CPU.
pub(super) struct CGovernor {
    function: CFunction,
    memory: [i64; MEMORY],
    context: [i64; CONTEXT.len()],
    table: [i64; 3 * MAX_STATES],
}

impl CGovernor {
    pub fn new(function: CFunction, table: &IdleTable, hz: u32, cpu: u32) -> Self {
        let mut numbers = [0; 3 * MAX_STATES];
        for (i, s) in table.states().iter().enumerate() {
            numbers[i] = s.exit_latency;
            numbers[MAX_STATES + i] = s.target_residency;
            numbers[2 * MAX_STATES + i] = i64::from(s.polling);
        }
        let mut context = [0; CONTEXT.len()];
        context[0] = table.len() as i64;
        context[9] = -1;
        context[14] = i64::from(hz);
        context[15] = i64::from(cpu);
        Self { function, memory: [0; MEMORY], context, table: numbers }
    }
}

impl Asked for CGovernor {
    fn select(&mut self, index: usize, device: &mut Device, cx: &IdleContext) -> Result<Selection> {
        self.context[1..9].copy_from_slice(&[
            cx.sleep_length,
            cx.delta_tick,
            cx.latency_limit,
            i64::from(cx.tick_stopped),
            i64::from(cx.disabled),
            i64::from(cx.nr_iowait),
            i64::from(cx.cpu_util),
            i64::from(cx.cpu_load),
        ]);
        self.context[13] = i64::from(device.poll_timed_out);
        let answer =
            (self.function.0)(self.memory.as_mut_ptr(), self.context.as_ptr(), self.table.as_ptr());
        let keep_tick = answer >= KEEP_TICK;
        let state = if keep_tick { answer - KEEP_TICK } else { answer };
        checked(state, self.context[0] as usize, index).map(|state| foreign(state, !keep_tick))
    }

    fn reflect(&mut self, _: usize, device: &mut Device, outcome: &IdleOutcome) -> Result<()> {
        self.context[9..13].copy_from_slice(&[
            outcome.state as i64,
            device.last_residency,
            outcome.span,
            i64::from(outcome.got_tick),
        ]);
        Ok(())
    }

    fn refused(&mut self) {
        self.context[9..13].copy_from_slice(&[-1, 0, 0, 0]);
    }
}

/// The selection of a governor that explains nothing.
pub fn foreign(state: usize, stop_tick: bool) -> Selection {
    Selection { state, stop_tick, predicted: NO_PREDICTION, rule: Rule::Foreign }
}

/// Checks a state that a governor from outside returned in period `index`.
///
/// # Errors
/// [`Error::InvalidParameter`] naming the period.
pub fn checked(state: i64, n_states: usize, index: usize) -> Result<usize> {
    usize::try_from(state).ok().filter(|&s| s < n_states).ok_or_else(|| {
        Error::invalid(
            "governors",
            format!(
                "the governor chose state {state} in period {index}; the table has states 0 to {}",
                n_states - 1
            ),
        )
    })
}

/// An object that decides on one CPU, wrapped by the border.
pub trait ForeignGovernor: Send {
    /// Chooses a state in period `index`.
    ///
    /// # Errors
    /// Whatever stops the replay.
    fn select(&mut self, index: usize, device: &Device, cx: &IdleContext) -> Result<Selection>;

    /// Hears what became of it in period `index`.
    ///
    /// # Errors
    /// Whatever stops the replay.
    fn reflect(&mut self, index: usize, device: &Device, outcome: &IdleOutcome) -> Result<()>;
}

/// Makes one [`ForeignGovernor`] per CPU.
pub trait ForeignMaker: Sync {
    /// The governor of CPU `cpu`, which is one of `n_cpus`.
    ///
    /// # Errors
    /// Whatever stops the replay.
    fn make(&self, cpu: u32, n_cpus: usize) -> Result<Box<dyn ForeignGovernor>>;
}

pub(super) struct Wrapped(pub Box<dyn ForeignGovernor>);

impl Asked for Wrapped {
    fn select(&mut self, index: usize, device: &mut Device, cx: &IdleContext) -> Result<Selection> {
        self.0.select(index, device, cx)
    }
    fn reflect(&mut self, index: usize, device: &mut Device, outcome: &IdleOutcome) -> Result<()> {
        self.0.reflect(index, device, outcome)
    }
}

/// Where governors from outside leave the error that ends a simulation.
///
/// A simulated kernel cannot fail in the middle of an idle loop, so the governor chooses state 0 from
/// then on and asks the watch to stop the call.
#[derive(Debug, Clone)]
pub struct Failure {
    first: Arc<Mutex<Option<Error>>>,
    watch: Watch,
}

impl Failure {
    /// None so far; the first one stops the workers of `watch`.
    pub fn new(watch: &Watch) -> Self {
        Self { first: Arc::default(), watch: watch.clone() }
    }

    /// The first error, once.
    pub fn take(&self) -> Option<Error> {
        self.first.lock().unwrap_or_else(|e| e.into_inner()).take()
    }

    fn set(&self, error: Error) {
        self.first.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
        self.watch.stop();
    }

    /// Makes a governor of a C function for one CPU.
    pub fn c(
        &self,
        function: CFunction,
        table: &IdleTable,
        hz: u32,
        cpu: u32,
    ) -> Box<dyn Governor> {
        Guarded::boxed(CGovernor::new(function, table, hz, cpu), self)
    }

    /// Makes a governor of an object for one CPU.
    pub fn object(&self, object: Box<dyn ForeignGovernor>) -> Box<dyn Governor> {
        Guarded::boxed(Wrapped(object), self)
    }
}

/// A fallible governor in a place for infallible ones; without one it chooses state 0.
struct Guarded<A> {
    asked: Option<(A, Failure)>,
    index: usize,
}

impl<A: Asked + Send + 'static> Guarded<A> {
    fn boxed(asked: A, failure: &Failure) -> Box<dyn Governor> {
        Box::new(Self { asked: Some((asked, failure.clone())), index: 0 })
    }

    /// Calls the governor; after an error there is none any more.
    fn call<T>(&mut self, what: impl FnOnce(&mut A, usize) -> Result<T>) -> Option<T> {
        let (asked, failure) = self.asked.as_mut()?;
        match what(asked, self.index) {
            Ok(answer) => Some(answer),
            Err(error) => {
                failure.set(error);
                self.asked = None;
                None
            }
        }
    }
}

impl<A: Asked + Send + 'static> Governor for Guarded<A> {
    fn new(_: &IdleTable, _: u32) -> Self {
        Self { asked: None, index: 0 }
    }

    fn select(&mut self, device: &mut Device, context: &IdleContext) -> Selection {
        self.call(|asked, index| asked.select(index, device, context))
            .unwrap_or_else(|| foreign(0, true))
    }

    fn reflect(&mut self, device: &mut Device, outcome: &IdleOutcome) {
        self.call(|asked, index| asked.reflect(index, device, outcome));
        self.index += 1;
    }
}
