//! Drivers with a double-locking error (Alur, Chaudhuri, Etessami and Madhusudan, TACAS 2005,
//! section 5.1: the abstraction of the Perle Specialix RIO driver).
//!
//! Their 220-line abstraction was not published; these are serial drivers of the same shape, of our
//! own making. Processes, cards and ports are `bits`-bit integers. Entry points (open, write,
//! ioctl, close, interrupt) share helpers; most conditions on data are nondeterministic.
//!
//! * [`program`]: a lock is the number of the process that holds it. Two integers matter
//!   together, and proofs are possible for many bits.
//! * [`watched`]: there is a lock for every number, and a global that nobody writes stands for any
//!   one of them. Four integers matter together: like the original, this is hard to prove for more
//!   than two bits.
//!
//! In the buggy version the transmit path takes the lock of the port although its caller holds it.

/// Which version of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `start_transmit` takes the lock of the port again.
    Buggy,
    /// `start_transmit` is called with the lock held and leaves it alone.
    Fixed,
    /// Like `Fixed`, but `rio_ioctl` may return with the lock of the port held.
    Leaky,
}

/// Is there a run in which a process takes the port's lock while it holds it?
pub const DOUBLE_LOCK: &str = "monitor double_lock {
  initial state free { when at(lock_port:TAKE) goto held; }
  state held {
    when at(unlock_port:GIVE) goto free;
    when at(lock_port:TAKE) & port_lock = lock_port::me goto error;
  }
  target state error;
}
";

/// Is every lock that is acquired also released? The monitor guesses the acquisition that is
/// not followed by a release by the same process.
pub const RELEASED: &str = "monitor released {
  initial state before {
    when true goto before;
    when at(lock_port:TAKE) goto port_for_good;
    when at(lock_card:TAKE) goto card_for_good;
  }
  repeating state port_for_good {
    when at(unlock_port:GIVE) & port_lock = unlock_port::me goto released;
  }
  repeating state card_for_good {
    when at(unlock_card:GIVE) & card_lock = unlock_card::me goto released;
  }
  state released { otherwise block; }
}
";

/// A driver of about 200 lines in which a lock is the number of its holder, 0 if it is free.
pub fn program(bits: u32, version: Version) -> String {
    let relock = match version {
        Version::Buggy => {
            "  // BUG: rio_write holds this lock already.
  if !rx_pending then
    lock_port(pid);
  fi"
        }
        Version::Fixed | Version::Leaky => "  // The caller holds the lock of the port.",
    };
    fill(HOLDERS, bits, relock, version)
}

fn fill(template: &str, bits: u32, relock: &str, version: Version) -> String {
    let leak = if version == Version::Leaky {
        "\n    return;"
    } else {
        ""
    };
    template
        .replace("uN", &format!("u{bits}"))
        .replace("  @RELOCK@", relock)
        .replace("@LEAK@", leak)
}

const HOLDERS: &str = "// A serial driver with cards and ports; a lock is the number of its holder.
decl pid : uN;             // the process that runs now
decl port_lock : uN;       // who holds the lock of the port
decl card_lock : uN;       // who holds the lock of the card
decl is_open;
decl tx_pending;
decl rx_pending;
decl hung_up;

void lock_port(me : uN) begin
  TAKE: port_lock := me;
end

void unlock_port(me : uN) begin
  GIVE: port_lock := 0;
end

void lock_card(me : uN) begin
  TAKE: card_lock := me;
end

void unlock_card(me : uN) begin
  GIVE: card_lock := 0;
end

bool error_reported() begin
  if * then
    return T;
  fi
  return F;
end

void schedule() begin
  // Another process may run now; none has the number 0.
  pid := *;
  assume(pid != 0);
end

// Copies up to sixteen characters into the card's buffer.
bool copy_block() begin
  decl room : u4;
  decl failed;
  failed := F;
  while room > 0 & !failed do
    if * then
      failed := T;
    else
      room := room - 1;
    fi
  od
  return !failed;
end

// Sends a command to the card; the card's lock is taken and given back here.
bool send_command() begin
  decl ok;
  lock_card(pid);
  ok := error_reported();
  if ok then
    unlock_card(pid);
    return T;
  fi
  if * then
    tx_pending := T;
  fi
  unlock_card(pid);
  return F;
end

bool start_transmit() begin
  decl ok;
  @RELOCK@
  if hung_up then
    return F;
  fi
  if !tx_pending then
    return T;
  fi
  ok := copy_block();
  if ok then
    tx_pending := F;
  fi
  return ok;
