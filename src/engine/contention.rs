//! Run-queue locks and contended lines as serial servers.

use super::metrics::Count;
use super::sim::Sim;

/// Something that one CPU at a time can have.
#[derive(Debug, Clone, Copy, Default)]
pub struct Server {
    /// When it is free again.
    pub free_at: i64,
    /// Who had it last.
    pub holder: u32,
}

/// The line with the load sum of the task group (Linux `tg->load_avg`).
#[derive(Debug, Clone, Default)]
pub struct LoadLine {
    /// One writer or reader from afar at a time.
    pub server: Server,
    /// Writes so far.
    pub version: u64,
    /// The version each last-level cache has.
    pub seen: Vec<u64>,
}

impl Sim<'_> {
    /// Returns the price of holding the lock of run queue `of` for so long on behalf of CPU `by`:
    /// waiting for it, moving its line, and the hold itself beyond what the path costs already.
    #[inline]
    pub fn lock(&mut self, of: usize, by: usize, hold: i64) -> i64 {
        let lock = self.locks[of];
        let (wait, moved) = if lock.holder as usize == by {
            // One CPU does one thing after the other: it never waits for itself.
            (0, 0)
        } else {
            let far = self.topology.distance(lock.holder, by as u32);
            ((lock.free_at - self.now).max(0), self.prices.line(far))
        };
        let price = wait + moved;
        self.locks[of] = Server { free_at: self.now + price + hold, holder: by as u32 };
        if wait > 0 {
            self.metrics.add(Count::LockWait, wait);
        }
        price
    }

    /// Returns the price of reading the load line on a CPU: nothing unless somebody wrote since its
    /// last-level cache last had it.
    #[inline]
    pub fn read_load_line(&mut self, by: usize) -> i64 {
        let llc = self.place[by].llc as usize;
        if self.load_line.seen[llc] == self.load_line.version {
            return 0;
        }
        self.load_line.seen[llc] = self.load_line.version;
        self.use_load_line(by)
    }

    /// Returns the price of publishing a changed load, `times` times; nothing within the rate limit.
    pub fn write_load_line(&mut self, by: usize, times: u32) -> i64 {
        let limit = self.kernel.load_avg_min_interval;
        if limit > 0 && self.now - self.cpus[by].load_written < limit {
            return 0;
        }
        self.cpus[by].load_written = self.now;
        let times = if limit > 0 { 1 } else { times };
        let mut price = 0;
        for _ in 0..times {
            price += self.use_load_line(by);
            self.load_line.version += 1;
            self.metrics.count(Count::LoadLineWrites);
        }
        let llc = self.place[by].llc as usize;
        self.load_line.seen[llc] = self.load_line.version;
        price
    }

    fn use_load_line(&mut self, by: usize) -> i64 {
        let line = self.load_line.server;
        let wait = (line.free_at - self.now).max(0);
        let moved = self.prices.line(self.topology.distance(line.holder, by as u32));
        self.load_line.server = Server { free_at: self.now + wait + moved, holder: by as u32 };
        if wait > 0 {
            self.metrics.add(Count::LoadLineWait, wait);
        }
        wait + moved
    }
}
