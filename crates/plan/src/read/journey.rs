//! Reads `[[journey]]`: requests that one visitor makes one after the other.

use crate::journey::{MAX_STEPS, step_names};
use crate::read::field::Field;
use crate::read::message_number;
use crate::read::node::NodeValue;
use crate::read::request::{RequestContext, check_names, fit_name};
use crate::read::section::PlanSection;
use crate::read::shared_connections;
use crate::{
    Journey, JourneyConnection, JourneyCookies, JourneyPart, JourneyWay, Pause, Piece, Request,
    RequestsPerConnection, StepTurns, WorkUnit, duration,
};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

const MAX_JOURNEYS: usize = 1000;
/// The engine distributes journeys with a table that has an entry per unit of weight.
const WEIGHT: RangeInclusive<u32> = 1..=10_000;
const TIMES: RangeInclusive<u32> = 1..=1_000_000;
/// Each level takes a few bytes of every journey under way.
const MAX_DEPTH: usize = 8;
/// Steps, pauses and the rest of one journey, as they stand in the plan.
const MAX_PARTS: usize = 10_000;
/// A worker keeps two histograms for each.
const MAX_GROUPS: usize = 100;
const PAUSE: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(3600);
/// The longest pause of an exponential distribution, if the plan does not say: it is drawn as the
/// bound once in 22,000 times.
const DEFAULT_MOST: u32 = 10;

const EXAMPLES: &str = "the name of a request, or a table such as { pause = \"2s\" }, { repeat = \
                        3, steps = […] }, { pick = [{ weight = 3, steps = […] }, …] }, { if = \
                        \"token\", steps = […] }, { group = \"buy\", steps = […] } or { request = \
                        \"login\", once = \"user\" }";

/// Paths of `[[journey]]`, without indices.
pub(crate) const KEYS: &[&str] = &[
    "journey.name",
    "journey.weight",
    "journey.connection",
    "journey.cookies",
    "journey.steps",
    "journey.steps.request",
    "journey.steps.once",
    "journey.steps.pause",
    "journey.steps.repeat",
    "journey.steps.group",
    "journey.steps.pick",
    "journey.steps.if",
    "journey.steps.unless",
];

/// What the load of the plan is made of, whether its journeys can be read or not.
pub(crate) fn unit(root: &PlanSection<'_>) -> WorkUnit {
    if root.has("journey") {
        WorkUnit::Journey
    } else {
        WorkUnit::Request
    }
}

/// Reads all journeys; `None` if any are wrong and were reported. `requests` is `None` if one of
/// those is wrong.
pub(crate) fn read(
    root: &PlanSection<'_>,
    requests: Option<&mut [Request]>,
    rest: RequestContext<'_>,
) -> Option<Vec<Journey>> {
    let Some(field) = root.field("journey") else {
        refuse_captures(root, requests.as_deref().unwrap_or_default());
        return Some(Vec::new());
    };
    refuse_company(&field, rest);
    let fields = match field.node.value {
        NodeValue::List(_) => field.list("[[journey]]")?,
        _ => vec![field.clone()],
    };
    if !(1..=MAX_JOURNEYS).contains(&fields.len()) {
        field.problem(format_args!(
            "has {} entries; write between 1 and {MAX_JOURNEYS}",
            fields.len()
        ));
        return None;
    }
    let requests = requests?;
    let of_field = |field: &Field<'_>| one(field.section()?, &*requests, fields.len() == 1);
    // All of them are read before the first wrong one ends it, so that every problem is reported.
    let journeys: Vec<Option<Journey>> = fields.iter().map(of_field).collect();
    let journeys: Vec<Journey> = journeys.into_iter().collect::<Option<_>>()?;
    let names = journeys.iter().map(|journey| journey.name.as_str());
    check_names(&fields, ("journey", &names.collect::<Vec<_>>()));
    check_weights(root, requests);
    check_uses(root, requests, &journeys);
    shared_connections::check(root, &journeys, rest.http.streams());
    keep_cookies(requests, &journeys);
    message_number::mark_captures(requests);
    Some(journeys)
}

