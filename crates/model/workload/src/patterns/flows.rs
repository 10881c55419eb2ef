use std::sync::Arc;

use pullnet_settings::settings;
use pullnet_transport::Side;
use pullnet_units::{Bytes, HostId, Instant, Picos};

use super::sessions::{Copies, Parts, follow_in_chain, share};
use crate::agenda::{Ended, Flow, Join, Joins, Part, Planner, Watch};
use crate::error::{FileFault, ListFault, MatrixFault, Problem};
use crate::faults::{Faults, FileErrors};
use crate::import::{
    Begin, Counts, Many, MatrixFormat, MatrixOptions, OtherTriggers, Script, ScriptFlow, StartUnit,
    TriggerKind, fired, parse_flow_list, parse_hpcc_flows, parse_matrix,
};
use crate::pattern::{Ends, Late, Pattern, Traffic};
use crate::scene::{Noted, Scene};
use crate::sizes::FileName;

settings! {
    /// Flows from a list: CSV with the columns src,dst,bytes,start and perhaps priority,tag,deadline,tenant,coflow. Host
    /// numbers count within the block's hosts; several of them, as 3;7;9, in dst or src are one session.
    pub struct Flows {
        /// The list.
        file: FileName = "flows.csv"; required,
        /// How data gets to several receivers (a line whose dst is 3;7;9).
        copies: Copies = "multicast",
        /// How data comes from several senders (a line whose src is 3;7;9).
        parts: Parts = "coded",
    }
}

settings! {
    /// Flows from a connection matrix: htsim's .cm or .tm with triggers and barriers, or HPCC's flow.txt. Host numbers
    /// count within the block's hosts.
    pub struct Matrix {
        /// The matrix.
        file: FileName = "matrix.cm"; required,
        /// Format of the file.
        format: MatrixFormat = "auto",
        /// Unit of start in an htsim matrix. Its readers differ; it has to be stated unless all starts are 0.
        start_unit: Option<StartUnit> = "",
        /// Use of the numbers of connections, triggers and failures (HPCC: of flows) at the head of the file:
        /// "met" refuses a file that has fewer, or of a connection matrix also more, since it may be damaged; "ignored" takes what there
        /// is. Of an HPCC file lines beyond the number are left out.
        counts: Counts = "met",
        /// Meaning of a trigger of an htsim matrix that flows name and no line describes. If left out, such a file is
        /// refused.
        other_triggers: Option<OtherTriggers> = "",
    }
}

impl Pattern for Flows {
    fn name(&self) -> &'static str {
        "flows"
    }

    fn summary(&self) -> &'static str {
        "flows from a list (CSV)"
    }

    fn file(&self) -> Option<&FileName> {
        Some(&self.file)
    }

    fn ends(&self) -> Ends {
        Ends::ByItself
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let script = parse_flow_list(&self.file.0, scene.file("file", &self.file)?);
        let script = scene.read("file", script)?;
        let beyond = |host, count| ListFault::Host { host, count }.into();
        Scripted::build(
            scene,
            &self.file,
            &script,
            beyond,
            (ListFault::Endless.into(), self.copies, self.parts),
        )
    }
}

impl Pattern for Matrix {
    fn name(&self) -> &'static str {
        "matrix"
    }

    fn summary(&self) -> &'static str {
        "flows from a connection matrix (htsim .cm and .tm, HPCC flow.txt)"
    }

    fn file(&self) -> Option<&FileName> {
        Some(&self.file)
    }

    fn ends(&self) -> Ends {
        Ends::ByItself
    }

    fn traffic(&self, scene: &mut Scene<'_>) -> Result<Box<dyn Traffic>, Noted> {
        let contents = scene.file("file", &self.file)?;
        scene.need(&["format", "start_unit", "counts", "other_triggers"])?;
        let script = match self.is_hpcc(contents) {
            true => self.hpcc(scene, contents),
            false => parse_matrix(&self.file.0, contents, &self.options()),
        };
        let script = scene.read("file", script)?;
        let mut failures = Faults::of(&self.file.0);
        for failure in &script.failures {
            failures.keep(failure.line, Err::<(), _>(MatrixFault::Failures));
        }
        scene.read("file", failures.end())?;
        let beyond = |host, count| MatrixFault::Host { host, count }.into();
        let rules = (MatrixFault::Endless.into(), Copies::Multicast, Parts::Coded);
        Scripted::build(scene, &self.file, &script, beyond, rules)
    }
}

impl Matrix {
    fn options(&self) -> MatrixOptions {
        let Self { start_unit, counts, other_triggers, .. } = *self;
        MatrixOptions { start_unit, counts, other_triggers }
    }

