//! What the receiving side costs: turning a worker's interval into a snapshot, and merging the
//! snapshots of agents.

mod scene;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use measure::Snapshot;
use std::hint::black_box;

fn merge(criterion: &mut Criterion) {
    let operations = scene::opening();
    let (snapshot, _) = scene::interval(&operations).into_snapshot();
    let mut group = criterion.benchmark_group("merge");
    group.bench_function("interval into snapshot", |bencher| {
        bencher.iter_batched(
            || (scene::interval(&operations), snapshot.clone()),
            |(interval, mut sum)| (interval.merge_into(&mut sum), sum),
            BatchSize::LargeInput,
        );
    });
    group.bench_function("four agents into one", |bencher| {
        bencher.iter(|| {
            let mut sum = Snapshot::default();
            (0..4).for_each(|_| sum.merge(black_box(&snapshot)));
            sum
        });
    });
    group.finish();
}

criterion_group!(benches, merge);
criterion_main!(benches);
