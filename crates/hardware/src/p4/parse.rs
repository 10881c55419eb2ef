//! Parses tokens to a syntax tree.

use std::collections::BTreeMap;

use super::WrongProgram;
use super::ast::{Action, Block, Fields, MatchActionTable, MatchKind, Program, Type};
use super::lexer::{Kind, Token, tokens};

/// Parses the tokens of a program.
pub fn parse(text: &str) -> Result<Program, WrongProgram> {
    let mut reader =
        Reader { tokens: tokens(text)?, at: 0, types: BTreeMap::new(), constants: BTreeMap::new() };
    let mut program = Program::default();
    while !reader.at_end() {
        reader.annotations()?;
        reader.declaration(&mut program)?;
    }
    program.constants = reader.constants;
    if program.main.len() != 6 {
        let what =
            "no V1Switch of six blocks; end the program with V1Switch(P(), V(), I(), E(), C(), D()) main;";
        return Err(WrongProgram::new(0, what));
    }
    if let Some(missing) = program.main.iter().find(|name| !program.blocks.contains_key(*name)) {
        return Err(WrongProgram::new(0, format!("V1Switch names {missing}, which is no parser or control")));
    }
    Ok(program)
}

/// The tokens and the declarations so far.
pub(super) struct Reader {
    tokens: Vec<Token>,
    at: usize,
    types: BTreeMap<String, Type>,
    pub constants: BTreeMap<String, (u128, u32)>,
}

impl Reader {
    pub fn line(&self) -> u32 {
        self.tokens[self.at].line
    }

    pub fn peek(&self) -> &Kind {
        &self.tokens[self.at].kind
    }

