//! The run clock in readable form.

/// Seconds of the run clock: `45 s`, `1:30`, `1:00:00`.
pub(crate) fn clock(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    let (hours, minutes, rest) = (whole / 3_600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0) if seconds.fract() > 0.0 => format!("{seconds:.1} s"),
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes}:{rest:02}"),
        _ => format!("{hours}:{minutes:02}:{rest:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_clock_is_read_as_a_clock() {
        let words = [0.0, 0.5, 59.0, 60.0, 3_599.0, 3_661.0].map(clock);
        assert_eq!(words, ["0 s", "0.5 s", "59 s", "1:00", "59:59", "1:01:01"]);
    }
}
