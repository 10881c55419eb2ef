//! Runs the blocks of a program on one packet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use pullnet_rng::{Seed, SmallRandomStream};
use thiserror::Error;

use super::WrongProgram;
use super::ast::{
    Block, Case, Expr, ExprKind, MatchActionTable, MatchKind, Program, Statement, Transition, Type,
};
use super::check::{Names, check, names};
use super::parse::parse;
use super::value::{BitWriter, Value, binary, masked, take_bits, unary};

/// Match value of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// The value.
    Exact(u128),
    /// A prefix.
    Lpm {
        /// The prefix, in the width of the key.
        value: u128,
        /// Width of the key. Bits.
        width: u32,
        /// Length of the prefix. Bits.
        length: u32,
    },
}

impl Key {
    /// Number of matching bits, if the key matches.
    fn matches(self, found: u128) -> Option<u32> {
        match self {
            Self::Exact(value) => (value == found).then_some(0),
            Self::Lpm { value, width, length } => {
                let behind = width - length;
                let same = behind >= 128 || value >> behind == found >> behind;
                same.then_some(length)
            }
        }
    }
}

/// A rejected table entry.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("table {table}: {what}")]
pub struct WrongEntry {
    /// The table.
    pub table: String,
    /// The problem.
    pub what: String,
}

#[derive(Clone, Debug)]
struct Entry {
    keys: Vec<Key>,
    action: String,
    arguments: Vec<u128>,
}

/// A packet with the program's state for it.
#[derive(Clone, Default, Debug)]
pub struct Packet {
    /// Fields by their full names, without unwritten fields.
    pub(super) fields: BTreeMap<String, Value>,
    pub(super) valid: BTreeSet<String>,
    /// Bytes after the parsed headers.
    pub(super) payload: Vec<u8>,
    pub(super) truncate: Option<usize>,
}

/// A program with its tables and registers.
#[derive(Debug)]
pub struct Machine {
    program: Program,
    /// Blocks of the switch, in the order of `V1Switch`.
    blocks: Vec<Arc<Block>>,
    names: Names,
    entries: BTreeMap<String, Vec<Entry>>,
    defaults: BTreeMap<String, (String, Vec<u128>)>,
    registers: BTreeMap<String, Vec<u128>>,
    /// Preset results of `random`.
    given: VecDeque<u128>,
    chance: SmallRandomStream,
}

/// Outcome of a list of statements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Return,
    Exit,
}

/// Execution of one block.
struct Run<'a> {
    machine: &'a mut Machine,
    block: &'a Block,
    packet: &'a mut Packet,
    scopes: Vec<BTreeMap<String, (Type, Value)>>,
    /// For a parser: the bytes, and the position of the next bit.
    bytes: &'a [u8],
    at: usize,
    /// For a deparser: the output.
    out: BitWriter,
}

/// A parser reached the end of the packet.
struct TooShort;

