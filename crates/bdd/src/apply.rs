//! The operations, by Shannon expansion on the topmost variable.
//!
//! Recursion is at most as deep as there are variables; [`on_large_stack`](crate::on_large_stack)
//! gives it the room. Simplification with a care set is Coudert and Madre's (ICCAD 1990):
//! `constrain` is the generalised cofactor, `restrict` also drops the care set's variables that
//! the function does not depend on.

use droste_base::StopReason;

use crate::store::{BOTTOM, Edge, FALSE, Operation, Store, TRUE};

type Result<T> = std::result::Result<T, StopReason>;

impl Store {
    pub(crate) fn and(&mut self, f: Edge, g: Edge) -> Result<Edge> {
        if f == g || g == TRUE {
            return Ok(f);
        }
        if f == TRUE {
            return Ok(g);
        }
        if f == FALSE || g == FALSE || f == g.not() {
            return Ok(FALSE);
        }
        let (f, g) = if f < g { (f, g) } else { (g, f) };
        if let Some(result) = self.lookup(Operation::And, f, g, 0) {
            return Ok(result);
        }
        self.tick()?;
        let level = self.level(f).min(self.level(g));
        let (f0, f1) = self.cofactors(f, level);
        let (g0, g1) = self.cofactors(g, level);
        let low = self.and(f0, g0)?;
        let high = self.and(f1, g1)?;
        let result = self.make(level, low, high)?;
        self.remember(Operation::And, f, g, 0, result);
        Ok(result)
    }

    pub(crate) fn or(&mut self, f: Edge, g: Edge) -> Result<Edge> {
        Ok(self.and(f.not(), g.not())?.not())
    }

    pub(crate) fn xor(&mut self, f: Edge, g: Edge) -> Result<Edge> {
        // Negations are carried outside.
        let negate = f.is_complement() != g.is_complement();
        let (f, g) = (f.regular(), g.regular());
        if f == g {
            return Ok(FALSE.not_if(negate));
        }
        if f == TRUE {
            return Ok(g.not().not_if(negate));
        }
        if g == TRUE {
            return Ok(f.not().not_if(negate));
        }
        let (f, g) = if f < g { (f, g) } else { (g, f) };
        if let Some(result) = self.lookup(Operation::Xor, f, g, 0) {
            return Ok(result.not_if(negate));
        }
        self.tick()?;
        let level = self.level(f).min(self.level(g));
        let (f0, f1) = self.cofactors(f, level);
        let (g0, g1) = self.cofactors(g, level);
        let low = self.xor(f0, g0)?;
        let high = self.xor(f1, g1)?;
        let result = self.make(level, low, high)?;
        self.remember(Operation::Xor, f, g, 0, result);
        Ok(result.not_if(negate))
    }

    pub(crate) fn ite(&mut self, f: Edge, g: Edge, h: Edge) -> Result<Edge> {
        if f == TRUE || g == h {
            return Ok(g);
        }
        if f == FALSE {
            return Ok(h);
        }
        if g == TRUE || f == g {
            return self.or(f, h);
        }
        if g == FALSE || f == g.not() {
            return self.and(f.not(), h);
        }
        if h == FALSE || f == h {
            return self.and(f, g);
        }
        if h == TRUE || f == h.not() {
            return self.or(f.not(), g);
        }
        if g == h.not() {
            return self.xor(f, h);
        }
        // The condition and the first branch are made regular.
        let (f, g, h) = if f.is_complement() {
            (f.not(), h, g)
        } else {
            (f, g, h)
        };
        let negate = g.is_complement();
        let (g, h) = (g.not_if(negate), h.not_if(negate));
        if let Some(result) = self.lookup(Operation::Ite, f, g, h.0) {
            return Ok(result.not_if(negate));
        }
        self.tick()?;
        let level = self.level(f).min(self.level(g)).min(self.level(h));
        let (f0, f1) = self.cofactors(f, level);
        let (g0, g1) = self.cofactors(g, level);
        let (h0, h1) = self.cofactors(h, level);
        let low = self.ite(f0, g0, h0)?;
        let high = self.ite(f1, g1, h1)?;
        let result = self.make(level, low, high)?;
        self.remember(Operation::Ite, f, g, h.0, result);
        Ok(result.not_if(negate))
    }

    /// The cube without the variables above `level`.
    fn cube_from(&self, mut cube: Edge, level: u32) -> Edge {
        while self.level(cube) < level {
            cube = self.nodes[cube.node() as usize].high;
        }
        cube
    }

    pub(crate) fn exists(&mut self, f: Edge, cube: Edge) -> Result<Edge> {
        if f.is_constant() {
            return Ok(f);
        }
        let level = self.level(f);
        let cube = self.cube_from(cube, level);
        if cube == TRUE {
            return Ok(f);
        }
        if let Some(result) = self.lookup(Operation::Exists, f, cube, 0) {
            return Ok(result);
        }
        self.tick()?;
        let (f0, f1) = self.cofactors(f, level);
        let result = if self.level(cube) == level {
            let rest = self.nodes[cube.node() as usize].high;
            let low = self.exists(f0, rest)?;
            if low == TRUE {
                TRUE
            } else {
                let high = self.exists(f1, rest)?;
                self.or(low, high)?
            }
        } else {
            let low = self.exists(f0, cube)?;
            let high = self.exists(f1, cube)?;
            self.make(level, low, high)?
        };
        self.remember(Operation::Exists, f, cube, 0, result);
        Ok(result)
    }

