//! Settings whose type a registry chooses.

use pullnet_settings::{AnySettings, Field, Refused, Value};

/// A configuration out of a registry, as a table of settings.
pub struct Chosen<C> {
    /// The settings, with their defaults before they are read.
    pub config: C,
    /// What there is to set.
    pub fields: &'static [Field],
    /// Sets one; `None`: there is no such setting.
    pub set: fn(&mut C, &str, Value<'_>) -> Option<Result<(), Refused>>,
    /// One as it would be written.
    pub get: fn(&C, &str) -> Option<String>,
}

impl<C> AnySettings for Chosen<C> {
    fn fields(&self) -> &'static [Field] {
        self.fields
    }
    fn set_field(&mut self, name: &str, value: Value<'_>) -> Option<Result<(), Refused>> {
        (self.set)(&mut self.config, name, value)
    }
    fn get_field(&self, name: &str) -> Option<String> {
        (self.get)(&self.config, name)
    }
}