impl Machine {
    /// A program of the v1model architecture, with empty tables.
    pub fn new(text: &str, seed: u64) -> Result<Self, WrongProgram> {
        let program = parse(text)?;
        let names = names(&program)?;
        check(&program, &names)?;
        let registers =
            program.registers.iter().map(|(name, (_, cells))| (name.clone(), vec![0; *cells])).collect();
        let chance = Seed(seed).small_stream("p4.random", 0);
        let blocks = program.main.iter().map(|name| Arc::new(program.blocks[name].clone())).collect();
        let (entries, defaults) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { program, blocks, names, entries, defaults, registers, given: VecDeque::new(), chance })
    }

    fn table(&self, name: &str) -> Result<&MatchActionTable, WrongEntry> {
        let mut tables = self.program.blocks.values().flat_map(|block| &block.tables);
        let found = tables.find(|(found, _)| *found == name).map(|(_, table)| table);
        found.ok_or_else(|| WrongEntry { table: name.into(), what: "there is no such table".into() })
    }

    fn fits(&self, name: &str, action: &str, arguments: &[u128]) -> Result<(), WrongEntry> {
        let table = self.table(name)?;
        let wrong = |what: String| Err(WrongEntry { table: name.into(), what });
        if !table.actions.iter().any(|known| known == action) {
            return wrong(format!("{action} is none of its actions: {}", table.actions.join(", ")));
        }
        let actions = self.program.blocks.values().find_map(|block| block.actions.get(action));
        let wanted = actions.map_or(0, |action| action.parameters.len());
        if wanted != arguments.len() {
            return wrong(format!("{action} takes {wanted} arguments, not {}", arguments.len()));
        }
        Ok(())
    }

    /// Adds an entry, in the role of a control plane.
    pub fn insert(
        &mut self,
        table: &str,
        keys: &[Key],
        action: &str,
        arguments: &[u128],
    ) -> Result<(), WrongEntry> {
        self.fits(table, action, arguments)?;
        let wrong = |what: String| Err(WrongEntry { table: table.into(), what });
        let of = self.table(table)?;
        let kinds = of.keys.iter().map(|(_, kind)| *kind);
        let given = keys
            .iter()
            .map(|key| if matches!(key, Key::Exact(_)) { MatchKind::Exact } else { MatchKind::Lpm });
        if !kinds.clone().eq(given) {
            return wrong(format!("its keys are {:?}", kinds.collect::<Vec<_>>()));
        }
        let size = of.size;
        let entries = self.entries.entry(table.into()).or_default();
        if entries.len() >= size {
            return wrong(format!("it is full: it has room for {size} entries"));
        }
        entries.push(Entry { keys: keys.to_vec(), action: action.into(), arguments: arguments.to_vec() });
        Ok(())
    }

    /// Sets the action on a miss.
    pub fn set_default(&mut self, table: &str, action: &str, arguments: &[u128]) -> Result<(), WrongEntry> {
        self.fits(table, action, arguments)?;
        self.defaults.insert(table.into(), (action.into(), arguments.to_vec()));
        Ok(())
    }

    /// A cell of a register.
    pub fn register(&self, name: &str, cell: usize) -> Option<u128> {
        self.registers.get(name)?.get(cell).copied()
    }

    /// Presets the next result of `random`.
    pub fn give_random(&mut self, value: u128) {
        self.given.push_back(value);
    }

    /// Parses a packet. A packet that ends within a header is parsed up to that header.
    pub(super) fn parse_packet(
        &mut self,
        bytes: &[u8],
        standard: &[(&str, u128)],
    ) -> Result<Packet, WrongProgram> {
        let mut packet = Packet::default();
        for (field, value) in standard {
            packet.set_standard(field, *value);
        }
        let (block, mut state) = (Arc::clone(&self.blocks[0]), "start".to_owned());
        let mut run = Run::new(self, &block, &mut packet, bytes)?;
        // A parser without loops visits each state at most once; loops need a header stack, which the subset lacks.
        for _ in 0..=block.states.len() {
            if state == "accept" || state == "reject" {
                break;
            }
            match run.state(&state)? {
                Ok(next) => state = next,
                Err(TooShort) => break,
            }
        }
        let rest = run.at / 8;
        packet.payload = bytes[rest..].to_vec();
        Ok(packet)
    }

    /// Runs a control: number 1 to 4 of `V1Switch`.
    pub(super) fn control(&mut self, number: usize, packet: &mut Packet) -> Result<(), WrongProgram> {
        let block = Arc::clone(&self.blocks[number]);
        let mut run = Run::new(self, &block, packet, &[])?;
        run.statements(&block.apply)?;
        Ok(())
    }

    /// The bytes of a packet as the deparser writes them.
    pub(super) fn deparse(&mut self, packet: &mut Packet) -> Result<Vec<u8>, WrongProgram> {
        let block = Arc::clone(&self.blocks[5]);
        let mut run = Run::new(self, &block, packet, &[])?;
        run.statements(&block.apply)?;
        let mut bytes = std::mem::take(&mut run.out).bytes();
        bytes.extend(&packet.payload);
        bytes.truncate(packet.truncate.unwrap_or(usize::MAX));
        Ok(bytes)
    }
}

impl Packet {
    pub fn standard(&self, field: &str) -> u128 {
        match self.fields.get(&format!("standard_metadata_t.{field}")) {
            Some(Value::Bits(value, _)) => *value,
            _ => 0,
        }
    }

