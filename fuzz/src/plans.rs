//! Plans and campaigns: the canonical text of an accepted plan means the same as the plan.

use plan::{
    Campaign, EncodedCall, FieldKind, FieldLabel, Files, MessageEncoder, MessageFault, MessagePart,
    MessageShape, Owner, Plan, ScalarType, Schedule, Settings, ShapeField,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Arrivals that are examined.
const ARRIVALS_MAX: usize = 64;

/// Agents that share the load.
const AGENTS: u32 = 3;

/// A folder in which every file exists, except files named `missing`.
struct AnyFiles;

impl Files for AnyFiles {
    fn read(&mut self, name: &str) -> Result<Arc<[u8]>, String> {
        if name.contains("missing") {
            return Err("no such file".to_owned());
        }
        Ok(name.as_bytes().into())
    }

    fn list(&mut self, folder: &str) -> Result<Vec<String>, String> {
        Ok(vec![format!("{folder}/a"), format!("{folder}/b")])
    }

    fn encoder(&self) -> Option<MessageEncoder> {
        Some(encode)
    }
}

/// A message in which each pointer's first name is a text.
fn texts(pointers: &[&str]) -> MessageShape {
    let names = pointers
        .iter()
        .filter_map(|pointer| pointer.split('/').nth(1));
    let text = || FieldKind::Scalar(ScalarType::String);
    let fields = (1..).zip(names);
    let fields =
        fields.map(|(number, name)| ShapeField::new(number, name, FieldLabel::Implicit, text()));
    MessageShape {
        fields: fields.collect(),
    }
}

fn encode(
    _descriptors: &[u8],
    method: &str,
    json: &str,
    pointers: &[&str],
) -> Result<EncodedCall, MessageFault> {
    if method.contains("missing") {
        return Err(MessageFault::Method("is missing".to_owned()));
    }
    let text = MessagePart::Text(json.to_owned());
    Ok(EncodedCall {
        message: vec![
            MessagePart::Bytes(vec![10]),
            MessagePart::Delimited(vec![text]),
        ],
        is_streamed: method.contains("stream"),
        answer: texts(pointers),
    })
}

/// The text of a plan or of a campaign.
pub fn plan(data: &[u8]) {
    let single = Plan::parse_bytes(data, &mut AnyFiles);
    match Campaign::parse_bytes(data, &mut AnyFiles, Settings::NONE) {
        Err(problems) => {
            assert!(!problems.0.is_empty(), "refused without a problem");
            let _ = problems.to_string();
            assert!(
                single.is_err(),
                "a plan is refused as a campaign: {problems}"
            );
        }
        Ok(campaign) => {
            let runs = campaign.runs();
            assert!(!runs.is_empty() && runs.len() <= Campaign::MAX_RUNS);
            runs.iter().for_each(|&run| {
                let _ = campaign.variant(run);
            });
            // There can be many variants, and they are similar.
            campaign
                .variants()
                .iter()
                .take(4)
                .for_each(|variant| holds(&variant.plan));
        }
    }
}

fn holds(plan: &Plan) {
    let text = plan.canonical_text();
    assert!(text.len() <= Plan::MAX_CANONICAL_BYTES, "{}", text.len());
    let files: BTreeMap<_, Arc<[u8]>> = plan
        .files()
        .into_iter()
        .map(|file| (file.sha256, Arc::clone(&file.content)))
        .collect();
    if plan
        .tls()
        .is_none_or(|tls| tls.client_certificates.number() == 0)
    {
        let again = Plan::parse_canonical(&text, &|sha256| files.get(&sha256).cloned());
        let again = again.unwrap_or_else(|problems| panic!("{problems}\nin {text}"));
        assert_eq!(again.canonical_text(), text, "it changes on its way");
        assert!(again == *plan, "it is another plan: {text}");
    }
    let _ = plan.masked_text();
    let _ = plan.identities(Owner::ALONE);
    if plan.check_fleet(AGENTS).is_ok() {
        (0..AGENTS).for_each(|agent| drop(format!("{:?}", plan.share(agent, AGENTS))));
    }
    for schedule in [
        Schedule::warm_up(plan.load()),
        Schedule::after_warm_up(plan.load()),
    ] {
        schedule.iter().for_each(deals);
    }
}

/// The arrivals of all agents together are those of a single one.
fn deals(schedule: &Schedule) {
    let alone: Vec<_> = schedule.instants(Owner::ALONE).take(ARRIVALS_MAX).collect();
    let of_agent = |agent| Owner {
        agent,
        agents: AGENTS,
        ..Owner::ALONE
    };
    let mut shared: Vec<_> = (0..AGENTS)
        .flat_map(|agent| schedule.instants(of_agent(agent)).take(ARRIVALS_MAX))
        .collect();
    shared.sort_unstable();
    shared.truncate(alone.len());
    assert_eq!(
        shared, alone,
        "the agents fire something else: {schedule:?}"
    );
    let ascends = alone.windows(2).all(|two| two[0].1 <= two[1].1);
    assert!(ascends, "{alone:?}");
}
