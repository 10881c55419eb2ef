//! Syntax tree of the supported subset of P4-16.

use std::collections::BTreeMap;

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    /// `bit<N>`.
    Bit(u32),
    /// `varbit<N>`: at most N bits, in whole bytes.
    Varbit(u32),
    /// `bool`.
    Bool,
    /// A header, a struct or a built-in type.
    Named(String),
}

/// An expression and its line.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// Kind of the expression.
    pub kind: ExprKind,
    /// Line, from 1.
    pub line: u32,
}

/// Kinds of expressions.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// A number, with its width if it has one.
    Number(u128, Option<u32>),
    /// `true` or `false`.
    Bool(bool),
    /// A name, or a field: `hdr.ipv4.ttl`.
    Path(Vec<String>),
    /// `value[high:low]`.
    Slice(Box<Expr>, u32, u32),
    /// `!`, `~` or `-`.
    Unary(&'static str, Box<Expr>),
    /// An operator between two values.
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// `condition ? a : b`.
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `(bit<16>) value`.
    Cast(Type, Box<Expr>),
    /// A call; `hits` if `.hit` follows it.
    Call {
        /// The called function, action or method.
        path: Vec<String>,
        /// Arguments.
        arguments: Vec<Expr>,
        /// Whether `.hit` follows the call.
        hits: bool,
    },
    /// `{ a, b }`.
    List(Vec<Expr>),
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// `place = value;`
    Assign(Expr, Expr),
    /// A call for its effect.
    Call(Expr),
    /// `if`.
    If(Expr, Vec<Statement>, Vec<Statement>),
    /// A local variable, with its initial value if any.
    Variable(Type, String, Option<Expr>),
    /// `return;`
    Return,
    /// `exit;`
    Exit,
}

/// A set of values in a `select` case.
#[derive(Clone, PartialEq, Debug)]
pub enum Case {
    /// `default` or `_`.
    Any,
    /// One value.
    Is(Expr),
    /// `value &&& mask`.
    Masked(Expr, Expr),
}

/// Successor of a parser state.
#[derive(Clone, PartialEq, Debug)]
pub enum Transition {
    /// The state of this name.
    To(String),
    /// `select (keys) { cases: state; }`
    Select(Vec<Expr>, Vec<(Vec<Case>, String)>),
}

/// A state of a parser.
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    /// Statements of the state.
    pub statements: Vec<Statement>,
    /// Successor of the state.
    pub transition: Transition,
    /// Line, from 1.
    pub line: u32,
}

/// An action.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    /// Parameters, set by the control plane.
    pub parameters: Vec<(Type, String)>,
    /// Statements of the action.
    pub body: Vec<Statement>,
}

/// Match kind of a table key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchKind {
    /// Exact match.
    Exact,
    /// Longest prefix match.
    Lpm,
}

/// A table.
#[derive(Clone, PartialEq, Debug)]
pub struct MatchActionTable {
    /// Keys.
    pub keys: Vec<(Expr, MatchKind)>,
    /// Actions available to entries.
    pub actions: Vec<String>,
    /// Action on a miss, with its arguments.
    pub default: Option<(String, Vec<Expr>)>,
    /// Capacity. Entries.
    pub size: usize,
    /// Line, from 1.
    pub line: u32,
}

/// A parser or a control.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block {
    /// Parameters: names with the names of their types.
    pub parameters: Vec<(String, String)>,
    /// Local variables, initialised for each packet.
    pub variables: Vec<Statement>,
    /// Actions.
    pub actions: BTreeMap<String, Action>,
    /// Tables.
    pub tables: BTreeMap<String, MatchActionTable>,
    /// States; parsers only.
    pub states: BTreeMap<String, State>,
    /// Statements of a control.
    pub apply: Vec<Statement>,
}

/// Fields of a header or struct, in order.
pub type Fields = Vec<(Type, String)>;

/// A program.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// Headers.
    pub headers: BTreeMap<String, Fields>,
    /// Structs.
    pub structs: BTreeMap<String, Fields>,
    /// Constants.
    pub constants: BTreeMap<String, (u128, u32)>,
    /// Registers, visible to all controls: width and number of cells.
    pub registers: BTreeMap<String, (u32, usize)>,
    /// Parsers and controls.
    pub blocks: BTreeMap<String, Block>,
    /// Blocks of the switch, in the order of `V1Switch`.
    pub main: Vec<String>,
}