    pub fn set_standard(&mut self, field: &str, value: u128) {
        let width = match field {
            "packet_length" => 32,
            "priority" => 3,
            "mcast_grp" => 16,
            "enq_qdepth" | "deq_qdepth" => 19,
            _ => 9,
        };
        self.fields
            .insert(format!("standard_metadata_t.{field}"), Value::Bits(masked(value, width), Some(width)));
    }
}

fn zero(of: &Type) -> Value {
    match of {
        Type::Bit(width) => Value::Bits(0, Some(*width)),
        Type::Bool => Value::Bool(false),
        Type::Varbit(_) | Type::Named(_) => Value::Bytes(Vec::new()),
    }
}

impl<'a> Run<'a> {
    fn new(
        machine: &'a mut Machine,
        block: &'a Block,
        packet: &'a mut Packet,
        bytes: &'a [u8],
    ) -> Result<Self, WrongProgram> {
        let out = BitWriter::default();
        let mut run = Self { machine, block, packet, scopes: vec![BTreeMap::new()], bytes, at: 0, out };
        run.statements(&block.variables)?;
        Ok(run)
    }

    fn full(&self, path: &[String]) -> Option<String> {
        let (_, of) = self.block.parameters.iter().find(|(name, _)| *name == path[0])?;
        Some([std::slice::from_ref(of), &path[1..]].concat().join("."))
    }

    /// The full name and type of a path's field. A field of an invalid header has no value.
    fn field(&self, path: &[String], line: u32) -> Result<(String, Type), WrongProgram> {
        let full = self.full(path).unwrap_or_default();
        let header = full.rsplit_once('.').map_or("", |(header, _)| header);
        if self.machine.names.headers.contains_key(header) && !self.packet.valid.contains(header) {
            let what =
                format!("{} belongs to a header that is not valid here; ask isValid() first", path.join("."));
            return Err(WrongProgram::new(line, what));
        }
        let of = self.machine.names.fields.get(&full).cloned();
        let of = of.ok_or_else(|| WrongProgram::new(line, format!("there is no {}", path.join("."))))?;
        Ok((full, of))
    }

