//! Channels: messages between tasks, and boards, which are lists of channels to send to.

use super::cpu::NONE;
use super::metrics::Count;
use super::ops::Flow;
use super::sim::Sim;
use super::task::{Message, Then, Waits};
use crate::workload::{Amount, Channel, Full};

impl Sim<'_> {
    /// Sends a message, or waits for room.
    pub(super) fn send(&mut self, c: usize, id: u32, to: u32, reply: u32) -> Flow {
        let channel = &self.plan.channels[to as usize];
        let full = self.is_full(to);
        if full && channel.full == Full::Block {
            self.metrics.count(Count::FullWrites);
            self.tasks[id as usize].waits = Waits::Room(to);
            let block = self.prices.costs.block;
            return self.spend(c, id, block, true, Then::Recheck);
        }
        let guard = self.guard(c, to);
        self.next_op(id);
        if full {
            self.metrics.count(Count::Sent);
            self.metrics.count(Count::Dropped);
            return self.pay(c, id, guard);
        }
        let wake = self.put(c, id, to, reply);
        match wake {
            Some(price) => self.spend(c, id, guard + price, true, Then::Deliver),
            None => self.pay(c, id, guard),
        }
    }

    /// Returns true if a channel has no room.
    fn is_full(&self, channel: u32) -> bool {
        let capacity = u64::from(self.plan.channels[channel as usize].capacity);
        self.channels[channel as usize].messages.len() as u64 >= capacity
    }

    /// Puts a message into a channel; returns the price of the wake-up if somebody waits for it.
    fn put(&mut self, c: usize, id: u32, to: u32, reply: u32) -> Option<i64> {
        self.metrics.count(Count::Sent);
        let task = &self.tasks[id as usize];
        let message = Message {
            registers: task.registers,
            stamp: task.stamp,
            reply,
            sent: (c as u32, self.cpus[c].epoch),
        };
        let queue = &mut self.channels[to as usize];
        queue.messages.push_back(message);
        let Some(receiver) = queue.receivers.pop_front() else {
            return self.pass_on(c, id, to);
        };
        let sync = self.plan.channels[to as usize].sync;
        Some(self.begin_wake(c, id, receiver, sync))
    }

    /// Pays a price that may be nothing.
    pub(super) fn pay(&mut self, c: usize, id: u32, price: i64) -> Flow {
        if price == 0 { Flow::Next } else { self.spend(c, id, price, true, Then::Fetch) }
    }

    /// Returns the price of the mutex around a channel: waiting for it while spinning, its lines, its hold.
    fn guard(&mut self, c: usize, channel: u32) -> i64 {
        let Some(guard) = self.plan.channels[channel as usize].guard else { return 0 };
        let queue = &mut self.channels[channel as usize];
        let wait = (queue.free_at - self.now).max(0);
        let far = self.topology.distance(queue.holder, c as u32);
        let lines = self.prices.line(far) * i64::from(guard.lines_permille) / 1000;
        queue.free_at = self.now + wait + guard.hold + lines;
        queue.holder = c as u32;
        wait + guard.hold + lines
    }

    /// Takes a message, or waits for one.
    pub(super) fn receive(&mut self, c: usize, id: u32, from: u32) -> Flow {
        let queue = &mut self.channels[from as usize];
        let Some(message) = queue.messages.pop_front() else {
            self.metrics.count(Count::EmptyReads);
            self.tasks[id as usize].waits = Waits::Message(from);
            let block = self.prices.costs.block;
            return self.spend(c, id, block, true, Then::Recheck);
        };
        queue.drained += 1;
        self.metrics.count(Count::Received);
        let warm =
            message.sent.0 as usize == c && self.cpus[c].epoch.wrapping_sub(message.sent.1) <= 1;
        let cold = if warm { 0 } else { self.prices.costs.cold_message };
        let task = self.next_op(id);
        task.registers = message.registers;
        task.stamp = message.stamp;
        if message.reply != NONE {
            task.caller = message.reply;
        }
        let price = cold + self.guard(c, from);
        match self.make_room(c, id, from) {
            Some(wake) => self.spend(c, id, price + wake, true, Then::Deliver),
            None => self.pay(c, id, price),
        }
    }

    /// Begins to wake a sender that waits for room, once a page has been read.
    fn make_room(&mut self, c: usize, id: u32, channel: u32) -> Option<i64> {
        let drain = self.plan.channels[channel as usize].drain;
        let queue = &mut self.channels[channel as usize];
        if queue.senders.is_empty() || (queue.drained < drain && !queue.messages.is_empty()) {
            return None;
        }
        queue.drained = 0;
        let sender = queue.senders.pop_front()?;
        Some(self.begin_wake(c, id, sender, true))
    }

    /// Begins to wake another sender while there is room for what a wake-up stands for
    /// (Linux `pipe_write`: a writer that leaves the pipe with room wakes the next one).
    fn pass_on(&mut self, c: usize, id: u32, channel: u32) -> Option<i64> {
        let Channel { capacity, drain, .. } = self.plan.channels[channel as usize];
        let queue = &mut self.channels[channel as usize];
        if queue.messages.len() as u64 + u64::from(drain) > u64::from(capacity) {
            return None;
        }
        let sender = queue.senders.pop_front()?;
        Some(self.begin_wake(c, id, sender, true))
    }

    /// Looks once more before sleeping on a channel.
    pub(super) fn recheck(&mut self, c: usize, id: u32) {
        let waits = self.tasks[id as usize].waits;
        let here = match waits {
            Waits::Message(from) => !self.channels[from as usize].messages.is_empty(),
            Waits::Room(to) => !self.is_full(to),
            Waits::Lock(lock) => self.is_free(lock),
            Waits::Child => self.tasks[id as usize].exited > 0,
            _ => false,
        };
        if here {
            self.tasks[id as usize].waits = Waits::Nothing;
            self.fetch(c, id);
            return;
        }
        match waits {
            Waits::Message(from) => self.channels[from as usize].receivers.push_back(id),
            Waits::Room(to) => self.channels[to as usize].senders.push_back(id),
            Waits::Lock(lock) => self.mutexes[lock as usize].sleepers.push_back(id),
            _ => {}
        }
        self.block(c, id, waits);
    }

    /// Puts the task's channel on a board and sends a message to the board's owner.
    pub(super) fn post(&mut self, c: usize, id: u32, board: u32) -> Flow {
        let own = self.resolve(id, crate::workload::At::Handle(0));
        let owner = self.plan.boards[board as usize];
        // A poster that has to wait for room posts when there is some.
        if self.is_full(owner) && self.plan.channels[owner as usize].full == Full::Block {
            return self.send(c, id, owner, NONE);
        }
        self.boards[board as usize].posted.push_back(own);
        self.send(c, id, owner, NONE)
    }

    /// Begins to send one message to every channel on a board.
    pub(super) fn release(&mut self, c: usize, id: u32, board: u32, each: &Amount) -> Flow {
        let Some(next) = self.boards[board as usize].posted.pop_front() else {
            self.next_op(id);
            return Flow::Next;
        };
        let ns = self.draw(id, each);
        self.tasks[id as usize].until = i64::from(next);
        self.spend(c, id, ns, true, Then::Release)
    }

    /// The work for one channel of a board is done: its message goes out.
    pub(super) fn release_next(&mut self, c: usize, id: u32) {
        let to = self.tasks[id as usize].until as u32;
        match self.put(c, id, to, NONE) {
            Some(price) => {
                self.spend(c, id, price, true, Then::DeliverRetry);
            }
            None => self.fetch(c, id),
        }
    }
}