    /// The token after the next one.
    pub fn second(&self) -> &Kind {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + 1).min(last)].kind
    }

    fn at_end(&self) -> bool {
        *self.peek() == Kind::End
    }

    pub fn next(&mut self) -> Kind {
        let kind = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        kind
    }

    pub fn wrong<T>(&self, what: impl Into<String>) -> Result<T, WrongProgram> {
        Err(WrongProgram::new(self.line(), what))
    }

    pub fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Kind::Sign(found) if *found == sign)
    }

    pub fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Kind::Word(found) if found == word)
    }

    /// Consumes a sign if it is the next token.
    pub fn took(&mut self, sign: &str) -> bool {
        let there = self.is(sign);
        if there {
            self.next();
        }
        there
    }

    pub fn took_word(&mut self, word: &str) -> bool {
        let there = self.is_word(word);
        if there {
            self.next();
        }
        there
    }

    pub fn expect(&mut self, sign: &str) -> Result<(), WrongProgram> {
        if self.took(sign) {
            Ok(())
        } else {
            self.wrong(format!("{sign} is expected, not {:?}", self.peek()))
        }
    }

    pub fn word(&mut self) -> Result<String, WrongProgram> {
        match self.peek() {
            Kind::Word(word) => {
                let word = word.clone();
                self.next();
                Ok(word)
            }
            other => self.wrong(format!("a name is expected, not {other:?}")),
        }
    }

    pub fn number(&mut self) -> Result<u128, WrongProgram> {
        match self.next() {
            Kind::Number(value, _) => Ok(value),
            Kind::Word(word) if self.constants.contains_key(&word) => Ok(self.constants[&word].0),
            other => self.wrong(format!("a number is expected, not {other:?}")),
        }
    }

    /// A number from 1 to `most`.
    fn size(&mut self, most: u128) -> Result<u32, WrongProgram> {
        match self.number()? {
            size if (1..=most).contains(&size) => Ok(size as u32),
            size => self.wrong(format!("{size} is not from 1 to {most}")),
        }
    }

    pub fn annotations(&mut self) -> Result<(), WrongProgram> {
        while self.took("@") {
            self.word()?;
            if self.took("(") {
                while !self.took(")") {
                    if self.at_end() {
                        return self.wrong("an annotation does not end; add )");
                    }
                    self.next();
                }
            }
        }
        Ok(())
    }

    pub fn is_type(&self) -> bool {
        match self.peek() {
            Kind::Word(word) => {
                ["bit", "varbit", "bool"].contains(&word.as_str()) || self.types.contains_key(word)
            }
            _ => false,
        }
    }

    pub fn a_type(&mut self) -> Result<Type, WrongProgram> {
        let name = self.word()?;
        match name.as_str() {
            "bool" => Ok(Type::Bool),
            "bit" | "varbit" => {
                self.expect("<")?;
                let width = self.size(if name == "bit" { 128 } else { 2048 })?;
                self.expect(">")?;
                Ok(if name == "bit" { Type::Bit(width) } else { Type::Varbit(width) })
            }
            _ => Ok(self.types.get(&name).cloned().unwrap_or(Type::Named(name))),
        }
    }

    fn declaration(&mut self, program: &mut Program) -> Result<(), WrongProgram> {
        let line = self.line();
        match self.word()?.as_str() {
            "typedef" => {
                let of = self.a_type()?;
                let name = self.word()?;
                self.types.insert(name, of);
                self.expect(";")
            }
            "const" => self.constant(),
            "header" => {
                let (name, fields) = self.fields()?;
                program.headers.insert(name, fields);
                Ok(())
            }
            "struct" => {
                let (name, fields) = self.fields()?;
                program.structs.insert(name, fields);
                Ok(())
            }
            "parser" => self.block(program, true),
            "control" => self.block(program, false),
            "register" => self.register(program),
            "V1Switch" => self.main(program),
            other => {
                Err(WrongProgram::new(line, format!("{other}: this declaration is not part of the subset")))
            }
        }
    }

    fn constant(&mut self) -> Result<(), WrongProgram> {
        let Type::Bit(width) = self.a_type()? else { return self.wrong("a constant is a bit<N>") };
        let name = self.word()?;
        self.expect("=")?;
        let value = self.number()?;
        if width < 128 && value >> width != 0 {
            return self.wrong(format!("{value} does not fit into bit<{width}>"));
        }
        self.constants.insert(name, (value, width));
        self.expect(";")
    }

    fn fields(&mut self) -> Result<(String, Fields), WrongProgram> {
        let name = self.word()?;
        self.expect("{")?;
        let mut fields = Vec::new();
        while !self.took("}") {
            self.annotations()?;
            let of = self.a_type()?;
            fields.push((of, self.word()?));
            self.expect(";")?;
        }
        Ok((name, fields))
    }

    fn main(&mut self, program: &mut Program) -> Result<(), WrongProgram> {
        self.expect("(")?;
        while !self.took(")") {
            program.main.push(self.word()?);
            self.expect("(")?;
            self.expect(")")?;
            self.took(",");
        }
        if !self.took_word("main") {
            return self.wrong("the switch is called main");
        }
        self.expect(";")
    }

    fn parameters(&mut self) -> Result<Vec<(String, String)>, WrongProgram> {
        let mut parameters = Vec::new();
        self.expect("(")?;
        while !self.took(")") {
            let _direction = self.took_word("inout") || self.took_word("in") || self.took_word("out");
            let of = self.word()?;
            parameters.push((self.word()?, of));
            self.took(",");
        }
        Ok(parameters)
    }

    fn block(&mut self, program: &mut Program, parser: bool) -> Result<(), WrongProgram> {
        let name = self.word()?;
        let mut block = Block { parameters: self.parameters()?, ..Block::default() };
        self.expect("{")?;
        while !self.took("}") {
            self.annotations()?;
            self.member(&mut block, parser)?;
        }
        program.blocks.insert(name, block);
        Ok(())
    }

    fn member(&mut self, block: &mut Block, parser: bool) -> Result<(), WrongProgram> {
        if parser && self.took_word("state") {
            let name = self.word()?;
            let state = self.state()?;
            block.states.insert(name, state);
        } else if self.took_word("action") {
            let name = self.word()?;
            let action = self.action()?;
            block.actions.insert(name, action);
        } else if self.took_word("table") {
            let name = self.word()?;
            let table = self.table()?;
            block.tables.insert(name, table);
        } else if self.took_word("register") {
            return self
                .wrong("registers are declared outside of controls here, so that two controls can use one");
        } else if self.took_word("apply") {
            block.apply = self.statements()?;
        } else if self.is_type() {
            let variable = self.statement()?;
            block.variables.push(variable);
        } else {
            return self.wrong(format!("{:?}: not part of the subset here", self.peek()));
        }
        Ok(())
    }

    fn action(&mut self) -> Result<Action, WrongProgram> {
        let mut parameters = Vec::new();
        self.expect("(")?;
        while !self.took(")") {
            let of = self.a_type()?;
            parameters.push((of, self.word()?));
            self.took(",");
        }
        Ok(Action { parameters, body: self.statements()? })
    }

    fn register(&mut self, program: &mut Program) -> Result<(), WrongProgram> {
        self.expect("<")?;
        let Type::Bit(width) = self.a_type()? else { return self.wrong("a register holds bit<N>") };
        self.expect(">")?;
        self.expect("(")?;
        let cells = self.size(1 << 20)?;
        self.expect(")")?;
        let name = self.word()?;
        program.registers.insert(name, (width, cells as usize));
        self.expect(";")
    }

    fn table(&mut self) -> Result<MatchActionTable, WrongProgram> {
        let line = self.line();
        let mut table =
            MatchActionTable { keys: Vec::new(), actions: Vec::new(), default: None, size: 1024, line };
        self.expect("{")?;
        while !self.took("}") {
            self.took_word("const");
            let property = self.word()?;
            self.expect("=")?;
            match property.as_str() {
                "key" => table.keys = self.keys()?,
                "actions" => table.actions = self.names()?,
                "size" => {
                    table.size = self.size(1 << 20)? as usize;
                    self.expect(";")?;
                }
                "default_action" => {
                    let action = self.word()?;
                    let arguments = if self.is("(") { self.arguments()? } else { Vec::new() };
                    table.default = Some((action, arguments));
                    self.expect(";")?;
                }
                other => {
                    return self
                        .wrong(format!("{other}: this property of a table is not part of the subset"));
                }
            }
        }
        Ok(table)
    }

    fn keys(&mut self) -> Result<Vec<(super::ast::Expr, MatchKind)>, WrongProgram> {
        let mut keys = Vec::new();
        self.expect("{")?;
        while !self.took("}") {
            let key = self.expression()?;
            self.expect(":")?;
            let kind = match self.word()?.as_str() {
                "exact" => MatchKind::Exact,
                "lpm" => MatchKind::Lpm,
                other => return self.wrong(format!("{other}: keys are exact or lpm")),
            };
            keys.push((key, kind));
            self.expect(";")?;
        }
        Ok(keys)
    }

    fn names(&mut self) -> Result<Vec<String>, WrongProgram> {
        let mut names = Vec::new();
        self.expect("{")?;
        while !self.took("}") {
            names.push(self.word()?);
            self.expect(";")?;
        }
        Ok(names)
    }
}