    fn read(&self, path: &[String], line: u32) -> Result<Value, WrongProgram> {
        if let [name] = path {
            if let Some((_, value)) = self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
                return Ok(value.clone());
            }
            if let Some((value, width)) = self.machine.program.constants.get(name) {
                return Ok(Value::Bits(*value, Some(*width)));
            }
        }
        let (full, of) = self.field(path, line)?;
        Ok(self.packet.fields.get(&full).cloned().unwrap_or_else(|| zero(&of)))
    }

    fn write(&mut self, path: &[String], value: &Value, line: u32) -> Result<(), WrongProgram> {
        if let [name] = path
            && let Some((of, place)) = self.scopes.iter_mut().rev().find_map(|scope| scope.get_mut(name))
        {
            *place = stored(of, value, line)?;
            return Ok(());
        }
        let (full, of) = self.field(path, line)?;
        let value = stored(&of, value, line)?;
        self.packet.fields.insert(full, value);
        Ok(())
    }

    fn assign(&mut self, place: &Expr, value: &Value) -> Result<(), WrongProgram> {
        match &place.kind {
            ExprKind::Path(path) => self.write(path, value, place.line),
            ExprKind::Slice(of, high, low) => {
                let Value::Bits(whole, width) = self.value(of)? else {
                    return Err(WrongProgram::new(place.line, "only bits have slices"));
                };
                let wide = high - low + 1;
                let inside = masked(u128::MAX, wide) << low;
                let changed = whole & !inside | value.fit(wide, place.line)? << low;
                self.assign(of, &Value::Bits(changed, width))
            }
            _ => Err(WrongProgram::new(place.line, "this is no place for a value")),
        }
    }

    fn statements(&mut self, statements: &[Statement]) -> Result<Flow, WrongProgram> {
        for statement in statements {
            let flow = match statement {
                Statement::Assign(place, value) => {
                    let value = self.value(value)?;
                    self.assign(place, &value)?;
                    Flow::On
                }
                Statement::Call(call) => {
                    self.value(call)?;
                    Flow::On
                }
                Statement::If(condition, then, otherwise) => {
                    let truth = self.value(condition)?.truth(condition.line)?;
                    self.statements(if truth { then } else { otherwise })?
                }
                Statement::Variable(of, name, value) => {
                    let value = match value {
                        Some(value) => stored(of, &self.value(value)?, value.line)?,
                        None => zero(of),
                    };
                    let scope = self.scopes.last_mut().expect("a block has a scope from its start");
                    scope.insert(name.clone(), (of.clone(), value));
                    Flow::On
                }
                Statement::Return => Flow::Return,
                Statement::Exit => Flow::Exit,
            };
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn value(&mut self, expr: &Expr) -> Result<Value, WrongProgram> {
        let line = expr.line;
        match &expr.kind {
            ExprKind::Number(value, width) => Ok(Value::Bits(*value, *width)),
            ExprKind::Bool(value) => Ok(Value::Bool(*value)),
            ExprKind::Path(path) => self.read(path, line),
            ExprKind::Slice(of, high, low) => {
                let value = self.value(of)?.bits(line)?;
                Ok(Value::Bits(masked(value >> low, high - low + 1), Some(high - low + 1)))
            }
            ExprKind::Unary(sign, of) => unary(sign, &self.value(of)?, line),
            ExprKind::Binary(sign @ ("&&" | "||"), left, right) => {
                let first = self.value(left)?.truth(line)?;
                if first == (*sign == "||") {
                    return Ok(Value::Bool(first));
                }
                Ok(Value::Bool(self.value(right)?.truth(line)?))
            }
            ExprKind::Binary(sign, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                binary(sign, &left, &right, line)
            }
            ExprKind::Choice(condition, yes, no) => {
                let truth = self.value(condition)?.truth(line)?;
                self.value(if truth { yes } else { no })
            }
            ExprKind::Cast(to, of) => cast(to, &self.value(of)?, line),
            ExprKind::List(_) => {
                Err(WrongProgram::new(line, "a list is an argument of update_checksum only"))
            }
            ExprKind::Call { path, arguments, .. } => self.call(path, arguments, line),
        }
    }

    fn call(&mut self, path: &[String], arguments: &[Expr], line: u32) -> Result<Value, WrongProgram> {
        let (object, method) = (&path[..path.len() - 1], path[path.len() - 1].as_str());
        if object.is_empty() {
            return self.function(method, arguments, line);
        }
        match method {
            "apply" => Ok(Value::Bool(self.apply(&object[0])?)),
            "read" | "write" => self.cell(&object[0], method == "write", arguments, line),
            "emit" => self.emit(&arguments[0]),
            _ => {
                let header = self.full(object).unwrap_or_default();
                match method {
                    "setValid" => {
                        self.packet.valid.insert(header);
                    }
                    "setInvalid" => {
                        self.packet.valid.remove(&header);
                    }
                    _ => return Ok(Value::Bool(self.packet.valid.contains(&header))),
                }
                Ok(Value::Bool(true))
            }
        }
    }

    fn function(&mut self, name: &str, arguments: &[Expr], line: u32) -> Result<Value, WrongProgram> {
        match name {
            "mark_to_drop" => {
                self.packet.set_standard("egress_spec", 511);
                self.packet.set_standard("mcast_grp", 0);
            }
            "truncate" => self.packet.truncate = Some(self.value(&arguments[0])?.bits(line)? as usize),
            "random" => {
                let (low, high) =
                    (self.value(&arguments[1])?.bits(line)?, self.value(&arguments[2])?.bits(line)?);
                if low > high || high - low >= u32::MAX.into() {
                    return Err(WrongProgram::new(
                        line,
                        format!("random from {low} to {high}: no range of at most 32 bits"),
                    ));
                }
                let span = (high - low + 1) as u32;
                let drawn = low + u128::from(self.machine.chance.below(span));
                let value = self.machine.given.pop_front().unwrap_or(drawn);
                self.assign(&arguments[0], &Value::Bits(value, None))?;
            }
            "update_checksum" => {
                if self.value(&arguments[0])?.truth(line)? {
                    let sum = self.checksum(&arguments[1])?;
                    self.assign(&arguments[2], &Value::Bits(sum.into(), Some(16)))?;
                }
            }
            action => {
                let values: Result<Vec<_>, _> =
                    arguments.iter().map(|argument| self.value(argument)).collect();
                self.action(action, values?, line)?;
            }
        }
        Ok(Value::Bool(true))
    }

    fn checksum(&mut self, list: &Expr) -> Result<u16, WrongProgram> {
        let ExprKind::List(items) = &list.kind else {
            return Err(WrongProgram::new(list.line, "the second argument is a list in { }"));
        };
        let mut covered = BitWriter::default();
        for item in items {
            match self.value(item)? {
                Value::Bits(value, Some(width)) => covered.put(value, width),
                Value::Bytes(bytes) => covered.put_bytes(&bytes),
                other => return Err(WrongProgram::new(item.line, format!("{other:?} has no width"))),
            }
        }
        Ok(crate::agreement::checksum(&covered.bytes()))
    }

    fn action(&mut self, name: &str, values: Vec<Value>, line: u32) -> Result<Flow, WrongProgram> {
        let Some(action) = self.block.actions.get(name) else { return Ok(Flow::On) };
        let mut scope = BTreeMap::new();
        for ((of, name), value) in action.parameters.iter().zip(values) {
            scope.insert(name.clone(), (of.clone(), stored(of, &value, line)?));
        }
        self.scopes.push(scope);
        let flow = self.statements(&action.body);
        self.scopes.pop();
        flow
    }

    /// Applies a table; returns whether an entry matched.
    fn apply(&mut self, name: &str) -> Result<bool, WrongProgram> {
        let table = &self.block.tables[name];
        let mut found = Vec::new();
        for (key, _) in &table.keys {
            found.push(self.value(key)?.bits(key.line)?);
        }
        let entries = self.machine.entries.get(name).map_or(&[][..], |entries| entries);
        let agree = |entry: &&Entry| {
            let each = entry.keys.iter().zip(&found).map(|(key, found)| key.matches(*found));
            each.sum::<Option<u32>>()
        };
        let best = entries.iter().filter_map(|entry| Some((agree(&entry)?, entry)));
        let best = best
            .max_by_key(|(length, _)| *length)
            .map(|(_, entry)| (entry.action.clone(), entry.arguments.clone()));
        let hit = best.is_some() && !table.keys.is_empty();
        if let Some((action, arguments)) = best.or_else(|| self.machine.defaults.get(name).cloned()) {
            let values = arguments.into_iter().map(|value| Value::Bits(value, None)).collect();
            self.action(&action, values, table.line)?;
        } else if let Some((action, arguments)) = &table.default {
            let values: Result<Vec<_>, _> = arguments.iter().map(|argument| self.value(argument)).collect();
            self.action(action, values?, table.line)?;
        }
        Ok(hit)
    }

    fn cell(
        &mut self,
        name: &str,
        write: bool,
        arguments: &[Expr],
        line: u32,
    ) -> Result<Value, WrongProgram> {
        let (width, cells) = self.machine.program.registers[name];
        let index = self.value(&arguments[usize::from(!write)])?.bits(line)?;
        let index = usize::try_from(index).ok().filter(|index| *index < cells);
        let index = index.ok_or_else(|| {
            WrongProgram::new(line, format!("{name} has {cells} cells, none with this index"))
        })?;
        if write {
            let value = self.value(&arguments[1])?.fit(width, line)?;
            self.machine.registers.entry(name.into()).or_insert_with(|| vec![0; cells])[index] = value;
        } else {
            let value = self.machine.registers.get(name).map_or(0, |cells| cells[index]);
            self.assign(&arguments[0], &Value::Bits(value, Some(width)))?;
        }
        Ok(Value::Bool(true))
    }

    /// Fields of the header passed as an argument: full names and types.
    fn header(&self, argument: &Expr) -> (String, Vec<(String, Type)>) {
        let ExprKind::Path(path) = &argument.kind else { return (String::new(), Vec::new()) };
        let full = self.full(path).unwrap_or_default();
        let of = self.machine.names.headers.get(&full);
        let fields = of.and_then(|of| self.machine.program.headers.get(of));
        let named = |(of, field): &(Type, String)| (format!("{full}.{field}"), of.clone());
        let fields = fields.map(|fields| fields.iter().map(named).collect()).unwrap_or_default();
        (full, fields)
    }

    fn emit(&mut self, argument: &Expr) -> Result<Value, WrongProgram> {
        let (header, fields) = self.header(argument);
        if self.packet.valid.contains(&header) {
            for (field, of) in fields {
                match self.packet.fields.get(&field).cloned().unwrap_or_else(|| zero(&of)) {
                    Value::Bits(value, width) => self.out.put(value, width.unwrap_or(0)),
                    Value::Bytes(bytes) => self.out.put_bytes(&bytes),
                    Value::Bool(value) => self.out.put(value.into(), 1),
                }
            }
        }
        Ok(Value::Bool(true))
    }

    /// Extracts a header; the second argument is the length of its `varbit` in bits.
    fn extract(&mut self, arguments: &[Expr], line: u32) -> Result<Result<(), TooShort>, WrongProgram> {
        let variable = match arguments.get(1) {
            Some(bits) => self.value(bits)?.bits(line)?,
            None => 0,
        };
        let (header, fields) = self.header(&arguments[0]);
        let mut at = self.at;
        let mut values = Vec::new();
        for (field, of) in fields {
            let width = match of {
                Type::Bit(width) => width,
                Type::Bool => 1,
                Type::Varbit(most) if variable <= most.into() && variable % 8 == 0 => variable as u32,
                _ => return Err(WrongProgram::new(line, format!("{field} cannot hold {variable} bits"))),
            };
            let value = if matches!(of, Type::Varbit(_)) {
                let bytes: Option<Vec<u8>> = (0..width as usize / 8)
                    .map(|n| take_bits(self.bytes, at + 8 * n, 8).map(|byte| byte as u8))
                    .collect();
                bytes.map(Value::Bytes)
            } else {
                take_bits(self.bytes, at, width).map(|value| Value::Bits(value, Some(width)))
            };
            let Some(value) = value else { return Ok(Err(TooShort)) };
            values.push((field, value));
            at += width as usize;
        }
        self.at = at;
        self.packet.valid.insert(header);
        self.packet.fields.extend(values);
        Ok(Ok(()))
    }

    fn state(&mut self, name: &str) -> Result<Result<String, TooShort>, WrongProgram> {
        let block = self.block;
        let state = &block.states[name];
        for statement in &state.statements {
            if let Statement::Call(Expr { kind: ExprKind::Call { path, arguments, .. }, line }) = statement
                && path.last().is_some_and(|method| method == "extract")
            {
                if let Err(short) = self.extract(arguments, *line)? {
                    return Ok(Err(short));
                }
            } else {
                self.statements(std::slice::from_ref(statement))?;
            }
        }
        let (keys, cases) = match &state.transition {
            Transition::To(to) => return Ok(Ok(to.clone())),
            Transition::Select(keys, cases) => (keys, cases),
        };
        let mut found = Vec::new();
        for key in keys {
            found.push(self.value(key)?.bits(state.line)?);
        }
        for (case, to) in cases {
            let mut all = true;
            for (one, found) in case.iter().zip(&found) {
                all &= match one {
                    Case::Any => true,
                    Case::Is(value) => self.value(value)?.bits(state.line)? == *found,
                    Case::Masked(value, mask) => {
                        let mask = self.value(mask)?.bits(state.line)?;
                        self.value(value)?.bits(state.line)? & mask == found & mask
                    }
                };
            }
            if all {
                return Ok(Ok(to.clone()));
            }
        }
        Ok(Ok("reject".into()))
    }
}

fn stored(of: &Type, value: &Value, line: u32) -> Result<Value, WrongProgram> {
    match of {
        Type::Bit(width) => Ok(Value::Bits(value.fit(*width, line)?, Some(*width))),
        Type::Bool => Ok(Value::Bool(value.truth(line)?)),
        Type::Varbit(_) | Type::Named(_) => Err(WrongProgram::new(line, "this type cannot be assigned")),
    }
}

fn cast(to: &Type, value: &Value, line: u32) -> Result<Value, WrongProgram> {
    match (to, value) {
        (Type::Bit(width), Value::Bits(value, _)) => Ok(Value::Bits(masked(*value, *width), Some(*width))),
        (Type::Bit(1), Value::Bool(value)) => Ok(Value::Bits((*value).into(), Some(1))),
        (Type::Bool, Value::Bits(value, Some(1))) => Ok(Value::Bool(*value == 1)),
        _ => Err(WrongProgram::new(line, format!("{value:?} cannot be cast to {to:?}"))),
    }
}
