//! Parses statements, expressions and states.

use super::WrongProgram;
use super::ast::{Case, Expr, ExprKind, State, Statement, Transition};
use super::lexer::Kind;
use super::parse::Reader;

/// Operators by precedence, lowest first. `>>` is read as two signs.
const LEVELS: [&[&str]; 8] =
    [&["||"], &["&&"], &["==", "!="], &["<=", ">=", "<", ">"], &["|"], &["^"], &["&"], &["<<", ">>"]];

impl Reader {
    pub fn statements(&mut self) -> Result<Vec<Statement>, WrongProgram> {
        let mut statements = Vec::new();
        self.expect("{")?;
        while !self.took("}") {
            self.annotations()?;
            if self.is("{") {
                statements.extend(self.statements()?);
            } else {
                statements.push(self.statement()?);
            }
        }
        Ok(statements)
    }

    pub fn statement(&mut self) -> Result<Statement, WrongProgram> {
        if self.took_word("if") {
            return self.condition();
        }
        if self.took_word("return") {
            self.expect(";")?;
            return Ok(Statement::Return);
        }
        if self.took_word("exit") {
            self.expect(";")?;
            return Ok(Statement::Exit);
        }
        if self.is_type() {
            let of = self.a_type()?;
            let name = self.word()?;
            let value = if self.took("=") { Some(self.expression()?) } else { None };
            self.expect(";")?;
            return Ok(Statement::Variable(of, name, value));
        }
        let place = self.expression()?;
        if self.took("=") {
            let value = self.expression()?;
            self.expect(";")?;
            return match place.kind {
                ExprKind::Path(_) | ExprKind::Slice(..) => Ok(Statement::Assign(place, value)),
                _ => Err(WrongProgram::new(place.line, "what is assigned to is no variable, field or slice")),
            };
        }
        self.expect(";")?;
        match place.kind {
            ExprKind::Call { .. } => Ok(Statement::Call(place)),
            _ => Err(WrongProgram::new(
                place.line,
                "an expression alone does nothing; assign it or call something",
            )),
        }
    }

    fn condition(&mut self) -> Result<Statement, WrongProgram> {
        self.expect("(")?;
        let condition = self.expression()?;
        self.expect(")")?;
        let then = self.branch()?;
        let otherwise = if self.took_word("else") { self.branch()? } else { Vec::new() };
        Ok(Statement::If(condition, then, otherwise))
    }

    fn branch(&mut self) -> Result<Vec<Statement>, WrongProgram> {
        if self.is("{") { self.statements() } else { Ok(vec![self.statement()?]) }
    }

    pub fn state(&mut self) -> Result<State, WrongProgram> {
        let line = self.line();
        let mut statements = Vec::new();
        self.expect("{")?;
        while !self.took_word("transition") {
            statements.push(self.statement()?);
        }
        let transition = if self.took_word("select") {
            self.select()?
        } else {
            let to = self.word()?;
            self.expect(";")?;
            Transition::To(to)
        };
        self.expect("}")?;
        Ok(State { statements, transition, line })
    }

    fn select(&mut self) -> Result<Transition, WrongProgram> {
        let keys = self.arguments()?;
        let mut cases = Vec::new();
        self.expect("{")?;
        while !self.took("}") {
            let case = if self.took("(") {
                let mut case = Vec::new();
                while !self.took(")") {
                    case.push(self.case()?);
                    self.took(",");
                }
                case
            } else {
                vec![self.case()?]
            };
            if case.len() != keys.len() && case != [Case::Any] {
                return self.wrong(format!("a case of {} values for {} keys", case.len(), keys.len()));
            }
            self.expect(":")?;
            cases.push((case, self.word()?));
            self.expect(";")?;
        }
        Ok(Transition::Select(keys, cases))
    }

    fn case(&mut self) -> Result<Case, WrongProgram> {
        if self.took_word("default") || self.took_word("_") {
            return Ok(Case::Any);
        }
        let value = self.expression()?;
        if self.took("&&&") { Ok(Case::Masked(value, self.expression()?)) } else { Ok(Case::Is(value)) }
    }

