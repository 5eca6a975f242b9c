//! A driver with a double-locking error (Alur, Chaudhuri, Etessami and Madhusudan, TACAS 2005,
//! section 5.1: the abstraction of the Perle Specialix RIO driver).
//!
//! Their 220-line abstraction was not published; this is a serial driver of the same
//! shape, of our own making. Locks and processes are `bits`-bit integers: every card has a lock and every
//! port has one, named by its number. A global that nobody writes, `watched`, stands for any one lock:
//! the monitors follow that one. Three entry points (open, write, interrupt) share helpers; most
//! conditions on data are nondeterministic. In the buggy version the transmit path takes the
//! lock of the port it was given although its caller may hold it.

/// Which version of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `start_transmit` takes the port's lock again when the process owns the port.
    Buggy,
    /// `start_transmit` is called with the port's lock held and leaves it alone.
    Fixed,
    /// Like `Fixed`, but `rio_ioctl` may return with the lock of the port held.
    Leaky,
}

/// Is there a run in which a lock is acquired twice in a row?
pub const DOUBLE_LOCK: &str = "monitor double_lock {
  initial state free { when at(spin_lock:TAKE) & spin_lock::l = watched goto held; }
  state held {
    when at(spin_unlock:GIVE) & spin_unlock::u = watched goto free;
    when at(spin_lock:TAKE) & spin_lock::l = watched goto error;
  }
  target state error;
}
";

/// Is every lock that is acquired also released? The monitor guesses the acquisition that is not followed by a release.
pub const RELEASED: &str = "monitor released {
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

/// The driver, about 200 lines.
pub fn program(bits: u32, version: Version) -> String {
    let relock = match version {
        Version::Buggy => {
            "  // BUG: rio_write holds this lock already.
  if owner = pid then
    spin_lock(port);
  fi"
        }
        Version::Fixed | Version::Leaky => "  // The caller holds the lock of the port.",
    };
    let leak = if version == Version::Leaky {
        "\n    return;"
    } else {
        ""
    };
    TEMPLATE
        .replace("uN", &format!("u{bits}"))
        .replace("  @RELOCK@", relock)
        .replace("@LEAK@", leak)
}

const TEMPLATE: &str = "// A serial driver with cards, ports and one lock for each.
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
        assert_eq!(
            verdict(&program(2, Version::Buggy), &Ask::Monitor(DOUBLE_LOCK)),
            "violated"
        );
        assert_eq!(
            verdict(&program(2, Version::Fixed), &Ask::Monitor(DOUBLE_LOCK)),
            "holds"
        );
    }

    #[test]
    fn the_fixed_version_releases_what_it_takes() {
        assert_eq!(
            verdict(&program(2, Version::Fixed), &Ask::Monitor(RELEASED)),
            "holds"
        );
        assert_eq!(
            verdict(&program(2, Version::Leaky), &Ask::Monitor(RELEASED)),
            "violated"
        );
    }
}
