//! What measuring costs a worker: per operation, and per second at the cut.

mod scene;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use measure::{Distribution, Operation, Recorder, Snapshot};
use std::hint::black_box;

fn recorder(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("recorder");
    group.throughput(Throughput::Elements(scene::OPERATIONS as u64));
    for (name, operations) in [
        ("ended, connection open", scene::reusing()),
        ("ended, connection opened", scene::opening()),
    ] {
        let mut recorder = scene::recorder();
        group.bench_function(name, |bencher| {
            bencher.iter(|| end_all(&mut recorder, black_box(&operations)))
        });
    }
    let operations = scene::reusing();
    group.bench_function("distribution record", |bencher| {
        let mut distribution = Distribution::default();
        bencher.iter(|| {
            operations
                .iter()
                .for_each(|operation| distribution.record(operation.done_at - operation.begun_at))
        });
    });
    group.finish();
}

fn cut(criterion: &mut Criterion) {
    let operations = scene::reusing();
    criterion.bench_function("recorder/cut", |bencher| {
        bencher.iter_batched(
            || {
                let mut recorder = scene::recorder();
                end_all(&mut recorder, &operations);
                let spare = scene::interval(&operations).merge_into(&mut Snapshot::default());
                (recorder, Some(spare))
            },
            |(mut recorder, spare)| {
                let interval = recorder.cut(scene::SECOND, spare);
                (recorder, interval)
            },
            BatchSize::SmallInput,
        );
    });
}

fn end_all(recorder: &mut Recorder, operations: &[Operation]) {
    for operation in operations {
        recorder.end(operation);
    }
}

criterion_group!(benches, recorder, cut);
criterion_main!(benches);