    /// Conjunction and quantification in one, so that the conjunction is never built.
    pub(crate) fn and_exists(&mut self, f: Edge, g: Edge, cube: Edge) -> Result<Edge> {
        if f == FALSE || g == FALSE || f == g.not() {
            return Ok(FALSE);
        }
        if f == g || g == TRUE {
            return self.exists(f, cube);
        }
        if f == TRUE {
            return self.exists(g, cube);
        }
        let (f, g) = if f < g { (f, g) } else { (g, f) };
        let level = self.level(f).min(self.level(g));
        let cube = self.cube_from(cube, level);
        if cube == TRUE {
            return self.and(f, g);
        }
        if let Some(result) = self.lookup(Operation::AndExists, f, g, cube.0) {
            return Ok(result);
        }
        self.tick()?;
        let (f0, f1) = self.cofactors(f, level);
        let (g0, g1) = self.cofactors(g, level);
        let result = if self.level(cube) == level {
            let rest = self.nodes[cube.node() as usize].high;
            let low = self.and_exists(f0, g0, rest)?;
            // If one half already says yes wherever the other could, that is the answer.
            if low == TRUE || low == f1 || low == g1 {
                low
            } else {
                let high = self.and_exists(f1, g1, rest)?;
                self.or(low, high)?
            }
        } else {
            let low = self.and_exists(f0, g0, cube)?;
            let high = self.and_exists(f1, g1, cube)?;
            self.make(level, low, high)?
        };
        self.remember(Operation::AndExists, f, g, cube.0, result);
        Ok(result)
    }

    /// Whether `f` implies `g` everywhere.
    pub(crate) fn implies(&mut self, f: Edge, g: Edge) -> Result<bool> {
        if f == g || f == FALSE || g == TRUE {
            return Ok(true);
        }
        if f == TRUE || g == FALSE || f == g.not() {
            return Ok(false);
        }
        if let Some(result) = self.lookup(Operation::Implies, f, g, 0) {
            return Ok(result == TRUE);
        }
        self.tick()?;
        let level = self.level(f).min(self.level(g));
        let (f0, f1) = self.cofactors(f, level);
        let (g0, g1) = self.cofactors(g, level);
        let result = self.implies(f0, g0)? && self.implies(f1, g1)?;
        self.remember(Operation::Implies, f, g, 0, FALSE.not_if(result));
        Ok(result)
    }

    pub(crate) fn constrain(&mut self, f: Edge, care: Edge) -> Result<Edge> {
        if let Some(result) = settled(f, care) {
            return Ok(result);
        }
        let negate = f.is_complement();
        let f = f.regular();
        if let Some(result) = self.lookup(Operation::Constrain, f, care, 0) {
            return Ok(result.not_if(negate));
        }
        self.tick()?;
        let level = self.level(f).min(self.level(care));
        let (f0, f1) = self.cofactors(f, level);
        let (c0, c1) = self.cofactors(care, level);
        let result = if c0 == FALSE {
            self.constrain(f1, c1)?
        } else if c1 == FALSE {
            self.constrain(f0, c0)?
        } else {
            let low = self.constrain(f0, c0)?;
            let high = self.constrain(f1, c1)?;
            self.make(level, low, high)?
        };
        self.remember(Operation::Constrain, f, care, 0, result);
        Ok(result.not_if(negate))
    }

    pub(crate) fn restrict(&mut self, f: Edge, care: Edge) -> Result<Edge> {
        if let Some(result) = settled(f, care) {
            return Ok(result);
        }
        let negate = f.is_complement();
        let f = f.regular();
        if let Some(result) = self.lookup(Operation::Restrict, f, care, 0) {
            return Ok(result.not_if(negate));
        }
        self.tick()?;
        let (top, top_care) = (self.level(f), self.level(care));
        let result = if top_care < top {
            let (c0, c1) = self.cofactors(care, top_care);
            let either = self.or(c0, c1)?;
            self.restrict(f, either)?
        } else {
            let (f0, f1) = self.cofactors(f, top);
            let (c0, c1) = self.cofactors(care, top);
            if c0 == FALSE {
                self.restrict(f1, c1)?
            } else if c1 == FALSE {
                self.restrict(f0, c0)?
            } else {
                let low = self.restrict(f0, c0)?;
                let high = self.restrict(f1, c1)?;
                self.make(top, low, high)?
            }
        };
        self.remember(Operation::Restrict, f, care, 0, result);
        Ok(result.not_if(negate))
    }

    /// Simultaneous renaming; `to[level]` is the level of the variable that takes its place.
    /// `below` is the lowest level that is renamed: nothing changes beneath it.
    pub(crate) fn rename(&mut self, f: Edge, id: u32, to: &[u32], below: u32) -> Result<Edge> {
        let level = self.level(f);
        if level == BOTTOM || level > below {
            return Ok(f);
        }
        let negate = f.is_complement();
        let f = f.regular();
        if let Some(result) = self.lookup(Operation::Rename, f, TRUE, id) {
            return Ok(result.not_if(negate));
        }
        self.tick()?;
        let (f0, f1) = self.cofactors(f, level);
        let low = self.rename(f0, id, to, below)?;
        let high = self.rename(f1, id, to, below)?;
        let target = to[level as usize];
        let result = if target < self.level(low).min(self.level(high)) {
            self.make(target, low, high)?
        } else {
            let variable = self.make(target, FALSE, TRUE)?;
            self.ite(variable, high, low)?
        };
        self.remember(Operation::Rename, f, TRUE, id, result);
        Ok(result.not_if(negate))
    }
}

/// A function within a care set, where that needs no look at either.
#[inline]
fn settled(f: Edge, care: Edge) -> Option<Edge> {
    if care == TRUE || f.is_constant() {
        Some(f)
    } else if f == care {
        Some(TRUE)
    } else if f == care.not() {
        Some(FALSE)
    } else {
        None
    }
}