    /// HPCC's file begins with a number.
    fn is_hpcc(&self, contents: &[u8]) -> bool {
        let first = contents.iter().find(|byte| !byte.is_ascii_whitespace());
        match self.format {
            MatrixFormat::Auto => first.is_some_and(u8::is_ascii_digit),
            MatrixFormat::Hpcc => true,
            MatrixFormat::Htsim => false,
        }
    }

    fn hpcc(&self, scene: &Scene<'_>, contents: &[u8]) -> Result<Script, FileErrors> {
        let reason = "has no effect on an HPCC flow file, which counts in seconds; remove it";
        if let Some(unit) = self.start_unit {
            scene.note(Problem::new("start_unit", format!("{unit:?}").to_lowercase(), reason));
        }
        if let Some(kind) = self.other_triggers {
            let reason = "has no effect on an HPCC flow file, which has no triggers; remove it";
            scene.note(Problem::new("other_triggers", format!("{kind:?}").to_lowercase(), reason));
        }
        parse_hpcc_flows(&self.file.0, contents, self.counts)
    }
}

/// Triggers that the ends of a flow activate.
#[derive(Clone, Copy)]
struct Links {
    when_sent: Option<usize>,
    when_received: Option<usize>,
}

/// A trigger at work.
#[derive(Clone)]
struct Firing {
    kind: TriggerKind,
    activations: u64,
    /// Lanes of the flows that wait for it.
    targets: Vec<u32>,
}

/// A script at work. Lane: index of the flow. Copies share what does not change: lists have millions of flows.
#[derive(Clone)]
struct Scripted {
    flows: Arc<Vec<Flow>>,
    links: Arc<Vec<Links>>,
    triggers: Vec<Firing>,
    /// Start and lane of the flows with a start time, in order.
    timed: Arc<Vec<(Instant, u32)>>,
    next: usize,
    copies: Copies,
    parts: Parts,
}

/// Checks the flows of `script` against the network and the end of the run.
fn check(
    scene: &Scene<'_>,
    file: &FileName,
    script: &Script,
    beyond: fn(u32, usize) -> FileFault,
    endless: &FileFault,
) -> Result<(), Noted> {
    let count = scene.hosts().len();
    let fault = |flow: &ScriptFlow| {
        let host = [flow.src, flow.dst].into_iter().find(|host| *host as usize >= count);
        let endless = || (scene.must_end() && flow.size.is_none()).then(|| endless.clone());
        host.map(|host| beyond(host, count)).or_else(endless)
    };
    let mut faults = Faults::of(&file.0);
    for flow in &script.flows {
        faults.keep(flow.line, fault(flow).map_or(Ok(()), Err));
    }
    scene.read("file", faults.end())
}

impl Scripted {
    fn build(
        scene: &mut Scene<'_>,
        file: &FileName,
        script: &Script,
        beyond: fn(u32, usize) -> FileFault,
        (endless, copies, parts): (FileFault, Copies, Parts),
    ) -> Result<Box<dyn Traffic>, Noted> {
        let triggers = script.triggers.iter();
        let triggers = triggers.map(|t| Firing { kind: t.kind, activations: 0, targets: Vec::new() });
        let mut built = Self {
            flows: Arc::default(),
            links: Arc::default(),
            triggers: triggers.collect(),
            timed: Arc::default(),
            next: 0,
            copies,
            parts,
        };
        check(scene, file, script, beyond, &endless)?;
        let start = Picos(scene.start().0);
        for (lane, flow) in (0..).zip(&script.flows) {
            let source = match flow.part {
                Some((Many::Receivers, 1.., _)) if copies == Copies::Chain => {
                    script.flows[lane as usize - 1].dst
                }
                _ => flow.src,
            };
            let ends = [source, flow.dst].map(|host| scene.hosts()[host as usize]);
            let tag = flow.tag.as_deref().map(|tag| scene.tag(tag)).transpose()?;
            let tenant = flow.tenant.as_deref().map(|tenant| scene.tenant(tenant)).transpose()?;
            built.add(lane, flow, ends.into(), (tag, tenant), start);
        }
        Arc::make_mut(&mut built.timed).sort_unstable();
        Ok(Box::new(built))
    }