/// Marks the requests of journeys that keep cookies.
fn keep_cookies(requests: &mut [Request], journeys: &[Journey]) {
    let keeping = journeys.iter();
    let keeping = keeping.filter(|journey| journey.cookies != JourneyCookies::Ignored);
    for &request in keeping.flat_map(Journey::steps) {
        if let Some(request) = requests.get_mut(usize::from(request)) {
            request.keeps_cookies = true;
        }
    }
}

/// Captured texts have a use in journeys only.
fn refuse_captures(root: &PlanSection<'_>, requests: &[Request]) {
    let captures = requests.iter().any(|request| !request.captures.is_empty());
    if captures {
        root.problem_at(
            "request",
            "captures texts for later requests of a journey, and the plan has none; write a \
             [[journey]] with steps = [\"NAME\", …], or remove capture",
        );
    }
}

/// Reports what journeys cannot go together with.
fn refuse_company(field: &Field<'_>, rest: RequestContext<'_>) {
    if rest.replay.is_some() {
        field.problem("sends requests in an order, and [replay] has that of its log; remove one");
    } else if rest.per_connection == RequestsPerConnection::HandshakeOnly {
        field.problem("sends requests, and connection.requests = 0 sends none; remove one of them");
    }
}

fn one(section: PlanSection<'_>, requests: &[Request], is_only: bool) -> Option<Journey> {
    let name = section.read("name", |field| {
        let text = field.text("a name such as \"buyer\"")?;
        fit_name(&field, text)
    });
    if !section.has("name") && !is_only {
        section.problem("has no name; write one such as name = \"buyer\"");
    }
    let weight = section.read("weight", |field| field.whole32(WEIGHT));
    section.field("load"); // read with those of other journeys
    let connection = section.read("connection", |field| field.choice());
    let cookies = section.read("cookies", cookies);
    let mut reader = StepsReader {
        requests,
        steps: Vec::new(),
        groups: Vec::new(),
        parts: 0,
    };
    let course = section.read("steps", |field| reader.parts(&field, 0));
    if !section.has("steps") {
        section.problem("has no steps; write steps = [\"NAME\", …] with names of requests");
    }
    let (steps, groups) = (reader.steps, reader.groups);
    let mut journey = course.map(|course| Journey {
        name: name.unwrap_or_else(|| "journey".to_owned()),
        weight: weight.unwrap_or(1),
        connection: connection.unwrap_or(JourneyConnection::Kept),
        cookies: cookies.unwrap_or(JourneyCookies::OfJourney),
        step_names: step_names(&steps, requests),
        steps,
        groups,
        course,
    });
    if let Some(journey) = &mut journey {
        if cookies.is_none() && journey.has_steps_made_once() {
            journey.cookies = JourneyCookies::OfUser;
        }
        check_course(&section, journey, requests);
        note_forgotten_cookies(&section, journey);
    }
    section.finish();
    journey
}

fn cookies(field: Field<'_>) -> Option<JourneyCookies> {
    const WORDS: &str = "true, false or \"user\"";
    match field.silent_flag() {
        Some(true) => return Some(JourneyCookies::OfJourney),
        Some(false) => return Some(JourneyCookies::Ignored),
        None => {}
    }
    if !matches!(field.node.value, NodeValue::Text(_)) {
        field.wrong_type("true, false or a word", WORDS);
        return None;
    }
    is_user_word(&field, WORDS).then_some(JourneyCookies::OfUser)
}

/// Whether the field is the word for users; otherwise it is reported, with `words` to write.
fn is_user_word(field: &Field<'_>, words: &str) -> bool {
    let word = field.text(words);
    if word.is_some_and(|word| word != JourneyCookies::USER_WORD) {
        field.refuse(format_args!("is not known here; write {words}"));
    }
    word == Some(JourneyCookies::USER_WORD)
}

/// A user who is logged in by a cookie is logged in no more once that is forgotten.
fn note_forgotten_cookies(section: &PlanSection<'_>, journey: &Journey) {
    if journey.has_steps_made_once() && journey.cookies == JourneyCookies::OfJourney {
        section.context.note(format!(
            "journey.cookies = true forgets cookies at the end of each {:?}, also those that a \
             step with once = \"user\" was given; write cookies = \"user\" to keep them",
            journey.name
        ));
    }
}

