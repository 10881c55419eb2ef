//! Checks before a program runs that all used names are declared.

use std::collections::{BTreeMap, BTreeSet};

use super::WrongProgram;
use super::ast::{
    Action, Block, Case, Expr, ExprKind, MatchActionTable, Program, Statement, Transition, Type,
};

/// Fields of the architecture's own metadata.
const STANDARD: [(&str, u32); 8] = [
    ("ingress_port", 9),
    ("egress_spec", 9),
    ("egress_port", 9),
    ("packet_length", 32),
    ("priority", 3),
    ("mcast_grp", 16),
    ("enq_qdepth", 19),
    ("deq_qdepth", 19),
];

/// All fields by full name (`headers_t.ipv4.ttl`) with their types, and all headers with theirs.
#[derive(Clone, Default, Debug)]
pub struct Names {
    pub fields: BTreeMap<String, Type>,
    pub headers: BTreeMap<String, String>,
}

pub fn names(program: &Program) -> Result<Names, WrongProgram> {
    let mut names = Names::default();
    for (name, width) in STANDARD {
        names.fields.insert(format!("standard_metadata_t.{name}"), Type::Bit(width));
    }
    for (name, fields) in &program.structs {
        for (of, field) in fields {
            let path = format!("{name}.{field}");
            match of {
                Type::Named(header) => {
                    let fields = program.headers.get(header).ok_or_else(|| {
                        WrongProgram::new(0, format!("{path}: there is no header {header}"))
                    })?;
                    for (of, field) in fields {
                        names.fields.insert(format!("{path}.{field}"), of.clone());
                    }
                    names.headers.insert(path, header.clone());
                }
                plain => {
                    names.fields.insert(path, plain.clone());
                }
            }
        }
    }
    Ok(names)
}

/// A block during the check.
struct Checker<'a> {
    program: &'a Program,
    names: &'a Names,
    block: &'a Block,
    locals: BTreeSet<String>,
    in_action: bool,
}

pub fn check(program: &Program, names: &Names) -> Result<(), WrongProgram> {
    for (name, block) in &program.blocks {
        let known = |of: &String| {
            program.structs.contains_key(of)
                || ["packet_in", "packet_out", "standard_metadata_t"].contains(&of.as_str())
        };
        if let Some((parameter, of)) = block.parameters.iter().find(|(_, of)| !known(of)) {
            return Err(WrongProgram::new(0, format!("{name}: there is no type {of} for {parameter}")));
        }
        let mut checker = Checker { program, names, block, locals: BTreeSet::new(), in_action: false };
        checker.statements(&block.variables)?;
        let variables = checker.locals.clone();
        for action in block.actions.values() {
            checker.action(action)?;
            checker.locals.clone_from(&variables);
        }
        for (name, table) in &block.tables {
            checker.table(name, table)?;
        }
        checker.states()?;
        checker.statements(&block.apply)?;
    }
    Ok(())
}

