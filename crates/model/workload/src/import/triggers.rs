use super::script::{Begin, Script, TriggerKind};
use crate::error::MatrixFault;

/// A fault and its line.
type Placed = (u64, MatrixFault);

/// Which flow activates and which flow waits for each trigger, in the order of the file.
struct Web {
    activators: Vec<Vec<usize>>,
    targets: Vec<Vec<usize>>,
}

impl Web {
    fn of(script: &Script) -> Self {
        let none = vec![Vec::new(); script.triggers.len()];
        let mut web = Self { activators: none.clone(), targets: none };
        for (number, flow) in script.flows.iter().enumerate() {
            let ends = [flow.when_sent, flow.when_received];
            ends.into_iter().flatten().for_each(|trigger| web.activators[trigger].push(number));
            if let Begin::Trigger(trigger) = flow.begin {
                web.targets[trigger].push(number);
            }
        }
        web
    }
}

/// Checks that triggers do not wait for each other, and that every flow can start.
///
/// A cycle of oneshots and barriers is refused even where something else fires it first: the activation that closes
/// it stops htsim. A multishot may activate itself, that is how htsim runs flows one after the other.
pub(super) fn check(script: &Script) -> Result<(), Placed> {
    let web = Web::of(script);
    check_cycles(script, &web)?;
    let started = started(script, &web);
    match started.iter().position(|started| !started) {
        Some(flow) => Err(why_not(script, &web, &started, flow)),
        None => Ok(()),
    }
}

/// The triggers that the end of `flow` activates.
fn activates(script: &Script, flow: usize) -> impl Iterator<Item = usize> {
    let flow = &script.flows[flow];
    [flow.when_sent, flow.when_received].into_iter().flatten()
}

/// The trigger that `flow` waits for.
fn waits_for(script: &Script, flow: usize) -> Option<usize> {
    match script.flows[flow].begin {
        Begin::Trigger(trigger) => Some(trigger),
        Begin::At(_) => None,
    }
}

/// Takes away, again and again, triggers that no other waits before; what is left lies on a cycle or behind one.
fn check_cycles(script: &Script, web: &Web) -> Result<(), Placed> {
    let counts = |trigger: usize| script.triggers[trigger].kind != TriggerKind::MultiShot;
    let before = |trigger: usize| {
        let waiting =
            web.activators[trigger].iter().filter_map(|flow| waits_for(script, *flow).map(|t| (*flow, t)));
        waiting.filter(|(_, before)| counts(*before))
    };
    let all = 0..script.triggers.len();
    let mut waiting: Vec<usize> = all.clone().map(|trigger| before(trigger).count()).collect();
    let mut free: Vec<usize> = all.clone().filter(|t| counts(*t) && waiting[*t] == 0).collect();
    while let Some(trigger) = free.pop() {
        let after = web.targets[trigger].iter().flat_map(|flow| activates(script, *flow));
        for next in after.filter(|next| counts(*next)) {
            waiting[next] -= 1;
            if waiting[next] == 0 {
                free.push(next);
            }
        }
    }
    let left = |trigger: usize| counts(trigger) && waiting[trigger] > 0;
    match all.into_iter().find(|trigger| left(*trigger)) {
        Some(trigger) => Err(cycle(script, trigger, |t| before(t).find(|(_, before)| left(*before)))),
        None => Ok(()),
    }
}

/// Walks back from `trigger` by `step` (the flow that activates a trigger, and the trigger it waits for) until it
/// comes round, and names what it went through.
fn cycle(script: &Script, trigger: usize, step: impl Fn(usize) -> Option<(usize, usize)>) -> Placed {
    let mut way: Vec<(usize, usize)> = Vec::new(); // trigger, and the flow before it
    let mut seen = vec![None; script.triggers.len()];
    let mut at = trigger;
    while seen[at].is_none() {
        let Some((flow, before)) = step(at) else { break };
        seen[at] = Some(way.len());
        way.push((at, flow));
        at = before;
    }
    let round = &way[seen[at].unwrap_or(0)..];
    let mut names = vec![format!("trigger {}", script.triggers[at].id)];
    for (trigger, flow) in round.iter().rev() {
        let flow = &script.flows[*flow];
        names.push(format!("flow {}->{} (line {})", flow.src, flow.dst, flow.line));
        names.push(format!("trigger {}", script.triggers[*trigger].id));
    }
    (script.triggers[at].line, MatrixFault::Cycle(names.join(" -> ")))
}

/// Which flows start if every flow that starts and is not endless also ends.
fn started(script: &Script, web: &Web) -> Vec<bool> {
    let mut started: Vec<bool> = script.flows.iter().map(|flow| matches!(flow.begin, Begin::At(_))).collect();
    let mut ending: Vec<usize> = (0..started.len()).filter(|flow| started[*flow]).collect();
    let mut activations = vec![0u64; script.triggers.len()];
    while let Some(flow) = ending.pop() {
        if script.flows[flow].size.is_none() {
            continue;
        }
        for trigger in activates(script, flow) {
            activations[trigger] += 1;
            for target in fired(script.triggers[trigger].kind, activations[trigger], &web.targets[trigger]) {
                started[*target] = true;
                ending.push(*target);
            }
        }
    }
    started
}

/// Those of `targets` that a trigger starts when it is activated for the `nth` time (from 1).
pub(crate) fn fired<T>(kind: TriggerKind, nth: u64, targets: &[T]) -> &[T] {
    match kind {
        TriggerKind::OneShot if nth == 1 => targets,
        TriggerKind::Barrier(count) if nth == count.into() => targets,
        TriggerKind::MultiShot => {
            let next = usize::try_from(nth - 1).unwrap_or(usize::MAX);
            targets.get(next).map_or(&[], std::slice::from_ref)
        }
        _ => &[],
    }
}

/// Why `flow` never starts: a trigger that lacks activations, or triggers that wait for each other.
fn why_not(script: &Script, web: &Web, started: &[bool], flow: usize) -> Placed {
    let blocked = |trigger: usize| {
        let mut waiting = web.activators[trigger].iter().filter(|flow| !started[**flow]);
        waiting.find_map(|flow| waits_for(script, *flow).map(|before| (*flow, before)))
    };
    let mut seen = vec![false; script.triggers.len()];
    let mut flow = flow;
    while let Some(trigger) = waits_for(script, flow) {
        if std::mem::replace(&mut seen[trigger], true) {
            return cycle(script, trigger, blocked);
        }
        match blocked(trigger) {
            Some((before, _)) => flow = before,
            None => return never_fires(script, web, trigger, flow),
        }
    }
    (script.flows[flow].line, MatrixFault::StartOrTrigger("neither"))
}

fn never_fires(script: &Script, web: &Web, trigger: usize, flow: usize) -> Placed {
    let ends = web.activators[trigger].iter().filter(|flow| script.flows[**flow].size.is_some());
    let needs = match script.triggers[trigger].kind {
        TriggerKind::OneShot => 1,
        TriggerKind::Barrier(count) => count.into(),
        TriggerKind::MultiShot => {
            1 + web.targets[trigger].iter().take_while(|target| **target != flow).count() as u64
        }
    };
    let fault =
        MatrixFault::NeverFires { trigger: script.triggers[trigger].id, gets: ends.count() as u64, needs };
    (script.flows[flow].line, fault)
}
