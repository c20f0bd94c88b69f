//! What one second of one worker costs on the wire and in time: encoding and decoding a snapshot.

mod scene;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use measure::{Histogram, Metric, Outcome, PackedHistogram, Snapshot};
use std::hint::black_box;

fn encode(criterion: &mut Criterion) {
    let (snapshot, _) = scene::interval(&scene::opening()).into_snapshot();
    let encoded = snapshot.encode();
    let mut group = criterion.benchmark_group("encode");
    group.throughput(Throughput::Bytes(encoded.len() as u64));
    group.bench_function("snapshot", |bencher| {
        bencher.iter(|| black_box(&snapshot).encode())
    });
    group.bench_function("snapshot decode", |bencher| {
        bencher.iter(|| Snapshot::decode(black_box(&encoded)))
    });

    let mut times = Histogram::default();
    let of_cells = snapshot
        .cells
        .values()
        .filter_map(|cell| cell.times.get(&(Outcome::Ok, Metric::ServiceTime)));
    of_cells.for_each(|distribution| times.merge(&distribution.histogram));
    group.throughput(Throughput::Elements(1));
    group.bench_function("histogram pack", |bencher| {
        bencher.iter(|| PackedHistogram::from(black_box(&times)))
    });
    let packed = PackedHistogram::from(&times);
    group.bench_function("histogram unpack", |bencher| {
        bencher.iter(|| black_box(&packed).unpack())
    });
    group.finish();
}

criterion_group!(benches, encode);
criterion_main!(benches);
