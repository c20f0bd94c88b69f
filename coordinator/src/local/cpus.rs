//! Decides which agent gets which CPUs.

/// Deals the first `usable` of `allowed` to `agents`, in groups of neighbours whose sizes differ by
/// one at most. If there are more agents than CPUs, they share.
pub(super) fn deal(allowed: &[u32], usable: usize, agents: u32) -> Vec<Vec<u32>> {
    let cpus = &allowed[..usable.min(allowed.len())];
    let agents = agents as usize;
    let group = |agent: usize| match cpus.len() {
        // Nothing is known of the CPUs, so the kernel decides.
        0 => Vec::new(),
        few if few < agents => vec![cpus[agent % few]],
        // Rounding down both ends gives whole groups: they meet, and differ by one at most.
        many => cpus[many * agent / agents..many * (agent + 1) / agents].to_vec(),
    };
    (0..agents).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::deal;

    #[test]
    fn cpus_are_dealt_without_overlap_where_there_are_enough() {
        assert_eq!(deal(&[0, 1, 2, 3, 8], 5, 2), [vec![0, 1], vec![2, 3, 8]]);
        assert_eq!(
            deal(&[0, 1, 2, 3], 2, 2),
            [vec![0], vec![1]],
            "the quota is below the mask"
        );
        assert_eq!(deal(&[4, 5], 2, 1), [vec![4, 5]]);
    }

    #[test]
    fn more_agents_than_cpus_share_them() {
        assert_eq!(deal(&[4, 5], 2, 3), [vec![4], vec![5], vec![4]]);
        assert_eq!(deal(&[], 1, 2), [Vec::<u32>::new(), Vec::new()]);
    }
}
