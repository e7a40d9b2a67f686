//! Natural order of release names.

use std::cmp::Ordering;

/// Compares names, with digits as numbers: `7.9` is before `7.10`, and `7.2-rc1` before `7.2`.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        match (left.is_empty(), right.is_empty()) {
            // Equal up to leading zeros.
            (true, true) => return a.cmp(b),
            (true, false) => return if right.starts_with('-') { Ordering::Greater } else { Ordering::Less },
            (false, true) => return if left.starts_with('-') { Ordering::Less } else { Ordering::Greater },
            (false, false) => {}
        }
        let (first, rest_left) = part(left);
        let (second, rest_right) = part(right);
        let order = match (number(first), number(second)) {
            (Some(first), Some(second)) => (first.len(), first).cmp(&(second.len(), second)),
            // A dash sorts before anything, even before the end.
            _ => (first != "-", first).cmp(&(second != "-", second)),
        };
        if order != Ordering::Equal {
            return order;
        }
        (left, right) = (rest_left, rest_right);
    }
}

/// Splits off the first number or character.
fn part(text: &str) -> (&str, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let first = text.chars().next().map_or(0, char::len_utf8);
    text.split_at(if digits > 0 { digits } else { first })
}

/// Digits of a number without leading zeros.
fn number(part: &str) -> Option<&str> {
    part.starts_with(|first: char| first.is_ascii_digit()).then(|| part.trim_start_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::compare;
    use proptest::prelude::*;

    #[test]
    fn numbers_count_as_numbers() {
        let mut releases = ["7.10", "v2", "7.2", "7.2.1", "7.9", "", "7.2-rc10", "7.2-rc9", "v10", "7.02", "äh"];
        releases.sort_by(|a, b| compare(a, b));
        assert_eq!(releases, ["", "7.2-rc9", "7.2-rc10", "7.02", "7.2", "7.2.1", "7.9", "7.10", "v2", "v10", "äh"]);
    }

    proptest! {
        #[test]
        fn it_is_an_order(a in "[0-2a.+-]{0,6}", b in "[0-2a.+-]{0,6}", c in "[0-2a.+-]{0,6}") {
            prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
            prop_assert_eq!(compare(&a, &b).is_eq(), a == b);
            prop_assert!(!(compare(&a, &b).is_lt() && compare(&b, &c).is_lt()) || compare(&a, &c).is_lt());
        }
    }
}