impl Checker<'_> {
    fn action(&mut self, action: &Action) -> Result<(), WrongProgram> {
        self.locals.extend(action.parameters.iter().map(|(_, name)| name.clone()));
        self.in_action = true;
        let checked = self.statements(&action.body);
        self.in_action = false;
        checked
    }

    fn table(&self, name: &str, table: &MatchActionTable) -> Result<(), WrongProgram> {
        table.keys.iter().try_for_each(|(key, _)| self.expression(key))?;
        let default = table.default.iter().map(|(action, _)| action);
        for action in table.actions.iter().chain(default) {
            if action != "NoAction" && !self.block.actions.contains_key(action) {
                let what = format!("table {name} names {action}, which is no action of its control");
                return Err(WrongProgram::new(table.line, what));
            }
        }
        if let Some((action, arguments)) = &table.default {
            let wanted = self.block.actions.get(action).map_or(0, |action| action.parameters.len());
            if arguments.len() != wanted {
                let what =
                    format!("table {name}: {action} takes {wanted} arguments, not {}", arguments.len());
                return Err(WrongProgram::new(table.line, what));
            }
        }
        Ok(())
    }

    fn states(&mut self) -> Result<(), WrongProgram> {
        if !self.block.states.is_empty() && !self.block.states.contains_key("start") {
            return Err(WrongProgram::new(0, "a parser begins at a state start"));
        }
        for state in self.block.states.values() {
            self.statements(&state.statements)?;
            let targets: Vec<_> = match &state.transition {
                Transition::To(to) => vec![to],
                Transition::Select(keys, cases) => {
                    keys.iter().try_for_each(|key| self.expression(key))?;
                    for case in cases.iter().flat_map(|(case, _)| case) {
                        match case {
                            Case::Any => {}
                            Case::Is(value) => self.expression(value)?,
                            Case::Masked(value, mask) => {
                                self.expression(value)?;
                                self.expression(mask)?;
                            }
                        }
                    }
                    cases.iter().map(|(_, to)| to).collect()
                }
            };
            let there = |to: &String| {
                ["accept", "reject"].contains(&to.as_str()) || self.block.states.contains_key(to)
            };
            if let Some(to) = targets.into_iter().find(|to| !there(to)) {
                return Err(WrongProgram::new(state.line, format!("there is no state {to}")));
            }
        }
        Ok(())
    }

    fn statements(&mut self, statements: &[Statement]) -> Result<(), WrongProgram> {
        for statement in statements {
            match statement {
                Statement::Assign(place, value) => {
                    self.expression(place)?;
                    self.expression(value)?;
                }
                Statement::Call(call) => self.expression(call)?,
                Statement::If(condition, then, otherwise) => {
                    self.expression(condition)?;
                    self.statements(then)?;
                    self.statements(otherwise)?;
                }
                Statement::Variable(_, name, value) => {
                    value.iter().try_for_each(|value| self.expression(value))?;
                    self.locals.insert(name.clone());
                }
                Statement::Exit if self.in_action => {
                    return Err(WrongProgram::new(0, "exit belongs into apply; an action ends with return"));
                }
                Statement::Return | Statement::Exit => {}
            }
        }
        Ok(())
    }

    fn expression(&self, expr: &Expr) -> Result<(), WrongProgram> {
        match &expr.kind {
            ExprKind::Number(..) | ExprKind::Bool(_) => Ok(()),
            ExprKind::Path(path) => self.path(path, expr.line),
            ExprKind::Slice(of, ..) | ExprKind::Unary(_, of) | ExprKind::Cast(_, of) => self.expression(of),
            ExprKind::Binary(_, left, right) => {
                self.expression(left)?;
                self.expression(right)
            }
            ExprKind::Choice(condition, yes, no) => {
                self.expression(condition)?;
                self.expression(yes)?;
                self.expression(no)
            }
            ExprKind::List(list) => list.iter().try_for_each(|item| self.expression(item)),
            ExprKind::Call { path, arguments, hits } => self.call(path, arguments, *hits, expr.line),
        }
    }

    /// The full name of a path that begins with a parameter of the block.
    fn full(&self, path: &[String]) -> Option<String> {
        let (_, of) = self.block.parameters.iter().find(|(name, _)| *name == path[0])?;
        Some([std::slice::from_ref(of), &path[1..]].concat().join("."))
    }

    fn path(&self, path: &[String], line: u32) -> Result<(), WrongProgram> {
        let simple = path.len() == 1
            && (self.locals.contains(&path[0]) || self.program.constants.contains_key(&path[0]));
        let field = self.full(path).is_some_and(|full| self.names.fields.contains_key(&full));
        if simple || field {
            return Ok(());
        }
        Err(WrongProgram::new(
            line,
            format!("there is no {}; it is no variable, constant or field", path.join(".")),
        ))
    }

    fn call(&self, path: &[String], arguments: &[Expr], hits: bool, line: u32) -> Result<(), WrongProgram> {
        let wrong = |what: String| Err(WrongProgram::new(line, what));
        let name = path.join(".");
        let (object, method) = (&path[..path.len() - 1], path[path.len() - 1].as_str());
        let header =
            |path: &[String]| self.full(path).is_some_and(|full| self.names.headers.contains_key(&full));
        let of = self.block.parameters.iter().find(|(name, _)| object == [name.clone()]);
        let first = arguments.first();
        let takes_header =
            || matches!(first.map(|first| &first.kind), Some(ExprKind::Path(path)) if header(path));
        let (wanted, from) = match (object, method) {
            ([], "mark_to_drop") => (1, 1),
            ([], "truncate") => (1, 0),
            ([], "random") => (3, 0),
            ([], "update_checksum") => {
                // The fourth argument is the name of the algorithm.
                let csum16 =
                    |last: &Expr| last.kind == ExprKind::Path(vec!["HashAlgorithm".into(), "csum16".into()]);
                if arguments.len() != 4 || !csum16(&arguments[3]) {
                    return wrong(
                        "update_checksum takes a condition, a list, a field and HashAlgorithm.csum16".into(),
                    );
                }
                return arguments[..3].iter().try_for_each(|argument| self.expression(argument));
            }
            ([], action) => match self.block.actions.get(action) {
                Some(action) => (action.parameters.len(), 0),
                None => return wrong(format!("there is no action or function {name}")),
            },
            ([table], "apply") if self.block.tables.contains_key(table) => (0, 0),
            ([register], "read" | "write") if self.program.registers.contains_key(register) => (2, 0),
            (_, "isValid" | "setValid" | "setInvalid") if header(object) => (0, 0),
            (_, "extract") if of.is_some_and(|(_, of)| of == "packet_in") && takes_header() => {
                (arguments.len().min(2), 1)
            }
            (_, "emit") if of.is_some_and(|(_, of)| of == "packet_out") && takes_header() => (1, 1),
            _ => return wrong(format!("there is no {name}, or it takes a header")),
        };
        if hits && method != "apply" {
            return wrong(format!("{name} does not hit or miss; only tables do"));
        }
        if arguments.len() != wanted {
            return wrong(format!("{name} takes {wanted} arguments, not {}", arguments.len()));
        }
        arguments[from..].iter().try_for_each(|argument| self.expression(argument))
    }
}