end

// Asks the cards for a free port; recursion over the cards, one level per card.
bool find_port(card : uN) begin
  decl found;
  if card = 0 then
    return T;
  fi
  found := send_command();
  if found then
    return T;
  fi
  if * then
    return F;
  fi
  found := find_port(card - 1);
  return found;
end

bool rio_open() begin
  decl ok;
  decl card : uN;
  ok := find_port(card);
  if !ok then
    return F;
  fi
  lock_port(pid);
  if is_open then
    unlock_port(pid);
    return F;
  fi
  is_open := T;
  hung_up := F;
  unlock_port(pid);
  return T;
end

void rio_close() begin
  lock_port(pid);
  if is_open then
    is_open := F;
    tx_pending := F;
  fi
  unlock_port(pid);
end

bool rio_write() begin
  decl ok, more;
  if !is_open then
    return F;
  fi
  lock_port(pid);
  if hung_up then
    unlock_port(pid);
    return F;
  fi
  if * then
    tx_pending := T;
  fi
  ok := start_transmit();
  if !ok then
    goto out;
  fi
  more := *;
  if more then
    ok := start_transmit();
  fi
  out: unlock_port(pid);
  return ok;
end

void rio_ioctl() begin
  decl ok;
  if * then
    ok := send_command();
    if !ok then
      return;
    fi
  fi
  lock_port(pid);
  if is_open & * then
    hung_up := T;@LEAK@
  fi
  unlock_port(pid);
end

void rio_interrupt() begin
  lock_port(pid);
  if rx_pending then
    rx_pending := F;
    if hung_up then
      goto done;
    fi
  fi
  if tx_pending & !is_open then
    tx_pending := F;
  fi
  done: unlock_port(pid);
  rx_pending := *;
end

void main() begin
  decl ok;
  is_open := F;
  port_lock, card_lock := 0, 0;
  schedule();
  while * do
    assert(port_lock = 0 & card_lock = 0);
    if * then
      ok := rio_write();
    elsif * then
      ok := rio_open();
      if !ok then
        schedule();
      fi
    elsif * then
      rio_ioctl();
    elsif * then
      rio_close();
      schedule();
    else
      rio_interrupt();
    fi
    if * then
      schedule();
    fi
  od
end
";

/// For [`watched`]: is there a run in which a lock is acquired twice in a row?
pub const WATCHED_DOUBLE_LOCK: &str = "monitor double_lock {
  initial state free { when at(spin_lock:TAKE) & spin_lock::l = watched goto held; }
  state held {
    when at(spin_unlock:GIVE) & spin_unlock::u = watched goto free;
    when at(spin_lock:TAKE) & spin_lock::l = watched goto error;
  }
  target state error;
}
";

/// For [`watched`]: is every lock that is acquired also released? The monitor guesses the
/// acquisition that is not followed by a release.
pub const WATCHED_RELEASED: &str = "monitor released {
  initial state before {
    when true goto before;
    when at(spin_lock:TAKE) & spin_lock::l = watched goto taken_for_good;
  }
  repeating state taken_for_good {
    when at(spin_unlock:GIVE) & spin_unlock::u = watched goto released;
  }
  state released { otherwise block; }
}
";

/// A driver of about 200 lines with one lock for every number.
pub fn watched(bits: u32, version: Version) -> String {
    let relock = match version {
        Version::Buggy => {
            "  // BUG: rio_write holds this lock already.
  if owner = pid then
    spin_lock(port);
  fi"
        }
        Version::Fixed | Version::Leaky => "  // The caller holds the lock of the port.",
    };
    fill(WATCHED, bits, relock, version)
}

const WATCHED: &str = "// A serial driver with cards, ports and one lock for each.
decl watched : uN;         // any one lock: never written
decl pid : uN;             // the process that runs now
decl owner : uN;           // the process that owns the port that is open
decl is_open;
decl tx_pending;
decl rx_pending;
decl hung_up;
decl in_interrupt;

void spin_lock(l : uN) begin
  TAKE: skip;
end

void spin_unlock(u : uN) begin
  GIVE: skip;
end

bool error_reported() begin
  if * then
    return T;
  fi
  return F;
end

void schedule() begin
  // Another process may run now.
  pid := *;
end