    pub fn arguments(&mut self) -> Result<Vec<Expr>, WrongProgram> {
        let mut arguments = Vec::new();
        self.expect("(")?;
        while !self.took(")") {
            arguments.push(self.expression()?);
            if !self.is(")") {
                self.expect(",")?;
            }
        }
        Ok(arguments)
    }

    pub fn expression(&mut self) -> Result<Expr, WrongProgram> {
        let line = self.line();
        let first = self.binary(0)?;
        if !self.took("?") {
            return Ok(first);
        }
        let yes = self.expression()?;
        self.expect(":")?;
        let no = self.expression()?;
        Ok(Expr { kind: ExprKind::Choice(Box::new(first), Box::new(yes), Box::new(no)), line })
    }

    fn binary(&mut self, level: usize) -> Result<Expr, WrongProgram> {
        let Some(signs) = LEVELS.get(level) else { return self.sum() };
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = self.operator(signs) {
            let line = self.line();
            let right = self.binary(level + 1)?;
            left = Expr { kind: ExprKind::Binary(sign, Box::new(left), Box::new(right)), line };
        }
        Ok(left)
    }

    /// Consumes one of these operators if it is the next token.
    fn operator(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let shift = self.is(">") && matches!(self.second(), Kind::Sign(">"));
        let found = signs.iter().copied().find(|sign| match *sign {
            ">>" => shift,
            ">" => self.is(">") && !shift,
            sign => self.is(sign),
        })?;
        self.next();
        if found == ">>" {
            self.next();
        }
        Some(found)
    }

    fn sum(&mut self) -> Result<Expr, WrongProgram> {
        let mut left = self.product()?;
        while let Some(sign) = self.operator(&["++", "+", "-"]) {
            let line = self.line();
            let right = self.product()?;
            left = Expr { kind: ExprKind::Binary(sign, Box::new(left), Box::new(right)), line };
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expr, WrongProgram> {
        let mut left = self.unary()?;
        while let Some(sign) = self.operator(&["*"]) {
            let line = self.line();
            let right = self.unary()?;
            left = Expr { kind: ExprKind::Binary(sign, Box::new(left), Box::new(right)), line };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, WrongProgram> {
        let line = self.line();
        if let Some(sign) = self.operator(&["!", "~", "-"]) {
            let of = Box::new(self.unary()?);
            return Ok(Expr { kind: ExprKind::Unary(sign, of), line });
        }
        let mut value = self.primary()?;
        while self.took("[") {
            let high = self.number()?;
            self.expect(":")?;
            let low = self.number()?;
            self.expect("]")?;
            if low > high || high >= 128 {
                return self
                    .wrong(format!("[{high}:{low}] is no slice of at most 128 bits, the high bit first"));
            }
            value = Expr { kind: ExprKind::Slice(Box::new(value), high as u32, low as u32), line };
        }
        Ok(value)
    }

    fn primary(&mut self) -> Result<Expr, WrongProgram> {
        let line = self.line();
        let kind = if self.took("(") {
            if self.is_type() {
                let to = self.a_type()?;
                self.expect(")")?;
                ExprKind::Cast(to, Box::new(self.unary()?))
            } else {
                let inside = self.expression()?;
                self.expect(")")?;
                inside.kind
            }
        } else if self.took("{") {
            let mut list = Vec::new();
            while !self.took("}") {
                list.push(self.expression()?);
                self.took(",");
            }
            ExprKind::List(list)
        } else if self.took_word("true") {
            ExprKind::Bool(true)
        } else if self.took_word("false") {
            ExprKind::Bool(false)
        } else if let Kind::Number(value, width) = *self.peek() {
            self.next();
            ExprKind::Number(value, width)
        } else {
            self.path()?
        };
        Ok(Expr { kind, line })
    }

    /// A name with fields, or a call.
    fn path(&mut self) -> Result<ExprKind, WrongProgram> {
        let mut path = vec![self.word()?];
        while self.took(".") {
            path.push(self.word()?);
        }
        if !self.is("(") {
            return Ok(ExprKind::Path(path));
        }
        let arguments = self.arguments()?;
        let hits = self.took(".");
        if hits && !self.took_word("hit") {
            return self.wrong("only .hit may follow a call");
        }
        Ok(ExprKind::Call { path, arguments, hits })
    }
}