    fn add(
        &mut self,
        lane: u32,
        flow: &ScriptFlow,
        (src, dst): (HostId, HostId),
        (tag, tenant): (Option<u16>, Option<u16>),
        start: Picos,
    ) {
        match flow.begin {
            // The first packet of the flow before it starts it.
            Begin::At(_) if self.continues_chain(flow) => {}
            Begin::At(at) => Arc::make_mut(&mut self.timed).push((at.after(start), lane)),
            Begin::Trigger(trigger) => self.triggers[trigger].targets.push(lane),
        }
        let watch = match (flow.when_sent, flow.when_received) {
            (None, None) => Watch::Nothing,
            (Some(_), None) => Watch::Acknowledged,
            (None, Some(_)) => Watch::Received,
            (Some(_), Some(_)) => Watch::Both,
        };
        let ScriptFlow { size, priority, deadline, coflow, when_sent, when_received, .. } = *flow;
        let (part, size) = self.part(flow.part, size);
        let followed = false;
        let flow = Flow { src, dst, size, priority, tag, deadline, tenant, coflow, part, watch, followed };
        Arc::make_mut(&mut self.flows).push(flow);
        let links = Links { when_sent, when_received };
        Arc::make_mut(&mut self.links).push(links);
    }

    /// Whether `flow` is forwarded by the receiver of the flow before it.
    fn continues_chain(&self, flow: &ScriptFlow) -> bool {
        self.copies == Copies::Chain && matches!(flow.part, Some((Many::Receivers, 1.., _)))
    }

    /// The flows that follow the flow on `lane` if that begins a chain.
    fn chain(&self, lane: u64) -> Vec<Flow> {
        let first = &self.flows[lane as usize];
        let Some(Part { index: 0, of, .. }) = first.part.filter(|_| self.copies == Copies::Chain) else {
            return Vec::new();
        };
        let rest = &self.flows[lane as usize + 1..lane as usize + usize::from(of)];
        // The flows of several senders have one receiver.
        if rest.first().is_some_and(|next| next.src == first.dst) { rest.to_vec() } else { Vec::new() }
    }

    /// The place of a flow in the session that its line states, and how much it carries of `size`.
    fn part(&self, part: Option<(Many, u16, u16)>, size: Option<Bytes>) -> (Option<Part>, Option<Bytes>) {
        let Some((many, index, of)) = part else { return (None, size) };
        let join = match many {
            Many::Receivers => self.copies.join(),
            Many::Senders => self.parts.join(),
        };
        let apart = many == Many::Senders && join == Join::Apart;
        let size = if apart { size.map(|size| share(size, index, of)) } else { size };
        (Some(Part { join, index, of }), size)
    }

    fn plan_timed(&mut self, planner: &mut Planner<'_>) {
        if let Some((at, lane)) = self.timed.get(self.next) {
            self.next += 1;
            planner.plan(*at, (*lane).into(), self.flows[*lane as usize]);
        }
    }
}

impl Traffic for Scripted {
    fn late(&self, end: Instant) -> Option<Late> {
        let late = &self.timed[self.timed.partition_point(|(at, _)| *at < end)..];
        let ((first, _), (last, _)) = (*late.first()?, *late.last()?);
        // Several senders whose symbols are joined are one flow; a chain is as many as it has receivers.
        let is_joined = |lane: u32| {
            let part = self.flows[lane as usize].part;
            part.is_some_and(|part| part.join == Join::Sources && part.index > 0)
        };
        let lanes = late.iter().map(|(_, lane)| *lane).filter(|lane| !is_joined(*lane));
        let flows = lanes.map(|lane| 1 + self.chain(lane.into()).len() as u64).sum();
        Some(Late { flows, first, last })
    }

    fn joins(&self) -> Joins {
        let mut joins = Joins::default();
        for part in self.flows.iter().filter_map(|flow| flow.part) {
            joins.multicast |= part.join == Join::Multicast;
            joins.sources |= part.join == Join::Sources;
        }
        joins
    }

    fn begin(&mut self, planner: &mut Planner<'_>) {
        self.plan_timed(planner);
    }

    /// A flow with a start time is followed by the next one; only one of them is planned at a time.
    fn started(&mut self, lane: u64, _at: Instant, planner: &mut Planner<'_>) {
        follow_in_chain(planner, lane, self.chain(lane));
        if self.next > 0 && u64::from(self.timed[self.next - 1].1) == lane {
            self.plan_timed(planner);
        }
    }

    /// A flow that failed activates nothing: what waits for it never starts.
    fn ended(&mut self, ended: &Ended, planner: &mut Planner<'_>) {
        let links = self.links[ended.lane as usize];
        let trigger = match ended.side {
            Side::Sender => links.when_sent,
            Side::Receiver => links.when_received,
        };
        let Some(trigger) = trigger.filter(|_| !ended.failed) else { return };
        let firing = &mut self.triggers[trigger];
        firing.activations += 1;
        for lane in fired(firing.kind, firing.activations, &firing.targets) {
            planner.plan(ended.at, (*lane).into(), self.flows[*lane as usize]);
        }
    }
}