// Copies up to `room` characters into the card's buffer.
bool copy_block(room : uN) begin
  decl done : uN;
  decl failed;
  done := 0;
  failed := F;
  while done < room & !failed do
    if * then
      failed := T;
    else
      done := done + 1;
    fi
  od
  return !failed;
end

// Sends a command to the card; the card's lock is taken and given back here.
bool send_command(card : uN) begin
  decl ok;
  spin_lock(card);
  ok := error_reported();
  if ok then
    spin_unlock(card);
    return T;
  fi
  if * then
    tx_pending := T;
  fi
  spin_unlock(card);
  return F;
end

bool start_transmit(port : uN) begin
  decl room : uN;
  decl ok;
  @RELOCK@
  if hung_up then
    return F;
  fi
  if !tx_pending then
    return T;
  fi
  room := *;
  ok := copy_block(room);
  if ok then
    tx_pending := F;
  fi
  return ok;
end

// Asks the card for a free port; recursion over the cards, one level per card.
bool find_port(card : uN) begin
  decl found;
  if card = 0 then
    return F;
  fi
  found := send_command(card);
  if found then
    return T;
  fi
  found := find_port(card - 1);
  return found;
end

bool rio_open(port : uN, card : uN) begin
  decl ok;
  ok := find_port(card);
  if !ok then
    return F;
  fi
  spin_lock(port);
  if is_open & owner != pid then
    spin_unlock(port);
    return F;
  fi
  is_open := T;
  owner := pid;
  hung_up := F;
  spin_unlock(port);
  return T;
end

void rio_close(port : uN) begin
  spin_lock(port);
  if owner = pid then
    is_open := F;
    owner := 0;
  fi
  spin_unlock(port);
end

bool rio_write(port : uN) begin
  decl ok, more;
  if !is_open then
    return F;
  fi
  spin_lock(port);
  if hung_up then
    spin_unlock(port);
    return F;
  fi
  if * then
    tx_pending := T;
  fi
  ok := start_transmit(port);
  if !ok then
    goto out;
  fi
  more := *;
  if more then
    ok := start_transmit(port);
  fi
  out: spin_unlock(port);
  return ok;
end

void rio_ioctl(port : uN, card : uN) begin
  decl ok;
  if * then
    ok := send_command(card);
    if !ok then
      return;
    fi
  fi
  spin_lock(port);
  if is_open & * then
    hung_up := T;@LEAK@
  fi
  spin_unlock(port);
end

void rio_interrupt(port : uN) begin
  decl ok;
  in_interrupt := T;
  spin_lock(port);
  if rx_pending then
    rx_pending := F;
    if hung_up then
      goto done;
    fi
  fi
  if tx_pending & !is_open then
    tx_pending := F;
  fi
  done: spin_unlock(port);
  in_interrupt := F;
end

void main() begin
  decl port, card : uN;
  decl ok;
  is_open := F;
  in_interrupt := F;
  owner := 0;
  while * do
    assume(pid != 0);
    port := *;
    if * then
      card := *;
      ok := rio_open(port, card);
      if !ok then
        schedule();
      fi
    elsif * then
      ok := rio_write(port);
    elsif * then
      card := *;
      rio_ioctl(port, card);
    elsif * then
      rio_close(port);
      schedule();
    else
      rio_interrupt(port);
    fi
    if * then
      schedule();
    fi
    assert(!in_interrupt);
  od
end
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ask;
    use crate::measure::verdict;

    #[test]
    fn only_the_buggy_version_locks_twice() {
        let ask = Ask::Monitor(DOUBLE_LOCK);
        assert_eq!(verdict(&program(2, Version::Buggy), &ask), "violated");
        assert_eq!(verdict(&program(2, Version::Fixed), &ask), "holds");
        let ask = Ask::Monitor(WATCHED_DOUBLE_LOCK);
        assert_eq!(verdict(&watched(1, Version::Buggy), &ask), "violated");
        assert_eq!(verdict(&watched(1, Version::Fixed), &ask), "holds");
    }

    #[test]
    fn only_the_leaky_version_keeps_a_lock() {
        let ask = Ask::Monitor(RELEASED);
        assert_eq!(verdict(&program(2, Version::Leaky), &ask), "violated");
        assert_eq!(verdict(&program(2, Version::Fixed), &ask), "holds");
        let ask = Ask::Monitor(WATCHED_RELEASED);
        assert_eq!(verdict(&watched(2, Version::Leaky), &ask), "violated");
        assert_eq!(verdict(&watched(1, Version::Fixed), &ask), "holds");
    }
}
