//! post* or pre*, whichever is done first.
//!
//! From which end a question is answered sooner depends on the system, and one may take hundreds of times
//! as long as the other: forwards, whatever a callee does may be found again for each place below it;
//! backwards, whatever a symbol may do is found though nothing ever gets there. So post* goes alone as
//! long as that is cheap, and after that both go in turns. Turns are measured by the work that is
//! done, not by the time that it takes, so the answer is the same each time, and so is its run.

use droste_base::StopReason;

use crate::automaton::Transition;
use crate::domain::Domain;
use crate::post::{Middles, Post};
use crate::pre::Pre;
use crate::query::{Found, Question, Way};
use crate::saturate::{Goal, Options};
use crate::system::SymbolId;
use crate::witness::{of_post, of_pre};

/// What post* may do alone, in weights that are found.
const ALONE: u64 = 1 << 16;
/// A turn of pre*. One of post* is twice as long: it is the one that is done first more often.
const TURN: u64 = 1 << 13;

/// The answer, and who has found it.
pub(crate) fn answer<D: Domain>(
    domain: &D,
    question: &Question<D::Weight>,
    options: &Options,
) -> Result<(Found<D::Weight>, Way), StopReason> {
    let (start, last) = question.first(domain)?;
    let end = Transition::new(question.end, SymbolId::EPSILON, last);
    let (state, symbol) = question.start;
    let begin = Transition::new(state, symbol, question.end);
    let middles = Middles::new(&question.pds, start.states());
    let how = (options, Goal(Some(end)));
    let mut post = Post::new(domain, &question.pds, &start, middles, how)?;
    let mut pre: Option<Pre<'_, D>> = None;
    // Sums may leave their range on one side alone: then the other has the answer.
    let (mut post_stops, mut pre_stops) = (false, false);
    let refused = |stops: &mut bool, other: bool, reason| {
        if reason != StopReason::OutOfRange || other {
            return Err(reason);
        }
        *stops = true;
        Ok(())
    };
    let mut turn = ALONE;
    loop {
        let until = post.table.effort() + turn;
        while !post_stops && post.table.effort() < until {
            match post.go() {
                Ok(true) => {}
                Ok(false) => {
                    let others = pre.as_ref().map_or(0, |pre| pre.table.len());
                    drop(pre);
                    let how = (options, of_post);
                    let (weight, count, run) = question.found(domain, &post.table, end, how)?;
                    return Ok(((weight, count + others, run), Way::Post));
                }
                Err(reason) => refused(&mut post_stops, pre_stops, reason)?,
            }
        }
        turn = 2 * TURN;
        if pre.is_none() && !pre_stops {
            let target = question.last(domain)?;
            let how = (options, Goal(Some(begin)));
            match Pre::new(domain, &question.pds, &target, how) {
                Ok(begun) => pre = Some(begun),
                Err(reason) => refused(&mut pre_stops, post_stops, reason)?,
            }
        }
        let Some(pre) = pre.as_mut() else {
            continue;
        };
        let until = pre.table.effort() + TURN;
        while !pre_stops && pre.table.effort() < until {
            match pre.go() {
                Ok(true) => {}
                Ok(false) => {
                    let others = post.table.len();
                    drop(post);
                    let how = (options, of_pre);
                    let (weight, count, run) = question.found(domain, &pre.table, begin, how)?;
                    return Ok(((weight, count + others, run), Way::Pre));
                }
                Err(reason) => refused(&mut pre_stops, post_stops, reason)?,
            }
        }
    }
}
