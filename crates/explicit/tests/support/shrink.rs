//! Makes a failing machine smaller, greedily: as long as some part can be left out and it still
//! fails, leave it out.

use droste_testkit::rsm::{Move, Rsm};

/// The smallest machine found that still `fails`.
pub(crate) fn shrink(mut rsm: Rsm, fails: impl Fn(&Rsm) -> bool) -> Rsm {
    loop {
        let smaller = candidates(&rsm)
            .into_iter()
            .find(|candidate| fails(candidate));
        match smaller {
            Some(smaller) => rsm = smaller,
            None => return rsm,
        }
    }
}

fn candidates(rsm: &Rsm) -> Vec<Rsm> {
    let mut out = Vec::new();
    let mut with = |change: &dyn Fn(&mut Rsm)| {
        let mut copy = rsm.clone();
        change(&mut copy);
        if copy != *rsm {
            out.push(copy);
        }
    };
    for i in 0..rsm.initial.len() {
        if rsm.initial.len() > 1 {
            with(&|r| _ = r.initial.remove(i));
        }
    }
    for n in 0..rsm.nodes.len() {
        // States that split into one part first: they are skipped altogether.
        if let [only] = rsm.nodes[n].parts[..] {
            with(&|r| redirect(r, n as u8, only));
        }
        if let [Move::Internal(only)] = rsm.nodes[n].moves[..] {
            with(&|r| redirect(r, n as u8, only));
        }
        with(&|r| r.nodes[n].moves.clear());
        for i in 0..rsm.nodes[n].moves.len() {
            with(&|r| _ = r.nodes[n].moves.remove(i));
        }
        for i in 0..rsm.nodes[n].parts.len() {
            with(&|r| _ = r.nodes[n].parts.remove(i));
        }
        for bit in 0..4 {
            with(&|r| r.nodes[n].props &= !(1 << bit));
        }
    }
    for (key, to) in &rsm.resume {
        with(&|r| _ = r.resume.remove(key));
        for i in 0..to.len() {
            with(&|r| {
                r.resume.get_mut(key).map(|to| to.remove(i));
            });
        }
    }
    for key in rsm.terminated.keys() {
        with(&|r| _ = r.terminated.remove(key));
    }
    out
}

/// Every edge into `from` goes to `to` instead.
fn redirect(rsm: &mut Rsm, from: u8, to: u8) {
    let fix = |state: &mut u8| {
        if *state == from {
            *state = to;
        }
    };
    rsm.initial.iter_mut().for_each(fix);
    for node in &mut rsm.nodes {
        node.parts.iter_mut().for_each(fix);
        for each in &mut node.moves {
            match each {
                Move::Internal(state) | Move::Call(_, state) => fix(state),
                Move::Exit(_) => {}
            }
        }
    }
    rsm.resume.values_mut().flatten().for_each(fix);
    rsm.terminated.values_mut().for_each(fix);
}
