//! A list in pieces, one for each thread that has made a part of it.
//!
//! What several threads have found is put together without moving it. Usually there is one piece.

use std::ops::{Index, IndexMut};

#[derive(Clone, Debug)]
pub(super) struct Pieces<T>(Vec<Vec<T>>);

impl<T> Pieces<T> {
    pub(super) fn new(pieces: Vec<Vec<T>>) -> Self {
        Pieces(pieces)
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    pub(super) fn push(&mut self, item: T) {
        match self.0.last_mut() {
            Some(piece) => piece.push(item),
            None => self.0.push(vec![item]),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().flatten()
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = &Vec<T>> {
        self.0.iter()
    }

    pub(super) fn pieces_mut(&mut self) -> impl Iterator<Item = &mut Vec<T>> {
        self.0.iter_mut()
    }

    /// Other items in the same pieces.
    pub(super) fn map<U, E>(&self, item: impl Fn(&T) -> Result<U, E>) -> Result<Pieces<U>, E> {
        let pieces = self.0.iter().map(|piece| piece.iter().map(&item).collect());
        Ok(Pieces(pieces.collect::<Result<_, E>>()?))
    }

    /// Whether the pieces are as long as those of another list.
    pub(super) fn has_pieces_of<U>(&self, other: &Pieces<U>) -> bool {
        (self.0.iter().map(Vec::len)).eq(other.0.iter().map(Vec::len))
    }

    /// The piece of an item, and its place there.
    #[inline]
    fn place(&self, mut at: usize) -> (usize, usize) {
        let mut piece = 0;
        while at >= self.0[piece].len() {
            at -= self.0[piece].len();
            piece += 1;
        }
        (piece, at)
    }
}

impl<T> Index<usize> for Pieces<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: usize) -> &T {
        let (piece, at) = self.place(at);
        &self.0[piece][at]
    }
}

impl<T> IndexMut<usize> for Pieces<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        let (piece, at) = self.place(at);
        &mut self.0[piece][at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_through_all_pieces() {
        let mut list = Pieces::new(vec![vec![0, 1], Vec::new(), vec![2], Vec::new()]);
        list.push(3);
        assert_eq!(list.len(), 4);
        for place in 0..4 {
            assert_eq!(list[place], place);
        }
        let Ok(plain) = list.map(|_| Ok::<_, std::convert::Infallible>(true));
        assert!(plain.has_pieces_of(&list));
        assert_eq!(plain.len(), 4);
        list[2] = 5;
        assert!(list.iter().copied().eq([0, 1, 5, 3]));
        let mut none = Pieces::new(Vec::new());
        assert!(none.is_empty());
        none.push(7);
        assert_eq!(none[0], 7);
    }
}
