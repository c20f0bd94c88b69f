//! A stack that holds each number at most once.

/// Numbers of slots or seats, the most recently pushed first.
#[derive(Debug, Default)]
pub(crate) struct UniqueStack {
    numbers: Vec<u32>,
    /// Indexed by number: whether it is in the stack.
    stands: Vec<bool>,
}

impl UniqueStack {
    /// Pushes `number`; if it is in the stack already, it keeps its place.
    #[inline]
    pub(crate) fn push(&mut self, number: u32) {
        let index = number as usize;
        if index >= self.stands.len() {
            self.stands.resize(index + 1, false);
        }
        if !std::mem::replace(&mut self.stands[index], true) {
            self.numbers.push(number);
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let number = self.numbers.pop()?;
        self.stands[number as usize] = false;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::UniqueStack;

    #[test]
    fn number_stands_once_and_may_come_back() {
        let mut stack = UniqueStack::default();
        [3, 1, 3].into_iter().for_each(|number| stack.push(number));
        assert_eq!(stack.pop(), Some(1));
        assert_eq!(stack.pop(), Some(3));
        assert_eq!(stack.pop(), None);
        stack.push(3);
        assert_eq!(stack.pop(), Some(3));
    }
}