fn check_course(section: &PlanSection<'_>, journey: &Journey, requests: &[Request]) {
    if !journey.begins_with_step() {
        section.problem_at(
            "steps",
            "does not begin with a request, and a journey begins when one is sent; write the name \
             of a request first",
        );
    }
    if journey.has_steps_made_once() && journey.fewest_steps() == 0 {
        section.problem_at(
            "steps",
            "can have no request left once the user has made those with once = \"user\"; add the \
             name of a request that every journey sends",
        );
    }
    if journey.is_too_long() {
        section.problem_at(
            "steps",
            format_args!("can have more than {MAX_STEPS} requests and pauses; repeat fewer times"),
        );
    }
    if section.context.has_problems() {
        return; // what is captured may be what is wrong
    }
    let mut known = BTreeSet::new();
    if let Some((request, missing)) = find_uncaptured(&journey.course, requests, &mut known) {
        section.problem_at(
            "steps",
            format_args!(
                "sends {request:?}, which has {{{missing}}}, before a request that captures \
                 {missing}; send that first"
            ),
        );
    }
}

/// The first request with a captured text that no request before it can have captured, and the
/// text. `known` has those that were captured before, on any way.
fn find_uncaptured<'p>(
    parts: &'p [JourneyPart],
    requests: &'p [Request],
    known: &mut BTreeSet<&'p str>,
) -> Option<(&'p str, &'p str)> {
    for part in parts {
        let found = match part {
            JourneyPart::Pause(_) => None,
            JourneyPart::Step { request, .. } => {
                let request = requests.get(usize::from(*request))?;
                let missing = capture_in(request).find(|name| !known.contains(name));
                known.extend(request.captures.iter().map(|capture| &*capture.name));
                missing.map(|missing| (request.name.as_str(), missing))
            }
            JourneyPart::Repeat { parts, .. }
            | JourneyPart::Group { parts, .. }
            | JourneyPart::When { parts, .. } => find_uncaptured(parts, requests, known),
            JourneyPart::Pick(ways) => {
                let before = known.clone();
                ways.iter().find_map(|way| {
                    let mut own = before.clone();
                    let found = find_uncaptured(&way.parts, requests, &mut own);
                    known.extend(own);
                    found
                })
            }
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Names of the captured texts that a request has.
fn capture_in(request: &Request) -> impl Iterator<Item = &str> {
    request.all_pieces().filter_map(|piece| match piece {
        Piece::Captured(captured) => Some(&*captured.name),
        _ => None,
    })
}

/// Requests are sent as journeys say, not by weight. Canonical text has a weight for each.
fn check_weights(root: &PlanSection<'_>, requests: &[Request]) {
    if let Some(request) = requests.iter().find(|request| request.weight != 1) {
        root.problem_at(
            "request",
            format_args!(
                "has a weight for {:?}, and journeys say what is sent how often; remove it, and \
                 give journeys weights",
                request.name
            ),
        );
    }
}

fn check_uses(root: &PlanSection<'_>, requests: &[Request], journeys: &[Journey]) {
    let used: BTreeSet<u16> = journeys
        .iter()
        .flat_map(|journey| journey.steps())
        .copied()
        .collect();
    let unused = (0..).zip(requests).find(|(place, _)| !used.contains(place));
    if let Some((_, request)) = unused {
        root.problem_at(
            "request",
            format_args!(
                "has {:?}, which is a step of no journey; add it to steps, or remove it",
                request.name
            ),
        );
    }
}

/// Reads the steps of one journey.
struct StepsReader<'r> {
    requests: &'r [Request],
    /// The requests of the steps so far.
    steps: Vec<u16>,
    /// The names of the groups so far.
    groups: Vec<String>,
    parts: usize,
}

impl StepsReader<'_> {
    fn parts(&mut self, field: &Field<'_>, depth: usize) -> Option<Vec<JourneyPart>> {
        if depth > MAX_DEPTH {
            field.problem(format_args!(
                "is nested more than {MAX_DEPTH} deep; write less"
            ));
            return None;
        }
        let fields = field.list("a list such as [\"login\", { pause = \"2s\" }, \"order\"]")?;
        self.parts += fields.len();
        if self.parts > MAX_PARTS {
            field.problem(format_args!(
                "has more than {MAX_PARTS} entries; write fewer"
            ));
            return None;
        }
        let parts: Vec<Option<JourneyPart>> =
            fields.iter().map(|field| self.part(field, depth)).collect();
        parts.into_iter().collect()
    }

    fn part(&mut self, field: &Field<'_>, depth: usize) -> Option<JourneyPart> {
        match field.node.value {
            NodeValue::Table(_) => {}
            NodeValue::Text(_) => return self.step(field, StepTurns::Each),
            _ => {
                field.wrong_type("a step", EXAMPLES);
                return None;
            }
        }
        let section = field.section()?;
        let kinds = [
            "request", "pause", "repeat", "group", "pick", "if", "unless",
        ];
        let given = section.given(&kinds);
        let part = match given.as_slice() {
            ["request"] => self.step_table(&section),
            ["pause"] => section.read("pause", pause).map(JourneyPart::Pause),
            ["repeat"] => {
                let times = section.read("repeat", |field| field.whole32(TIMES));
                let parts = self.inner(&section, depth);
                times
                    .zip(parts)
                    .map(|(times, parts)| JourneyPart::Repeat { times, parts })
            }
            ["group"] => self.group(&section, depth),
            ["pick"] => section.read("pick", |field| self.ways(&field, depth)),
            ["if"] => self.when(&section, "if", depth),
            ["unless"] => self.when(&section, "unless", depth),
            [] if section.field("once").is_some() => {
                section.problem(
                    "does not say what is made once; write { request = \"login\", once = \
                     \"user\" }",
                );
                return None;
            }
            [] => {
                section.problem(format_args!("is no step; write {EXAMPLES}"));
                return None;
            }
            several => {
                section.problem(format_args!(
                    "has {}; put one within the steps of the other",
                    several.join(" and ")
                ));
                return None;
            }
        };
        section.finish();
        part
    }

    /// A step that says more than the name of its request.
    fn step_table(&mut self, section: &PlanSection<'_>) -> Option<JourneyPart> {
        let once = section.read("once", |field| {
            is_user_word(&field, "\"user\", or leave it out").then_some(())
        });
        let turns = match once {
            Some(()) => StepTurns::OncePerUser,
            None => StepTurns::Each,
        };
        section.read("request", |field| self.step(&field, turns))
    }

    fn step(&mut self, field: &Field<'_>, turns: StepTurns) -> Option<JourneyPart> {
        let name = field.text("the name of a request")?;
        let mut requests = self.requests.iter();
        let Some(request) = requests.position(|request| request.name == name) else {
            let names = self.requests.iter().take(10);
            let names: Vec<&str> = names.map(|request| request.name.as_str()).collect();
            if duration::parse(name).is_ok() {
                field.refuse(format_args!(
                    "is no request but a duration; write {{ pause = {name:?} }}"
                ));
                return None;
            }
            field.refuse(format_args!(
                "is the name of no request; there are {}",
                names.join(", ")
            ));
            return None;
        };
        let number = u16::try_from(self.steps.len()).ok()?; // there are fewer parts
        let request = u16::try_from(request).ok()?;
        self.steps.push(request);
        Some(JourneyPart::Step {
            number,
            request,
            turns,
        })
    }

    /// The steps within a step.
    fn inner(&mut self, section: &PlanSection<'_>, depth: usize) -> Option<Vec<JourneyPart>> {
        if !section.has("steps") {
            section.problem("has no steps; write steps = [\"NAME\", …]");
        }
        let parts = section.read("steps", |field| {
            let parts = self.parts(&field, depth + 1);
            if parts.as_ref().is_some_and(Vec::is_empty) {
                field.problem("has nothing to do; write at least one step");
            }
            parts
        });
        parts.filter(|parts| !parts.is_empty())
    }

    fn group(&mut self, section: &PlanSection<'_>, depth: usize) -> Option<JourneyPart> {
        let number = self.groups.len();
        let name = section.read("group", |field| {
            let name = field.text("a name such as \"checkout\"")?;
            if self.groups.iter().any(|other| other == name) {
                field.refuse("is the name of another group of this journey; write one of its own");
            }
            if number == MAX_GROUPS {
                field.problem(format_args!(
                    "is one more than {MAX_GROUPS} groups; write fewer"
                ));
            }
            fit_name(&field, name)
        });
        self.groups.push(name.clone().unwrap_or_default());
        let parts = self.inner(section, depth);
        name.zip(parts).map(|(_, parts)| JourneyPart::Group {
            number: number as u16, // a plan with more is refused
            parts,
        })
    }

    fn when(
        &mut self,
        section: &PlanSection<'_>,
        key: &'static str,
        depth: usize,
    ) -> Option<JourneyPart> {
        let captured = section.read(key, |field| {
            let name = field.text("the name of a captured text, such as \"token\"")?;
            let captured = field.context.names().capture(name);
            if captured.is_none() {
                field.refuse(
                    "is captured by no request; write capture = { NAME = { json = \"/id\" } } in \
                     a [[request]]",
                );
            }
            captured
        });
        let parts = self.inner(section, depth);
        Some(JourneyPart::When {
            captured: captured?,
            is_there: key == "if",
            parts: parts?,
        })
    }

    fn ways(&mut self, field: &Field<'_>, depth: usize) -> Option<JourneyPart> {
        let fields = field.list("a list such as [{ weight = 3, steps = [\"order\"] }, …]")?;
        self.parts += fields.len();
        if fields.len() < 2 {
            field.problem("picks one of several ways; write at least two");
            return None;
        }
        let ways: Vec<Option<JourneyWay>> =
            fields.iter().map(|field| self.way(field, depth)).collect();
        let ways: Option<Vec<JourneyWay>> = ways.into_iter().collect();
        ways.map(JourneyPart::Pick)
    }

    fn way(&mut self, field: &Field<'_>, depth: usize) -> Option<JourneyWay> {
        if !matches!(field.node.value, NodeValue::Table(_)) {
            field.wrong_type("one of several ways", "{ weight = 3, steps = [\"order\"] }");
            return None;
        }
        let section = field.section()?;
        let weight = section.read("weight", |field| field.whole32(WEIGHT));
        if !section.has("steps") {
            section.problem("has no steps; write steps = [] to do nothing this way");
        }
        let parts = section.read("steps", |field| self.parts(&field, depth + 1));
        section.finish();
        Some(JourneyWay {
            weight: weight.unwrap_or(1),
            parts: parts?,
        })
    }
}

fn pause(field: Field<'_>) -> Option<Pause> {
    let NodeValue::Table(_) = field.node.value else {
        let pause = field.duration(PAUSE)?;
        return Some(Pause::Uniform {
            min: pause,
            max: pause,
        });
    };
    let section = field.section()?;
    let time = |key| section.read(key, |field| field.duration(PAUSE));
    let (min, max, mean, most) = (time("min"), time("max"), time("mean"), time("most"));
    let pause = if section.has("mean") && !section.has("min") && !section.has("max") {
        let most = most.or_else(|| {
            let most = mean?.saturating_mul(DEFAULT_MOST);
            (!section.has("most")).then_some(most.min(*PAUSE.end()))
        });
        mean.zip(most)
            .map(|(mean, most)| Pause::Exponential { mean, most })
    } else if section.has("min") && section.has("max") && !section.has("mean") {
        if section.has("most") {
            section.problem_at("most", "belongs to mean; remove it");
        }
        if min > max {
            section.problem_at("min", "is above max; exchange the two");
        }
        min.zip(max).map(|(min, max)| Pause::Uniform { min, max })
    } else {
        section.problem(
            "is neither uniform nor exponential; write { min = \"1s\", max = \"3s\" } or { mean = \
             \"2s\", most = \"10s\" }",
        );
        None
    };
    section.finish();
    pause
}
