//! A worker: a thread with a stack of its own, which reports its progress to its caller.
//!
//! Operations on decision diagrams recurse as deep as there are variables, and need more stack than
//! the caller may have. Listeners are called on the caller's thread, so they need not be `Send`.

use std::sync::mpsc;

/// Runs `work` on a thread with `stack` bytes of stack, and calls `listen` here with all that it
/// tells, in order. The answer is that of `work`.
///
/// # Panics
/// If `work` panics, or no thread can be started.
pub fn on_worker<N: Send, T: Send>(
    stack: usize,
    listen: impl FnMut(N),
    work: impl FnOnce(&(dyn Fn(N) + Sync)) -> T + Send,
) -> T {
    let (sender, receiver) = mpsc::channel::<N>();
    std::thread::scope(|scope| {
        // `sender` goes with the work, so that the channel ends when the work does.
        let work = move || {
            // If nobody listens any more, nobody wants to know.
            work(&|news| sender.send(news).unwrap_or_default())
        };
        let worker = std::thread::Builder::new()
            .stack_size(stack)
            .spawn_scoped(scope, work)
            .expect("a thread can be started");
        receiver.into_iter().for_each(listen);
        match worker.join() {
            Ok(answer) => answer,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::on_worker;

    const STACK: usize = 1 << 20;

    #[test]
    fn everything_is_heard_in_order() {
        let mut heard = Vec::new();
        let here = std::thread::current().id();
        let listen = |i: u32| {
            assert_eq!(std::thread::current().id(), here);
            heard.push(i);
        };
        let there = on_worker(STACK, listen, |tell| {
            (0..1000).for_each(tell);
            std::thread::current().id()
        });
        assert_ne!(there, here);
        assert_eq!(heard, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn a_panic_comes_through_after_what_was_told() {
        let heard = std::cell::Cell::new(0);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            on_worker(
                STACK,
                |i| heard.set(i),
                |tell| {
                    tell(7);
                    std::panic::resume_unwind(Box::new("the reason"));
                },
            )
        }));
        let panic = result.expect_err("a panic");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the reason"));
        assert_eq!(heard.get(), 7);
    }

    #[test]
    fn the_stack_is_as_large_as_was_asked_for() {
        fn deep(n: u64) -> u64 {
            let room = std::hint::black_box([n; 64]);
            if n == 0 {
                room[0]
            } else {
                deep(n - 1) + room[63] / n
            }
        }
        // At least 512 bytes a level.
        let depth = 100_000;
        let answer = on_worker(256 << 20, |()| {}, |_| deep(depth));
        assert_eq!(answer, depth);
    }
}
