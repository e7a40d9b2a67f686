//! Growth that is a part of growth further up.
//!
//! What a holder retains is retained by all that hold the holder. So one leak grows each class along its chain, and each
//! chain to one of these classes. Subjects come ranked by growth; one whose path leads to or through the path of a subject
//! before it, and that grew no more than that, is a part of the same growth.

/// Subjects that others can be a part of, at most: those that grew most.
const MOST: usize = 200;
/// A part grew this much of the whole at least: what grew less may have grown for itself.
const LEAST: f64 = 0.2;

/// Subjects that grew, with their paths.
#[derive(Debug, Default)]
pub struct Parts {
    whole: Vec<(u64, String, i64)>,
}

impl Parts {
    /// The subject of whose growth this one is a part. Subjects are asked for in the order of their growth.
    pub fn part_of(&mut self, fingerprint: u64, path: &str, delta: Option<i64>) -> Option<u64> {
        let delta = delta?;
        let is_part = |(_, other, grew): &&(u64, String, i64)| {
            let leads = |longer: &str, shorter: &str| {
                longer
                    .strip_prefix(shorter)
                    .is_some_and(|rest| rest.is_empty() || !rest.starts_with(char::is_alphanumeric))
            };
            let apart = delta as f64 <= *grew as f64 * 1.001 + 1024.0 && delta as f64 >= LEAST * *grew as f64;
            apart && (leads(path, other) || leads(other, path))
        };
        let whole = self.whole.iter().find(is_part).map(|(whole, ..)| *whole);
        if whole.is_none() && self.whole.len() < MOST {
            self.whole.push((fingerprint, path.to_owned(), delta));
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::Parts;

    #[test]
    fn links_of_one_chain_are_parts_of_its_growth() {
        let mut parts = Parts::default();
        assert_eq!(parts.part_of(1, "root .cache -> Map", Some(100_000)), None);
        assert_eq!(parts.part_of(2, "root .cache -> Map .table -> Entry", Some(99_000)), Some(1));
        assert_eq!(parts.part_of(3, "root .cache -> Map2", Some(90_000)), None, "another name");
        assert_eq!(parts.part_of(4, "root .cache -> Map .table -> Small", Some(1_000)), None, "too little of it");
        assert_eq!(parts.part_of(5, "root", Some(95_000)), Some(1));
    }
}
