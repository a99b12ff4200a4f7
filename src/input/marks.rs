//! Events that label a wakeup or tell what a governor was told: timers, interrupts, return probes.

use memchr::memchr;

use super::bodies::{number_behind, value_of};
use super::columns::Mark;

/// Kind, name and number of a mark.
pub type Found<'a> = (Mark, &'a [u8], i64);

/// Reads the body of an event called `name`. The outer None: no mark; the inner: damaged fields.
pub fn mark<'a>(name: &'a [u8], body: &'a [u8]) -> Option<Option<Found<'a>>> {
    let mark = |kind, name: &'a [u8], value: Option<i64>| value.map(|v| (kind, name, v));
    Some(match name {
        b"slen" | b"tick_nohz_get_sleep_length" | b"tick_nohz_get_sleep_length__return" => {
            mark(Mark::Told, name, returned(body))
        }
        b"menu_select" | b"teo_select" | b"ladder_select_state" | b"haltpoll_select" => {
            mark(Mark::Chosen, name, returned(body).filter(|v| (0..=255).contains(v)))
        }
        b"tick_stop" => mark(Mark::TickStop, name, number_behind(body, b"success")),
        b"hrtimer_expire_entry" => timer(body, b"now"),
        b"hrtimer_start" => {
            timer(body, b"expires").map(|(_, name, value)| (Mark::TimerStart, name, value))
        }
        b"local_timer_entry" => {
            mark(Mark::LocalTimer, name, number_behind(body, b"vector").or(Some(-1)))
        }
        b"irq_handler_entry" => {
            let handler = value_of(body, b"name").unwrap_or(b"");
            mark(Mark::Irq, handler, number_behind(body, b"irq"))
        }
        b"ipi_entry"
        | b"reschedule_entry"
        | b"call_function_entry"
        | b"call_function_single_entry" => {
            mark(Mark::Ipi, name, number_behind(body, b"vector").or(Some(-1)))
        }
        _ => return None,
    })
}

/// `(function+0x1/0x2 <- caller) ret=N` of a return probe; N may be an unsigned register.
fn returned(body: &[u8]) -> Option<i64> {
    number_behind(body, b"ret").or_else(|| number_behind(body, b"arg1"))
}

/// `hrtimer=P function=F KEY=T`: a tick if the function is one of the tick's.
fn timer<'a>(body: &'a [u8], key: &[u8]) -> Option<Found<'a>> {
    let function = value_of(body, b"function")?;
    let function = &function[..memchr(b'+', function).unwrap_or(function.len())];
    // Named tick_sched_timer until 6.9, tick_nohz_handler since.
    let tick = matches!(function, b"tick_sched_timer" | b"tick_nohz_handler");
    let kind = if tick { Mark::Tick } else { Mark::Timer };
    Some((kind, function, number_behind(body, key)?))
}
