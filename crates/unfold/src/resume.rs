//! Returns: how a caller goes on when its callee has left through an exit, and where a run goes on
//! after `main`.

use droste_base::Steps;
use droste_program::Violation;

use crate::code::convert;
use crate::execute::{keep, reach_goal};
use crate::layout::Status;
use crate::machine::{Action, Goal, Machine};
use crate::words::Words;

impl Machine {
    /// Where `caller` may go on when its callee leaves through `exit`.
    pub(crate) fn resume<W: Words>(
        &self,
        caller: &W,
        exit: &W,
        goal: Option<Goal<'_>>,
        out: &mut Steps<W>,
    ) {
        let at = self.layout.node(caller.words());
        let node = &self.nodes[at as usize];
        let Action::Call {
            callee,
            targets,
            constrain,
            next,
            ..
        } = &node.action
        else {
            unreachable!("only a call is resumed")
        };
        let mut post = caller.clone();
        // What the callee does not touch, the caller has kept.
        let touched = self.touched(*callee).iter().zip(exit.words());
        for (word, (touched, exit)) in post.words_mut().iter_mut().zip(touched) {
            *word = *word & !touched | exit & touched;
        }
        for (from, to) in targets {
            let offset = match from.get(exit.words()) {
                None if from.ty == to.ty => None,
                None => {
                    // Any value of one type is not any value of the other: try each.
                    for offset in 0..=from.top {
                        let mut exit = exit.clone();
                        from.set(exit.words_mut(), Some(offset));
                        self.resume(caller, &exit, goal, out);
                        if !out.go_on() {
                            return;
                        }
                    }
                    return;
                }
                Some(offset) => match convert(from.value(offset), to.ty) {
                    Ok(value) => Some(to.offset(value)),
                    Err(violation) => {
                        if self.failures {
                            out.step(self.fail_after(&post, *next, violation));
                        }
                        return;
                    }
                },
            };
            to.set(post.words_mut(), offset);
        }
        if let Some(goal) = goal {
            for (_, to) in targets {
                reach_goal(to, post.words_mut(), goal);
            }
        }
        let conditions = [constrain.as_ref(), node.ensure.as_ref()];
        let globals = self.layout.globals.len() as u32;
        let changed = |slot| slot < globals || targets.iter().any(|(_, to)| to.slot == slot);
        let after = Some(*next);
        let settled = self.settle(
            caller,
            post,
            conditions,
            &changed,
            after,
            goal,
            out,
            |s, out| {
                out.step(self.arrive_after(s, at, *next));
            },
        );
        if settled.is_err() {
            debug_assert!(false, "what the call does not change was read before it");
            out.give_up();
        }
    }

    /// Control arrives at `next` when the call at `node` returns.
    fn arrive_after<W: Words>(&self, mut state: W, node: u32, next: u32) -> W {
        let kept: &[u64] = match &self.nodes[node as usize].action {
            Action::Call { kept, .. } => kept,
            _ => &[],
        };
        if kept.is_empty() {
            return self.arrive(state, next);
        }
        let words = state.words_mut();
        self.layout.set_control(words, next, Status::Running);
        let masks = &self.masks[next as usize * self.layout.words..];
        for (word, (mask, kept)) in words.iter_mut().zip(masks.iter().zip(kept)) {
            *word &= mask | kept;
        }
        state
    }

    /// A failure when a call returns: of the new values, what matters at `next` is kept.
    pub(crate) fn fail_after<W: Words>(&self, post: &W, next: u32, violation: Violation) -> W {
        let node = self.layout.node(post.words());
        let mut state = self.arrive_after(post.clone(), node, next);
        self.layout
            .set_control(state.words_mut(), node, Status::Failed(violation));
        state
    }

    /// The state after `main` has returned through `exit`.
    pub(crate) fn terminated<W: Words>(&self, exit: &W) -> W {
        let mut state = exit.clone();
        let words = state.words_mut();
        self.layout.set_control(words, 0, Status::Terminated);
        keep(words, &self.terminated_mask);
        state
    }
}
