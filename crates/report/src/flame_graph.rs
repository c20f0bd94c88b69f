//! A CPU profile as a flame graph that a browser can show and search.

use inferno::flamegraph::{Options, from_lines};
use std::io;

/// Draws a flame graph as SVG from stacks in the format of `flamegraph.pl`. The same stacks give
/// the same picture.
///
/// # Errors
/// There are no stacks.
pub fn flame_graph(title: &str, folded: &str) -> io::Result<String> {
    let mut options = Options::default();
    options.title = title.to_owned();
    options.count_name = "samples".to_owned();
    options.deterministic = true;
    let mut svg = Vec::new();
    from_lines(&mut options, folded.lines(), &mut svg)?;
    String::from_utf8(svg).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::flame_graph;

    #[test]
    fn picture_shows_title_and_functions_and_is_the_same_each_time() {
        let folded = "nginx;main;mul 7\nnginx;main 3\n";
        let svg = flame_graph("nginx, 10 samples", folded).unwrap();
        for shown in ["nginx, 10 samples", "mul (7 samples, 70.00%)"] {
            assert!(svg.contains(shown), "{svg}");
        }
        assert_eq!(flame_graph("nginx, 10 samples", folded).unwrap(), svg);
        assert!(flame_graph("", "").is_err());
    }

    #[test]
    fn hostile_names_stay_text() {
        let name = "]]></text></svg><script>alert(1)</script>\"'&";
        let svg = flame_graph(name, &format!("{name};a{name} 7\n")).unwrap();
        assert!(!svg.contains("alert(1)</script>"), "{svg}");
        assert!(!svg.contains("<script>alert"), "{svg}");
        assert!(svg.contains("&lt;script&gt;alert(1)"), "{svg}");
    }
}
